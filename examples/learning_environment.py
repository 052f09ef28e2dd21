"""An environment for reinforcement learning: a thousand arms that step together.

python examples/learning_environment.py

The task: move a Panda's hand to a random place. `step` rolls all arms forward by 20 ms of torques
in the lanes of vectors. A linear policy is improved by trying out changes of it (evolution).
"""

import time

import numpy as np
from numpy.typing import NDArray

import armlet

Array = NDArray[np.float64]
REST = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])


class Reach:
    """N arms, each with its own target; observations are errors of the hand and velocities."""

    def __init__(self, count: int, seed: int = 0) -> None:
        self.robot = armlet.load("panda").without_drives()
        self.count, self.rng = count, np.random.default_rng(seed)

    def reset(self) -> Array:
        """Put all arms at rest, with new targets."""
        self.q = REST + 0.05 * self.rng.normal(size=(self.count, 7))
        self.qd = np.zeros((self.count, 7))
        self.target = [0.45, 0.0, 0.5] + 0.1 * self.rng.normal(size=(self.count, 3))
        return self.observation()

    def observation(self) -> Array:
        Jq = self.robot.jacobian(self.q)[:, 3:]
        self.error = self.target - self.robot.forward_kinematics(self.q)[:, :3, 3]
        return np.concatenate([np.einsum("kij,ki->kj", Jq, self.error), self.qd], axis=1)

    def step(self, action: Array) -> tuple[Array, Array]:
        """Observations and rewards after 20 ms of torques beside those of gravity."""
        tau = self.robot.gravity_torque(self.q) + np.clip(action, -20, 20)
        run = armlet.rollout(
            self.robot, self.q, self.qd, tau[None].repeat(10, 0), dt=2e-3, steps=10
        )
        self.q, self.qd = run.q[-1], run.qd[-1]
        return self.observation(), -np.linalg.norm(self.error, axis=1)


def improve(arms: Reach, rounds: int = 12, steps: int = 40) -> list[float]:
    """The mean reward at the end of each round; all arms of a round try their own policies."""
    mean, spread = np.array([10.0, -1.0]), np.array([20.0, 4.0])
    rewards: list[float] = []
    for _ in range(rounds):
        tried = np.abs(mean + spread * arms.rng.normal(size=(arms.count, 2))) * [1, -1]
        seen, reward = arms.reset(), np.zeros(arms.count)
        for _ in range(steps):
            seen, reward = arms.step(tried[:, :1] * seen[:, :7] + tried[:, 1:] * seen[:, 7:])
        best = tried[np.argsort(reward)[-arms.count // 10 :]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 1e-3
        rewards.append(float(reward.mean()))
    return rewards


def main() -> None:
    begun = time.perf_counter()
    first, *_, last = (-1e3 * reward for reward in improve(Reach(1000)))
    spent = time.perf_counter() - begun
    print(f"480 steps of 1,000 arms in {spent:.1f} s, with what is observed")
    print(f"distance to the target: {first:.0f} mm in the first round, {last:.0f} in the last")


if __name__ == "__main__":
    main()

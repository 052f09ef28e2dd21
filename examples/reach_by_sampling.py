"""A Panda reaches around an obstacle by trying out plans: sampling-based control.

python examples/reach_by_sampling.py      (reach_page.py draws it)

Fifty times a second, 512 plans of 0.4 s are rolled out, and the arm follows their mean,
weighted by their costs (model predictive path integrals). There is a ball in the way of the hand;
nothing but the cost says so.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import armlet

Vector = NDArray[np.float64]
START = np.array([-0.8, 0.3, 0.0, -1.8, 0.0, 2.1, 0.8])
GOAL = np.array([0.35, 0.45, 0.45])
BALL, RADIUS = np.array([0.55, 0.0, 0.45]), 0.15  # m
KEPT_OFF = ("link5", "link6", "link7", "flange")  # frames that stay out of the ball
DT, STEPS, DURATION = 0.02, 20, 3.0
SAMPLING: dict[str, Any] = {"noise": 4.0, "correlation": 0.9, "temperature": 0.3}
robot = armlet.load("panda")


class Reach(NamedTuple):
    """The motion, and how long a plan took on average, in s."""

    run: armlet.Trajectory
    planning: float


@armlet.function(robot, goal=3, ball=3)
def cost(q: Vector, qd: Vector, goal: Vector, ball: Vector) -> float:
    """Distance from the goal, velocities, and how deep the arm is in the ball."""
    origins = robot.poses(q, KEPT_OFF)[:, :3, 3]
    distance = np.sqrt(((origins[-1] - goal) ** 2).sum() + 1e-4)
    depth = np.maximum(RADIUS + 0.03 - np.sqrt(((origins - ball) ** 2).sum(axis=1)), 0)
    return 10 * distance + 0.1 * (qd**2).sum() + 1e3 * depth.sum()


@armlet.function(robot, plan=robot.nq)
def torques(q: Vector, qd: Vector, plan: Vector) -> Vector:
    """The torques of a plan, which has the accelerations of the joints, and some damping."""
    return robot.inverse_dynamics(q, qd, plan - 2 * qd)


def simulate(samples: int = 512, seed: int = 0, duration: float = DURATION) -> Reach:
    """The motion of the arm, which has the friction that the plans know nothing of."""
    efforts = robot.effort_limit
    sampler = armlet.controllers.Sampler(
        robot, cost, torque=torques, dt=DT, steps=STEPS, samples=samples, seed=seed, **SAMPLING
    )
    times: list[float] = []

    def torque(t: float, q: Vector, qd: Vector) -> Vector:
        begun = time.perf_counter()
        tau = sampler(q, qd, goal=GOAL, ball=BALL)
        times.append(time.perf_counter() - begun)
        return np.clip(tau, -efforts, efforts)

    run = armlet.simulate(
        robot, START, torque=torque, duration=duration, dt=DT, method="rosenbrock2"
    )
    return Reach(run, float(np.median(times)))


def distances(run: armlet.Trajectory) -> tuple[Vector, Vector]:
    """How far the hand is from the goal, and the arm from the centre of the ball, in m."""
    origins = robot.poses(run.q, KEPT_OFF)[..., :3, 3]
    to_goal = np.sqrt(((origins[:, -1] - GOAL) ** 2).sum(axis=-1))
    to_ball = np.sqrt(((origins - BALL) ** 2).sum(axis=-1)).min(axis=1)
    return to_goal, to_ball


def main() -> Reach:
    reach = simulate()
    to_goal, to_ball = distances(reach.run)
    print(f"hand {1e3 * to_goal[0]:.0f} mm from the goal at first, {1e3 * to_goal[-1]:.0f} at last")
    print(f"arm at least {1e3 * (to_ball.min() - RADIUS):.0f} mm off the ball")
    print(f"512 plans of {STEPS} steps in {1e3 * reach.planning:.1f} ms")
    return reach


if __name__ == "__main__":
    main()

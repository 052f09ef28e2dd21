"""What the model does not know is learned: PyTorch fits friction beside armlet's torques.

python examples/residual_torch.py      (pip install torch)

The torques of an arm are its inverse dynamics, with masses that are 10 % off, and a small network
of the velocities. Gradients go through armlet's machine code, so that masses are learned, too.
"""

import numpy as np
import torch

import armlet

ROWS, ROUNDS = 2000, 300


def measurements(robot: armlet.Robot, seed: int = 0) -> list[torch.Tensor]:
    """States, and the torques of the arm with friction that no model knows."""
    q, qd, qdd = np.random.default_rng(seed).uniform(-2, 2, (3, ROWS, robot.nv))
    friction = (1 + 0.8 * np.exp(-((qd / 0.3) ** 2))) * np.tanh(qd / 0.1) + 0.3 * qd
    tau = robot.inverse_dynamics(q, qd, qdd) + friction
    return [torch.as_tensor(x) for x in (q, qd, qdd, tau)]


def learn(rounds: int = ROUNDS) -> tuple[float, float]:
    """The error of the torques before and after, relative to their size."""
    torch.manual_seed(0)
    robot = armlet.load("planar3r").without_drives()
    q, qd, qdd, tau = measurements(robot)
    torques = armlet.compile(robot, "inverse_dynamics", constants={"inertia": "argument"})
    scale = torch.full((robot.nb, 1), 0.9, dtype=torch.float64, requires_grad=True)
    phi = torch.as_tensor(np.array(robot.phi, dtype=float))
    layers = (torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    network = torch.nn.Sequential(*layers).double()
    steps = torch.optim.Adam([scale, *network.parameters()], lr=0.02)
    errors = []
    for _ in range(rounds):
        steps.zero_grad()
        left = tau - torques(q, qd, qdd, scale * phi) - network(qd[..., None])[..., 0]
        loss = (left**2).mean()
        loss.backward()
        steps.step()
        errors.append(float(torch.linalg.norm(left.detach()) / torch.linalg.norm(tau)))
    return errors[0], errors[-1]


def main() -> None:
    first, last = learn()
    print(f"error of the torques: {first:.1%} at first, {last:.1%} after {ROUNDS} rounds")


if __name__ == "__main__":
    main()

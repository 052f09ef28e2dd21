"""How far a payload that is not in the model carries a Panda from its path.

python examples/sensitivity.py

The Panda moves under torques that were computed without a payload. The derivative of the roll-out
along the change of the inertial parameters that a kilogram at the flange makes says where it goes
for every small payload, in one run; whole simulations of two payloads say how far that holds. Then
the torques, 3,500 numbers, are corrected for half a kilogram: SciPy minimizes the distance from the
path with its exact gradient.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # pyright: ignore

import armlet

Array = NDArray[np.float64]
DT, STEPS = 1e-3, 500
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
END = START + np.array([0.4, 0.3, -0.2, 0.3, 0.2, -0.3, 0.5])


def path(steps: int = STEPS) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of a smooth move, at rest at both ends."""
    duration = DT * steps
    s = np.arange(steps + 1) / steps
    rise = 10 * s**3 - 15 * s**4 + 6 * s**5
    speed = (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
    push = (60 * s - 180 * s**2 + 120 * s**3) / duration**2
    way = END - START
    return START + np.outer(rise, way), np.outer(speed, way), np.outer(push, way)


def torques(robot: armlet.Robot) -> Array:
    """What moves the arm along the path without a payload, held during each step."""
    q, qd, qdd = path()
    return robot.inverse_dynamics(q, qd, qdd)[:-1]


def payload(robot: armlet.Robot, mass: float) -> Array:
    """The inertial parameters with a point mass at the flange."""
    return robot.with_payload(mass, com=(0, 0, 0)).phi.astype(float)


def sensitivity(robot: armlet.Robot, torque: Array) -> armlet.Rollouts:
    """The motion without a payload, and its derivative by the payload's mass, row by row."""
    phi = payload(robot, 0.0)
    return armlet.rollout(
        armlet.Plant(robot, friction=False, inertia=phi),
        START[None],
        torque=torque,
        method="rk4",
        dt=DT,
        steps=STEPS,
        wrt={"inertia": payload(robot, 1.0) - phi},
    )


def simulated_positions(robot: armlet.Robot, torque: Array, mass: float) -> Array:
    """The positions with a payload, (steps, n)."""
    found = armlet.rollout(
        armlet.Plant(robot, friction=False, inertia=payload(robot, mass)),
        START[None],
        torque=torque,
        method="rk4",
        dt=DT,
        steps=STEPS,
    )
    return found.q[:, 0]


def correct_torque(
    robot: armlet.Robot, torque: Array, mass: float, rounds: int
) -> tuple[float, float]:
    """The sum of squared distances from the path before and after SciPy's minimization."""

    @armlet.function(robot, goal=robot.nq)
    def distance(q: Array, goal: Array) -> float:
        return ((q - goal) ** 2).sum()

    goal = path()[0][:-1]
    plant = armlet.Plant(robot, friction=False, inertia=payload(robot, mass))

    def off(x: Array) -> tuple[float, Array]:
        found = armlet.rollout(
            plant,
            START[None],
            torque=x.reshape(torque.shape),
            reduce=distance,
            arguments={"goal": goal},
            dt=DT,
            steps=STEPS,
            wrt=["torque"],
        )
        assert found.cost is not None
        assert found.gradient is not None
        return float(found.cost[0]), found.gradient["torque"].ravel()

    before, _ = off(torque.ravel())
    solve: Callable[..., Any] = minimize  # pyright: ignore
    found = solve(off, torque.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": rounds})
    return before, float(found.fun)


def main() -> None:
    robot = armlet.load("panda").without_drives()
    torque = torques(robot)
    found = sensitivity(robot, torque)
    assert found.tangents is not None
    print(f"without a payload, end off the path by {np.abs(found.q[-1, 0] - END).max():.1e} rad")
    for mass in (0.01, 0.1):
        off = simulated_positions(robot, torque, mass) - found.q[:, 0]
        predicted = mass * found.tangents.q[:, 0]
        print(
            f"{1000 * mass:.0f} g: {np.abs(off).max():.2e} rad off, predicted to "
            f"{np.abs(off - predicted).max() / np.abs(off).max():.1%}"
        )
    before, after = correct_torque(robot, torque, 0.5, 30)
    print(f"500 g: squared distances fall from {before:.3g} to {after:.3g} in 30 rounds")


if __name__ == "__main__":
    main()

"""Forward dynamics from the inertia matrix and the bias torques."""

from collections.abc import Callable

import numpy as np

from armlet.algebra import solve
from armlet.dynamics.bias import bias as newton_euler
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector


def from_inertia_matrix(robot: RobotModel, q: Vector, phi: Vector) -> list[Scalar]:
    """Solve H q̈ = φ for q̈, with H by composite bodies."""
    return list(solve(composite_bodies(robot, q), phi))


@describe(
    "forward_dynamics",
    source="Balafoutis and Patel 1991, section 6.2",
    growth="n^3",
    starting_from={"bias": from_inertia_matrix},
    contends=True,
    walks_twists=True,
    coupled=True,
)
def composite(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    tau: Vector,
    inertia_matrix: Callable[..., Matrix] = composite_bodies,
    bias: Callable[..., Vector] = newton_euler,
) -> list[Scalar]:
    """Joint accelerations q̈ = H⁻¹ (τ - b), with H and the bias b from any two formulations."""
    H = inertia_matrix(robot, q)
    b = bias(robot, q, qd)
    return list(solve(H, np.array(tau, dtype=object) - b))

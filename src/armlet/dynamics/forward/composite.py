"""Forward dynamics by inertia matrix and bias."""

import numpy as np

from armlet.algebra import solved
from armlet.dynamics.formulation import FORMULATIONS, formulation
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


def from_inertia_matrix(robot: RobotModel, q: Vector, phi: Vector) -> list[Scalar]:
    """The q̈ with H q̈ = φ, H by composite bodies."""
    return list(solved(composite_bodies(robot, q), phi))


@formulation(
    "forward_dynamics",
    source="Balafoutis and Patel 1991, section 6.2",
    growth="n^3",
    given={"bias": from_inertia_matrix},
    contends=True,
    rank=1,
    walks_twists=True,
    coupled=True,
)
def composite(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    tau: Vector,
    inertia_matrix: str = "composite_bodies",
    bias: str = "newton_euler",
) -> list[Scalar]:
    """Joint accelerations q̈ = H⁻¹ (τ - b), with H and b by any two formulations named."""
    H = FORMULATIONS["inertia_matrix"][inertia_matrix].function(robot, q)
    b = FORMULATIONS["bias"][bias].function(robot, q, qd)
    return list(solved(H, np.array(tau, dtype=object) - b))

"""Forward dynamics by inertia matrix and bias."""

import numpy as np

from armlet.algebra import solved
from armlet.dynamics import bias as biases
from armlet.dynamics import inertia
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.robot import Robot
from armlet.scalar import Scalar, Vector


def composite(
    robot: Robot,
    q: Vector,
    qd: Vector,
    tau: Vector,
    inertia_matrix: str = "composite_bodies",
    bias: str = "newton_euler",
) -> list[Scalar]:
    """Joint accelerations q̈ = H⁻¹ (τ - b), with H and b by any two formulations named."""
    H = inertia.FORMULATIONS[inertia_matrix].function(robot, q)
    b = biases.BIAS[bias].function(robot, q, qd)
    return list(solved(H, np.array(tau, dtype=object) - b))


def from_inertia_matrix(robot: Robot, q: Vector, phi: Vector) -> list[Scalar]:
    """The q̈ with H q̈ = φ, H by composite bodies."""
    return list(solved(composite_bodies(robot, q), phi))

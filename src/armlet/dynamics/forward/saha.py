"""Forward dynamics by the decoupled natural orthogonal complement."""

import numpy as np

from armlet.dynamics.bias.newton_euler import bias
from armlet.dynamics.formulation import describe
from armlet.dynamics.forward.articulated import NOTHING, accelerations
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


def from_factors(robot: RobotModel, q: Vector, phi: Vector) -> list[Scalar]:
    """The q̈ with H q̈ = φ, by the factors of H that elimination from the tips inwards leaves.

    H = U D Uᵀ, where D holds the inertias m̂ᵢ that the joints find of their articulated bodies and
    Uⱼᵢ = s · Bᵢⱼᵀ ψᵢ is the share of its torque that joint i passes on to joint j. The three
    solutions are recursions, inwards, in place and outwards:

        U φ̂ = φ:     φ̂ᵢ = φᵢ - s · ηᵢ,  ηₚ += Bᵢᵀ (ηᵢ + ψᵢ φ̂ᵢ)
        D φ̃ = φ̂:     φ̃ᵢ = φ̂ᵢ / m̂ᵢ
        Uᵀ q̈ = φ̃:    q̈ᵢ = φ̃ᵢ - ψᵢ · Bᵢ μₚ,  μᵢ = Bᵢ μₚ + s q̈ᵢ

    which are those of `accelerations` without wrenches and speeds. Saha 1999, (33) to (37) and
    appendix B, on trees, and about the joints' origins, where s is a coordinate axis, instead of
    the centres of mass.
    """
    return accelerations(robot, q, phi, [NOTHING] * robot.n, [NOTHING] * robot.n)


@describe(
    "forward_dynamics",
    source="Saha 1999, (33) to (37), on trees",
    growth="n",
    starting_from={"bias": from_factors},
)
def saha(robot: RobotModel, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Joint accelerations q̈ = H⁻¹ (τ - b), with the bias b by Newton and Euler."""
    return from_factors(robot, q, np.array(tau, dtype=object) - bias(robot, q, qd))

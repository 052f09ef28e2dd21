"""Forward dynamics by articulated bodies."""

import numpy as np

from armlet.algebra import ZERO, angular_acceleration_tensor, cross, euler_moment
from armlet.dynamics.formulation import describe
from armlet.dynamics.forward.articulated import accelerations
from armlet.dynamics.forward.saha import from_factors
from armlet.dynamics.recursions import augmented_bodies
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "forward_dynamics",
    source="Featherstone 1983, articulated bodies",
    growth="n",
    starting_from={"bias": from_factors},
    contends=True,
)
def featherstone(robot: RobotModel, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Joint accelerations q̈ by articulated bodies, speeds and gravity included.

    The speeds ω and what they and gravity alone make of the acceleration of the origins, a, with
    Ω = ω̃ ω̃ and the origin at r and a slide h along the axis z from the parent's:

        ωᵢ = ωₚ + w q̇ᵢ
        aᵢ = aₚ + Ωₚ (r + h z) + 2 ωᵢ × v q̇ᵢ,  from -g at the base

    Each body then has a wrench η = (t, f) to be overcome before it accelerates by itself, and an
    acceleration ζ beyond its parent's; m, u and K are those of the augmented body, which has no
    mass where that is lumped in the parent:

        fᵢ = Ωᵢ uᵢ + mᵢ aᵢ
        tᵢ = ωᵢ × Kᵢ ωᵢ + uᵢ × aᵢ
        ζᵢ = (ωₚ × w q̇ᵢ, 0)

    The rest is `accelerations`, which is all that remains if the bias is given, as in the count of
    Saha 1999, Table 2.
    """
    n = robot.n
    X = robot.displacements(q)
    augmented = augmented_bodies(robot)
    w: list[Vector] = [ZERO] * (n + 1)
    a: list[Vector] = [ZERO] * n + [-robot.g]
    Omega: list[Matrix] = [angular_acceleration_tensor(ZERO, ZERO)] * (n + 1)
    eta, zeta = [], []
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        w_axis, v_axis = robot.unit_twists[i]
        w_p = inward.vector(w[p])
        w[i] = w_p + w_axis * qd[i]
        Omega[i] = angular_acceleration_tensor(w[i], ZERO)
        r, h = robot.mounts[i].origin(), X[i][-1].h
        along = angular_acceleration_tensor(w_p, ZERO)[:, 2]
        a[i] = inward.vector(a[p] + Omega[p] @ r) + h * along + cross(w[i], v_axis * (2 * qd[i]))
        m, u, K = augmented[i]
        f = Omega[i] @ u + m * a[i]
        t = euler_moment(w[i], ZERO, K) + cross(u, a[i])
        eta.append(np.concatenate([t, f]))
        zeta.append(np.concatenate([cross(w_p, w_axis * qd[i]), ZERO]))
    return accelerations(robot, q, tau, eta, zeta)

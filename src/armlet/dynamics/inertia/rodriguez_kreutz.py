"""The inertia matrix by spatial operators, as the product of its operator factors."""

import numpy as np

from armlet.algebra import IDENTITY, ZERO, changed_basis, outer, skew
from armlet.dynamics.formulation import describe
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "inertia_matrix",
    source="Rodriguez and Kreutz 1988; Balafoutis and Patel 1991, (6.2.18), on trees",
    growth="n^3",
    own_rotors=True,
)
def rodriguez_kreutz(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), as the product of its operator factors.

    `kalman_filter` computes the inertias D̂, the unit twists h and the gains G. It also computes the
    transition operator φ of each body, which transforms a wrench from the body to its parent. F is
    the factor that (6.2.18) writes as 1 + h φ K:

        H = F D̂ Fᵀ,   Fᵢᵢ = 1
        Fⱼᵢ = hⱼ · φⱼᵢ Gᵢ,  j between i and the base

    φⱼᵢ transforms a wrench from body i to body j. It is the product of the transition operators of
    body i and of all bodies between i and j.
    """
    h, phi, G, D_hat = kalman_filter(robot, q)
    factor = np.eye(robot.nv, dtype=object)
    for i in range(robot.nb):
        carried = phi[i] @ G[i]
        for j in reversed(robot.path(robot.parent[i])):
            factor[j, i] = h[j] @ carried
            carried = phi[j] @ carried
    H = np.zeros((robot.nv, robot.nv), dtype=object)
    for i in range(robot.nb):
        for j in range(i + 1):
            H[i, j] = H[j, i] = factor[i] @ (D_hat * factor[j])
    return H


def kalman_filter(
    robot: RobotModel, q: Vector
) -> tuple[list[Vector], list[Matrix], list[Vector], Vector]:
    """Return unit twists h, transition operators φ, gains G and inertias D̂, by a Kalman filter.

    Twists (ω, v) and wrenches (moment, force) are about the bodies' origins, in base axes. The
    transition operator φ = [[1, r̃], [0, 1]] transforms a wrench from a body to its parent; r leads
    from the parent's origin to the body's. M is the body's spatial inertia. From the tips to the
    base, the inertia P of the articulated body obeys the Riccati equation of a covariance:

        D̂ᵢ = hᵢ · Pᵢ hᵢ + (rotor inertia),   Gᵢ = Pᵢ hᵢ / D̂ᵢ
        Pₚ += φᵢ (Pᵢ - Gᵢ (Pᵢ hᵢ)ᵀ) φᵢᵀ,  from Pₚ = Mₚ
    """
    n = robot.nb
    X = robot.displacements(q)
    W = [IDENTITY] * (n + 1)
    h: list[Vector] = []
    phi: list[Matrix] = []
    P: list[Matrix] = []
    for i, p in robot.base_to_tips():
        W[i] = W[p] @ X[i].rotation()
        h.append(np.concatenate([W[i] @ axis for axis in robot.unit_twists[i]]))
        r, c = W[p] @ X[i].origin(), W[i] @ robot.c[i]
        phi.append(np.block([[IDENTITY, skew(r)], [skew(ZERO), IDENTITY]]))
        P.append(spatial_inertia(robot.m[i], c, changed_basis(robot.J[i], W[i])))

    P.append(np.zeros((6, 6), dtype=object))
    G = [ZERO] * n
    D_hat = np.zeros(n, dtype=object)
    for i, p in robot.tips_to_base():
        moved = P[i] @ h[i]
        D_hat[i] = h[i] @ moved + robot.drives[i].rotor_inertia
        G[i] = moved / D_hat[i]
        P[p] = P[p] + phi[i] @ (P[i] - outer(G[i], moved)) @ phi[i].T
    return h, phi, G, D_hat


def spatial_inertia(m: Scalar, c: Vector, J: Matrix) -> Matrix:
    """Return [[J, c̃], [-c̃, m 1]], which maps a twist (ω, v) at the body's origin to momentum."""
    return np.block([[J, skew(c)], [-skew(c), m * IDENTITY]])

"""Coriolis matrices C(q, q̇): C q̇ + g(q) is the bias, and dH/dt - 2 C is skew-symmetric."""

import numpy as np

from armlet.algebra import IDENTITY, ZERO, cross, skew
from armlet.dynamics.bias import coefficients
from armlet.dynamics.formulation import describe
from armlet.dynamics.linear.balafoutis_patel import balafoutis_patel_71 as linearization
from armlet.dynamics.recursions import central_inertias, centres
from armlet.robot import RobotModel, with_base
from armlet.scalar import Matrix, Vector

NONE = 0 * IDENTITY


@describe(
    "coriolis_matrix",
    source="half of V of Balafoutis and Patel 1991, Algorithm 7.1, on trees",
    growth="n^2",
    contends=True,
)
def balafoutis_patel_71(robot: RobotModel, q: Vector, qd: Vector) -> Matrix:
    """Coriolis matrix C(q, q̇) of Christoffel symbols, computed as half of V = ∂τ/∂q̇.

    In the bias bᵢ = Σ cᵢⱼₖ q̇ⱼ q̇ₖ + gᵢ, the Christoffel symbols of the first kind are symmetric,
    cᵢⱼₖ = cᵢₖⱼ. So Vᵢⱼ = 2 Σ cᵢⱼₖ q̇ₖ = 2 Cᵢⱼ. As V is linear in q̇, C(q, q̇) = V(q, q̇ / 2).
    """
    half = [speed / 2 for speed in qd]
    _, V, _ = linearization(robot, q, half, [0] * robot.nv)
    return V


@describe(
    "coriolis_matrix",
    source="Lin 1991, (32)-(34), (45) and (47), on trees",
    growth="n^3",
    minimal=False,
    contends=True,
)
def christoffel(robot: RobotModel, q: Vector, qd: Vector) -> Matrix:
    """Coriolis matrix Cᵢⱼ = Σ Dᵢₖⱼ q̇ₖ, with Christoffel symbols D of the first kind.

    Dᵢₖⱼ = ½ (∂Hᵢⱼ/∂qₖ + ∂Hᵢₖ/∂qⱼ - ∂Hₖⱼ/∂qᵢ)
    """
    return (coefficients(robot, q) * np.array(qd, dtype=object)[:, None]).sum(axis=1)


@describe(
    "coriolis_matrix",
    source="Saha 1999, (28) and (29), corrected, on trees",
    growth="n^2",
    minimal=False,
)
def saha(robot: RobotModel, q: Vector, qd: Vector) -> Matrix:
    """Coriolis matrix Nᵀ (M Ṅ + Ṁ N), where N holds the twists of the bodies at unit joint speeds.

    Twists (angular, linear) and wrenches (moment, force) are about the centres of mass, in base
    axes. Joint i has the unit twist (w, v). Body i has the angular velocity ω, mass m and inertia I
    about the centre of mass com. c leads from this centre to that of a body j nearer to the base:

        Bᵢⱼ = [1 0; c̃ 1],   Ḃᵢⱼ = [0 0; ċ~ 0],   pᵢ = (w, w × com + v)
        Mᵢ  = [I 0; 0 m],   Ṁᵢ  = [ω̃ I 0; 0 0],  Ωᵢ = [ω̃ 0; 0 ω̃]

    From the tips to the base, starting with M̃ = M, M̄ = Ṁ and K = 0 for each body (23), (28):

        M̃ₚ += Bᵢₚᵀ M̃ᵢ Bᵢₚ,   M̄ₚ += M̄ᵢ,   Kₚ += Bᵢₚᵀ (M̃ᵢ Ḃᵢₚ + Kᵢ)

    Then, for j between i and the base (29):

        Cⱼᵢ = pⱼᵀ Bᵢⱼᵀ (M̃ᵢ Ωᵢ + Kᵢ + M̄ᵢ) pᵢ
        Cᵢⱼ = pᵢᵀ (M̃ᵢ (Bᵢⱼ Ωⱼ + Ḃᵢⱼ) + Kᵢ + M̄ᵢ) pⱼ

    The paper prints (29) with a wrong index in the term that is Kᵢ here. This C differs from
    the C of Christoffel symbols, but dH/dt - 2 C is skew-symmetric for both.
    """
    n = robot.nb
    at, w, v, p, M, M_bar = moving_bodies(robot, q, qd)
    Omega = [block(skew(w[i]), NONE, skew(w[i])) for i in range(n)]
    K = [block(NONE, NONE, NONE)] * (n + 1)

    def B(i: int, j: int) -> Matrix:
        return block(IDENTITY, skew(at[j] - at[i]), IDENTITY)

    def B_dot(i: int, j: int) -> Matrix:
        return block(NONE, skew(v[j] - v[i]), NONE)

    M, M_bar = with_base(M), with_base(M_bar)
    for i, j in robot.tips_to_base():
        M[j], M_bar[j] = M[j] + B(i, j).T @ M[i] @ B(i, j), M_bar[j] + M_bar[i]
        K[j] = K[j] + B(i, j).T @ (M[i] @ B_dot(i, j) + K[i])

    C = np.zeros((n, n), dtype=object)
    for i in range(n):
        wrench = (M[i] @ Omega[i] + K[i] + M_bar[i]) @ p[i]
        row = (K[i] + M_bar[i]).T @ p[i]
        for j in robot.path(i):
            C[j, i] = p[j] @ (B(i, j).T @ wrench)
            if j != i:
                C[i, j] = p[i] @ (M[i] @ ((B(i, j) @ Omega[j] + B_dot(i, j)) @ p[j])) + row @ p[j]
    return C


def moving_bodies(
    robot: RobotModel, q: Vector, qd: Vector
) -> tuple[list[Vector], list[Vector], list[Vector], list[Vector], list[Matrix], list[Matrix]]:
    """Return each body's centre of mass, ω, velocity of the centre, p, M and Ṁ, in base axes.

    The twist p at unit joint speed and the 6x6 matrices M and Ṁ are defined in `saha`.
    """
    X = robot.displacements(q)
    com, I = centres(robot), central_inertias(robot)
    n = robot.nb
    R, o, at, w, v = ([x] * (n + 1) for x in (IDENTITY, ZERO, ZERO, ZERO, ZERO))
    p, M, M_bar = [], [], []
    for i, parent in robot.base_to_tips():
        R[i] = R[parent] @ X[i].rotation()
        o[i] = o[parent] + R[parent] @ X[i].origin()
        at[i] = o[i] + R[i] @ com[i]
        w_axis, v_axis = robot.unit_twists[i]
        p.append(np.concatenate([R[i] @ w_axis, R[i] @ (cross(w_axis, com[i]) + v_axis)]))
        w[i] = w[parent] + p[i][:3] * qd[i]
        v[i] = v[parent] + cross(w[parent], at[i] - at[parent]) + p[i][3:] * qd[i]
        J = R[i] @ I[i] @ R[i].T
        M.append(block(J, NONE, robot.m[i] * IDENTITY))
        M_bar.append(block(skew(w[i]) @ J, NONE, NONE))
    return at, w, v, p, M, M_bar


def block(upper: Matrix, lower: Matrix, last: Matrix) -> Matrix:
    """6x6 matrix [upper 0; lower last]."""
    return np.concatenate([np.hstack([upper, NONE]), np.hstack([lower, last])])

"""Inverse dynamics by the coefficients of Lagrange's equations."""

from armlet.algebra import Z_AXIS, ZERO, cross, euler
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import composites
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Vukobratović, Li and Kirćanski 1985; Balafoutis and Patel 1991, (5.2.17)-(5.2.20)",
    growth="n^3",
    joints="R",
    topology="serial",
)
def vukobratovic(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈) of revolute joints, by the coefficients of Lagrange's equations.

        τᵢ  = Σⱼ dᵢⱼ q̈ⱼ + Σⱼₖ cⱼₖ(i) q̇ⱼ q̇ₖ + Gᵢ

    d are the entries of the inertia matrix, c the Christoffel symbols and G the gravity torques.
    Composite body i has the first moment ĉ and the inertia Ĵ, with E = ½ tr(Ĵ) 1 - Ĵ. zⱼ is the
    axis of joint j, and s leads from origin j to origin i. All vectors are in the axes of body i:

        dᵢⱼ    = zᵢ · Ĵ zⱼ + zᵢ · (ĉ × (zⱼ × s))                          j ≤ i
        cᵢₖ(j) = zⱼ · (zᵢ × -E zₖ) + zⱼ · (s × (zₖ × (zᵢ × ĉ)))           j, k ≤ i
               = zₖ · b,   b = (zᵢ × ĉ) × (zⱼ × s) - E (zⱼ × zᵢ)
        cⱼₖ(i) = -cᵢₖ(j)                                                  k ≤ j < i
        Gᵢ     = -zᵢ · (ĉ × g)

    The other Christoffel symbols cⱼₖ(i) are zero or follow by symmetry in j and k, so q̇ⱼ q̇ₖ counts
    twice for j ≠ k. The pair (zⱼ, zⱼ × s) is the twist of joint j and is transformed as a twist.
    """
    n = robot.nb
    X = robot.displacements(q)
    _, c_hat, J_hat = zip(*composites(robot, q), strict=True)
    qd_twice = [2 * x for x in qd]
    qd_qd = [[qd[j] * qd_twice[k] for k in range(j)] + [qd[j] * qd[j]] for j in range(n)]
    tau = [J_hat[i][2, 2] * qdd[i] for i in range(n)]
    z: list[Vector] = []
    zs: list[Vector] = []
    g = robot.g
    for i in range(n):
        inward = X[i].inverse()
        twists = [inward.wrench(z[j], zs[j]) for j in range(i)]
        z, zs = [z_j for z_j, _ in twists] + [Z_AXIS], [zs_j for _, zs_j in twists] + [ZERO]
        g = inward.vector(g)
        tau[i] = tau[i] - cross(c_hat[i], g)[2]
        E = euler(J_hat[i])
        for j in range(i):
            d = J_hat[i][2] @ z[j] + cross(c_hat[i], zs[j])[2]
            b = cross(cross(Z_AXIS, c_hat[i]), zs[j]) - E @ cross(z[j], Z_AXIS)
            c = [z_k @ b for z_k in z]
            tau[j] = tau[j] + d * qdd[i] + sum(c[k] * qd_qd[i][k] for k in range(i + 1))
            tau[i] = tau[i] + d * qdd[j] - sum(c[k] * qd_qd[j][k] for k in range(j + 1))
    return tau

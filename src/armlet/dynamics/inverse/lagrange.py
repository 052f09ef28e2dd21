"""Inverse dynamics by Lagrange's equations, with the bodies' poses as matrices."""

import numpy as np

from armlet.algebra import ZERO, double_dot, euler, homogeneous, outer, skew
from armlet.dynamics.formulation import describe
from armlet.robot import BASE, RobotModel, with_base
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Uicker 1965, Kahn 1969; Balafoutis and Patel 1991, (5.2.7)",
    growth="n^4",
    topology="serial",
)
def uicker_kahn(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), in closed form with 4x4 matrices.

    W is the pose of a body in the base, and E its `pseudo_inertia`, whose last column is (c, m):

        τᵢ  = Σ_{j≥i} (Σ_{k≤j} tr(∂Wⱼ/∂qᵢ Eⱼ (∂Wⱼ/∂qₖ)ᵀ) q̈ₖ
                     + Σ_{k,l≤j} tr(∂Wⱼ/∂qᵢ Eⱼ (∂²Wⱼ/∂qₖ∂qₗ)ᵀ) q̇ₖ q̇ₗ
                     - (g, 0) · ∂Wⱼ/∂qᵢ (c, m)ⱼ)

    With the pose ᵏWⱼ of body j in frame k, ∂/∂qₖ inserts the `twist_matrix` Qₖ of joint k
    after Wₖ: ∂Wⱼ/∂qₖ = Wₖ Qₖ ᵏWⱼ and, for k ≤ l, ∂²Wⱼ/∂qₖ∂qₗ = ∂Wₗ/∂qₖ Qₗ ˡWⱼ.
    """
    n = robot.nb
    g = np.append(robot.g, 0)
    Q = [twist_matrix(*axis) for axis in robot.unit_twists]
    E = [pseudo_inertia(robot, j) for j in range(n)]
    W = {(k, k): np.eye(4, dtype=object) for k in range(BASE, n)}
    for j, X in enumerate(robot.displacements(q)):
        W |= {(k, j): W[k, j - 1] @ homogeneous(X.rotation(), X.origin()) for k in range(BASE, j)}
    dW = {(k, j): W[BASE, k] @ Q[k] @ W[k, j] for j in range(n) for k in range(j + 1)}
    ddW = {(k, l, j): dW[k, l] @ Q[l] @ W[l, j] for l, j in dW for k in range(l + 1)}

    tau: list[Scalar] = [0] * n
    for i, j in dW:
        dW_E = dW[i, j] @ E[j]
        for k in range(j + 1):
            tau[i] = tau[i] + double_dot(dW_E, dW[k, j].T) * qdd[k]
            for l in range(j + 1):
                ddW_kl = ddW[min(k, l), max(k, l), j]
                tau[i] = tau[i] + double_dot(dW_E, ddW_kl.T) * (qd[k] * qd[l])
        tau[i] = tau[i] - g @ dW_E[:, 3]
    return tau


@describe(
    "inverse_dynamics",
    source="Hollerbach 1980; Balafoutis and Patel 1991, Algorithm 5.1, (5.2.12)-(5.2.13)",
)
def hollerbach_4x4(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by recursions of 4x4 matrices.

    A body has the pose W in the base, the pose A in its parent, and the `pseudo_inertia` E, whose
    last column is (c, m). Q is the joint's `twist_matrix`. `pose_rates` computes Ẅ. D is summed
    from the tips to the base, and so is ĉ, the first moment and mass of the composite body:

        Dᵢ  = Eᵢ Ẅᵢᵀ + Σ A D of the children
        ĉᵢ  = (c, m)ᵢ + Σ A ĉ of the children
        τᵢ  = tr(Wᵢ Q Dᵢ) - (g, 0) · Wᵢ Q ĉᵢ
    """
    n = robot.nb
    g = np.append(robot.g, 0)
    A = [homogeneous(X.rotation(), X.origin()) for X in robot.displacements(q)]
    Q = [twist_matrix(*axis) for axis in robot.unit_twists]
    E = [pseudo_inertia(robot, i) for i in range(n)]
    W, _, Wdd = pose_rates(robot, A, Q, qd, qdd)
    D = with_base([E[i] @ Wdd[i].T for i in range(n)])
    c_hat = with_base([E[i][:, 3] for i in range(n)])
    for i, p in robot.tips_to_base():
        D[p], c_hat[p] = D[p] + A[i] @ D[i], c_hat[p] + A[i] @ c_hat[i]
    dW = [W[i] @ Q[i] for i in range(n)]
    return [double_dot(dW[i], D[i]) - g @ dW[i] @ c_hat[i] for i in range(n)]


@describe(
    "inverse_dynamics",
    source="Hollerbach 1980; Balafoutis and Patel 1991, Algorithm 5.2, (5.2.15)-(5.2.16)",
)
def hollerbach_3x3(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by recursions of 3x3 matrices.

    W rotates from body axes to base axes. R and r are the rotation and the origin of a body in its
    parent p. E is the Euler tensor of the inertia, and (w, v) is the joint's unit twist.
    `pose_rates` computes W, Ẇ and Ẅ. The acceleration of the origin is, in base axes,

        aᵢ  = aₚ + Ẅₚ r + 2 Ẇᵢ v q̇ᵢ + Wᵢ v q̈ᵢ

    Towards the base, f is in base axes; m̂ and ĉ are mass and first moment of the composite body:

        fᵢ  = mᵢ aᵢ + Ẅᵢ cᵢ + Σ f of the children
        Dᵢ  = cᵢ aᵢᵀ + Eᵢ Ẅᵢᵀ + Σ (R D + r fᵀ) of the children
        ĉᵢ  = cᵢ + Σ (m̂ r + R ĉ) of the children
        τᵢ  = tr(Wᵢ w̃ Dᵢ) - g · Wᵢ w̃ ĉᵢ + Wᵢ v · (fᵢ - m̂ᵢ g)
    """
    n = robot.nb
    X = robot.displacements(q)
    R, r = [x.rotation() for x in X], [x.origin() for x in X]
    W, Wd, Wdd = pose_rates(robot, R, [skew(w) for w, _ in robot.unit_twists], qd, qdd)
    a_0: list[Vector] = [ZERO] * (n + 1)
    for i, p in robot.base_to_tips():
        _, v_axis = robot.unit_twists[i]
        a_0[i] = a_0[p] + Wdd[p] @ r[i]
        a_0[i] = a_0[i] + Wd[i] @ v_axis * (2 * qd[i]) + W[i] @ v_axis * qdd[i]

    m_hat, c_hat = with_base(robot.m), with_base(robot.c)
    f_0 = with_base([robot.m[i] * a_0[i] + Wdd[i] @ robot.c[i] for i in range(n)])
    D = with_base([outer(robot.c[i], a_0[i]) + euler(robot.J[i]) @ Wdd[i].T for i in range(n)])
    for i, p in robot.tips_to_base():
        f_0[p], D[p] = f_0[p] + f_0[i], D[p] + R[i] @ D[i] + outer(r[i], f_0[i])
        m_hat[p], c_hat[p] = m_hat[p] + m_hat[i], c_hat[p] + m_hat[i] * r[i] + R[i] @ c_hat[i]

    tau = []
    for i, (w_axis, v_axis) in enumerate(robot.unit_twists):
        dW = W[i] @ skew(w_axis)
        angular = double_dot(dW, D[i]) - robot.g @ dW @ c_hat[i]
        linear = W[i] @ v_axis @ (f_0[i] - m_hat[i] * robot.g)
        tau.append(angular + linear)
    return tau


def pose_rates(
    robot: RobotModel, A: list[Matrix], Q: list[Matrix], qd: Vector, qdd: Vector
) -> tuple[list[Matrix], list[Matrix], list[Matrix]]:
    """Return lists of the bodies' poses W in the base, of Ẇ and of Ẅ; the last entry is the base's.

    A is the pose of body i in its parent p. Q is such that ∂A/∂qᵢ = A Q and ∂²A/∂qᵢ² = A Q Q:

        Wᵢ  = Wₚ A
        Ẇᵢ  = Ẇₚ A + Wₚ A Q q̇ᵢ
        Ẅᵢ  = Ẅₚ A + 2 Ẇₚ A Q q̇ᵢ + Wₚ (A Q Q q̇ᵢ² + A Q q̈ᵢ)
    """
    size = len(A[0])
    W = [np.eye(size, dtype=object)] * (robot.nb + 1)
    Wd = [np.zeros((size, size), dtype=object)] * (robot.nb + 1)
    Wdd = [*Wd]
    for i, p in robot.base_to_tips():
        AQ = A[i] @ Q[i]
        W[i] = W[p] @ A[i]
        Wd[i] = Wd[p] @ A[i] + W[p] @ AQ * qd[i]
        Wdd[i] = Wdd[p] @ A[i] + Wd[p] @ AQ * (2 * qd[i])
        Wdd[i] = Wdd[i] + W[p] @ (AQ @ Q[i] * (qd[i] * qd[i]) + AQ * qdd[i])
    return W, Wd, Wdd


def twist_matrix(w: Vector, v: Vector) -> Matrix:
    """Return Q = [w̃ v; 0 0] for a unit twist (w, v): the pose A of the body has ∂A/∂q = A Q."""
    return with_border(skew(w), v, ZERO, 0)


def pseudo_inertia(robot: RobotModel, i: int) -> Matrix:
    """Return ∫ (r, 1) (r, 1)ᵀ dm of body i: its inertia's Euler tensor, bordered by (c, m)."""
    return with_border(euler(robot.J[i]), robot.c[i], robot.c[i], robot.m[i])


def with_border(R: Matrix, r: Vector, bottom: Vector, corner: Scalar) -> Matrix:
    T = np.zeros((4, 4), dtype=object)
    T[:3, :3], T[:3, 3], T[3, :3], T[3, 3] = R, r, bottom, corner
    return T

"""Forward dynamics by the natural orthogonal complement, without the inertia matrix."""

import numpy as np

from armlet.algebra import udu
from armlet.dynamics.bias import bias
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.angeles_ma import complement
from armlet.dynamics.recursions import central_inertias
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector, is_zero, sqrt


@describe(
    "forward_dynamics",
    source="Angeles and Ma 1988; Balafoutis and Patel 1991, (6.2.15) to (6.2.17), on trees",
    growth="n^3",
    minimal=False,
)
def angeles_ma(robot: RobotModel, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Joint accelerations q̈ by two least-squares solutions, with the bias b by Newton and Euler.

    `weighted_complement` computes P with PᵀP = H. Let x be the minimum-norm solution of
    Pᵀ x = τ - b; q̈ is then the least-squares solution of P q̈ = x. The Gram-Schmidt process, from
    the last column to the first, factors P = V Uᵀ: the columns of V are orthogonal, D = VᵀV is
    diagonal, and U is unit upper triangular. Then x = V y and

        D y = U⁻¹ (τ - b)
        Uᵀ q̈ = y
    """
    n = robot.nb
    V = weighted_complement(robot, q)
    U = np.eye(n, dtype=object)
    phi = np.array(tau, dtype=object) - bias(robot, q, qd)
    y = np.zeros(n, dtype=object)
    for k in reversed(range(n)):
        D = V[:, k] @ V[:, k]
        y[k] = phi[k] / D
        for j in range(k):
            U[j, k] = V[:, j] @ V[:, k] / D
            V[:, j] = V[:, j] - U[j, k] * V[:, k]
            phi[j] = phi[j] - U[j, k] * phi[k]

    qdd = list(y)
    for k in range(n):
        for i in range(k):
            qdd[k] = qdd[k] - U[i, k] * qdd[i]
    return qdd


def weighted_complement(robot: RobotModel, q: Vector) -> Matrix:
    """Return P = N T with PᵀP = H: `complement` computes T, and M = NᵀN is the mass matrix.

    P has seven rows per body: three for ω, three for v and one for the rotor. The rows for ω are
    √D Lᵀ ω: the central inertia is I = L D Lᵀ, where L is unit upper triangular and D is diagonal.
    A zero on the diagonal of I gives a row of zeros in P.
    """
    P = np.zeros((robot.nb, 7, robot.nv), dtype=object)
    inertias = central_inertias(robot)
    for k, twists in enumerate(complement(robot, q)):
        empty = np.array([int(is_zero(x)) for x in np.diag(inertias[k])], dtype=object)
        L, D = udu(inertias[k] + np.diag(empty))
        N = np.array([sqrt(D[i] - empty[i]) * L[:, i] for i in range(3)], dtype=object)
        for j, (w, v) in twists.items():
            P[k, :3, j], P[k, 3:6, j] = N @ w, sqrt(robot.m[k]) * v
        P[k, 6, k] = sqrt(robot.drives[k].rotor_inertia)
    return P.reshape(7 * robot.nb, robot.nv)

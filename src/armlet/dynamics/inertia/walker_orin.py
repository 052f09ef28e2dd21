"""The inertia matrix by Walker and Orin: by unit accelerations, and by composite bodies."""

from dataclasses import replace

import numpy as np

from armlet.algebra import ZERO, cross, point_inertia
from armlet.dynamics.formulation import describe
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.dynamics.recursions import central_inertias, centres, columns
from armlet.robot import RobotModel, with_base
from armlet.scalar import Matrix, Vector, is_zero


@describe(
    "inertia_matrix",
    source="Walker and Orin 1982, methods 1 and 2; Balafoutis and Patel 1991, (6.2.4), on trees",
    growth="n^2",
    walks_twists=True,
)
def unit_columns(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by inverse dynamics with unit accelerations.

    Without speed and gravity, τ = H q̈, so column i of H is the torque vector for the unit vector
    q̈ = eᵢ. Since H is symmetric, only the rows up to the diagonal are used.
    """
    n = robot.nv
    weightless = replace(robot, g=ZERO)
    H = np.zeros((n, n), dtype=object)
    for i in range(n):
        tau = newton_euler(weightless, q, [0] * n, [int(k == i) for k in range(n)])
        H[: i + 1, i] = H[i, : i + 1] = tau[: i + 1]
    return H


@describe(
    "inertia_matrix",
    source="Walker and Orin 1982, third method; Balafoutis and Patel 1991, Algorithm 6.1, on trees",
    growth="n^2",
    minimal=False,
)
def walker_orin(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by composite bodies about their centres of mass.

    Composite body i is body i welded to all bodies it carries, with mass m̂ᵢ, centre of mass R̂ᵢ in
    frame i and inertia Êᵢ about this centre. Body i is added to its parent p; d leads from the
    centre of mass of p to that of i. The parallel-axis terms of both bodies add up to a term with
    the reduced mass m̂ₚ m̂ᵢ / (m̂ₚ + m̂ᵢ):

        d  = ᵖXᵢ R̂ᵢ - R̂ₚ
        Êₚ += ᵖRᵢ Êᵢ ᵖRᵢᵀ - m̂ₚ m̂ᵢ / (m̂ₚ + m̂ᵢ) d̃ d̃
        R̂ₚ += m̂ᵢ / (m̂ₚ + m̂ᵢ) d
        m̂ₚ += m̂ᵢ

    A unit acceleration of joint i alone, of unit twist (w, v), needs the force f and the moment t
    about the origin. Column i of H has the projections of (f, t) on the joints from i to the base:

        f = w × m̂ᵢ R̂ᵢ + m̂ᵢ v,   t = Êᵢ w + R̂ᵢ × f
    """
    X = robot.displacements(q)
    m_hat, R_hat, E_hat = map(with_base, (robot.m, centres(robot), central_inertias(robot)))
    for i, p in robot.tips_to_base():
        d = X[i].point(R_hat[i]) - R_hat[p]
        share = 0 if is_zero(m_hat[i]) else m_hat[i] / (m_hat[p] + m_hat[i])
        E_hat[p] = E_hat[p] + X[i].tensor(E_hat[i]) + point_inertia(share * m_hat[p], d)
        R_hat[p] = R_hat[p] + share * d
        m_hat[p] = m_hat[p] + m_hat[i]

    wrenches = []
    for i, (w, v) in enumerate(robot.unit_twists):
        f = cross(w, m_hat[i] * R_hat[i]) + m_hat[i] * v
        wrenches.append((f, E_hat[i] @ w + cross(R_hat[i], f)))
    return columns(robot, X, robot.unit_twists, wrenches)

"""The inertia matrix by composite bodies about their centres of mass."""

from collections.abc import Sequence

import numpy as np

from armlet.algebra import ZERO, cross, point_inertia
from armlet.robot import Displacement, Robot
from armlet.scalar import Matrix, Vector, is_zero

Pair = tuple[Vector, Vector]


def walker_orin(robot: Robot, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by composite bodies about their centres of mass.

    Body i and all it carries, frozen together, have mass m̂ᵢ, centre of mass R̂ᵢ from the origin of
    frame i and inertia Êᵢ about that centre. A child i joins the parent p, its centre d from the
    parent's, all in the parent's axes; both of Steiner's terms are that of the reduced mass:

        d  = ᵖXᵢ R̂ᵢ - R̂ₚ
        Êₚ += ᵖRᵢ Êᵢ ᵖRᵢᵀ - m̂ₚ m̂ᵢ / (m̂ₚ + m̂ᵢ) d̃ d̃
        R̂ₚ += m̂ᵢ / (m̂ₚ + m̂ᵢ) d
        m̂ₚ += m̂ᵢ

    A unit acceleration of joint i alone takes the force f at the centre and, about the origin, the
    moment t; column i of H is what they ask of joint i and of those between it and the base:

        f = w × m̂ᵢ R̂ᵢ + m̂ᵢ v
        t = Êᵢ w + R̂ᵢ × f

    Walker and Orin 1982, third method; Balafoutis and Patel 1991, Algorithm 6.1, on trees.
    """
    X = robot.displacements(q)
    m_hat, R_hat = list(robot.m), centres(robot)
    E_hat = central_inertias(robot)
    for i, p in robot.tips_to_base():
        d = X[i].point(R_hat[i]) - R_hat[p]
        _, _, E = X[i].body(0, ZERO, E_hat[i])
        share = 0 if is_zero(m_hat[i]) else m_hat[i] / (m_hat[p] + m_hat[i])
        E_hat[p] = E_hat[p] + E + point_inertia(share * m_hat[p], d)
        R_hat[p] = R_hat[p] + share * d
        m_hat[p] = m_hat[p] + m_hat[i]

    wrenches = []
    for i, (w, v) in enumerate(robot.axis):
        f = cross(w, m_hat[i] * R_hat[i]) + m_hat[i] * v
        wrenches.append((f, E_hat[i] @ w + cross(R_hat[i], f)))
    return columns(robot, X, robot.axis, wrenches)


def centres(robot: Robot) -> list[Vector]:
    """The centre of mass of each body, in its frame; of one without mass or moment, the origin."""
    return [
        ZERO if all(map(is_zero, (m, *c))) else c / m for m, c in zip(robot.m, robot.c, strict=True)
    ]


def central_inertias(robot: Robot) -> list[Matrix]:
    """The inertia of each body about its centre of mass, in its axes."""
    com = centres(robot)
    return [robot.J[i] - point_inertia(robot.m[i], com[i]) for i in range(robot.n)]


def columns(
    robot: Robot, X: Sequence[Displacement], axis: Sequence[Pair], wrenches: Sequence[Pair]
) -> Matrix:
    """H from the wrench (f, t) that a unit acceleration of each joint alone takes of its body.

    Carried inwards, it asks w · t + v · f of every joint of unit twist (w, v) on the way.
    """
    H = np.array(np.diag(robot.rotor_inertia), dtype=object)
    for i, (f, t) in enumerate(wrenches):
        w, v = axis[i]
        H[i, i] = H[i, i] + w @ t + v @ f
        for j, p in robot.path_to_base(i):
            f, t = X[j].wrench(f, t)
            w, v = axis[p]
            H[p, i] = H[i, p] = w @ t + v @ f
    return H

"""The steps that formulations share: how bodies turn, what joints bear, bodies put together."""

from collections.abc import Sequence

import numpy as np

from armlet.algebra import ZERO, cross, point_inertia
from armlet.robot import Displacement, Robot
from armlet.scalar import Matrix, Scalar, Vector, is_zero

Pair = tuple[Vector, Vector]


def angular_motion(
    robot: Robot, X: list[Displacement], qd: Vector, qdd: Vector
) -> tuple[list[Vector], list[Vector]]:
    """Angular velocity and acceleration of each body, in its own axes; of the base, last, zero.

    With w the angular half of the joint's unit twist:

        ωᵢ  = ωₚ + w q̇ᵢ
        ω̇ᵢ  = ω̇ₚ + ωₚ × w q̇ᵢ + w q̈ᵢ
    """
    w: list[Vector] = [ZERO] * (robot.n + 1)
    wd: list[Vector] = [ZERO] * (robot.n + 1)
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        w_axis, _ = robot.axis[i]
        w_p = inward.vector(w[p])
        w[i] = w_p + w_axis * qd[i]
        wd[i] = inward.vector(wd[p]) + cross(w_p, w_axis * qd[i]) + w_axis * qdd[i]
    return w, wd


def centripetal(w: Vector, r: Vector) -> Vector:
    """ω × (ω × r)."""
    return cross(w, cross(w, r))


def sliding(robot: Robot, i: int, w: Vector, qd: Vector, qdd: Vector) -> Vector:
    """What joint i adds to the acceleration of its body's origin: 2 ωᵢ × v q̇ᵢ + v q̈ᵢ."""
    _, v_axis = robot.axis[i]
    return cross(w, v_axis * (2 * qd[i])) + v_axis * qdd[i]


def joint_torques(
    robot: Robot, X: list[Displacement], qdd: Vector, f: list[Vector], t: list[Vector]
) -> list[Scalar]:
    """Joint torques τ, given the force f and the moment t about its origin that each body needs.

    A joint bears those of its body and of all that the body carries:

        (f, t)ₚ += ᵖXᵢ (f, t)ᵢ
        τᵢ       = w · tᵢ + v · fᵢ + (rotor inertia) q̈ᵢ
    """
    f, t = list(f), list(t)
    for i, p in robot.tips_to_base():
        f_p, t_p = X[i].wrench(f[i], t[i])
        f[p], t[p] = f[p] + f_p, t[p] + t_p
    return [
        w_axis @ t[i] + v_axis @ f[i] + robot.rotor_inertia[i] * qdd[i]
        for i, (w_axis, v_axis) in enumerate(robot.axis)
    ]


def centres(robot: Robot) -> list[Vector]:
    """The centre of mass of each body, in its frame; of one without mass or moment, the origin."""
    return [
        ZERO if all(map(is_zero, (m, *c))) else c / m for m, c in zip(robot.m, robot.c, strict=True)
    ]


def central_inertias(robot: Robot) -> list[Matrix]:
    """The inertia of each body about its centre of mass, in its axes."""
    com = centres(robot)
    return [robot.J[i] - point_inertia(robot.m[i], com[i]) for i in range(robot.n)]


def composite_masses(robot: Robot) -> list[Scalar]:
    """m̂, the mass of each body and of all it carries."""
    m_hat = list(robot.m)
    for i, p in robot.tips_to_base():
        m_hat[p] = m_hat[p] + m_hat[i]
    return m_hat


def composites(
    robot: Robot, q: Vector, m: Sequence[Scalar], c: Sequence[Vector], J: Sequence[Matrix]
) -> tuple[list[Vector], list[Matrix]]:
    """ĉ and Ĵ of composite bodies, made of bodies c and J; mass m[i] goes over joint i."""
    X = robot.displacements(q)
    c_hat, J_hat = list(c), list(J)
    for i, p in robot.tips_to_base():
        _, dc, dJ = X[i].body(m[i], c_hat[i], J_hat[i])
        c_hat[p], J_hat[p] = c_hat[p] + dc, J_hat[p] + dJ
    return c_hat, J_hat


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


def rotors(robot: Robot) -> Matrix:
    """The inertia matrix of the drives alone."""
    return np.diag(np.array(robot.rotor_inertia, dtype=object))

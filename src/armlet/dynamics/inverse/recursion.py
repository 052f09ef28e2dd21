"""The steps that recursive formulations share: how bodies turn, and what their joints bear."""

from armlet.algebra import ZERO, cross, point_inertia
from armlet.robot import Displacement, Robot
from armlet.scalar import Matrix, Scalar, Vector


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


def centres_of_mass(robot: Robot) -> tuple[list[Vector], list[Matrix]]:
    """Centre of mass of each body, and its inertia about it."""
    com = [robot.c[i] / robot.m[i] for i in range(robot.n)]
    return com, [robot.J[i] - point_inertia(robot.m[i], com[i]) for i in range(robot.n)]


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

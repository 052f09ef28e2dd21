"""Computations that formulations share: velocities, accelerations, torques, composite bodies."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from armlet.algebra import (
    CYCLES,
    ZERO,
    cross,
    moment_by_entries,
    point_inertia,
    skew,
    vector,
)
from armlet.dynamics.parallel_axes import ParallelAxes
from armlet.minimal.lumping import gather
from armlet.robot import BASE, Body, Displacement, RobotModel, Twist, with_base
from armlet.scalar import Matrix, Scalar, Vector, is_zero

Pair = tuple[Vector, Vector]


def joint_motion(robot: RobotModel, i: int, rate: Vector) -> Twist:
    """The sum of the unit twists of joint i, each multiplied by its entry of `rate`.

    With `rate` = q̇, this sum is the twist of body i relative to its parent, in the axes of body i.
    """
    w, v = ZERO, ZERO
    for twist, x in zip(robot.twists[i], rate[robot.v_of[i]], strict=True):
        w, v = w + twist.w * x, v + twist.v * x
    return Twist(w, v)


def angular_rates(
    robot: RobotModel, X: list[Displacement], qd: Vector, qdd: Vector
) -> tuple[list[Vector], list[Vector]]:
    """Angular velocity and acceleration of each body, in body axes; the last entries (base) are 0.

    With the parent p of body i and the angular component w of the unit twist of joint i:

        ωᵢ = ωₚ + w q̇ᵢ,   ω̇ᵢ = ω̇ₚ + ωₚ × w q̇ᵢ + w q̈ᵢ
    """
    w: list[Vector] = [ZERO] * (robot.nb + 1)
    wd: list[Vector] = [ZERO] * (robot.nb + 1)
    for i, p in robot.base_to_tips():
        outward = X[i].inverse()
        w_joint, wd_joint = joint_motion(robot, i, qd).w, joint_motion(robot, i, qdd).w
        w_p = outward.vector(w[p])
        w[i] = w_p + w_joint
        wd[i] = outward.vector(wd[p]) + cross(w_p, w_joint) + wd_joint
    return w, wd


def centripetal(w: Vector, r: Vector) -> Vector:
    return cross(w, cross(w, r))


def joint_acceleration(robot: RobotModel, i: int, w: Vector, qd: Vector, qdd: Vector) -> Vector:
    """The acceleration of the origin of body i due to translation along joint i, in body axes.

    With the angular velocity ω of body i and its velocity (w_J, v_J) relative to the parent, this
    is v̇_J + (2 ω - w_J) × v_J. The product w_J × v_J is zero if the joint has an axis.
    """
    own, twice = joint_motion(robot, i, qd), joint_motion(robot, i, [2 * x for x in qd])
    faster = joint_motion(robot, i, qdd).v
    return cross(w, twice.v) - cross(own.w, own.v) + faster


class AngularMotion(NamedTuple):
    """Angular velocity ω (w) and acceleration ω̇ (wd) of a body, in its axes, and their products."""

    w: Vector
    wd: Vector
    Omega: Matrix
    """Ω = ω̇~ + ω̃ ω̃: a body-fixed point at r has the acceleration Ω r relative to the origin."""
    D: Vector
    """Entry i is the difference of squares ωⱼ² - ωₖ², for i, j, k in cyclic order."""

    def moment(self, J: Matrix) -> Vector:
        """The moment J ω̇ + ω × J ω of a body with inertia J, by `moment_by_entries`."""
        return moment_by_entries(self.w, self.wd, J, self.Omega, self.D)


def with_products(w: Vector, wd: Vector, around: Scalar | None = None) -> AngularMotion:
    """The angular motion of a body with angular velocity w and angular acceleration wd.

    A rotation about z does not change ωx² + ωy², so this sum may be known from the parent and then
    be passed as `around`. In this case, ωx² and ωz² are enough for the squares in Ω and D:

        ωz² + ωx²,  ωz² - ωx²
        ωy² - ωz² = around - (ωz² + ωx²)
        ωy² + ωz² = around + (ωz² - ωx²)
        ωx² - ωy² = -(ωy² - ωz²) - (ωz² - ωx²)
    """
    xx, yy, zz = w * w
    y_sum, y_difference = zz + xx, zz - xx
    if around is None:
        around, x_sum = xx + yy, yy + zz
        D = vector(yy - zz, y_difference, xx - yy)
    else:
        x_sum, x_difference = around + y_difference, around - y_sum
        D = vector(x_difference, y_difference, -(x_difference + y_difference))
    Omega = skew(wd)
    for k, total in enumerate((x_sum, y_sum, around)):
        Omega[k, k] = -total
    for i, j, _ in CYCLES:
        Omega[i, j], Omega[j, i] = w[i] * w[j] + Omega[i, j], w[i] * w[j] + Omega[j, i]
    return AngularMotion(w, wd, Omega, D)


def angular_motions(
    robot: RobotModel, X: ParallelAxes, qd: Vector, qdd: Vector
) -> list[AngularMotion]:
    """The angular motion of each body; the last entry, for the base, is zero.

    With the angular component w of the joint's unit twist:

        ωᵢ = ωₚ + w q̇ᵢ,   ω̇ᵢ = ω̇ₚ + ωᵢ × r + w q̈ᵢ

    Here ωₚ and ω̇ₚ are the vectors that `ParallelAxes.vector` returns: their components
    perpendicular to z are those of the body on which the run of parallel axes starts. The angular
    velocity r, computed by `ParallelAxes.rates`, is therefore relative to that body.
    """
    motions = [with_products(ZERO, ZERO)] * (robot.nb + 1)
    w, wd = [ZERO] * (robot.nb + 1), [ZERO] * (robot.nb + 1)
    rate = X.rates(qd)
    for i, _ in robot.base_to_tips():
        w[i] = X.vector(i, w) + joint_motion(robot, i, qd).w
        wd[i] = X.vector(i, wd) + cross(w[i], rate[i]) + joint_motion(robot, i, qdd).w
        x, y, _ = X.at_zero(i, w)
        # A mount of quarter turns only permutes the squares of the components.
        mount = robot._mounts[X.start[i]]
        permutes = all(is_zero(s.c) or is_zero(s.s) for s in mount)
        around = x * x + y * y if permutes and robot.joints[i].type.has_axis else None
        motions[i] = with_products(w[i], wd[i], around)
    return motions


def accelerations(
    robot: RobotModel, X: ParallelAxes, motions: list[AngularMotion], qd: Vector, qdd: Vector
) -> list[Vector]:
    """The acceleration a of each body's origin; the last entry, for the base, is -g for gravity.

    From the origin of parent p, the origin of body i is at r + h z (`origin_along_z`). Translation
    along the joint adds the acceleration a_J (`joint_acceleration`):

        aᵢ  = aₚ + Ωₚ r + Ωᵢ h z + a_J
    """
    a: list[Vector] = [ZERO] * robot.nb + [-robot.g]
    for i, p in robot.base_to_tips():
        r, h = X[i].origin_along_z()
        carried = X[i].inverse().vector(a[p] + motions[p].Omega @ r) + h * motions[i].Omega[:, 2]
        a[i] = carried + joint_acceleration(robot, i, motions[i].w, qd, qdd)
    return a


def joint_torques(
    robot: RobotModel, X: list[Displacement], f: Sequence[Vector], t: Sequence[Vector]
) -> list[Scalar]:
    """Joint torques τ from the force f and the moment t that each body needs, about its origin.

    From the tips to the base, the wrench of body i is added to that of its parent p. Joint i thus
    transmits the sum (f, t)ᵢ, and the torque is its projection on the joint's unit twist (w, v):

        (f, t)ₚ += ᵖXᵢ (f, t)ᵢ,   τᵢ = w · tᵢ + v · fᵢ
    """
    f, t = with_base(f), with_base(t)
    for i, p in robot.tips_to_base():
        f_p, t_p = X[i].wrench(f[i], t[i])
        f[p], t[p] = f[p] + f_p, t[p] + t_p
    return [w @ t[i] + v @ f[i] for i, (w, v) in robot._velocities]


def centres(robot: RobotModel) -> list[Vector]:
    """The centre of mass of each body, in its frame; the origin if m and c are zero."""
    return [
        ZERO if all(map(is_zero, (m, *c))) else c / m for m, c in zip(robot.m, robot.c, strict=True)
    ]


def central_inertias(robot: RobotModel) -> list[Matrix]:
    """The inertia of each body about its centre of mass, in body axes."""
    bodies = zip(robot.m, robot.J, centres(robot), strict=True)
    return [J - point_inertia(m, com) for m, J, com in bodies]


def composite_masses(robot: RobotModel) -> list[Scalar]:
    """The mass m̂ of each body together with all bodies it carries."""
    m_hat = with_base(robot.m)
    for i, p in robot.tips_to_base():
        m_hat[p] = m_hat[p] + m_hat[i]
    return m_hat[:BASE]


def composites(robot: RobotModel, q: Vector) -> list[Body]:
    """Mass m̂, first moment ĉ and inertia Ĵ of each composite body, about its body's origin."""
    X = robot.displacements(q)
    return gather(robot, lambda i, body: X[i].body(*body), robot.bodies)


def columns(
    robot: RobotModel, X: Sequence[Displacement], twists: Sequence[Pair], wrenches: Sequence[Pair]
) -> Matrix:
    """Compute H from the wrench (f, t) of each body for a unit acceleration of its joint alone.

    Wrench i is transformed to each body j on the path to the base. There, with the unit twist
    (w, v) of joint j, it gives the entry Hⱼᵢ = w · t + v · f.
    """
    H = np.zeros((robot.nv, robot.nv), dtype=object)
    for i, (f, t) in enumerate(wrenches):
        for j in reversed(robot.path(i)):
            w, v = twists[j]
            H[j, i] = H[i, j] = w @ t + v @ f
            f, t = X[j].wrench(f, t)
    return H


def momentum(body: Body, twist: Pair | Matrix) -> Pair:
    """(m v + w × c, J w + c × v): momentum at velocity (w, v), or wrench at acceleration (w, v)."""
    (m, c, J), (w, v) = body, twist
    return cross(w, c) + m * v, J @ w + cross(c, v)


def unit_wrenches(twists: Sequence[Pair], bodies: Iterable[Body]) -> list[Pair]:
    """The force and the moment that each body needs for a unit acceleration of its joint alone."""
    return [*map(momentum, bodies, twists)]

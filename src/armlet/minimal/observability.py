"""Conditions under which joint torques depend on a body's parameters: r, s, δ, σ of Lin 1994."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from armlet.algebra import X_AXIS, Y_AXIS, Z_AXIS, ZERO, cross
from armlet.minimal.parameters import is_number
from armlet.robot import BASE, RobotModel
from armlet.scalar import Scalar, Vector, identical

TOLERANCE = 1e-12
"""Numbers below this count as zero: components of unit vectors, lengths relative to the size of the
arm, accelerations relative to gravity. Symbolic entries count as zero only if identical to 0."""


class JointContext(NamedTuple):
    """The geometry of the joints from the base to joint i, in frame i with all joints at zero.

    r is the first revolute joint on the path from the base, s the first revolute joint after r with
    another axis direction. Conditions computed from these fields hold for every q.
    """

    g: Vector
    pulls: tuple[Vector, ...] = ()
    """Vectors whose span contains gravity in frame i for every q."""
    first: Vector | None = None
    """The axis of the first joint."""
    u: Vector | None = None
    """The axis of joint r; None for joints before r."""
    on_r: Vector = ZERO
    """A point on the axis of joint r."""
    spatial: bool = False
    """Whether joint i is s or comes after s."""
    upright: bool = True
    """Whether all axes are parallel to one another and to gravity."""
    coaxial: bool = True
    """Whether all revolute joints have one common axis."""
    centre: Vector | None = ZERO
    """The point where all joint axes meet; None without such a point or after a prismatic joint."""
    prismatic_axes: tuple[Vector, ...] = ()
    stands_in: bool = False
    """Whether Jzz (or m on a prismatic joint) acts on the torques exactly as rotor inertia does."""
    reach: float = 1.0
    """The size of the arm: the scale for negligible lengths."""
    weight: float = 1.0
    """The size of gravity: the scale for negligible accelerations."""


def joint_contexts(robot: RobotModel, friction: bool = False) -> list[JointContext]:
    """Return each joint's `JointContext`; with `friction`, drive offsets absorb constant forces."""
    at_zero = robot._at_zero
    reach = size(x for row in robot.dh for x in (row.b, row.a, row.d))
    weight = size(robot.g)
    on_base = JointContext(robot.g, (robot.g,), reach=reach, weight=weight)
    contexts: list[JointContext] = []
    for i, p in robot.base_to_tips():
        inward = at_zero[i].inverse()
        before = contexts[p] if p != BASE else on_base
        seen = before._replace(
            g=inward.vector(before.g),
            pulls=tuple(map(inward.vector, before.pulls)),
            first=Z_AXIS if before.first is None else inward.vector(before.first),
            u=None if before.u is None else inward.vector(before.u),
            on_r=inward.point(before.on_r),
            centre=None if before.centre is None else inward.point(before.centre),
            prismatic_axes=tuple(map(inward.vector, before.prismatic_axes)),
        )
        if not robot.joints[i].type.has_axis:  # it may turn its body to any direction
            contexts.append(seen._replace(spatial=True))
            continue
        upright = seen.upright and along_z(seen.first) and along_z(seen.g, weight)
        seen = seen._replace(upright=upright)
        if robot.joints[i].type.translates:
            seen = after_prismatic(seen, friction)
        contexts.append(after_revolute(seen) if robot.joints[i].type.rotates else seen)
    return contexts


def after_prismatic(seen: JointContext, friction: bool) -> JointContext:
    straight = not seen.spatial and (seen.u is None or along_z(seen.u))
    alone = all(vanishes([axis[2]]) for axis in seen.prismatic_axes)
    weightless = friction or vanishes([seen.g[2]], seen.weight)
    return seen._replace(
        prismatic_axes=(*seen.prismatic_axes, Z_AXIS),
        centre=None,
        stands_in=straight and alone and weightless,
    )


def after_revolute(seen: JointContext) -> JointContext:
    seen = seen._replace(pulls=span_about_z(seen.pulls, seen.weight))
    if seen.u is None:
        return seen._replace(
            u=Z_AXIS, on_r=ZERO, centre=seen.centre if seen.centre is None else ZERO, stands_in=True
        )
    spatial = seen.spatial or not along_z(seen.u)
    centre = seen.centre
    if spatial and not seen.spatial and centre is not None:
        centre = intersection_with_z(seen.on_r, seen.u, seen.reach)
    if centre is not None and not along_z(centre, seen.reach):
        centre = None
    return seen._replace(
        spatial=spatial,
        coaxial=seen.coaxial and along_z(seen.on_r, seen.reach),
        centre=centre,
        stands_in=spatial and not seen.spatial and vanishes([seen.u[2]]),
    )


def span_about_z(pulls: Sequence[Vector], weight: float) -> tuple[Vector, ...]:
    """Return vectors of length `weight` that span all rotations of `pulls` about z.

    If some vector is not along z, the span contains the plane perpendicular to z.
    """
    flat = all(along_z(v, weight) for v in pulls)
    plane = () if flat else (weight * X_AXIS, weight * Y_AXIS)
    return plane if vanishes([v[2] for v in pulls], weight) else (*plane, weight * Z_AXIS)


def intersection_with_z(point: Vector, u: Vector, reach: float) -> Vector | None:
    """Return the point where the line along u through `point` meets the z axis, or None."""
    if not vanishes([cross(point, u)[2]], reach):
        return None
    return point - (point[:2] @ u[:2]) / (u[:2] @ u[:2]) * u


def along_z(v: Vector | None, size: float = 1.0) -> bool:
    """Whether v, of magnitude `size`, is zero or along z; False for None."""
    return v is not None and vanishes(v[:2], size)


def vanishes(entries: Sequence[Scalar], size: float = 1.0) -> bool:
    """Whether all numbers are negligible relative to `size` and all symbols identical to 0."""
    return all(abs(x) <= TOLERANCE * size if is_number(x) else identical(x, 0) for x in entries)


def size(entries: Iterable[Scalar]) -> float:
    """Return the sum of the magnitudes of all numeric entries; 1 if this sum is zero."""
    return float(sum(abs(x) for x in entries if is_number(x))) or 1.0

"""What the joints on the way to a body let its torques show: r, s, δ and σ of Lin 1994."""

from collections.abc import Sequence
from typing import NamedTuple

from armlet.algebra import X_AXIS, Y_AXIS, Z_AXIS, ZERO, cross
from armlet.minimal.parameters import is_number
from armlet.robot import BASE, Robot
from armlet.scalar import Scalar, Vector

TOLERANCE = 1e-9
"""What counts as zero in unit vectors, in metres and in m/s²; no symbol does."""


class Place(NamedTuple):
    """How joint i stands to those between it and the base, in frame i with all joints at zero.

    r is the first joint on the way that turns and s the first after r that turns about another
    direction. All that is asked here is so for every q: before s no turn changes it.
    """

    g: Vector
    """Gravity."""
    pulls: tuple[Vector, ...] = ()
    """Vectors that span what gravity is in frame i, over all q."""
    first: Vector | None = None
    """The axis of the first joint."""
    u: Vector | None = None
    """The axis of joint r, once there is one."""
    on_r: Vector = ZERO
    """A point of that axis."""
    spatial: bool = False
    """Whether s has been reached."""
    upright: bool = True
    """Whether all axes are along one another and along gravity."""
    coaxial: bool = True
    """Whether all joints that turn do so about one line."""
    centre: Vector | None = ZERO
    """A point on the axes of all joints, where all turn and there is one."""
    slides: tuple[Vector, ...] = ()
    """The axes of the joints before that slide."""
    stands_in: bool = False
    """Whether Jzz (or m of a sliding joint) does what a rotor does, and nothing else."""


def places(robot: Robot, friction: bool = False) -> list[Place]:
    """The place of every joint; with friction, a constant force may be its offset."""
    at_zero = robot.displacements([0] * robot.n)
    found: list[Place] = []
    for i, p in robot.base_to_tips():
        inward = at_zero[i].inverse()
        before = found[p] if p != BASE else Place(robot.g, (robot.g,))
        seen = before._replace(
            g=inward.vector(before.g),
            pulls=tuple(map(inward.vector, before.pulls)),
            first=Z_AXIS if before.first is None else inward.vector(before.first),
            u=None if before.u is None else inward.vector(before.u),
            on_r=inward.point(before.on_r),
            centre=None if before.centre is None else inward.point(before.centre),
            slides=tuple(map(inward.vector, before.slides)),
        )
        seen = seen._replace(upright=seen.upright and along_z(seen.first) and along_z(seen.g))
        found.append(slid(seen, friction) if robot.joints[i].letter == "P" else turned(seen))
    return found


def slid(seen: Place, friction: bool) -> Place:
    """A joint that slides."""
    straight = not seen.spatial and (seen.u is None or along_z(seen.u))
    alone = all(vanishes([axis[2]]) for axis in seen.slides)
    weightless = friction or vanishes([seen.g[2]])
    return seen._replace(
        slides=(*seen.slides, Z_AXIS),
        centre=None,
        stands_in=straight and alone and weightless,
    )


def turned(seen: Place) -> Place:
    """A joint that turns."""
    seen = seen._replace(pulls=swept(seen.pulls))
    if seen.u is None:
        return seen._replace(
            u=Z_AXIS, on_r=ZERO, centre=seen.centre if seen.centre is None else ZERO, stands_in=True
        )
    spatial = seen.spatial or not along_z(seen.u)
    centre = seen.centre
    if spatial and not seen.spatial and centre is not None:
        centre = meeting(seen.on_r, seen.u)
    if centre is not None and not along_z(centre):
        centre = None
    return seen._replace(
        spatial=spatial,
        coaxial=seen.coaxial and along_z(seen.on_r),
        centre=centre,
        stands_in=spatial and not seen.spatial and vanishes([seen.u[2]]),
    )


def swept(pulls: Sequence[Vector]) -> tuple[Vector, ...]:
    """What vectors span when they turn about z by all angles.

    The turns of one that is not along z span the plane across z; z is added by a part along z.
    """
    plane = () if all(map(along_z, pulls)) else (X_AXIS, Y_AXIS)
    return plane if vanishes([v[2] for v in pulls]) else (*plane, Z_AXIS)


def meeting(point: Vector, u: Vector) -> Vector | None:
    """Where the line along u through a point meets the z axis, if it does."""
    if not vanishes([cross(point, u)[2]]):
        return None
    return point - (point[:2] @ u[:2]) / (u[:2] @ u[:2]) * u


def along_z(v: Vector | None) -> bool:
    """Whether a vector is along z, or zero."""
    return v is not None and vanishes(v[:2])


def vanishes(entries: Sequence[Scalar]) -> bool:
    """Whether all entries are numbers that count as zero, or known to be zero."""
    return all(abs(x) < TOLERANCE if is_number(x) else x == 0 for x in entries)

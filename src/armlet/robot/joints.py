"""Joint types: the displacement and the unit twists of each."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from armlet.algebra import Z_AXIS, ZERO
from armlet.robot.displacement import DHRow, Screw, cos_sin_of_sum
from armlet.scalar import Scalar, Vector, cos_sin, is_zero


class Twist(NamedTuple):
    """The motion of a body at unit joint velocity: angular, and of its origin, in its axes."""

    w: Vector
    v: Vector

    @property
    def rotates(self) -> int:
        """1 if the twist rotates the body, else 0: exact, so that folding removes products."""
        return int(not all(map(is_zero, self.w)))

    @property
    def translates(self) -> int:
        """1 if the twist moves the body's origin, else 0: exact."""
        return int(not all(map(is_zero, self.v)))


class JointType(NamedTuple):
    """A joint type, about and along the z axis of its body."""

    letter: str
    nq: int
    """Number of positions."""
    screws: Callable[[DHRow, Sequence[Scalar]], tuple[Screw, ...]]
    """Its displacement, after the mount: a product of screws of the row's theta and d, and of q."""
    twists: tuple[Twist, ...]
    """A unit twist for each of its velocities, constant in the body's axes."""

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.twists)

    @property
    def rotates(self) -> int:
        """1 if the joint rotates its body relative to the parent, else 0."""
        return max(twist.rotates for twist in self.twists)

    @property
    def translates(self) -> int:
        """1 if the joint moves its body's origin in the parent, else 0."""
        return max(twist.translates for twist in self.twists)


ROTATION, TRANSLATION = Twist(Z_AXIS, ZERO), Twist(ZERO, Z_AXIS)
REVOLUTE = JointType(
    "R", 1, lambda row, q: (Screw(2, *cos_sin_of_sum(q[0], row.theta), row.d),), (ROTATION,)
)
PRISMATIC = JointType(
    "P", 1, lambda row, q: (Screw(2, *cos_sin(row.theta), q[0] + row.d),), (TRANSLATION,)
)
JOINT_TYPES = {"revolute": REVOLUTE, "continuous": REVOLUTE, "prismatic": PRISMATIC}
"""The joint types by their name in files; a new type is a new entry."""


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Consecutive slices of these sizes."""
    ends = accumulate(sizes)
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))

"""Joint types: the displacement and the unit twists of each."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from armlet.algebra import Z_AXIS, ZERO
from armlet.robot.displacement import DHRow, Screw, cos_sin_of_sum
from armlet.scalar import Scalar, Vector, cos_sin, is_zero


class Twist(NamedTuple):
    """Angular velocity w of a body, and v of its origin, at unit joint speed and in body axes."""

    w: Vector
    v: Vector

    @property
    def rotates(self) -> int:
        """1 if the twist rotates the body, else 0: an integer, so that folding removes products."""
        return int(not all(map(is_zero, self.w)))

    @property
    def translates(self) -> int:
        """1 if the twist moves the body's origin, else 0: an integer, as in `rotates`."""
        return int(not all(map(is_zero, self.v)))


class JointType(NamedTuple):
    """A joint type; its axis is the z axis of the body that it moves."""

    letter: str
    nq: int
    """Number of positions."""
    screws: Callable[[DHRow, Sequence[Scalar]], tuple[Screw, ...]]
    """The displacement after the mount, as screws, from the DH row (theta and d) and q."""
    twists: tuple[Twist, ...]
    """One unit twist per velocity, constant in the body's axes."""

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
"""The joint types by their kind, as named in files; to add a type, add an entry."""


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Consecutive slices, from index 0, with the lengths `sizes`."""
    ends = accumulate(sizes)
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))

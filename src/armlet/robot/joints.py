"""Joint types: the screws and the unit twists of revolute and prismatic joints."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from armlet.algebra import Z_AXIS, ZERO
from armlet.robot.displacement import DHRow, Screw, cos_sin_of_sum
from armlet.scalar import Scalar, Vector, cos_sin, is_zero


class Twist(NamedTuple):
    """Angular velocity w of a body and its origin's velocity v at joint speed 1, in body axes."""

    w: Vector
    v: Vector

    @property
    def rotates(self) -> int:
        """1 if the twist rotates the body, else 0; constant folding removes products with ints."""
        return int(not all(map(is_zero, self.w)))

    @property
    def translates(self) -> int:
        """1 if the twist moves the body's origin, else 0."""
        return int(not all(map(is_zero, self.v)))


class JointType(NamedTuple):
    """A joint type; the joint axis is the z axis of the body that the joint moves."""

    letter: str
    nq: int
    """Number of positions."""
    screws: Callable[[DHRow, Sequence[Scalar]], tuple[Screw, ...]]
    """The joint's screws as a function of the DH row (theta and d) and the joint's positions."""
    twists: tuple[Twist, ...]
    """One unit twist per velocity, constant in the body's axes."""

    @property
    def nv(self) -> int:
        return len(self.twists)

    @property
    def rotates(self) -> int:
        """1 if the joint rotates its body relative to the parent, else 0."""
        return max(twist.rotates for twist in self.twists)

    @property
    def translates(self) -> int:
        """1 if the joint moves its body's origin relative to the parent, else 0."""
        return max(twist.translates for twist in self.twists)


ROTATION, TRANSLATION = Twist(Z_AXIS, ZERO), Twist(ZERO, Z_AXIS)
REVOLUTE = JointType(
    "R", 1, lambda row, q: (Screw(2, *cos_sin_of_sum(q[0], row.theta), row.d),), (ROTATION,)
)
PRISMATIC = JointType(
    "P", 1, lambda row, q: (Screw(2, *cos_sin(row.theta), q[0] + row.d),), (TRANSLATION,)
)
JOINT_TYPES = {"revolute": REVOLUTE, "continuous": REVOLUTE, "prismatic": PRISMATIC}
"""The joint type of each kind of joint; kinds are named as in robot files."""


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return consecutive slices from index 0 whose lengths are `sizes`."""
    ends = accumulate(sizes)
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))

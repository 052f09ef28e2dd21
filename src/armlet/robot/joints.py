"""Joint types: how a joint moves its body, and how its positions change with its velocities."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

from armlet.algebra import Z_AXIS, ZERO
from armlet.robot.displacement import DHRow, Screw, cos_sin_of_sum
from armlet.scalar import Scalar, Vector, cos_sin, is_zero


class Twist(NamedTuple):
    """Angular velocity w of a body and velocity v of its origin, at joint speed 1, in body axes."""

    w: Vector
    v: Vector

    @property
    def rotates(self) -> int:
        """1 if the twist rotates the body, else 0; an int, so products with it cost nothing."""
        return int(not all(map(is_zero, self.w)))

    @property
    def translates(self) -> int:
        """1 if the twist moves the body's origin, else 0."""
        return int(not all(map(is_zero, self.v)))


Array = Any
"""An array of numbers or of traced scalars, with the entries of a joint along its last axis."""


class JointType(NamedTuple):
    """A joint type; the joint axis is the z axis of the body that the joint moves.

    The functions take arrays with any leading axes. The default `integrate` returns q + v.
    """

    letter: str
    neutral: tuple[int, ...]
    """The positions at which the joint has the pose stated in the robot's file."""
    screws: Callable[[DHRow, Sequence[Scalar]], tuple[Screw, ...]]
    """The joint's screws as a function of the DH row (theta and d) and the joint's positions."""
    twists: tuple[Twist, ...]
    """One unit twist per velocity, constant in the body's axes."""
    integrate: Callable[[Array, Array], Array] = add
    """Function of q and v: the positions reached from q at the velocity v in one unit of time."""
    difference: Callable[[Array, Array], Array] = lambda q0, q1: q1 - q0
    """Function of q0 and q1: the displacement v with integrate(q0, v) = q1."""
    rate: Callable[[Array, Array], Array] = lambda _, v: v
    """Function of local coordinates δ and a velocity v: the rate of change of δ while the joint, at
    the positions integrate(q0, δ), moves with v. It does not depend on q0."""
    random: Callable[[Array, Array, Array], Array] = lambda u, lower, upper: (
        lower + (upper - lower) * u
    )
    """Function of nv random numbers u from 0 to 1, and of limits: random positions."""

    @property
    def nq(self) -> int:
        return len(self.neutral)

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
    "R", (0,), lambda row, q: (Screw(2, *cos_sin_of_sum(q[0], row.theta), row.d),), (ROTATION,)
)
PRISMATIC = JointType(
    "P", (0,), lambda row, q: (Screw(2, *cos_sin(row.theta), q[0] + row.d),), (TRANSLATION,)
)
JOINT_TYPES = {"revolute": REVOLUTE, "continuous": REVOLUTE, "prismatic": PRISMATIC}
"""The joint type of each kind of joint; kinds are named as in robot files."""


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return consecutive slices from index 0 whose lengths are `sizes`."""
    ends = accumulate(sizes)
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))

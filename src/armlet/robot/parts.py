"""What a robot is made of: rows, joints, drives, frames."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from armlet.robot.joints import JOINT_KINDS, JointKind
from armlet.robot.pose import Pose
from armlet.scalar import Scalar

BASE = -1
"""The index of the fixed body: it stands last in a list that has a place for it."""


def with_base(values: Sequence[Any]) -> list[Any]:
    """Something of every body, and a zero of its kind for the base, which comes last."""
    return [*values, 0 * values[-1]]


PHI = ("Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz", "cx", "cy", "cz", "m")
"""The inertial parameters of a body, in their order."""


MAX_SIZE = 1e50
"""Larger numbers are no lengths, masses or accelerations, and their products overflow."""


class DHRow(NamedTuple):
    """Where a body sits in its parent when its joint is at zero.

    A turn gamma about and slide b along the parent's z, a turn alpha about and slide a along the
    new x, a turn beta about the new y, a turn theta about and slide d along the new z, which is the
    joint's axis. The first two are zero but on branches of a tree (Khalil and Kleinfinger 1986),
    beta but between nearly parallel axes (Hayati 1983).
    """

    gamma: Scalar
    b: Scalar
    alpha: Scalar
    a: Scalar
    d: Scalar
    theta: Scalar
    beta: Scalar = 0.0


class Limits(NamedTuple):
    """What a joint may do: position, speed and torque (or force)."""

    lower: float = -inf
    upper: float = inf
    velocity: float = inf
    effort: float = inf


class Drive(NamedTuple):
    """What a joint's drive adds, on the joint's side of the gear."""

    rotor_inertia: Scalar = 0
    viscous: Scalar = 0
    coulomb: Scalar = 0
    offset: Scalar = 0


class Joint(NamedTuple):
    """A joint's name, its kind (revolute, continuous or prismatic) and its limits."""

    name: str
    kind: str
    limits: Limits = Limits()

    @property
    def motion(self) -> JointKind:
        """How joints of its kind move: an entry of the table of joint kinds."""
        return JOINT_KINDS[self.kind]

    @property
    def letter(self) -> str:
        return self.motion.letter


class Frame(NamedTuple):
    """A named frame, fixed on a body: its pose in the body's canonical frame."""

    body: int
    pose: Pose

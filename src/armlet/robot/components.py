"""What a robot consists of: joints, limits, couplings, drives, springs, frames."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from armlet.algebra import ZERO, symmetric, upper_triangle, vector
from armlet.robot.displacement import Body
from armlet.robot.joints import JOINT_TYPES, JointType
from armlet.robot.pose import Pose
from armlet.scalar import Scalar, Vector

BASE = -1
"""The index of the base, which is the last entry of a list that includes the base."""


def with_base(values: Sequence[Any]) -> list[Any]:
    """The values of all bodies, followed by a zero of the same type for the base."""
    return [*values, 0 * values[-1]]


PHI = ("Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz", "cx", "cy", "cz", "m")
"""The inertial parameters of a body, in their order."""


class Limits(NamedTuple):
    """The limits of a joint: position, velocity and torque (or force)."""

    lower: float = -inf
    upper: float = inf
    velocity: float = inf
    effort: float = inf


class Drive(NamedTuple):
    """Rotor inertia and friction of a joint's drive, on the joint's side of the gear."""

    rotor_inertia: Scalar = 0
    viscous: Scalar = 0
    coulomb: Scalar = 0
    offset: Scalar = 0


class Spring(NamedTuple):
    """A spring at a joint: its stiffness (N m/rad or N/m), and the position where it is at rest."""

    stiffness: Scalar = 0
    reference: Scalar = 0


class Compensation(NamedTuple):
    """The part of a body whose weight is compensated: its mass, and its first moment as in `c`.

    A force -(mass) g, against gravity, acts on the body at that part's centre of mass.
    """

    mass: Scalar = 0
    moment: Vector = ZERO


class Joint(NamedTuple):
    """A joint's name, its kind (revolute, continuous or prismatic) and its limits."""

    name: str
    kind: str
    limits: Limits = Limits()

    @property
    def type(self) -> JointType:
        """The joint's entry in `JOINT_TYPES`."""
        return JOINT_TYPES[self.kind]

    @property
    def letter(self) -> str:
        return self.type.letter


class Frame(NamedTuple):
    """A named frame, fixed on a body: its pose in the body's canonical frame."""

    body: int
    pose: Pose


class Coupling(NamedTuple):
    """How a joint follows its leader: position = factor * (position of the leader) + offset."""

    leader: int
    """The index of the leading joint; a joint that is its own leader is a coordinate."""
    factor: Scalar = 1
    offset: Scalar = 0


def common_limits(
    leader: Limits, followers: Sequence[tuple[Joint, Coupling]]
) -> tuple[Limits, list[Joint]]:
    """The leader's limits, narrowed by its followers', and the followers whose range is ignored.

    A follower's range is ignored if it would leave the leader no range to move in: some files give
    followers the range of the leader, for any factor. The effort is the leader's, as the leader is
    assumed to have the drive.
    """
    lower, upper, velocity, effort = leader
    contrary = []
    for joint, (_, factor, offset) in followers:
        ends = sorted((limit - offset) / factor for limit in joint.limits[:2])
        low, high = max(lower, ends[0]), min(upper, ends[1])
        if low < high or (low, high) == (lower, upper):
            lower, upper = low, high
        else:
            contrary.append(joint)
        velocity = min(velocity, joint.limits.velocity / abs(factor) if factor else inf)
    return Limits(lower, upper, velocity, effort), contrary


def body_of(entries: Sequence[Any]) -> Body:
    """Mass, first moment and inertia from ten entries in the order of `PHI`."""
    return entries[9], vector(*entries[6:9]), symmetric(*entries[:6])


def entries_of(body: Body) -> list[Any]:
    """The ten entries of a body in the order of `PHI`."""
    m, c, J = body
    return [*upper_triangle(J), *c, m]


def bodies_of(phi: Sequence[Sequence[Scalar]]) -> dict[str, Any]:
    """The fields m, c and J of a robot, from rows of ten parameters."""
    m, c, J = zip(*map(body_of, phi), strict=True) if phi else ((), (), ())
    return {"m": m, "c": c, "J": J}

"""The components of a robot: joints, limits, couplings, drives, springs and frames."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from armlet.algebra import ZERO, symmetric, upper_triangle, vector
from armlet.robot.displacement import Body
from armlet.robot.joints import JOINT_TYPES, JointType
from armlet.robot.pose import Pose
from armlet.scalar import Scalar, Vector

BASE = -1
"""The index of the base: lists that have an entry for the base have it at the end."""


def with_base(values: Sequence[Any]) -> list[Any]:
    """Return the values of all bodies, followed by a zero of the same type for the base."""
    return [*values, 0 * values[-1]]


PHI = ("Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz", "cx", "cy", "cz", "m")
"""The names of the ten inertial parameters of a body, in the order of `RobotModel.phi`."""


class Limits(NamedTuple):
    """Position, velocity and torque (or force) limits of a joint."""

    lower: float = -inf
    upper: float = inf
    velocity: float = inf
    effort: float = inf


class Drive(NamedTuple):
    """Rotor inertia and friction of a joint's drive, reflected to the joint side of the gear."""

    rotor_inertia: Scalar = 0
    viscous: Scalar = 0
    coulomb: Scalar = 0
    offset: Scalar = 0


class Spring(NamedTuple):
    """A joint spring: its stiffness (N m/rad or N/m) and its rest position."""

    stiffness: Scalar = 0
    reference: Scalar = 0


class Compensation(NamedTuple):
    """Gravity compensation of a body: the compensated mass, and its first moment about the origin.

    The compensation acts on the body as the force -mass * gravity at the point moment / mass.
    """

    mass: Scalar = 0
    moment: Vector = ZERO


class Joint(NamedTuple):
    """Name, kind (a key of `JOINT_TYPES`), limits and pitch (m/rad, if helical) of a joint."""

    name: str
    kind: str
    limits: Limits = Limits()
    pitch: float = 0.0

    @property
    def type(self) -> JointType:
        joint = JOINT_TYPES[self.kind]
        return joint.with_pitch(self.pitch) if joint.with_pitch else joint

    @property
    def letter(self) -> str:
        return self.type.letter

    def names(self, labels: Sequence[str]) -> list[str]:
        """Return the joint's name followed by each label, or the name alone without labels."""
        return [f"{self.name}.{label}" for label in labels] or [self.name]


class Frame(NamedTuple):
    """A frame attached to a body: the body's index, and the pose in the body's canonical frame."""

    body: int
    pose: Pose


class Coupling(NamedTuple):
    """Coupling of a joint to its leader: position = factor * (position of the leader) + offset."""

    leader: int
    """The index of the leading joint; a joint that leads itself is a coordinate of the robot."""
    factor: Scalar = 1
    offset: Scalar = 0


def common_limits(
    leader: Limits, followers: Sequence[tuple[Joint, Coupling]]
) -> tuple[Limits, list[Joint]]:
    """Return the leader's limits narrowed by its followers, and the followers in conflict.

    A follower is in conflict if its position limits would leave the leader no range. Its position
    limits are then ignored, since some files copy the leader's limits to followers without scaling
    by the factor. The effort limit does not change, since the leader is assumed to have the drive.
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
    """Return mass, first moment and inertia from ten parameters in the order of `PHI`."""
    return entries[9], vector(*entries[6:9]), symmetric(*entries[:6])


def entries_of(body: Body) -> list[Any]:
    """Return the ten inertial parameters of a body in the order of `PHI`."""
    m, c, J = body
    return [*upper_triangle(J), *c, m]


def bodies_of(phi: Sequence[Sequence[Scalar]]) -> dict[str, Any]:
    """Return a dict of the `RobotModel` fields m, c and J; `phi` has ten parameters per body."""
    m, c, J = zip(*map(body_of, phi), strict=True) if phi else ((), (), ())
    return {"m": m, "c": c, "J": J}

"""Robot descriptions: file readers return a `Description`, file writers take one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from armlet.robot.components import Compensation, Drive, Limits, Spring
from armlet.robot.pose import IDENTITY_POSE, Pose
from armlet.scalar import Matrix, Vector


@dataclass(frozen=True)
class Mesh:
    """A visual mesh: file name as in the robot file, pose in the link's frame, and scale."""

    file: str
    pose: Pose = IDENTITY_POSE
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    path: str = field(default="", compare=False)
    """Path of the file on this machine, or an empty string if the file is missing."""


@dataclass(frozen=True)
class Solid:
    """A visual primitive: kind, size in m, pose in the link's frame.

    The numbers in `size` are, for a box, the three sides; for a sphere, the radius; for a cylinder
    or capsule, the radius and the length without round ends; for an ellipsoid, the three half axes.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose = IDENTITY_POSE


@dataclass(frozen=True)
class Link:
    """A rigid body, with all data in the link's frame; the inertia is about the centre of mass."""

    name: str
    mass: float = 0.0
    com: Vector = field(default_factory=lambda: np.zeros(3))
    inertia: Matrix = field(default_factory=lambda: np.zeros((3, 3)))
    meshes: tuple[Mesh, ...] = ()
    where: str = ""
    """File and line, for messages: 'arm.urdf, line 12'."""
    as_published: bool = False
    """Whether the inertia is known to be as published; if so, only strict loading checks it."""
    compensation: Compensation = field(default_factory=Compensation)
    """Compensated mass, and its first moment about the origin of the link's frame."""
    solids: tuple[Solid, ...] = ()


@dataclass(frozen=True)
class Connection:
    """A joint: pose of the child in the parent's frame at q = 0, axis in the child's frame."""

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose = IDENTITY_POSE
    axis: Vector = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    point: Vector = field(default_factory=lambda: np.zeros(3))
    """A point on the axis, in the child's frame."""
    limits: Limits = field(default_factory=Limits)
    drive: Drive = field(default_factory=Drive)
    spring: Spring = field(default_factory=Spring)
    where: str = ""
    at_start: float = 0.0
    """Value of q in the file's reference pose, such as MuJoCo's qpos0."""
    pitch: float = 0.0
    """Translation (m) along the axis per radian of a helical joint."""


def fixed(name: str, parent: str, pose: Pose, where: str = "") -> Connection:
    """Return a fixed joint from `parent` to the link `name`."""
    return Connection(f"{name}_fixed", "fixed", parent, name, pose, where=where)


class Tie(NamedTuple):
    """A coupled joint: q - q₀ is a polynomial in the leader's q - q₀, with q₀ = `at_start`."""

    joint: str
    leader: str
    coefficients: tuple[float, ...]
    statement: str
    where: str
    mutual: bool = False
    """Whether both joints follow each other: mimic="lock" then locks the leader too."""

    def value(self, leader: float, at_start: Mapping[str, float]) -> float:
        """Return the joint's q if the leader's q is `leader`; `at_start` maps joint names to q₀."""
        moved = leader - at_start.get(self.leader, 0.0)
        return at_start[self.joint] + float(Polynomial(self.coefficients)(moved))


class PassiveForce(NamedTuple):
    """A passive force that a file has and armlet does not model."""

    kind: str
    """Name of this kind of force in messages, in the plural."""
    subject: str
    statement: str
    where: str


@dataclass(frozen=True)
class Description:
    """A robot: links and joints in the order of the file, gravity, ties, keyframes and notes."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Connection, ...]
    gravity: Vector
    tool: str | None = None
    source: str = ""
    where: str = ""
    ties: tuple[Tie, ...] = ()
    not_modelled: tuple[PassiveForce, ...] = ()
    keyframes: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    """Keyframe name -> joint name -> positions: one number, or the four of a ball joint."""
    folder: str = ""
    """The folder of the file, where the viewer looks for meshes."""
    notes: tuple[str, ...] = ()
    format: str = "TOML"
    """The format or library that the robot is from: see `FORMATS` in `armlet.robot.joints`."""

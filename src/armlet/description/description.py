"""Robots as files describe them: readers return a `Description`, writers start from one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from armlet.robot.components import Compensation, Drive, Limits, Spring
from armlet.robot.pose import IDENTITY_POSE, Pose
from armlet.scalar import Matrix, Vector


@dataclass(frozen=True)
class Mesh:
    """A visual mesh: its file name as written, its pose in the link's frame, its scale."""

    file: str
    pose: Pose = IDENTITY_POSE
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    path: str = field(default="", compare=False)
    """The path of the file on this machine, or an empty string if the file is missing."""


@dataclass(frozen=True)
class Solid:
    """A visual primitive: its kind, its size in m, its pose in the link's frame.

    The size is, as in URDF: three sides of a box; the radius of a sphere; radius and length of a
    cylinder or a capsule (without its round ends); and three half axes of an ellipsoid.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose = IDENTITY_POSE


@dataclass(frozen=True)
class Link:
    """A rigid body in its own frame; the inertia is about the centre of mass, in link axes."""

    name: str
    mass: float = 0.0
    com: Vector = field(default_factory=lambda: np.zeros(3))
    inertia: Matrix = field(default_factory=lambda: np.zeros((3, 3)))
    meshes: tuple[Mesh, ...] = ()
    where: str = ""
    """File and line, for messages: 'arm.urdf, line 12'."""
    as_published: bool = False
    """Whether the source publishes this inertia; if so, no warning is given if it is doubtful."""
    compensation: Compensation = field(default_factory=Compensation)
    """Mass and first moment of the part whose weight is compensated, in the link's frame."""
    solids: tuple[Solid, ...] = ()


@dataclass(frozen=True)
class Connection:
    """A joint between two links: the child's pose at q = 0, and the axis in the child's frame."""

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
    """The value of q in the reference pose of the file, such as qpos0 of MuJoCo."""


def fixed(name: str, parent: str, pose: Pose, where: str = "") -> Connection:
    """A fixed joint from `parent` to the link `name`."""
    return Connection(f"{name}_fixed", "fixed", parent, name, pose, where=where)


class Tie(NamedTuple):
    """A joint that follows a leader: q - at_start is a polynomial of the leader's q - at_start."""

    joint: str
    leader: str
    coefficients: tuple[float, ...]
    statement: str
    where: str
    mutual: bool = False
    """Whether the tie also holds the leader: mimic="lock" then locks both joints."""

    def value(self, leader: float, at_start: Mapping[str, float]) -> float:
        """The joint's q when the q of its leader is `leader`."""
        moved = leader - at_start.get(self.leader, 0.0)
        return at_start[self.joint] + float(Polynomial(self.coefficients)(moved))


class PassiveForce(NamedTuple):
    """A passive force in a file that armlet does not model."""

    kind: str
    """The name of such forces in messages, in the plural."""
    subject: str
    statement: str
    where: str


@dataclass(frozen=True)
class Description:
    """Links and joints of a robot, in the order of the file."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Connection, ...]
    gravity: Vector
    tool: str | None = None
    source: str = ""
    where: str = ""
    ties: tuple[Tie, ...] = ()
    not_modelled: tuple[PassiveForce, ...] = ()
    keyframes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The joint positions, by name of the keyframe and name of the joint."""
    folder: str = ""
    """The folder of the file, where the viewer looks for meshes."""
    notes: tuple[str, ...] = ()

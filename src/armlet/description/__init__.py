"""Descriptions of robots in files: links, joints, checks, and conversion to `RobotModel`."""

from armlet.description.assembly import assemble, describe
from armlet.description.description import (
    Connection,
    Description,
    Link,
    Mesh,
    PassiveForce,
    Solid,
    Tie,
)

__all__ = [
    "Connection",
    "Description",
    "Link",
    "Mesh",
    "PassiveForce",
    "Solid",
    "Tie",
    "assemble",
    "describe",
]

"""A robot as a file describes it: its links and joints, checks, and how a robot is made of it."""

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

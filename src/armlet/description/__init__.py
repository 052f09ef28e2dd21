"""A robot as a file describes it: its links and joints, checks, and how a robot is made of it."""

from armlet.description.coupling import Tie
from armlet.description.description import (
    Connection,
    Description,
    Link,
    PassiveForce,
    assembled,
    described,
)

__all__ = ["Connection", "Description", "Link", "PassiveForce", "Tie", "assembled", "described"]

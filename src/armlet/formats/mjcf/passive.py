"""Passive forces of MJCF: springs, gravity compensation, and those that armlet does not model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from armlet.description import Connection, Link, PassiveForce
from armlet.description.checks import MOVING
from armlet.errors import ModelError, quoted
from armlet.formats.mjcf.settings import Defaults, called, choice, first_number, flag, section
from armlet.formats.xml import Element
from armlet.robot import Compensation, Spring

SPRINGS = "springs of joints"
FRICTION = "friction that is not linear, of"
OFF = {
    "spring": {"stiffness", "springyield"},
    "damper": {"damping"},
    "frictionloss": {"frictionloss"},
    "passive": {"stiffness", "springyield", "damping", "springdamper", "gravcomp", "density",
                "viscosity"},
}  # fmt: skip
"""The attributes without effect, by the <flag> that disables them; springs and dampers together
are all passive forces, which older files disable by `passive`."""


@dataclass
class Passive:
    """The passive forces of a file: which ones are off, and those read so far."""

    off: set[str] = field(default_factory=set)
    """The attributes without effect."""
    not_modelled: list[PassiveForce] = field(default_factory=list)
    gravcomp: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The share of each body's weight that is compensated, with the file and line."""
    by_actuators: set[str] = field(default_factory=set)
    """The joints whose actuators give the torques of the compensation."""

    @classmethod
    def of(cls, root: Element) -> "Passive":
        """Those that the options of a file name, before bodies, joints and tendons are read."""
        option = section(root, "option")
        flags = section(option, "flag")
        disabled = {
            key for key in OFF if choice(flags, key, ("enable", "disable"), "enable") == "disable"
        }
        if {"spring", "damper"} <= disabled:
            disabled.add("passive")
        passive = cls({attribute for key in disabled for attribute in OFF[key]})
        for key in ("density", "viscosity"):
            passive.note(option, key, "forces of a fluid:", "a fluid around the robot")
        return passive

    def read_tendons(self, root: Element, defaults: Defaults) -> None:
        """Note the forces along tendons, which are not modelled."""
        for element in section(root, "tendon").children:
            tendon = defaults.fill(element, "tendon")
            for key in ("stiffness", "damping", "frictionloss"):
                self.note(tendon, key, "forces along", "a force along it")

    def note(self, element: Element, key: str, kind: str, meaning: str, first: int = 0) -> None:
        """Note a force that is not modelled, if numbers from index `first` on are not zero."""
        if key in self.off or not np.any(element.numbers(key, None, ())[first:]):
            return
        said = called(element).removeprefix(f"{element.where}: ")
        self.not_modelled.append(
            PassiveForce(kind, said, f"{said} has {element.said(key)}, {meaning}", element.where)
        )

    def number(self, element: Element, key: str) -> float:
        """The first number of an attribute, or zero if it is absent or off."""
        found = first_number(element, key, 0.0)
        return 0.0 if key in self.off else found

    def spring(self, joint: Element, unit: float) -> Spring:
        """The spring of a joint; springref is a value of q, as ref is."""
        if flag(joint, "actuatorgravcomp"):
            self.by_actuators.add(joint.word("name"))
        self.note(joint, "springdamper", SPRINGS, "a spring by its time constant")
        self.note(joint, "stiffness", SPRINGS, "a spring that is not linear", first=1)
        self.note(joint, "damping", FRICTION, "friction that is not linear", first=1)
        stiffness = self.number(joint, "stiffness")
        if not stiffness:
            return Spring()
        self.note(joint, "springyield", SPRINGS, "a spring that yields")
        return Spring(stiffness, unit * joint.number("springref", 0.0))

    def read_body(self, body: Element) -> None:
        """Note the gravity compensation of a body."""
        share = self.number(body, "gravcomp")
        if share < 0:
            raise ModelError(
                f"{called(body)} has {body.said('gravcomp')}: expected none below zero"
            )
        if share:
            self.gravcomp[body.word("name")] = share, body.where

    def compensated(self, links: Sequence[Link], joints: Sequence[Connection]) -> tuple[Link, ...]:
        """The links with their gravity compensation.

        Where the actuators of all joints before a link give it, it is part of their torques.
        """
        before = {joint.child: joint for joint in joints}
        return tuple(self._compensated(link, before) for link in links)

    def _compensated(self, link: Link, before: Mapping[str, Connection]) -> Link:
        if link.name not in self.gravcomp:
            return link
        share, where = self.gravcomp[link.name]
        moving = [joint.name for joint in _inward(before, link.name) if joint.kind in MOVING]
        by_actuators = [name for name in moving if name in self.by_actuators]
        if not by_actuators:
            mass = share * link.mass
            return replace(link, compensation=Compensation(mass, mass * link.com))
        if len(by_actuators) < len(moving):
            said = (
                f"body {quoted(link.name)} has a gravcomp that is the actuator's at joint "
                f"{quoted(by_actuators[0])} and not at others"
            )
            kind = "gravity compensation of links"
            self.not_modelled.append(PassiveForce(kind, quoted(link.name), said, where))
        return link


def _inward(before: Mapping[str, Connection], link: str) -> Iterator[Connection]:
    """The joints from a link to the base."""
    while link in before:
        yield before[link]
        link = before[link].parent

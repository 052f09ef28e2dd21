"""What a quantity is, and what a formulation of it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from armlet.errors import ModelError
from armlet.robot import Robot


@dataclass(frozen=True)
class Quantity:
    """Something to compute of an arm."""

    about: str
    arguments: tuple[str, ...]
    """The parts of the state it depends on, in order."""
    reads: tuple[str, ...] = ("geometry", "inertia", "gravity", "drive")
    """The groups of constants it depends on."""
    minimal: bool = False
    """Whether it is the same for minimal inertial parameters."""
    options: tuple[str, ...] = ()
    """What else may be given: the wrench on the tool, the name of a frame or of a formulation."""
    inverts: str = ""
    """The quantity whose inverse it takes, and which may be singular."""


@dataclass(frozen=True)
class Formulation:
    """A way to compute a quantity."""

    name: str
    function: Callable[..., Any]
    source: str
    """Author, year, and equation or algorithm numbers."""
    growth: str
    """The order of its operations in the number of joints: n, n^2, …"""
    joints: str = "RP"
    """The kinds of joint it holds for."""
    topology: str = "tree"
    """Whether it holds for trees or for serial arms only."""
    minimal: bool = True
    """Whether it takes lumped inertias, whose masses may be zero; a centre of mass needs a mass."""
    traced: bool = False
    """Whether it needs scalars that know their derivatives."""
    given: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The same with something on hand, as some published counts have it: by what that is."""

    def check(self, robot: Robot) -> None:
        """Raise if the formulation does not hold for the robot."""
        if self.topology == "serial" and not robot.is_serial:
            raise ModelError(
                f"formulation {self.name!r} holds for serial arms: robot {robot.name!r} is a tree"
            )
        others = sorted(set(robot.joint_letters) - set(self.joints))
        if others:
            raise ModelError(
                f"formulation {self.name!r} holds for joints {self.joints}: robot {robot.name!r} "
                f"has joints {robot.joint_letters}"
            )


def table(*formulations: Formulation) -> dict[str, Formulation]:
    """Formulations by name, in the order given."""
    return {formulation.name: formulation for formulation in formulations}

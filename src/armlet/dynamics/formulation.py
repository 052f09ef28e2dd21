"""The class `Formulation`, and the decorator `describe` that attaches it to a function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypedDict, TypeVar, Unpack, cast

import numpy as np

from armlet._support.validation import one_of
from armlet.dynamics.coupling import PROJECTIONS, with_coupling
from armlet.dynamics.quantities import QUANTITIES
from armlet.errors import ModelError
from armlet.robot import RobotModel
from armlet.scalar import is_zero

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Formulation:
    """A way to compute a quantity."""

    quantity: str
    name: str
    function: Callable[..., Any]
    source: str
    """Author, year, and equation or algorithm numbers."""
    growth: str
    """The order of its operations in the number of joints: n, n^2, …"""
    joints: str = "RP"
    """The letters of the joint types that it holds for: R (revolute) and P (prismatic)."""
    walks_twists: bool = False
    """Whether it iterates over the twists of each joint, so that it also holds for every other
    joint type whose twists are about and along z."""
    topology: str = "tree"
    """Whether it holds for trees or for serial arms only."""
    minimal: bool = True
    """Whether it holds for lumped inertias: then it never divides by masses, which may be zero."""
    traced: bool = False
    """Whether it needs traced scalars, because it differentiates their operations."""
    starting_from: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The rest of the computation as a function, by the name of the intermediate result at which it
    starts, as some published counts do. It holds for robots without rotor inertia."""
    contends: bool = False
    """Whether the search for the cheapest program considers it: true if it has the lowest count on
    some arm (see `benchmarks/search.py`) and holds for all values of the constants."""
    coupled: bool = False
    """Whether it holds for robots with coupled joints, by itself or by projection."""

    @property
    def is_built_in(self) -> bool:
        """Whether it comes with armlet: the search for the cheapest program considers no others."""
        return self.function.__module__.partition(".")[0] == "armlet"

    def check(self, robot: RobotModel) -> None:
        """Raise a ModelError if the formulation does not hold for the robot."""
        if robot.couplings and not self.coupled:
            raise ModelError(
                f"formulation {self.name!r} holds for joints that move freely: robot "
                f"{robot.name!r} has coupled joints; name another formulation, or none"
            )
        if self.topology == "serial" and not robot._is_serial:
            raise ModelError(
                f"formulation {self.name!r} holds for serial arms: robot {robot.name!r} is a tree"
            )
        others = sorted(set(robot._joint_letters) - set(self.joints))
        if others and not self.walks_twists:
            raise ModelError(
                f"formulation {self.name!r} holds for joints {self.joints}: robot {robot.name!r} "
                f"has joints {robot._joint_letters}"
            )


class Declared(TypedDict, total=False):
    """What a formulation holds for, as in `Formulation`."""

    joints: str
    walks_twists: bool
    topology: str
    minimal: bool
    traced: bool
    starting_from: Mapping[str, Callable[..., Any]]
    contends: bool
    coupled: bool


def describe(
    quantity: str,
    *,
    source: str,
    growth: str = "n",
    name: str | None = None,
    own_rotors: bool = False,
    **declared: Unpack[Declared],
) -> Callable[[Function], Function]:
    """A decorator that attaches a `Formulation`, the description of a formulation, to a function.

    The arguments are those of `armlet.formulation`. The decorated function computes the whole
    quantity, rotors and coupled joints included; `entry_of` returns its description.
    """
    one_of(quantity, "quantity", QUANTITIES)

    def decorate(function: Function) -> Function:
        complete = function if own_rotors else with_rotors(quantity, function)
        holds = declared
        if quantity in PROJECTIONS and not declared.get("coupled"):
            complete = with_coupling(quantity)(complete)
            holds = {**declared, "coupled": True}
        title = name or function.__name__
        vars(complete)["entry"] = Formulation(quantity, title, complete, source, growth, **holds)
        return complete

    return decorate


def entry_of(function: Callable[..., Any]) -> Formulation:
    """The `Formulation` that `describe` attached to a function."""
    entry: Formulation = vars(function)["entry"]
    return entry


def by_definition(
    quantity: str, name: str, *, contends: bool = False
) -> Callable[[Function], Function]:
    """A decorator for a formulation by the definition of its quantity, for all joint types."""
    return describe(
        quantity, source="by definition", name=name, walks_twists=True, contends=contends
    )


def with_rotors(quantity: str, function: Function) -> Function:
    """Add rotor inertia to the result of a function, if the quantity depends on rotor inertia.

    The function itself gets a robot without rotor inertia, which is thus added only once.
    """
    if quantity not in ROTORS:
        return function

    @wraps(function)
    def complete(robot: RobotModel, *state: Any, **options: Any) -> Any:
        rotors = np.array([drive.rotor_inertia for drive in robot.drives], dtype=object)
        if all(map(is_zero, rotors)):
            return function(robot, *state, **options)
        still = tuple(drive._replace(rotor_inertia=0) for drive in robot.drives)
        result = function(replace(robot, drives=still), *state, **options)
        return ROTORS[quantity](rotors, result, *state)

    return cast(Function, complete)


ROTORS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": lambda rotors, tau, _q, _qd, qdd, *_: list(tau + rotors * [*qdd]),
    "inertia_matrix": lambda rotors, H, *_: H + np.diag(rotors),
    "linearization": lambda rotors, H_V_P, *_: (H_V_P[0] + np.diag(rotors), *H_V_P[1:]),
}
"""How to add rotor inertia, by quantity; other quantities call these or do not depend on it."""

"""`Formulation`, and the decorator `describe` that attaches a `Formulation` to a function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypedDict, TypeVar, Unpack, cast

import numpy as np

from armlet._support.validation import one_of
from armlet.dynamics.coupling import PROJECTIONS, with_coupling
from armlet.dynamics.quantities import QUANTITIES
from armlet.errors import ModelError
from armlet.robot import JOINT_TYPES, RobotModel
from armlet.scalar import is_zero

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Formulation:
    """A function that computes a quantity, with metadata such as source and supported robots."""

    quantity: str
    name: str
    function: Callable[..., Any]
    source: str
    """Author, year, and equation or algorithm numbers."""
    growth: str
    """Growth of the operation count with the number of joints: n, n^2, …"""
    joints: str = "RP"
    """Letters of the supported joint types: R (revolute), P (prismatic), …; see `JOINT_TYPES`."""
    walks_twists: bool = False
    """Whether the function iterates over all unit twists of each joint. If so, the formulation
    holds for all joint types, and `joints` is not read."""
    topology: str = "tree"
    """Whether trees are supported ("tree") or serial arms only ("serial")."""
    minimal: bool = True
    """Whether lumped bodies, which may have mass 0, are supported: no mass is a divisor."""
    traced: bool = False
    """Whether the function needs traced scalars, because it differentiates recorded operations."""
    starting_from: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Intermediate result, such as "bias" -> variant of `function` that takes or returns the bias.
    Published operation counts often exclude such results. Variants ignore rotor inertia."""
    contends: bool = False
    """Whether the search for the cheapest program tries the formulation. True if it has the lowest
    operation count on some arm (`benchmarks/search.py`) and holds for all values of constants."""
    coupled: bool = False
    """Whether coupled joints are supported, by the function itself or by projection."""

    @property
    def is_built_in(self) -> bool:
        """Whether armlet ships the formulation: program searches try only built-in formulations."""
        return self.function.__module__.partition(".")[0] == "armlet"

    @property
    def letters(self) -> str:
        """The letters of all joint types for which the formulation holds."""
        every = "".join(dict.fromkeys(x.letter for x in JOINT_TYPES.values()))
        return every if self.walks_twists else self.joints

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
        if set(robot._joint_letters) - set(self.letters):
            raise ModelError(
                f"formulation {self.name!r} holds for joints {self.letters}: robot {robot.name!r} "
                f"has joints {robot._joint_letters}"
            )


class Declared(TypedDict, total=False):
    """Optional fields of `Formulation`, as keyword arguments of `describe`."""

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
    """Return a decorator that attaches a `Formulation`, the result of `entry_of`, to a function.

    The arguments are those of `armlet.formulation`. The decorated function includes rotor inertia
    and, if the quantity is in `PROJECTIONS`, supports coupled joints.
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
    """Return the `Formulation` that `describe` attached to a function."""
    entry: Formulation = vars(function)["entry"]
    return entry


def by_definition(
    quantity: str, name: str, *, contends: bool = False
) -> Callable[[Function], Function]:
    """Return the `describe` decorator with source "by definition" and all joint types supported."""
    return describe(
        quantity, source="by definition", name=name, walks_twists=True, contends=contends
    )


def with_rotors(quantity: str, function: Function) -> Function:
    """Return a wrapper of `function` that adds rotor inertia, if `quantity` is in `ROTORS`.

    `function` itself gets a robot without rotor inertia, so that rotor inertia is added only once.
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
"""Quantity -> function that adds rotor inertia to the result of a robot without rotor inertia."""

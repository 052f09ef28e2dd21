"""Requests for robot quantities. A request checks options and traces formulations."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from armlet._support.validation import one_of
from armlet.dynamics import FORMULATIONS, QUANTITIES, Formulation, Quantity
from armlet.dynamics.regressor import with_columns
from armlet.dynamics.singular import joint_without_inertia
from armlet.errors import ArmletError, ModelError
from armlet.graph import Graph, Input, Program, trace_function
from armlet.minimal import lump
from armlet.robot import Arrangement, RobotModel
from armlet.robot.robot import GROUPS
from armlet.scalar import Symbol, is_zero

ENTER_AS = ("fixed", "symbolic", "argument")
"""Ways for constants to enter a program: as numbers, as symbols, or as arguments."""
CANONICAL = Arrangement()
"""The canonical frames, with lengths in the robot's own unit."""


@dataclass(frozen=True)
class Request:
    """A quantity of a robot, with options but without a choice of formulation."""

    robot: RobotModel
    name: str
    constants: Mapping[str, str]
    """Group of constants -> how its constants enter the program: a value of `ENTER_AS`."""
    minimal: bool
    wrench: bool
    options: Mapping[str, Any]

    @property
    def quantity(self) -> Quantity:
        return QUANTITIES[self.name]

    @property
    def identity(self) -> tuple[Any, ...]:
        """All data that the program depends on, for the cache key."""
        robot = self.robot
        frames = [(k, f.body, f.pose.R.tolist(), list(f.pose.r)) for k, f in robot.frames.items()]
        tree = robot._joint_types, robot.parent, robot.couplings, robot.dh
        forces = robot.drives, robot.springs, [(m, list(c)) for m, c in robot.compensation]
        named = frames, robot.tool, robot.base_link
        asked = self.name, dict(self.constants), self.minimal, self.wrench, dict(self.options)
        return (*tree, robot.phi.tolist(), *forces, list(robot.g), *named, *asked)

    @property
    def inputs(self) -> list[Input]:
        """The arguments of the program: state, wrench, and groups of constants."""
        robot = self.robot
        inputs = [
            Input(name, (robot.nq if name == "q" else robot.nv,))
            for name in self.quantity.arguments
        ]
        if self.wrench:
            inputs.append(Input("wrench", (6,)))
        for group in GROUPS:
            if self.constants[group] == "argument":
                count = len(self.robot.constants(group))
                shape = (robot.nb, 10) if group == "inertia" else (count,)
                inputs.append(Input(group, shape, "once"))
        return inputs

    def takes(self, entry: Formulation) -> bool:
        """Whether a formulation accepts the options and applies to the robot."""
        try:
            self.check(entry)
        except ArmletError:
            return False
        return True

    def check(self, entry: Formulation) -> None:
        """Raise if a formulation does not accept the options or does not apply to the robot."""
        for name in (*self.options, *(["wrench"] if self.wrench else ())):
            if name not in signature(entry.function).parameters:
                raise ArmletError(
                    f"formulation {entry.name!r} of {self.name} does not take {name}="
                )
        for used in self.built_on:
            if used.traced and "qdd" not in self.quantity.arguments:
                raise ArmletError(
                    f"{used.quantity} {used.name!r} differentiates by accelerations that are "
                    f"arguments, and {self.name} computes them: name another"
                )
        for used in (entry, *self.built_on):
            used.check(self.robot)
            self._check_centres(used)
        self._check_inertia()

    def _check_centres(self, entry: Formulation) -> None:
        """Raise if a formulation reads centres of mass and a massless body has a first moment."""
        if entry.minimal or not self.quantity.minimal or self.constants["inertia"] != "fixed":
            return
        for link, (m, c, _) in zip(self.robot.links, self.robot.bodies, strict=True):
            if is_zero(m) and not all(map(is_zero, c)):
                raise ModelError(
                    f"formulation {entry.name!r} of {self.name} reads centres of mass, and link "
                    f"{link!r} of robot {self.robot.name!r} has a first moment but no mass: name "
                    "another formulation, or none"
                )

    def _check_inertia(self) -> None:
        """Raise if the quantity inverts an inertia matrix that is numeric and singular."""
        robot = self.robot
        late = any(
            self.constants[group] == "argument" for group in ("geometry", "inertia", "drive")
        )
        if self.quantity.inverts != "inertia_matrix" or late or robot.symbols:
            return
        i = robot._once("joint_without_inertia", lambda: joint_without_inertia(robot))
        if i is not None:
            raise ModelError(
                f"joint {robot.joints[i].name!r} of robot {robot.name!r} can move without moving "
                f"any inertia, so that its inertia matrix has no inverse and {self.name} no "
                f"value: give link {robot.links[i]!r} an inertia about the joint's axis, give the "
                f"drive a rotor inertia, or lock the joint"
            )

    @property
    def built_on(self) -> list[Formulation]:
        """The formulations that options select for other quantities, on which this one is built."""
        return [FORMULATIONS[key][x] for key, x in self.options.items() if key in FORMULATIONS]

    def lumps(self, entry: Formulation) -> bool:
        """Whether to lump inertial parameters first; only then may frames and unit change."""
        takes = all(used.minimal for used in (entry, *self.built_on))
        return self.minimal and self.quantity.minimal and takes

    def program(self, name: str, arrangement: Arrangement = CANONICAL) -> Program:
        """Trace the program of a formulation, with the frames and unit of `arrangement`."""
        table = FORMULATIONS[self.name]
        entry = table[one_of(name, f"formulation of {self.name}", table)]
        self.check(entry)
        inputs = self.inputs
        functions = {used.quantity: used.function for used in self.built_on}
        options = {**self.options, **functions}

        def run(graph: Graph, *values: Any) -> Any:
            args = {x.name: value for x, value in zip(inputs, values, strict=True)}
            robot = self.robot._with_constants(self._traced_constants(graph, args))
            if self.lumps(entry):
                robot = lump(arrangement.of(robot))
            state = [args[argument] for argument in self.quantity.arguments]
            wrench = {"wrench": args["wrench"]} if self.wrench else {}
            result = entry.function(robot, *state, **wrench, **options)
            return result if isinstance(result, tuple) else np.array(result, dtype=object)

        return trace_function(self.name, run, inputs)

    def _traced_constants(self, graph: Graph, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return name -> traced scalar, for constants that are symbols or arguments."""
        traced: dict[str, Any] = {}
        for group, kind in self.constants.items():
            values = self.robot.constants(group)
            if kind == "argument":
                traced |= zip(values, args[group].flat, strict=True)
            else:
                traced |= {
                    name: graph.symbol(value if type(value) is Symbol else name)
                    for name, value in values.items()
                    if kind == "symbolic" or type(value) is Symbol
                }
        return traced


def make_request(
    robot: RobotModel,
    name: str,
    constants: Mapping[str, str],
    minimal: bool,
    options: Mapping[str, Any],
) -> Request:
    """Return the request for a quantity of a robot; raise if the request is invalid."""
    quantity = QUANTITIES[one_of(name, "quantity", QUANTITIES)]
    options = {key: value for key, value in options.items() if value not in (None, False)}
    for option, value in options.items():
        if option not in quantity.options:
            raise ArmletError(f"{name} does not take {option}=")
        if option in FORMULATIONS:
            one_of(value, f"formulation of {option}", FORMULATIONS[option])
    options = with_columns(robot, name, quantity.options, options)
    for group, kind in constants.items():
        one_of(group, "group of constants", GROUPS)
        one_of(kind, "kind of constant", ENTER_AS)
    constants = {group: constants.get(group, "fixed") for group in GROUPS}
    if not robot.nv:
        raise ModelError(f"robot {robot.name!r} has no moving joint: nothing to compute")
    needs_masses = "inertia" in quantity.reads and constants["inertia"] == "fixed"
    if needs_masses and not any(robot.m) and not any(np.any(J != 0) for J in robot.J):
        raise ModelError(
            f"robot {robot.name!r} has no masses, so that {name} cannot be computed: give its "
            "links an inertia"
        )
    wrench = options.pop("wrench", False)
    return Request(robot, name, constants, minimal, wrench, options)

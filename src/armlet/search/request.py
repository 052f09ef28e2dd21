"""From a robot to a program: a request is checked, and traced by a formulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from armlet._support.validation import one_of
from armlet.dynamics import FORMULATIONS, QUANTITIES, Formulation, Quantity
from armlet.dynamics.regressor import with_columns
from armlet.dynamics.singular import joint_without_inertia
from armlet.errors import ArmletError, CompileError, ModelError
from armlet.graph import Graph, Input, Program, trace_function
from armlet.minimal import lump
from armlet.robot import Arrangement, RobotModel
from armlet.robot.robot import GROUPS
from armlet.scalar import Symbol, is_zero

KINDS = ("fixed", "symbolic", "argument")
AS_IT_IS = Arrangement()


@dataclass(frozen=True)
class Request:
    """A quantity of a robot to be computed, by whatever formulation."""

    robot: RobotModel
    name: str
    kinds: Mapping[str, str]
    """How each group of constants enters."""
    minimal: bool
    wrench: bool
    options: Mapping[str, Any]

    @property
    def quantity(self) -> Quantity:
        """What is to be computed."""
        return QUANTITIES[self.name]

    @property
    def identity(self) -> tuple[Any, ...]:
        """All that the program depends on, as data whose text tells one from another."""
        robot = self.robot
        frames = [(k, f.body, f.pose.R.tolist(), list(f.pose.r)) for k, f in robot.frames.items()]
        return (
            robot.joint_letters, robot.parent, robot.couplings, robot.dh, robot.phi.tolist(),
            robot.drives, robot.springs, [(m, list(c)) for m, c in robot.compensation],
            list(robot.g), frames, robot.tool, robot.base_link, self.name, dict(self.kinds),
            self.minimal, self.wrench, dict(self.options),
        )  # fmt: skip

    @property
    def inputs(self) -> list[Input]:
        """The arguments of the program: those of a state, and constants."""
        robot = self.robot
        inputs = [
            Input(name, (robot.nq if name == "q" else robot.nv,))
            for name in self.quantity.arguments
        ]
        if self.wrench:
            inputs.append(Input("wrench", (6,)))
        for group in GROUPS:
            if self.kinds[group] == "argument":
                count = len(self.robot.constants(group))
                shape = (robot.nb, 10) if group == "inertia" else (count,)
                inputs.append(Input(group, shape, "once"))
        return inputs

    def check_values(self) -> None:
        """Raise if a constant has no value, so that nothing can be timed."""
        named = [group for group, kind in self.kinds.items() if kind == "symbolic"]
        if named or self.robot.symbols:
            raise CompileError(
                f"{self.name} of {self.robot.name!r} has symbolic constants, so it takes no "
                "time: give them values, or minimize operations"
            )

    def takes(self, entry: Formulation) -> bool:
        """Whether a formulation takes the options given, and holds for the robot."""
        try:
            self.check(entry)
        except ArmletError:
            return False
        return True

    def check(self, entry: Formulation) -> None:
        """Raise if a formulation does not take the options given, or does not hold."""
        given = (*self.options, *(["wrench"] if self.wrench else ()))
        for name in given:
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
        """Raise if a formulation reads centres of mass, and a body with a moment has no mass."""
        if entry.minimal or not self.quantity.minimal or self.kinds["inertia"] != "fixed":
            return
        for link, (m, c, _) in zip(self.robot.links, self.robot.bodies, strict=True):
            if is_zero(m) and not all(map(is_zero, c)):
                raise ModelError(
                    f"formulation {entry.name!r} of {self.name} reads centres of mass, and link "
                    f"{link!r} of robot {self.robot.name!r} has a first moment but no mass: name "
                    "another formulation, or none"
                )

    def _check_inertia(self) -> None:
        """Raise if the inertia matrix is inverted, known in numbers, and singular."""
        robot = self.robot
        late = any(self.kinds[group] == "argument" for group in ("geometry", "inertia", "drive"))
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
        """The formulations of other quantities that are named by options."""
        return [FORMULATIONS[key][x] for key, x in self.options.items() if key in FORMULATIONS]

    def lumps(self, entry: Formulation) -> bool:
        """Whether inertias may be lumped first, and so may sit in any frame."""
        takes = all(used.minimal for used in (entry, *self.built_on))
        return self.minimal and self.quantity.minimal and takes

    def program(self, name: str, arrangement: Arrangement = AS_IT_IS) -> Program:
        """The program of a formulation, for the robot so arranged."""
        entry = FORMULATIONS[self.name][
            one_of(name, f"formulation of {self.name}", FORMULATIONS[self.name])
        ]
        self.check(entry)
        inputs = self.inputs
        functions = {used.quantity: used.function for used in self.built_on}
        options = {**self.options, **functions}

        def run(graph: Graph, *args: Any) -> Any:
            given = {x.name: arg for x, arg in zip(inputs, args, strict=True)}
            arm = self.robot.with_constants(self._entered(graph, given))
            if self.lumps(entry):
                arm = lump(arrangement.of(arm))
            state = [given[argument] for argument in self.quantity.arguments]
            held = {"wrench": given["wrench"]} if self.wrench else {}
            result = entry.function(arm, *state, **held, **options)
            return result if isinstance(result, tuple) else np.array(result, dtype=object)

        return trace_function(self.name, run, inputs)

    def _entered(self, graph: Graph, given: Mapping[str, Any]) -> dict[str, Any]:
        """The constants that enter a trace as something other than their number."""
        named: dict[str, Any] = {}
        for group, kind in self.kinds.items():
            values = self.robot.constants(group)
            if kind == "argument":
                named |= zip(values, given[group].flat, strict=True)
            else:
                named |= {
                    name: graph.symbol(value if type(value) is Symbol else name)
                    for name, value in values.items()
                    if kind == "symbolic" or type(value) is Symbol
                }
        return named


def request(
    robot: RobotModel,
    name: str,
    constants: Mapping[str, str],
    minimal: bool,
    options: Mapping[str, Any],
) -> Request:
    """A request for a quantity of a robot, if it makes sense."""
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
        one_of(kind, "kind of constant", KINDS)
    kinds = {group: constants.get(group, "fixed") for group in GROUPS}
    if not robot.n:
        raise ModelError(f"robot {robot.name!r} has no moving joint: nothing to compute")
    _check_mass(robot, name, kinds)
    wrench = options.pop("wrench", False)
    return Request(robot, name, kinds, minimal, wrench, options)


def _check_mass(robot: RobotModel, name: str, kinds: Mapping[str, str]) -> None:
    """Refuse dynamics of a robot without inertia, whose torques would all be zero."""
    if "inertia" in QUANTITIES[name].reads and kinds["inertia"] == "fixed":
        weighs = any(robot.m) or any(np.any(J != 0) for J in robot.J)
        if not weighs:
            raise ModelError(
                f"robot {robot.name!r} has no masses, so its {name} is not known: give its "
                "links an inertia"
            )

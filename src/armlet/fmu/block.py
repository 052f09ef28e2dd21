"""What is put into a functional mock-up unit: functions of a robot, or the arm that moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet.api.functions import Function as OwnFunction
from armlet.api.programs import cheapest, formulations
from armlet.codegen.project.project import Function
from armlet.codegen.source.c import identifier
from armlet.dynamics import QUANTITIES
from armlet.errors import CompileError, DataError, ModelError, listed, quoted
from armlet.fmu.variables import TIME, Entry, Variable, dependencies, variable
from armlet.graph import Input, Program, trace_function
from armlet.graph.signature import Shape
from armlet.graph.trace.arrays import as_traced
from armlet.robot import PHI, RobotModel
from armlet.robot.robot import GROUPS
from armlet.simulation.forces import Arm, Friction, Stops, rates_at
from armlet.simulation.integrators import INTEGRATORS, default_integrator, warn_if_unstable
from armlet.simulation.step import make_arm

SHORTEST_STEP = 1e-9
IN_WORDS = {
    "rk4": "Runge and Kutta's method of fourth order",
    "rosenbrock2": "the method ROS2, implicit in friction and stops",
}
"""The integrators of arms in words; each is a C file of its name."""


class Call(NamedTuple):
    """A function that computes outputs, and the variables that it reads and writes."""

    function: Function
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A unit without its files: variables, and the functions that compute them."""

    robot: RobotModel
    name: str
    """A word, by which other programs know the unit."""
    about: str
    variables: tuple[Variable, ...]
    calls: tuple[Call, ...]
    """What computes the outputs."""
    integrator: str = ""
    """Of an arm that moves: the method by which it is simulated."""
    motion: Function | None = None
    """What its step calls: accelerations, or the whole step, as functions of q, qd and tau."""

    @property
    def functions(self) -> list[Function]:
        """Everything to be printed as C."""
        own = [] if self.motion is None else [self.motion]
        return [*own, *(call.function for call in self.calls)]


# ------------------------------------------------------------------ functions


def function_block(robot: RobotModel, functions: Sequence[Function]) -> Block:
    """A block whose outputs are functions of its inputs, computed whenever they are read.

    Arguments of the same name are one input. Constants that are arguments are parameters, at
    first the robot's own; an argument t is the time.
    """
    robot._require_values("a functional mock-up unit")
    inputs: dict[str, Variable] = {}
    outputs: dict[str, Variable] = {}
    calls = []
    for f in functions:
        f.program.check_values()
        for x in f.program.inputs.values():
            _add(inputs, _input(robot, x), shared=True)
        labels = _labels(f.program)
        depends = dependencies(f.program)
        for label, output, entries in zip(labels, f.program.outputs, depends, strict=True):
            on = tuple(frozenset((_of_time(name), k) for name, k in x) for x in entries)
            _add(outputs, variable(robot, label, "output", output.shape, f.about, depends=on))
        reads = tuple(map(_of_time, f.program.inputs))
        calls.append(Call(f, reads, labels))
    inputs.pop(TIME, None)
    both = [name for name in outputs if name in (*inputs, TIME)]
    if both:
        raise CompileError(
            f"{both[0]!r} is the name of a result and of an argument, or of the time: expected "
            "results with other names"
        )
    every = (_time(robot), *inputs.values(), *outputs.values())
    word = functions[0].program.name if len(functions) == 1 else "dynamics"
    about = functions[0].about if len(functions) == 1 else f"Functions: {listed([*outputs])}."
    return Block(robot, _name(robot, word), about, every, tuple(calls))


def functions_of(
    robot: RobotModel, of: str | Sequence[str] | OwnFunction | Program
) -> list[Function]:
    """What to put into a block: quantities by name, together, or a program."""
    if isinstance(of, OwnFunction):
        about = (of.__doc__ or f"{of.__name__}.").strip().partition("\n")[0]
        return [Function(of.program, about, "")]
    if isinstance(of, Program):
        quantity = QUANTITIES.get(of.name)
        return [Function(of, quantity.about if quantity else f"{of.name}.", "")]
    if isinstance(of, str):
        found = cheapest(robot, of)
        source = f"{found.formulation}: {formulations(of)[found.formulation].source}, simplified"
        return [Function(found.program, QUANTITIES[of].about, source)]
    if not of:
        raise DataError("no quantity is named: expected one or more, or None for the arm itself")
    found = cheapest(robot, list(of))
    return [Function(found.program, f"{', '.join(of)}.", found.formulation)]


def _labels(program: Program) -> tuple[str, ...]:
    """What the results of a program are called."""
    if program.names is not None:
        return program.names
    if program.single:
        return (program.name,)
    quantity = QUANTITIES.get(program.name)
    words = quantity.results if quantity else range(1, len(program.outputs) + 1)
    return tuple(f"{program.name}_{word}" for word in words)


def _input(robot: RobotModel, x: Input) -> Variable:
    """The variable of an argument: a parameter if it is given once for many states."""
    if x.name == "t" and x.shape == ():
        return _time(robot)
    if x.name == TIME:
        raise CompileError(
            f"an argument is called {TIME!r}, as FMI's own variable is: call it t if it is the "
            "time, or otherwise"
        )
    if x.name in GROUPS and x.rate == "once":
        about = f"Constants of the robot: {x.name}."
        if x.name == "inertia":
            about += f" A row for each body: {' '.join(PHI)}."
        own = [float(value) for value in robot.constants(x.name).values()]
        return variable(robot, x.name, "tunable", x.shape, about, own)
    return variable(robot, x.name, "tunable" if x.rate == "once" else "input", x.shape)


def _of_time(name: str) -> str:
    return TIME if name == "t" else name


def _add(variables: dict[str, Variable], new: Variable, shared: bool = False) -> None:
    """Add a variable to those that there are; a shared one may be among them."""
    if not new.size:
        raise CompileError(f"{new.name} has no entries: expected one at least")
    if not (new.name.isascii() and new.name.isidentifier()):
        raise CompileError(f"a variable is called {new.name!r}: FMI has letters of ASCII only")
    old = variables.setdefault(new.name, new)
    if old is not new and not (shared and old == new):
        raise CompileError(f"two different variables are called {new.name!r}: name them otherwise")


# ------------------------------------------------------------------ the arm that moves


def plant_block(
    robot: RobotModel,
    *,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    step: float = 1e-3,
    friction: bool | Friction = True,
    stops: bool | Stops = False,
) -> Block:
    """A block that is the arm, moved by torques.

    It is simulated by `rosenbrock2` where friction or stops act, and by `rk4` otherwise.
    """
    robot._require_values("a functional mock-up unit")
    if not robot.nv:
        raise ModelError(f"robot {quoted(robot.name)} has no joints: expected one at least")
    if not (np.isfinite(step) and step >= SHORTEST_STEP):
        raise DataError(f"step is {quoted(step)}: expected a time in s, {SHORTEST_STEP} or more")
    n = robot.nv
    arm, _ = make_arm(robot, None, 1, friction=friction, stops=stops)
    integrator = default_integrator(arm, "rk4")
    start = np.zeros(n) if q0 is None else np.array(_row("q0", q0, n))
    warn_if_unstable(rates_at(arm, start, np.zeros(n), {}), integrator, step, stacklevel=3)
    variables = [
        _time(robot),
        variable(robot, "tau", "input", (n,)),
        variable(robot, "q0", "fixed", (n,), "Joint positions at the start.", _row("q0", q0, n)),
        variable(robot, "qd0", "fixed", (n,), "Joint velocities at the start.",
                 _row("qd0", qd0, n)),
        Variable("step", "fixed", (), "The longest step of the integration.", ("s",),
                 start=(step,), limits=((SHORTEST_STEP, np.inf),)),
        _state(robot, "q", (n,), lambda k: [("q0", k)]),
        _state(robot, "qd", (n,), lambda k: [("qd0", k)]),
    ]  # fmt: skip
    calls = []
    if robot.tool is not None:
        (pose,) = functions_of(robot, "forward_kinematics")
        (read,) = dependencies(pose.program)
        about_pose = f"The pose of {robot.tool} in the base: a homogeneous matrix."
        variables.append(
            _state(robot, "pose", (4, 4), lambda k: [("q0", i) for _, i in read[k]], about_pose)
        )
        calls.append(Call(pose, ("q",), ("pose",)))
    return Block(
        robot,
        _name(robot, "plant"),
        f"The arm under joint torques, simulated by steps of {IN_WORDS[integrator]}.",
        tuple(variables),
        tuple(calls),
        integrator,
        _motion(arm, integrator),
    )


def _motion(arm: Arm, integrator: str) -> Function:
    """What a step of an integrator calls."""

    def acceleration(graph: Any, *arrays: Any) -> Any:
        q, qd, tau = map(as_traced, arrays)
        return arm.acceleration(0, q, qd, {"tau": tau})

    def step(graph: Any, *arrays: Any) -> Any:
        q, qd, tau = map(as_traced, arrays[:3])
        return INTEGRATORS[integrator].step(arm, arrays[3][()], 0, q, qd, {"tau": tau})

    inputs: dict[str, Shape] = dict.fromkeys(("q", "qd", "tau"), (arm.robot.nv,))
    if integrator == "rk4":
        about = "Accelerations under torques, less friction, with those of the stops."
        return Function(trace_function("acceleration", acceleration, inputs), about, "")
    about = "Positions and velocities after a step of length h, implicit in friction and stops."
    return Function(trace_function(integrator, step, {**inputs, "h": ()}), about, integrator)


def _row(name: str, given: ArrayLike | None, n: int) -> list[float]:
    """A start value for each joint; none if nothing is given."""
    if given is None:
        return []
    array = np.asarray(given, dtype=float)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise DataError(f"{name} is {quoted(given)}: expected {n} finite numbers")
    return [float(x) for x in array]


def _state(
    robot: RobotModel,
    name: str,
    shape: Shape,
    read: Callable[[int], Sequence[Entry]],
    about: str = "",
) -> Variable:
    """An output that no input acts upon at once; at the start it depends on parameters."""
    size = int(np.prod(shape))
    at_start = tuple(frozenset(read(k)) for k in range(size))
    return variable(
        robot, name, "output", shape, about,
        depends=(frozenset(),) * size, depends_at_start=at_start,
    )  # fmt: skip


def _time(robot: RobotModel) -> Variable:
    return variable(robot, TIME, "independent", (), "The time of the simulation.")


def _name(robot: RobotModel, word: str) -> str:
    return f"{identifier(robot.name).rstrip('_')}_{identifier(word)}"

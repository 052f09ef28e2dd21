"""Content of functional mock-up units: variables, and functions that compute the outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet._support import validation
from armlet.api import functions
from armlet.api.programs import cheapest, formulations
from armlet.api.robot import Robot
from armlet.codegen.project import Function
from armlet.codegen.source.c import identifier, one_line
from armlet.dynamics import QUANTITIES
from armlet.errors import CompileError, DataError, ModelError, listing, quote
from armlet.graph import Input, Program, trace_function
from armlet.graph.signature import Shape
from armlet.graph.trace.arrays import as_traced
from armlet.robot import PHI, RobotModel
from armlet.robot.robot import GROUPS
from armlet.simulation.forces import Arm, Plant, rates_at, single_plant
from armlet.simulation.integrators import INTEGRATORS, default_integrator, warn_if_unstable
from armlet.simulation.step import make_arm

SHORTEST_STEP = 1e-9
IN_WORDS = {
    "rk4": "the fourth-order Runge-Kutta integrator",
    "rosenbrock2": "the integrator ROS2, implicit in friction and stops",
}
"""Integrator of a unit -> description; the folder `sources` has one C file per integrator."""
TIME = "time"
"""Name of the time variable in FMI; an argument named t becomes this variable."""
UNITS: dict[str, dict[str, int]] = {
    "1": {},
    "s": {"s": 1},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "kg.m/s": {"kg": 1, "m": 1, "s": -1},
    "kg.m2/s": {"kg": 1, "m": 2, "s": -1},
}
"""Physical unit -> exponents of the base units in FMI."""
OF_JOINTS = {
    "q": ("Joint positions.", "rad", "m"),
    "qd": ("Joint velocities.", "rad/s", "m/s"),
    "qdd": ("Joint accelerations.", "rad/s2", "m/s2"),
    "tau": ("Joint torques, forces at prismatic joints.", "N.m", "N"),
}
"""Vector of joint values -> description, unit at revolute joints, unit at prismatic joints."""
ALIKE = {
    "inverse_dynamics": "tau",
    "bias": "tau",
    "gravity_torque": "tau",
    "friction_torque": "tau",
    "forward_dynamics": "qdd",
    "q0": "q",
    "qd0": "qd",
}
"""Vector of joint values -> vector in `OF_JOINTS` with the same description, units and limits."""
OTHERS = {
    "step": ("s",),
    "wrench": ("N.m",) * 3 + ("N",) * 3,
    "frame_velocity": ("rad/s",) * 3 + ("m/s",) * 3,
    "frame_acceleration": ("rad/s2",) * 3 + ("m/s2",) * 3,
    "frame_acceleration_bias": ("rad/s2",) * 3 + ("m/s2",) * 3,
    "momentum": ("kg.m2/s",) * 3 + ("kg.m/s",) * 3,
    "centre_of_mass": ("m",) * 3,
    "energy_kinetic": ("J",),
    "energy_potential": ("J",),
}
"""Further variable -> units of its entries. Variables that are not listed have no units."""
Entry = tuple[str, int]
"""The name of a variable, and the index of one of its entries."""


# ------------------------------------------------------------------ variables


@dataclass(frozen=True)
class Variable:
    """An FMI variable (a number or an array) and the properties of its entries.

    Variables that can be set have start values. For each entry of an output, `depends` lists the
    entries of other variables on which the output entry depends during the simulation, and
    `depends_at_start` lists those on which the initial value depends.
    """

    name: str
    kind: str
    """"independent" (the time), "input", "fixed" or "tunable" (parameters), or "output"."""
    shape: Shape
    about: str
    units: tuple[str, ...] = ()
    """The unit of each entry; empty if the entries have no units."""
    labels: tuple[str, ...] = ()
    """The joint that each entry belongs to; empty if entries do not belong to joints."""
    start: tuple[float, ...] = ()
    limits: tuple[tuple[float, float], ...] = ()
    """The least and the largest value of each entry; empty if there are no limits."""
    depends: tuple[frozenset[Entry], ...] = ()
    depends_at_start: tuple[frozenset[Entry], ...] = ()

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)


CLOCK = Variable(TIME, "independent", (), "The time of the simulation.", ("s",))


def variable(
    robot: RobotModel,
    name: str,
    kind: str,
    shape: Shape,
    about: str = "",
    start: Sequence[float] = (),
    depends: tuple[frozenset[Entry], ...] = (),
    depends_at_start: tuple[frozenset[Entry], ...] | None = None,
) -> Variable:
    """Return a variable; units, limits and default start values follow from name and robot."""
    label = ALIKE.get(name, name)
    units = OTHERS.get(name, ())
    labels: tuple[str, ...] = ()
    limits: tuple[tuple[float, float], ...] = ()
    size, names = prod(shape), robot.position_names if label == "q" else robot.velocity_names
    zero = [0.0] * size
    if label in OF_JOINTS and shape == (len(names),):
        about, units = about or OF_JOINTS[label][0], _units(robot, label)
        labels = tuple(map(one_line, names))
        limits = _limits(robot, label) if kind != "output" else ()
        zero = robot.neutral.tolist() if label == "q" else zero
    if kind != "output" and not start:
        start = [
            min(max(x, low), high) for x, (low, high) in zip(zero, limits, strict=False)
        ] or zero
    own_units = units if len(units) == size else ()
    at_start = depends if depends_at_start is None else depends_at_start
    values = tuple(map(float, start))
    return Variable(name, kind, shape, about, own_units, labels, values, limits, depends, at_start)


def _units(robot: RobotModel, label: str) -> tuple[str, ...]:
    """Return the units of a vector in `OF_JOINTS`; the entries of a quaternion have the unit 1."""
    _, rotary, linear = OF_JOINTS[label]
    types = [joint.type for joint in robot.coordinates]
    if label != "q":
        return tuple(rotary if x.rotates else linear for joint in types for x in joint.twists)
    units = ((rotary if x.rotates else linear) if x.is_vector_space else "1" for x in types)
    return tuple(y for x, unit in zip(types, units, strict=True) for y in [unit] * x.nq)


def _limits(robot: RobotModel, label: str) -> tuple[tuple[float, float], ...]:
    """Return the (lower, upper) limits of each joint for q, qd or tau; empty if there are none."""
    limits_of = {
        "q": (robot.lower, robot.upper),
        "qd": (-robot.velocity_limit, robot.velocity_limit),
        "tau": (-robot.effort_limit, robot.effort_limit),
    }
    limits = np.transpose(limits_of.get(label, ((), ())))
    return tuple((low, high) for low, high in limits.tolist()) if np.isfinite(limits).any() else ()


def dependencies(program: Program) -> list[list[frozenset[Entry]]]:
    """Return, for each entry of each result, the argument entries on which it depends."""
    nothing: frozenset[Entry] = frozenset()

    def meaning(op: str, *operands: object) -> frozenset[Entry]:
        if op == "input":
            name, place = operands
            assert isinstance(name, str)
            assert isinstance(place, int)
            return frozenset([(name, place)])
        return nothing.union(*(x for x in operands if isinstance(x, frozenset)))

    flat = iter(program.replay(meaning))
    return [
        [x if isinstance(x := next(flat), frozenset) else nothing for _ in output.flat]
        for output in program.outputs
    ]


# ------------------------------------------------------------------ blocks


class Call(NamedTuple):
    """A function that computes outputs, with the variables that the function reads and writes."""

    function: Function
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """Content of a unit: variables, and the functions that compute outputs or steps."""

    robot: RobotModel
    name: str
    """The model identifier of the unit in FMI."""
    about: str
    variables: tuple[Variable, ...]
    calls: tuple[Call, ...]
    """The functions that compute the outputs."""
    integrator: str = ""
    """The integrator of a simulated arm, such as "rk4"; empty for other units."""
    step: Function | None = None
    """Function that the integrator calls: it returns accelerations ("rk4") or the new state."""

    @property
    def functions(self) -> list[Function]:
        """All functions to print as C."""
        own = [] if self.step is None else [self.step]
        return [*own, *(call.function for call in self.calls)]


# ------------------------------------------------------------------ functions


def function_block(robot: RobotModel, functions: Sequence[Function]) -> Block:
    """Return a block that computes its outputs by `functions` when the outputs are read.

    Arguments of the same name become one input. Constants of the robot that are arguments become
    parameters, with the robot's values as start values. An argument t becomes the time.
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
    variables = (CLOCK, *inputs.values(), *outputs.values())
    word = functions[0].program.name if len(functions) == 1 else "dynamics"
    about = functions[0].about if len(functions) == 1 else f"Functions: {listing([*outputs])}."
    return Block(robot, _name(robot, word), about, variables, tuple(calls))


def functions_of(
    robot: RobotModel, of: str | Sequence[str] | functions.Function | Program
) -> list[Function]:
    """Return a list of one function that computes the quantities `of` or runs the program `of`."""
    if isinstance(of, functions.Function):
        about = (of.__doc__ or f"{of.__name__}.").strip().partition("\n")[0]
        return [Function(of.program, about, "")]
    if isinstance(of, Program):
        quantity = QUANTITIES.get(of.name)
        return [Function(of, quantity.about if quantity else f"{of.name}.", "")]
    if isinstance(of, str):
        best = cheapest(robot, of)
        source = f"{best.formulation}: {formulations(of)[best.formulation].source}, simplified"
        return [Function(best.program, QUANTITIES[of].about, source)]
    if not of:
        raise DataError("no quantity is named: expected one or more, or None for the arm itself")
    best = cheapest(robot, list(of))
    return [Function(best.program, f"{', '.join(of)}.", best.formulation)]


def _labels(program: Program) -> tuple[str, ...]:
    if program.names is not None:
        return program.names
    if program.single:
        return (program.name,)
    quantity = QUANTITIES.get(program.name)
    words = quantity.results if quantity else range(1, len(program.outputs) + 1)
    return tuple(f"{program.name}_{word}" for word in words)


def _input(robot: RobotModel, x: Input) -> Variable:
    """Return the variable for an argument: the time, a parameter (for rate "once") or an input."""
    if x.name == "t" and x.shape == ():
        return CLOCK
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
    """Add a variable with a new name; if `shared`, an equal variable may already be there."""
    if not new.size:
        raise CompileError(f"{new.name} has no entries: expected one at least")
    if not (new.name.isascii() and new.name.isidentifier()):
        raise CompileError(f"a variable is called {new.name!r}: FMI has letters of ASCII only")
    old = variables.setdefault(new.name, new)
    if old is not new and not (shared and old == new):
        raise CompileError(f"two different variables are called {new.name!r}: name them otherwise")


# ------------------------------------------------------------------ a simulated arm


def plant_block(
    robot: Robot | Plant,
    *,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    step: float = 1e-3,
) -> Block:
    """Return a block that simulates the arm under joint torques, as described in `to_fmu`."""
    plant = single_plant(robot)
    robot = plant.robot
    robot._require_values("a functional mock-up unit")
    if not robot.nv:
        raise ModelError(f"robot {quote(robot.name)} has no joints: expected one at least")
    robot._require_vector_space("a functional mock-up unit of the simulated arm")
    step = validation.number(step, "step", "a time in s", low=SHORTEST_STEP)
    n = robot.nv
    arm, _ = make_arm(plant, None, 1)
    integrator = default_integrator(arm, "rk4")
    q = [] if q0 is None else validation.array(q0, "q0", (n,)).tolist()
    qd = [] if qd0 is None else validation.array(qd0, "qd0", (n,)).tolist()
    rates = rates_at(arm, np.array(q or [0.0] * n), np.zeros(n), {})
    warn_if_unstable(rates, integrator, step, stacklevel=3)
    variables = [
        CLOCK,
        variable(robot, "tau", "input", (n,)),
        variable(robot, "q0", "fixed", (n,), "Joint positions at the start.", q),
        variable(robot, "qd0", "fixed", (n,), "Joint velocities at the start.", qd),
        replace(
            variable(robot, "step", "fixed", (), "The longest step of the integration.", [step]),
            limits=((SHORTEST_STEP, np.inf),),
        ),
        _state(robot, "q", (n,), lambda k: [("q0", k)]),
        _state(robot, "qd", (n,), lambda k: [("qd0", k)]),
    ]
    calls = []
    if robot.tool is not None:
        (pose,) = functions_of(robot, "forward_kinematics")
        (read,) = dependencies(pose.program)
        about_pose = f"The pose of {robot.tool} in the base: a homogeneous matrix."
        variables.append(
            _state(robot, "pose", (4, 4), lambda k: [("q0", i) for _, i in read[k]], about_pose)
        )
        calls.append(Call(pose, ("q",), ("pose",)))
    about = f"The arm under joint torques, simulated by steps of {IN_WORDS[integrator]}."
    own = _step_function(arm, integrator)
    name = _name(robot, "plant")
    return Block(robot, name, about, tuple(variables), tuple(calls), integrator, own)


def _step_function(arm: Arm, integrator: str) -> Function:
    """Return the function that the C code of the integrator calls."""

    def acceleration(_graph: Any, *arrays: Any) -> Any:
        q, qd, tau = map(as_traced, arrays)
        return arm.acceleration(0, q, qd, {"tau": tau})

    def step(_graph: Any, *arrays: Any) -> Any:
        q, qd, tau = map(as_traced, arrays[:3])
        return INTEGRATORS[integrator].step(arm, arrays[3][()], 0, q, qd, {"tau": tau})

    inputs: dict[str, Shape] = dict.fromkeys(("q", "qd", "tau"), (arm.robot.nv,))
    if integrator == "rk4":
        about = "Accelerations from the torques, friction and joint stops."
        return Function(trace_function("acceleration", acceleration, inputs), about, "")
    about = "Positions and velocities after a step of length h, implicit in friction and stops."
    return Function(trace_function(integrator, step, {**inputs, "h": ()}), about, integrator)


def _state(
    robot: RobotModel,
    name: str,
    shape: Shape,
    read: Callable[[int], Sequence[Entry]],
    about: str = "",
) -> Variable:
    """Return an output without direct feedthrough; its initial value depends on parameters."""
    size = prod(shape)
    at_start = tuple(frozenset(read(k)) for k in range(size))
    nothing = (frozenset[Entry](),) * size
    return variable(robot, name, "output", shape, about, depends=nothing, depends_at_start=at_start)


def _name(robot: RobotModel, word: str) -> str:
    return f"{identifier(robot.name).rstrip('_')}_{identifier(word)}"

"""Time armlet's compiled functions, Pinocchio's, and the same operations in NumPy."""

from collections.abc import Callable, Mapping
from importlib import import_module
from statistics import median
from time import process_time
from timeit import Timer
from typing import Any, NamedTuple

import numpy as np

from armlet.api import compile
from armlet.cli.reference_values import random_states
from armlet.errors import ArmletError
from armlet.formats.urdf import urdf_text
from armlet.graph import Count, Program
from armlet.robot import RobotModel

ROWS = 1000
"""Number of states in a batch."""
ROUND = 0.004
"""Minimum time of one round of calls, in seconds."""
ARMLET, PINOCCHIO, NUMPY = LIBRARIES = ("armlet", "Pinocchio", "NumPy")
FUNCTIONS = {
    "inverse_dynamics": "rnea",
    "inertia_matrix": "crba",
    "bias": "nonLinearEffects",
    "gravity_torque": "computeGeneralizedGravity",
    "forward_dynamics": "aba",
    "linearization": "computeRNEADerivatives",
    "regressor": "computeJointTorqueRegressor",
}
"""Quantity that is timed -> Pinocchio's function."""
PARALLEL = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}
"""Quantity -> Pinocchio's function for batches, if there is one."""
Call = tuple[Callable[..., Any], *tuple[Any, ...]]
"""A function and its arguments."""


class Times(NamedTuple):
    """Operations of a kernel, and each library's seconds per state in single calls and batches."""

    operations: Count
    call: dict[str, float]
    batch: dict[str, float]


class Pinocchio:
    """Pinocchio's model of a robot; the constructor raises an error if it cannot be built."""

    def __init__(self, robot: RobotModel) -> None:
        self.library: Any = import_module("pinocchio")
        self.model = self.library.buildModelFromXML(urdf_text(robot))
        self.model.gravity.linear = np.asarray(robot.gravity, float)
        if self.model.nq != self.model.nv or [*self.model.names[1:]] != [*robot.joint_names]:
            raise ValueError("its coordinates are not those of the robot")

    def call(self, quantity: str, state: tuple[Any, ...]) -> Call:
        """Return Pinocchio's function, and its arguments for one state."""
        function = getattr(self.library, FUNCTIONS[quantity])
        return function, self.model, self.model.createData(), *state

    def batch(self, quantity: str, rows: tuple[Any, ...]) -> Call:
        """Return Pinocchio's batch function for a quantity in `PARALLEL`, and its arguments."""
        function = getattr(self.library, PARALLEL[quantity])
        pool = self.library.ModelPool(self.model, 1)
        return function, 1, pool, *(x.T for x in (*rows, np.empty_like(rows[0])))


def pinocchio(robot: RobotModel) -> tuple[Pinocchio | None, list[str]]:
    """Return (model, []), or (None, [reason]) if Pinocchio is missing or cannot model the robot."""
    try:
        return Pinocchio(robot), []
    except (ArmletError, ImportError, RuntimeError, ValueError) as error:
        return None, [f"Pinocchio: {str(error).splitlines()[0]}"]


def measure(
    robot: RobotModel,
    quantity: str,
    rounds: int,
    peer: Pinocchio | None = None,
    numpy: bool = False,
) -> Times:
    """Count a kernel's operations, and measure the median times of one call and of a batch."""
    kernel, rows = compile(robot, quantity), tuple(random_states(robot, quantity, ROWS))
    one = tuple(np.ascontiguousarray(x[0]) for x in rows)
    calls: dict[str, Call] = {ARMLET: (kernel, *one)}
    batches: dict[str, Call] = {ARMLET: (kernel, *rows)}
    if peer is not None:
        calls[PINOCCHIO] = peer.call(quantity, one)
        if quantity in PARALLEL:
            batches[PINOCCHIO] = peer.batch(quantity, rows)
    if numpy:
        calls[NUMPY] = numpy_function(kernel.program, np.array), *one
        columns = (np.ascontiguousarray(x.T) for x in rows)
        batches[NUMPY] = numpy_function(kernel.program, list), *columns
    return Times(kernel.program.count(), medians(calls, rounds), medians(batches, rounds, ROWS))


def medians(calls: Mapping[str, Call], rounds: int, states: int = 1) -> dict[str, float]:
    """Return each call's median processor time per state, in seconds.

    The calls take turns, so that other load on the machine affects all calls alike.
    """
    timers, numbers = {}, dict.fromkeys(calls, 1)
    for name, (function, *arguments) in calls.items():
        named = {f"x{k}": x for k, x in enumerate(arguments)}
        text = f"f({', '.join(named)})"
        timers[name] = Timer(text, timer=process_time, globals={"f": function, **named})
        timers[name].timeit(1)
        while timers[name].timeit(numbers[name]) < ROUND:
            numbers[name] *= 2
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, number in numbers.items():
            seconds[name].append(timers[name].timeit(number) / number / states)
    return {name: median(times) for name, times in seconds.items()}


def numpy_function(program: Program, collect: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a program to a Python function that calls `collect` on the entries of each output."""
    namespace: dict[str, Any] = {}
    exec(program.source("python"), namespace)
    namespace["array"] = collect
    function: Callable[..., Any] = namespace[program.name]
    return function

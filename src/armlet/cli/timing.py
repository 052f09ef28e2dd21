"""Times of a robot's kernels beside Pinocchio, and beside the same operations in NumPy."""

from collections.abc import Callable, Mapping
from importlib import import_module
from statistics import median
from time import process_time
from timeit import Timer
from typing import Any, NamedTuple

import numpy as np

from armlet.api import compile
from armlet.cli.reference import random_states
from armlet.errors import ArmletError
from armlet.formats.urdf import urdf_text
from armlet.graph import Count, Program
from armlet.robot import RobotModel

ROWS = 1000
"""The number of states of a batch."""
ROUND = 0.004
"""The least time of one round of calls, in seconds."""
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
"""The quantities that are timed, each with Pinocchio's function."""
PARALLEL = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}
"""The quantities that Pinocchio computes for batches, each with its function."""
Call = tuple[Callable[..., Any], *tuple[Any, ...]]
"""A function and its arguments."""


class Times(NamedTuple):
    """The operations of a kernel; each library's seconds per state in one call, and in a batch."""

    operations: Count
    call: dict[str, float]
    batch: dict[str, float]


class Pinocchio:
    """Pinocchio's model of a robot; the constructor raises an error if there is none."""

    def __init__(self, robot: RobotModel) -> None:
        self.library: Any = import_module("pinocchio")
        self.model = self.library.buildModelFromXML(urdf_text(robot))
        self.model.gravity.linear = np.asarray(robot.gravity, float)
        if self.model.nq != self.model.nv or [*self.model.names[1:]] != [*robot.joint_names]:
            raise ValueError("its coordinates are not those of the robot")

    def call(self, quantity: str, state: tuple[Any, ...]) -> Call:
        """Pinocchio's function and its arguments for one state."""
        function = getattr(self.library, FUNCTIONS[quantity])
        return function, self.model, self.model.createData(), *state

    def batch(self, quantity: str, rows: tuple[Any, ...]) -> Call:
        """Pinocchio's function and its arguments for a batch; `quantity` is in `PARALLEL`."""
        function = getattr(self.library, PARALLEL[quantity])
        pool = self.library.ModelPool(self.model, 1)
        return function, 1, pool, *(x.T for x in (*rows, np.empty_like(rows[0])))


def pinocchio(robot: RobotModel) -> tuple[Pinocchio | None, list[str]]:
    """Pinocchio's model of a robot, or None and the reason in a list."""
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
    """Measure the median times of one call and of a batch, and count the operations."""
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
    """Median seconds per state of each call, by processor time.

    The calls take turns, so that other load on the machine affects all of them alike.
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
    """A program as a plain Python function, with the same operations on floats or arrays.

    `collect` converts the list of an output's entries to the result, for example to an array.
    """
    namespace: dict[str, Any] = {}
    exec(program.source("python"), namespace)
    namespace["array"] = collect
    function: Callable[..., Any] = namespace[program.name]
    return function

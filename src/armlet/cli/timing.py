"""Measure times of compiled functions of armlet and Pinocchio, and of NumPy programs."""

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
    """A kernel's operation count, and library -> seconds per state in one call and in a batch."""

    operations: Count
    call: dict[str, float]
    batch: dict[str, float]


def pinocchio(robot: RobotModel) -> tuple[Any, list[str]]:
    """Return (model, []), or (None, [reason]) if Pinocchio is missing or cannot model the robot."""
    try:
        model: Any = import_module("pinocchio").buildModelFromXML(urdf_text(robot))
        model.gravity.linear = np.asarray(robot.gravity, float)
        if model.nq != model.nv or [*model.names[1:]] != [*robot.joint_names]:
            raise ValueError("its coordinates are not those of the robot")
    except (ArmletError, ImportError, RuntimeError, ValueError) as error:
        return None, [f"Pinocchio: {str(error).splitlines()[0]}"]
    return model, []


def pinocchio_call(model: Any, quantity: str, state: tuple[Any, ...]) -> Call:
    """Return Pinocchio's function for a quantity, followed by its arguments for one state."""
    function = getattr(import_module("pinocchio"), FUNCTIONS[quantity])
    return function, model, model.createData(), *state


def measure(
    robot: RobotModel, quantity: str, rounds: int, peer: Any = None, numpy: bool = False
) -> Times:
    """Count a kernel's operations, and measure the median times of one call and of a batch.

    Pinocchio is timed too if `peer`, its model of the robot, is not None; NumPy if `numpy` is true.
    """
    kernel, rows = compile(robot, quantity), tuple(random_states(robot, quantity, ROWS))
    one = tuple(np.ascontiguousarray(x[0]) for x in rows)
    calls: dict[str, Call] = {ARMLET: (kernel, *one)}
    batches: dict[str, Call] = {ARMLET: (kernel, *rows)}
    if peer is not None:
        calls[PINOCCHIO] = pinocchio_call(peer, quantity, one)
        if quantity in PARALLEL:
            library = import_module("pinocchio")
            function, pool = getattr(library, PARALLEL[quantity]), library.ModelPool(peer, 1)
            columns = (x.T for x in (*rows, np.empty_like(rows[0])))
            batches[PINOCCHIO] = function, 1, pool, *columns
    if numpy:
        calls[NUMPY] = numpy_function(kernel.program, np.array), *one
        columns = (np.ascontiguousarray(x.T) for x in rows)
        batches[NUMPY] = numpy_function(kernel.program, list), *columns
    return Times(kernel.program.count(), medians(calls, rounds), medians(batches, rounds, ROWS))


def medians(calls: Mapping[str, Call], rounds: int, states: int = 1) -> dict[str, float]:
    """Return each call's median processor time per state, in seconds.

    The calls alternate, so that other load on the machine affects all calls alike.
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
    """Return a program as a Python function; `collect` combines the entries of each output."""
    namespace: dict[str, Any] = {}
    exec(program.source("python"), namespace)
    namespace["array"] = collect
    function: Callable[..., Any] = namespace[program.name]
    return function

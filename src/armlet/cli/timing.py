"""Times of a robot's kernels beside Pinocchio, and beside the same operations in NumPy."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from armlet.api import compile
from armlet.cli.reference import random_states
from armlet.errors import ArmletError
from armlet.formats.urdf import urdf_text
from armlet.graph import Count, Program
from armlet.robot import RobotModel
from armlet.runtime.timing import Timed, time_in_turns

ROWS = 1000
"""The number of states of a batch."""
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
"""Pinocchio's functions by quantity: those that are timed."""
PARALLEL = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}
"""Pinocchio's functions for batches."""


class Times(NamedTuple):
    """The operations of a kernel, and seconds per state by library: one call, and a batch."""

    operations: Count
    call: dict[str, float]
    batch: dict[str, float]


class Pinocchio:
    """Pinocchio's model of a robot; ImportError or ValueError says why there is none."""

    def __init__(self, robot: RobotModel) -> None:
        self.library: Any = import_module("pinocchio")
        self.model = self.library.buildModelFromXML(urdf_text(robot))
        self.model.gravity.linear = np.asarray(robot.gravity, float)
        if self.model.nq != self.model.nv or [*self.model.names[1:]] != [*robot.joint_names]:
            raise ValueError("its coordinates are not those of the robot")

    def call(self, quantity: str, state: tuple[Any, ...]) -> Timed:
        """The call for one state."""
        function = getattr(self.library, FUNCTIONS[quantity])
        return Timed(function, (self.model, self.model.createData(), *state))

    def batch(self, quantity: str, rows: tuple[Any, ...]) -> Timed | None:
        """The call for a batch on one thread, where Pinocchio has one."""
        function = getattr(self.library, PARALLEL.get(quantity, ""), None)
        if function is None:
            return None
        pool = self.library.ModelPool(self.model, 1)
        out = np.empty_like(rows[0])
        return Timed(lambda: function(1, pool, *(x.T for x in (*rows, out))), (), ROWS)


def pinocchio(robot: RobotModel) -> tuple[Pinocchio | None, list[str]]:
    """Pinocchio's model of a robot, or None and why it is left out."""
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
    """The median times of one call and of a batch, all timed in turns on one core."""
    kernel, rows = compile(robot, quantity), tuple(random_states(robot, quantity, ROWS))
    one = tuple(np.ascontiguousarray(x[0]) for x in rows)
    kernel(*one)
    calls, batches = {ARMLET: Timed(kernel, one)}, {ARMLET: Timed(kernel, rows, ROWS)}
    if peer is not None:
        calls[PINOCCHIO] = peer.call(quantity, one)
        if (batch := peer.batch(quantity, rows)) is not None:
            batches[PINOCCHIO] = batch
    if numpy:
        columns = tuple(np.ascontiguousarray(x.T) for x in rows)
        calls[NUMPY] = Timed(numpy_function(kernel.program, np.array), one)
        batches[NUMPY] = Timed(numpy_function(kernel.program, list), columns, ROWS)
    medians = (
        {name: x.median for name, x in time_in_turns(timed, rounds).items()}
        for timed in (calls, batches)
    )
    return Times(kernel.program.count(), *medians)


def numpy_function(program: Program, collect: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a program is printed as: the same operations by Python and NumPy.

    `collect` makes the result of a list of entries.
    """
    namespace: dict[str, Any] = {}
    exec(program.source("python"), namespace)
    namespace["array"] = collect
    function: Callable[..., Any] = namespace[program.name]
    return function

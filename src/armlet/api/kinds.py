"""How a quantity is evaluated, by the kind of array that it is given.

NumPy's arrays, and lists of numbers, run the kernel. `KINDS` has the others, keyed by the package
that an array's type, or the type of its entries, belongs to.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from armlet.compose import recorded
from armlet.graph import Program
from armlet.graph.arrays import as_traced, graph_of
from armlet.robot import RobotModel
from armlet.scalar import package
from armlet.search import cheapest_program
from armlet.tracing import request

PLAIN = ("builtins", "numpy")
Evaluation = Callable[[RobotModel, str, Sequence[Any], Mapping[str, Any]], Any]
"""The results of a quantity, given the robot, its name, the arrays and the options."""


def kind_of(arrays: Sequence[Any]) -> str:
    """The package of the first array that is not NumPy's, or of its entries; else numpy."""
    for array in arrays:
        kind = package(array)
        if kind in PLAIN:
            kind = _kind_of_entries(array)
        if kind not in PLAIN:
            return kind
    return "numpy"


def _kind_of_entries(array: Any) -> str:
    """The package of the first entry that is not a number."""
    try:
        entries = np.asarray(array)
    except ValueError:  # rows of different lengths, which the kernel refuses with a message
        return "numpy"
    if entries.dtype != object:
        return "numpy"
    return next((kind for kind in map(package, entries.flat) if kind not in PLAIN), "numpy")


def traced_quantity(
    robot: RobotModel, name: str, arrays: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """A quantity of traced arrays, recorded in their graph."""
    arrays = [np.asarray(x, dtype=object) for x in arrays]
    graph = graph_of(arrays)
    assert graph is not None
    found = recorded(graph, request(robot, name, {}, True, options), arrays)
    return tuple(map(as_traced, found)) if isinstance(found, tuple) else as_traced(found)


def replayed_quantity(
    robot: RobotModel, name: str, arrays: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """A quantity of other scalars, by the operations of the cheapest program."""
    program: Program = cheapest_program(request(robot, name, {}, True, options)).program
    return program.function(import_module(kind_of(arrays)))(*arrays)


KINDS: dict[str, Evaluation] = {
    "armlet": traced_quantity,
    "sympy": replayed_quantity,
    "mpmath": replayed_quantity,
    "casadi": replayed_quantity,
}

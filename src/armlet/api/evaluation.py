"""Evaluate robot methods by compiled kernels, or by the array library of the arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MethodType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet.dynamics import QUANTITIES
from armlet.dynamics.singular import is_singular
from armlet.errors import DataWarning
from armlet.graph import Program
from armlet.graph.graph import graph_of, object_array
from armlet.graph.trace.arrays import as_traced
from armlet.robot import RobotModel
from armlet.robot.robot import GROUPS
from armlet.runtime import Kernel
from armlet.runtime.arrays import library_of
from armlet.runtime.python_call import Entry
from armlet.search.cheapest import cheapest_program
from armlet.search.compose import record
from armlet.search.request import make_request

Array = NDArray[np.float64]
Out = Array | Sequence[Array] | None
"""Where to write results: an array, one array per result, or None for new arrays."""
Result = TypeVar("Result")
C = TypeVar("C", bound=type)


def evaluate(
    robot: RobotModel,
    method: Callable[..., Result],
    arrays: Sequence[ArrayLike],
    out: Out,
    threads: int,
    **options: Any,
) -> Result:
    """Evaluate a robot's method on arrays of any library.

    NumPy arrays are passed to a compiled kernel. A call with one state or a small batch also
    connects this robot's method with compiled code, so that later calls bypass this function.
    """
    name = method.__name__
    options = {key: x for key, x in options.items() if x is not None and x is not False}
    if "wrench" in options:
        arrays = (*arrays, options["wrench"])
        options["wrench"] = True
    quantity = quantity_of(robot, name, options)
    result: Result
    constants = [[*x.values()] for x in quantity.traced_groups.values()]
    if library := library_of((*constants, *arrays), out):
        result = library.evaluate(quantity, arrays, threads)
        return result
    kernel: Any = quantity.kernel_for("float64")
    if threads != 1 or kernel.takes_long(arrays):
        result = kernel.evaluate(*arrays, out=out, threads=threads)
    else:
        _connect_method(robot, name, kernel, options)
        result = kernel(*arrays, out=out)
    if QUANTITIES[name].inverts == "jacobian":
        _mask_singular(quantity, arrays[0], result)
    return result


class RobotQuantity:
    """A quantity of a robot with fixed options; the program and the kernels are computed once."""

    def __init__(self, robot: RobotModel, name: str, options: Mapping[str, Any]) -> None:
        self.robot, self.name, self.options = robot, name, options
        self._kernels: dict[str, Kernel] = {}

    @cached_property
    def program(self) -> Program:
        """The cheapest program that the search finds."""
        return cheapest_program(make_request(self.robot, self.name, {}, True, self.options)).program

    def kernel_for(self, dtype: str) -> Kernel:
        if dtype not in self._kernels:
            self.robot._require_values(self.name)
            self._kernels.setdefault(dtype, Kernel(self.program, dtype))
        return self._kernels[dtype]

    @cached_property
    def traced_groups(self) -> dict[str, dict[str, Any]]:
        """Group of constants -> {name: value}, for groups with at least one traced value."""
        named = {group: self.robot.constants(group) for group in GROUPS}
        return {group: x for group, x in named.items() if graph_of([[*x.values()]])}

    def record(self, arrays: Sequence[Any]) -> Any:
        """Record the quantity in the graph of the traced arrays; return its traced results.

        The groups of constants in `traced_groups` become arguments of the program. The values of
        traced constants are not known during the search for the program, which uses 1 instead.
        """
        groups = self.traced_groups
        names = [name for values in groups.values() for name in values]
        robot = self.robot._with_constants(dict.fromkeys(names, 1.0))
        late = dict.fromkeys(groups, "argument")
        requested = make_request(robot, self.name, late, True, self.options)
        shapes = [x.shape for x in requested.inputs[len(arrays) :]]
        args = [np.asarray(x, dtype=object) for x in arrays]
        for values, shape in zip(groups.values(), shapes, strict=True):
            args.append(object_array([*values.values()], shape))
        graph = graph_of(args)
        assert graph is not None
        results = record(graph, requested, args)
        return tuple(map(as_traced, results)) if isinstance(results, tuple) else as_traced(results)


def quantity_of(robot: RobotModel, name: str, options: Mapping[str, Any]) -> RobotQuantity:
    """Return a quantity of a robot with these options; the result is cached in the robot."""
    key = ("quantity", name, *sorted(options.items()))
    return robot._once(key, lambda: RobotQuantity(robot, name, options))


# ------------------------------------------------------------------ methods as compiled code


class QuantityMethod:
    """A method of `Robot` for which each robot has its own compiled code.

    Access on a robot returns an `Entry`, the same object before and after its first call. A
    method that a subclass overrides, or that can return nan, is an ordinary bound method.
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __get__(self, robot: Any, owner: type) -> Any:
        if robot is None:
            return self.func
        name, bound = self.func.__name__, MethodType(self.func, robot)
        if getattr(type(robot), name) is not self.func or QUANTITIES[name].inverts == "jacobian":
            return bound
        return robot._once(("method", name), lambda: Entry(bound))


def with_quantity_methods(cls: C) -> C:
    """Replace each method that computes a quantity by a `QuantityMethod`; return the class."""
    for name in QUANTITIES:
        setattr(cls, name, QuantityMethod(vars(cls)[name]))
    return cls


def _connect_method(
    robot: RobotModel, name: str, kernel: Kernel, options: Mapping[str, Any]
) -> None:
    """Connect a method of this robot with compiled code, which runs the kernel directly.

    The first call with a new frame, or with a wrench, adds an entry for later calls of this kind.
    Entries do not belong to the robot's data: pickles and copies leave them out.
    """
    method, quantity = getattr(robot, name), QUANTITIES[name]
    option = next((x for x in ("wrench", "frame") if x in quantity.options), "")
    if not isinstance(method, Entry) or not options.keys() <= {option}:
        return
    vars(robot)[name] = method
    entries: dict[Any, Any] = robot._once(("entries", name), dict)
    choice, bound = options.get(option), method._fallback
    if choice in entries:
        return
    if choice is None:
        kernel.compiled().connect(method, option, entries)
        entries[choice] = method
        return
    if not entries:
        kernel.backend.dispatch(method, quantity.arguments, option, entries)
    entries[choice] = Entry(partial(bound, frame=choice) if option == "frame" else bound)
    kernel.compiled().connect(entries[choice])


# ------------------------------------------------------------------ singular postures


def _mask_singular(quantity: RobotQuantity, q: ArrayLike, results: Any) -> None:
    """Set `results` to nan at singular postures, where the values are arbitrary; then warn."""
    robot, frame = quantity.robot, quantity.options.get("frame", quantity.robot.tool)
    kernel = quantity_of(robot, "jacobian", quantity.options).kernel_for("float64")
    singular = is_singular(kernel.evaluate(q))
    if not singular.any():
        return
    for result in results:
        result[singular] = np.nan
    where = f"{int(singular.sum())} of {singular.size} postures are" if singular.ndim else "q is"
    first = f", the first at index {tuple(map(int, np.argwhere(singular)[0]))}"
    warnings.warn(
        f"{quantity.name}: {where} singular{first if singular.ndim else ''}: frame {frame!r} "
        "cannot move in all directions there, and the result is nan",
        DataWarning,
        stacklevel=4,
    )

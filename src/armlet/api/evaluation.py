"""Numerical evaluation of a robot's quantities by kernels that are compiled once."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MethodType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api.kinds import KINDS, kernel_of, kind_of, traced_constants
from armlet.dynamics import QUANTITIES
from armlet.dynamics.singular import is_singular
from armlet.errors import DataWarning
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.runtime.arrays.libraries import refuse_out
from armlet.runtime.python_call import dispatcher_call

Array = NDArray[np.float64]
Result = TypeVar("Result")


def evaluated(
    robot: RobotModel,
    method: Callable[..., Result],
    arrays: Sequence[ArrayLike],
    out: Result | None,
    threads: int,
    **options: Any,
) -> Result:
    """The result of a robot's method, computed by the kernel for the given options."""
    name = method.__name__
    asked = {key: x for key, x in options.items() if x is not None and x is not False}
    if "wrench" in asked:
        arrays = (*arrays, asked["wrench"])
        asked["wrench"] = True
    result: Result
    kind = "armlet" if traced_constants(robot) else kind_of(arrays)
    if kind in KINDS:
        refuse_out(out)
        result = KINDS[kind](robot, name, arrays, asked, threads)
    elif threads == 1:
        result = _call(robot, method, arrays, asked)(*arrays, out=out)
    else:
        kernel = kernel_of(robot, name, **asked)
        result = kernel.evaluate(*arrays, out=out, threads=threads)
    return result


# ------------------------------------------------------------------ the fast path

CHOOSING = ("wrench", "frame")
"""The options by which a compiled entry selects a kernel."""


def _call(
    robot: RobotModel,
    method: Callable[..., Any],
    arrays: Sequence[ArrayLike],
    asked: Mapping[str, Any],
) -> Callable[..., Any]:
    """The compiled function for the given options.

    Unless the batch is long, it also replaces the method on this robot, directly or behind a
    function that selects it by the option.
    """
    name = method.__name__
    option = next((x for x in CHOOSING if x in QUANTITIES[name].options), "")
    calls: dict[Any, Callable[..., Any]] = robot._once(("calls", name), dict)
    key = asked.get(option)
    chooses = asked.keys() <= {option}
    if chooses and key in calls:
        return calls[key]
    kernel = kernel_of(robot, name, **asked)
    if kernel.takes_long(arrays):
        return kernel.evaluate
    if chooses and _is_replaceable(robot, method):
        _shorten(robot, method, kernel, option, key)
        calls[key] = kernel.call
    return kernel.call


def _is_replaceable(robot: RobotModel, method: Callable[..., Any]) -> bool:
    """Whether a method only evaluates: it is not overridden, and does not look at results."""
    name = method.__name__
    return getattr(type(robot), name, None) is method and QUANTITIES[name].inverts != "jacobian"


def _shorten(
    robot: RobotModel,
    method: Callable[..., Any],
    kernel: Kernel,
    option: str,
    key: Any,
) -> None:
    """Replace a method of this robot by the compiled entry of its kernel.

    Later calls then run machine code directly, also with a frame or a wrench that was used before.
    This is the only place that writes to an existing robot: results stay the same, and pickles and
    copies leave the entry out.
    """
    name, bound = method.__name__, MethodType(method, robot)
    entries: dict[Any, Any] = robot._once(("entries", name), dict)
    about = f"{name}{_signature(method)}\n--\n\n{inspect.getdoc(method)}"
    if key is None:
        vars(robot)[name] = kernel.entry(bound, name, about, option, entries)
    elif name not in vars(robot):
        arguments = QUANTITIES[name].arguments
        vars(robot)[name] = dispatcher_call(name, bound, arguments, option, entries, about)
    otherwise = partial(bound, frame=key) if option == "frame" else bound
    entries[key] = kernel.entry(otherwise, name)


def _signature(method: Callable[..., Any]) -> inspect.Signature:
    """The arguments of a method without their types, which CPython has no place for."""
    _, *parameters = inspect.signature(method).parameters.values()
    return inspect.Signature([x.replace(annotation=inspect.Parameter.empty) for x in parameters])


# ------------------------------------------------------------------ singular postures


def blanked(
    robot: RobotModel, name: str, q: ArrayLike, frame: str | None, results: Result
) -> Result:
    """The results, with nan at singular postures, where they would be arbitrary.

    Expressions have no posture yet, and stay as they are; so do arrays of PyTorch and JAX, which
    may be mapped or not be there yet.
    """
    if kind_of(results) in KINDS:  # type: ignore[arg-type]
        return results
    options = {} if frame is None else {"frame": frame}
    singular = is_singular(kernel_of(robot, "jacobian", **options).evaluate(q))
    if not singular.any():
        return results
    for result in results:  # type: ignore[attr-defined]
        result[singular] = np.nan
    where = f"{int(singular.sum())} of {singular.size} postures are" if singular.ndim else "q is"
    first = f", the first at index {tuple(map(int, np.argwhere(singular)[0]))}"
    warnings.warn(
        f"{name}: {where} singular{first if singular.ndim else ''}: frame "
        f"{frame or robot.tool!r} cannot move in all directions there, and the result is nan",
        DataWarning,
        stacklevel=3,
    )
    return results

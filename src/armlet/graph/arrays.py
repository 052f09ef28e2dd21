"""Arrays of traced scalars on which NumPy's functions record what they do.

NumPy compares objects by asking them for their truth, which a traced scalar does not have: what
compares is taken over by functions that record.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armlet import scalar
from armlet.errors import CompileError
from armlet.graph.graph import Graph, Traced


def _clipped(x: Any, low: Any, high: Any) -> Any:
    return scalar.minimum(scalar.maximum(x, low), high)


# fmt: off
RECORDED: dict[str, Callable[..., Any]] = {
    "minimum": scalar.minimum,
    "maximum": scalar.maximum,
    "fmin": scalar.minimum,
    "fmax": scalar.maximum,
    "clip": _clipped,
    "less": scalar.less,
    "greater": lambda x, y: scalar.less(y, x),
    "less_equal": lambda x, y: scalar.where(scalar.less(y, x), 0, 1),
    "greater_equal": lambda x, y: scalar.where(scalar.less(x, y), 0, 1),
    "logical_and": lambda x, y: scalar.where(x, y, 0),
    "logical_or": lambda x, y: scalar.where(x, 1, y),
    "logical_not": lambda x: scalar.where(x, 0, 1),
    "sign": scalar.sign,
    "arctan2": scalar.atan2,
}
"""NumPy's functions by name that are not done by methods of the elements."""
# fmt: on


class TracedArray(np.ndarray):
    """An array of traced scalars and numbers."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: Any, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        function = ufunc
        if ufunc.__name__ in RECORDED:
            function = np.frompyfunc(RECORDED[ufunc.__name__], ufunc.nin, 1)
        if out is not None:
            options["out"] = tuple(_plain(x) for x in out)
        found = getattr(function, method)(*map(_plain, inputs), **options)
        if out is not None:
            return out[0]
        return tuple(map(as_traced, found)) if isinstance(found, tuple) else as_traced(found)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.where and len(args) == 3:
            return elementwise(scalar.where, *args)
        if "linalg" in (function.__module__ or "") and function is not np.linalg.norm:
            raise CompileError(
                f"numpy.linalg.{function.__name__} looks at numbers, which a traced array does not "
                "have yet: solve a symmetric positive definite system with armlet.math.solve"
            )
        found = super().__array_function__(function, types, args, options)
        return (
            type(found)(map(as_traced, found)) if type(found) in (list, tuple) else as_traced(found)
        )


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, TracedArray) else x


def as_traced(x: Any) -> Any:
    """An array of objects as one of traced scalars; all else as it is."""
    is_plain = isinstance(x, np.ndarray) and x.dtype == object and not isinstance(x, TracedArray)
    return x.view(TracedArray) if is_plain else x


def elementwise(function: Callable[..., Any], *args: Any) -> Any:
    """A function of scalars on arrays of them, of objects entry by entry."""
    if any(isinstance(x, np.ndarray) and x.dtype == object for x in args):
        return as_traced(np.frompyfunc(function, len(args), 1)(*map(_plain, args)))
    return function(*args)


def graph_of(arrays: Sequence[Any]) -> Graph | None:
    """The graph that arrays are recorded in, if one of them has a traced scalar."""
    for array in arrays:
        for x in np.asarray(array, dtype=object).flat:
            if isinstance(x, Traced):
                return x.graph
    return None

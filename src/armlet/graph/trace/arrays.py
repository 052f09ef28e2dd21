"""Arrays of traced scalars: NumPy functions of such arrays are recorded in the graph.

NumPy functions that compare objects need truth values, which traced scalars do not have. Such
functions are replaced by `ELEMENTARY` and `FUNCTIONS`, which record operations instead.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from armlet import scalar
from armlet.errors import CompileError
from armlet.graph.trace.elementary import (
    ELEMENTARY,
    isinf,
    isnan,
    logical_or,
    round_to,
    sinc,
    trunc,
    truth,
)
from armlet.graph.trace.errors import BranchError, place, unsupported_function

LARGEST = np.finfo(float).max


class NumPyRecorder:
    """Base class of traced scalars and arrays: it records NumPy functions applied to them."""

    __slots__ = ()

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        """Record a NumPy ufunc, or a method such as `numpy.add.reduce`; return the result."""
        name = ufunc.__name__
        function = ufunc
        if name in ELEMENTARY:
            function = np.frompyfunc(ELEMENTARY[name], ufunc.nin, ufunc.nout)
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        options = {key: _plain(x) for key, x in options.items()}
        try:
            result = getattr(function, method)(*map(_plain, inputs), **options)
        except BranchError:
            raise
        except TypeError as error:
            raise unsupported_function(name, error) from error
        if out is not None:
            return out[0]
        if name.startswith("logical") and method == "reduce":
            result = elementwise(truth, result)  # a single entry is returned as it is
        return as_traced(result)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Record a NumPy function that is not a ufunc, such as `numpy.where`; return the result."""
        name = function.__name__
        if "linalg" in (function.__module__ or "") and name not in PRODUCTS.split():
            raise CompileError(
                f"{place()}: numpy.linalg.{name} looks at numbers, which a traced array does not "
                "have yet: solve a symmetric positive definite system with armlet.math.solve"
            )
        try:
            if name in FUNCTIONS:
                return FUNCTIONS[name](*args, **options)
            return as_traced(function._implementation(*args, **options))
        except (TypeError, IndexError, AttributeError) as error:
            raise unsupported_function(name, error) from error


class TracedArray(NumPyRecorder, np.ndarray):
    """A NumPy array of traced scalars and numbers."""

    def __getitem__(self, index: Any) -> Any:
        if _is_traced(index):
            raise BranchError(
                f"{place()}: an array is indexed by a traced array, so that the number of entries "
                "depends on the state: choose with numpy.where(mask, x, y), which keeps the shape"
            )
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if _is_traced(index):
            if not isinstance(index, TracedArray) or index.shape != self.shape or np.ndim(value):
                raise BranchError(
                    f"{place()}: entries are set where a traced array says: expected a mask of the "
                    "array's shape and one number, or x = numpy.where(mask, new, x)"
                )
            index, value = ..., elementwise(scalar.where, index, value, self)
        super().__setitem__(index, value)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """Return a copy; an integer `dtype` truncates the entries, and bool maps them to 1 or 0."""
        kind = np.dtype(dtype).kind
        if kind not in "fiub":
            return super().astype(dtype, *args, **options)
        return self.copy() if kind == "f" else elementwise(truth if kind == "b" else trunc, self)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        return _round(self, decimals, out)


PRODUCTS = (
    "norm vector_norm matrix_norm cross outer trace vecdot matmul multi_dot matrix_power diagonal "
    "matrix_transpose tensordot"
)
"""Functions of numpy.linalg that can be recorded: they do the same operations for all values."""


def _plain(x: Any) -> Any:
    """Convert a traced array or scalar to a plain NumPy array; return anything else unchanged."""
    if isinstance(x, TracedArray):
        return x.view(np.ndarray)
    if hasattr(x, "record"):
        one = np.empty((), dtype=object)
        one[()] = x
        return one
    return x


def _is_traced(index: Any) -> bool:
    """Whether an index is a non-empty traced array, or a tuple that contains such an array."""
    if isinstance(index, tuple):
        return any(map(_is_traced, index))
    return isinstance(index, TracedArray) and bool(index.size)


def as_traced(x: Any) -> Any:
    """Convert arrays of dtype object, also in lists or tuples, to traced arrays; keep all else."""
    if type(x) in (list, tuple):
        return type(x)(map(as_traced, x))
    is_plain = isinstance(x, np.ndarray) and x.dtype == object and not isinstance(x, TracedArray)
    return x.view(TracedArray) if is_plain else x


def elementwise(function: Callable[..., Any], *args: Any) -> Any:
    """Apply a function to each entry of arrays if an argument is traced, else to whole arrays."""
    has_objects = any(isinstance(x, np.ndarray) and x.dtype == object for x in args)
    has_traced = any(hasattr(x, "record") for x in args)
    if has_objects or (has_traced and any(map(np.ndim, args))):
        return as_traced(np.frompyfunc(function, len(args), 1)(*map(_plain, args)))
    return function(*args)


# ------------------------------------------------------------------ functions of whole arrays


def _select(conditions: Any, options: Any, default: Any = 0) -> Any:
    result = default
    for condition, option in reversed([*zip(conditions, options, strict=True)]):
        result = elementwise(scalar.where, condition, option, result)
    return result


def _is_close(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    def close(a: Any, b: Any) -> Any:
        near = scalar.where(
            logical_or(isinf(a), isinf(b)),
            scalar.equal(a, b),
            truth(scalar.less_equal(abs(a - b), atol + rtol * abs(b))),
        )
        return logical_or(near, scalar.where(isnan(a), isnan(b), 0)) if equal_nan else near

    return elementwise(close, x, y)


def _clip(x: Any, low: Any = None, high: Any = None, out: Any = None, **options: Any) -> Any:
    """Record `numpy.clip`; `low` and `high` are optional, and may also be passed as min and max."""
    low, high = options.get("min", low), options.get("max", high)
    result = x if low is None else elementwise(scalar.maximum, x, low)
    result = result if high is None else elementwise(scalar.minimum, result, high)
    return _write_out(result, out)


def _write_out(result: Any, out: Any) -> Any:
    """Write `result` to the array `out` and return `out`; if `out` is None, return `result`."""
    if out is None:
        return result
    out[...] = result
    return out


def _round(x: Any, decimals: int = 0, out: Any = None) -> Any:
    return _write_out(elementwise(lambda entry: round_to(entry, decimals), x), out)


def _nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    high = LARGEST if posinf is None else posinf
    low = -LARGEST if neginf is None else neginf

    def finite(a: Any) -> Any:
        infinite = scalar.where(scalar.less(a, 0), low, high)
        return scalar.where(isnan(a), nan, scalar.where(isinf(a), infinite, a))

    return _write_out(elementwise(finite, x), None if copy else x)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord in (np.inf, -np.inf) and (np.ndim(x) == 1 or isinstance(axis, int)):
        largest = np.max if ord > 0 else np.min
        return largest(np.abs(x), axis=axis, keepdims=keepdims)
    plain: Any = np.linalg.norm
    return as_traced(plain._implementation(x, ord, axis, keepdims))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": lambda condition, x, y: elementwise(scalar.where, condition, x, y),
    "select": _select,
    "isclose": _is_close,
    "allclose": lambda x, y, *rest, **options: np.all(_is_close(x, y, *rest, **options)),
    "array_equal": lambda x, y: np.all(np.equal(x, y)) if np.shape(x) == np.shape(y) else False,
    "count_nonzero": lambda x, axis=None, **options: np.sum(
        elementwise(truth, x), axis=axis, **options
    ),
    "sinc": lambda x: elementwise(sinc, x),
    "fix": lambda x, out=None: _write_out(elementwise(trunc, x), out),
    "nan_to_num": _nan_to_num,
    "clip": _clip,
    "round": _round,
    "around": _round,
    "nansum": lambda x, *args, **options: np.sum(
        elementwise(lambda y: scalar.where(isnan(y), 0, y), x), *args, **options
    ),
    "nanmax": lambda x, axis=None, **options: np.fmax.reduce(x, axis=axis, **options),
    "nanmin": lambda x, axis=None, **options: np.fmin.reduce(x, axis=axis, **options),
    "norm": _norm,
}
"""NumPy function name -> replacement, where NumPy's own code fails for traced scalars."""

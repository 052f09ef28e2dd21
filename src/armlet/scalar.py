"""Elementary functions of scalars of any type: floats, traced, symbolic or multiprecision.

Formulations use only `+ - * /` and these functions. The same code then computes with floats or
mpmath numbers, records a program from traced scalars, and derives formulas from SymPy symbols.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from armlet.libraries import namespace, package

Scalar = Any
Vector = Any
Matrix = Any
"""Aliases of `Any` for annotations: a scalar of any type, and arrays of such scalars."""

QUARTER = math.pi / 2
QUARTER_TURNS = ((1, 0), (0, 1), (-1, 0), (0, -1))


def _function(name: str) -> Callable[[Scalar], Scalar]:
    def apply(x: Scalar) -> Scalar:
        method = getattr(x, name, None)  # mpmath's `x.exp` is an int, not a method
        result = method() if callable(method) else getattr(namespace(x), name)(x)
        return int(result) if isinstance(result, np.integer) else result

    apply.__name__ = name
    apply.__doc__ = f"Return the {name} of a scalar, computed by its method or its library."
    return apply


sin = _function("sin")
cos = _function("cos")
sqrt = _function("sqrt")
sign = _function("sign")
exp = _function("exp")
log = _function("log")
tanh = _function("tanh")
floor = _function("floor")


def _leading(*args: Scalar) -> Scalar:
    """Return the operand whose library is used: the first non-number, else a NumPy number."""
    others = (x for x in args if not isinstance(x, int | float | np.number))
    numbers = (x for x in args if isinstance(x, np.number))
    return next(others, next(numbers, args[0]))


def _choose(leading: Scalar, condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """Return x where a condition is true and y elsewhere, computed by the library of `leading`."""
    module = namespace(leading)
    match package(leading):
        case "sympy":
            return module.Piecewise((x, condition), (y, True))
        case "casadi":
            return module.if_else(condition, x, y)
        case "mpmath" | "builtins":
            return x if condition else y
        case _ if isinstance(leading, np.number):  # 1 / 0.0 is infinite in NumPy only
            return np.float64(x if condition else y)
        case "torch":  # where() of two numbers would return the default dtype
            dtype = module.float64 if leading.dtype == module.bool else leading.dtype
            kind = {"dtype": dtype, "device": leading.device}
            return module.where(condition, *(module.as_tensor(a, **kind) for a in (x, y)))
        case _:
            return module.where(condition, x, y)


def where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """Return x where `condition` is true or a nonzero number, and y elsewhere."""
    leading = _leading(x, y, condition)
    if hasattr(leading, "record"):
        return leading.record("where", condition, x, y)
    if package(condition) != "sympy":
        condition = condition != 0
    elif not condition.is_Boolean:
        condition = namespace(condition).Ne(condition, 0)
    return _choose(leading, condition, x, y)


def less(x: Scalar, y: Scalar) -> Scalar:
    """Return 1 where x < y, and 0 elsewhere."""
    leading = _leading(x, y)
    if hasattr(leading, "record"):
        return leading.record("less", x, y)
    return _choose(leading, x < y, 1.0, 0.0)


def less_equal(x: Scalar, y: Scalar) -> Scalar:
    """Return 1 where x <= y, and 0 elsewhere."""
    leading = _leading(x, y)
    if hasattr(leading, "record"):
        return leading.record("less_equal", x, y)
    return _choose(leading, x <= y, 1.0, 0.0)


def equal(x: Scalar, y: Scalar) -> Scalar:
    """Return 1 where the numbers x and y are equal, else 0; `identical` compares expressions."""
    leading = _leading(x, y)
    if hasattr(leading, "record"):
        return leading.record("equal", x, y)
    same = namespace(leading).Eq(x, y) if package(leading) == "sympy" else x == y
    return _choose(leading, same, 1.0, 0.0)


def power(x: Scalar, y: Scalar) -> Scalar:
    """Return x to the power y; for floats, NaN if x is negative and y is not an integer."""
    leading = _leading(x, y)
    if hasattr(leading, "record"):
        return leading.record("pow", x, y)
    if package(leading) in ("builtins", "numpy"):
        return np.float_power(x, y)
    return x**y


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """Return the smaller of two scalars; NaN if either is NaN, except in CasADi."""
    leading = _leading(x, y)
    if hasattr(leading, "record"):
        return leading.record("min", x, y)
    match package(leading):
        case "sympy":
            return namespace(leading).Min(x, y)
        case "casadi":
            return namespace(leading).fmin(x, y)
        case _:
            return _choose(leading, (x < y) | (x != x), x, y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """Return the larger of two scalars; NaN if either is NaN, except in CasADi."""
    if hasattr(_leading(x, y), "record"):
        return _leading(x, y).record("max", x, y)
    return -minimum(-x, -y)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the point (x, y), from -π to π."""
    leading = _leading(y, x)
    if hasattr(leading, "record"):
        return leading.record("atan2", y, x)
    module = namespace(leading)
    if package(leading) == "torch":
        y, x = (module.as_tensor(a, dtype=leading.dtype, device=leading.device) for a in (y, x))
    return (module.atan2 if hasattr(module, "atan2") else module.arctan2)(y, x)


def quarter_turns(angle: Scalar) -> int | None:
    """Return the integer k if `angle` is exactly k quarter turns, or None."""
    if isinstance(angle, complex):
        return None
    try:
        k = round(float(angle) / QUARTER)
    except (TypeError, ValueError, OverflowError):  # not a number, or not finite
        return None
    return k if angle == k * QUARTER else None


def cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return the cosine and sine of a constant angle, exactly 0 or ±1 at quarter turns."""
    k = quarter_turns(angle)
    return (cos(angle), sin(angle)) if k is None else QUARTER_TURNS[k % 4]


def identical(x: Scalar, y: Scalar) -> bool:
    """Whether x and y are the same traced scalar, equal numbers or equal expressions."""
    if x is y:
        return True
    return not (hasattr(x, "record") or hasattr(y, "record")) and bool(x == y)


def is_zero(x: Scalar) -> bool:
    """Whether x is a plain number equal to zero; False for symbols and traced scalars."""
    return isinstance(x, int | float | np.number) and x == 0


class Symbol(str):
    """Name that stands for a robot constant; a program with symbols can be printed, but not run."""

    __slots__ = ()

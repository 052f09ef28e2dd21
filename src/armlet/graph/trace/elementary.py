"""NumPy's elementwise functions for any scalar, composed of operations that a graph records.

Values agree with NumPy up to rounding. Derivatives are also correct at 0: arcsinh, for example,
selects between two logarithms, since sign(x) log(…) would have the derivative 0 there. Near 0,
log1p, arcsinh and arctanh lose relative accuracy, since they take logarithms of numbers near 1.
x // y is the floor of the rounded quotient x / y: 1 // 0.1 is 10, but 9 in NumPy.
"""

import math
from collections.abc import Callable
from typing import Any

from armlet.scalar import (
    Scalar,
    atan2,
    cos,
    equal,
    exp,
    floor,
    less,
    less_equal,
    log,
    maximum,
    minimum,
    power,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)


def negation(x: Scalar) -> Scalar:
    """Return 1 where x is 0, and 0 elsewhere."""
    return where(x, 0, 1)


def truth(x: Scalar) -> Scalar:
    """Return 0 where x is 0, and 1 elsewhere."""
    return where(x, 1, 0)


def logical_and(x: Scalar, y: Scalar) -> Scalar:
    return where(x, truth(y), 0)


def logical_or(x: Scalar, y: Scalar) -> Scalar:
    return where(x, 1, truth(y))


def logical_xor(x: Scalar, y: Scalar) -> Scalar:
    return where(x, negation(y), truth(y))


def isnan(x: Scalar) -> Scalar:
    return negation(equal(x, x))


def isinf(x: Scalar) -> Scalar:
    """Return 1 where x is infinite, else 0: only infinities and 0 satisfy x + x = x."""
    return where(equal(x, 0), 0, equal(x + x, x))


def signbit(x: Scalar) -> Scalar:
    """Return 1 where x is negative or -0, else 0."""
    return where(equal(x, 0), less(1 / x, 0), less(x, 0))


def ceil(x: Scalar) -> Scalar:
    return -floor(-x)


def trunc(x: Scalar) -> Scalar:
    return where(less(x, 0), -floor(-x), floor(x))


def rint(x: Scalar) -> Scalar:
    """Round to the nearest integer; halves are rounded to the nearest even integer."""
    low = floor(x)
    odd = low - 2 * floor(low / 2)
    return low + where(equal(x - low, 0.5), odd, less(0.5, x - low))


def round_to(x: Scalar, digits: int) -> Scalar:
    """Round to `digits` decimals, by the same operations as `numpy.round`."""
    if digits == 0:
        return rint(x)
    scale = 10 ** abs(digits)
    return rint(x * scale) / scale if digits > 0 else rint(x / scale) * scale


def check_divisor(y: Scalar) -> None:
    """Raise if the divisor is the number 0, since derivatives and simplification would be wrong."""
    if isinstance(y, int | float) and y == 0:
        raise ZeroDivisionError("division by zero")


def floor_divide(x: Scalar, y: Scalar) -> Scalar:
    return floor(x / y)


def remainder(x: Scalar, y: Scalar) -> Scalar:
    """Return x - y floor(x / y), which has the sign of y."""
    check_divisor(y)
    return x - y * floor(x / y)


def fmod(x: Scalar, y: Scalar) -> Scalar:
    """Return x - y trunc(x / y), which has the sign of x."""
    check_divisor(y)
    return x - y * trunc(x / y)


def sinc(x: Scalar) -> Scalar:
    """Return sin(π x) / (π x); near 0, a power series keeps the derivatives accurate."""
    is_small = less(abs(x), 0.01)
    y = math.pi * x
    series = 1 - y * y / 6 * (1 - y * y / 20 * (1 - y * y / 42))
    y = where(is_small, 1, y)
    return where(is_small, series, sin(y) / y)


def cosh(x: Scalar) -> Scalar:
    return (exp(x) + exp(-x)) / 2


def arcsinh(x: Scalar) -> Scalar:
    root = sqrt(x * x + 1)
    return where(less(x, 0), -log(root - x), log(root + x))


def logaddexp(x: Scalar, y: Scalar) -> Scalar:
    is_less = less(x, y)  # maximum(x, y) and abs(x - y) would have other derivatives at x = y
    return where(is_less, y, x) + log(1 + exp(where(is_less, x - y, y - x)))


LN2, LN10, DEGREE = math.log(2), math.log(10), math.pi / 180
COMPARISONS = less, less_equal, equal, isnan, isinf, signbit
LOGIC = logical_and, logical_or, logical_xor, minimum, maximum
ROUNDING = floor, ceil, trunc, rint, floor_divide, remainder, fmod
ANALYSIS = sign, sqrt, sin, cos, cosh, tanh, arcsinh, exp, log, logaddexp
ELEMENTARY: dict[str, Callable[..., Any]] = {
    **{x.__name__: x for x in (*COMPARISONS, *LOGIC, *ROUNDING, *ANALYSIS)},
    "greater": lambda x, y: less(y, x),
    "greater_equal": lambda x, y: less_equal(y, x),
    "not_equal": lambda x, y: negation(equal(x, y)),
    "logical_not": negation,
    "bitwise_and": logical_and,
    "bitwise_or": logical_or,
    "bitwise_xor": logical_xor,
    "invert": negation,
    "isfinite": lambda x: negation(logical_or(isnan(x), isinf(x))),
    "copysign": lambda x, y: where(signbit(y), -abs(x), abs(x)),
    "heaviside": lambda x, at_zero: where(
        equal(x, 0), at_zero, where(less(x, 0), 0, where(equal(x, x), 1, x))
    ),
    "fmin": lambda x, y: where(isnan(x), y, where(isnan(y), x, minimum(x, y))),
    "fmax": lambda x, y: where(isnan(x), y, where(isnan(y), x, maximum(x, y))),
    "clip": lambda x, low, high: minimum(maximum(x, low), high),
    "divmod": lambda x, y: (floor_divide(x, y), remainder(x, y)),
    "modf": lambda x: (where(isinf(x), 0, x - trunc(x)), trunc(x)),
    "absolute": abs,
    "fabs": abs,
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "cbrt": lambda x: sign(x) * power(abs(x), 1 / 3),
    "hypot": lambda x, y: sqrt(x * x + y * y),
    "float_power": lambda x, y: x**y,
    "tan": lambda x: sin(x) / cos(x),
    "arcsin": lambda x: atan2(x, sqrt((1 - x) * (1 + x))),
    "arccos": lambda x: atan2(sqrt((1 - x) * (1 + x)), x),
    "arctan": lambda x: atan2(x, 1),
    "arctan2": atan2,
    "deg2rad": lambda x: x * DEGREE,
    "radians": lambda x: x * DEGREE,
    "rad2deg": lambda x: x / DEGREE,
    "degrees": lambda x: x / DEGREE,
    "sinh": lambda x: tanh(x) * cosh(x),  # accurate near 0
    "arccosh": lambda x: log(x + sqrt(x - 1) * sqrt(x + 1)),
    "arctanh": lambda x: log((1 + x) / (1 - x)) / 2,
    "exp2": lambda x: exp(x * LN2),
    "expm1": lambda x: tanh(x / 2) * (exp(x) + 1),  # accurate near 0
    "log2": lambda x: log(x) / LN2,
    "log10": lambda x: log(x) / LN10,
    "log1p": lambda x: log(1 + x),
    "logaddexp2": lambda x, y: logaddexp(x * LN2, y * LN2) / LN2,
}
"""NumPy function name -> function of scalars. Functions like numpy.add use Python operators."""

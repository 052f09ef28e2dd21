"""NumPy's elementwise functions composed of the operations of the graph, on any scalar.

Each agrees with NumPy but for rounding, and has the derivatives that the function has, at 0 too:
so arcsinh chooses between two logarithms rather than multiplying one by a sign. Rounding is
absolute in log1p, arcsinh and arctanh, which are logarithms of numbers near 1 at 0, and x // y is
the floor of the rounded x / y: 1 // 0.1 is 10, and 9 in NumPy.
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

# ------------------------------------------------------------------ comparisons and logic


def negation(x: Scalar) -> Scalar:
    """1 where x is 0, and 0 elsewhere."""
    return where(x, 0, 1)


def truth(x: Scalar) -> Scalar:
    """0 where x is 0, and 1 elsewhere."""
    return where(x, 1, 0)


def not_equal(x: Scalar, y: Scalar) -> Scalar:
    return negation(equal(x, y))


def logical_and(x: Scalar, y: Scalar) -> Scalar:
    return where(x, truth(y), 0)


def logical_or(x: Scalar, y: Scalar) -> Scalar:
    return where(x, 1, truth(y))


def logical_xor(x: Scalar, y: Scalar) -> Scalar:
    return where(x, negation(y), truth(y))


def isnan(x: Scalar) -> Scalar:
    return not_equal(x, x)


def isinf(x: Scalar) -> Scalar:
    """1 where x is infinite: twice x is x then, as it is of 0 alone else."""
    return where(equal(x, 0), 0, equal(x + x, x))


def isfinite(x: Scalar) -> Scalar:
    return negation(logical_or(isnan(x), isinf(x)))


def signbit(x: Scalar) -> Scalar:
    """1 where x is negative or -0."""
    return where(equal(x, 0), less(1 / x, 0), less(x, 0))


def copysign(x: Scalar, y: Scalar) -> Scalar:
    return where(signbit(y), -abs(x), abs(x))


def heaviside(x: Scalar, at_zero: Scalar) -> Scalar:
    return where(equal(x, 0), at_zero, where(less(x, 0), 0, where(equal(x, x), 1, x)))


def fmin(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two; where one is not a number, the other."""
    return where(isnan(x), y, where(isnan(y), x, minimum(x, y)))


def fmax(x: Scalar, y: Scalar) -> Scalar:
    return where(isnan(x), y, where(isnan(y), x, maximum(x, y)))


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return minimum(maximum(x, low), high)


# ------------------------------------------------------------------ whole numbers


def ceil(x: Scalar) -> Scalar:
    return -floor(-x)


def trunc(x: Scalar) -> Scalar:
    return where(less(x, 0), -floor(-x), floor(x))


def rint(x: Scalar) -> Scalar:
    """The nearest whole number; of two the even one."""
    low = floor(x)
    odd = low - 2 * floor(low / 2)
    return low + where(equal(x - low, 0.5), odd, less(0.5, x - low))


def round_to(x: Scalar, digits: int) -> Scalar:
    """The nearest number with so many decimal digits, as `numpy.round` computes it."""
    if digits == 0:
        return rint(x)
    scale = 10 ** abs(digits)
    return rint(x * scale) / scale if digits > 0 else rint(x / scale) * scale


def floor_divide(x: Scalar, y: Scalar) -> Scalar:
    return floor(x / y)


def remainder(x: Scalar, y: Scalar) -> Scalar:
    """x - y floor(x / y), with the sign of y."""
    check_divisor(y)
    return x - y * floor(x / y)


def fmod(x: Scalar, y: Scalar) -> Scalar:
    """x - y trunc(x / y), with the sign of x."""
    check_divisor(y)
    return x - y * trunc(x / y)


def check_divisor(y: Scalar) -> None:
    """Refuse the number 0 as a divisor, which has no derivative and whose products are all 0."""
    if isinstance(y, int | float) and y == 0:
        raise ZeroDivisionError("division by zero")


# ------------------------------------------------------------------ functions of one scalar


def tan(x: Scalar) -> Scalar:
    return sin(x) / cos(x)


def sinc(x: Scalar) -> Scalar:
    """sin(π x) / (π x), and 1 at 0."""
    return where(equal(x, 0), 1, sin(math.pi * x) / (math.pi * x))


def arcsin(x: Scalar) -> Scalar:
    return atan2(x, sqrt((1 - x) * (1 + x)))


def arccos(x: Scalar) -> Scalar:
    return atan2(sqrt((1 - x) * (1 + x)), x)


def arctan(x: Scalar) -> Scalar:
    return atan2(x, 1)


def cosh(x: Scalar) -> Scalar:
    return (exp(x) + exp(-x)) / 2


def sinh(x: Scalar) -> Scalar:
    """tanh x cosh x, which loses no digits at 0."""
    return tanh(x) * cosh(x)


def arcsinh(x: Scalar) -> Scalar:
    root = sqrt(x * x + 1)
    return where(less(x, 0), -log(root - x), log(root + x))


def arccosh(x: Scalar) -> Scalar:
    return log(x + sqrt(x - 1) * sqrt(x + 1))


def arctanh(x: Scalar) -> Scalar:
    return log((1 + x) / (1 - x)) / 2


def expm1(x: Scalar) -> Scalar:
    """exp x - 1 as tanh(x / 2) (exp x + 1), which loses no digits at 0."""
    return tanh(x / 2) * (exp(x) + 1)


def cbrt(x: Scalar) -> Scalar:
    return sign(x) * power(abs(x), 1 / 3)


def logaddexp(x: Scalar, y: Scalar) -> Scalar:
    return maximum(x, y) + log(1 + exp(-abs(x - y)))


def hypot(x: Scalar, y: Scalar) -> Scalar:
    return sqrt(x * x + y * y)


DEGREE = math.pi / 180

# fmt: off
ELEMENTARY: dict[str, Callable[..., Any]] = {
    "minimum": minimum, "maximum": maximum, "fmin": fmin, "fmax": fmax, "clip": clip,
    "less": less, "greater": lambda x, y: less(y, x), "equal": equal, "not_equal": not_equal,
    "less_equal": less_equal, "greater_equal": lambda x, y: less_equal(y, x),
    "logical_and": logical_and, "logical_or": logical_or, "logical_xor": logical_xor,
    "logical_not": negation,
    "bitwise_and": logical_and, "bitwise_or": logical_or, "bitwise_xor": logical_xor,
    "invert": negation,
    "isnan": isnan, "isinf": isinf, "isfinite": isfinite, "signbit": signbit,
    "copysign": copysign, "heaviside": heaviside, "sign": sign,
    "floor": floor, "ceil": ceil, "trunc": trunc, "rint": rint,
    "floor_divide": floor_divide, "remainder": remainder, "fmod": fmod,
    "divmod": lambda x, y: (floor_divide(x, y), remainder(x, y)),
    "modf": lambda x: (where(isinf(x), 0, x - trunc(x)), trunc(x)),
    "fabs": abs, "absolute": abs,
    "sin": sin, "cos": cos, "sqrt": sqrt, "exp": exp, "log": log, "tanh": tanh,
    "arctan2": atan2, "tan": tan, "arcsin": arcsin, "arccos": arccos, "arctan": arctan,
    "sinh": sinh, "cosh": cosh, "arcsinh": arcsinh, "arccosh": arccosh, "arctanh": arctanh,
    "exp2": lambda x: exp(x * math.log(2)), "expm1": expm1,
    "log2": lambda x: log(x) / math.log(2), "log10": lambda x: log(x) / math.log(10),
    "log1p": lambda x: log(1 + x), "logaddexp": logaddexp,
    "logaddexp2": lambda x, y: logaddexp(x * math.log(2), y * math.log(2)) / math.log(2),
    "cbrt": cbrt, "hypot": hypot, "float_power": lambda x, y: x**y,
    "deg2rad": lambda x: x * DEGREE, "radians": lambda x: x * DEGREE,
    "rad2deg": lambda x: x / DEGREE, "degrees": lambda x: x / DEGREE,
    "reciprocal": lambda x: 1 / x, "square": lambda x: x * x, "positive": lambda x: x,
    "conjugate": lambda x: x,
}
"""NumPy's elementwise functions by name that are not done by the operators of the elements."""
# fmt: on

"""Elementary functions of arrays of any kind, for controllers and other user functions.

The arguments are numbers, NumPy or JAX arrays, PyTorch tensors, or the traced arrays and scalars of
`armlet.function`. NumPy functions also accept traced arrays and scalars.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from armlet import algebra, scalar
from armlet.graph.graph import Traced
from armlet.graph.trace.arrays import as_traced, elementwise
from armlet.libraries import namespace

Array = Any
"""A number or an array of any library."""


def _lift(function: Callable[..., Any], about: str) -> Callable[..., Array]:
    def lifted(*args: Array) -> Array:
        return elementwise(function, *args)

    lifted.__name__ = lifted.__qualname__ = function.__name__
    lifted.__doc__ = about
    return lifted


sin = _lift(scalar.sin, "The sine.")
cos = _lift(scalar.cos, "The cosine.")
sqrt = _lift(scalar.sqrt, "The square root.")
sign = _lift(scalar.sign, "1 where x is positive, -1 where it is negative, 0 where it is zero.")
exp = _lift(scalar.exp, "The exponential function.")
log = _lift(scalar.log, "The natural logarithm.")
tanh = _lift(scalar.tanh, "The hyperbolic tangent.")
abs = _lift(abs, "The absolute value.")
minimum = _lift(scalar.minimum, "The smaller of two numbers, entry by entry.")
maximum = _lift(scalar.maximum, "The larger of two numbers, entry by entry.")
atan2 = _lift(scalar.atan2, "The angle of the point (x, y), from -π to π: atan2(y, x).")
where = _lift(scalar.where, "x where a condition is true, and y elsewhere: where(condition, x, y).")


def solve(H: Array, y: Array) -> Array:
    """Solve H x = y for x, with a symmetric positive definite H such as an inertia matrix.

    Parameters
    ----------
    H : array of shape (..., n, n)
        Leading axes, which traced arrays do not have, index several systems. If H or y is traced,
        only one entry of each symmetric pair in H is read.
    y : array of shape (..., n) or (..., n, k)
        One or k right-hand sides per system. y must have as many leading axes as H.

    Examples
    --------
    >>> import numpy as np
    >>> from armlet.math import solve
    >>> solve(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 3.0])).round(6).tolist()
    [1.0, 1.0]
    """
    if _is_traced(H) or _is_traced(y):
        return as_traced(algebra.solve(np.asarray(H, dtype=object), np.asarray(y, dtype=object)))
    linalg = namespace(H).linalg
    return linalg.solve(H, y[..., None])[..., 0] if y.ndim == H.ndim - 1 else linalg.solve(H, y)


def _is_traced(x: Array) -> bool:
    return isinstance(x, Traced) or (isinstance(x, np.ndarray) and x.dtype == object)

"""Numbers that a user gives to a simulation or a roll-out, checked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError, quoted

Array = NDArray[np.float64]
NUMERIC = "biufO"
"""The kinds of NumPy dtypes that are converted: booleans, numbers, and objects that are numbers."""


def numbers(name: str, x: Any) -> Array:
    """An array of real numbers; `DataError` if it is none."""
    try:
        array = np.asarray(x)
        if array.dtype.kind in NUMERIC:
            return array.astype(float)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError is PyTorch's
        pass
    raise DataError(f"{name} is {quoted(x)}: expected real numbers")


def positive(name: str, x: Any, expected: str) -> float:
    """A finite number above 0; `DataError` if it is none."""
    array = numbers(name, x)
    if array.shape or not np.isfinite(array) or array <= 0:
        raise DataError(f"{name} is {quoted(x)}: expected {expected}, more than 0")
    return float(array)


def check_steps(dt: float, steps: int, every: int) -> None:
    """Refuse a length of steps, or a number of them, that is none."""
    positive("dt", dt, "a length of time in s")
    for name, count in (("steps", steps), ("every", every)):
        if not isinstance(count, int | np.integer) or count < 1:
            raise DataError(f"{name} is {quoted(count)}: expected a whole number, 1 or more")

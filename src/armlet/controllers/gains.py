"""Gains and weights as they are given: checked, and brought to one shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.errors import DataError, quoted

Array = NDArray[np.float64]


def gains(name: str, values: ArrayLike, *sizes: int) -> Array:
    """One number for each of some entries, given as such or as one number for the first size."""
    array = _numbers(name, values)
    if array.shape not in [(), *((size,) for size in sizes)]:
        expected = " or ".join(map(str, sizes))
        raise DataError(f"{name} has shape {array.shape}: expected one number, or {expected}")
    if (array < 0).any():
        raise DataError(f"{name} is {quoted(array.tolist())}: expected no negative number")
    return array if array.shape else np.full(sizes[0], array)


def weights(name: str, values: ArrayLike, size: int, *, positive: bool = False) -> Array:
    """A symmetric matrix without negative eigenvalues, given as such, as its diagonal or a number.

    With `positive`, zero eigenvalues are refused too.
    """
    array = _numbers(name, values)
    if array.shape not in [(), (size,), (size, size)]:
        raise DataError(
            f"{name} has shape {array.shape}: expected one number, {size}, or a matrix of shape "
            f"{(size, size)}"
        )
    if array.ndim < 2:
        array = np.diag(np.broadcast_to(array, (size,)))
    least, largest = np.linalg.eigvalsh(array)[[0, -1]]
    rounding = 1e-12 * abs(largest)
    enough = least > rounding if positive else least >= -rounding
    if not enough or np.abs(array - array.T).max() > rounding:
        kind = "positive definite" if positive else "positive semidefinite"
        raise DataError(f"{name} is not a symmetric, {kind} matrix: expected one")
    return array


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if not np.isfinite(array).all():
        raise DataError(f"{name} is {quoted(values)}: expected finite numbers")
    return array

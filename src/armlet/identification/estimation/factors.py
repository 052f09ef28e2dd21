"""What least squares needs of any number of rows: a triangular factor for each joint."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Factors:
    """The rows of W x = τ of each joint as a triangular factor of (W | τ).

    Rows that are added change the factors and not their size, in whatever order and portions they
    come.

    Attributes
    ----------
    R : array of shape (n, p + 1, p + 1)
        For each joint RᵀR = (W | τ)ᵀ(W | τ).
    rows : array of shape (n,)
        How many rows there were.
    """

    R: Array
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, W: Array, tau: Array) -> "Factors":
        """The factors of a regressor of shape (k, n, p) and torques of shape (k, n).

        Rows of zeros, which say nothing, are not counted.
        """
        both = np.concatenate([W, tau[..., None]], axis=-1)
        R = np.stack([_triangle(both[:, i]) for i in range(both.shape[1])])
        return cls(R, both.any(axis=-1).sum(axis=0))

    @classmethod
    def empty(cls, n: int, p: int) -> "Factors":
        """Those of no rows."""
        return cls(np.zeros((n, p + 1, p + 1)), np.zeros(n, dtype=np.int64))

    def __add__(self, other: "Factors") -> "Factors":
        stacked = np.concatenate([self.R, other.R], axis=1)
        return Factors(np.stack([_triangle(rows) for rows in stacked]), self.rows + other.rows)

    @property
    def count(self) -> int:
        """How many rows all joints have together."""
        return int(self.rows.sum())

    def together(self, weights: Array | None = None) -> Array:
        """One factor for the rows of all joints, each times the weight of its joint."""
        n, size, _ = self.R.shape
        scaled = self.R if weights is None else self.R * np.reshape(weights, (n, 1, 1))
        return _triangle(scaled.reshape(n * size, size))

    def squares(self, x: Array) -> Array:
        """The sums of squared residuals τ - W x of each joint."""
        found: Array = ((self.R @ np.append(x, -1.0)) ** 2).sum(axis=-1)
        return found

    @property
    def torques(self) -> Array:
        """The sums of squared torques of each joint."""
        found: Array = (self.R[:, :, -1] ** 2).sum(axis=-1)
        return found


def merged(parts: Iterable[Factors]) -> Factors:
    """The factors of all rows."""
    return reduce(Factors.__add__, parts)


def _triangle(rows: Array) -> Array:
    """The square triangular factor of some rows, with a diagonal that is not negative."""
    size = rows.shape[1]
    if len(rows) < size:
        rows = np.concatenate([rows, np.zeros((size - len(rows), size))])
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    found: Array = R * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
    return found

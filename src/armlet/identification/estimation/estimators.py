"""Least squares of several kinds, on the triangular factors of the rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armlet.identification.estimation.factors import Array, Factors, merged
from armlet.minimal import rank as column_rank

Rows = Callable[[], Iterable[tuple[Array, Array]]]
"""All rows, portion by portion: regressors (k, n, p) and torques (k, n)."""
SMALL = 1e-10
"""Below this share of the largest, a singular value of the columns, each of length one, is none."""
FREE = 10
"""Rows of a joint beyond the parameters that act on it, at least, if its noise is to be found."""
ROUNDS = 50
HUBER = 1.345
"""The residual, in deviations, above which weights fall: 95 % efficient where all is normal."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters with their covariance.

    Attributes
    ----------
    x : array of shape (p,)
    covariance : array of shape (p, p)
    noise : array of shape (n,)
        The deviation of the torques of each joint from the model.
    weights : array of shape (n,)
        What the rows of each joint were multiplied by.
    rank : int
        How many combinations of the parameters the rows determine.
    """

    x: Array
    covariance: Array
    noise: Array
    weights: Array
    rank: int

    @property
    def deviations(self) -> Array:
        """The standard deviation of each parameter."""
        found: Array = np.sqrt(np.maximum(np.diag(self.covariance), 0))
        return found


def solved(R: Array) -> tuple[Array, Array, int]:
    """The x of least squares, the inverse of WᵀW, and the rank, by a triangular factor of (W | τ).

    Columns are scaled to length one; what the rows do not determine is left at zero.
    """
    W, y = R[:, :-1], R[:, -1]
    scale = np.linalg.norm(W, axis=0)
    scale[scale == 0] = 1.0
    U, s, Vt = np.linalg.svd(W / scale, full_matrices=False)
    rank = int((s > SMALL * max(s[0], np.finfo(float).tiny)).sum())
    root = (Vt[:rank].T / s[:rank]) / scale[:, None]
    return root @ (U[:, :rank].T @ y), root @ root.T, rank


def ordinary(factors: Factors) -> Estimate:
    """Least squares with the same weight for all rows."""
    return _weighted(factors, np.ones(len(factors.R)), common=True)


def joints_of_unknown_noise(factors: Factors) -> list[int]:
    """The joints with fewer than FREE rows beyond the parameters that act on them.

    Parameters can be chosen such that these rows have hardly any residual. Weighted by that, they
    would count alone.
    """
    acting = np.array([column_rank(R[:, :-1]) for R in factors.R])
    return np.flatnonzero((acting > 0) & (factors.rows < acting + FREE)).tolist()


def weighted(factors: Factors) -> Estimate:
    """Least squares in which each joint counts by its own noise, found from its residuals.

    All joints count alike where the noise of one cannot be found from its rows.
    """
    if joints_of_unknown_noise(factors):
        return ordinary(factors)
    n = len(factors.R)
    found = _weighted(factors, np.ones(n))
    for _ in range(ROUNDS):
        noise = np.where(found.noise > 0, found.noise, found.noise.max())
        last, found = found, _weighted(factors, 1 / noise)
        if np.allclose(found.noise, last.noise, rtol=1e-10):
            break
    return found


def _weighted(factors: Factors, weights: Array, common: bool = False) -> Estimate:
    x, inverse, rank = solved(factors.together(weights))
    noise = noise_of(factors, x, rank)
    if common:  # one noise for all joints
        noise = np.full_like(noise, np.sqrt(factors.squares(x).sum() / _free(factors, rank)))
        return Estimate(x, inverse * noise[0] ** 2, noise, weights, rank)
    scale = ((weights * noise) ** 2).mean()
    return Estimate(x, inverse * scale, noise, weights, rank)


def noise_of(factors: Factors, x: Array, rank: int) -> Array:
    """The deviation of each joint's residuals, parameters counted evenly over the joints."""
    squares, torques = factors.squares(x), factors.torques
    free = np.maximum(factors.rows - rank / len(factors.R), 1)
    least = 1e-12 * np.sqrt(torques / np.maximum(factors.rows, 1)) + np.finfo(float).tiny
    found: Array = np.maximum(np.sqrt(squares / free), least)
    return found


def _free(factors: Factors, rank: int) -> int:
    return max(factors.count - rank, 1)


def robust(factors: Factors, rows: Rows) -> Estimate:
    """Weighted least squares in which large residuals count less (Huber), by repeated weighting."""
    found = weighted(factors)
    if joints_of_unknown_noise(factors):
        return found
    for _ in range(ROUNDS):
        last = found
        noise = _median_noise(rows, last.x)
        parts = (_damped(W, tau, last.x, noise) for W, tau in rows())
        found = _weighted(merged(parts), 1 / noise)
        if np.allclose(found.x, last.x, rtol=1e-8, atol=1e-10 * np.abs(last.x).max()):
            break
    return found


def _median_noise(rows: Rows, x: Array) -> Array:
    """The deviation of each joint's residuals by their median, which outliers do not move."""
    parts = [
        np.where(W.any(axis=-1) | (tau != 0), np.abs(tau - W @ x), np.nan) for W, tau in rows()
    ]
    sizes = np.concatenate(parts)
    sizes[0, np.isnan(sizes).all(axis=0)] = 1.0  # a joint without rows
    found: Array = np.maximum(np.nanmedian(sizes, axis=0) / 0.6745, np.finfo(float).tiny)
    return found


def _damped(W: Array, tau: Array, x: Array, noise: Array) -> Factors:
    size = np.abs(tau - W @ x) / noise
    weights: NDArray[np.float64] = np.sqrt(np.minimum(1.0, HUBER / np.maximum(size, HUBER)))
    return Factors.of(W * weights[..., None], tau * weights)


def essential(R: Array, x: Array, rows: float, level: float = 0.05) -> list[int]:
    """The parameters that are left when those are dropped that do not improve the fit.

    One after the other, the parameter with the largest relative deviation is left out, as long as
    an F-test at this level does not find the fit without it worse. `rows` are those that are
    independent.
    """
    from scipy.special import fdtri  # which takes as long to load as all of armlet

    kept = [*range(len(x))]
    whole = _rest(R, kept)
    free = rows - len(x)
    while len(kept) > 1:
        values, inverse, _ = solved(R[:, [*kept, -1]])
        sizes = np.sqrt(np.maximum(np.diag(inverse), 0)) / np.maximum(np.abs(values), 1e-300)
        fewer = [k for i, k in enumerate(kept) if i != int(np.argmax(sizes))]
        dropped = len(x) - len(fewer)
        statistic = (_rest(R, fewer) - whole) / dropped / (whole / free)
        if statistic > fdtri(dropped, free, 1 - level):
            break
        kept = fewer
    return kept


def _rest(R: Array, kept: list[int]) -> float:
    """The sum of squared residuals with some of the parameters."""
    x, _, _ = solved(R[:, [*kept, -1]])
    return float(((R[:, kept] @ x - R[:, -1]) ** 2).sum())

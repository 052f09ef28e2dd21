"""Ordinary, weighted and robust least squares, from one triangular factor per joint.

The factor of a joint is that of a QR decomposition of (W | τ): the joint's rows of W, then its τ.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError, listing, quote
from armlet.minimal.rank import rank as column_rank

Array = NDArray[np.float64]
Rows = tuple[Array, Array]
"""Regressors (k, n, p) and torques (k, n)."""
SMALL = 1e-10
"""Singular values below this share of the largest are treated as zero; columns have unit norm."""
FREE = 10
"""A joint's noise is estimated if it has at least this many more rows than parameters."""
ROUNDS = 50
HUBER = 1.345
"""Residuals over this many standard deviations weigh less; efficiency is 95 % for normal noise."""
VAGUE = 0.2
"""The largest accepted standard deviation of a gain, relative to the gain."""


@dataclass(frozen=True, eq=False)
class Factors:
    """The equations W x = τ of n joints, reduced to one triangular factor of (W | τ) per joint."""

    R: Array
    """The factors, (n, p + 1, p + 1), with RᵀR = (W | τ)ᵀ(W | τ) for each joint."""
    rows: NDArray[np.int64]
    """The number of rows of each joint."""

    @classmethod
    def of(cls, W: Array, tau: Array) -> "Factors":
        """Return the factors of W (k, n, p) and tau (k, n); `rows` excludes rows of zeros."""
        both = np.concatenate([W, tau[..., None]], axis=-1)
        R = np.stack([_triangle(both[:, i]) for i in range(both.shape[1])])
        return cls(R, both.any(axis=-1).sum(axis=0))

    @classmethod
    def sum(cls, terms: "Iterable[Factors]") -> "Factors":
        """Return the factors of the stacked rows of all `terms`."""
        return reduce(cls.__add__, terms)

    def __add__(self, other: "Factors") -> "Factors":
        stacked = np.concatenate([self.R, other.R], axis=1)
        return Factors(np.stack([_triangle(rows) for rows in stacked]), self.rows + other.rows)

    @property
    def count(self) -> int:
        """The total number of rows of all joints."""
        return int(self.rows.sum())

    def together(self, weights: Array | None = None) -> Array:
        """Return one triangular factor of all rows, each row multiplied by its joint's weight."""
        n, size, _ = self.R.shape
        scaled = self.R if weights is None else self.R * np.reshape(weights, (n, 1, 1))
        return _triangle(scaled.reshape(n * size, size))

    @property
    def torques(self) -> Array:
        """The sum of squared torques of each joint."""
        return np.asarray((self.R[:, :, -1] ** 2).sum(axis=-1))


def _triangle(rows: Array) -> Array:
    """Return the square triangular factor of `rows`, with a nonnegative diagonal."""
    size = rows.shape[1]
    if len(rows) < size:
        rows = np.concatenate([rows, np.zeros((size - len(rows), size))])
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    return np.asarray(R * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None])


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated parameters x, with covariance, noise and rank."""

    x: Array
    covariance: Array
    noise: Array
    """The standard deviation of each joint's residual torques, (n,)."""
    rank: int
    """The number of parameter combinations that the rows determine."""

    @property
    def deviations(self) -> Array:
        """The standard deviation of each parameter."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0)))


def solve(R: Array) -> tuple[Array, Array, int]:
    """Solve W x = τ by least squares; return x, the (generalised) inverse of WᵀW, and the rank.

    R is a triangular factor of (W | τ). If W is rank-deficient, x is the solution of least norm
    after the columns of W are scaled to unit length.
    """
    W, y = R[:, :-1], R[:, -1]
    scale = np.linalg.norm(W, axis=0)
    scale[scale == 0] = 1.0
    U, s, Vt = np.linalg.svd(W / scale, full_matrices=False)
    rank = int((s > SMALL * max(s[0], np.finfo(float).tiny)).sum())
    root = (Vt[:rank].T / s[:rank]) / scale[:, None]
    return root @ (U[:, :rank].T @ y), root @ root.T, rank


def residual_squares(R: Array, x: Array) -> Any:
    """Return the sum of squared residuals τ - W x, for one factor of (W | τ) or each of a stack."""
    return ((R @ np.append(x, -1.0)) ** 2).sum(axis=-1)


def residual_noise(factors: Factors, x: Array, rank: int) -> Array:
    """Return the standard deviation of each joint's residuals τ - W x.

    With n joints, each joint has its number of rows minus `rank`/n degrees of freedom.
    """
    free = np.maximum(factors.rows - rank / len(factors.R), 1)
    least = 1e-12 * np.sqrt(factors.torques / np.maximum(factors.rows, 1)) + np.finfo(float).tiny
    noise = np.maximum(np.sqrt(residual_squares(factors.R, x) / free), least)
    return np.asarray(np.where(factors.rows > 0, noise, noise.max()))


def ordinary(factors: Factors) -> Estimate:
    """Return the estimate with equal weights for all rows, and one noise level for all joints."""
    x, inverse, rank = solve(factors.together())
    variance = residual_squares(factors.R, x).sum() / max(factors.count - rank, 1)
    noise = np.full(len(factors.R), np.sqrt(variance))
    return Estimate(x, inverse * variance, noise, rank)


def joints_of_unknown_noise(factors: Factors) -> list[int]:
    """Return the indices of the joints with too few rows to estimate their noise (see `FREE`).

    The parameters can fit few rows almost exactly. With weights from such small residuals, these
    rows would dominate.
    """
    acting = np.array([column_rank(R[:, :-1]) for R in factors.R])
    return np.flatnonzero((acting > 0) & (factors.rows < acting + FREE)).tolist()


def weighted(factors: Factors) -> Estimate:
    """Return the estimate with weight 1/noise for each joint; residuals determine the noise."""
    if joints_of_unknown_noise(factors):
        return ordinary(factors)
    estimate = _with_weights(factors, np.ones(len(factors.R)))
    for _ in range(ROUNDS):
        noise = np.where(estimate.noise > 0, estimate.noise, estimate.noise.max())
        last, estimate = estimate, _with_weights(factors, 1 / noise)
        if np.allclose(estimate.noise, last.noise, rtol=1e-10):
            break
    return estimate


def _with_weights(factors: Factors, weights: Array) -> Estimate:
    x, inverse, rank = solve(factors.together(weights))
    noise = residual_noise(factors, x, rank)
    return Estimate(x, inverse * ((weights * noise) ** 2).mean(), noise, rank)


def robust(factors: Factors, rows: Sequence[Rows]) -> Estimate:
    """Return a Huber estimate by iterative reweighting: large residuals get less weight."""
    estimate = weighted(factors)
    if joints_of_unknown_noise(factors):
        return estimate
    for _ in range(ROUNDS):
        last = estimate
        noise = _median_noise(rows, last.x)
        terms = []
        for W, tau in rows:
            size = np.abs(tau - W @ last.x) / noise
            weights = np.sqrt(np.minimum(1.0, HUBER / np.maximum(size, HUBER)))
            terms.append(Factors.of(W * weights[..., None], tau * weights))
        estimate = _with_weights(Factors.sum(terms), 1 / noise)
        if np.allclose(estimate.x, last.x, rtol=1e-8, atol=1e-10 * np.abs(last.x).max()):
            break
    return estimate


def _median_noise(rows: Sequence[Rows], x: Array) -> Array:
    """Return each joint's noise from its median absolute residual, which outliers hardly change."""
    sizes = np.concatenate(
        [np.where(W.any(axis=-1) | (tau != 0), np.abs(tau - W @ x), np.nan) for W, tau in rows]
    )
    sizes[0, np.isnan(sizes).all(axis=0)] = 1.0  # a joint without rows
    return np.asarray(np.maximum(np.nanmedian(sizes, axis=0) / 0.6745, np.finfo(float).tiny))


def essential(R: Array, x: Array, rows: float, level: float = 0.05) -> list[int]:
    """Return the indices of the parameters without which the fit is significantly worse.

    The parameter with the largest relative standard deviation is removed, again and again, until an
    F-test at `level` finds the fit worse. R is a factor of (W | τ) with `rows` independent rows.
    """
    from scipy.special import fdtri  # which takes as long to load as all of armlet

    remaining = [*range(len(x))]
    values, inverse, _ = solve(R)
    whole, free = residual_squares(R, values), rows - len(x)
    while len(remaining) > 1:
        sizes = np.sqrt(np.maximum(np.diag(inverse), 0)) / np.maximum(np.abs(values), 1e-300)
        fewer = [k for i, k in enumerate(remaining) if i != int(np.argmax(sizes))]
        columns = R[:, [*fewer, -1]]
        values, inverse, _ = solve(columns)
        dropped = len(x) - len(fewer)
        worse = residual_squares(columns, values) - whole
        if worse / dropped / (whole / free) > fdtri(dropped, free, 1 - level):
            break
        remaining = fewer
    return remaining


# ------------------------------------------------------------------ gains of drives


class Gains(NamedTuple):
    """The gain of each joint (torque per logged unit, such as Nm/A) and its standard deviation."""

    values: Array
    deviations: Array


def calibrate(factors: Factors, joints: Sequence[str], repeats: float) -> tuple[Estimate, Gains]:
    """Estimate parameters φ and drive gains 1/k from currents i and known torques y.

    Each joint's currents are i = k (Y φ + y) plus noise, with the regressor Y; `factors` are those
    of (Y | y | i). Gauss-Newton steps in φ and k minimise the noise-weighted residuals, starting
    from the biased solution of Y φ - i/k = -y. Without known torques, such as those of a payload,
    φ and k would be determined only up to a factor (Gautier and Briot 2014). `repeats` is the ratio
    of the number of rows to the number of independent rows.
    """
    n, size, _ = factors.R.shape
    p = size - 2
    W, known_torques, currents = factors.R[:, :, :p], factors.R[:, :, p], factors.R[:, :, -1]
    if not known_torques.any():
        raise DataError(
            "no run has a known payload that loads a joint, without which gains cannot be "
            "identified: expected log.with_payload(mass, com, inertia) among the logs"
        )
    x, k = _start(factors, joints, p)
    noise = np.ones(n)
    for _ in range(ROUNDS):
        torques = W @ x + known_torques
        J = np.concatenate([k[:, None, None] * W, _of_each_joint(torques)], axis=-1)
        residuals = currents - k[:, None] * torques
        both = np.concatenate([J, residuals[..., None]], axis=-1) * (1 / noise)[:, None, None]
        both = both.reshape(n * size, -1)
        step, inverse, rank = solve(both)
        x, k, last = x + step[:p], k + step[p:], k
        noise = residual_noise(in_torques(factors, 1 / k), x, rank) * np.abs(k)
        if np.allclose(k, last, rtol=1e-9):
            break
    else:
        raise DataError(
            f"gains do not converge in {ROUNDS} rounds: expected more motion with the payload, or "
            "a heavier one"
        )
    J = both[:, :-1]
    _, s, Vt = np.linalg.svd(J / np.maximum(np.linalg.norm(J, axis=0), np.finfo(float).tiny))
    free = np.linalg.norm(Vt[s <= SMALL * s[0], p:], axis=0) > 1e-6
    deviations = np.sqrt(repeats * np.diag(inverse)[p:])
    _check_gains(joints, free | (deviations > VAGUE * np.abs(k)))
    estimate = Estimate(x, inverse[:p, :p], noise / np.abs(k), rank - n)
    return estimate, Gains(1 / k, deviations / k**2)


def in_torques(factors: Factors, gains: Array) -> Factors:
    """Return the factors of (Y | `gains` i - y), for `factors` of (Y | y | i) as in `calibrate`."""
    last = gains[:, None] * factors.R[:, :, -1] - factors.R[:, :, -2]
    R = Factors.of(factors.R[:, :, :-2].transpose(1, 0, 2), last.T).R
    return Factors(R, factors.rows)


def _start(factors: Factors, joints: Sequence[str], p: int) -> tuple[Array, Array]:
    """Return initial φ and k for `calibrate`: the least-squares solution of Y φ - i/k = -y."""
    n, size, _ = factors.R.shape
    unit = np.maximum(np.sqrt(factors.torques), np.finfo(float).tiny)
    currents = _of_each_joint(-factors.R[:, :, -1] / unit[:, None])
    rows = np.concatenate([factors.R[:, :, :p], currents, -factors.R[:, :, p : p + 1]], axis=-1)
    x, _, _ = solve(rows.reshape(n * size, -1))
    _check_gains(joints, np.abs(x[p:]) < SMALL)
    return x[:p], unit / x[p:]


def _of_each_joint(values: Array) -> Array:
    """Expand values (n, m) to (n, m, n): row i of `values` is at [i, :, i], all else is zero."""
    return np.asarray(values[:, :, None] * np.eye(len(values))[:, None])


def _check_gains(joints: Sequence[str], undetermined: NDArray[np.bool_]) -> None:
    names = [quote(joint) for joint, x in zip(joints, undetermined, strict=True) if x]
    if names:
        raise DataError(
            f"the gain of joint {listing(names)} is not determined to {100 * VAGUE:.0f} %: its "
            "current hardly depends on the payload. Expected a heavier one, further from the axis, "
            "or faster motion where gravity does not load the joint"
        )

"""Instrumental variables: parameters that noise in the measured motion does not bias.

Noise in positions is noise in the regressor W, to which least squares gives smaller parameters. An
instrument Z is a regressor of nearly the same motion without that noise, and x of Zᵀ(τ - W x) = 0
is free of the bias (Janot, Vandanjon and Gautier 2014: IDIM-IV). With a triangular factor of
(Z | W | τ) this is least squares on the part of W and τ within the columns of Z, which does not
square the condition number.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.progress import advancing
from armlet.api import Robot
from armlet.errors import DataError, DataWarning
from armlet.identification.estimation.estimators import (
    ROUNDS,
    SMALL,
    Estimate,
    noise_of,
    solved,
    weighted,
)
from armlet.identification.estimation.factors import Array, Factors, merged
from armlet.identification.estimation.torque_model import TorqueModel
from armlet.identification.preprocessing.filters import by_filter
from armlet.identification.preprocessing.samples import Samples

Instrument = Callable[[Robot, Samples], ArrayLike]
"""The positions at the times `run.t`, (k, n), of an arm with the parameters estimated so far."""
MOTION = 0.3
"""The cut-off of the motion that the default instrument follows, in bandwidths: three times the
frequency below which the fastest joint has 95 % of its power. Noise of accelerations grows with the
fifth power of the cut-off, so that a four-hundredth of it remains."""
WEAK = 0.1
"""Below this correlation an instrument is warned of: deviations are large, and not quite true."""
CONVERGED = 0.01
"""The largest change of a parameter in the last round, in deviations."""


class Instrumented(NamedTuple):
    """How instrumental variables were found."""

    rounds: int
    """How many rounds there were."""
    correlation: float
    """The least correlation of a combination of regressors with the instrument, 0 to 1."""
    statistic: float
    """The F of Durbin, Wu and Hausman: large if least squares differs by more than by chance."""
    p: float
    """The probability of so large a statistic if noise in the motion did not matter."""

    @property
    def note(self) -> str:
        """All of it in a sentence."""
        differs = "differ from" if self.p < 0.05 else "do not differ from"
        return (
            f"instrumental variables, found in {self.rounds} rounds, {differs} least squares "
            f"(Durbin, Wu and Hausman: F = {self.statistic:.3g}, p = {self.p:.2g}); the least "
            f"correlation with the instrument is {self.correlation:.3g}"
        )


def instrumental(
    model: TorqueModel,
    factors: Factors,
    runs: Sequence[Samples],
    rows: Callable[[Samples], tuple[Array, Array]],
    instrument: Instrument | None,
    repeats: float,
) -> tuple[Estimate, Instrumented, Array]:
    """The estimate by instrumental variables, each joint weighted by its noise.

    The last result is (W | τ) within the columns of Z, in units of the noise, of which the estimate
    is the least squares.

    Parameters
    ----------
    model : TorqueModel
    factors : Factors
        Those of all rows.
    runs : sequence of Samples
        The runs.
    rows : function
        The decimated regressor and torques of a run.
    instrument : function, optional
        The motion of a run by the arm with the parameters estimated so far; by default the
        measured one below `MOTION` bandwidths, which is that of an arm that follows it by computed
        torques, whatever its parameters.
    repeats : float
        How many rows say the same.
    """
    measured = [rows(run) for run in runs]
    found = weighted(factors)
    both: Factors | None = None
    with advancing("instrumental variables") as advance:
        for k in range(1, ROUNDS + 1):
            advance(k / ROUNDS)
            if both is None or instrument is not None:
                both = merged(_with_instrument(model, found.x, runs, measured, instrument))
            last, found = found, _solved(both, factors, found.noise)
            if (np.abs(found.x - last.x) <= CONVERGED * found.deviations).all():
                R, basis = _projection(both, 1 / found.noise)
                how = _tested(R, basis, found.x, k, both.count, repeats)
                if how.correlation < WEAK:
                    warnings.warn(
                        "the instrument is hardly correlated with the motion, by "
                        f"{how.correlation:.2g} in a combination of parameters: expected one that "
                        "moves as the arm does, at the same times",
                        DataWarning,
                        stacklevel=3,
                    )
                return found, how, basis.T @ R
    worst = int(np.argmax(np.abs(found.x - last.x) / np.maximum(found.deviations, 1e-300)))
    raise DataError(
        f"instrumental variables do not converge in {ROUNDS} rounds: {model.names[worst]} still "
        f"changes from {last.x[worst]:.4g} to {found.x[worst]:.4g}. Expected an instrument closer "
        "to the measured motion, or fewer parameters"
    )


def _with_instrument(
    model: TorqueModel,
    x: Array,
    runs: Sequence[Samples],
    measured: Sequence[tuple[Array, Array]],
    instrument: Instrument | None,
) -> Iterator[Factors]:
    """The factors of (Z | W | τ) of each run."""
    arm = None if instrument is None else model.robot(x)
    for run, (W, tau) in zip(runs, measured, strict=True):
        q, cutoff = run.q, run.choices["cutoff"]
        if instrument is None or arm is None:
            cutoff = MOTION * (run.bandwidth or cutoff)
        else:
            q = _checked(instrument(arm, run), run)
        Z = run.decimated(model.regressor(*by_filter(q, cutoff, run.rate, run.order)))
        Z = Z * run.moving[run.kept][..., None]  # as in W and τ
        yield Factors.of(np.concatenate([Z, W], axis=-1), tau)


def _checked(positions: ArrayLike, run: Samples) -> Array:
    """The positions of an instrument, if they are those of a run."""
    q = np.asarray(positions, dtype=float)
    if q.shape != run.q.shape:
        raise DataError(
            f"the instrument of {run.name} has shape {q.shape}: expected {run.q.shape}, the "
            "positions of all joints at the times run.t"
        )
    lost = np.flatnonzero(~np.isfinite(q).all(axis=1))
    if len(lost):
        raise DataError(
            f"the instrument of {run.name} is not finite at {run.t[lost[0]]:.4g} s: the simulated "
            "arm does not follow its motion. Expected a log that determines all parameters, or "
            "fewer parameters"
        )
    return q


def _projection(both: Factors, weights: Array) -> tuple[Array, Array]:
    """(W | τ) of all joints, and a basis of the columns of Z, both in the rows of one factor."""
    R = both.together(weights)
    p = (R.shape[1] - 1) // 2
    return R[:, p:], _basis(R[:, :p])


def _basis(A: Array) -> Array:
    """An orthonormal basis of some columns."""
    U, s, _ = np.linalg.svd(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300), full_matrices=False)
    found: Array = U[:, s > SMALL * s[0]]
    return found


def _solved(both: Factors, factors: Factors, noise: Array) -> Estimate:
    """One round: parameters with the weights of a given noise, and the noise they leave."""
    R, basis = _projection(both, 1 / noise)
    x, inverse, rank = solved(basis.T @ R)
    _, _, whole = solved(R)
    if rank < whole:
        raise DataError(
            f"the instrument determines {rank} of the {whole} combinations of parameters that the "
            "measured motion does: expected one that moves as the arm does"
        )
    left = noise_of(factors, x, rank)
    return Estimate(x, inverse * ((left / noise) ** 2).mean(), left, 1 / noise, rank)


def _tested(
    R: Array, basis: Array, x: Array, rounds: int, rows: int, repeats: float
) -> Instrumented:
    """Whether least squares differs: the part of W outside of Z would have other parameters."""
    from scipy.stats import f as fisher  # which takes as long to load as all of armlet

    inside = basis.T @ R
    outside = R - basis @ inside
    together, _, rank = solved(R)
    apart, _, freedom = solved(outside)
    least = _squares(R, together)
    less = _squares(inside, x) + _squares(outside, apart)
    free = max(rows / repeats - rank - freedom, 1.0)
    statistic = max(least - less, 0.0) / (freedom * repeats) / (less / rows)
    correlation = np.linalg.svd(basis.T @ _basis(R[:, :-1]), compute_uv=False)[-1]
    p = float(fisher.sf(statistic, freedom, free))
    return Instrumented(rounds, float(min(correlation, 1.0)), float(statistic), p)


def _squares(R: Array, x: Array) -> float:
    return float(((R @ np.append(x, -1.0)) ** 2).sum())

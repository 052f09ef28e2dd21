"""Instrumental variables: estimates that noise in the measured positions does not bias.

Noise in positions enters the regressor W and makes least-squares estimates too small. An instrument
provides noise-free positions of nearly the same trajectory; Z is their regressor. The solution x of
Zᵀ(τ - W x) = 0 has no bias (Janot, Vandanjon and Gautier 2014: IDIM-IV). With both sides projected
on the columns of Z, x solves W x = τ by least squares; a triangular factor of (Z | W | τ) gives x.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.progress import advancing
from armlet.api import Robot, function
from armlet.api.functions import Function
from armlet.errors import DataError, DataWarning, quote
from armlet.identification.estimation.estimators import (
    ROUNDS,
    SMALL,
    Array,
    Estimate,
    Factors,
    Rows,
    residual_noise,
    residual_squares,
    solve,
    weighted,
)
from armlet.identification.estimation.torque_model import USUAL, TorqueRegressor
from armlet.identification.filters import interpolate, lowpass
from armlet.identification.logs.log import joint_order
from armlet.identification.preprocessing import Samples
from armlet.simulation import Plant, Trajectory, rollout
from armlet.simulation.forces import Friction, friction_torque

Instrument = Callable[[Robot, Samples], ArrayLike]
"""A function(robot, run) that returns noise-free positions (k, n) at the k times `run.t`."""
MOTION = 0.3
"""The cut-off of the default instrument's low-pass filter, relative to the bandwidth. The noise
variance of accelerations grows with the fifth power of the cut-off; 0.3⁵ ≈ 1/400 of it remains."""
WEAK = 0.1
"""An `InstrumentTest.correlation` below this causes a warning: deviations are unreliable."""
CONVERGED = 0.01
"""Iteration ends when no parameter changes by more than this many standard deviations."""
TARGETS = {"target": "q", "target_velocity": "qd", "target_acceleration": "qdd"}
"""The target arguments of a controller, mapped to the arrays of a trajectory."""


class InstrumentTest(NamedTuple):
    """The convergence of instrumental variables, and a test of whether least squares is biased."""

    rounds: int
    """The number of iterations until convergence."""
    correlation: float
    """The smallest canonical correlation of the regressor with the instrument, 0 to 1."""
    statistic: float
    """The F statistic of Durbin, Wu and Hausman; large if least squares is biased."""
    p: float
    """The probability of a statistic at least as large if least squares had no bias."""

    @property
    def note(self) -> str:
        """A sentence that summarises the test."""
        differs = "differ from" if self.p < 0.05 else "do not differ from"
        return (
            f"instrumental variables, found in {self.rounds} rounds, {differs} least squares "
            f"(Durbin, Wu and Hausman: F = {self.statistic:.3g}, p = {self.p:.2g}); the least "
            f"correlation with the instrument is {self.correlation:.3g}"
        )


def instrumental(
    regressor: TorqueRegressor,
    factors: Factors,
    runs: Sequence[Samples],
    instrument: Instrument | None,
    repeats: float,
) -> tuple[Estimate, InstrumentTest, Array]:
    """Return the instrumental estimate, the test for bias, and (W | τ) projected on Z.

    The default instrument is the measured trajectory after a low-pass filter (see `MOTION`), since
    an arm under computed-torque control follows the same trajectory for any parameters. The
    returned (W | τ) is divided by the noise before projection; its least-squares solution is the
    estimate. `repeats` is the number of rows divided by the number of independent rows.
    """
    measured = [regressor.all_rows(run) for run in runs]
    estimate = weighted(factors)
    both: Factors | None = None
    with advancing("instrumental variables") as advance:
        for k in range(1, ROUNDS + 1):
            advance(k / ROUNDS)
            if both is None or instrument is not None:
                each = _instrument_factors(regressor, estimate.x, runs, measured, instrument)
                both = Factors.sum(each)
            last, estimate = estimate, _round(both, factors, estimate.noise)
            least = SMALL * np.abs(estimate.x).max()  # for parameters that nothing determines
            if (np.abs(estimate.x - last.x) <= CONVERGED * estimate.deviations + least).all():
                R, basis = _projection(both, estimate.noise)
                test = _test(R, basis, estimate.x, k, both.count, repeats)
                if test.correlation < WEAK:
                    warnings.warn(
                        "the instrument is hardly correlated with the motion, by "
                        f"{test.correlation:.2g} in a combination of parameters: expected one that "
                        "moves as the arm does, at the same times",
                        DataWarning,
                        stacklevel=3,
                    )
                return estimate, test, basis.T @ R
    worst = int(np.argmax(np.abs(estimate.x - last.x) / np.maximum(estimate.deviations, 1e-300)))
    raise DataError(
        f"instrumental variables do not converge in {ROUNDS} rounds: {regressor.names[worst]} "
        f"still changes from {last.x[worst]:.4g} to {estimate.x[worst]:.4g}. Expected an "
        "instrument closer to the measured motion, or fewer parameters"
    )


def _instrument_factors(
    regressor: TorqueRegressor,
    x: Array,
    runs: Sequence[Samples],
    measured: Sequence[Rows],
    instrument: Instrument | None,
) -> Iterator[Factors]:
    """Yield the triangular factors of (Z | W | τ) for each run."""
    for run, (W, tau) in zip(runs, measured, strict=True):
        q, cutoff = run.q, run.choices["cutoff"]
        if instrument is None:
            cutoff = MOTION * (run.bandwidth or cutoff)
        else:
            q = _check_positions(instrument(regressor.robot_with(x), run), run)
        Z = run.decimate(regressor.columns(*lowpass(q, cutoff, run.rate, run.order)))
        Z = Z * run.moving[run.indices][..., None]  # zero at rest, as W and τ
        yield Factors.of(np.concatenate([Z, W], axis=-1), tau)


def _check_positions(positions: ArrayLike, run: Samples) -> Array:
    """Return the positions as an array; raise for a wrong shape or non-finite values."""
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


def _projection(both: Factors, noise: Array) -> tuple[Array, Array]:
    """Return (W | τ) and an orthonormal basis of Z, both divided by the noise and reduced by QR."""
    R = both.together(1 / noise)
    p = (R.shape[1] - 1) // 2
    return R[:, p:], _basis(R[:, :p])


def _basis(A: Array) -> Array:
    U, s, _ = np.linalg.svd(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300), full_matrices=False)
    return np.asarray(U[:, s > SMALL * s[0]])


def _round(both: Factors, factors: Factors, noise: Array) -> Estimate:
    """Return the instrumental estimate for weights 1/`noise`, with the noise of its residuals."""
    R, basis = _projection(both, noise)
    x, inverse, rank = solve(basis.T @ R)
    _, _, whole = solve(R)
    if rank < whole:
        raise DataError(
            f"the instrument determines {rank} of the {whole} combinations of parameters that the "
            "measured motion does: expected one that moves as the arm does"
        )
    own = residual_noise(factors, x, rank)
    return Estimate(x, inverse * ((own / noise) ** 2).mean(), own, rank)


def _test(
    R: Array, basis: Array, x: Array, rounds: int, rows: int, repeats: float
) -> InstrumentTest:
    """Test whether the part of W orthogonal to Z's columns implies parameters other than x."""
    from scipy.stats import f as fisher  # which takes as long to load as all of armlet

    inside = basis.T @ R
    outside = R - basis @ inside
    together, _, rank = solve(R)
    apart, _, freedom = solve(outside)
    least = residual_squares(R, together)
    less = residual_squares(inside, x) + residual_squares(outside, apart)
    free = max(rows / repeats - rank - freedom, 1.0)
    statistic = max(least - less, 0.0) / (freedom * repeats) / (less / rows)
    correlation = np.linalg.svd(basis.T @ _basis(R[:, :-1]), compute_uv=False)[-1]
    p = float(fisher.sf(statistic, freedom, free))
    return InstrumentTest(rounds, float(min(correlation, 1.0)), float(statistic), p)


# ------------------------------------------------------------------ a simulated instrument


def closed_loop(
    robot: Robot,
    controller: Function,
    reference: Trajectory,
    *,
    dt: float = 1e-3,
    friction: Friction | None = None,
) -> Instrument:
    """Return an instrument that simulates the controlled arm with the latest estimates (IDIM-IV).

    Parameters
    ----------
    robot : Robot
        The arm to be identified.
    controller : Function
        The controller of the measured run, as in `armlet.controllers`: a function of q, qd and any
        of "target", "target_velocity" and "target_acceleration".
    reference : Trajectory
        The commanded trajectory. Its time 0 is the log's first row; joints are matched by name.
    dt : float
        The time step of the simulation, in s.
    friction : Friction, optional
        The friction law of the simulation. Its velocities and its Stribeck friction are fixed, not
        estimated. By default `Friction()`, without Stribeck friction.

    Returns
    -------
    function
        The instrument, for `identify(estimator="instrumental", instrument=...)`.
    """
    robot._require_vector_space("identification")
    unknown = [name for name in controller.inputs if name not in ("q", "qd", *TARGETS)]
    if unknown:
        raise DataError(
            f"the controller has an argument {quote(unknown[0])}: expected q, qd, "
            f"{', '.join(TARGETS)}"
        )
    columns = joint_order(reference.joints, robot, "the reference")
    law, bare = friction or Friction(), robot.without_drives()
    shapes = dict.fromkeys(TARGETS, robot.nv) | dict.fromkeys(USUAL, len(robot.drives))

    @function(bare, **shapes)
    def driven(
        q: Array,
        qd: Array,
        target: Array,
        target_velocity: Array,
        target_acceleration: Array,
        viscous: Array,
        coulomb: Array,
        offset: Array,
    ) -> Array:
        targets = (target, target_velocity, target_acceleration)
        inputs = {"q": q, "qd": qd, **dict(zip(TARGETS, targets, strict=True))}
        drives = bare.with_drives(viscous=viscous, coulomb=coulomb, offset=offset)
        resisting: Array = friction_torque(law, drives, qd)
        return controller(*(inputs[name] for name in controller.inputs)) - resisting

    def simulate(arm: Robot, run: Samples) -> Array:
        if (arm.joint_names, arm.dh) != (bare.joint_names, bare.dh):
            raise DataError(
                f"the instrument simulates {quote(bare.name)} with other joints or frames than "
                f"{quote(arm.name)} has: expected closed_loop of the robot that is identified"
            )
        if any(drive.rotor_inertia for drive in arm.drives):
            raise DataError(
                "rotor inertias are no arguments of this simulation: expected "
                "rotors=False, or an instrument that calls armlet.simulate"
            )
        t = run.t - run.t[0]
        steps = int(np.ceil(t[-1] / dt - 1e-9))
        start = reference.at(reference.t[0])
        first, speed = start.q[:, columns], start.qd[:, columns]
        ends: Array = dt * np.arange(steps + 1.0)
        wanted = reference.at(np.minimum(ends[:-1] + dt / 2, reference.t[-1]))  # mid-step
        arguments = {name: getattr(wanted, key)[:, columns] for name, key in TARGETS.items()}
        for name in USUAL:
            arguments[name] = np.array([getattr(drive, name) for drive in arm.drives])
        plant = Plant(bare, friction=False, inertia=arm.phi.astype(float))
        options: dict[str, Any] = {"dt": dt, "steps": steps, "method": "rk4"}
        motion = rollout(plant, first, speed, driven, arguments=arguments, **options)
        return interpolate(t, ends, np.concatenate([first, motion.q[:, 0]]))

    return simulate

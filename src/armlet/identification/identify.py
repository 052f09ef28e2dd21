"""Identify the parameters of an arm, or of its payload, from logs.

`preprocess` converts a log to samples. The torque model converts samples to rows of the equations
W x = τ, with regressor W and parameters x. A QR decomposition reduces the rows of each run to one
triangular factor per joint. Estimators in `ALL_ROWS` need all rows; others need only the factors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from armlet._support import validation as check
from armlet._support.blas import single_blas_thread
from armlet._support.progress import advancing, status
from armlet.algebra import point_inertia, symmetric
from armlet.api import Robot
from armlet.errors import DataError, DataWarning, ModelError, listing, quote
from armlet.identification.estimation import estimators
from armlet.identification.estimation.estimators import Array, Estimate, Factors, Gains, Rows
from armlet.identification.estimation.instrumental import Instrument, InstrumentTest, instrumental
from armlet.identification.estimation.physical import (
    Physical,
    Prior,
    likely_bodies,
    physical_parameters,
)
from armlet.identification.estimation.torque_model import CHUNK, TorqueModel, TorqueRegressor
from armlet.identification.logs.log import Log, Reader, each_log, use_log
from armlet.identification.preprocessing import Preprocessing, Samples, preprocess, preprocess_all
from armlet.identification.result import Fit, Identified
from armlet.robot.components import BASE, PHI

Estimator = Literal["ordinary", "weighted", "robust", "instrumental"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
STORED = 8
"""The number of runs whose samples are stored; later runs contribute only triangular factors."""
ALL_ROWS = {"instrumental": "instrumental variables", "robust": "a robust estimate"}
"""The estimators that need all rows at once, mapped to their names in messages."""


class Client(Protocol):
    """The part of a Dask client's interface that armlet uses."""

    def map(self, function: Callable[..., Any], items: Sequence[Any], *, pure: bool) -> Any:
        """Submit function(item) for every item, and return the futures."""


@single_blas_thread
def identify(
    robot: Robot,
    logs: Log | Iterable[Log | Reader],
    *,
    model: TorqueModel | None = None,
    physical: Physical | bool | None = None,
    estimator: Estimator = "weighted",
    instrument: Instrument | None = None,
    preprocessing: Preprocessing | None = None,
    validation: float | Iterable[Log | Reader] = 0.0,
    client: Client | None = None,
) -> Identified:
    """Identify the parameters of an arm from measured motion.

    Parameters
    ----------
    robot : Robot
        The arm. Its inertias are used only as the prior of physically consistent bodies.
    logs : Log, or iterable of Log or functions
        One or more runs. To hold one log in memory at a time, pass a generator of logs, or a list
        of functions such as `functools.partial(armlet.Log.read, path, robot)`. A function that
        fails, or returns a log that cannot be used, is skipped with a warning.
    model : TorqueModel, optional
        The parameters to identify; by default the minimal parameters, together with viscous
        friction, Coulomb friction and a torque offset for every joint.
    physical : Physical or bool, optional
        Whether to estimate physically consistent bodies too, by linear matrix inequalities; or a
        `Physical` with options. Requires cvxpy; by default True if cvxpy is installed.
    estimator : {"weighted", "ordinary", "robust", "instrumental"}
        "weighted": least squares with weight 1/noise for each joint. "ordinary": least squares with
        equal weights. "robust": weighted, with less weight for large residuals (Huber).
        "instrumental": instrumental variables, which noise in the positions does not bias.
    instrument : function, optional
        For instrumental variables: a function(robot, run), such as the result of `closed_loop`,
        that returns noise-free positions (k, n) of the n joints at the k times `run.t`. In each
        iteration, `robot` has the latest estimates as parameters. By default, the positions are the
        measured positions after a low-pass filter.
    preprocessing : Preprocessing, optional
        How logs are resampled, filtered and differentiated.
    validation : float, or iterable of Log or functions
        The data held out for validation: a share, in [0, 1), of the rows of each run, taken from
        its end; or separate logs, in any form that `logs` accepts.
    client : distributed.Client, optional
        A Dask client whose workers read and preprocess the logs, and compute regressors.

    Returns
    -------
    Identified
        The parameters with standard deviations, the identified `robot` and the torque errors.
    """
    check.one_of(estimator, "estimator", ESTIMATORS)
    model = TorqueModel() if model is None else model
    check.instance(model, "model", TorqueModel, "an armlet.TorqueModel")
    if model.gains and estimator != "weighted":
        raise DataError(f"gains are estimated by weighted least squares: not with {estimator!r}")
    share = 0.0
    if isinstance(validation, int | float):
        expected = "a share of the time, or logs"
        share = check.number(validation, "validation", expected, low=0, below=1)
    regressor = model.of_robot(robot)
    prior = _prior(physical, regressor)
    settings = preprocessing or Preprocessing()
    none = regressor.factors([])
    data = sum(read_runs(regressor, settings, share, logs, client), Runs(none, none))
    if not isinstance(validation, int | float):
        for run in read_runs(regressor, settings, 0.0, validation, client):
            data += Runs(none, run.used, held_samples=run.samples)
    _check_rows(regressor, data.used)
    estimate, R, test, gains = _estimate(estimator, regressor, data, instrument)
    if gains is not None:
        data = data.in_torques(gains.values)
    for warning in _doubts(regressor, data.used, estimator):
        warnings.warn(warning, DataWarning, stacklevel=3)  # the caller's line, past the decorator
    estimate = replace(estimate, covariance=estimate.covariance * data.repeats)
    standard = None
    if prior is not None:
        with status("looking for physical bodies"):
            standard = physical_parameters(R, regressor.Lam, regressor.standard, prior)
    weighted = data.used.together(1 / estimate.noise)
    essential = estimators.essential(weighted, estimate.x, data.used.count / data.repeats)
    notes = (*regressor.notes, *(prior.notes if prior else ()))
    result = Identified(
        regressor=regressor,
        estimate=estimate,
        standard=standard,
        fits={},
        condition=float(np.linalg.cond(data.used.together()[:, :-1])),
        essential=tuple(regressor.names[k] for k in essential),
        choices=data.choices,
        notes=(*notes, *dict.fromkeys(data.notes), *([test.note] if test else ())),
        instrument_test=test,
        gains=gains,
        unused=tuple(x for x, k in zip(robot.joint_names, data.used.rows, strict=True) if not k),
        samples=data.samples,
        held_out=data.held_samples,
    )
    fits = {name: Fit.of(data.used, x) for name, x in result.solutions.items()}
    if data.held_out.count:
        for name, x in result.solutions.items():
            fits[f"validation, {name}"] = Fit.of(data.held_out, x)
    return replace(result, fits=fits)


def _prior(physical: Physical | bool | None, regressor: TorqueRegressor) -> Prior | None:
    """Return the prior of physical bodies, or None if physical bodies are not requested."""
    if physical is None:
        physical = find_spec("cvxpy") is not None
    if physical is False:
        return None
    options = Physical() if physical is True else physical
    check.instance(options, "physical", Physical, "True, False or an armlet.Physical")
    return options.of_robot(regressor.robot, regressor.standard)


def _check_rows(regressor: TorqueRegressor, factors: Factors) -> None:
    """Raise if there are too few rows, or if all torques are zero and no gains are identified."""
    if not factors.count:
        raise DataError(
            "there are no rows to identify from: expected one or more logs that can be read, and a "
            "validation= that leaves some of the time"
        )
    if factors.count <= len(regressor.names):
        raise DataError(
            f"there are {factors.count} rows for {len(regressor.names)} parameters: expected more "
            "samples"
        )
    if not regressor.gains and not factors.R[..., -1].any():
        raise DataError("all torques are zero throughout: expected logs with measured torques")


def _doubts(regressor: TorqueRegressor, factors: Factors, estimator: str) -> Iterator[str]:
    """Yield warnings about undetermined parameters and about joints with too few rows."""
    R, names = factors.together(), regressor.names
    idle = [name for name, column in zip(names, R.T[:-1], strict=True) if not column.any()]
    _, _, rank = estimators.solve(R)
    if rank < len(names):
        about = f" (nothing of {', '.join(idle)})" if idle else ""
        yield (
            f"the motion determines {rank} of {len(names)} combinations of parameters{about}: move "
            "more joints, faster, or identify fewer parameters"
        )
    few = estimators.joints_of_unknown_noise(factors)
    if few and estimator != "ordinary" and not regressor.gains:
        joints = listing([quote(regressor.robot.joint_names[i]) for i in few])
        yield (
            f"there are too few rows ({factors.rows[few].min()}) to estimate the noise of joint "
            f"{joints}: expected {estimators.FREE} more than parameters that act on it; all joints "
            "have the same weight. Take a longer log, or identify fewer parameters"
        )


def _estimate(
    estimator: Estimator, regressor: TorqueRegressor, data: Runs, instrument: Instrument | None
) -> tuple[Estimate, Array, InstrumentTest | None, Gains | None]:
    """Return the estimate, a factor of (W | τ) / noise, the instrument test and the gains."""
    if regressor.gains:
        joints = regressor.robot.joint_names
        estimate, gains = estimators.calibrate(data.used, joints, data.repeats)
        factors = estimators.in_torques(data.used, gains.values)
        return estimate, factors.together(1 / estimate.noise), None, gains
    if estimator in ALL_ROWS and len(data.samples) < len(data.choices):
        raise DataError(
            f"there are {len(data.choices)} runs: expected at most {STORED} for "
            f"{ALL_ROWS[estimator]}, of which all rows are needed at once"
        )
    if estimator == "instrumental":
        estimate, test, R = instrumental(
            regressor, data.used, data.samples, instrument, data.repeats
        )
        return estimate, R, test, None
    if estimator == "robust":
        rows = [rows for run in data.samples for rows in regressor.rows(run)]
        estimate = estimators.robust(data.used, rows)
    else:
        fits = {"weighted": estimators.weighted, "ordinary": estimators.ordinary}
        estimate = fits[estimator](data.used)
    return estimate, data.used.together(1 / estimate.noise), None, None


# ------------------------------------------------------------------ runs


@dataclass(frozen=True, eq=False)
class Runs:
    """Triangular factors, samples, preprocessing choices and notes of one or more logs."""

    used: Factors
    held_out: Factors
    independent: float = 0.0
    """The number of independent rows per joint in `used`; filtering correlates successive rows."""
    choices: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    samples: tuple[Samples, ...] = ()
    """The samples that belong to `used`, for the first `STORED` logs."""
    held_samples: tuple[Samples, ...] = ()

    def __add__(self, other: Runs) -> Runs:
        return Runs(*(getattr(self, x.name) + getattr(other, x.name) for x in fields(self)))

    def in_torques(self, gains: Array) -> Runs:
        """Return the runs with currents converted to torques by `gains`."""
        return replace(
            self,
            used=estimators.in_torques(self.used, gains),
            held_out=estimators.in_torques(self.held_out, gains),
            samples=tuple(replace(run, tau=gains * run.tau) for run in self.samples),
            held_samples=tuple(replace(run, tau=gains * run.tau) for run in self.held_samples),
        )

    @property
    def repeats(self) -> float:
        """The number of rows divided by the number of independent rows."""
        return float(self.used.rows.mean() / self.independent)


def read_runs(
    regressor: TorqueRegressor,
    settings: Preprocessing,
    share: float,
    logs: Log | Iterable[Log | Reader],
    client: Client | None,
) -> Iterator[Runs]:
    """Yield one `Runs` per log, in order, computed locally or by the workers of a Dask client.

    The last `share` of each log's rows is held out. Warn of each `Reader` without a usable log.
    """
    work = partial(_read_run, regressor, settings, share)
    numbered = enumerate(each_log(logs))
    runs = map(work, numbered) if client is None else _by_workers(work, [*numbered], client)
    with advancing("reading logs") as advance:
        for k, run in enumerate(runs, 1):
            advance(k / len(logs) if isinstance(logs, Sequence) else 0.0)
            if isinstance(run, str):
                warnings.warn(f"a log is left out: {run}", DataWarning, stacklevel=4)
            else:
                yield run


def _by_workers(
    work: Callable[..., Runs | str], numbered: list[tuple[int, Log | Reader]], client: Client
) -> Iterator[Runs | str]:
    """Yield work(x) for each x in `numbered`; the client reruns the tasks of failed workers."""
    for future in client.map(work, numbered, pure=False):
        yield future.result()
        future.release()


def _read_run(
    regressor: TorqueRegressor,
    settings: Preprocessing,
    share: float,
    numbered: tuple[int, Log | Reader],
) -> Runs | str:
    """Return the `Runs` of one log, or the error message if its `Reader` returns no usable log."""
    run = use_log(partial(_run, regressor, settings, share), *numbered)
    if isinstance(run, str) or numbered[0] < STORED:
        return run
    return replace(run, samples=(), held_samples=())


def _run(regressor: TorqueRegressor, settings: Preprocessing, share: float, log: Log) -> Runs:
    """Return the `Runs` of one log; the last `share` of its rows is held out."""
    samples = preprocess(log.in_order_of(regressor.robot), settings)
    cut = round((1 - share) * len(samples.indices))
    used, held = (replace(samples, indices=indices) for indices in np.split(samples.indices, [cut]))
    factors = regressor.factors([used])
    return Runs(
        used=factors,
        held_out=regressor.factors([held]),
        independent=_independent_share(used) * float(factors.rows.mean()),
        choices=(samples.choices,),
        notes=samples.notes,
        samples=(used,),
        held_samples=(held,) if len(held.indices) else (),
    )


def _independent_share(samples: Samples) -> float:
    """Return the number of independent rows divided by the number of rows.

    A Butterworth filter of order m and cut-off f, applied forwards and backwards, has the gain
    1 / (1 + x²ᵐ) at the frequency x f. White noise after this filter has 2 a f independent values
    per second, where a is the integral of the squared gain over x from 0 to ∞.
    """
    if len(samples.indices) < 2:
        return 1.0
    double = 2 * samples.order
    gain = np.pi / double / np.sin(np.pi / double) * (1 - 1 / double)
    cutoff = samples.choices["cutoff"] if samples.bandwidth is None else samples.bandwidth
    rate = samples.rate / float(np.median(np.diff(samples.indices)))
    return min(1.0, float(2 * gain * cutoff / rate))


# ------------------------------------------------------------------ cross-validation


@single_blas_thread
def cross_validate(
    robot: Robot,
    logs: Log | Iterable[Log | Reader],
    *,
    blocks: int = 1,
    model: TorqueModel | None = None,
    preprocessing: Preprocessing | None = None,
) -> list[Fit]:
    """Return the torque errors of each block of data, with parameters fitted to all other blocks.

    Parameters
    ----------
    robot, logs, model, preprocessing
        As in `identify`.
    blocks : int
        The number of blocks per run; by default 1, so that each block is a run.

    Returns
    -------
    list of Fit
        One `Fit` per block, ordered by run and time; weighted least squares fits the parameters.
    """
    check.integer(blocks, "blocks", low=1)
    regressor = (model or TorqueModel()).of_robot(robot)
    factors: list[Factors] = []
    for samples in preprocess_all(logs, robot, preprocessing):
        rows = len(samples.indices)
        check.integer(blocks, "blocks", f"at most the {rows} rows of {samples.name}", high=rows)
        chunks = np.array_split(samples.indices, blocks)
        factors += [regressor.factors([replace(samples, indices=chunk)]) for chunk in chunks]
    if len(factors) < 2:
        raise DataError("there is one block: expected several runs, or blocks=5, for instance")
    fits = []
    for k, own in enumerate(factors):
        others = Factors.sum(factors[:k] + factors[k + 1 :])
        fits.append(Fit.of(own, estimators.weighted(others).x))
    return fits


# ------------------------------------------------------------------ payloads


class Payload(NamedTuple):
    """An identified payload: a rigid body fixed to a frame of an arm."""

    mass: float
    """The mass, kg."""
    com: Array
    """The centre of mass in frame coordinates, m."""
    inertia: Array
    """The inertia about the centre of mass, in the axes of the frame, (3, 3), kg m²."""
    deviation: float
    """The standard deviation of the mass, kg."""
    before: Fit
    """The torque errors of the arm's model without the payload."""
    fit: Fit
    """The torque errors of the arm's model with the payload."""


@single_blas_thread
def identify_payload(
    arm: Robot | Identified,
    logs: Log | Iterable[Log | Reader],
    *,
    frame: str | None = None,
    physical: bool | None = None,
    preprocessing: Preprocessing | None = None,
) -> Payload:
    """Identify the payload that an arm carried during the logged runs.

    Parameters
    ----------
    arm : Robot or Identified
        The arm without payload: a robot with friction or, more accurate, the result of `identify`.
    logs : Log, or iterable of Log or functions
        Runs with the payload, in any form that `identify` accepts.
    frame : str, optional
        The frame to which the payload is fixed; by default the tool.
    physical : bool, optional
        Whether to constrain the payload to a physical body; least squares without this constraint
        may return a non-physical body. Requires cvxpy; by default True if cvxpy is installed.
    preprocessing : Preprocessing, optional
        How logs are resampled, filtered and differentiated.

    Returns
    -------
    Payload
        The payload, for `robot.with_payload(payload.mass, payload.com, payload.inertia, frame)`.
    """
    robot = arm.regressor.robot if isinstance(arm, Identified) else arm
    check.instance(robot, "arm", Robot, "a robot, as of armlet.load(...), or an Identified")
    body, at = robot.frame(frame)
    if body == BASE:
        raise ModelError(f"frame {frame!r} is on the base, where a payload has no effect")
    if isinstance(arm, Identified) and arm.gains is not None:
        raise DataError("the arm was identified with gains: expected one identified from torques")
    runs = preprocess_all(logs, robot, preprocessing)
    terms = [Factors.of(*rows) for run in runs for rows in _payload_rows(arm, body, run)]
    factors = Factors.sum(terms)
    estimate = estimators.weighted(factors)
    phi = estimate.x
    if physical or (physical is None and find_spec("cvxpy") is not None):
        R, prior = factors.together(1 / estimate.noise), Prior(likely_bodies(phi[None]))
        phi = physical_parameters(R, np.eye(len(PHI)), PHI, prior)
    mass = float(phi[9])
    if mass <= 0:
        raise DataError(
            f"least squares gives a mass of {mass:.3g} kg: expected a log with more motion, or "
            "physical=True"
        )
    centre = phi[6:9] / mass
    R, origin = np.asarray(at.R, dtype=float), np.asarray(at.r, dtype=float)
    inertia = symmetric(*phi[:6]) - point_inertia(mass, centre)
    return Payload(
        mass,
        R.T @ (centre - origin),
        np.asarray(R.T @ inertia @ R, dtype=float),
        float(estimate.deviations[9]),
        Fit.of(factors, 0 * phi),
        Fit.of(factors, phi),
    )


def _payload_rows(arm: Robot | Identified, body: int, run: Samples) -> Iterator[Rows]:
    """Yield, in chunks, a body's regressor and the measured torques minus those of `arm`."""
    if run.payloads:
        raise DataError("a log has a known payload: expected logs with the unknown payload alone")
    robot = arm.regressor.robot if isinstance(arm, Identified) else arm
    own = slice(10 * body, 10 * body + 10)

    def columns(x: Samples) -> Array:
        return np.asarray(robot.regressor(x.q, x.qd, x.qdd, parameters="standard")[..., own])

    def residuals(x: Samples) -> Array:
        if isinstance(arm, Identified):
            return x.tau - arm.torques(x.q, x.qd, x.qdd, arm.method)
        torques = arm.inverse_dynamics(x.q, x.qd, x.qdd) + arm.passive_torque(x.q, x.qd)
        return x.tau - np.asarray(torques)

    for chunk in run.chunks(CHUNK):
        moving = chunk.moving[chunk.indices]
        W = chunk.decimate(map(columns, chunk.blocks()))
        yield W * moving[..., None], chunk.decimate(map(residuals, chunk.blocks())) * moving

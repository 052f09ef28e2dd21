"""`identify`: the parameters of an arm from measured motion."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.blas import single_blas_thread
from armlet._support.progress import status
from armlet.api import Robot
from armlet.api.functions import Function
from armlet.errors import DataError, DataWarning, listed, quoted
from armlet.identification.estimation import estimators
from armlet.identification.estimation.com_bounds import Centres, boxes
from armlet.identification.estimation.estimators import Estimate
from armlet.identification.estimation.factors import Array, Factors
from armlet.identification.estimation.gains import Gains, calibrated
from armlet.identification.estimation.instrumental import Instrument, Instrumented, instrumental
from armlet.identification.estimation.physical import (
    Distance,
    Prior,
    check_distance,
    checked_bodies,
    checked_bounds,
    likely_bodies,
)
from armlet.identification.estimation.physical import consistent as consistent_parameters
from armlet.identification.estimation.runs import KEPT, Client, Gathered, Reader, parts, rows, whole
from armlet.identification.estimation.torque_model import (
    Column,
    FrictionModel,
    TorqueModel,
    torque_model,
)
from armlet.identification.findings import Fit
from armlet.identification.identified import Identified
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing.preprocessing import Conditioning
from armlet.minimal import MinimalParameters

Estimator = Literal["ordinary", "weighted", "robust", "instrumental"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)


@single_blas_thread
def identify(
    robot: Robot,
    logs: Log | Iterable[Log | Reader],
    *,
    parameters: MinimalParameters[Robot] | None = None,
    rotors: bool = False,
    friction: FrictionModel = True,
    extra: Mapping[str, Function | Column] | None = None,
    gains: bool = False,
    estimator: Estimator = "weighted",
    instrument: Instrument | None = None,
    consistent: bool | None = None,
    prior: Distance = "entropic",
    strength: float = 1.0,
    bodies: ArrayLike | None = None,
    most: Mapping[str, float] | None = None,
    centres: Centres | None = None,
    conditioning: Conditioning | None = None,
    validation: float | Iterable[Log | Reader] = 0.0,
    client: Client | None = None,
) -> Identified:
    """The parameters of an arm from measured motion.

    Parameters
    ----------
    robot : Robot
        Its geometry counts; its inertias are the prior of consistent parameters.
    logs : Log, or iterable of Log or functions
        One run, or any number, of which one is in memory at a time where they come from a
        generator or are read when they are needed, by functions such as
        `functools.partial(armlet.Log.read, path, robot)`; those that cannot be read are left out
        with a warning.
    parameters : MinimalParameters, optional
        The inertial parameters to find; Lin's minimal set by default, with rotors and friction as
        the next two say.
    rotors : bool
        Whether rotor inertias are found, too.
    friction : bool, sequence of str, Friction or Sigmoid
        True for viscous and Coulomb friction and an offset of every joint; names among "viscous",
        "coulomb", "offset", "coulomb_forward" and "coulomb_backward"; the friction of a
        simulation, smooth around velocity 0, with Stribeck's part if it has one; or a sigmoid.
    extra : mapping of str to function, optional
        Further columns by the names of their parameters, such as springs: functions of q, qd and
        qdd that return the torque of every joint for a parameter that is 1.
    gains : bool
        Whether logs have currents, or torques in unknown units, so that a gain of every joint is
        found, too; at least one run has a known payload, by `log.with_payload`.
    estimator : {"weighted", "ordinary", "robust", "instrumental"}
        Least squares with weights by the noise of each joint, without, or with less weight for
        large residuals (Huber); or instrumental variables, which noise in the positions does not
        bias.
    instrument : function, optional
        A motion of each run without its noise, for instrumental variables: a function of the arm
        with the parameters found so far and of the run, that returns positions (k, n) at the times
        `run.t`, such as `closed_loop` makes by simulation. By default the measured motion at low
        frequencies.
    consistent : bool, optional
        Whether to find bodies that are physical, too, by linear matrix inequalities; needs cvxpy.
        By default if that is installed, or bodies, most or centres are given.
    prior : {"entropic", "euclidean"}
        How the distance from likely bodies is measured, which decides what the data do not.
    strength : float
        How much that distance counts, in squares of the noise.
    bodies : array_like of shape (nb, 10), optional
        Likely bodies as in `robot.phi`, from CAD for instance, zeros for one that is unknown; those
        of the robot by default.
    most : mapping of str to float, optional
        Upper bounds of standard parameters of the physical bodies, such as {"m7": 1.5}.
    centres : float or mapping of str to pairs, optional
        Where the centres of mass of the physical bodies are: in boxes, lower and upper corners by
        the name of a frame and in its axes, such as {"link2": ((-0.1, -0.4, -0.1), (0.1, 0, 0.1))};
        or, by a margin in m, in boxes around the joints and the frames of every body.
    conditioning : Conditioning, optional
        How logs are resampled, filtered and differentiated.
    validation : float or sequence of Log
        Data held out: the last share of the time of every run, or runs.
    client : distributed.Client, optional
        A Dask client, whose workers read logs and make their factors.

    Returns
    -------
    Identified
        Parameters with deviations, `robot`, and how well the torques are met.
    """
    if estimator not in ESTIMATORS:
        raise DataError(f"estimator is {quoted(estimator)}: expected {', '.join(ESTIMATORS)}")
    if gains and estimator != "weighted":
        raise DataError(f"gains are found by least squares, weighted: not with {estimator!r}")
    model = torque_model(robot, parameters, rotors, friction, extra or {}, gains)
    likely = _prior(model, consistent, prior, strength, bodies, most, centres)
    if isinstance(validation, int | float) and not 0 <= validation < 1:
        raise DataError(
            f"validation is {validation}: expected a share of the time, 0 to 1, or logs"
        )
    share = float(validation) if isinstance(validation, int | float) else 0.0
    settings = conditioning or Conditioning()
    runs = [logs] if isinstance(logs, Log) else logs
    data = Gathered(model)
    for found in parts(model, settings, share, runs, client):
        data.add(found)
    if not isinstance(validation, int | float):
        for found in parts(model, settings, 0.0, validation, client):
            data.hold(found)
    _check_rows(model, data.used, gains)
    estimate, R, instrumented, worth = _estimated(estimator, model, data, instrument)
    _warn_of_rank(model, data.used)
    if estimator != "ordinary" and not gains:
        _warn_of_few_rows(model, data.used)
    estimate = replace(estimate, covariance=estimate.covariance * data.repeats)
    standard = None
    if likely is not None:
        with status("looking for physical bodies"):
            standard = consistent_parameters(R, model.Lam, model.standard, likely)
    every = data.used.together(1 / estimate.noise)
    kept = estimators.essential(every, estimate.x, data.used.count / data.repeats)
    result = Identified(
        model=model,
        estimate=estimate,
        standard=standard,
        fits={},
        condition=float(np.linalg.cond(data.used.together()[:, :-1])),
        essential=tuple(model.names[k] for k in kept),
        choices=tuple(data.choices),
        notes=(*model.notes, *data.notes),
        instrumented=instrumented,
        gains=worth,
        samples=tuple(data.samples),
        held=tuple(data.rest),
    )
    fits = {name: Fit.of(data.used, x) for name, x in result.solutions.items()}
    if data.held.count:
        fits |= {
            f"validation, {name}": Fit.of(data.held, x) for name, x in result.solutions.items()
        }
    return replace(result, fits=fits)


def _check_rows(model: TorqueModel, factors: Factors, gains: bool) -> None:
    """Raise where there are too few rows, or nothing in them; with gains, zero is a torque."""
    if not factors.count:
        raise DataError(
            "there are no rows to identify from: expected one or more logs that can be read, and a "
            "validation= that leaves some of the time"
        )
    if factors.count <= len(model.names):
        raise DataError(
            f"there are {factors.count} rows for {len(model.names)} parameters: expected more "
            "samples"
        )
    if not gains and not factors.R[..., -1].any():
        raise DataError("all torques are zero throughout: expected logs with measured torques")


def _warn_of_rank(model: TorqueModel, factors: Factors) -> None:
    """Warn of what the motion does not determine."""
    R = factors.together()
    size = np.linalg.norm(R[:, :-1], axis=0)
    idle = [name for name, x in zip(model.names, size, strict=True) if not x]
    _, _, rank = estimators.solved(R)
    if rank < len(model.names):
        about = f" (nothing of {', '.join(idle)})" if idle else ""
        warnings.warn(
            f"the motion determines {rank} of {len(model.names)} combinations of parameters"
            f"{about}: move more joints, faster, or find fewer parameters",
            DataWarning,
            stacklevel=4,  # the caller's line, past the decorator
        )


def _warn_of_few_rows(model: TorqueModel, factors: Factors) -> None:
    """Warn of joints whose noise cannot be found from their residuals."""
    few = estimators.joints_of_unknown_noise(factors)
    if few:
        names = [quoted(model.parameters.model.coordinates[i].name) for i in few]
        warnings.warn(
            f"there are too few rows ({factors.rows[few].min()}) to estimate the noise of joint "
            f"{listed(names)}: expected {estimators.FREE} more than parameters that act on it; all "
            "joints have the same weight. Take a longer log, or find fewer parameters",
            DataWarning,
            stacklevel=4,
        )


class Solution(NamedTuple):
    """An estimate, a factor of (W | τ) in units of the noise that has it, and how it was found."""

    estimate: Estimate
    R: Array
    instrumented: Instrumented | None = None
    gains: Gains | None = None


def _estimated(
    estimator: Estimator, model: TorqueModel, data: Gathered, instrument: Instrument | None
) -> Solution:
    """The estimate that is asked for; with unknown gains, all data are torques from then on."""
    gains = None
    if model.gains:
        joints = [joint.name for joint in model.parameters.model.coordinates]
        estimate, gains = calibrated(data.used, joints, data.repeats)
        data.calibrate(gains.values)
    elif estimator == "instrumental":
        _check_kept(data, "instrumental variables, which need")
        found = instrumental(
            model, data.used, data.samples, partial(whole, model), instrument, data.repeats
        )
        data.notes.append(found[1].note)
        return Solution(found[0], found[2], found[1])
    elif estimator == "robust":
        _check_kept(data, "a robust estimate, which needs")
        every = [pair for run in data.samples for pair in rows(model, run)]
        estimate = estimators.robust(data.used, lambda: every)
    else:
        ways = {"ordinary": estimators.ordinary, "weighted": estimators.weighted}
        estimate = ways[estimator](data.used)
    return Solution(estimate, data.used.together(1 / estimate.noise), gains=gains)


def _check_kept(data: Gathered, what: str) -> None:
    """Raise if not all runs are in memory."""
    if len(data.samples) < len(data.choices):
        raise DataError(
            f"there are {len(data.choices)} runs: expected at most {KEPT} for {what} all rows at "
            "once"
        )


def _prior(
    model: TorqueModel,
    consistent: bool | None,
    prior: Distance,
    strength: float,
    bodies: ArrayLike | None,
    most: Mapping[str, float] | None,
    centres: Centres | None,
) -> Prior | None:
    """What physical bodies are likely to be; None where they are not asked for."""
    options = {"bodies": bodies, "most": most, "centres": centres}
    asked = [name for name, value in options.items() if value is not None]
    if consistent is None:
        consistent = bool(asked) or find_spec("cvxpy") is not None
    elif asked and not consistent:
        raise DataError(
            f"{asked[0]}= is about physical bodies, which consistent=False leaves out: expected "
            f"consistent=True, or no {asked[0]}="
        )
    robot = model.parameters.model
    check_distance(prior, strength)
    if not consistent:
        return None
    phi = (
        likely_bodies(robot.phi.astype(float)) if bodies is None else checked_bodies(bodies, robot)
    )
    bounds = {} if most is None else checked_bounds(most, model.standard)
    return Prior(phi, prior, strength, bounds, [] if centres is None else boxes(robot, centres))

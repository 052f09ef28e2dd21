"""`identify`: the parameters of an arm from measured motion."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from armlet.api import Robot
from armlet.api.functions import Function
from armlet.errors import DataError, DataWarning, quoted
from armlet.identification import estimators
from armlet.identification.conditioning import Conditioning, conditioned
from armlet.identification.consistent import consistent as consistent_parameters
from armlet.identification.consistent import likely_bodies
from armlet.identification.estimators import Estimate
from armlet.identification.factors import Array, Factors, merged
from armlet.identification.findings import Fit
from armlet.identification.identified import Identified
from armlet.identification.log import Log
from armlet.identification.model import Column, TorqueModel, torque_model
from armlet.identification.samples import Samples
from armlet.minimal import MinimalParameters
from armlet.motion.system import Friction
from armlet.progress import status

ESTIMATORS = ("ordinary", "weighted", "robust")
PORTION = 1024
"""How many rows that remain after decimation are computed at a time."""


def identify(
    robot: Robot,
    logs: Log | Sequence[Log],
    *,
    parameters: MinimalParameters[Robot] | None = None,
    rotors: bool = False,
    friction: bool | Sequence[str] | Friction = True,
    extra: Mapping[str, Function | Column] | None = None,
    estimator: Literal["ordinary", "weighted", "robust"] = "weighted",
    consistent: bool | None = None,
    prior: Literal["entropic", "euclidean"] = "entropic",
    strength: float = 1.0,
    bodies: ArrayLike | None = None,
    most: Mapping[str, float] | None = None,
    conditioning: Conditioning | None = None,
    validation: float | Sequence[Log] = 0.0,
) -> Identified:
    """The parameters of an arm from measured motion.

    Parameters
    ----------
    robot : Robot
        Its geometry counts; its inertias are the prior of consistent parameters.
    logs : Log or sequence of Log
        One run, or several.
    parameters : MinimalParameters, optional
        The inertial parameters to find; Lin's minimal set by default, with rotors and friction as
        the next two say.
    rotors : bool
        Whether rotor inertias are found, too.
    friction : bool, sequence of str or Friction
        True for viscous and Coulomb friction and an offset of every joint; names among "viscous",
        "coulomb", "offset", "coulomb_forward" and "coulomb_backward"; or the friction of a
        simulation, smooth around velocity 0, with Stribeck's part if it has one.
    extra : mapping of str to function, optional
        Further columns by the names of their parameters, such as springs: functions of q, qd and
        qdd that return the torque of every joint for a parameter that is 1.
    estimator : {"weighted", "ordinary", "robust"}
        Least squares with weights by the noise of each joint, without, or with less weight for
        large residuals (Huber).
    consistent : bool, optional
        Whether to find bodies that are physical, too, by linear matrix inequalities; needs cvxpy.
        By default if that is installed.
    prior : {"entropic", "euclidean"}
        How the distance from likely bodies is measured, which decides what the data do not.
    strength : float
        How much that distance counts, in squares of the noise.
    bodies : array_like of shape (nb, 10), optional
        Likely bodies as in `robot.phi`, from CAD for instance; those of the robot by default.
    most : mapping of str to float, optional
        Upper bounds of standard parameters of the physical bodies, such as {"m7": 1.5}.
    conditioning : Conditioning, optional
        How logs are resampled, filtered and differentiated.
    validation : float or sequence of Log
        Data held out: the last share of the time of every run, or runs.

    Returns
    -------
    Identified
        Parameters with deviations, `robot`, and how well the torques are met.
    """
    if estimator not in ESTIMATORS:
        raise DataError(f"estimator is {quoted(estimator)}: expected {', '.join(ESTIMATORS)}")
    model = torque_model(robot, parameters, rotors, friction, extra or {})
    runs = [logs] if isinstance(logs, Log) else [*logs]
    if not runs:
        raise DataError("there are no logs: expected one or more")
    settings = conditioning or Conditioning()
    samples = [conditioned(log, settings) for log in runs]
    if isinstance(validation, int | float):
        fitted, held = _split(samples, float(validation))
    else:
        fitted, held = samples, [conditioned(log, settings) for log in validation]
    factors = merged(Factors.of(W, tau) for W, tau in _rows(model, fitted))
    _check(model, factors)
    estimate = _estimated(estimator, factors, model, fitted)
    estimate = replace(estimate, covariance=estimate.covariance * _repeats(fitted))
    standard = None
    if consistent or (consistent is None and find_spec("cvxpy") is not None):
        likely = likely_bodies(np.asarray(robot.phi if bodies is None else bodies, dtype=float))
        with status("looking for physical bodies"):
            standard = _physical(model, factors, estimate, likely, strength, prior, most)
    found = {"least squares": estimate.x}
    if standard is not None:
        found["consistent"] = _columns(model) @ standard
    fits = {name: Fit.of(factors, x) for name, x in found.items()}
    if held:
        rest = merged(Factors.of(W, tau) for W, tau in _rows(model, held))
        fits |= {f"validation, {name}": Fit.of(rest, x) for name, x in found.items()}
    R = factors.together(1 / estimate.noise)
    kept = estimators.essential(R, estimate.x, factors.count)
    return Identified(
        model=model,
        estimate=estimate,
        standard=standard,
        fits=fits,
        condition=float(np.linalg.cond(factors.together()[:, :-1])),
        essential=tuple(model.names[k] for k in kept),
        choices=tuple(x.choices for x in samples),
        notes=tuple(note for x in samples for note in x.notes),
        samples=tuple(fitted),
        held=tuple(held),
    )


def _split(samples: Sequence[Samples], share: float) -> tuple[list[Samples], list[Samples]]:
    """The first part of the time of every run, and the rest."""
    if not 0 <= share < 1:
        raise DataError(f"validation is {share}: expected a share of the time, 0 to 1, or logs")
    if not share:
        return [*samples], []
    cuts = [round((1 - share) * len(x.kept)) for x in samples]
    first = [replace(x, kept=x.kept[:k]) for x, k in zip(samples, cuts, strict=True)]
    return first, [replace(x, kept=x.kept[k:]) for x, k in zip(samples, cuts, strict=True)]


def _rows(model: TorqueModel, samples: Sequence[Samples]) -> Iterator[tuple[Array, Array]]:
    """Regressors and torques, portion by portion."""
    for run in samples:
        for piece in run.pieces(PORTION):
            W = model.regressor(piece.q, piece.qd, piece.qdd)
            yield piece.decimated(W), piece.decimated(piece.tau)


def _check(model: TorqueModel, factors: Factors) -> None:
    """Raise where there are too few rows; warn of what the motion does not determine."""
    if factors.count <= len(model.names):
        raise DataError(
            f"there are {factors.count} rows for {len(model.names)} parameters: expected more "
            "samples"
        )
    R = factors.together()[:, :-1]
    size = np.linalg.norm(R, axis=0)
    idle = [name for name, x in zip(model.names, size, strict=True) if not x]
    _, _, rank = estimators.solved(factors.together())
    if rank < len(model.names):
        about = f" (nothing of {', '.join(idle)})" if idle else ""
        warnings.warn(
            f"the motion determines {rank} of {len(model.names)} combinations of parameters"
            f"{about}: move more joints, faster, or find fewer parameters",
            DataWarning,
            stacklevel=3,
        )


def _estimated(
    estimator: str, factors: Factors, model: TorqueModel, samples: Sequence[Samples]
) -> Estimate:
    if estimator == "robust":
        rows = [*_rows(model, samples)]
        return estimators.robust(factors, lambda: rows)
    return estimators.ordinary(factors) if estimator == "ordinary" else estimators.weighted(factors)


def _repeats(samples: Sequence[Samples]) -> float:
    """How many rows say the same: filtered noise is correlated from row to row.

    Noise through a filter of a cut-off has as many independent values per second as white noise of
    that bandwidth, times the integral of the square of the filter's gain over frequencies, which
    for Butterworth's of order m, forwards and backwards, is that of 1 / (1 + f²ᵐ)².
    """
    rows = np.array([len(x.kept) for x in samples])
    independent = []
    for x in samples:
        double = 2 * x.order
        gain = np.pi / double / np.sin(np.pi / double) * (1 - 1 / double)
        cutoff = x.choices["cutoff"] if x.bandwidth is None else x.bandwidth
        rate = x.rate / float(np.median(np.diff(x.kept)))
        independent.append(min(1.0, 2 * gain * cutoff / rate))
    return float(rows.sum() / (rows * independent).sum())


def _columns(model: TorqueModel) -> Array:
    """All parameters of the model as a matrix times the standard ones and those beside them."""
    p = model.parameters
    others = len(model.names) - len(p)
    found = np.zeros((len(model.names), len(p.standard) + others))
    found[: len(p), : len(p.standard)] = p.Lam
    found[len(p) :, len(p.standard) :] = np.eye(others)
    return found


def _physical(
    model: TorqueModel,
    factors: Factors,
    estimate: Estimate,
    likely: Array,
    strength: float,
    prior: str,
    most: Mapping[str, float] | None,
) -> Array:
    names = (*model.parameters.standard, *model.names[len(model.parameters) :])
    R = factors.together(1 / estimate.noise)
    given: dict[str, Any] = {"prior": likely, "strength": strength, "kind": prior, "most": most}
    return consistent_parameters(R, _columns(model), names, **given)

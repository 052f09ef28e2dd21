"""The shape of friction: velocities that torques are not linear in, by separable least squares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from armlet._support.blas import single_blas_thread
from armlet._support.progress import status
from armlet.api import Robot
from armlet.api.functions import Function
from armlet.errors import DataError
from armlet.identification.estimation.estimators import weighted
from armlet.identification.estimation.factors import Array, merged
from armlet.identification.estimation.runs import factors, whole
from armlet.identification.estimation.torque_model import USUAL, Column, Sigmoid, torque_model
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing.preprocessing import Conditioning, conditioned
from armlet.identification.preprocessing.samples import Samples
from armlet.simulation.system import Friction

SLOWEST, FASTEST = 1e-4, 1.0
"""Between which velocities, rad/s or m/s, shapes are looked for."""
STEEPNESS, SHIFT = (0.3, 1000.0), (-0.5, 0.5)
"""Between which p₂, s/rad or s/m, and p₃, rad/s or m/s, sigmoids are looked for."""
START = 10.0
"""The p₂ that the search starts from."""


@single_blas_thread
def friction_shape(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    stribeck: bool = False,
    rotors: bool = False,
    extra: Mapping[str, Function | Column] | None = None,
    conditioning: Conditioning | None = None,
) -> Friction:
    """The velocities at which friction changes its sign and Stribeck's part falls.

    Everything else is linear: for each pair of velocities that is tried, all parameters follow by
    weighted least squares, and the pair that meets the torques best is found (Golub and Pereyra
    1973).

    Parameters
    ----------
    robot : Robot
    logs : Log or iterable of Log
        Runs, with slow motion among them.
    stribeck : bool
        Whether there is Stribeck's part, too.
    rotors, extra, conditioning
        As `identify` takes them.

    Returns
    -------
    Friction
        For `identify(friction=...)` and `simulate(friction=...)`; how large Stribeck's part is, is
        among the parameters that `identify` finds.
    """
    from scipy.optimize import minimize  # which takes as long to load as all of armlet

    runs = _runs(robot, logs, conditioning)

    def shape(x: Any) -> Friction:
        v, *w = np.exp(np.clip(x, np.log(SLOWEST), np.log(FASTEST))).tolist()
        return Friction(v, 1.0, w[0]) if w else Friction(v)

    def left(x: Any) -> float:
        model = torque_model(robot, None, rotors, shape(x), extra or {})
        rows = merged(factors(model, run) for run in runs)
        return float(np.log(weighted(rows).noise).sum())

    start = np.log([0.02, 0.1] if stribeck else [0.02])
    with status("looking for the shape of friction"):
        found = minimize(
            left, start, method="Nelder-Mead",
            options={"xatol": 0.02, "fatol": 1e-4, "maxiter": 60, "initial_simplex":
                     np.vstack([start, start + np.eye(len(start))])},
        )  # fmt: skip
    return shape(found.x)


def _runs(
    robot: Robot, logs: Log | Iterable[Log], conditioning: Conditioning | None
) -> list[Samples]:
    every = [logs] if isinstance(logs, Log) else logs
    return [conditioned(log.in_order_of(robot), conditioning) for log in every]


@single_blas_thread
def sigmoid_friction(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    rotors: bool = False,
    extra: Mapping[str, Function | Column] | None = None,
    conditioning: Conditioning | None = None,
) -> Sigmoid:
    """The steepness and the shift of every joint's sigmoid friction (Gaz et al. 2019).

    What torques are linear in, p₁ and all other parameters, follows for every shape that is tried
    (Golub and Pereyra 1973).

    Parameters
    ----------
    robot : Robot
    logs : Log or iterable of Log
        Runs, with slow motion among them.
    rotors, extra, conditioning
        As `identify` takes them.

    Returns
    -------
    Sigmoid
        For `identify(friction=...)`.
    """
    from scipy.optimize import least_squares  # which takes as long to load as all of armlet

    runs = _runs(robot, logs, conditioning)
    if not runs:
        raise DataError("there are no logs: expected one or more")
    model, n = torque_model(robot, None, rotors, (), extra or {}), robot.n
    noise = weighted(merged(factors(replace(model, friction=USUAL), run) for run in runs)).noise
    rest = [whole(model, run) for run in runs]
    W, tau = (np.concatenate(x) for x in zip(*rest, strict=True))
    basis = np.linalg.qr((W / noise[:, None]).reshape(-1, W.shape[-1]))[0]

    def outside(columns: Array) -> Array:
        """Columns less their part within those of the other parameters."""
        found: Array = columns - basis @ (basis.T @ columns)
        return found

    measured = outside((tau / noise).ravel())

    def shape(x: Sequence[float]) -> Sigmoid:
        return Sigmoid(tuple(np.exp(x[:n]).tolist()), tuple(map(float, x[n:])))

    @lru_cache(maxsize=1)  # what is left and its derivative are asked for one after the other
    def fit(x: tuple[float, ...]) -> tuple[Array, Array, Array]:
        """The columns of a shape, the p₁ that meet the torques best, and the derivatives."""
        torques = [np.stack(shape(x).torques(run.qd), axis=1) for run in runs]
        rows = [
            run.decimated(own) * run.moving[run.kept][:, None]
            for run, own in zip(runs, torques, strict=True)
        ]
        columns = np.zeros((len(tau), n, 3, n))
        columns[:, range(n), :, range(n)] = (
            np.concatenate(rows).transpose(2, 0, 1) / noise[:, None, None]
        )
        own, by = np.split(outside(columns.reshape(-1, 3 * n)), [n], axis=1)
        size = np.asarray(np.linalg.lstsq(own, measured, rcond=None)[0], dtype=float)
        return own, size, by * np.tile(size, 2)

    def left(x: Array) -> Array:
        own, size, _ = fit(tuple(x))
        return measured - own @ size

    def slope(x: Array) -> Array:
        """The derivative of what is left (Kaufman 1975)."""
        own, _, J = fit(tuple(x))
        found: Array = own @ np.linalg.lstsq(own, J, rcond=None)[0] - J
        return found

    limits = np.repeat([np.log(STEEPNESS), SHIFT], n, axis=0).T
    start = np.repeat([np.log(START), 0.0], n)
    with status("looking for the shape of friction"):
        found = least_squares(left, start, slope, bounds=(limits[0], limits[1]), ftol=1e-4)
    return shape(found.x)

"""Fit friction parameters in which torques are nonlinear, by separable least squares."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from armlet._support.blas import single_blas_thread
from armlet._support.progress import status
from armlet.api import Robot
from armlet.identification.estimation.estimators import Array, weighted
from armlet.identification.estimation.torque_model import USUAL, Sigmoid, TorqueModel
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing import Preprocessing, preprocess_all
from armlet.simulation.forces import Friction

SLOWEST, FASTEST = 1e-4, 1.0
"""The range of velocities, rad/s or m/s, that `friction_shape` searches."""
STEEPNESS, SHIFT = (0.3, 1000.0), (-0.5, 0.5)
"""The search ranges of p₂ (s/rad or s/m) and p₃ (rad/s or m/s) of a `Sigmoid`."""
START = 10.0
"""The initial p₂ in the search for a `Sigmoid`."""


@single_blas_thread
def friction_shape(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    stribeck: bool = False,
    model: TorqueModel | None = None,
    preprocessing: Preprocessing | None = None,
) -> Friction:
    """Fit the parameters `velocity` and, optionally, `stribeck_velocity` of `armlet.Friction`.

    A search varies these velocities. At each trial, weighted least squares determines all other
    parameters, in which torques are linear (Golub and Pereyra 1973).

    Parameters
    ----------
    robot : Robot
    logs, model, preprocessing
        As in `identify`; logs need slow motion, and `model.friction` is ignored.
    stribeck : bool
        Whether to include Stribeck friction and fit `stribeck_velocity`.

    Returns
    -------
    Friction
        The friction law, for `TorqueModel(friction=...)` and `Plant(friction=...)`. With Stribeck
        friction, its stribeck is 1; for a plant, replace this 1 by the estimates of `identify`.
    """
    from scipy.optimize import minimize  # which takes as long to load as all of armlet

    runs = [*preprocess_all(logs, robot, preprocessing)]

    def shape(x: Any) -> Friction:
        v, *w = np.exp(np.clip(x, np.log(SLOWEST), np.log(FASTEST))).tolist()
        return Friction(v, 1.0, w[0]) if w else Friction(v)

    def cost(x: Any) -> float:
        regressor = replace(model or TorqueModel(), friction=shape(x)).of_robot(robot)
        return float(np.log(weighted(regressor.factors(runs)).noise).sum())

    start = np.log([0.02, 0.1] if stribeck else [0.02])
    with status("looking for the shape of friction"):
        simplex = np.vstack([start, start + np.eye(len(start))])
        options = {"xatol": 0.02, "fatol": 1e-4, "maxiter": 60, "initial_simplex": simplex}
        return shape(minimize(cost, start, method="Nelder-Mead", options=options).x)


@single_blas_thread
def sigmoid_friction(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    model: TorqueModel | None = None,
    preprocessing: Preprocessing | None = None,
) -> Sigmoid:
    """Fit the steepness and the shift of every joint's sigmoid friction (Gaz et al. 2019).

    A search varies the steepness and the shift. At each trial, least squares determines all other
    parameters, in which torques are linear (Golub and Pereyra 1973).

    Parameters
    ----------
    robot : Robot
    logs, model, preprocessing
        As in `identify`; logs need slow motion, and `model.friction` is ignored.

    Returns
    -------
    Sigmoid
        The friction law, for `TorqueModel(friction=...)`.
    """
    from scipy.optimize import least_squares  # which takes as long to load as all of armlet

    runs = [*preprocess_all(logs, robot, preprocessing)]
    regressor, n = replace(model or TorqueModel(), friction=()).of_robot(robot), robot.nv
    noise = weighted(replace(regressor, friction=USUAL).factors(runs)).noise
    rows = [regressor.all_rows(run) for run in runs]
    W, tau = (np.concatenate(x) for x in zip(*rows, strict=True))
    basis = np.linalg.qr((W / noise[:, None]).reshape(-1, W.shape[-1]))[0]

    def outside(columns: Array) -> Array:
        """Return `columns` minus their projection on the regressor columns of other parameters."""
        return np.asarray(columns - basis @ (basis.T @ columns))

    measured = outside((tau / noise).ravel())

    def shape(x: Sequence[float]) -> Sigmoid:
        return Sigmoid(tuple(np.exp(x[:n]).tolist()), tuple(map(float, x[n:])))

    @lru_cache(maxsize=1)  # `residuals` and `derivative` use the same x in turn
    def fit(x: tuple[float, ...]) -> tuple[Array, Array, Array]:
        """Return `outside` of friction columns, the best p₁ per joint, `outside` of derivatives."""
        rows = []
        for run in runs:
            torques = np.stack(shape(x).torques(run.qd), axis=1)
            rows.append(run.decimate(torques) * run.moving[run.indices][:, None])
        columns = np.zeros((len(tau), n, 3, n))
        columns[:, range(n), :, range(n)] = (
            np.concatenate(rows).transpose(2, 0, 1) / noise[:, None, None]
        )
        own, by = np.split(outside(columns.reshape(-1, 3 * n)), [n], axis=1)
        size = np.asarray(np.linalg.lstsq(own, measured, rcond=None)[0], dtype=float)
        return own, size, by * np.tile(size, 2)

    def residuals(x: Array) -> Array:
        own, size, _ = fit(tuple(x))
        return measured - own @ size

    def derivative(x: Array) -> Array:
        """Return the approximate derivative of the residuals with respect to x (Kaufman 1975)."""
        own, _, J = fit(tuple(x))
        return np.asarray(own @ np.linalg.lstsq(own, J, rcond=None)[0] - J)

    bounds = np.repeat([np.log(STEEPNESS), SHIFT], n, axis=0).T
    start = np.repeat([np.log(START), 0.0], n)
    with status("looking for the shape of friction"):
        return shape(least_squares(residuals, start, derivative, bounds=[*bounds], ftol=1e-4).x)

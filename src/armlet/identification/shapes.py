"""The shape of friction: velocities that torques are not linear in, by separable least squares."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from armlet.api import Robot
from armlet.api.functions import Function
from armlet.identification.conditioning import Conditioning, conditioned
from armlet.identification.estimators import weighted
from armlet.identification.factors import merged
from armlet.identification.log import Log
from armlet.identification.model import Column, torque_model
from armlet.identification.parts import factors
from armlet.motion.system import Friction
from armlet.progress import status

SLOWEST, FASTEST = 1e-4, 1.0
"""Between which velocities, rad/s or m/s, shapes are looked for."""


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

    runs = [conditioned(log, conditioning) for log in ([logs] if isinstance(logs, Log) else logs)]

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

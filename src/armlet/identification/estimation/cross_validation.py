"""Cross-validation: every part of the data is predicted from the others."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from armlet._support.blas import single_blas_thread
from armlet.api import Robot
from armlet.api.functions import Function
from armlet.errors import DataError, quoted
from armlet.identification.estimation.estimators import weighted
from armlet.identification.estimation.factors import merged
from armlet.identification.estimation.runs import factors
from armlet.identification.estimation.torque_model import Column, FrictionModel, torque_model
from armlet.identification.findings import Fit
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing.preprocessing import Conditioning, conditioned
from armlet.minimal import MinimalParameters


@single_blas_thread
def cross_validate(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    blocks: int = 1,
    parameters: MinimalParameters[Robot] | None = None,
    rotors: bool = False,
    friction: FrictionModel = True,
    extra: Mapping[str, Function | Column] | None = None,
    conditioning: Conditioning | None = None,
) -> list[Fit]:
    """How well each part of the data is predicted by weighted least squares on all others.

    Parameters
    ----------
    robot, parameters, rotors, friction, extra, conditioning
        As `identify` takes them.
    logs : Log or iterable of Log
        The runs.
    blocks : int
        Into how many blocks of time each run is cut; 1 to leave out run by run.

    Returns
    -------
    list of Fit
        One for each part, in the order of runs and of time.
    """
    if not isinstance(blocks, int) or blocks < 1:
        raise DataError(f"blocks is {quoted(blocks)}: expected a whole number, 1 or more")
    model = torque_model(robot, parameters, rotors, friction, extra or {})
    parts = []
    for log in [logs] if isinstance(logs, Log) else logs:
        samples = conditioned(log.in_order_of(robot), conditioning)
        for kept in np.array_split(samples.kept, blocks):
            parts.append(factors(model, replace(samples, kept=kept)))
    if len(parts) < 2:
        raise DataError("there is one part: expected several runs, or blocks=5, for instance")
    return [
        Fit.of(part, weighted(merged(x for j, x in enumerate(parts) if j != k)).x)
        for k, part in enumerate(parts)
    ]

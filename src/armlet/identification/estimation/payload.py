"""The payload of an arm that is known."""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from armlet._support.blas import single_blas_thread
from armlet.algebra import point_inertia, symmetric
from armlet.api import Robot
from armlet.errors import DataError, ModelError
from armlet.identification.estimation.estimators import weighted
from armlet.identification.estimation.factors import Array, Factors, merged
from armlet.identification.estimation.physical import Prior, likely_bodies
from armlet.identification.estimation.physical import consistent as consistent_parameters
from armlet.identification.estimation.runs import PORTION
from armlet.identification.findings import Findings, Fit
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing.preprocessing import Conditioning, conditioned
from armlet.identification.preprocessing.samples import Samples
from armlet.robot.components import BASE, PHI


class Payload(NamedTuple):
    """A body fixed on a frame of an arm."""

    mass: float
    """kg."""
    com: Array
    """Its centre of mass in that frame, m."""
    inertia: Array
    """Its inertia about the centre of mass, in the axes of the frame, (3, 3), kg m²."""
    deviation: float
    """The standard deviation of the mass."""
    before: Fit
    """How well torques are met without it."""
    fit: Fit
    """How well they are met with it."""


@single_blas_thread
def identify_payload(
    arm: Robot | Findings,
    logs: Log | Iterable[Log],
    *,
    frame: str | None = None,
    consistent: bool | None = None,
    conditioning: Conditioning | None = None,
) -> Payload:
    """The payload that an arm carries in a log.

    Parameters
    ----------
    arm : Robot or Identified
        What is known of the arm without it: a robot with its friction, or what was found from logs
        without the payload, which is more accurate.
    logs : Log or iterable of Log
        Runs with the payload.
    frame : str, optional
        Where the payload is; by default the tool.
    consistent : bool, optional
        Whether to find a body that is physical; needs cvxpy, and is done by default if that is
        installed. Otherwise it is what least squares gives.
    conditioning : Conditioning, optional
        How logs are resampled, filtered and differentiated.

    Returns
    -------
    Payload
        `robot.with_payload(found.mass, found.com, found.inertia)` carries it.
    """
    robot = arm.model.parameters.model if isinstance(arm, Findings) else arm
    body, at = robot.frame(frame)
    if body == BASE:
        raise ModelError(f"frame {frame!r} is on the base, where a payload has no effect")
    runs = [logs] if isinstance(logs, Log) else logs
    samples = (conditioned(log.in_order_of(robot), conditioning) for log in runs)
    parts = [Factors.of(W, tau) for run in samples for W, tau in _rows(arm, robot, body, run)]
    if not parts:
        raise DataError("there are no logs: expected one or more")
    factors = merged(parts)
    estimate = weighted(factors)
    phi = estimate.x
    if consistent or (consistent is None and find_spec("cvxpy") is not None):
        likely = likely_bodies(phi[None])
        R = factors.together(1 / estimate.noise)
        phi = consistent_parameters(R, np.eye(len(PHI)), PHI, Prior(likely))
    mass = float(phi[9])
    if mass <= 0:
        raise DataError(
            f"least squares gives a mass of {mass:.3g} kg: expected a log with more motion, or "
            "consistent=True"
        )
    centre = phi[6:9] / mass
    R = np.asarray(at.R, dtype=float)
    inertia = symmetric(*phi[:6]) - point_inertia(mass, centre)
    origin = np.asarray(at.point(np.zeros(3)), dtype=float)
    return Payload(
        mass,
        R.T @ (centre - origin),
        np.asarray(R.T @ inertia @ R, dtype=float),
        float(estimate.deviations[9]),
        Fit.of(factors, 0 * phi),
        Fit.of(factors, phi),
    )


def _rows(
    arm: Robot | Findings, robot: Robot, body: int, run: Samples
) -> Iterator[tuple[Array, Array]]:
    """The columns of one body's ten parameters, and the torques that the arm alone leaves."""

    def columns(own: Samples) -> Array:
        every = robot.regressor(own.q, own.qd, own.qdd, parameters="standard")
        found: Array = every[..., 10 * body : 10 * body + 10]
        return found

    def left(own: Samples) -> Array:
        if isinstance(arm, Findings):
            return own.tau - arm.torques(own.q, own.qd, own.qdd, arm.way)
        torques = arm.inverse_dynamics(own.q, own.qd, own.qdd) + arm.passive_torque(own.q, own.qd)
        return own.tau - np.asarray(torques)

    for piece in run.pieces(PORTION):
        moving = piece.moving[piece.kept]
        yield piece.decimated(columns) * moving[..., None], piece.decimated(left) * moving

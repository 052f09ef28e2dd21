"""Gains of drives as unknowns: currents instead of torques, and a payload that is known.

Of the currents i of joint j alone, i = k (Y φ + y), k and φ are known only up to a factor. Known
torques y of a payload fix it (Gautier and Briot 2014). Noise is in the currents, so that these are
what is fitted, by steps of Gauss and Newton in φ and k, on triangular factors of (Y | y | i). The
start is the linear form Y φ - g i = -y with g = 1/k, which noise in the currents biases.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armlet.errors import DataError, listed, quoted
from armlet.identification.estimation.estimators import ROUNDS, SMALL, Estimate, noise_of, solved
from armlet.identification.estimation.factors import Array, Factors

VAGUE = 0.2
"""The largest deviation of a gain, relative to it."""


class Gains(NamedTuple):
    """Torques per unit of what was logged, of each joint, and their standard deviations."""

    values: Array
    deviations: Array


def calibrated(factors: Factors, joints: Sequence[str], repeats: float) -> tuple[Estimate, Gains]:
    """Parameters and gains from factors of (Y | y | i), where y are torques of known payloads."""
    n, size, _ = factors.R.shape
    p = size - 2
    if not factors.R[:, :, p].any():
        raise DataError(
            "no run has a known payload that loads a joint, without which gains cannot be found: "
            "expected log.with_payload(mass, com, inertia) among the logs"
        )
    x, k = _start(factors, joints, p)
    noise = np.ones(n)
    for _ in range(ROUNDS):
        J, left = _linearised(factors, x, k)
        scale = np.repeat(1 / noise, size)
        step, inverse, rank = solved(np.column_stack([J, left]) * scale[:, None])
        x, k, last = x + step[:p], k + step[p:], k
        noise = noise_of(in_torques(factors, 1 / k), x, rank) * np.abs(k)
        if np.allclose(k, last, rtol=1e-9):
            break
    else:
        raise DataError(
            f"gains do not converge in {ROUNDS} rounds: expected more motion with the payload, or "
            "a heavier one"
        )
    _check_determined(J * scale[:, None], inverse, k, joints, repeats)
    gains = Gains(1 / k, np.sqrt(repeats * np.diag(inverse)[p:]) / k**2)
    torque_noise = noise / np.abs(k)
    return Estimate(x, inverse[:p, :p], torque_noise, 1 / torque_noise, rank - n), gains


def in_torques(factors: Factors, gains: Array) -> Factors:
    """Factors of (Y | g i - y) from those of (Y | y | i)."""
    last = gains[:, None] * factors.R[:, :, -1] - factors.R[:, :, -2]
    rows = np.concatenate([factors.R[:, :, :-2], last[..., None]], axis=-1)
    return Factors(Factors.of(rows.transpose(1, 0, 2)[..., :-1], rows[..., -1].T).R, factors.rows)


def _start(factors: Factors, joints: Sequence[str], p: int) -> tuple[Array, Array]:
    """Parameters and 1/g of the linear form, currents in units of their size."""
    n, size, _ = factors.R.shape
    unit = np.maximum(np.sqrt(factors.torques), np.finfo(float).tiny)
    rows = np.zeros((n, size, p + n + 1))
    for j, R in enumerate(factors.R):
        rows[j, :, :p], rows[j, :, p + j], rows[j, :, -1] = R[:, :p], -R[:, -1] / unit[j], -R[:, p]
    x, _, _ = solved(rows.reshape(n * size, -1))
    gains = x[p:] / unit
    lost = [joints[j] for j in range(n) if abs(x[p + j]) < SMALL]
    if lost:
        raise _undetermined(lost)
    return x[:p], 1 / gains


def _linearised(factors: Factors, x: Array, k: Array) -> tuple[Array, Array]:
    """The derivatives of the currents of all joints by x and k, and what these leave."""
    n, size, _ = factors.R.shape
    p = size - 2
    J = np.zeros((n, size, p + n))
    left = np.zeros((n, size))
    for j, R in enumerate(factors.R):
        torque = R[:, :p] @ x + R[:, p]
        J[j, :, :p], J[j, :, p + j] = k[j] * R[:, :p], torque
        left[j] = R[:, -1] - k[j] * torque
    return J.reshape(n * size, -1), left.ravel()


def _check_determined(
    J: Array, inverse: Array, k: Array, joints: Sequence[str], repeats: float
) -> None:
    """Raise where the motion with the payload does not determine a gain."""
    p = J.shape[1] - len(joints)
    _, s, Vt = np.linalg.svd(J / np.maximum(np.linalg.norm(J, axis=0), np.finfo(float).tiny))
    free = np.linalg.norm(Vt[s <= SMALL * s[0], p:], axis=0) > 1e-6
    vague = np.sqrt(repeats * np.diag(inverse)[p:]) > VAGUE * np.abs(k)
    lost = [joint for joint, bad in zip(joints, free | vague, strict=True) if bad]
    if lost:
        raise _undetermined(lost)


def _undetermined(joints: Sequence[str]) -> DataError:
    return DataError(
        f"the gain of joint {listed([quoted(joint) for joint in joints])} is not determined to "
        f"{100 * VAGUE:.0f} %: its current hardly depends on the payload. Expected a heavier one, "
        "further from the axis, or faster motion where gravity does not load the joint"
    )

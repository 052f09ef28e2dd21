"""Postures within all limits, to start from."""

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError
from armlet.identification.excitation.limits import Limit, State, least_slack, slack_of_rows

Array = NDArray[np.float64]
TRIED = 4000
"""How many random postures are tried."""


def posture_within(
    limits: list[Limit], centre: Array, half: Array, rng: np.random.Generator
) -> Array:
    """A posture within all limits at rest, and far from them, in a range of positions."""
    offsets = np.vstack([np.zeros(len(half)), rng.uniform(-0.9, 0.9, (TRIED, len(half)))])
    postures = centre + offsets * half
    slack = slack_of_rows(limits, _at_rest(postures))
    best: Array = postures[slack.argmax()]
    if slack.max() > 0:
        return best
    nearer = _nearer(limits, best)
    if least_slack(limits, _at_rest(nearer[None])) <= 0:
        raise DataError(_what_is_broken(limits, best))  # of which the position is within
    return nearer


def _at_rest(postures: Array) -> State:
    return State(postures, 0 * postures, 0 * postures)


def _nearer(limits: list[Limit], posture: Array) -> Array:
    """A posture near one that breaks limits, which breaks them less or not at all."""
    from scipy.optimize import minimize  # which takes as long to load as all of armlet

    def height(q: Array) -> tuple[float, Array]:
        state = _at_rest(q[None])
        found = [limit.barrier(state, near=1e-2) for limit in limits]
        return sum(x for x, _ in found), np.sum([by.q[0] for _, by in found], axis=0)

    best: Array = minimize(height, posture, method="L-BFGS-B", jac=True).x
    return best


def _what_is_broken(limits: list[Limit], posture: Array) -> str:
    """Which limit no posture was found within, and how far off the nearest is."""
    state = _at_rest(posture[None])
    limit = min(limits, key=lambda x: x.least_slack(state))
    values = limit.values(state)[0]
    k = int(limit.range.margins(values[None]).argmin())
    lower, upper = limit.range.lower[k], limit.range.upper[k]
    return (
        f"no posture within the limits was found: the nearest has {values[k]:.4g} for "
        f"{limit.entries[k]}, expected {lower:.4g} to {upper:.4g}; give wider limits"
    )

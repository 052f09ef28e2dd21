"""Cut-off frequencies chosen from the spectrum of a motion."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.identification.preprocessing.filters import power

Array = NDArray[np.float64]
POWER = 0.95
"""The part of a position's power below the frequency that the motion is said to reach."""
ABOVE_MOTION = 10.0
"""The bandwidth of the torques over that frequency: it has the harmonics of velocity products,
gravity and the reversal of friction."""
ABOVE_BANDWIDTH = 10.0
"""The cut-off of positions over the bandwidth: low enough for differences, high enough not to
change what is compared with the torques."""
NOISE = 0.1
"""The noise of an acceleration may be this much of the acceleration itself, by their rms."""
LEAST = 1.0
"""The lowest bandwidth that is chosen, in Hz."""
SEGMENT = 2**16
"""The most samples of one spectrum; those of longer logs are averaged."""


class Spectrum(NamedTuple):
    """The power density of some columns over frequency, and its floor at high frequencies."""

    f: Array
    power: Array
    floor: Array


def spectrum(x: Array, rate: float) -> Spectrum:
    """The spectrum of columns, their trend removed; the floor is the median of the upper half."""
    f, found = power(x, rate, SEGMENT)
    return Spectrum(f, found, np.median(found[f > rate / 4], axis=0))


def reach(s: Spectrum) -> Array:
    """For each column the frequency below which POWER of its power above the floor lies."""
    above = np.maximum(s.power - s.floor, 0)
    share = np.cumsum(above, axis=0) / np.maximum(above.sum(axis=0), 1e-300)
    return np.asarray(s.f[np.argmax(share >= POWER, axis=0)])


def quiet(s: Spectrum, bandwidth: float, derivatives: int) -> float:
    """The highest cut-off at which no column has more noise than NOISE after differentiation.

    A floor N of the power density becomes N (2π)²ᵈ f²ᵈ⁺¹ / (2d + 1) of variance below f, d
    derivatives later; the motion has what lies above the floor and below the bandwidth.
    """
    w = (2 * np.pi * s.f[:, None]) ** (2 * derivatives)
    own = np.where(s.f[:, None] <= bandwidth, np.maximum(s.power - s.floor, 0) * w, 0)
    variance = own.sum(axis=0) * (s.f[1] - s.f[0])
    order = 2 * derivatives + 1
    with np.errstate(divide="ignore"):
        highest = (
            NOISE**2 * variance * order / (s.floor * (2 * np.pi) ** (2 * derivatives))
        ) ** (1 / order)  # fmt: skip
    return float(highest.min())

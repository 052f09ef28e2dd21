"""The smooth motion that the arms of the examples follow."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Motion(NamedTuple):
    """Positions, velocities and accelerations of the joints."""

    q: Array
    qd: Array
    qdd: Array


def cycloid(start: ArrayLike, end: ArrayLike, duration: float, t: ArrayLike) -> Motion:
    """The motion from rest at `start` to rest at `end`, at the times t.

    q = start + (end - start) (φ - sin φ) / 2π with φ = 2π t / duration: velocity and acceleration
    vanish at both ends. A time may be traced.
    """
    first, span = np.asarray(start), np.subtract(end, start)
    rate = 2 * np.pi / duration
    phase = rate * np.asarray(t)[..., None]
    return Motion(
        first + span / (2 * np.pi) * (phase - np.sin(phase)),
        span / duration * (1 - np.cos(phase)),
        span / duration * rate * np.sin(phase),
    )

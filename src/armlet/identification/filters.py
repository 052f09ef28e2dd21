"""Low-pass filters without phase, derivatives, smoothing splines and spectra."""

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MEMORY = 6.0
"""How far the parallel filter reaches to both sides, in periods of its cut-off; it has fallen
to 1e-6 by then."""
TOGETHER = 32
"""How many decimated rows are computed by one product of matrices."""


class Smooth(NamedTuple):
    """Filtered columns and their first two derivatives."""

    value: Array
    first: Array
    second: Array


def _frequencies(k: int, rate: float) -> Array:
    return np.asarray(np.fft.rfftfreq(k, 1 / rate), dtype=float)


def _gain(f: Array, cutoff: float, order: int) -> Array:
    """The gain of a Butterworth filter that is applied forwards and backwards, so without phase."""
    return np.asarray(1 / (1 + (f / cutoff) ** (2 * order)))


def by_filter(x: Array, cutoff: float, rate: float, order: int, step: int = 1) -> Smooth:
    """Each step-th row after a Butterworth filter forwards and backwards, and its derivatives.

    The gain is applied to the Fourier transform of the rows, less the line from the first to the
    last, and mirrored at both ends. That is `scipy.signal.sosfiltfilt` with all rows as padding,
    and derivatives are exact.
    """
    k, kept = len(x), slice(0, len(x), step)
    f = _frequencies(2 * (k - 1), rate)
    gain, w = _gain(f, cutoff, order), 2j * np.pi * f
    way = np.linspace(0, 1, k)
    found = Smooth(*(np.empty((len(x[kept]), x.shape[1])) for _ in range(3)))
    for i, column in enumerate(np.asarray(x, dtype=float).T):
        rise = column[-1] - column[0]
        line = column[0] + way * rise
        rest = column - line
        waves = np.fft.rfft(np.concatenate([rest, -rest[-2:0:-1]])) * gain
        for d, trend in enumerate((line[kept], rise * rate / (k - 1), 0.0)):
            found[d][:, i] = np.fft.irfft(waves * w**d, 2 * (k - 1))[:k][kept] + trend
    return found


def reach_of_filter(cutoff: float, rate: float) -> int:
    """How many rows to both sides of a row the parallel filter takes in."""
    return ceil(MEMORY * rate / cutoff)


def decimated(x: Array, kept: NDArray[np.intp], cutoff: float, rate: float, order: int) -> Array:
    """Some rows of an array with any axes, after the same filter.

    The filter is a weighted mean of the rows around each that is kept, so that what is not kept is
    not computed and a row depends on nothing far away. At both ends rows are mirrored.
    """
    half = reach_of_filter(cutoff, rate)
    f = _frequencies(4 * half, rate)
    weights = np.roll(np.fft.irfft(_gain(f, cutoff, order), 4 * half), half)[: 2 * half + 1]
    weights /= weights.sum()
    rows = np.asarray(x, dtype=float).reshape(len(x), -1)
    found = np.empty((len(kept), rows.shape[1]))
    for at in range(0, len(kept), TOGETHER):
        own = kept[at : at + TOGETHER]
        first, last = own[0] - half, own[-1] + half + 1
        matrix = np.zeros((len(own), last - first))
        for row, k in zip(matrix, own - own[0], strict=True):
            row[k : k + 2 * half + 1] = weights
        found[at : at + TOGETHER] = matrix @ _mirrored(rows, first, last)
    return found.reshape(len(kept), *x.shape[1:])


def _mirrored(rows: Array, first: int, last: int) -> Array:
    """Rows from first to last, which may lie outside: there they are mirrored through the ends."""
    k = len(rows)
    inside = rows[max(first, 0) : min(last, k)]
    if first >= 0 and last <= k:
        return inside
    before = np.clip(np.arange(-first, 0, -1), 0, k - 1)
    after = np.clip(k - 2 - np.arange(last - k), 0, k - 1)
    return np.concatenate([2 * rows[0] - rows[before], inside, 2 * rows[-1] - rows[after]])


def by_spline(t: Array, x: Array, at: Array, cutoff: float) -> Smooth:
    """A smoothing spline through samples at any times, and its derivatives.

    The spline that minimises Σ (x - y)² + λ ∫ ÿ² passes a frequency ω by 1/(1 + λ ω⁴ Δt); λ is
    chosen to halve the cut-off.
    """
    from scipy import interpolate  # which takes as long to load as all of armlet

    between = (t[-1] - t[0]) / (len(t) - 1)
    lam = 1 / (between * (2 * np.pi * cutoff) ** 4)
    found = interpolate.make_smoothing_spline(t, x, lam=lam)
    return Smooth(found(at), found.derivative(1)(at), found.derivative(2)(at))


def resampled(at: Array, t: Array, x: Array) -> Array:
    """Columns at other times, linear between rows."""
    return np.stack([np.interp(at, t, column) for column in x.T], axis=1)


def power(x: Array, rate: float, segment: int) -> tuple[Array, Array]:
    """Frequencies, and the power density of columns by Welch's method with Hann's window.

    Segments overlap by half, and the trend of each is removed.
    """
    k = min(len(x), segment)
    window = np.hanning(k + 2)[1:-1, None]
    way = np.arange(k)[:, None] - (k - 1) / 2
    starts = np.linspace(0, len(x) - k, max(1, ceil(2 * len(x) / k) - 1)).astype(int)
    total: Array = np.zeros((k // 2 + 1, x.shape[1]))
    for start in starts:
        rows = x[start : start + k] - x[start : start + k].mean(axis=0)
        rows -= way * ((way * rows).sum(axis=0) / (way**2).sum())
        total += np.abs(np.fft.rfft(rows * window, axis=0)) ** 2
    return _frequencies(k, rate), 2 * total / (len(starts) * rate * float((window**2).sum()))

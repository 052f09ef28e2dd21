"""Low-pass filters without phase, derivatives, smoothing splines, and cut-offs from spectra."""

from collections.abc import Iterable
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MEMORY = 6.0
"""How far the parallel filter reaches to both sides, in periods of its cut-off; it has fallen
to 1e-6 by then."""
POWER = 0.95
"""The share of a position's power below the frequency that the motion is said to reach."""
NOISE = 0.1
"""The noise of an acceleration may be this much of the acceleration itself, by their rms."""
SEGMENT = 2**16
"""The most samples of one spectrum; those of longer logs are averaged."""


def _gain(f: NDArray[np.floating[Any]], cutoff: float, order: int) -> Array:
    """The gain of a Butterworth filter forwards and backwards, without phase."""
    return np.asarray(1 / (1 + (f / cutoff) ** (2 * order)))


def lowpass(
    x: Array, cutoff: float, rate: float, order: int, derivatives: int = 2, step: int = 1
) -> list[Array]:
    """Every step-th row after a Butterworth filter forwards and backwards, and its derivatives.

    The gain is applied to the Fourier transform of the rows, mirrored through both ends as far as
    the filter reaches, less the line from the first to the last: `scipy.signal.sosfiltfilt` with
    exact derivatives.
    """
    from scipy.fft import next_fast_len

    k = len(x)
    beyond = min(half_width(cutoff, rate), k - 1)
    rows = np.pad(x, ((beyond, beyond), (0, 0)), mode="reflect", reflect_type="odd")
    size = next_fast_len(len(rows), real=True)
    f = np.fft.rfftfreq(size, 1 / rate)
    gain, w = _gain(f, cutoff, order), 2j * np.pi * f
    way = np.linspace(0, 1, len(rows))
    inside = slice(beyond, beyond + k, step)
    results = [np.empty((len(x[::step]), x.shape[1])) for _ in range(derivatives + 1)]
    for i, column in enumerate(rows.T):
        rise = column[-1] - column[0]
        line = column[0] + way * rise
        waves = np.fft.rfft(column - line, size) * gain
        for d, trend in enumerate((line[inside], rise * rate / (len(rows) - 1), 0.0)):
            if d <= derivatives:
                results[d][:, i] = np.fft.irfft(waves * w**d, size)[inside] + trend
    return results


def half_width(cutoff: float, rate: float) -> int:
    """How many rows to both sides of a row the parallel filter takes in."""
    return ceil(MEMORY * rate / cutoff)


def decimate(
    blocks: Iterable[Array],
    first: int,
    count: int,
    indices: NDArray[np.intp],
    cutoff: float,
    rate: float,
    order: int,
) -> Array:
    """Rows at some indices, of `count` rows, after the same filter.

    Blocks are consecutive rows from `first` on, of any further axes, at least those within
    `half_width` of an index: the filter is a weighted mean of the rows around each, so that one
    block is in memory at a time. At both ends rows are mirrored.
    """
    half = half_width(cutoff, rate)
    gain = _gain(np.fft.rfftfreq(4 * half, 1 / rate), cutoff, order)
    weights = np.roll(np.fft.irfft(gain, 4 * half), half)[: 2 * half + 1]
    weights /= weights.sum()
    means = [_mean(weights, int(i), count) for i in indices]
    result: Array = np.zeros((len(indices), 0))
    for block in blocks:
        last = first + len(block)
        if not result.size:
            result = np.zeros((len(indices), *block.shape[1:]))
        own = slice(*np.searchsorted(indices, [first - half, last + half]))
        matrix = np.zeros((own.stop - own.start, len(block)))
        for row, (begin, mean) in zip(matrix, means[own], strict=True):
            inside = mean[max(0, first - begin) : max(0, last - begin)]
            at = max(0, begin - first)
            row[at : at + len(inside)] = inside
        flat = result.reshape(len(indices), -1)
        flat[own] += matrix @ block.reshape(len(block), -1)
        first = last
    return result


def _mean(weights: Array, i: int, count: int) -> tuple[int, Array]:
    """The first row that the mean around row i takes in, and the weights from it on."""
    half = len(weights) // 2
    around = np.arange(i - half, i + half + 1)
    first, last = max(0, i - half), min(count, i + half + 1)
    own = weights[first - around[0] : last - around[0]]
    if len(own) == len(weights):
        return first, own
    own = own.copy()  # a row outside is twice the row at the end less the row as far inside
    for outside, end in ((around < 0, 0), (around >= count, count - 1)):
        mirrored = np.clip(2 * end - around[outside], 0, count - 1)
        np.subtract.at(own, mirrored - first, weights[outside])
        own[end - first if outside.any() else 0] += 2 * weights[outside].sum()
    return first, own


def smoothing_spline(
    t: Array, x: Array, at: Array, cutoff: float, derivatives: int = 2
) -> list[Array]:
    """A smoothing spline through samples at any times, and its derivatives.

    The spline that minimises Σ (x - y)² + λ ∫ ÿ² passes a frequency ω by 1/(1 + λ ω⁴ Δt); λ is
    chosen to halve the cut-off.
    """
    from scipy import interpolate  # which takes as long to load as all of armlet

    between = (t[-1] - t[0]) / (len(t) - 1)
    lam = 1 / (between * (2 * np.pi * cutoff) ** 4)
    splines = [interpolate.make_smoothing_spline(t, column, lam=lam) for column in x.T]
    return [
        np.stack([spline.derivative(d)(at) for spline in splines], axis=1)
        for d in range(derivatives + 1)
    ]


def interpolate(at: Array, t: Array, x: Array) -> Array:
    """Columns at other times, linear between rows."""
    return np.stack([np.interp(at, t, column) for column in x.T], axis=1)


# ------------------------------------------------------------------ spectra


class Spectrum(NamedTuple):
    """The power density of some columns over frequency, and its floor at high frequencies."""

    f: Array
    power: Array
    floor: Array


def spectrum(x: Array, rate: float) -> Spectrum:
    """The spectrum of columns by Welch's method; the floor is the median of the upper half."""
    from scipy.signal import welch  # which takes as long to load as all of armlet

    f, power = welch(x, rate, nperseg=min(len(x), SEGMENT), detrend="linear", axis=0)
    return Spectrum(f, power, np.median(power[f > rate / 4], axis=0))


def motion_frequencies(s: Spectrum) -> Array:
    """For each column the frequency below which POWER of its power above the floor lies."""
    above = np.maximum(s.power - s.floor, 0)
    share = np.cumsum(above, axis=0) / np.maximum(above.sum(axis=0), 1e-300)
    return np.asarray(s.f[np.argmax(share >= POWER, axis=0)])


def quiet_cutoff(s: Spectrum, bandwidth: float, derivatives: int) -> float:
    """The highest cut-off at which no column has more noise than NOISE after differentiation.

    A floor N of the power density becomes N (2π)²ᵈ f²ᵈ⁺¹ / (2d + 1) of variance below f, d
    derivatives later; the motion has what lies above the floor and below the bandwidth.
    """
    w = (2 * np.pi * s.f[:, None]) ** (2 * derivatives)
    own = np.where(s.f[:, None] <= bandwidth, np.maximum(s.power - s.floor, 0) * w, 0)
    variance = own.sum(axis=0) * (s.f[1] - s.f[0])
    order = 2 * derivatives + 1
    with np.errstate(divide="ignore"):
        noise = s.floor * (2 * np.pi) ** (2 * derivatives) / order
        return float(((NOISE**2 * variance / noise) ** (1 / order)).min())

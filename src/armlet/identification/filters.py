"""Zero-phase low-pass filters, derivatives, smoothing splines, and cut-offs from spectra."""

from collections.abc import Iterable
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MEMORY = 6.0
"""The half width of a filter in periods of its cut-off; weights beyond it are negligible."""
POWER = 0.95
"""The share of a position's power that lies below the motion frequency."""
NOISE = 0.1
"""The largest accepted rms noise of an acceleration, relative to the rms acceleration."""
SEGMENT = 2**16
"""The largest number of samples per spectrum; for longer logs several spectra are averaged."""


def _gain(f: NDArray[np.floating[Any]], cutoff: float, order: int) -> Array:
    """Return the gain of a Butterworth filter that is applied forwards and backwards."""
    return np.asarray(1 / (1 + (f / cutoff) ** (2 * order)))


def lowpass(
    x: Array, cutoff: float, rate: float, order: int, derivatives: int = 2, step: int = 1
) -> list[Array]:
    """Apply a zero-phase Butterworth filter; return every `step`-th row and its time derivatives.

    Both ends are extended by odd reflection over the filter's half width. The Fourier transform
    filters the deviations from the straight line between the first and the last row. The filter
    corresponds to `scipy.signal.sosfiltfilt`; its output is differentiated exactly.
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
    """Return the number of rows that a filter averages on each side of a row."""
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
    """Filter `count` rows as `lowpass` does; return only the filtered rows at `indices`.

    `blocks` yields arrays of consecutive rows, beginning with row `first`. The blocks must include
    all rows within `half_width` of an index. A filtered row is a weighted mean of the rows around
    its index, so one block in memory is enough. Both ends are extended by odd reflection.
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
    """Return the index of the first row in the weighted mean around row i, and all weights."""
    half = len(weights) // 2
    around = np.arange(i - half, i + half + 1)
    first, last = max(0, i - half), min(count, i + half + 1)
    own = weights[first - around[0] : last - around[0]]
    if len(own) == len(weights):
        return first, own
    own = own.copy()  # odd reflection: twice the end row minus the mirrored row inside
    for outside, end in ((around < 0, 0), (around >= count, count - 1)):
        mirrored = np.clip(2 * end - around[outside], 0, count - 1)
        np.subtract.at(own, mirrored - first, weights[outside])
        own[end - first if outside.any() else 0] += 2 * weights[outside].sum()
    return first, own


def smoothing_spline(
    t: Array, x: Array, at: Array, cutoff: float, derivatives: int = 2
) -> list[Array]:
    """Fit a smoothing spline to samples (t, x); return its values and derivatives at times `at`.

    The spline y minimises Σ (x - y)² + λ ∫ ÿ². At an angular frequency ω, its gain is
    1/(1 + λ ω⁴ Δt), with the mean time step Δt. The choice of λ makes the gain at the cut-off 1/2.
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
    """Linearly interpolate each column of the samples (t, x) at times `at`."""
    return np.stack([np.interp(at, t, column) for column in x.T], axis=1)


# ------------------------------------------------------------------ spectra


class Spectrum(NamedTuple):
    """The power spectral density of each column over frequency, and its noise floor."""

    f: Array
    power: Array
    floor: Array


def spectrum(x: Array, rate: float) -> Spectrum:
    """Return the Welch spectrum of each column; its noise floor is the median above `rate` / 4."""
    from scipy.signal import welch  # which takes as long to load as all of armlet

    f, power = welch(x, rate, nperseg=min(len(x), SEGMENT), detrend="linear", axis=0)
    return Spectrum(f, power, np.median(power[f > rate / 4], axis=0))


def motion_frequencies(s: Spectrum) -> Array:
    """Return the frequency below which each column has the share `POWER` of noise-free power."""
    above = np.maximum(s.power - s.floor, 0)
    share = np.cumsum(above, axis=0) / np.maximum(above.sum(axis=0), 1e-300)
    return np.asarray(s.f[np.argmax(share >= POWER, axis=0)])


def quiet_cutoff(s: Spectrum, bandwidth: float, derivatives: int) -> float:
    """Return the highest cut-off at which rms noise is at most `NOISE` times each derivative's rms.

    Noise with power density N, differentiated d times, has the variance N (2π)²ᵈ f²ᵈ⁺¹/(2d + 1)
    below a frequency f. This is compared with the derivative's variance below the bandwidth.
    """
    w = (2 * np.pi * s.f[:, None]) ** (2 * derivatives)
    own = np.where(s.f[:, None] <= bandwidth, np.maximum(s.power - s.floor, 0) * w, 0)
    variance = own.sum(axis=0) * (s.f[1] - s.f[0])
    order = 2 * derivatives + 1
    with np.errstate(divide="ignore"):
        noise = s.floor * (2 * np.pi) ** (2 * derivatives) / order
        return float(((NOISE**2 * variance / noise) ** (1 / order)).min())

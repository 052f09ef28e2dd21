"""Low-pass filters without phase, derivatives, smoothing splines and spectra."""

from collections.abc import Callable
from math import ceil, log2, prod

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MEMORY = 6.0
"""How far the parallel filter reaches to both sides, in periods of its cut-off; it has fallen
to 1e-6 by then."""
BLOCK = 512
"""How many rows are computed at a time, so that they stay in the processor's cache."""


def _frequencies(k: int, rate: float) -> Array:
    return np.asarray(np.fft.rfftfreq(k, 1 / rate), dtype=float)


def _gain(f: Array, cutoff: float, order: int) -> Array:
    """The gain of a Butterworth filter that is applied forwards and backwards, so without phase."""
    return np.asarray(1 / (1 + (f / cutoff) ** (2 * order)))


def by_filter(
    x: Array, cutoff: float, rate: float, order: int, derivatives: int = 2, step: int = 1
) -> list[Array]:
    """Each step-th row after a Butterworth filter forwards and backwards, and its derivatives.

    The gain is applied to the Fourier transform of the rows, which are mirrored through both ends
    as far as the filter reaches, less the line from the first to the last. That is
    `scipy.signal.sosfiltfilt` with as much padding, and derivatives are exact.
    """
    k, kept = len(x), slice(0, len(x), step)
    beyond = min(reach_of_filter(cutoff, rate), k - 1)
    rows = _mirrored(np.asarray(x, dtype=float), -beyond, k + beyond)
    size = _fast_length(len(rows))
    f = _frequencies(size, rate)
    gain, w = _gain(f, cutoff, order), 2j * np.pi * f
    way = np.linspace(0, 1, len(rows))
    inside = slice(beyond, beyond + k)
    found = [np.empty((len(x[kept]), x.shape[1])) for _ in range(derivatives + 1)]
    for i, column in enumerate(rows.T):
        rise = column[-1] - column[0]
        line = column[0] + way * rise
        waves = np.fft.rfft(column - line, size) * gain
        for d, trend in enumerate((line[inside][kept], rise * rate / (len(rows) - 1), 0.0)):
            if d <= derivatives:
                found[d][:, i] = np.fft.irfft(waves * w**d, size)[inside][kept] + trend
    return found


def _fast_length(k: int) -> int:
    """The next length whose Fourier transform is fast."""
    return min(m << max(0, ceil(log2(k / m))) for m in (1, 3, 5, 9, 15, 25, 27))


def reach_of_filter(cutoff: float, rate: float) -> int:
    """How many rows to both sides of a row the parallel filter takes in."""
    return ceil(MEMORY * rate / cutoff)


def decimated(
    rows: Callable[[slice], Array],
    count: int,
    kept: NDArray[np.intp],
    cutoff: float,
    rate: float,
    order: int,
) -> Array:
    """Some of count rows, which a function returns for a slice, after the same filter.

    The filter is a weighted mean of the rows around each that is kept, so that what is not kept is
    not computed and a row depends on nothing far away. At both ends rows are mirrored. Rows may
    have any axes; few of them are stored at a time.
    """
    half = reach_of_filter(cutoff, rate)
    f = _frequencies(4 * half, rate)
    weights = np.roll(np.fft.irfft(_gain(f, cutoff, order), 4 * half), half)[: 2 * half + 1]
    weights /= weights.sum()
    means = [_mean(weights, int(i), count) for i in kept]
    found: Array = np.zeros((len(kept), 0))
    shape: tuple[int, ...] = ()
    first = max(0, int(kept[0]) - half)
    last = min(count, int(kept[-1]) + half + 1)
    for a in range(first, last, BLOCK):
        b = min(a + BLOCK, last)
        block = rows(slice(a, b))
        if not shape:
            shape = block.shape[1:]
            found = np.zeros((len(kept), prod(shape)))
        own = slice(*np.searchsorted(kept, [a - half, b + half]))
        matrix = np.zeros((own.stop - own.start, b - a))
        for row, (begin, mean) in zip(matrix, means[own], strict=True):
            part = mean[max(0, a - begin) : max(0, b - begin)]
            at = max(0, begin - a)
            row[at : at + len(part)] = part
        found[own] += matrix @ block.reshape(b - a, -1)
    return found.reshape(len(kept), *shape)


def _mean(weights: Array, i: int, count: int) -> tuple[int, Array]:
    """The first row that the mean around row i takes in, and the weights of it and those after.

    A row outside is twice the row at the end less the row as far inside.
    """
    half = len(weights) // 2
    around = np.arange(i - half, i + half + 1)
    first, last = max(0, i - half), min(count, i + half + 1)
    own = weights[first - around[0] : last - around[0]]
    if len(own) == len(weights):
        return first, own
    own = own.copy()
    for outside, end in ((around < 0, 0), (around >= count, count - 1)):
        mirrored = np.clip(2 * end - around[outside], 0, count - 1)
        np.subtract.at(own, mirrored - first, weights[outside])
        own[end - first if outside.any() else 0] += 2 * weights[outside].sum()
    return first, own


def _mirrored(rows: Array, first: int, last: int) -> Array:
    """Rows from first to last, of which those outside are mirrored through the ends."""
    k = len(rows)
    before, after = rows[-first:0:-1], rows[k - 2 : 2 * k - 2 - last : -1]
    return np.concatenate([2 * rows[0] - before, rows, 2 * rows[-1] - after])


def by_spline(t: Array, x: Array, at: Array, cutoff: float, derivatives: int = 2) -> list[Array]:
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

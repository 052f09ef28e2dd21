"""Samples for identification: a log, resampled, filtered, differentiated and decimated.

Positions are filtered without phase at a high cut-off and differentiated. The torques and every
column of a model are filtered alike at a lower cut-off, the bandwidth, and decimated (parallel
filtering, Gautier 1997), which removes noise and vibration that no rigid-body model contains.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from armlet._support import validation
from armlet.api import Robot
from armlet.errors import DataError, listing
from armlet.identification import filters
from armlet.identification.logs.checks import AT_REST
from armlet.identification.logs.log import Load, Log, Reader, each_log, open_log

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
JITTER = 1e-3
"""Logs are resampled if times differ from equally spaced ones by this share of a step."""
GAP = 10.0
"""A gap in time is longer than this many steps, and than a quarter period of the bandwidth."""
LOWEST_RATE, HIGHEST_BANDWIDTH, HIGHEST_CUTOFF = 0.9, 0.2, 0.4
"""The lowest rate, highest bandwidth and highest cut-off, relative to the rate of the log."""
LOWEST_BANDWIDTH = 1.0
"""The lowest bandwidth that is chosen, in Hz."""
ABOVE_MOTION = 10.0
"""The ratio of bandwidth and motion frequency, as products of velocities cause harmonics."""
ABOVE_BANDWIDTH = 10.0
"""The ratio of cut-off and bandwidth, so that torques below the bandwidth do not change."""
OVERSAMPLED = 10.0
"""The least ratio of sample rate and cut-off, as friction changes sign between two samples."""
ROWS_PER_PERIOD = 2.5
"""Decimated rows per period of the bandwidth; with two per period, rows would be independent."""
EDGE = 2.0
"""The time trimmed at each end, in periods of the lowest cut-off, where filters are inaccurate."""
AGREES = 0.05
"""Measured velocities are used if they differ from derived ones by less than this share."""
REST = 5e-3
"""A joint is at rest where it is slower than this share of its highest speed."""
FEWEST = 10
"""The fewest rows of a log, and of its samples after decimation."""
BLOCK = 512
"""How many rows are computed at a time, so that they stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Samples:
    """A preprocessed log, one row per time.

    Models are evaluated at all rows; then their columns and the torques are decimated alike.

    Attributes
    ----------
    t : array of shape (k,)
        Times in s, equally spaced.
    q, qd, qdd, tau : arrays of shape (k, n)
        Positions, velocities, accelerations and torques, filtered without phase.
    moving : array of bool of shape (k, n)
        Whether each joint moves. At rest its friction is unknown, and its rows are not used.
    rate : float
        Rows per second.
    indices : array of int of shape (m,)
        The indices of the rows that remain after decimation.
    bandwidth, order : float or None, int
        The cut-off in Hz of the parallel filter, None without one, and the order of the filters.
    joints, name : tuple of str, str
        The names of the joints and of the log.
    choices, notes : mapping, tuple of str
        All choices by name, and the notes of the log followed by notes on the choices.
    payload : Load, optional
        The known payload that the arm carried.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    moving: Flags
    rate: float
    indices: NDArray[np.intp]
    bandwidth: float | None
    order: int
    joints: tuple[str, ...]
    name: str = "log"
    choices: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    payload: Load | None = None

    def __len__(self) -> int:
        return len(self.t)

    def blocks(self) -> "Iterator[Samples]":
        """Yield the samples that decimated rows depend on, in consecutive blocks.

        If models are evaluated block by block, `decimate` needs little memory.
        """
        for rows in self._block_rows():
            yield self._rows(rows)

    def decimate(self, rows: Array | Iterable[Array]) -> Array:
        """Apply the parallel filter to `rows`, and return the filtered rows at `indices`.

        `rows` is an array with one row per sample, or yields one array for each block of `blocks`.
        """
        if isinstance(rows, np.ndarray):
            if len(rows) != len(self):
                raise DataError(
                    f"the array has {len(rows)} rows: expected one per sample, {len(self)}"
                )
            values = np.asarray(rows, dtype=float)
            rows = (values[own] for own in self._block_rows())
        if self.bandwidth is None:
            (block,) = rows
            return block
        first = self._span(self.indices).start
        return filters.decimate(
            rows, first, len(self), self.indices, self.bandwidth, self.rate, self.order
        )

    def chunks(self, rows: int) -> "Iterator[Samples]":
        """Yield chunks of the samples with at most `rows` indices each, to save memory.

        Chunks overlap by the half width of the filter, so that the decimated arrays of all chunks,
        concatenated, equal those of the whole samples up to rounding.
        """
        for k in range(0, len(self.indices), max(1, rows)):
            indices = self.indices[k : k + max(1, rows)]
            span = self._span(indices)
            yield replace(self._rows(span), indices=indices - span.start)

    def _block_rows(self) -> Iterator[slice | NDArray[np.intp]]:
        """Yield the rows of each block; without a filter, `indices` are the only block."""
        if self.bandwidth is None:
            yield self.indices
            return
        span = self._span(self.indices)
        for first in range(span.start, span.stop, BLOCK):
            yield slice(first, min(first + BLOCK, span.stop))

    def _span(self, indices: NDArray[np.intp]) -> slice:
        """The rows that the decimated rows at `indices` depend on."""
        margin = filters.half_width(self.bandwidth, self.rate) if self.bandwidth else 0
        first, last = int(indices[0]) - margin, int(indices[-1]) + margin
        return slice(max(0, first), min(len(self), last + 1))

    def _rows(self, own: slice | NDArray[np.intp]) -> "Samples":
        """The samples in rows `own`, with empty `indices`."""
        names = ("t", "q", "qd", "qdd", "tau", "moving")
        return replace(self, **{x: getattr(self, x)[own] for x in names}, indices=self.indices[:0])

    def __repr__(self) -> str:
        return (
            f"<Samples of {self.name!r}: {len(self)} rows at {self.rate:g} Hz, "
            f"{len(self.indices)} after decimation>"
        )


@dataclass(frozen=True)
class Preprocessing:
    """Settings of `preprocess`; those that are None are chosen from the log.

    Attributes
    ----------
    rate : float, optional
        Rows per second of the even grid that a log is resampled to; by default its own rate.
    cutoff : float, optional
        Cut-off of positions, velocities and torques in Hz, before differentiation. By default ten
        times the bandwidth, or less where noise would be more than a tenth of an acceleration.
    bandwidth : float, optional
        Cut-off in Hz of the filter that torques and regressors go through in parallel. By default
        ten times the frequency below which the fastest joint has 95 % of its power.
    order : int
        The order of the Butterworth filters, which are applied forwards and backwards.
    derivative : {"filter", "spline"}
        Whether to differentiate the filtered positions or a smoothing spline with the same cut-off,
        which needs no even grid.
    velocity : {"auto", "measured", "derived"}
        Whether measured velocities are used; by default only if they agree with the positions.
    acceleration : {"derived", "measured"}
        Whether measured accelerations are used.
    decimate : bool
        Whether to filter in parallel and decimate; if not, `cutoff` is the bandwidth by default.
    trim : float, optional
        The time that is left out at each end, in s; by default two periods of the lowest cut-off.
    rest : bool
        Whether to use rows of joints at rest, for which the direction of friction is unknown.
    """

    rate: float | None = None
    cutoff: float | None = None
    bandwidth: float | None = None
    order: int = 4
    derivative: Literal["filter", "spline"] = "filter"
    velocity: Literal["auto", "measured", "derived"] = "auto"
    acceleration: Literal["derived", "measured"] = "derived"
    decimate: bool = True
    trim: float | None = None
    rest: bool = False

    def __post_init__(self) -> None:
        for name in ("rate", "cutoff", "bandwidth"):
            if getattr(self, name) is not None:
                validation.number(getattr(self, name), name, "a frequency in Hz", above=0)
        if self.trim is not None:
            validation.number(self.trim, "trim", "a time in s", low=0)
        validation.integer(self.order, "order", low=1, high=10)
        validation.one_of(self.derivative, "derivative", ("filter", "spline"))
        validation.one_of(self.velocity, "velocity", ("auto", "measured", "derived"))
        validation.one_of(self.acceleration, "acceleration", ("derived", "measured"))


def preprocess(log: Log, settings: Preprocessing | None = None) -> Samples:
    """Resample, filter, differentiate and decimate a log.

    Parameters
    ----------
    log : Log
    settings : Preprocessing, optional
        Settings that override those chosen from the log.

    Returns
    -------
    Samples
        The samples, with `choices` and `notes` on what was chosen from the log.
    """
    s = settings or Preprocessing()
    notes = list(log.notes)
    if len(log) < FEWEST:
        raise _too_few(log, f"{len(log)} rows in {log.duration:.3g} s")
    rate, even = _even_rate(s, log, notes)
    for name, frequency in (("bandwidth", s.bandwidth), ("cutoff", s.cutoff)):
        if frequency is not None and frequency >= rate / 2:
            raise DataError(
                f"{name} is {frequency:g} Hz: expected less than half the rate of {log.name}, "
                f"{rate:g} Hz"
            )
    t = log.t[0] + np.arange(int(log.duration * rate * (1 + 1e-9)) + 1) / rate
    raw = {
        name: x if even else filters.interpolate(t, log.t, x)
        for name in ("q", "tau", "qd", "qdd")
        if (x := getattr(log, name)) is not None
    }
    idle = np.ptp(log.q, axis=0) < AT_REST
    moving = np.flatnonzero(~idle)
    bandwidth = _bandwidth(s, raw["q"][:, moving], rate, notes)
    measured = _uses_velocity(s, log, raw, moving, bandwidth, rate, notes)
    source = raw["qd" if measured else "q"][:, moving]
    cutoff = _cutoff(s, source, bandwidth, rate, 1 if measured else 2, notes)
    step = max(1, int(rate / (OVERSAMPLED * cutoff)))
    t = t[::step]

    def smooth(name: str, derivatives: int) -> list[Array]:
        if s.derivative == "spline":
            return filters.smoothing_spline(log.t, getattr(log, name), t, cutoff, derivatives)
        return filters.lowpass(raw[name], cutoff, rate, s.order, derivatives, step)

    if measured:
        (q,), (qd, qdd) = smooth("q", 0), smooth("qd", 1)
    else:
        q, qd, qdd = smooth("q", 2)
    if s.acceleration == "measured":
        if log.qdd is None:
            raise DataError(f"{log.name} has no accelerations: expected acceleration='derived'")
        (qdd,) = smooth("qdd", 0)
    (tau,) = smooth("tau", 0)
    qd[:, idle] = qdd[:, idle] = 0  # joints that never move have no velocity but noise
    if idle.any() and not idle.all():
        names = [repr(log.labels[i]) for i in np.flatnonzero(idle)]
        notes.append(
            f"joint {listing(names)} never moves: its torques are taken as free of friction, "
            "though static friction may carry part of the load"
        )
    trim = EDGE / (bandwidth if s.decimate else cutoff) if s.trim is None else s.trim
    spacing = max(1, int(rate / step / (ROWS_PER_PERIOD * bandwidth))) if s.decimate else 1
    good = _without_gaps(log, t, trim, bandwidth, notes)
    in_motion = np.full(q.shape, True)
    if not s.rest:
        good &= _in_motion(t, qd, bandwidth, notes)
        for i in moving:
            in_motion[:, i] = _joint_in_motion(log, t, q[:, i], log.labels[i], bandwidth, notes)
    indices = np.flatnonzero(good & (np.arange(len(t)) % spacing == 0))
    if len(indices) < FEWEST:
        raise _too_few(
            log,
            f"{log.duration:.3g} s, of which {trim:.3g} s are trimmed at both ends and "
            f"{len(indices)} rows remain at {bandwidth:.3g} Hz",
        )
    notes.append(f"{len(indices):,} rows remain, {trim:.2g} s are trimmed at both ends")
    choices: dict[str, Any] = {
        "log_rate": log.rate,
        "resampled": not even,
        "rate": rate / step,
        "cutoff": cutoff,
        "order": s.order,
        "derivative": s.derivative,
        "velocity": "measured" if measured else "derived",
        "acceleration": s.acceleration,
        "bandwidth": bandwidth if s.decimate else None,
        "trim": trim,
        "decimated_rate": rate / step / spacing,
        "rows": len(indices),
    }
    return Samples(
        *(t, q, qd, qdd, tau, in_motion),
        rate=rate / step,
        indices=indices,
        bandwidth=choices["bandwidth"],
        order=s.order,
        joints=log.labels,
        name=log.name,
        choices=choices,
        notes=tuple(notes),
        payload=log.payload,
    )


def preprocess_all(
    logs: Log | Iterable[Log | Reader], robot: Robot, settings: Preprocessing | None
) -> Iterator[Samples]:
    """Yield the samples of one log or several, columns in the order of a robot's joints."""
    for log in each_log(logs):
        yield preprocess(open_log(log).in_order_of(robot), settings)


# ------------------------------------------------------------------ choices


def _even_rate(s: Preprocessing, log: Log, notes: list[str]) -> tuple[float, bool]:
    """The rate of the even grid to resample a log to, and whether the log is on this grid."""
    mean = (len(log) - 1) / log.duration
    off = log.t - log.t[0] - np.arange(len(log)) / mean
    is_even = float(np.abs(off).max()) < JITTER / mean
    own = mean if is_even else float(f"{log.rate:.2g}")
    if s.rate is not None and s.rate < LOWEST_RATE * own:
        raise DataError(
            f"rate is {s.rate:g} Hz: expected no less than that of {log.name}, {own:g} Hz, since "
            "noise between rows would be taken for motion; bandwidth= decimates"
        )
    rate = s.rate or own
    if is_even and abs(rate - own) * log.duration < JITTER:
        return own, True
    between = np.diff(log.t)
    notes.append(
        f"time steps are {between.min():.3g} to {between.max():.3g} s: resampled to {rate:g} Hz"
    )
    return rate, False


def _bandwidth(s: Preprocessing, q: Array, rate: float, notes: list[str]) -> float:
    """The bandwidth of the torques, from the spectrum of the joints that move."""
    if s.bandwidth is not None:
        return s.bandwidth
    highest = HIGHEST_BANDWIDTH * rate
    lowest = min(LOWEST_BANDWIDTH, highest)
    if not q.size:
        notes.append(f"no joint moves: the bandwidth is {lowest:g} Hz")
        return lowest
    top = float(filters.motion_frequencies(filters.spectrum(q, rate)).max())
    bandwidth = min(max(ABOVE_MOTION * top, LOWEST_BANDWIDTH), highest)
    notes.append(
        f"the bandwidth is {bandwidth:.3g} Hz: the fastest joint has {filters.POWER:.0%} "
        f"of its power below {top:.3g} Hz"
    )
    return bandwidth


def _uses_velocity(
    s: Preprocessing,
    log: Log,
    raw: Mapping[str, Array],
    moving: NDArray[np.intp],
    bandwidth: float,
    rate: float,
    notes: list[str],
) -> bool:
    """Whether measured velocities are used."""
    if s.velocity == "derived" or (log.qd is None and s.velocity == "auto"):
        return False
    if log.qd is None:
        raise DataError(f"{log.name} has no velocities: expected velocity='derived' or 'auto'")
    if s.velocity == "measured" or not len(moving):
        return True
    _, derived = filters.lowpass(raw["q"][:, moving], bandwidth, rate, s.order, 1)
    (own,) = filters.lowpass(raw["qd"][:, moving], bandwidth, rate, s.order, 0)
    inner = slice(len(own) // 20, len(own) - len(own) // 20)
    differs = np.linalg.norm((own - derived)[inner], axis=0)
    differs /= np.maximum(np.linalg.norm(derived[inner], axis=0), 1e-300)
    worst = int(np.argmax(differs))
    if differs[worst] < AGREES:
        return True
    notes.append(
        f"measured velocities are not used: that of joint {log.labels[moving[worst]]!r} differs by "
        f"{differs[worst]:.0%} from the derivative of its position"
    )
    return False


def _cutoff(
    s: Preprocessing, x: Array, bandwidth: float, rate: float, derivatives: int, notes: list[str]
) -> float:
    """The cut-off of the columns x, which are differentiated `derivatives` times."""
    if s.cutoff is not None:
        return s.cutoff
    if not s.decimate:
        return bandwidth
    wanted = min(ABOVE_BANDWIDTH * bandwidth, HIGHEST_CUTOFF * rate)
    if not x.size:
        return wanted
    limit = filters.quiet_cutoff(filters.spectrum(x, rate), bandwidth, derivatives)
    if limit >= wanted:
        notes.append(f"the cut-off is {wanted:.3g} Hz")
        return wanted
    cutoff = min(max(limit, 2 * bandwidth), wanted)
    notes.append(
        f"the cut-off is {cutoff:.3g} Hz and not {wanted:.3g}: noise would be more than "
        f"{filters.NOISE:.0%} of an acceleration"
    )
    return cutoff


def _without_gaps(log: Log, t: Array, trim: float, bandwidth: float, notes: list[str]) -> Flags:
    """Whether each time is at least `trim` away from both ends and from gaps."""
    good: Flags = (t >= log.t[0] + trim) & (t <= log.t[-1] - trim)
    between = np.diff(log.t)
    gaps = np.flatnonzero(between > max(GAP / log.rate, 1 / (4 * bandwidth)))
    if len(gaps):
        good &= ~_within(t, log.t[gaps] - trim, log.t[gaps + 1] + trim)
        k = gaps[0]
        notes.append(
            f"gaps in time are left out, {len(gaps)} in all, with {trim:.2g} s at both sides; the "
            f"first is from {log.t[k]:.4g} to {log.t[k + 1]:.4g} s"
        )
    return good


def _in_motion(t: Array, qd: Array, bandwidth: float, notes: list[str]) -> Flags:
    """Whether each time is half a period of the bandwidth away from rests of the whole arm."""
    still = np.all(np.abs(qd) <= REST * np.abs(qd).max(axis=0), axis=1)
    moving, time = _outside(t, still, 0.5 / bandwidth, bandwidth)
    if not time or still.all():
        return np.full(len(t), True)
    notes.append(
        f"times at which no joint moves are left out, {time:.3g} s in all: the direction of "
        "friction is not known at rest"
    )
    return moving


def _joint_in_motion(
    log: Log, t: Array, q: Array, joint: str, bandwidth: float, notes: list[str]
) -> Flags:
    """Whether each time is outside the rests of a joint.

    The speed is the difference of positions over one period of the bandwidth, which has less noise
    than a derivative. Only rests of over two periods count, as reversals are shorter.
    """
    half = 0.5 / bandwidth
    ends = np.clip([t - half, t + half], t[0], t[-1])
    before, after = np.searchsorted(t, ends)
    travel = np.abs(q[after] - q[before])
    moving, time = _outside(t, travel <= REST * travel.max(), 2 / bandwidth, bandwidth)
    if time:
        notes.append(
            f"joint {joint!r} rests for {time:.3g} of {log.duration:.3g} s: its rows there are "
            "left out, as the direction of friction is not known at rest"
        )
    return moving


def _outside(t: Array, still: Flags, longer: float, bandwidth: float) -> tuple[Flags, float]:
    """Whether times are half a period away from rests over `longer`, and the rests' total time."""
    half = 0.5 / bandwidth
    change = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]])))
    first, last = t[change[::2]], t[change[1::2] - 1]
    long = last - first > longer
    return ~_within(t, first[long] - half, last[long] + half), float((last - first)[long].sum())


def _within(t: Array, first: Array, last: Array) -> Flags:
    """Whether each time is in one of the ascending intervals from `first` to `last`."""
    begun = np.searchsorted(first, t, side="right")
    ended = np.searchsorted(last, t, side="left")
    return np.asarray(begun != ended)


def _too_few(log: Log, size: str) -> DataError:
    return DataError(
        f"{log.name} has too few samples: it has {size}; expected at least {FEWEST} rows. "
        "Record for longer, or set bandwidth= and trim="
    )

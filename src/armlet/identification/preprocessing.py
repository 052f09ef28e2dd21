"""Preprocess logs for identification: resample, filter, differentiate and decimate.

Positions are filtered at a high cut-off, with zero phase, and differentiated. Torques and regressor
columns are both filtered at a lower cut-off, the bandwidth, and decimated (parallel filtering,
Gautier 1997). This removes noise and vibration that a rigid-body model does not describe.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from armlet._support import validation
from armlet.api import Robot
from armlet.errors import DataError, DataWarning, listing
from armlet.identification import filters
from armlet.identification.logs.checks import AT_REST
from armlet.identification.logs.log import Load, Log, Reader, each_log, use_log

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
JITTER = 1e-3
"""Logs are resampled if a time deviates from an even grid by more than this share of a step."""
GAP = 10.0
"""A time step is a gap if it exceeds both this many median steps and 1/(4 bandwidth)."""
LOWEST_RATE, HIGHEST_BANDWIDTH, HIGHEST_CUTOFF = 0.9, 0.2, 0.4
"""The lowest rate, highest bandwidth and highest cut-off, relative to the sample rate."""
LOWEST_BANDWIDTH = 1.0
"""The lowest bandwidth chosen by default, in Hz."""
ABOVE_MOTION = 10.0
"""The default ratio of bandwidth to motion frequency; torques contain harmonics of the motion."""
ABOVE_BANDWIDTH = 10.0
"""The default ratio of cut-off to bandwidth; it leaves torques below the bandwidth unchanged."""
OVERSAMPLED = 10.0
"""The least ratio of sample rate to cut-off that resolves the sign changes of friction."""
ROWS_PER_PERIOD = 2.5
"""The number of decimated rows in 1 / bandwidth seconds; about two of them are independent."""
EDGE = 2.0
"""The time trimmed at each end, where filters are inaccurate, in periods of the lowest cut-off."""
AGREES = 0.05
"""Measured velocities are used if their relative difference from derived ones is below this."""
REST = 5e-3
"""A joint is at rest while its speed is below this share of its highest speed."""
FEWEST = 10
"""The least number of rows of a log, before and after decimation."""
BLOCK = 512
"""The number of rows computed at a time; they fit in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Samples:
    """A preprocessed log, one row per time. Regressors are evaluated at all rows, then decimated.

    Attributes
    ----------
    t : array of shape (k,)
        Times in s, equally spaced.
    q, qd, qdd, tau : arrays of shape (k, n)
        Positions, velocities, accelerations and torques, after zero-phase filters.
    moving : array of bool of shape (k, n)
        Whether each joint's row is used. False at rests between motions, where the direction of
        friction is undefined, and in all rows of a joint that moves while its torque is constant.
    rate : float
        Rows per second.
    indices : array of int of shape (m,)
        The indices of the rows that remain after decimation.
    bandwidth, order : float or None, int
        The cut-off of the parallel filter in Hz (None: no filter), and the order of all filters.
    joints, name : tuple of str, str
        The names of the joints and of the log.
    choices, notes : mapping, tuple of str
        The preprocessing choices by name; the notes of the log and notes on these choices.
    payloads : tuple of Load
        The known payloads that the arm carried.
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
    payloads: tuple[Load, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    def blocks(self) -> "Iterator[Samples]":
        """Yield consecutive blocks of the rows that decimation needs, to save memory."""
        for rows in self._block_rows():
            yield self._rows(rows)

    def decimate(self, rows: Array | Iterable[Array]) -> Array:
        """Apply the parallel filter to `rows`, and return the filtered rows at `indices`.

        `rows` is an array with one row per sample, or an iterable with one array per block.
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
        """Yield chunks of the samples with at most `rows` decimated rows each, to save memory.

        Each chunk extends beyond its decimated rows by the filter's half width. Its decimated rows
        therefore equal those computed from all samples, up to rounding.
        """
        for k in range(0, len(self.indices), max(1, rows)):
            indices = self.indices[k : k + max(1, rows)]
            span = self._span(indices)
            yield replace(self._rows(span), indices=indices - span.start)

    def _block_rows(self) -> Iterator[slice | NDArray[np.intp]]:
        """Yield the row indices of each block; without a filter, the only block is `indices`."""
        if self.bandwidth is None:
            yield self.indices
            return
        span = self._span(self.indices)
        for first in range(span.start, span.stop, BLOCK):
            yield slice(first, min(first + BLOCK, span.stop))

    def _span(self, indices: NDArray[np.intp]) -> slice:
        """Return the slice of rows on which the decimated rows at `indices` depend."""
        margin = filters.half_width(self.bandwidth, self.rate) if self.bandwidth else 0
        first, last = int(indices[0]) - margin, int(indices[-1]) + margin
        return slice(max(0, first), min(len(self), last + 1))

    def _rows(self, own: slice | NDArray[np.intp]) -> "Samples":
        """Return the samples in rows `own`, with empty `indices`."""
        names = ("t", "q", "qd", "qdd", "tau", "moving")
        return replace(self, **{x: getattr(self, x)[own] for x in names}, indices=self.indices[:0])

    def __repr__(self) -> str:
        return (
            f"<Samples of {self.name!r}: {len(self)} rows at {self.rate:g} Hz, "
            f"{len(self.indices)} after decimation>"
        )


@dataclass(frozen=True)
class Preprocessing:
    """Settings of `preprocess`; settings that are None are chosen from the log.

    Attributes
    ----------
    rate : float, optional
        The rate in Hz of the even time grid for resampling; by default about the log's rate.
    cutoff : float, optional
        Cut-off in Hz of the filter for positions, velocities and torques. By default ten times the
        bandwidth, or less if noise would exceed a tenth of the rms acceleration.
    bandwidth : float, optional
        Cut-off in Hz of the parallel filter for torques and regressors. By default ten times the
        frequency below which 95 % of the power of the fastest joint's position lies.
    order : int
        The order of the Butterworth filters, which are applied forwards and backwards.
    derivative : {"filter", "spline"}
        Whether to differentiate filtered positions, or a smoothing spline with the same cut-off;
        the spline needs no even time grid.
    velocity : {"auto", "measured", "derived"}
        Whether to use measured velocities; "auto" uses them if they agree with the positions.
    acceleration : {"derived", "measured"}
        Whether to derive accelerations by differentiation, or to use measured ones.
    decimate : bool
        Whether to decimate by the parallel filter; if False, `cutoff` defaults to the bandwidth.
    trim : float, optional
        The time in s removed at each end; by default two periods of the lowest cut-off.
    rest : bool
        Whether to use rows of joints at rest, where the direction of friction is undefined.
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
        Settings that override the choices made from the log.

    Returns
    -------
    Samples
        The samples; their `choices` and `notes` list what was chosen from the log.
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
        name: x if even else filters.interpolate(t, log.t, x) for name, x in log.measured.items()
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
    qd[:, idle] = qdd[:, idle] = 0  # joints that never move have only noise
    if idle.any() and not idle.all():
        names = [repr(log.labels[i]) for i in np.flatnonzero(idle)]
        notes.append(
            f"joint {listing(names)} never moves: its torques are taken as free of friction, "
            "though static friction may carry part of the load"
        )
    constant = np.ptp(log.tau, axis=0) == 0
    dead = constant & ~(idle | constant.all())
    notes += [
        f"the torque of joint {log.labels[i]!r} never changes, though it moves: it is not used"
        for i in np.flatnonzero(dead)
    ]
    trim = EDGE / (bandwidth if s.decimate else cutoff) if s.trim is None else s.trim
    spacing = max(1, int(rate / step / (ROWS_PER_PERIOD * bandwidth))) if s.decimate else 1
    good = _without_gaps(log, t, trim, bandwidth, notes)
    in_motion = np.tile(~dead, (len(q), 1))
    if not s.rest:
        good &= _in_motion(t, qd, bandwidth, notes)
        for i in moving:
            in_motion[:, i] &= _joint_in_motion(log, t, q[:, i], log.labels[i], bandwidth, notes)
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
        payloads=log.payloads,
    )


def preprocess_all(
    logs: Log | Iterable[Log | Reader], robot: Robot, settings: Preprocessing | None
) -> Iterator[Samples]:
    """Preprocess each log as in `identify`; yield samples with columns in the robot's joint order.

    Each `Reader` without a usable log causes a warning. Raise if no samples remain.
    """
    robot._require_vector_space("identification")
    count = 0
    for k, log in enumerate(each_log(logs)):
        samples = use_log(lambda own: preprocess(own.in_order_of(robot), settings), k, log)
        if isinstance(samples, str):
            warnings.warn(f"a log is left out: {samples}", DataWarning, stacklevel=4)
        else:
            count += 1
            yield samples
    if not count:
        raise DataError("there are no logs: expected one or more that can be read")


# ------------------------------------------------------------------ choices


def _even_rate(s: Preprocessing, log: Log, notes: list[str]) -> tuple[float, bool]:
    """Return the rate of the even time grid, and whether the log already is on this grid."""
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
    """Return the bandwidth from the settings or from the spectra of moving joints' positions q."""
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
    """Return the filter cut-off for columns x that are then differentiated `derivatives` times."""
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
    """Flag the times that are at least `trim` s away from both ends of the log and from gaps."""
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
    """Flag the times at least 0.5 / `bandwidth` s away from all rests of the whole arm."""
    still = np.all(np.abs(qd) <= REST * np.abs(qd).max(axis=0), axis=1)
    moving, time = _outside(t, still, 0.5 / bandwidth, bandwidth)
    if not time or still.all():
        return np.full(len(t), True)
    notes.append(
        f"times at which no joint moves are left out, {time:.3g} s in all: the direction of "
        "friction is undefined at rest"
    )
    return moving


def _joint_in_motion(
    log: Log, t: Array, q: Array, joint: str, bandwidth: float, notes: list[str]
) -> Flags:
    """Flag the times at least 0.5 / `bandwidth` s away from all rests of a joint.

    Speed is measured as the travel in 1 / `bandwidth` s, which has less noise than a derivative.
    Only rests longer than 2 / `bandwidth` s count, since reversals of direction are shorter.
    """
    half = 0.5 / bandwidth
    ends = np.clip([t - half, t + half], t[0], t[-1])
    before, after = np.searchsorted(t, ends)
    travel = np.abs(q[after] - q[before])
    moving, time = _outside(t, travel <= REST * travel.max(), 2 / bandwidth, bandwidth)
    if time:
        notes.append(
            f"joint {joint!r} rests for {time:.3g} of {log.duration:.3g} s: its rows there are "
            "left out, as the direction of friction is undefined at rest"
        )
    return moving


def _outside(t: Array, still: Flags, longer: float, bandwidth: float) -> tuple[Flags, float]:
    """Flag times 0.5/`bandwidth` s or more from rests over `longer` s; return the rest time too."""
    half = 0.5 / bandwidth
    change = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]])))
    first, last = t[change[::2]], t[change[1::2] - 1]
    long = last - first > longer
    return ~_within(t, first[long] - half, last[long] + half), float((last - first)[long].sum())


def _within(t: Array, first: Array, last: Array) -> Flags:
    """Flag the times in any closed interval [first[k], last[k]]; both arrays are ascending."""
    begun = np.searchsorted(first, t, side="right")
    ended = np.searchsorted(last, t, side="left")
    return np.asarray(begun != ended)


def _too_few(log: Log, size: str) -> DataError:
    return DataError(
        f"{log.name} has too few samples: it has {size}; expected at least {FEWEST} rows. "
        "Record for longer, or set bandwidth= and trim="
    )

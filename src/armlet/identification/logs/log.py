"""`Log`: measured positions and torques of an arm."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import tables, validation
from armlet.api.robot import Robot
from armlet.errors import ArmletError, DataError, DataWarning, quote
from armlet.identification.logs.checks import log_warnings, unwrap
from armlet.identification.logs.columns import UNIT_WORDS, Quantities
from armlet.identification.logs.readers import Columns, Source, label, read_quantities
from armlet.identification.logs.units import (
    NAMES,
    PerJoint,
    in_si,
    per_joint,
    times,
    transmission,
    unit_of_time,
)

Array = NDArray[np.float64]
T = TypeVar("T")
Reader = Callable[[], "Log"]
"""A function that reads and returns a log on demand, such as partial(Log.read, path, robot)."""


class Load(NamedTuple):
    """A known payload: the arguments of `robot.with_payload`."""

    mass: float
    com: ArrayLike
    inertia: ArrayLike | None = None
    frame: str | None = None


@dataclass(frozen=True, eq=False)
class Log:
    """One run of an arm: measured positions and torques, one row per time, in read-only arrays.

    Attributes
    ----------
    t : array of shape (k,)
        Increasing times in s, not necessarily equidistant.
    q, tau : arrays of shape (k, n)
        Positions and torques of the joints: rad and Nm, or m and N for prismatic joints.
    qd, qdd : arrays of shape (k, n), optional
        Velocities and accelerations, if they were measured.
    joints : tuple of str
        The joint names, one per column; empty if columns are in the robot's joint order.
    name : str
        The name of the log in messages and reports.
    notes : tuple of str
        Remarks on guesses and conversions.
    payloads : tuple of Load
        The known payloads that the arm carried; their parameters are not identified.
    """

    t: Array
    q: Array
    tau: Array
    qd: Array | None = None
    qdd: Array | None = None
    joints: tuple[str, ...] = ()
    name: str = "log"
    notes: tuple[str, ...] = ()
    payloads: tuple[Load, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", _check_times(self.t, self.name))
        for name, array in self.measured.items():
            joints = self.joints if name == "q" else self.labels
            rows = _check_rows(array, name, self.name, len(self.t), joints)
            object.__setattr__(self, name, rows)

    @classmethod
    def read(
        cls,
        source: Source,
        robot: Robot,
        *,
        columns: Columns | None = None,
        rate: float | None = None,
        units: Mapping[str, str] | None = None,
        ratios: PerJoint | ArrayLike | None = None,
        torque_ratios: ArrayLike | None = None,
        gains: PerJoint | None = None,
        offsets: PerJoint = 0.0,
        topic: str | None = None,
        name: str | None = None,
    ) -> Log:
        """Read a log of a robot from one or more files, arrays or a simulated trajectory.

        Parameters
        ----------
        source : path, mapping or Trajectory
            A file (.csv, .tsv, .txt, .parquet, .npz, .npy, .mat; or, with the extra `ros`, .mcap,
            .db3 or a ROS 2 bag folder), a mapping from "t", "q", "qd", "qdd", "tau" or "current" to
            files or arrays, or a `Trajectory`.
        robot : Robot
            The measured robot; the log has one column per joint, in the robot's joint order.
        columns : mapping, optional
            Column names by quantity, if they cannot be guessed: a list in joint order, the name of
            an array, or a pattern such as "pos_{}", filled with joint names or with 1, 2, ….
        rate : float, optional
            Samples per second; required without time stamps, and used instead of any time stamps.
        units : mapping of str to str, optional
            Units by quantity, if not s, rad, m, Nm, N or A: "ms", "us", "ns"; "deg", "rev", "mm";
            "deg/s", "rpm"; "mNm"; "mA". A unit applies to all joints (or motors) that can have it,
            and overrides units in column names. By default, the units of velocities and
            accelerations follow from the units of positions.
        ratios : optional
            Gear ratios, motor speed over joint speed, if motors were measured: a number, one number
            per joint, or a mapping by joint name; negative if a motor rotates in the opposite
            direction. For coupled joints, the matrix N (n, n) of p = N q, with motor positions p.
        torque_ratios : (n, n) array_like, optional
            The matrix T of tau = T c, with motor torques c; by default Nᵀ.
        gains : optional
            Torque per current, Nm/A: per motor if `ratios` or `torque_ratios` is passed, else per
            joint.
        offsets : optional
            Offsets that are added to the joint positions, rad or m.
        topic : str, optional
            The topic in a bag; by default the joint-state topic with the most messages.
        name : str, optional
            The name of the log; by default the name of its file.

        Returns
        -------
        Log
            The log, with `notes` on all guesses. Implausible data also cause a `DataWarning`.

        Examples
        --------
        >>> import armlet, numpy as np
        >>> robot = armlet.load("planar2r")
        >>> t = np.arange(500) / 100
        >>> q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
        >>> armlet.Log.read({"t": t, "q": q, "tau": robot.gravity_torque(q)}, robot)
        <Log 'log' of 2 joints, 500 rows, 0 to 4.99 s>
        """
        validation.instance(robot, "robot", Robot, "a robot, as of armlet.load(...)")
        robot._require_vector_space("reading logs")
        units = units or {}
        for quantity, unit in units.items():
            if quantity not in NAMES or not isinstance(unit, str):
                raise DataError(
                    f"units= has {quote(unit)} for {quote(quantity)}: expected a unit by quantity, "
                    f"such as {{'q': 'deg'}}; quantities are {', '.join(NAMES)}"
                )
        joints = robot.joint_names
        read = read_quantities(source, joints, columns or {}, topic)
        notes, doubts = read.notes, read.warnings
        where = name or label(source)
        unused = "current" if gains is None else ""
        for quantity, (column, text) in read.unknown.items():
            if quantity not in (*units, unused, "t" if rate is not None else ""):
                raise DataError(
                    f"{where}: column {quote(column)} names the unit {quote(text)}, which is "
                    f"unknown: expected {', '.join(UNIT_WORDS[quantity])}, or rename the column, "
                    f"or give units={{{quantity!r}: ...}}, which overrides it"
                )
        sides = transmission(joints, ratios, torque_ratios)
        of_motors = sides is not None
        rows = len(read.arrays["q"])
        arrays = {
            quantity: _check_rows(read.arrays[quantity], quantity, where, rows, joints)
            for quantity in NAMES
            if quantity in read.arrays and quantity not in ("t", unused)
        }
        with np.errstate(over="ignore", invalid="ignore"):  # a log may have huge numbers
            measured = in_si(arrays, units, read.units, robot.coordinates, where, of_motors, notes)
            rotary = [of_motors or joint.letter != "P" for joint in robot.coordinates]
            measured["q"], jumps = unwrap(measured["q"], rotary)
            current = measured.pop("current", None)
            if gains is None and "tau" not in measured:
                raise DataError(f"{where} has currents and no torques: give gains=, in Nm/A")
            if gains is not None:
                if current is None:
                    raise DataError(
                        f"{where} has no currents, which gains= is for: name their columns with "
                        "columns={'current': ...}"
                    )
                measured["tau"] = current * per_joint(gains, joints, "gains", 1.0)
                notes.append("torques are currents times the gains of the drives")
            if sides is not None:
                N, T = sides
                for x in measured.keys() & {"q", "qd", "qdd"}:
                    measured[x] = np.linalg.solve(N, measured[x].T).T.astype(float)
                measured["tau"] = measured["tau"] @ T.T
                notes.append("the log is of the motors: gears take it to the joints")
            t = _time(read, measured, rate, units.get("t"), where)
            doubts += [x.message(t, joints, of_motors) for x in jumps]
            t, measured = _without_repeats(t, measured, notes)
            measured["q"] = measured["q"] + per_joint(offsets, joints, "offsets", 0.0)
            log = cls(t, **cast(Any, measured), joints=joints, name=where, notes=tuple(notes))
            doubts += log_warnings(log.t, log.q, log.qd, log.tau, robot)
        for doubt in doubts:
            warnings.warn(f"{where}: {doubt}", DataWarning, stacklevel=2)
        return replace(log, notes=(*log.notes, *doubts))

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> Log:
        """Return the log with the rows of a slice, such as log[10:20]."""
        if not isinstance(rows, slice):
            raise TypeError(f"a log is cut by a slice, such as log[10:20], not by {rows!r}")
        arrays: dict[str, Any] = {key: x[rows] for key, x in self.measured.items()}
        return replace(self, t=self.t[rows], **arrays)

    def with_payload(
        self,
        mass: float,
        com: ArrayLike,
        inertia: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Log:
        """Return the log with one more known payload; see `robot.with_payload` for arguments."""
        validation.number(mass, "the payload's mass", "one number", low=0)
        com = validation.array(com, "the payload's com", (3,), expected="three coordinates")
        return replace(self, payloads=(*self.payloads, Load(mass, com, inertia, frame)))

    def between(self, start: float, end: float) -> Log:
        """Return the log with the rows for which `start` <= t < `end`, with times in s."""
        first, last = np.searchsorted(self.t, (start, end))
        return self[int(first) : int(last)]

    def in_order_of(self, robot: Robot) -> Log:
        """Return the log with columns in the robot's joint order, matched by joint name."""
        robot._require_vector_space("a log")
        names = robot.joint_names
        if not self.joints and self.q.shape[1] != len(names):
            raise DataError(
                f"{self.name} has {self.q.shape[1]} joints: expected the {len(names)} of robot "
                f"{quote(robot.name)}"
            )
        order = joint_order(self.joints, robot, self.name)
        if order == [*range(len(names))]:
            return replace(self, joints=names)
        arrays: dict[str, Any] = {key: x[:, order] for key, x in self.measured.items()}
        note = f"columns are put in the order of the robot's joints: {', '.join(names)}"
        return replace(self, **arrays, joints=names, notes=(*self.notes, note))

    @property
    def measured(self) -> dict[str, Array]:
        """The measured arrays by name: q, tau and, if they were measured, qd and qdd."""
        arrays = {name: getattr(self, name) for name in ("q", "tau", "qd", "qdd")}
        return {name: x for name, x in arrays.items() if x is not None}

    @property
    def labels(self) -> tuple[str, ...]:
        """The joint names, or joint1, joint2, … for a log without joint names."""
        return self.joints or tuple(f"joint{k + 1}" for k in range(self.q.shape[1]))

    @property
    def duration(self) -> float:
        """The time from the first row to the last, in s."""
        return float(self.t[-1] - self.t[0])

    @property
    def rate(self) -> float:
        """Samples per second: one over the median time between rows."""
        return float(1 / np.median(np.diff(self.t)))

    def __repr__(self) -> str:
        return (
            f"<Log {self.name!r} of {self.q.shape[1]} joints, {len(self)} rows, "
            f"{self.t[0]:g} to {self.t[-1]:g} s>"
        )


def joint_order(joints: Sequence[str], robot: Robot, where: str) -> list[int]:
    """Return each robot joint's column index; without names, columns are in the robot's order."""
    names = robot.joint_names
    joints = joints or names
    if sorted(joints) != sorted(names):
        raise DataError(
            f"{where} has joints {', '.join(map(quote, joints))}: expected those of robot "
            f"{quote(robot.name)}, {', '.join(map(quote, names))}; read it for this robot, or, "
            "if columns are in the robot's order, take dataclasses.replace(log, joints=())"
        )
    return [joints.index(name) for name in names]


def each_log(logs: Any) -> Iterator[Log | Reader]:
    """Yield each log or function that reads one; raise for an entry of any other type."""
    is_one = isinstance(logs, Log | str | PathLike | Mapping) or not isinstance(logs, Iterable)
    for log in [logs] if is_one else logs:
        if isinstance(log, str | PathLike):
            path = quote(str(log))
            raise DataError(f"logs has the path {path}: expected armlet.Log.read({path}, robot)")
        if isinstance(log, type) or not (isinstance(log, Log) or callable(log)):
            raise DataError(
                f"logs has {quote(log)}: expected an armlet.Log, as armlet.Log.read(path or "
                "mapping, robot) or armlet.Log(t, q, tau) returns it, or a function that does so"
            )
        yield log


def use_log(work: Callable[[Log], T], k: int, log: Log | Reader) -> T | str:
    """Return work(log), or an error message if `log`, entry k, is a `Reader` that fails."""
    try:
        read = log if isinstance(log, Log) else log()
        if not isinstance(read, Log):
            raise DataError(f"{quote(log)} returned {quote(read)}: expected a Log")
        return work(read)
    except Exception as error:  # a user's function may raise anything
        if isinstance(log, Log) or isinstance(error, MemoryError):
            raise
        if isinstance(error, ArmletError):
            return str(error)
        return f"number {k + 1} raised {type(error).__name__}: {error}"


def _time(
    read: Quantities,
    measured: Mapping[str, Array],
    rate: float | None,
    requested: str | None,
    where: str,
) -> Array:
    """Return the times of all rows in s, from `rate` or from the time stamps."""
    rows = len(measured["q"])
    stamps = read.arrays.get("t")
    if rate is not None:
        validation.number(rate, "rate", "samples per second", above=0)
        if stamps is not None:
            read.notes.append(f"time in the log is ignored: rate= has {rate:g} samples per second")
        return np.arange(rows) / rate
    if stamps is None:
        raise DataError(f"{where} has no time: give rate=, in samples per second")
    if len(stamps) != rows:
        raise DataError(f"{where} has {len(stamps)} times and {rows} rows of positions")
    if stamps.dtype.kind == "u":
        stamps = stamps.astype(np.int64)
    if stamps.dtype.kind not in "if":
        raise DataError(f"time has numbers of type {stamps.dtype}: expected floats or integers")
    named = read.units.get("t")
    unit = requested or (named if isinstance(named, str) else None)
    if unit is None:
        unit = unit_of_time(stamps, measured["q"], measured.get("qd"), where, read.notes)
    return times(stamps, unit, read.notes)


def _without_repeats(
    t: Array, measured: dict[str, Array], notes: list[str]
) -> tuple[Array, dict[str, Array]]:
    """Return times and arrays without the rows whose time is that of the row before."""
    repeated = np.flatnonzero(np.diff(t) == 0) + 1
    if not len(repeated) or not np.isfinite(t).all():
        return t, measured
    notes.append(
        f"{len(repeated):,} rows have the time of the row before and are left out, the first is "
        f"row {repeated[0]}"
    )
    rows = np.delete(np.arange(len(t)), repeated)
    return t[rows], {name: array[rows] for name, array in measured.items()}


# ------------------------------------------------------------------ checks


def _check_times(t: Any, where: str) -> Array:
    """Return times as a new read-only array; raise unless they are finite and increasing."""
    array = np.array(t, dtype=float)
    array.setflags(write=False)
    if array.ndim != 1 or len(array) < 2:
        raise DataError(f"{where}: t has shape {array.shape}: expected at least two times")
    tables.check_increasing(array, where)
    return array


def _check_rows(values: Any, name: str, where: str, rows: int, joints: Sequence[str]) -> Array:
    """Return values as a new read-only array (k, n); raise unless all are finite."""
    width = len(joints) or "joints"
    expected = f"({rows}, {width}), one row per time and one column per joint"
    name = f"{where}: {name}"
    array = validation.array(values, name, (rows, width), expected=expected, finite=False)
    array.setflags(write=False)
    bad = ~np.isfinite(array)
    if bad.any():
        joint = int(np.argmax(bad.any(0)))
        at = np.flatnonzero(bad[:, joint])
        breaks = np.flatnonzero(np.diff(at) > 1)
        last = at[breaks[0]] if len(breaks) else at[-1]
        own = joints[joint] if joints else f"joint{joint + 1}"
        raise DataError(
            f"{name} of joint {quote(own)} is {array[at[0], joint]} in rows "
            f"{at[0]} to {last} (rows count from 0), {len(at):,} of {rows:,} rows in all: cut "
            "these rows out of the log, or fill them"
        )
    return array

"""Units and time stamps of logs, and transmissions between motors and joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet.errors import DataError, listing, quote
from armlet.robot import Joint

Array = NDArray[np.float64]
PerJoint = float | Sequence[float] | Mapping[str, float] | Array

NAMES = {
    "t": "time",
    "q": "positions",
    "qd": "velocities",
    "qdd": "accelerations",
    "tau": "torques",
    "current": "currents",
}
"""The quantities of a log, mapped to their names in messages."""
ANGLES = {"rad": 1.0, "deg": pi / 180, "rev": 2 * pi, "mrad": 1e-3, "mdeg": pi / 180e3}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}
OF_REVOLUTE: dict[str, dict[str, float]] = {
    "q": ANGLES,
    "qd": {f"{unit}/s": x for unit, x in ANGLES.items()}
    | {"rpm": 2 * pi / 60, "deg/min": pi / 10800},
    "qdd": {f"{unit}/s²": x for unit, x in ANGLES.items()},
    "tau": {"Nm": 1.0, "mNm": 1e-3, "Ncm": 1e-2, "Nmm": 1e-3, "kNm": 1e3},
    "current": {"A": 1.0, "mA": 1e-3},
}
"""For each quantity of a revolute joint: the possible units and their size in SI units."""
OF_PRISMATIC: dict[str, dict[str, float]] = {
    "q": LENGTHS,
    "qd": {f"{unit}/s": x for unit, x in LENGTHS.items()},
    "qdd": {f"{unit}/s²": x for unit, x in LENGTHS.items()},
    "tau": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "current": OF_REVOLUTE["current"],
}
PER_TIME = {"qd": "/s", "qdd": "/s²"}
"""The suffixes that convert position units to velocity and acceleration units."""
SINCE_1970 = 1e8
"""If the first time stamp exceeds this many s, as dates do, it is subtracted from all stamps."""
LATEST = 4.2e9
"""The largest plausible time stamp, in s since 1970: the year 2103."""
SHORTEST, LONGEST = 1.5e-4, 60.0
"""The range of plausible times between rows in s, for guessing the unit of time."""
FASTEST = 60.0
"""The largest plausible joint speed in rad/s or m/s, for guessing the unit of time."""
ALIKE = 3.0
"""The largest accepted ratio between a unit of time and its estimate from velocities."""
Named = str | tuple[str | None, ...]
"""The unit in an array's name, or the unit in each column's name (None if unknown)."""


def in_si(
    arrays: Mapping[str, Array],
    requested: Mapping[str, str],
    named: Mapping[str, Named],
    joints: Sequence[Joint],
    where: str,
    of_motors: bool,
    notes: list[str],
) -> dict[str, Array]:
    """Convert `arrays` to SI units, column by column; `arrays` must list positions first."""
    measured, positions = {}, [""] * len(joints)
    for quantity, array in arrays.items():
        of_joints = {"R": OF_REVOLUTE[quantity], "P": OF_PRISMATIC[quantity]}
        sizes = of_joints["R"] | of_joints["P"]
        tables = [sizes if of_motors else of_joints.get(x.letter, of_joints["R"]) for x in joints]
        columns = _column_units(quantity, requested, named, tables, positions)
        units: list[str] = []
        for joint, unit, table in zip(joints, columns, tables, strict=True):
            subject = f"{where}: the {NAMES[quantity]} of joint {quote(joint.name)}"
            if unit is not None and unit not in table:
                raise DataError(
                    f"{subject} are in {unit} by the name of their column, or its type: expected "
                    f"a unit such as {next(iter(table))}"
                )
            alike = {x for x, y in zip(columns, joints, strict=True) if y.letter == joint.letter}
            odd = [x for x in alike if x and sizes.get(x) != 1.0]
            if unit is None and odd:
                raise DataError(
                    f"{subject} have no unit in the name of their column, while those of others "
                    f"are in {', '.join(odd)}: give units={{{quantity!r}: ...}}, or say the unit "
                    "in every name"
                )
            own = next(iter(of_joints.get(joint.letter, of_joints["R"])))
            units.append(own if unit is None or sizes[unit] == 1.0 else unit)
        measured[quantity] = array * np.array([sizes[unit] for unit in units])
        if any(columns):
            groups: dict[str, list[str]] = {}
            for joint, name in zip(joints, units, strict=True):
                groups.setdefault(name, []).append(joint.name)
            shown = [f"{name} ({listing(names)})" for name, names in groups.items()]
            shown = shown if len(groups) > 1 else [*groups]
            notes.append(f"{NAMES[quantity]} are in {', '.join(shown)}")
            positions = units if quantity == "q" else positions
    return measured


def _column_units(
    quantity: str,
    requested: Mapping[str, str],
    named: Mapping[str, Named],
    tables: Sequence[Mapping[str, float]],
    positions: Sequence[str],
) -> list[str | None]:
    """Return the unit of each column, or None for an unknown unit.

    A requested unit, or a unit in an array's name, applies to each column whose table of possible
    units (an entry of `tables`) contains it. A unit in a column's name applies to that column.
    Otherwise, units of velocities and accelerations follow from units of positions.
    """
    sizes = OF_REVOLUTE[quantity] | OF_PRISMATIC[quantity]
    request, name = requested.get(quantity), named.get(quantity)
    if request is not None and (request := request.replace("^2", "²")) not in sizes:
        raise DataError(f"units= has {quote(request)} for {quantity}: expected {', '.join(sizes)}")
    shared = [unit for unit in (request, name) if isinstance(unit, str)]
    for x in shared[:1]:
        if sizes.get(x) != 1.0 and not any(x in table for table in tables):
            raise DataError(
                f"{quantity} is said to be in {x}, which no joint of the robot can have: expected "
                f"{', '.join(tables[0])}"
            )
    own = name if isinstance(name, tuple) else (None,) * len(tables)
    units: list[str | None] = []
    for table, column, position in zip(tables, own, positions, strict=True):
        unit: str | None = next((x for x in shared if x in table), column)
        if unit is not None and unit not in table and sizes.get(unit) == 1.0:
            unit = None  # the m of q_m_1 may mean motor, and forces may be labelled Nm
        if unit is None and position and quantity in PER_TIME:
            unit = position + PER_TIME[quantity]
        units.append(unit)
    return units


def times(stamps: NDArray[Any], unit: str, notes: list[str]) -> Array:
    """Convert time stamps to s; large stamps, such as dates, count from the first stamp."""
    if unit not in TIMES:
        raise DataError(f"units= has {quote(unit)} for t: expected {', '.join(TIMES)}")
    if len(stamps) and abs(float(stamps[0])) * TIMES[unit] > SINCE_1970:
        notes.append("time counts from the first sample")
        stamps = stamps - stamps[0]  # as integers: floats would round stamps in ns
    return np.asarray(stamps, dtype=float) * TIMES[unit]


def unit_of_time(
    stamps: NDArray[Any], q: Array, qd: Array | None, where: str, notes: list[str]
) -> str:
    """Guess the unit of time stamps from their spacing, their size and the measured motion.

    A unit is possible if, in this unit, rows are 0.15 ms to 60 s apart and the first stamp is
    before 2103. Measured velocities, or else the speed of the joints, select one of several. Raise
    if no single unit remains: the same number may be a date in ms or some weeks since boot in us.
    """
    if len(stamps) < 2 or not np.isfinite(stamps).all():
        return "s"  # `Log` raises an error
    first, step = float(stamps[0]), float(np.median(np.diff(np.asarray(stamps, dtype=float))))
    possible = [
        unit
        for unit, size in TIMES.items()
        if unit != "min" and SHORTEST <= step * size <= LONGEST and abs(first) * size < LATEST
    ]
    if step < SHORTEST or possible == ["s"]:
        return "s"
    why, units = "its size", possible
    if len(units) != 1 and (size := _size_by_velocity(stamps, q, qd)):
        near = [unit for unit in units if 1 / ALIKE < TIMES[unit] / size < ALIKE]
        why, units = "the measured velocities", near or units
    if len(units) != 1:
        rows = np.abs(np.diff(q, axis=0)) / step
        speed = float(np.percentile(rows, 90, axis=0).max()) if len(rows) else 0.0
        units = [unit for unit in units if speed / TIMES[unit] < FASTEST]
        why = "how fast the joints move"
    if len(units) != 1:
        raise DataError(
            f"{where}: rows are {step:g} apart in time, which may be in "
            f"{' or '.join(possible or TIMES)}: give units={{'t': ...}} or rate=, or say the unit "
            "in the column's name, such as time_ms"
        )
    notes.append(f"time is taken to be in {units[0]}, by {why}")
    return units[0]


def _size_by_velocity(stamps: NDArray[Any], q: Array, qd: Array | None) -> float | None:
    """Return the time unit, in s, for which velocities integrate to positions, or None."""
    if qd is None or len(q) < 3:
        return None
    between = np.diff(np.asarray(stamps - stamps[0], dtype=float))[:, None]
    travel = np.cumsum((qd[1:] + qd[:-1]) / 2 * between, axis=0)
    travel, own = travel - travel.mean(0), q[1:] - q[1:].mean(0)
    product, square = (own * travel).sum(0), (travel * travel).sum(0)
    sizes = product[(product > 0) & (square > 0)] / square[(product > 0) & (square > 0)]
    return float(np.median(sizes)) if len(sizes) else None


# ------------------------------------------------------------------ joints and motors


def per_joint(
    values: PerJoint | ArrayLike, joints: Sequence[str], subject: str, default: float
) -> Array:
    """Return one number per joint, from a single number, a sequence, or a mapping by joint name."""
    if isinstance(values, Mapping):
        for name in values:
            validation.one_of(name, f"a joint of {subject}=", joints)
        values = [values.get(joint, default) for joint in joints]
    expected = f"a finite number for each of {len(joints)} joints"
    array = validation.array(values, f"{subject}=", (), (len(joints),), expected=expected)
    return np.broadcast_to(array, (len(joints),)).copy()


def transmission(
    joints: Sequence[str], ratios: PerJoint | ArrayLike | None, torque_ratios: ArrayLike | None
) -> tuple[Array, Array] | None:
    """Return the matrices N and T of a transmission, or None if joints were measured.

    Motor positions are p = N q, and joint torques are tau = T c with motor torques c. Since motors
    and joints have equal power, c · ṗ = tau · q̇, T is Nᵀ unless `torque_ratios` is passed.
    """
    if ratios is None and torque_ratios is None:
        return None
    n = len(joints)
    if not isinstance(ratios, Mapping | None) and np.ndim(ratios) == 2:
        N = validation.array(ratios, "ratios=", (n, n))
    else:
        N = np.diag(per_joint(1.0 if ratios is None else ratios, joints, "ratios", 1.0))
    if np.linalg.matrix_rank(N) < n:
        raise DataError("ratios= cannot be inverted: motors do not determine the joints")
    if torque_ratios is None:
        return N, N.T
    return N, validation.array(torque_ratios, "torque_ratios=", (n, n))

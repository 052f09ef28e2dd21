"""Units of a log, its time stamps, and the way from motors to joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.errors import DataError, quoted

Array = NDArray[np.float64]
PerJoint = float | Sequence[float] | Mapping[str, float] | Array

ANGLES = {"rad": 1.0, "deg": pi / 180, "rev": 2 * pi}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
OF_REVOLUTE: dict[str, dict[str, float]] = {
    "q": ANGLES,
    "qd": {f"{unit}/s": x for unit, x in ANGLES.items()} | {"rpm": 2 * pi / 60},
    "qdd": {f"{unit}/s²": x for unit, x in ANGLES.items()},
    "tau": {"Nm": 1.0, "mNm": 1e-3, "Ncm": 1e-2, "kNm": 1e3},
    "current": {"A": 1.0, "mA": 1e-3},
}
"""Units of what revolute joints have, in SI units; currents are those of any joint."""
OF_PRISMATIC: dict[str, dict[str, float]] = {
    "q": LENGTHS,
    "qd": {f"{unit}/s": x for unit, x in LENGTHS.items()},
    "qdd": {f"{unit}/s²": x for unit, x in LENGTHS.items()},
    "tau": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "current": OF_REVOLUTE["current"],
}
STAMPS = {"ns": 1e17, "us": 1e14, "ms": 1e11, "s": 1e8}
"""Time stamps that count from 1970 are larger than this, by their unit."""
SHORTEST = 1.5e-4
"""The shortest time between samples, in s, that is believed where the unit is guessed."""


def with_rates(units: Mapping[str, str]) -> dict[str, str]:
    """Units, with those of velocities and accelerations by that of the positions."""
    rates = {"qd": "/s", "qdd": "/s²"}
    own = units.get("q")
    return {**{name: f"{own}{per}" for name, per in rates.items() if own}, **units}


def factors(quantity: str, unit: str, letters: Sequence[str]) -> Array:
    """What to multiply the columns of a quantity by; joints of the other kind are in SI units."""
    tables = {"R": OF_REVOLUTE[quantity], "P": OF_PRISMATIC[quantity]}
    known = {**tables["R"], **tables["P"]}
    unit = unit.replace("^2", "²")
    if unit not in known:
        raise DataError(f"units= has {quoted(unit)} for {quantity}: expected {', '.join(known)}")
    return np.array([tables[letter].get(unit, 1.0) for letter in letters])


def times(stamps: NDArray[Any], unit: str | None, notes: list[str]) -> Array:
    """Time stamps in s; without a unit it is guessed by their size."""
    if stamps.dtype.kind not in "iuf":
        raise DataError(f"time has numbers of type {stamps.dtype}: expected floats or integers")
    if len(stamps) < 2:
        return np.asarray(stamps, dtype=float)
    if unit is None:
        unit = _guessed_unit(stamps)
        if unit != "s":
            notes.append(f"time is taken to be in {unit}, by its size")
    if unit not in TIMES:
        raise DataError(f"units= has {quoted(unit)} for t: expected {', '.join(TIMES)}")
    start = stamps[0]
    if abs(float(start)) * TIMES[unit] > STAMPS["s"]:
        notes.append("time counts from the first sample")
        stamps = stamps - start  # before rounding: stamps in ns need all their digits
    return np.asarray(stamps, dtype=float) * TIMES[unit]


def _guessed_unit(stamps: NDArray[Any]) -> str:
    first = float(stamps[0])
    for unit, least in STAMPS.items():
        if first > least:
            return unit
    between = float(np.median(np.diff(stamps)))
    found = "s"
    for unit, size in TIMES.items():
        if between * size >= SHORTEST:
            found = unit
    return found


# ------------------------------------------------------------------ joints and motors


def per_joint(values: PerJoint, joints: Sequence[str], subject: str, default: float) -> Array:
    """One number for each joint: from one for all, a sequence, or a mapping by name."""
    if isinstance(values, Mapping):
        unknown = [name for name in values if name not in joints]
        if unknown:
            raise DataError(
                f"{subject}= names joint {quoted(unknown[0])}: expected {', '.join(joints)}"
            )
        values = [values.get(joint, default) for joint in joints]
    array = np.asarray(values, dtype=float)
    if array.shape not in ((), (len(joints),)) or not np.isfinite(array).all():
        raise DataError(
            f"{subject}= is {quoted(values)}: expected a finite number for each of "
            f"{len(joints)} joints"
        )
    return np.broadcast_to(array, (len(joints),)).copy()


def square(values: ArrayLike, n: int, subject: str) -> Array:
    """A matrix from joints to motors, or from motors to joints."""
    array = np.asarray(values, dtype=float)
    if array.shape != (n, n) or not np.isfinite(array).all():
        raise DataError(f"{subject}= has shape {array.shape}: expected ({n}, {n}), all finite")
    return array


def transmission(
    joints: Sequence[str],
    ratios: PerJoint | None,
    coupling: ArrayLike | None,
    torque_coupling: ArrayLike | None,
) -> tuple[Array, Array] | None:
    """N of p = N q from joint to motor positions, and T of tau = T c; None on the joints' side.

    Power is the same on both sides, c · ṗ = tau · q̇, so that T is N transposed unless given.
    """
    if ratios is None and coupling is None and torque_coupling is None:
        return None
    n = len(joints)
    if ratios is not None and coupling is not None:
        raise DataError("ratios= and coupling= are both given: the ratios are in the coupling")
    N = np.diag(per_joint(1.0 if ratios is None else ratios, joints, "ratios", 1.0))
    if coupling is not None:
        N = square(coupling, n, "coupling")
    if np.linalg.matrix_rank(N) < n:
        subject = "coupling=" if coupling is not None else "ratios="
        raise DataError(f"{subject} cannot be inverted: motors do not determine the joints")
    T = N.T if torque_coupling is None else square(torque_coupling, n, "torque_coupling")
    return N, T

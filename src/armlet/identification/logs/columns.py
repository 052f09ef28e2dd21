"""What the columns of a log are: quantity, joint and unit, guessed from their names.

A name is split into words and numbers: `J1 Pos (deg)` is j, 1, pos, deg. One of the words says the
quantity, the name of a joint or a number says the joint, and a word may say the unit. Columns of
what was commanded or estimated, such as `target_q_1`, or is not of joints, such as `tcp_speed_1`,
are not taken.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError, listed, quoted
from armlet.identification.logs.readers import UNNAMED, Table
from armlet.identification.logs.units import NAMES, Named

WORDS = {
    "t": "t time times timestamp timestamps stamp sec secs seconds",
    "q": "q pos position positions angle angles theta",
    "qd": "qd dq qdot vel velocity velocities speed speeds omega",
    "qdd": "qdd ddq qddot acc accel acceleration accelerations",
    "tau": "tau torque torques effort efforts trq moment moments force forces",
    "current": "current currents curr cur i",
}
"""The quantities of a log, and the words for each."""
QUANTITY = {word: quantity for quantity, words in WORDS.items() for word in words.split()}
DERIVED = {("q", "dot"): "qd", ("q", "ddot"): "qdd", ("qd", "dot"): "qdd"}
NOT_TAKEN = {
    "target", "desired", "des", "d", "command", "commanded", "cmd", "ref", "reference", "setpoint",
    "goal", "error", "err", "ext", "external", "min", "max", "limit", "status",
    "tcp", "tool", "ee", "cartesian", "flange", "frame",
}  # fmt: skip
UNIT_WORDS = {
    "t": {"s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
          "ms": "ms", "msec": "ms", "msecs": "ms", "millis": "ms", "milliseconds": "ms",
          "us": "us", "usec": "us", "usecs": "us", "micros": "us", "microseconds": "us",
          "ns": "ns", "nsec": "ns", "nsecs": "ns", "nanos": "ns", "nanosec": "ns",
          "nanoseconds": "ns"},
    "q": {"deg": "deg", "degree": "deg", "degrees": "deg", "rad": "rad", "mrad": "mrad",
          "rev": "rev", "turns": "rev", "mm": "mm", "cm": "cm", "m": "m"},
    "qd": {"deg": "deg/s", "degree": "deg/s", "degrees": "deg/s", "dps": "deg/s", "rad": "rad/s",
           "mrad": "mrad/s", "rpm": "rpm", "rev": "rev/s", "mm": "mm/s", "cm": "cm/s", "m": "m/s"},
    "qdd": {"deg": "deg/s²", "degree": "deg/s²", "degrees": "deg/s²", "rad": "rad/s²",
            "mrad": "mrad/s²", "rev": "rev/s²", "mm": "mm/s²", "cm": "cm/s²", "m": "m/s²"},
    "tau": {"nm": "Nm", "mnm": "mNm", "ncm": "Ncm", "knm": "kNm", "n": "N", "mn": "mN",
            "kn": "kN"},
    "current": {"a": "A", "ma": "mA"},
}  # fmt: skip
"""The words for units of each quantity."""
MIXED_CASE = {"mnm", "knm", "mn", "kn", "ma", "nm", "ncm"}
"""Units with a capital letter within, which begins no word."""
SIGNS = (
    (re.compile("[µμ]"), "u"),
    (re.compile("[°º]"), " deg "),
    (re.compile(r"N[·⋅*.\- ]m\b"), "Nm"),
    (re.compile(r"(?<![A-Za-z])(deg|degrees|rad|rev|mm|cm|m)[/ _·]*s(?:\^|\*\*)?2(?!\d)"), r"\1 s"),
)
"""Signs within units, and the letters for them; the 2 of rad/s2 is no joint."""


class Column(NamedTuple):
    """What a name says: a quantity, and a joint by name or number."""

    quantity: str | None
    joint: str | int | None


class Found(NamedTuple):
    """Arrays by quantity, the units that their names say, what was guessed, and what is odd."""

    arrays: dict[str, NDArray[Any]]
    units: dict[str, Named]
    notes: list[str]
    doubts: list[str]


def words_of(name: str) -> list[str]:
    """The words and numbers of a name, in lower case."""
    for sign, letters in SIGNS:
        name = sign.sub(letters, name)
    found = []
    for word in re.findall(r"[^\W\d_]+|\d+", name):
        whole = word.lower() in MIXED_CASE
        found += [word] if whole else re.split(r"(?<=[a-z])(?=[A-Z])", word)
    return [word.lower() for word in found]


def column(name: str, joints: Sequence[str]) -> Column:
    """What the name of a column says."""
    joint, rest = _joint(name, joints)
    numbers = [int(word) for word in rest if word.isdigit()]
    if joint is None and numbers:
        joint = numbers[-1]
    return Column(_quantity(rest), joint)


def _joint(name: str, joints: Sequence[str]) -> tuple[str | int | None, list[str]]:
    """The joint that a name has in it, if any, and the other words."""
    words = words_of(name)
    for candidate in sorted(joints, key=lambda x: -len(words_of(x))):
        at = _place(words_of(candidate), words)
        if at is not None:
            rest = words[:at] + words[at + len(words_of(candidate)) :]
            if not any(word in QUANTITY for word in rest):  # a joint may be called q1
                rest = words
            return candidate, rest
    return None, words


def unit_of(name: str, quantity: str, joints: Sequence[str]) -> str | None:
    """The unit that the name of a column says, after its quantity: `rev1_pos` is of joint rev1."""
    _, words = _joint(name, joints)
    at = next((k for k, word in enumerate(words) if word in QUANTITY), 0)
    units = UNIT_WORDS[quantity]
    said = [units[word] for word in words[at:] if word in units]
    return said[-1] if said else None


def _place(part: list[str], words: list[str]) -> int | None:
    places = range(len(words) - len(part) + 1 if part else 0)
    return next((k for k in places if words[k : k + len(part)] == part), None)


def _quantity(words: list[str]) -> str | None:
    if NOT_TAKEN & set(words):
        return None
    found = [QUANTITY[word] for word in words if word in QUANTITY]
    if "dt" in words or not found:
        return None
    found = [x for x in found if x != "current"] or found  # current_position is a position
    for dots in ("dot", "ddot"):
        if dots in words:
            return DERIVED.get((found[0], dots), found[0])
    return found[0]


def matched(names: Sequence[str], joints: Sequence[str], where: str) -> list[int]:
    """For each joint of a robot where it is among the names in a file."""
    places = []
    for joint in joints:
        own = words_of(joint)
        same = [k for k, name in enumerate(names) if words_of(name) == own]
        within = [
            k
            for k, name in enumerate(names)
            if _place(own, words_of(name)) is not None or _place(words_of(name), own) is not None
        ]
        if len(same or within) != 1:
            raise DataError(
                f"{where} has the joints {listed(names)}, among which joint {quoted(joint)} of the "
                "robot is not found: name its columns with columns="
            )
        places.append((same or within)[0])
    if len(set(places)) < len(places):
        raise DataError(
            f"{where} has the joints {listed(names)}, which do not tell those of the robot apart, "
            f"{listed(joints)}: name their columns with columns="
        )
    return places


def assigned(
    table: Table,
    where: str,
    joints: Sequence[str],
    chosen: Mapping[str, str | Sequence[str]],
    only: str | None = None,
) -> Found:
    """The quantities in a table, columns in the order of the robot's joints.

    `chosen` names columns by quantity. With `only` the table is known to hold that quantity: its
    columns need not say so.
    """
    found = Found({}, {}, list(table.notes), list(table.doubts))
    for quantity in chosen:
        if quantity not in WORDS:
            raise DataError(f"columns= has {quoted(quantity)}: expected {', '.join(WORDS)}")
        _choose(found, table, where, joints, quantity, chosen[quantity])
    said = {name: column(name, joints) for name in table.arrays if name not in table.repeats}
    if only is not None and only not in found.arrays:
        said = _all_of_one(said, only)
    _stamps(found, table, said)
    for quantity in WORDS if only is None else (only,):
        if quantity in found.arrays:
            continue
        names = [name for name, x in said.items() if x.quantity == quantity]
        _guess(found, table, where, joints, quantity, {name: said[name] for name in names})
    return found


def _all_of_one(said: dict[str, Column], quantity: str) -> dict[str, Column]:
    """Columns of a file that holds one quantity: of that quantity, if no name says another."""
    if any(x.quantity == quantity for x in said.values()):
        return said
    return {
        name: x._replace(quantity=quantity) if x.quantity is None else x for name, x in said.items()
    }


def _choose(
    found: Found, table: Table, where: str, joints: Sequence[str], quantity: str, chosen: Any
) -> None:
    """Add a quantity whose columns are named."""
    if isinstance(chosen, str) and "{}" in chosen:
        by_name = [chosen.replace("{}", joint) for joint in joints]
        by_number = [chosen.replace("{}", str(k)) for k in range(1, len(joints) + 1)]
        chosen = by_name if all(name in table.arrays for name in by_name) else by_number
    names = [chosen] if isinstance(chosen, str) else list(chosen)
    missing = [name for name in names if name not in table.arrays]
    if missing:
        raise DataError(
            f"{where} has no column {listed([quoted(name) for name in missing])}, which columns= "
            f"names for the {NAMES[quantity]}: it has {listed([*table.arrays])}"
        )
    first = table.arrays[names[0]]
    if quantity != "t" and len(names) == 1 and first.ndim == 2:
        found.arrays[quantity] = _of_joints(first, table, where, joints, names[0], found.notes)
    elif len(names) != (1 if quantity == "t" else len(joints)):
        raise DataError(
            f"columns= names {len(names)} columns for the {NAMES[quantity]}: expected "
            f"{1 if quantity == 't' else len(joints)}"
        )
    else:
        stacked = np.stack([table.arrays[name] for name in names], axis=1)
        found.arrays[quantity] = stacked[:, 0] if quantity == "t" else stacked
    _finish(found, table, where, joints, quantity, names)


def _finish(
    found: Found, table: Table, where: str, joints: Sequence[str], quantity: str,
    names: Sequence[str],
) -> None:  # fmt: skip
    """Add the units that the names of columns say, and which of them are there twice."""
    units = [table.units.get(name) or unit_of(name, quantity, joints) for name in names]
    if quantity == "t" or table.arrays[names[0]].ndim == 2:
        if units[0] is not None:
            found.units[quantity] = units[0]
    elif any(units):
        found.units[quantity] = tuple(units)
    for other, name in table.repeats.items():
        if name not in names:
            continue
        if np.array_equal(table.arrays[other], table.arrays[name], equal_nan=True):
            found.notes.append(f"column {quoted(name)} is there twice, with the same numbers")
        else:
            found.doubts.append(
                f"column {quoted(name)} is there twice: the first one is taken; name the other "
                f"with columns=, as {quoted(other)}, or rename it"
            )


def _stamps(found: Found, table: Table, said: dict[str, Column]) -> None:
    """Add the time of stamps in two columns, whole seconds and nanoseconds."""
    if "t" in found.arrays:
        return
    ends = {words_of(name)[-1]: name for name in said if words_of(name)}
    seconds = next((ends[x] for x in ("sec", "secs") if x in ends), None)
    rest = next((ends[x] for x in ("nanosec", "nsec", "nsecs") if x in ends), None)
    if seconds and rest:
        whole, part = (table.arrays[name] for name in (seconds, rest))
        if not all(np.array_equal(x, np.floor(x)) for x in (whole, part)):  # 0.25 s and a delay
            return
        found.arrays["t"] = whole.astype(np.int64) * 10**9 + part.astype(np.int64)
        found.units["t"] = "ns"
        found.notes.append(f"time is {seconds} and {rest}")


def _guess(
    found: Found, table: Table, where: str, joints: Sequence[str], quantity: str,
    said: dict[str, Column],
) -> None:  # fmt: skip
    """Add a quantity by what the names of columns say, if there are any of it."""
    if not said:
        return
    wide = [name for name in said if table.arrays[name].ndim == 2]
    wide = [quantity] if quantity in wide else wide
    narrow = [name for name in said if table.arrays[name].ndim == 1]
    if quantity == "t":
        taken = [min(narrow or wide, key=lambda name: (said[name].joint is not None, len(name)))]
        found.arrays["t"] = table.arrays[taken[0]].reshape(-1)
    elif wide:
        if len(wide) > 1:
            raise _ambiguous(where, quantity, wide)
        taken = wide
        found.arrays[quantity] = _of_joints(
            table.arrays[wide[0]], table, where, joints, wide[0], found.notes
        )
    else:
        taken = _by_joint(where, joints, quantity, {name: said[name].joint for name in narrow})
        if not taken:
            return
        found.arrays[quantity] = np.stack([table.arrays[name] for name in taken], axis=1)
    _finish(found, table, where, joints, quantity, taken)
    if taken != [quantity] and taken != [f"{quantity}.{joint}" for joint in joints]:
        names = [name if name != UNNAMED else "numbers without names" for name in taken]
        found.notes.append(f"{NAMES[quantity]} are {listed(names)}".replace("time are", "time is"))


def _by_joint(
    where: str, joints: Sequence[str], quantity: str, of: dict[str, str | int | None]
) -> list[str]:
    """The columns of a quantity in the order of the joints."""
    exact = [f"{quantity}.{joint}" for joint in joints]
    if all(name in of for name in exact):
        return exact
    if len(joints) == 1 and len(of) == 1:
        return [*of]
    named = {name: joint for name, joint in of.items() if isinstance(joint, str)}
    numbered = {name: joint for name, joint in of.items() if isinstance(joint, int)}
    keys: dict[str, Any] = named if set(named.values()) >= set(joints) else numbered or named
    if not keys:
        return []
    if len(set(keys.values())) < len(keys):
        double = [name for name, x in keys.items() if [*keys.values()].count(x) > 1]
        raise _ambiguous(where, quantity, double)
    by_key = {joint: name for name, joint in keys.items()}
    first = 0 if 0 in by_key else 1
    wanted = [*joints] if keys is named else [*range(first, first + len(joints))]
    missing = [str(x) for x in wanted if x not in by_key]
    if missing or len(by_key) != len(wanted):
        raise DataError(
            f"{where} has {NAMES[quantity]} in the columns {listed([*keys])}: expected one for "
            f"each of the {len(joints)} joints {listed(joints)}; name them with "
            f"columns={{{quantity!r}: [...]}}"
        )
    return [by_key[x] for x in wanted]


def _ambiguous(where: str, quantity: str, names: Sequence[str]) -> DataError:
    return DataError(
        f"{where} has {NAMES[quantity]} more than once, in {listed(names)}: choose with "
        f"columns={{{quantity!r}: ...}}"
    )


def _of_joints(
    array: NDArray[Any], table: Table, where: str, joints: Sequence[str], name: str,
    notes: list[str],
) -> NDArray[Any]:  # fmt: skip
    """An array with one column for each joint of the robot."""
    n = len(joints)
    label = f"{where}, {name}" if name else where
    if array.ndim == 2 and array.shape[1] == len(table.joints):
        return array[:, matched(table.joints, joints, where)]
    if array.ndim == 2 and array.shape[1] == n == len(table.labels):
        if any(
            set(words_of(name)) & set(words_of(joint)) for name in table.labels for joint in joints
        ):
            return array[:, matched(table.labels, joints, where)]
        notes.append(f"{listed(table.labels)} are no joints of the robot: taken in its order")
    if array.ndim == 2 and array.shape[1] != n and array.shape[0] == n:
        notes.append(f"{label} has one row per joint, and is transposed")
        return array.T
    if array.ndim == 2 and array.shape[1] == n:
        return array
    if array.size % n == 0 and 1 in (array.ndim, array.shape[-1]):
        notes.append(f"{label} has one number per line, taken as {n} joints sample by sample")
        return array.reshape(-1, n)
    raise DataError(f"{label} has shape {array.shape}: expected {n} columns, one per joint")

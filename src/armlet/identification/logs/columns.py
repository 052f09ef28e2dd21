"""Guess the quantity, the joint and the unit of a log column from the column's name.

A name is split into words and numbers: `J1 Pos (deg)` becomes j, 1, pos, deg. One word names the
quantity, a number or a joint's name selects the joint, and a further word may be the unit. Columns
of commands or limits (`target_q_1`) and of the tool (`tcp_speed_1`) are ignored.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError, listing, quote
from armlet.identification.logs.units import NAMES, Named

UNNAMED = ""
"""The name of an array from a file without column names."""
WORDS = {
    "t": "t time times timestamp timestamps stamp sec secs seconds",
    "q": "q pos position positions angle angles theta",
    "qd": "qd dq qdot vel velocity velocities speed speeds omega",
    "qdd": "qdd ddq qddot acc accel acceleration accelerations",
    "tau": "tau torque torques effort efforts trq moment moments force forces",
    "current": "current currents curr cur i",
}
"""The quantities of a log, mapped to the words for them in column names."""
QUANTITY = {word: quantity for quantity, words in WORDS.items() for word in words.split()}
DERIVED = {("q", "dot"): "qd", ("q", "ddot"): "qdd", ("qd", "dot"): "qdd"}
IGNORED = (
    "target desired des d command commanded cmd ref reference setpoint goal error err ext external "
    "min max limit status tcp tool ee cartesian flange frame dt"
)
"""Words that mark columns to ignore: commands, errors, limits and quantities of the tool."""
LABELS = {"actual", "measured", "raw", "filtered", "smoothed", "motor", "encoder", "sensor"}
LABELS |= {"side", "left", "right", "arm", "utc", "unix", "since", "boot", "start", "from"}
LABELS |= {*QUANTITY, *IGNORED.split()}
"""Words in brackets that are not units of a column, as in the name `q1 (measured)`."""
ANGLE_WORDS = {"deg": "deg degs degree degrees", "rad": "rad rads radian radians"}
ANGLE_WORDS |= {unit: unit for unit in ("mrad", "mdeg", "rev")}
LENGTH_WORDS = {"mm": "mm", "cm": "cm", "m": "m meter meters metre metres"}
PER_SECOND = {f"{unit}/s": words for unit, words in (ANGLE_WORDS | LENGTH_WORDS).items()}
UNIT_WORDS: dict[str, dict[str, str]] = {
    "t": {
        "s": "s sec secs second seconds",
        "ms": "ms msec msecs millis milliseconds",
        "us": "us usec usecs micros microseconds",
        "ns": "ns nsec nsecs nanos nanosec nanoseconds",
        "min": "minutes",
    },
    "q": ANGLE_WORDS | {"rev": "rev revs revolution revolutions turn turns"} | LENGTH_WORDS,
    "qd": PER_SECOND | {"deg/s": "deg degree degrees dps", "rpm": "rpm", "deg/min": "degmin"},
    "qdd": {f"{unit}²": words for unit, words in PER_SECOND.items()},
    "tau": {x: x.lower() for x in ("Nm", "mNm", "Ncm", "Nmm", "kNm", "N", "mN", "kN")},
    "current": {"A": "a amp amps ampere amperes", "mA": "ma"},
}
"""For each quantity: the possible units, mapped to the words for them in column names."""
UNIT = {
    quantity: {word: unit for unit, words in units.items() for word in words.split()}
    for quantity, units in UNIT_WORDS.items()
}
RPM = ("1min", "min1", "min¹", "rmin", "revmin", "revsmin", "turnmin", "turnsmin")
BRACKETED = {"t": {"min": "min"}, "qd": dict.fromkeys(RPM, "rpm")}
"""Further spellings of units, in brackets only: elsewhere, `min` stands for minimum."""
BRACKETS = re.compile(r"(?<=\S)\s*[\[(]([^\[\]()]*)[\])]")
INDEX = re.compile(r"(?!x)[a-z_ ]*\d{1,2}|[\d,;: ]*", re.IGNORECASE)
PER_TIME_WORDS = {"s", "sec", "second", "seconds", "per", "1", "2", "¹", "²", "s²"}
MIXED_CASE = {"mnm", "knm", "mn", "kn", "ma", "nm", "ncm", "nmm"}
"""Units such as mNm, here in lower case, in which a capital letter does not begin a new word."""
SIGNS = (
    (re.compile("[µμ]"), "u"),
    (re.compile("[°º]"), " deg "),
    (re.compile(r"N[·⋅*.\- ]m\b"), "Nm"),
    (re.compile(r"(?<![A-Za-z])(deg|degrees|rad|rev|mm|cm|m)[/ _·]*s(?:\^|\*\*)?2(?!\d)"), r"\1 s"),
)
"""Substitutions before a name is split; the last drops the 2 of rad/s2, which is no joint."""


@dataclass(frozen=True)
class Table:
    """The arrays of a file by name, (k,) or (k, m), with their joints, units and notes."""

    arrays: dict[str, NDArray[Any]]
    joints: tuple[str, ...] = ()
    """The joint names of the m columns, if the file contains joint names."""
    notes: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    """The units of arrays whose type or file defines a unit, by array name."""
    repeats: dict[str, str] = field(default_factory=dict)
    """Columns with a repeated name: the unique name in `arrays`, mapped to the name in the file."""
    warnings: list[str] = field(default_factory=list)
    labels: tuple[str, ...] = ()
    """The strings of an array that may contain the joint names."""


class Column(NamedTuple):
    """The quantity and the joint (name or number) in a column's name; None if missing."""

    quantity: str | None
    joint: str | int | None


def words_of(name: str) -> list[str]:
    """Return the words and numbers of a name, in lower case."""
    for sign, letters in SIGNS:
        name = sign.sub(letters, name)
    words = []
    for word in re.findall(r"[^\W\d_]+|\d+", name):
        is_unit = word.lower() in MIXED_CASE
        words += [word] if is_unit else re.split(r"(?<=[a-z])(?=[A-Z])", word)
    return [word.lower() for word in words]


def column(name: str, joints: Sequence[str]) -> Column:
    """Return the quantity and the joint in a column's name; ignored columns have no quantity."""
    _, words = _joint(name, joints)
    named = [QUANTITY[word] for word in words if word in QUANTITY]
    quantity = next((x for x in named if x != "current"), "current")  # as in current_position
    dots = next((x for x in ("dot", "ddot") if x in words), "")
    quantity = DERIVED.get((quantity, dots), quantity)
    joint, words = _joint(_without_unit(name, quantity, joints)[0], joints)
    numbers = [int(word) for word in words if word.isdigit()]
    if joint is None and numbers:
        joint = numbers[-1]
    is_ignored = not named or not set(words).isdisjoint(IGNORED.split())
    return Column(None if is_ignored else quantity, joint)


def _joint(name: str, joints: Sequence[str]) -> tuple[str | int | None, list[str]]:
    """Return the joint whose name occurs in `name`, or None, and the remaining words of `name`."""
    words = words_of(name)
    for candidate in sorted(joints, key=lambda x: -len(words_of(x))):
        at = _place(words_of(candidate), words)
        if at is not None:
            rest = words[:at] + words[at + len(words_of(candidate)) :]
            if not any(word in QUANTITY for word in rest):  # a joint is called q1
                rest = words
            return candidate, rest
    return None, words


def unit_of(name: str, quantity: str, joints: Sequence[str]) -> str | None:
    """Return the unit that follows the quantity in a name, or None; `rev1_pos` contains no unit.

    Text in brackets that is neither a unit nor a label of the column is returned as it is.
    """
    name, unit = _without_unit(name, quantity, joints)
    if unit is not None:
        return unit
    _, words = _joint(name, joints)
    at = next((k for k, word in enumerate(words) if word in QUANTITY), 0)
    units = [UNIT[quantity][word] for word in words[at:] if word in UNIT[quantity]]
    return units[-1] if units else None


def _without_unit(name: str, quantity: str, joints: Sequence[str]) -> tuple[str, str | None]:
    """Return a name without units in brackets, and the last of these units, or None."""
    last = None
    for bracket in BRACKETS.finditer(name):
        words = words_of(text := bracket[1].strip())
        spelled = "".join(x for x in words if quantity[:2] != "qd" or x not in PER_TIME_WORDS)
        unit = BRACKETED.get(quantity, {}).get("".join(words)) or UNIT[quantity].get(spelled)
        is_label = LABELS.issuperset(words) if words else text == "-"
        is_label = is_label or INDEX.fullmatch(text) or "joint" in words
        is_last = QUANTITY.keys().isdisjoint(words_of(bracket.string[bracket.end() :]))
        if unit or (is_last and not is_label and not _joint(text, joints)[0]):
            last = unit if unit and not text.startswith("MN") else text  # mega is not milli
            name = name.replace(bracket[0], " ", 1)
    return name, last


def _place(some: list[str], words: list[str]) -> int | None:
    """Return the index in `words` at which the words `some` occur consecutively, or None."""
    places = range(len(words) - len(some) + 1 if some else 0)
    return next((k for k in places if words[k : k + len(some)] == some), None)


def match_joints(names: Sequence[str], joints: Sequence[str], where: str) -> list[int]:
    """Return the index of each robot joint among `names`, the joint names in a file."""
    places, words = [], [words_of(name) for name in names]
    for joint in joints:
        own = words_of(joint)
        same = [k for k, x in enumerate(words) if x == own]
        within = [k for k, x in enumerate(words) if {_place(own, x), _place(x, own)} != {None}]
        if len(same or within) != 1:
            raise DataError(
                f"{where} has the joints {listing(names)}, among which joint {quote(joint)} of the "
                "robot is not found: name its columns with columns="
            )
        places.append((same or within)[0])
    if len(set(places)) < len(places):
        raise DataError(
            f"{where} has the joints {listing(names)}, which do not tell those of the robot apart, "
            f"{listing(joints)}: name their columns with columns="
        )
    return places


class Quantities:
    """Arrays and units of a log by quantity, with notes on guesses, and warnings."""

    def __init__(self, table: Table, where: str, joints: Sequence[str]) -> None:
        self.table, self.where, self.joints = table, where, joints
        self.arrays: dict[str, NDArray[Any]] = {}
        self.units: dict[str, Named] = {}
        self.unknown: dict[str, tuple[str, str]] = {}
        """By quantity: a column name with an unknown unit in brackets, and that unit."""
        self.notes, self.warnings = [*table.notes], [*table.warnings]

    def assign(
        self, chosen: Mapping[str, str | Sequence[str]], only: str | None = None
    ) -> "Quantities":
        """Add the quantities of the table, with columns in joint order; return self.

        `chosen` maps quantities to column names. The other quantities are guessed. If `only` names
        a quantity, no other one is guessed, and its column names need not contain a quantity.
        """
        for quantity, names in chosen.items():
            if quantity not in WORDS:
                raise DataError(f"columns= has {quote(quantity)}: expected {', '.join(WORDS)}")
            self.choose(quantity, names)
        fresh = [name for name in self.table.arrays if name not in self.table.repeats]
        columns = {name: column(name, self.joints) for name in fresh}
        if only is not None and only not in (*self.arrays, *(x.quantity for x in columns.values())):
            columns = {name: x._replace(quantity=x.quantity or only) for name, x in columns.items()}
        if "t" not in self.arrays:
            self.join_stamps(fresh)
        for quantity in WORDS if only is None else (only,):
            own = {name: x.joint for name, x in columns.items() if x.quantity == quantity}
            if own and quantity not in self.arrays:
                self.guess(quantity, own)
        return self

    def choose(self, quantity: str, chosen: str | Sequence[str]) -> None:
        """Add `quantity` from the columns `chosen`: a name, a list of names or a pattern."""
        table, n = self.table, 1 if quantity == "t" else len(self.joints)
        if isinstance(chosen, str) and "{}" in chosen:
            by_name = [chosen.replace("{}", joint) for joint in self.joints]
            by_number = [chosen.replace("{}", str(k)) for k in range(1, len(self.joints) + 1)]
            chosen = by_name if all(name in table.arrays for name in by_name) else by_number
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        missing = [quote(name) for name in names if name not in table.arrays]
        if missing:
            raise DataError(
                f"{self.where} has no column {listing(missing)}, which columns= names for the "
                f"{NAMES[quantity]}: it has {listing([*table.arrays])}"
            )
        if quantity != "t" and len(names) == 1 and table.arrays[names[0]].ndim == 2:
            array = self._of_joints(names[0])
        elif len(names) != n:
            raise DataError(
                f"columns= names {len(names)} columns for the {NAMES[quantity]}: expected {n}"
            )
        else:
            array = np.stack([table.arrays[name] for name in names], axis=1)
        self._add(quantity, array[:, 0] if quantity == "t" else array, names)

    def guess(self, quantity: str, columns: Mapping[str, str | int | None]) -> None:
        """Add `quantity` from `columns`, a mapping from column names to joints."""
        table = self.table
        wide = [name for name in columns if table.arrays[name].ndim == 2]
        wide = [quantity] if quantity in wide else wide
        narrow = {name: joint for name, joint in columns.items() if table.arrays[name].ndim == 1}
        if quantity == "t":
            names = [min(narrow or wide, key=lambda x: (columns[x] is not None, len(x)))]
            array = table.arrays[names[0]].reshape(-1)
        elif wide:
            if len(wide) > 1:
                raise self._ambiguous(quantity, wide)
            names, array = wide, self._of_joints(wide[0])
        else:
            names = self._in_order(quantity, narrow)
            if not names:
                return
            array = np.stack([table.arrays[name] for name in names], axis=1)
        self._add(quantity, array, names)
        if names != [quantity] and names != [f"{quantity}.{joint}" for joint in self.joints]:
            shown = [name if name != UNNAMED else "numbers without names" for name in names]
            verb = "is" if quantity == "t" else "are"
            self.notes.append(f"{NAMES[quantity]} {verb} {listing(shown)}")

    def join_stamps(self, names: Sequence[str]) -> None:
        """Add the time if its stamps are split into columns of seconds and of nanoseconds."""
        ends = {words_of(name)[-1]: name for name in names if words_of(name)}
        seconds = ends.get("sec", ends.get("secs"))
        rest = ends.get("nanosec", ends.get("nsec", ends.get("nsecs")))
        if seconds is None or rest is None:
            return
        arrays = [self.table.arrays[name] for name in (seconds, rest)]
        if all(np.array_equal(x, np.floor(x)) for x in arrays):  # whole numbers only
            whole, fraction = (x.astype(np.int64) for x in arrays)
            self.arrays["t"], self.units["t"] = whole * 10**9 + fraction, "ns"
            self.notes.append(f"time is {seconds} and {rest}")

    def _add(self, quantity: str, array: NDArray[Any], names: Sequence[str]) -> None:
        """Add a quantity, with units from its column names; report repeated column names."""
        table = self.table
        self.arrays[quantity] = array
        units = [table.units.get(name) or unit_of(name, quantity, self.joints) for name in names]
        for name, unit in zip(names, units, strict=True):
            if unit not in (None, *UNIT_WORDS[quantity]) and name not in table.units:
                self.unknown[quantity] = name, str(unit)
        if quantity == "t" or table.arrays[names[0]].ndim == 2:
            if units[0] is not None:
                self.units[quantity] = units[0]
        elif any(units):
            self.units[quantity] = tuple(units)
        for other, name in table.repeats.items():
            if name not in names:
                continue
            if np.array_equal(table.arrays[other], table.arrays[name], equal_nan=True):
                self.notes.append(f"column {quote(name)} is there twice, with the same numbers")
            else:
                self.warnings.append(
                    f"column {quote(name)} is there twice: the first one is taken; name the other "
                    f"with columns=, as {quote(other)}, or rename it"
                )

    def _in_order(self, quantity: str, of: Mapping[str, str | int | None]) -> list[str]:
        """Return a quantity's columns in joint order; `of` maps column names to joints."""
        exact = [f"{quantity}.{joint}" for joint in self.joints]
        if all(name in of for name in exact):
            return exact
        if len(self.joints) == 1 and len(of) == 1:
            return [*of]
        named = {name: joint for name, joint in of.items() if isinstance(joint, str)}
        numbered = {name: joint for name, joint in of.items() if isinstance(joint, int)}
        is_named = set(named.values()) >= set(self.joints) or not numbered
        keys: Mapping[str, Any] = named if is_named else numbered
        if not keys:
            return []
        by_key = {joint: name for name, joint in keys.items()}
        if len(by_key) < len(keys):
            joints = [*keys.values()]
            raise self._ambiguous(quantity, [x for x, key in keys.items() if joints.count(key) > 1])
        first = 0 if 0 in by_key else 1
        wanted = self.joints if is_named else range(first, first + len(self.joints))
        if set(by_key) != set(wanted):
            raise DataError(
                f"{self.where} has {NAMES[quantity]} in the columns {listing([*keys])}: expected "
                f"one for each of the {len(self.joints)} joints {listing(self.joints)}; name them "
                f"with columns={{{quantity!r}: [...]}}"
            )
        return [by_key[x] for x in wanted]

    def _ambiguous(self, quantity: str, names: Sequence[str]) -> DataError:
        return DataError(
            f"{self.where} has {NAMES[quantity]} more than once, in {listing(names)}: choose with "
            f"columns={{{quantity!r}: ...}}"
        )

    def _of_joints(self, name: str) -> NDArray[Any]:
        """Return the table's array `name` with one column per joint, in the robot's joint order."""
        table, joints, n = self.table, self.joints, len(self.joints)
        array = table.arrays[name]
        label = f"{self.where}, {name}" if name else self.where
        if array.ndim == 2 and array.shape[1] == len(table.joints):
            return array[:, match_joints(table.joints, joints, self.where)]
        if array.ndim == 2 and array.shape[1] == n:
            if len(table.labels) == n:
                words = {word for joint in joints for word in words_of(joint)}
                if any(words & set(words_of(x)) for x in table.labels):
                    return array[:, match_joints(table.labels, joints, self.where)]
                self.notes.append(
                    f"{listing(table.labels)} are no joints of the robot: taken in its order"
                )
            return array
        if array.ndim == 2 and array.shape[0] == n:
            self.notes.append(f"{label} has one row per joint, and is transposed")
            return array.T
        if array.size % n == 0 and 1 in (array.ndim, array.shape[-1]):
            self.notes.append(
                f"{label} has one number per line, taken as {n} joints sample by sample"
            )
            return array.reshape(-1, n)
        raise DataError(f"{label} has shape {array.shape}: expected {n} columns, one per joint")

"""Files of logs as tables: text, Parquet, NumPy's, MATLAB's, and bags of ROS 2."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet._support.optional import needed
from armlet.errors import DataError, listed, quoted
from armlet.simulation.files import npz_arrays, parquet_table, readable

UNNAMED = ""
"""The name of numbers that have none."""
LABELS = ("joints", "joint_names", "jointNames", "names")
"""Arrays that may have the names of joints."""
JOINT_STATE = "sensor_msgs/msg/JointState"


@dataclass(frozen=True)
class Table:
    """What a file has: arrays by name, (k,) or (k, m), and the joints of the m columns if told.

    `labels` are the names of joints that an array beside the others has.
    `units` are those of arrays whose type or file says it, `repeats` has the columns whose name
    another has, too, by a name of their own, and `doubts` is what the user is warned of.
    """

    arrays: dict[str, NDArray[Any]]
    joints: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    repeats: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    labels: tuple[str, ...] = ()

    @classmethod
    def of_columns(cls, names: Sequence[str], columns: Iterable[NDArray[Any]]) -> Table:
        """A table of columns, of which several may have the same name."""
        arrays: dict[str, NDArray[Any]] = {}
        repeats = {}
        for k, (name, array) in enumerate(zip(names, columns, strict=True), 1):
            own = name
            if name in arrays:
                own = f"{name} (column {k})"
                repeats[own] = name
            arrays[own] = array
        return cls(arrays, repeats=repeats)


def read_table(path: Path, topic: str | None = None) -> Table:
    """The table in a file, or in the folder of a bag."""
    reader = from_bag if path.is_dir() else READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"{path.name} ends in {quoted(path.suffix)}: expected {', '.join(READERS)}, or the "
            "folder of a bag"
        )
    if not path.exists():
        raise DataError(f"there is no file {path}")
    with readable(path, "cannot be read"):
        table = reader(path, topic)
    if table.arrays.keys() >= {"t", "kinetic", "potential"}:  # what a Trajectory has written
        table.units.setdefault("t", "s")
    return table


# ------------------------------------------------------------------ text


def from_text(path: Path, _: str | None = None) -> Table:
    """The columns of a text file, with or without a line of names."""
    encoding = _encoding(path)
    with path.open(encoding=encoding) as file:
        names, separator, skipped = _head(path, file)
    try:
        with path.open(encoding=encoding) as file:
            lines = file if separator == "," else map(_with_points, file)
            rows = np.loadtxt(lines, delimiter=separator, skiprows=skipped, ndmin=2, comments=None)
    except ValueError:
        return _by_cells(path, encoding, names, separator, skipped)
    if not names:
        table = Table({UNNAMED: rows})
    elif len(names) != rows.shape[1]:
        return _by_cells(path, encoding, names, separator, skipped)
    else:
        table = Table.of_columns(names, rows.T)
    if not _is_ended(path):
        table.notes.append(f"{path.name} has no line break at its end: its last number may be cut")
    return table


def _encoding(path: Path) -> str:
    """UTF-8, or the code of Western Europe where it is not that: units may be ° and µ."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            while file.read(2**20):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _is_ended(path: Path) -> bool:
    """Whether the last line of a file has an end."""
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() in b"\r\n"


def _head(path: Path, lines: Iterable[str]) -> tuple[list[str], str | None, int]:
    """The names of the columns, what separates them, and how many lines precede the numbers."""
    above = ""
    for k, line in enumerate(islice(lines, 1000)):
        if not line.strip():
            continue
        separator = next((s for s in (";", "\t", ",") if s in line), None)
        if any(map(_is_number, _cells(line, separator))):
            names = _cells(above.lstrip("#% "), separator)
            return names if len(names) > 1 or separator is None else [], separator, k
        above = line.strip()
    raise DataError(f"{path.name} has no numbers in its first thousand lines")


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]


def _with_points(text: str) -> str:
    """Text with decimal points where it has decimal commas."""
    return text.replace(",", ".")


def _is_number(text: str) -> bool:
    try:
        float(_with_points(text))
    except ValueError:
        return False
    return "_" not in text and text.isascii()  # Python reads 1_0 as ten


def _by_cells(
    path: Path, encoding: str, names: list[str], separator: str | None, skipped: int
) -> Table:
    """The columns cell by cell, for files with text or nothing in some of them.

    A last line that is cut off is left out.
    """
    with path.open(encoding=encoding) as file:
        rows = {k: _cells(x, separator) for k, x in enumerate(file, 1) if k > skipped and x.strip()}
    width = len(names) or len(next(iter(rows.values())))
    last = max(rows)
    doubts = []
    if len(rows) > 1 and (
        len(rows[last]) < width or (not _is_ended(path) and _is_cut(*[*rows.values()][-2:]))
    ):
        doubts.append(f"line {last}, the last one, is cut off and left out")
        del rows[last]
    for k, cells in rows.items():
        if len(cells) != width:
            raise DataError(f"{path.name}, line {k} has {len(cells)} cells: expected {width}")
    headings = names or [str(k) for k in range(1, width + 1)]
    kept, arrays, dates, text = [], [], {}, []
    for name, *cells in zip(headings, *rows.values(), strict=True):
        numbers = [cell == "" or _is_number(cell) for cell in cells]
        if all(numbers):
            kept.append(name)
            arrays.append(np.array([float(_with_points(x)) if x else np.nan for x in cells]))
        elif (stamps := _dates(cells)) is not None:
            kept.append(name)
            arrays.append(stamps)
            dates[name] = "ns"
        elif sum(numbers) > len(numbers) / 2:
            at = numbers.index(False)
            raise DataError(
                f"{path.name}, line {list(rows)[at]}, column {quoted(name)} is "
                f"{quoted(cells[at])}: expected a number"
            )
        else:
            text.append(name)
    notes = [f"columns of text are left out: {listed(text)}"] if text else []
    if not names:
        return Table({UNNAMED: np.stack(arrays, axis=1)}, notes=notes, doubts=doubts)
    return replace(Table.of_columns(kept, arrays), notes=notes, units=dates, doubts=doubts)


def _is_cut(before: list[str], last: list[str]) -> bool:
    """Whether the last cell of a line is no number, though that of the line before is."""
    return _is_number(before[-1]) and not _is_number(last[-1])


def _dates(cells: list[str]) -> NDArray[Any] | None:
    """Dates and times of day as nanoseconds since 1970, if the text is that."""
    zone = re.compile(r"(?:Z|[+-]\d\d:?\d\d)?$")
    without_zone = [zone.sub("", cell, count=1) for cell in cells]
    if len({cell[len(x) :] for cell, x in zip(cells, without_zone, strict=True)}) > 1:
        return None
    try:
        return np.array(without_zone, dtype="datetime64[ns]").astype(np.int64)
    except ValueError:
        return None


# ------------------------------------------------------------------ binary files


def from_npy(path: Path, _: str | None = None) -> Table:
    """The array of a file of NumPy's; one with named fields has columns."""
    with path.open("rb") as raw:
        array = np.load(raw, allow_pickle=False)
    if array.dtype.names:
        return Table({name: array[name] for name in array.dtype.names})
    return Table({UNNAMED: array})


def from_npz(path: Path, _: str | None = None) -> Table:
    """The arrays of a NumPy archive; `Trajectory.to_npz` also tells the joints."""
    arrays = npz_arrays(path)
    told = arrays.pop("told", None)
    joints = () if told is None else json.loads(str(told))["joints"]
    return replace(numeric_table([*arrays], arrays.values()), joints=tuple(joints))


def from_parquet(path: Path, _: str | None = None) -> Table:
    """The columns of a Parquet file; a column of lists of equal length is an array."""
    table = parquet_table(path)
    arrays = []
    for column in table.columns:
        values = column.to_numpy()
        arrays.append(np.stack([*values]) if len(values) and np.ndim(values[0]) else values)
    return numeric_table(table.column_names, arrays)


def from_mat(path: Path, _: str | None = None) -> Table:
    """The arrays of a MATLAB file; fields of structs are called `struct.field`."""
    try:
        found = needed("scipy.io").loadmat(path, simplify_cells=True)
    except NotImplementedError:
        raise DataError(
            f"{path.name} is a MATLAB file of version 7.3: save it with '-v7', or as CSV"
        ) from None
    arrays = _flat(found)
    return numeric_table([*arrays], arrays.values())


def _flat(found: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, Mapping):
            arrays |= _flat(value, f"{above}{name}.")
        elif not name.startswith("__"):
            arrays[above + name] = np.squeeze(value)
    return arrays


def numeric_table(names: Sequence[str], arrays: Iterable[NDArray[Any]]) -> Table:
    """The arrays of numbers with one or two axes, dates and durations as nanoseconds."""
    table = Table.of_columns(names, arrays)
    numbers: dict[str, NDArray[Any]] = {}
    labels: tuple[str, ...] = ()
    for name, array in table.arrays.items():
        if name.rpartition(".")[2] in LABELS and array.ndim == 1 and array.dtype.kind in "UO":
            labels = tuple(map(str, array))
        if array.dtype.kind in "mM":
            array = array.astype(f"{array.dtype.kind}8[ns]").astype(np.int64)
            table.units[name] = "ns"
        if array.dtype.kind in "iufb" and array.ndim in (1, 2):
            numbers[name] = array
    repeats = {own: name for own, name in table.repeats.items() if own in numbers}
    return replace(table, arrays=numbers, repeats=repeats, labels=labels)


# ------------------------------------------------------------------ bags


def from_bag(path: Path, topic: str | None = None) -> Table:
    """The joint states of a bag: positions, velocities and efforts of the joints it names."""
    highlevel, typesys = needed("rosbags.highlevel"), needed("rosbags.typesys")
    known = typesys.get_typestore(typesys.Stores.LATEST)
    with highlevel.AnyReader([path], default_typestore=known) as bag:
        topic, others = _topic(path, bag, topic)
        states = [
            (at, bag.deserialize(data, link.msgtype))
            for link, at, data in bag.messages([x for x in bag.connections if x.topic == topic])
        ]
    notes = [f"joint states are those of topic {topic}"]
    notes += [f"other topics of joint states are left out: {listed(others)}"] if others else []
    return _of_states(path, states, notes)


def _topic(path: Path, bag: Any, topic: str | None) -> tuple[str, list[str]]:
    """The topic of joint states with the most messages, or the one asked for, and the others."""
    counts = {x.topic: x.msgcount for x in bag.connections if x.msgtype == JOINT_STATE}
    if not counts or (topic is not None and topic not in counts):
        every = sorted({f"{x.topic} ({x.msgtype})" for x in bag.connections})
        raise DataError(
            f"{path.name} has no {'' if topic is None else quoted(topic) + ' with '}messages "
            f"of type {JOINT_STATE}: it has {listed(every) or 'none'}"
        )
    chosen = max(counts, key=lambda name: counts[name]) if topic is None else topic
    return chosen, [name for name in counts if name != chosen]


def _of_states(path: Path, states: list[tuple[int, Any]], notes: list[str]) -> Table:
    """Messages as arrays, the joints in the order of the first."""
    if not states:
        raise DataError(f"{path.name} has no message on the topic of joint states")
    joints: tuple[str, ...] = max((tuple(x.name) for _, x in states[:100]), key=len)
    whole = [(at, state) for at, state in states if set(joints) <= set(state.name)]
    if len(whole) < len(states):
        notes.append(
            f"{len(states) - len(whole):,} messages without all of {listed(joints)} are left out"
        )
    stamps = np.array([x.header.stamp.sec * 10**9 + x.header.stamp.nanosec for _, x in whole])
    if not stamps.any():
        stamps = np.array([at for at, _ in whole])
        notes.append("messages have no stamps: their time is when they were recorded")
    arrays: dict[str, NDArray[Any]] = {"stamp_ns": stamps}
    for name in ("position", "velocity", "effort"):
        if all(len(getattr(state, name)) == len(state.name) for _, state in whole):
            arrays[name] = np.array([_in_order(state, name, joints) for _, state in whole])
    return Table(arrays, joints, notes, {"stamp_ns": "ns"})


def _in_order(state: Any, name: str, joints: tuple[str, ...]) -> NDArray[Any]:
    values: NDArray[Any] = np.asarray(getattr(state, name), dtype=float)
    if tuple(state.name) == joints:
        return values
    at = {joint: k for k, joint in enumerate(state.name)}
    return values[[at[joint] for joint in joints]]


READERS: dict[str, Callable[[Path, str | None], Table]] = {
    ".csv": from_text,
    ".tsv": from_text,
    ".txt": from_text,
    ".npy": from_npy,
    ".npz": from_npz,
    ".parquet": from_parquet,
    ".mat": from_mat,
    ".mcap": from_bag,
    ".db3": from_bag,
}

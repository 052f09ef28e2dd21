"""Files of logs as tables: text, Parquet, NumPy's, MATLAB's, and bags of ROS 2."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet.errors import ArmletError, DataError, listed, quoted
from armlet.extras import needed

UNNAMED = ""
"""The name of numbers that have none."""
JOINT_STATE = "sensor_msgs/msg/JointState"


@dataclass(frozen=True)
class Table:
    """What a file has: arrays by name, (k,) or (k, m), and the joints of the m columns if told."""

    arrays: dict[str, NDArray[Any]]
    joints: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


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
    try:
        return reader(path, topic)
    except ArmletError:
        raise
    except Exception as error:  # decoders raise errors of all kinds on damaged files
        raise DataError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error


# ------------------------------------------------------------------ text


def from_text(path: Path, _: str | None = None) -> Table:
    """The columns of a text file, with or without a line of names."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        names, separator, skipped = _head(path, file)
    try:
        with path.open(encoding="utf-8-sig") as file:
            lines = file if separator == "," else map(_with_points, file)
            rows = np.loadtxt(lines, delimiter=separator, skiprows=skipped, ndmin=2, comments=None)
    except ValueError:
        return _by_cells(path, names, separator, skipped)
    if not names:
        return Table({UNNAMED: rows})
    if len(names) != rows.shape[1]:
        return _by_cells(path, names, separator, skipped)
    return Table(dict(zip(names, rows.T, strict=True)))


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
    return True


def _by_cells(path: Path, names: list[str], separator: str | None, skipped: int) -> Table:
    """The columns cell by cell, for files with text or nothing in some of them."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        rows = {k: _cells(x, separator) for k, x in enumerate(file, 1) if k > skipped and x.strip()}
    width = len(names) or len(next(iter(rows.values())))
    for k, cells in rows.items():
        if len(cells) != width:
            raise DataError(f"{path.name}, line {k} has {len(cells)} cells: expected {width}")
    arrays, text = {}, []
    headings = names or [str(k) for k in range(1, width + 1)]
    for name, *cells in zip(headings, *rows.values(), strict=True):
        numbers = [cell == "" or _is_number(cell) for cell in cells]
        if all(numbers):
            arrays[name] = np.array([float(_with_points(x)) if x else np.nan for x in cells])
        elif (stamps := _dates(cells)) is not None:
            arrays[name] = stamps
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
        return Table({UNNAMED: np.stack([*arrays.values()], axis=1)}, notes=notes)
    return Table(arrays, notes=notes)


def _dates(cells: list[str]) -> NDArray[Any] | None:
    """Dates and times of day as nanoseconds since 1970, if the text is that."""
    without_zone = [re.sub(r"(Z|[+-]\d\d:?\d\d)$", "", cell) for cell in cells]
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
    """The arrays of a file of NumPy's; `Trajectory.to_npz` also tells the joints."""
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        joints = json.loads(str(file["told"]))["joints"] if "told" in file else ()
        arrays = {name: file[name] for name in file if name != "told"}
    return Table(_numeric(arrays), tuple(joints))


def from_parquet(path: Path, _: str | None = None) -> Table:
    """The columns of a Parquet file; a column of lists of equal length is an array."""
    table = needed("pyarrow.parquet").read_table(str(path))
    arrays = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_numpy()
        arrays[name] = np.stack([*values]) if len(values) and np.ndim(values[0]) else values
    return Table(_numeric(arrays))


def from_mat(path: Path, _: str | None = None) -> Table:
    """The arrays of a MATLAB file; fields of structs are called `struct.field`."""
    try:
        found = needed("scipy.io").loadmat(path, simplify_cells=True)
    except NotImplementedError:
        raise DataError(
            f"{path.name} is a MATLAB file of version 7.3: save it with '-v7', or as CSV"
        ) from None
    return Table(_numeric(_flat(found)))


def _flat(found: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, Mapping):
            arrays |= _flat(value, f"{above}{name}.")
        elif not name.startswith("__"):
            arrays[above + name] = np.squeeze(value)
    return arrays


def _numeric(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of numbers with one or two axes, dates as nanoseconds."""
    arrays = {
        k: x.astype("datetime64[ns]").astype(np.int64) if x.dtype.kind == "M" else x
        for k, x in arrays.items()
    }
    return {k: x for k, x in arrays.items() if x.dtype.kind in "iufb" and x.ndim in (1, 2)}


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
    return Table(arrays, joints, notes)


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

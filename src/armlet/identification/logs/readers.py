"""Read logs from one or more files, a ROS 2 bag, arrays or a simulated trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import tables
from armlet._support.files import expand_user
from armlet._support.optional import require
from armlet.errors import DataError, listing, quote
from armlet.identification.logs.columns import UNNAMED, WORDS, Quantities, Table
from armlet.identification.logs.units import NAMES
from armlet.simulation.trajectory import Trajectory

Source = str | PathLike[str] | Trajectory | Mapping[str, str | PathLike[str] | ArrayLike]
Columns = Mapping[str, str | Sequence[str]]
LABELS = ("joints", "joint_names", "jointNames", "names")
"""Names of arrays that may contain the names of the joints."""
JOINT_STATE = "sensor_msgs/msg/JointState"
BAGS = (".mcap", ".db3")


def read_quantities(
    source: Source, joints: Sequence[str], columns: Columns, topic: str | None
) -> Quantities:
    """Read the quantities of a log, with columns in the robot's joint order."""
    if isinstance(source, Trajectory):
        arrays = {name: getattr(source, name) for name in ("t", "q", "qd", "qdd", "tau")}
        table = Table(arrays, source.joints, units={"t": "s"})
        return Quantities(table, label(source), joints).assign(columns)
    if isinstance(source, str | PathLike):
        table = read_table(expand_user(source), topic)
        if [*table.arrays] == [UNNAMED]:
            table = _name_columns(table, label(source), len(joints))
        quantities = Quantities(table, label(source), joints).assign(columns)
        _check_complete(quantities, label(source), [*table.arrays])
        return quantities
    if not isinstance(source, Mapping):
        raise DataError(
            f"the log is {quote(source)}: expected a file, a Trajectory, or a mapping such as "
            "{'t': ..., 'q': ..., 'tau': ...}"
        )
    quantities = Quantities(Table({}), "the log", joints)
    for quantity, entry in source.items():
        if quantity not in WORDS:
            raise DataError(f"the log has {quote(quantity)}: expected {', '.join(WORDS)}")
        own = {key: names for key, names in columns.items() if key == quantity}
        one = _read_one(quantity, entry, joints, own, topic)
        quantities.arrays.update(one.arrays)
        quantities.units.update(one.units)
        quantities.unknown.update(one.unknown)
        quantities.notes += one.notes
        quantities.warnings += one.warnings
    _check_complete(quantities, "the log", [*source])
    return quantities


def label(source: Source) -> str:
    """Return the name by which messages refer to a log."""
    if isinstance(source, Trajectory):
        return "simulated motion"
    return "log" if isinstance(source, Mapping) else Path(source).name


def _read_one(
    quantity: str, entry: Any, joints: Sequence[str], columns: Columns, topic: str | None
) -> Quantities:
    where = f"the log's {quantity}"
    if isinstance(entry, str | PathLike):
        where, table = label(entry), read_table(expand_user(entry), topic)
    elif hasattr(entry, "columns"):  # a DataFrame
        names = [*map(str, entry.columns)]
        table = _numeric(tables.Table.of_columns(names, _array(entry, where).T))
    else:
        table = _numeric(tables.Table({UNNAMED: _array(entry, where)}))
    array = table.arrays.get(UNNAMED)
    if array is not None and array.ndim == 1:  # one number per line
        table = replace(table, arrays={UNNAMED: array[:, None]})
    quantities = Quantities(table, where, joints)
    if quantity == "t" and array is not None:
        quantities.arrays["t"] = array.reshape(-1)
        if table.units:
            quantities.units["t"] = table.units[UNNAMED]
        return quantities
    quantities.assign(columns, only=quantity)
    if quantity not in quantities.arrays:
        raise DataError(
            f"{where} has no {NAMES[quantity]} of {len(joints)} joints: it has "
            f"{listing([*table.arrays])}"
        )
    return quantities


def _array(values: Any, where: str) -> NDArray[Any]:
    """Return numbers, dates or durations as an array; masked entries become nan or NaT."""
    if isinstance(values, np.ma.MaskedArray):
        is_time = values.dtype.kind in "mM"
        values = values if is_time else values.astype(float)
        values = values.filled(np.array("NaT" if is_time else "nan", values.dtype))
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{where} is no array: expected rows of equal length") from None
    if array.dtype.kind not in "iufbmM":
        raise DataError(f"{where} has entries of type {array.dtype}: expected real numbers")
    return array


def _name_columns(table: Table, where: str, n: int) -> Table:
    """Split an array without column names into t, q, qd and tau by its number of columns."""
    rows = np.atleast_2d(table.arrays[UNNAMED])
    orders = [("t", "q", "qd", "tau"), ("t", "q", "tau"), ("q", "qd", "tau"), ("q", "tau")]
    widths = {order: [1 if name == "t" else n for name in order] for order in orders}
    order = next((x for x in orders if sum(widths[x]) == rows.shape[1]), None)
    if order is None:
        raise DataError(
            f"{where} has {rows.shape[1]} columns without names: expected t, q and tau "
            f"({1 + 2 * n}) or t, q, qd and tau ({1 + 3 * n}); give files with other columns as "
            "a mapping {'q': ..., 'tau': ...}"
        )
    arrays = np.split(rows, np.cumsum(widths[order])[:-1], axis=1)
    note = f"columns have no names: taken as {', '.join(order)}"
    named = dict(zip(order, arrays, strict=True))
    return replace(table, arrays=named, notes=[*table.notes, note])


def _check_complete(quantities: Quantities, where: str, names: Sequence[str]) -> None:
    torques = "current" if "current" in quantities.arrays else "tau"
    for quantity in ("q", torques):
        if quantity not in quantities.arrays:
            raise DataError(
                f"{where} has no {NAMES[quantity]}: it has {listing(names)}; expected names such "
                f"as {quantity}.joint1, {quantity}_1 or {WORDS[quantity].split()[1]}_1, or "
                f"columns={{{quantity!r}: [...]}}"
            )


def read_table(path: Path, topic: str | None = None) -> Table:
    """Read a table from a file or a ROS 2 bag."""
    if path.is_dir() or path.suffix.lower() in BAGS:
        with tables.readable(path):
            table = read_bag(path, topic)
    else:
        table = _numeric(tables.read(path, (*tables.READERS, *BAGS, "or the folder of a bag")))
        if not any(array.size for array in table.arrays.values()):
            raise DataError(f"{path.name} has no numbers")
    if table.arrays.keys() >= {"t", "kinetic", "potential"}:  # written by a Trajectory
        table.units.setdefault("t", "s")
    return table


def _numeric(table: tables.Table) -> Table:
    """Return the numeric arrays of a table, dates in ns, and strings that may be joint names."""
    numbers: dict[str, NDArray[Any]] = {}
    units: dict[str, str] = {}
    labels: tuple[str, ...] = ()
    for name, array in table.arrays.items():
        if name.rpartition(".")[2] in LABELS and array.ndim == 1 and array.dtype.kind in "UO":
            labels = tuple(map(str, array))
        if array.dtype.kind in "mM":
            array = array.astype(f"{array.dtype.kind}8[ns]").astype(np.int64)
            units[name] = "ns"
        if array.dtype.kind in "iufb" and array.ndim in (1, 2):
            numbers[name] = array
    repeats = {own: name for own, name in table.repeats.items() if own in numbers}
    joints = tuple(table.metadata.get("joints", ()))
    return Table(numbers, joints, table.notes, units, repeats, table.warnings, labels)


# ------------------------------------------------------------------ bags


def read_bag(path: Path, topic: str | None = None) -> Table:
    """Read joint positions, velocities and efforts from JointState messages in a ROS 2 bag."""
    highlevel, typesys = require("rosbags.highlevel"), require("rosbags.typesys")
    types = typesys.get_typestore(typesys.Stores.LATEST)
    with highlevel.AnyReader([path], default_typestore=types) as bag:
        counts = {x.topic: x.msgcount for x in bag.connections if x.msgtype == JOINT_STATE}
        if not counts or (topic is not None and topic not in counts):
            every = sorted({f"{x.topic} ({x.msgtype})" for x in bag.connections})
            raise DataError(
                f"{path.name} has no {'' if topic is None else quote(topic) + ' with '}messages "
                f"of type {JOINT_STATE}: it has {listing(every) or 'none'}"
            )
        topic = topic or max(counts, key=lambda name: counts[name])
        states = [
            (at, bag.deserialize(data, link.msgtype))
            for link, at, data in bag.messages([x for x in bag.connections if x.topic == topic])
        ]
    notes = [f"joint states are those of topic {topic}"]
    others = [name for name in counts if name != topic]
    if others:
        notes.append(f"other topics of joint states are left out: {listing(others)}")
    if not states:
        raise DataError(f"{path.name} has no message on the topic of joint states")
    joints: tuple[str, ...] = max((tuple(x.name) for _, x in states[:100]), key=len)
    whole = [(at, state) for at, state in states if set(joints) <= set(state.name)]
    if len(whole) < len(states):
        notes.append(
            f"{len(states) - len(whole):,} messages without all of {listing(joints)} are left out"
        )
    stamps = np.array([x.header.stamp.sec * 10**9 + x.header.stamp.nanosec for _, x in whole])
    if not stamps.any():
        stamps = np.array([at for at, _ in whole])
        notes.append("messages have no stamps: their time is when they were recorded")
    arrays: dict[str, NDArray[Any]] = {"stamp_ns": stamps}
    for name in ("position", "velocity", "effort"):
        if all(len(getattr(state, name)) == len(state.name) for _, state in whole):
            rows = (dict(zip(state.name, getattr(state, name), strict=True)) for _, state in whole)
            arrays[name] = np.array([[row[joint] for joint in joints] for row in rows], dtype=float)
    return Table(arrays, joints, notes, {"stamp_ns": "ns"})

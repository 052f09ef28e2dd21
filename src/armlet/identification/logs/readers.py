"""Logs as tables: files of numbers, whose units and joints are noted, and bags of ROS 2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet._support import tables
from armlet._support.optional import require
from armlet._support.tables import UNNAMED, readable
from armlet.errors import DataError, listed, quoted

__all__ = ["UNNAMED", "Table", "numeric_table", "read_table"]
LABELS = ("joints", "joint_names", "jointNames", "names")
"""Arrays that may have the names of joints."""
JOINT_STATE = "sensor_msgs/msg/JointState"
BAGS = (".mcap", ".db3")


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


def read_table(path: Path, topic: str | None = None) -> Table:
    """Read the table in a file, or in the folder of a bag."""
    ending = path.suffix.lower()
    if path.is_dir() or ending in BAGS:
        with readable(path):
            table = from_bag(path, topic)
    elif ending in tables.READERS:
        table = _numeric(tables.read(path))
    else:
        raise DataError(
            f"{path.name} ends in {quoted(path.suffix)}: expected "
            f"{', '.join((*tables.READERS, *BAGS))}, or the folder of a bag"
        )
    if table.arrays.keys() >= {"t", "kinetic", "potential"}:  # what a Trajectory has written
        table.units.setdefault("t", "s")
    return table


def numeric_table(names: Sequence[str], arrays: Iterable[NDArray[Any]]) -> Table:
    """The arrays of numbers with one or two axes, dates and durations as nanoseconds."""
    return _numeric(tables.Table.of_columns(names, arrays))


def _numeric(table: tables.Table) -> Table:
    """The numbers of a table, with the units of dates and the names of joints."""
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


def from_bag(path: Path, topic: str | None = None) -> Table:
    """The joint states of a bag: positions, velocities and efforts of the joints it names."""
    highlevel, typesys = require("rosbags.highlevel"), require("rosbags.typesys")
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

"""Where a log comes from: one file, several files, arrays or a simulated motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armlet.errors import DataError, listed, quoted
from armlet.identification.columns import NAMES, WORDS, Found, assigned
from armlet.identification.readers import UNNAMED, Table, read_table
from armlet.motion.trajectory import Trajectory

Source = str | PathLike[str] | Trajectory | Mapping[str, str | PathLike[str] | ArrayLike]
Columns = Mapping[str, str | Sequence[str]]


def gathered(source: Source, joints: Sequence[str], columns: Columns, topic: str | None) -> Found:
    """The quantities of a log, columns in the order of the robot's joints."""
    if isinstance(source, Trajectory):
        arrays = {name: getattr(source, name) for name in ("t", "q", "qd", "qdd", "tau")}
        return assigned(Table(arrays, source.joints), label(source), joints, columns)
    if isinstance(source, str | PathLike):
        table = read_table(Path(source), topic)
        if [*table.arrays] == [UNNAMED]:
            table = _without_names(table, label(source), len(joints))
        return _complete(assigned(table, label(source), joints, columns), label(source), table)
    found = Found({}, {}, [])
    for quantity, part in source.items():
        if quantity not in WORDS:
            raise DataError(f"the log has {quoted(quantity)}: expected {', '.join(WORDS)}")
        own = {key: names for key, names in columns.items() if key == quantity}
        arrays, units, notes = _part(quantity, part, joints, own, topic)
        found.arrays.update(arrays)
        found.units.update(units)
        found.notes.extend(notes)
    return _complete(found, "the log", Table({name: np.empty(0) for name in source}))


def label(source: Source) -> str:
    """What a log is called in messages."""
    if isinstance(source, Trajectory):
        return "simulated motion"
    return "log" if isinstance(source, Mapping) else Path(source).name


def _part(
    quantity: str, part: Any, joints: Sequence[str], columns: Columns, topic: str | None
) -> Found:
    """One quantity from a file or an array."""
    if isinstance(part, str | PathLike):
        where, table = label(part), read_table(Path(part), topic)
    else:
        where, table = f"the log's {quantity}", Table({UNNAMED: np.asarray(part)})
    array = table.arrays.get(UNNAMED)
    if quantity == "t" and array is not None:
        return Found({"t": array.reshape(-1)}, {}, [])
    if array is not None and array.ndim == 1:  # one number per line
        table = Table({UNNAMED: array[:, None]}, table.joints, table.notes)
    found = assigned(table, where, joints, columns, only=quantity)
    if quantity not in found.arrays:
        raise DataError(
            f"{where} has no {NAMES[quantity]} of {len(joints)} joints: it has "
            f"{listed([*table.arrays])}"
        )
    return found


def _without_names(table: Table, where: str, n: int) -> Table:
    """A table of plain numbers as time, positions, velocities and torques, by its width."""
    rows = np.atleast_2d(table.arrays[UNNAMED])
    orders = {
        1 + 2 * n: ("t", "q", "tau"), 1 + 3 * n: ("t", "q", "qd", "tau"),
        2 * n: ("q", "tau"), 3 * n: ("q", "qd", "tau"),
    }  # fmt: skip
    order = orders.get(rows.shape[1])
    if order is None:
        raise DataError(
            f"{where} has {rows.shape[1]} columns without names: expected t, q and tau "
            f"({1 + 2 * n}) or t, q, qd and tau ({1 + 3 * n}); give files with other columns as "
            "a mapping {'q': ..., 'tau': ...}"
        )
    arrays, at = {}, 0
    for name in order:
        width = 1 if name == "t" else n
        arrays[name] = rows[:, at : at + width]
        at += width
    note = f"columns have no names: taken as {', '.join(order)}"
    return Table(arrays, (), [*table.notes, note])


def _complete(found: Found, where: str, table: Table) -> Found:
    """What was found, if it has positions and torques."""
    torques = "current" if "current" in found.arrays else "tau"
    for quantity in ("q", torques):
        if quantity not in found.arrays:
            raise DataError(
                f"{where} has no {NAMES[quantity]}: it has {listed([*table.arrays])}; expected "
                f"names such as {quantity}.joint1, {quantity}_1 or {WORDS[quantity].split()[1]}_1, "
                f"or columns={{{quantity!r}: [...]}}"
            )
    return found

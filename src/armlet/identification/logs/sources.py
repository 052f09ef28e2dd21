"""Where a log comes from: one file, several files, arrays or a simulated motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.files import expand_user
from armlet.errors import DataError, listed, quoted
from armlet.identification.logs.columns import WORDS, Found, assigned
from armlet.identification.logs.readers import UNNAMED, Table, numeric_table, read_table
from armlet.identification.logs.units import NAMES, Named
from armlet.simulation.trajectory import Trajectory

Source = str | PathLike[str] | Trajectory | Mapping[str, str | PathLike[str] | ArrayLike]
Columns = Mapping[str, str | Sequence[str]]


def gathered(source: Source, joints: Sequence[str], columns: Columns, topic: str | None) -> Found:
    """The quantities of a log, columns in the order of the robot's joints."""
    if isinstance(source, Trajectory):
        arrays = {name: getattr(source, name) for name in ("t", "q", "qd", "qdd", "tau")}
        table = Table(arrays, source.joints, units={"t": "s"})
        return assigned(table, label(source), joints, columns)
    if isinstance(source, str | PathLike):
        table = read_table(expand_user(source), topic)
        if [*table.arrays] == [UNNAMED]:
            table = _without_names(table, label(source), len(joints))
        return _complete(assigned(table, label(source), joints, columns), label(source), table)
    if not isinstance(source, Mapping):
        raise DataError(
            f"the log is {quoted(source)}: expected a file, a Trajectory, or a mapping such as "
            "{'t': ..., 'q': ..., 'tau': ...}"
        )
    found = Found({}, {}, [], [])
    for quantity, part in source.items():
        if quantity not in WORDS:
            raise DataError(f"the log has {quoted(quantity)}: expected {', '.join(WORDS)}")
        own = {key: names for key, names in columns.items() if key == quantity}
        more = _part(quantity, part, joints, own, topic)
        found.arrays.update(more.arrays)
        found.units.update(more.units)
        found.notes.extend(more.notes)
        found.doubts.extend(more.doubts)
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
        where, table = label(part), read_table(expand_user(part), topic)
    elif hasattr(part, "columns"):  # a DataFrame
        where = f"the log's {quantity}"
        names = [*map(str, part.columns)]
        table = numeric_table(names, _array(part, where).T)
    else:
        where = f"the log's {quantity}"
        table = numeric_table([UNNAMED], [_array(part, where)])
    array = table.arrays.get(UNNAMED)
    if quantity == "t" and array is not None:
        units: dict[str, Named] = {"t": table.units[UNNAMED]} if table.units else {}
        return Found({"t": array.reshape(-1)}, units, list(table.notes), list(table.doubts))
    if array is not None and array.ndim == 1:  # one number per line
        table = replace(table, arrays={UNNAMED: array[:, None]})
    found = assigned(table, where, joints, columns, only=quantity)
    if quantity not in found.arrays:
        raise DataError(
            f"{where} has no {NAMES[quantity]} of {len(joints)} joints: it has "
            f"{listed([*table.arrays])}"
        )
    return found


def _array(values: Any, where: str) -> NDArray[Any]:
    """Numbers, dates or durations as an array; numbers that are masked are nan."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{where} is no array: expected rows of equal length") from None
    if array.dtype.kind not in "iufbmM":
        raise DataError(f"{where} has entries of type {array.dtype}: expected real numbers")
    return array


def _without_names(table: Table, where: str, n: int) -> Table:
    """A table of plain numbers as time, positions, velocities and torques, by its width."""
    rows = np.atleast_2d(table.arrays[UNNAMED])
    orders = {
        2 * n: ("q", "tau"), 3 * n: ("q", "qd", "tau"),
        1 + 2 * n: ("t", "q", "tau"), 1 + 3 * n: ("t", "q", "qd", "tau"),
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
    return replace(table, arrays=arrays, notes=[*table.notes, note])


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

"""Trajectories as files: NumPy's, tables of text, and Parquet."""

import csv
import json
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError, quoted
from armlet.extras import needed

Array = NDArray[np.float64]
Parts = tuple[dict[str, Array], dict[str, Any]]
"""Arrays by name, and everything else that is told of a trajectory."""


def columns(
    arrays: Mapping[str, Array], jointwise: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Arrays as columns: `q.joint1` of what every joint has, `pose[0,3]` of other arrays."""
    found: dict[str, Array] = {}
    for name, array in arrays.items():
        if name in jointwise:
            found |= {f"{name}.{joint}": array[:, i] for i, joint in enumerate(jointwise[name])}
        elif array.ndim == 1:
            found[name] = array
        else:
            places = product(*map(range, array.shape[1:]))
            for place, column in zip(places, array.reshape(len(array), -1).T, strict=True):
                found[f"{name}[{','.join(map(str, place))}]"] = column
    return found


def of_columns(found: Mapping[str, Array], jointwise: Mapping[str, object]) -> Parts:
    """The arrays of columns, and the names of the joints."""
    joints = tuple(name[2:] for name in found if name.startswith("q."))
    arrays = {
        name: np.stack([found[f"{name}.{joint}"] for joint in joints], axis=1) for name in jointwise
    }
    places: dict[str, dict[tuple[int, ...], Array]] = {}
    for column, values in found.items():
        name, bracket, rest = column.partition("[")
        if bracket:
            places.setdefault(name, {})[tuple(map(int, rest[:-1].split(",")))] = values
        elif column.partition(".")[0] not in jointwise:
            arrays[column] = values
    for name, entries in places.items():
        shape = tuple(k + 1 for k in max(entries))
        rows = np.stack([entries[place] for place in product(*map(range, shape))], axis=1)
        arrays[name] = rows.reshape(len(rows), *shape)
    return arrays, {"joints": joints}


def to_npz(path: Path, arrays: Mapping[str, Array], told: Mapping[str, Any]) -> None:
    """Write arrays and what is told as a file of NumPy's."""
    every: dict[str, Any] = {**arrays, "told": np.array(json.dumps(told))}
    with path.open("wb") as file:
        np.savez_compressed(file, **every)


def from_npz(path: Path) -> Parts:
    """The arrays, and what is told."""
    with np.load(path, allow_pickle=False) as file:
        told = json.loads(str(file["told"]))
        return {name: file[name] for name in file if name != "told"}, told


def to_csv(path: Path, found: Mapping[str, Array]) -> None:
    """Write columns as a table with a line of names."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(found)
        writer.writerows(zip(*(column.tolist() for column in found.values()), strict=True))


def from_csv(path: Path) -> dict[str, Array]:
    """The columns of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        names = next(csv.reader(file))
        rows = [[float(x) for x in row] for row in csv.reader(file)]
    numbers = np.array(rows).reshape(len(rows), len(names))
    return dict(zip(names, numbers.T.copy(), strict=True))


def to_parquet(path: Path, found: Mapping[str, Array], told: Mapping[str, Any]) -> None:
    """Write columns as a Parquet file, with what is told as its metadata."""
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    table = arrow.table(dict(found)).replace_schema_metadata({"armlet": json.dumps(told)})
    parquet.write_table(table, str(path))


def from_parquet(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The columns, and what is told."""
    table = needed("pyarrow.parquet").read_table(str(path))
    told = json.loads((table.schema.metadata or {}).get(b"armlet", b"{}"))
    return {name: table[name].to_numpy() for name in table.column_names}, told


def read(path: Path, jointwise: Mapping[str, object]) -> Parts:
    """What a file of any kind has."""
    readers: dict[str, Callable[[], Parts]] = {
        ".npz": lambda: from_npz(path),
        ".csv": lambda: of_columns(from_csv(path), jointwise),
        ".parquet": lambda: _with_told(*from_parquet(path), jointwise),
    }
    if path.suffix not in readers:
        raise DataError(f"{path.name} ends in {quoted(path.suffix)}: expected {', '.join(readers)}")
    try:
        return readers[path.suffix]()
    except (KeyError, ValueError, StopIteration) as error:
        raise DataError(f"{path.name} is no trajectory: {error}") from None


def _with_told(
    found: dict[str, Array], told: dict[str, Any], jointwise: Mapping[str, object]
) -> Parts:
    arrays, names = of_columns(found, jointwise)
    return arrays, {**told, **names}

"""Trajectories as files: NumPy's, tables of text, and Parquet."""

import csv
import json
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO, TextIOWrapper
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet._support.files import replacing, shown_path
from armlet._support.optional import needed
from armlet.errors import ArmletError, DataError, DataWarning, quoted

Array = NDArray[np.float64]
Parts = tuple[dict[str, Array], dict[str, Any]]
"""Arrays by name, and everything else that is told of a trajectory."""

DAMAGED = "is no trajectory, or is damaged"


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


def to_npz(path: str | Path, arrays: Mapping[str, Array], told: Mapping[str, Any]) -> None:
    """Write arrays and what is told as a file of NumPy's."""
    every: dict[str, Any] = {**arrays, "told": np.array(json.dumps(told))}
    with replacing(path) as file:
        np.savez_compressed(file, **every)


def from_npz(path: Path) -> Parts:
    """The arrays, and what is told."""
    arrays = npz_arrays(path)
    return arrays, json.loads(str(arrays.pop("told")))


def npz_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a NumPy archive, all of whose checksums are verified."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        check_unique(names, path)
        return {
            name.removesuffix(".npy"): np.lib.format.read_array(
                BytesIO(archive.read(name)), allow_pickle=False
            )
            for name in names
        }


def to_csv(path: str | Path, found: Mapping[str, Array]) -> None:
    """Write columns as a table with a line of names."""
    with replacing(path) as raw:
        file = TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(file)
        writer.writerow(found)
        writer.writerows(zip(*(column.tolist() for column in found.values()), strict=True))
        file.detach()


def from_csv(path: Path) -> dict[str, Array]:
    """The columns of a table; a last line that is cut off is left out, with a warning.

    `to_csv` ends every line: one without an end is cut off even if it has a number per column.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        text = file.read()
    reader = csv.reader(StringIO(text, newline=""))
    names = next(reader)
    check_unique(names, path)
    rows = dict((reader.line_num, _numbers(cells)) for cells in reader if cells)
    wrong = [k for k, row in rows.items() if len(row) != len(names)]
    last = max(rows, default=0)
    if rows and (wrong == [last] or not text.endswith("\n")):
        warn_of_torn_line(path)
        del rows[last]
    if set(wrong) - {last}:
        raise DataError(
            f"{path.name}, line {wrong[0]}: expected {len(names)} numbers, one for each column"
        )
    numbers = np.array([*rows.values()]).reshape(len(rows), len(names))
    return dict(zip(names, numbers.T.copy(), strict=True))


def _numbers(cells: list[str]) -> list[float]:
    """The numbers in cells; none where a cell has no number."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return []


def check_unique(names: Sequence[str], path: Path) -> None:
    """Raise if two columns or arrays of a file have the same name."""
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise DataError(f"{path.name} has the column {quoted(double[0])} more than once")


def warn_of_torn_line(path: Path) -> None:
    """Warn that a table ends in the middle of a line, as when its writer was interrupted."""
    warnings.warn(
        f"{path.name} ends in the middle of a line, which is left out", DataWarning, stacklevel=2
    )


def to_parquet(path: str | Path, found: Mapping[str, Array], told: Mapping[str, Any]) -> None:
    """Write columns as a Parquet file, with what is told as its metadata."""
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    table = arrow.table(dict(found)).replace_schema_metadata({"armlet": json.dumps(told)})
    with replacing(path) as file:
        parquet.write_table(table, file, write_page_checksum=True)


def from_parquet(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The columns, and what is told."""
    table = parquet_table(path)
    check_unique(table.column_names, path)
    told = json.loads((table.schema.metadata or {}).get(b"armlet", b"{}"))
    return {name: table[name].to_numpy() for name in table.column_names}, told


def parquet_table(path: Path) -> Any:
    """The table of a Parquet file, whose checksums are verified where it has them."""
    parquet = needed("pyarrow.parquet")
    with path.open("rb") as file:
        return parquet.ParquetFile(file, page_checksum_verification=True).read()


def read(path: Path, jointwise: Mapping[str, object]) -> Parts:
    """What a file of any kind has."""
    readers: dict[str, Callable[[], Parts]] = {
        ".npz": lambda: from_npz(path),
        ".csv": lambda: of_columns(from_csv(path), jointwise),
        ".parquet": lambda: _with_told(*from_parquet(path), jointwise),
    }
    if path.suffix not in readers:
        raise DataError(f"{path.name} ends in {quoted(path.suffix)}: expected {', '.join(readers)}")
    with readable(path, DAMAGED):
        return readers[path.suffix]()


@contextmanager
def readable(path: Path, otherwise: str) -> Iterator[None]:
    """Turn what decoders raise on missing and damaged files into an error that names the file."""
    try:
        yield
    except ArmletError:
        raise
    except FileNotFoundError:
        raise DataError(f"there is no file {shown_path(path)}") from None
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise DataError(f"{path.name} {otherwise}: {type(error).__name__}: {error}") from error


def _with_told(
    found: dict[str, Array], told: dict[str, Any], jointwise: Mapping[str, object]
) -> Parts:
    arrays, names = of_columns(found, jointwise)
    return arrays, {**told, **names}

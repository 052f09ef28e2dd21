"""Read tables from text, NumPy, Parquet and MATLAB files; write CSV, NPZ and Parquet files.

Logs are read; trajectories are read and written. Files are written atomically. An exception on a
damaged file becomes an error that names the file.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet._support.files import replacing, shown_path
from armlet._support.optional import require
from armlet.errors import ArmletError, DataError, listing, quote

UNITS = re.compile(r"[\[(]?(-|°|[munkc]?[smNA][·. ]?m?|m?rad|m?deg|rev|rpm)(/s(\^?2|²)?)?[\])]?")
"""Pattern of a cell in a line of units, which may follow the line of column names."""
UNNAMED = ""
"""Name for an array that has no name in its file."""
METADATA = "metadata"
"""Name of the array in a NumPy archive that holds the metadata as JSON."""
OWN_METADATA = re.compile(r'\{"joints": \[.*\], "ended": .*\}$')
"""Pattern of a trajectory's metadata; an array METADATA that does not match is ignored."""
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Table:
    """Content of a file: arrays by name, metadata, and notes and warnings about the file."""

    arrays: Arrays
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The metadata that `write_npz` or `write_parquet` stored with the arrays."""
    repeats: dict[str, str] = field(default_factory=dict)
    """New name -> name in the file, for each column that has the name of an earlier column."""
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_ended: bool = True
    """Whether a text file ends with a line break; otherwise its last number may be cut off."""

    @classmethod
    def of_columns(cls, names: Sequence[str], columns: Iterable[NDArray[Any]]) -> Table:
        """Return a table of columns; a column with a repeated name is renamed "NAME (column K)"."""
        arrays: Arrays = {}
        repeats = {}
        for k, (name, array) in enumerate(zip(names, columns, strict=True), 1):
            own = name
            if name in arrays:
                own = f"{name} (column {k})"
                repeats[own] = name
            arrays[own] = array
        return cls(arrays, repeats=repeats)


def read(path: Path, endings: Sequence[str] | None = None) -> Table:
    """Read a table from a file with a suffix in `endings` (by default, any supported suffix)."""
    expected = READERS if endings is None else endings
    reader = READERS.get(path.suffix.lower())
    if reader is None or path.suffix.lower() not in expected:
        raise DataError(f"{path.name} ends in {quote(path.suffix)}: expected {', '.join(expected)}")
    with readable(path):
        return reader(path)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn exceptions on missing or damaged files into errors that name the file."""
    try:
        yield
    except ArmletError:
        raise
    except FileNotFoundError:
        raise DataError(f"there is no file {shown_path(path)}") from None
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise DataError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error


def check_increasing(t: NDArray[np.float64], where: str) -> None:
    """Raise unless times are finite and strictly increasing; the error names the row."""
    bad = np.flatnonzero(~np.isfinite(t))
    if len(bad):
        raise DataError(f"{where}: t is {t[bad[0]]} at row {bad[0]} (rows count from 0)")
    falls = np.flatnonzero(np.diff(t) <= 0)
    if len(falls):
        k = int(falls[0])
        raise DataError(
            f"{where}: time goes back from {t[k]:g} s at row {k} to {t[k + 1]:g} s in the next "
            f"(rows count from 0), {len(falls):,} times in all: sort the rows, or cut the file "
            "there and read each part by itself"
        )


# ------------------------------------------------------------------ text


def read_text(path: Path) -> Table:
    """Read the columns of a text file, with or without a line of column names.

    A file that is not valid UTF-8 is read as Latin-1, since units may contain ° or µ. A file that
    starts with the byte order mark of UTF-16, such as Excel's Unicode text, is read as UTF-16.
    """
    try:
        return _read_text(path, "utf-8-sig")
    except UnicodeDecodeError as error:
        is_utf16 = error.object.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        return _read_text(path, "utf-16" if is_utf16 else "latin-1")


def _read_text(path: Path, encoding: str) -> Table:
    with path.open(encoding=encoding) as file:
        names, separator, skipped = _head(path, file)
    if names and not skipped:  # the file has no rows
        return Table.of_columns(names, [np.zeros(0)] * len(names))
    try:
        with path.open(encoding=encoding) as file:
            lines = file if separator == "," else map(_with_points, file)
            rows = np.loadtxt(lines, delimiter=separator, skiprows=skipped, ndmin=2, comments=None)
    except ValueError:
        rows = None
    with path.open("rb") as raw:
        raw.seek(max(-2, -path.stat().st_size), 2)
        is_ended = raw.read().replace(b"\0", b"")[-1:] in b"\r\n"  # UTF-16 has zeros
    if rows is None or (names and len(names) != rows.shape[1]):
        with path.open(encoding=encoding) as file:
            below = islice(enumerate(file, 1), skipped, None)
            cells = {k: _cells(line, separator) for k, line in below if line.strip()}
        table = _table_of_cells(path, names, cells, is_ended)
    elif names:
        table = replace(Table.of_columns(names, rows.T), is_ended=is_ended)
    else:
        table = Table({UNNAMED: rows}, is_ended=is_ended)
    if not table.is_ended:
        table.notes.append(f"{path.name} has no line break at its end: its last number may be cut")
    return table


def _head(path: Path, lines: Iterable[str]) -> tuple[list[str], str | None, int]:
    """Return the column names, the separator, and the number of lines before the numbers."""
    before, above, texts = "", "", 0
    for k, line in enumerate(islice(lines, 1000)):
        if not line.strip():
            continue
        separator = next((s for s in (";", "\t", ",") if s in line), None)
        if any(map(_is_number, _cells(line, separator))):
            names, units = (_cells(x.lstrip("#% "), separator) for x in (before, above))
            has_units = len(names) == len(units) and all(map(UNITS.fullmatch, units))
            pairs = zip(names, units, strict=False)
            names = [f"{x} [{y.strip('[()]')}]" for x, y in pairs] if has_units else units
            return names if len(names) > 1 or separator is None else [], separator, k
        before, above, texts = above, line.strip(), texts + 1
    if texts == 1 and separator and len(names := _cells(above.lstrip("#% "), separator)) > 1:
        return names, separator, 0  # a table without rows
    raise DataError(f"{path.name} has no numbers in its first thousand lines")


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]


def _with_points(text: str) -> str:
    return text.replace(",", ".")


def _is_number(text: str) -> bool:
    try:
        float(_with_points(text))
    except ValueError:
        return False
    return "_" not in text and text.isascii()  # Python reads 1_0 as ten


def _table_of_cells(
    path: Path, names: list[str], rows: dict[int, list[str]], is_ended: bool
) -> Table:
    """Return the table of `rows` (line number -> cells); cells may be empty or text.

    An empty cell in a column of numbers becomes NaN. Columns of text other than dates are left
    out, with a note, but text in a column of mostly numbers is an error. If the last line is cut
    off, this line is left out, with a warning.
    """
    width = len(names) or len(next(iter(rows.values())))
    last = max(rows)
    warnings = []
    *_, before, cells = [[""], *rows.values()]
    is_cut = not is_ended and _is_number(before[-1]) and not _is_number(cells[-1])
    if len(rows) > 1 and (len(cells) < width or is_cut):
        warnings.append(f"line {last}, the last one, is cut off and left out")
        del rows[last]
        is_ended = True
    for k, cells in rows.items():
        if len(cells) != width:
            raise DataError(f"{path.name}, line {k} has {len(cells)} cells: expected {width}")
    headings = names or [str(k) for k in range(1, width + 1)]
    numeric, arrays, text = [], [], []
    for name, *cells in zip(headings, *rows.values(), strict=True):
        are_numbers = [cell == "" or _is_number(cell) for cell in cells]
        if all(are_numbers):
            numeric.append(name)
            arrays.append(np.array([float(_with_points(x)) if x else np.nan for x in cells]))
        elif (dates := _dates(cells)) is not None:
            numeric.append(name)
            arrays.append(dates)
        elif sum(are_numbers) > len(are_numbers) / 2:
            at = are_numbers.index(False)
            raise DataError(
                f"{path.name}, line {list(rows)[at]}, column {quote(name)} is "
                f"{quote(cells[at])}: expected a number"
            )
        else:
            text.append(name)
    table = Table.of_columns(numeric, arrays) if names else Table({UNNAMED: np.stack(arrays, 1)})
    notes = [f"columns of text are left out: {listing(text)}"] if text else []
    return replace(table, notes=notes, warnings=warnings, is_ended=is_ended)


def _dates(cells: list[str]) -> NDArray[Any] | None:
    """Return the cells as datetime64[ns] if all are dates in the same time zone, else None."""
    zone = re.compile(r"(?:Z|[+-]\d\d:?\d\d)?$")
    without_zone = [zone.sub("", cell, count=1) for cell in cells]
    if len({cell[len(x) :] for cell, x in zip(cells, without_zone, strict=True)}) > 1:
        return None
    try:
        return np.array(without_zone, dtype="datetime64[ns]")
    except ValueError:
        return None


def write_csv(path: str | Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns as a CSV file with a line of column names."""
    with replacing(path) as raw:
        file = TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
        file.detach()


# ------------------------------------------------------------------ binary files


def read_npy(path: Path) -> Table:
    """Read the array of a NumPy file; named fields of a structured array become columns."""
    with path.open("rb") as raw:
        array = np.load(raw, allow_pickle=False)
    if array.dtype.names:
        return Table({name: array[name] for name in array.dtype.names})
    return Table({UNNAMED: array})


def read_npz(path: Path) -> Table:
    """Read the arrays of a NumPy archive, and verify their checksums."""
    arrays: Arrays = {}
    with zipfile.ZipFile(path) as archive:
        for file in archive.namelist():
            name = file.removesuffix(".npy")
            if name == file:
                continue
            if name in arrays:
                raise DataError(f"{path.name} has the array {quote(name)} more than once")
            content = BytesIO(archive.read(file))
            arrays[name] = np.lib.format.read_array(content, allow_pickle=False)
    text = str(arrays.pop(METADATA, ""))
    return Table(arrays, json.loads(text) if OWN_METADATA.match(text) else {})


def write_npz(
    path: str | Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> None:
    """Write metadata and arrays of any shape as a NumPy archive."""
    content: dict[str, Any] = {**arrays, METADATA: np.array(json.dumps(metadata))}
    with replacing(path) as file:
        np.savez_compressed(file, **content)


def read_parquet(path: Path) -> Table:
    """Read the columns of a Parquet file; a column of lists of equal length becomes a matrix."""
    parquet = require("pyarrow.parquet")
    with path.open("rb") as file:
        columns = parquet.ParquetFile(file, page_checksum_verification=True).read()
    arrays = []
    for column in columns.columns:
        values = column.to_numpy()
        arrays.append(np.stack([*values]) if len(values) and np.ndim(values[0]) else values)
    metadata = json.loads((columns.schema.metadata or {}).get(b"armlet", b"{}"))
    return replace(Table.of_columns(columns.column_names, arrays), metadata=metadata)


def write_parquet(
    path: str | Path, columns: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> None:
    """Write columns and metadata as a Parquet file."""
    arrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    table = arrow.table(dict(columns)).replace_schema_metadata({"armlet": json.dumps(metadata)})
    with replacing(path) as file:
        parquet.write_table(table, file, write_page_checksum=True)


def read_mat(path: Path) -> Table:
    """Read the arrays of a MATLAB file; fields of structs are called `struct.field`."""
    try:
        variables = require("scipy.io").loadmat(path, simplify_cells=True)
    except NotImplementedError:
        raise DataError(
            f"{path.name} is a MATLAB file of version 7.3: save it with '-v7', or as CSV"
        ) from None
    return Table(_without_structs(variables))


def _without_structs(variables: Mapping[str, Any], above: str = "") -> Arrays:
    arrays: Arrays = {}
    for name, value in variables.items():
        if isinstance(value, Mapping):
            arrays |= _without_structs(value, f"{above}{name}.")
        elif not name.startswith("__"):
            arrays[above + name] = np.squeeze(value)
    return arrays


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".npy": read_npy,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".mat": read_mat,
}

"""LLVM IR that converts rows to columns, and back.

A row holds one state. A column is a vector with the same entry of several states, one per lane. A
block has as many rows as a vector has lanes. It is read as vectors along the rows, transposed in
registers by a butterfly of shuffles, and written as full vectors. A vector that is longer than the
rest of its row continues in the next row. Only loads beyond the end of the block are masked, since
not all processors prefetch for masked loads: on a Zen 3, the torques of a seven-joint arm (float32,
100,000 states) take 16 ns per state, and 22 ns if all loads are masked.
"""

from armlet.codegen.llvm.types import BYTES, type_suffix, vector_type
from armlet.codegen.templates import read_blocks

IR = read_blocks("transpose.ll")


def load_columns(name: str, size: int, element: str, lanes: int, lines: list[str]) -> list[str]:
    """Append instructions that load one row per lane, from row %i on; return the columns."""
    V = vector_type(element, lanes)
    columns: list[str] = []
    for start in range(0, size, lanes):
        width = min(lanes, size - start)
        mask = ", ".join(f"i1 {'true' if k < width else 'false'}" for k in range(lanes))
        rows = []
        pointers = _row_pointers(f"{name}.c{start}.r", name, size, start, element, lanes, lines)
        for r, pointer in enumerate(pointers):
            out = f"%{name}.c{start}.v{r}"
            rows.append(out)
            if r * size + start + lanes <= lanes * size:
                lines.append(f"{out} = load {V}, ptr {pointer}, align {BYTES[element]}")
            else:
                lines.append(
                    f"{out} = call {V} @llvm.masked.load.{type_suffix(element, lanes)}.p0("
                    f"ptr {pointer}, i32 {BYTES[element]}, <{lanes} x i1> <{mask}>, "
                    f"{V} zeroinitializer)"
                )
        columns += _transpose(rows, f"{name}.c{start}", V, lanes, lines)[:width]
    return columns


def store_columns(
    name: str, columns: list[str], element: str, lanes: int, lines: list[str]
) -> None:
    """Append instructions that store `columns` as contiguous rows, from row %i on.

    There is one row per lane, so the rows fill as many vectors as there are columns. Shuffles
    assemble each stored vector from the rows that it overlaps.
    """
    V = vector_type(element, lanes)
    size = len(columns)
    blocks = []
    for start in range(0, size, lanes):
        chunk = columns[start : start + lanes]
        padded = chunk + ["zeroinitializer"] * (lanes - len(chunk))
        blocks.append(_transpose(padded, f"{name}.c{start}", V, lanes, lines))
    lines.append(f"%{name}.first = mul i64 %i, {size}")
    for k in range(size):
        places = [divmod(at, size) for at in range(k * lanes, (k + 1) * lanes)]
        sources = [(blocks[column // lanes][row], column % lanes) for row, column in places]
        whole = _gather(sources, f"{name}.w{k}", V, lanes, lines)
        lines += [
            f"%{name}.w{k}.entry = add i64 %{name}.first, {k * lanes}",
            f"%{name}.w{k}.at = getelementptr {element}, ptr %{name}, i64 %{name}.w{k}.entry",
            f"store {V} {whole}, ptr %{name}.w{k}.at, align {BYTES[element]}",
        ]


def _gather(sources: list[tuple[str, int]], name: str, V: str, lanes: int, lines: list[str]) -> str:
    """Return a vector whose lane k is copied from `sources[k]`, a pair (vector, lane)."""
    first, *others = dict.fromkeys(vector for vector, _ in sources)
    whole, order = first, [lane for _, lane in sources]
    for step, other in enumerate(others or ["poison"]):
        picks = [
            lanes + lane if vector == other else order[k] if step == 0 else k
            for k, (vector, lane) in enumerate(sources)
        ]
        listed = ", ".join(f"i32 {pick}" for pick in picks)
        lines.append(
            f"%{name}.{step} = shufflevector {V} {whole}, {V} {other}, <{lanes} x i32> <{listed}>"
        )
        whole = f"%{name}.{step}"
    return whole


def _row_pointers(
    tag: str, rows: str, size: int, column: int | str, element: str, lanes: int, lines: list[str]
) -> list[str]:
    """Return one pointer per lane, to entry `column` of rows %i, %i + 1, …"""
    pointers = [f"%{tag}{r}" for r in range(lanes)]
    for r, at in enumerate(pointers):
        lines += [
            f"{at}.row = add i64 %i, {r}",
            f"{at}.first = mul i64 {at}.row, {size}",
            f"{at}.entry = add i64 {at}.first, {column}",
            f"{at} = getelementptr {element}, ptr %{rows}, i64 {at}.entry",
        ]
    return pointers


def _transpose(rows: list[str], name: str, V: str, lanes: int, lines: list[str]) -> list[str]:
    """Return the columns of `rows`, one row per lane, computed by a butterfly of shuffles."""
    step = 1
    while step < lanes:
        low = [k if not k & step else lanes + k - step for k in range(lanes)]
        high = [k + step if not k & step else lanes + k for k in range(lanes)]
        new = list(rows)
        for a in range(lanes):
            if not a & step:
                b = a + step
                for out, order in ((a, low), (b, high)):
                    picks = ", ".join(f"i32 {k}" for k in order)
                    new[out] = f"%{name}.s{step}.{out}"
                    lines.append(
                        f"{new[out]} = shufflevector {V} {rows[a]}, {V} {rows[b]}, "
                        f"<{lanes} x i32> <{picks}>"
                    )
        rows = new
        step *= 2
    return rows


# ------------------------------------------------------------------ through memory


def columns_from_rows(name: str, size: int, begin: int, element: str, lanes: int) -> str:
    """Return LLVM IR of `void @name(ptr rows, ptr columns, i64 i)`, which copies rows to columns.

    The first row is i, the first column is `begin`. The last columns may be copied twice.
    """
    V = vector_type(element, lanes)
    lines: list[str] = []
    if size < lanes:
        columns = load_columns("rows", size, element, lanes, lines)
        first = "0"
    else:
        vectors = [f"%v{r}" for r in range(lanes)]
        pointers = _row_pointers("r", "rows", size, "%column", element, lanes, lines)
        for vector, pointer in zip(vectors, pointers, strict=True):
            lines.append(f"{vector} = load {V}, ptr {pointer}, align {BYTES[element]}")
        columns = _transpose(vectors, "t", V, lanes, lines)
        first = "%column"
    for k, column in enumerate(columns):
        lines += [
            f"%c{k}.number = add i64 {first}, {begin + k}",
            f"%c{k}.at = getelementptr {V}, ptr %columns, i64 %c{k}.number",
            f"store {V} {column}, ptr %c{k}.at",
        ]
    return _by_columns(name, size, lanes, lines)


def rows_from_columns(name: str, places: list[int], element: str, lanes: int) -> str:
    """Return LLVM IR of @name(rows, columns, i): column `places[k]` becomes entry k of each row."""
    V, size = vector_type(element, lanes), len(places)
    lines: list[str] = []
    columns = [f"%c{k}" for k in range(min(lanes, size))]
    for k, column in enumerate(columns):
        number = f"{k}" if size < lanes else f"%c{k}.number"
        if size >= lanes:
            lines.append(f"{number} = add i64 %column, {k}")
        lines += [
            f"%c{k}.place = getelementptr i32, ptr @{name}.places, i64 {number}",
            f"%c{k}.index = load i32, ptr %c{k}.place",
            f"%c{k}.at = getelementptr {V}, ptr %columns, i32 %c{k}.index",
            f"{column} = load {V}, ptr %c{k}.at",
        ]
    if size < lanes:
        store_columns("rows", columns, element, lanes, lines)
    else:
        vectors = _transpose(columns, "t", V, lanes, lines)
        pointers = _row_pointers("r", "rows", size, "%column", element, lanes, lines)
        for vector, pointer in zip(vectors, pointers, strict=True):
            lines.append(f"store {V} {vector}, ptr {pointer}, align {BYTES[element]}")
    listed = ", ".join(f"i32 {place}" for place in places)
    table = f"@{name}.places = private constant [{size} x i32] [{listed}]"
    return table + "\n" + _by_columns(name, size, lanes, lines)


def _by_columns(name: str, size: int, lanes: int, lines: list[str]) -> str:
    """Return LLVM IR of @name: a loop in which `lines` copy `lanes` columns, from %column on."""
    last = max(0, size - lanes)
    return IR["by_columns"](name=name, lines=lines, lanes=lanes, last=last)

"""Rows of states as columns of lanes, and back, as LLVM IR.

A block of so many rows is read as vectors along the rows and transposed in registers by a
butterfly of shuffles; the columns of a last, narrower block are masked.
"""


def load_columns(name: str, size: int, element: str, lanes: int, lines: list[str]) -> list[str]:
    """The columns of the rows from %i on, a vector each."""
    V = f"<{lanes} x {element}>"
    columns: list[str] = []
    for start in range(0, size, lanes):
        width = min(lanes, size - start)
        rows = []
        for r, pointer in enumerate(_pointers(name, size, start, element, lanes, lines)):
            out = f"%{name}.c{start}.v{r}"
            rows.append(out)
            if width == lanes:
                lines.append(f"{out} = load {V}, ptr {pointer}, align {_bytes(element)}")
            else:
                lines.append(
                    f"{out} = call {V} @llvm.masked.load.{_suffix(element, lanes)}.p0("
                    f"ptr {pointer}, i32 {_bytes(element)}, {_mask(width, lanes)}, "
                    f"{V} zeroinitializer)"
                )
        columns += _transposed(rows, f"{name}.c{start}", V, lanes, lines)[:width]
    return columns


def store_columns(
    name: str, columns: list[str], element: str, lanes: int, lines: list[str]
) -> None:
    """Write columns, a vector each, to the rows from %i on."""
    V = f"<{lanes} x {element}>"
    size = len(columns)
    for start in range(0, size, lanes):
        chunk = columns[start : start + lanes]
        padded = chunk + ["zeroinitializer"] * (lanes - len(chunk))
        rows = _transposed(padded, f"{name}.c{start}", V, lanes, lines)
        pointers = _pointers(name, size, start, element, lanes, lines)
        for row, pointer in zip(rows, pointers, strict=True):
            if len(chunk) == lanes:
                lines.append(f"store {V} {row}, ptr {pointer}, align {_bytes(element)}")
            else:
                lines.append(
                    f"call void @llvm.masked.store.{_suffix(element, lanes)}.p0({V} {row}, "
                    f"ptr {pointer}, i32 {_bytes(element)}, {_mask(len(chunk), lanes)})"
                )


def _bytes(element: str) -> int:
    return {"double": 8, "float": 4}[element]


def _suffix(element: str, lanes: int) -> str:
    return f"v{lanes}f{8 * _bytes(element)}"


def _mask(width: int, lanes: int) -> str:
    entries = ", ".join(f"i1 {'true' if k < width else 'false'}" for k in range(lanes))
    return f"<{lanes} x i1> <{entries}>"


def _pointers(
    name: str, size: int, start: int, element: str, lanes: int, lines: list[str]
) -> list[str]:
    """Where column `start` is in each of the rows from %i on."""
    pointers = []
    for r in range(lanes):
        at = f"%{name}.c{start}.r{r}"
        lines += [
            f"{at}.row = add i64 %i, {r}",
            f"{at}.first = mul i64 {at}.row, {size}",
            f"{at}.entry = add i64 {at}.first, {start}",
            f"{at} = getelementptr {element}, ptr %{name}, i64 {at}.entry",
        ]
        pointers.append(at)
    return pointers


def _transposed(rows: list[str], name: str, V: str, lanes: int, lines: list[str]) -> list[str]:
    """The columns of a square of vectors."""
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

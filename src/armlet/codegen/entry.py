"""The entry point from Python to machine code, compiled with the kernel.

CPython calls `@entry` with its fast-call convention (METH_FASTCALL | METH_KEYWORDS). If the
arguments are contiguous arrays of the kernel's dtype and of one state's shape, it reads them in
place, allocates the result and runs `@one`; all other calls go to the Python function stored as
self. Where results have names, self is a pair: that function, and the class of the named tuples.
"""

from collections.abc import Sequence

from armlet.codegen.lower import Lowered

TYPE, DATA, RANK, DIMENSIONS, DESCRIPTOR, FLAGS = 8, 16, 24, 32, 56, 64
"""Offsets in NumPy's array object, the same since NumPy 1.7."""
READY = 0x101
"""C-contiguous and aligned."""

SYMBOLS = {
    "armlet_array_type": "global i8",
    "armlet_dtype": "global i8",
    "armlet_new_array": "ptr (ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)",
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyType_GenericAlloc": "ptr (ptr, i64)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
}
"""The symbols of CPython and NumPy that the entry uses, resolved when the code is loaded."""


def entry(code: Lowered, dtype: str) -> str:
    """The text of @entry, to stand after the kernel's own."""
    shapes = [x.shape for x in code.inputs.values()]
    outputs = [output.shape for output in code.outputs]
    lines = [*_declarations(), *_dimensions(outputs)]
    lines += [
        "define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords) {",
        "start:",
        f"%counted = icmp eq i64 %count, {len(shapes)}",
        "%plain = icmp eq ptr %keywords, null",
        "%usual = and i1 %counted, %plain",
        "br i1 %usual, label %check0, label %slow",
    ]
    for k, shape in enumerate(shapes):
        lines += _checked(k, shape)
    has_names = not code.single and code.names is not None
    lines += [f"check{len(shapes)}:", *_called(len(shapes), outputs, code.single, has_names)]
    other = "%other" if has_names else "%self"
    lines += [
        "slow:",
        *(["%other = call ptr @PyTuple_GetItem(ptr %self, i64 0)"] if has_names else []),
        f"%answer = call ptr @PyObject_Vectorcall(ptr {other}, ptr %args, i64 %count, "
        "ptr %keywords)",
        "ret ptr %answer",
        "}",
    ]
    return "\n".join(lines).replace("@armlet_dtype", f"@armlet_{dtype}")


def _declarations() -> list[str]:
    lines = []
    for name, kind in SYMBOLS.items():
        if kind.startswith("global"):
            lines.append(f"@{name} = external {kind}")
        else:
            result, arguments = kind.split(" ", 1)
            lines.append(f"declare {result} @{name}{arguments}")
    return lines


def _dimensions(outputs: Sequence[tuple[int, ...]]) -> list[str]:
    return [
        f"@shape{k} = private constant [{max(1, len(shape))} x i64] "
        f"[{', '.join(f'i64 {d}' for d in shape) or 'i64 0'}]"
        for k, shape in enumerate(outputs)
    ]


def _field(out: str, array: str, offset: int, kind: str) -> list[str]:
    return [
        f"{out}.at = getelementptr i8, ptr {array}, i64 {offset}",
        f"{out} = load {kind}, ptr {out}.at",
    ]


def _checked(k: int, shape: tuple[int, ...]) -> list[str]:
    """Check that argument k is a contiguous array of dtype and shape, else take the slow path."""
    a = f"%a{k}"
    lines = [
        f"check{k}:",
        f"{a}.slot = getelementptr ptr, ptr %args, i64 {k}",
        f"{a} = load ptr, ptr {a}.slot",
        *_field(f"{a}.type", a, TYPE, "ptr"),
        f"{a}.is_array = icmp eq ptr {a}.type, @armlet_array_type",
        f"br i1 {a}.is_array, label %array{k}, label %slow",
        f"array{k}:",
        *_field(f"{a}.rank", a, RANK, "i32"),
        *_field(f"{a}.descriptor", a, DESCRIPTOR, "ptr"),
        *_field(f"{a}.flags", a, FLAGS, "i32"),
        f"{a}.ranked = icmp eq i32 {a}.rank, {len(shape)}",
        f"{a}.is_float = icmp eq ptr {a}.descriptor, @armlet_dtype",
        f"{a}.ready = and i32 {a}.flags, {READY}",
        f"{a}.is_ready = icmp eq i32 {a}.ready, {READY}",
        f"{a}.both = and i1 {a}.ranked, {a}.is_float",
        f"{a}.fits = and i1 {a}.both, {a}.is_ready",
        f"br i1 {a}.fits, label %sized{k}, label %slow",
        f"sized{k}:",
        *_field(f"{a}.dims", a, DIMENSIONS, "ptr"),
    ]
    right = "true"
    for d, size in enumerate(shape):
        lines += [
            f"{a}.d{d}.at = getelementptr i64, ptr {a}.dims, i64 {d}",
            f"{a}.d{d} = load i64, ptr {a}.d{d}.at",
            f"{a}.d{d}.same = icmp eq i64 {a}.d{d}, {size}",
            f"{a}.d{d}.all = and i1 {right}, {a}.d{d}.same",
        ]
        right = f"{a}.d{d}.all"
    lines += _field(f"{a}.data", a, DATA, "ptr")
    return [*lines, f"br i1 {right}, label %check{k + 1}, label %slow"]


def _called(
    inputs: int, outputs: Sequence[tuple[int, ...]], single: bool, has_names: bool
) -> list[str]:
    """Make the results, run the kernel, and return them: the single one bare, else a tuple."""
    lines: list[str] = []
    for k, shape in enumerate(outputs):
        r = f"%r{k}"
        lines += [
            "call void @Py_IncRef(ptr @armlet_dtype)",
            f"{r} = call ptr @armlet_new_array(ptr @armlet_array_type, ptr @armlet_dtype, "
            f"i32 {len(shape)}, ptr @shape{k}, ptr null, ptr null, i32 0, ptr null)",
            f"{r}.made = icmp ne ptr {r}, null",
            f"br i1 {r}.made, label %made{k}, label %failed{k}",
            *_failed(k),
            f"made{k}:",
            *_field(f"{r}.data", r, DATA, "ptr"),
        ]
    data = [f"ptr %a{k}.data" for k in range(inputs)] + [
        f"ptr %r{k}.data" for k in range(len(outputs))
    ]
    lines.append(f"call void @one({', '.join(data)})")
    if single:
        return [*lines, "ret ptr %r0"]
    size = len(outputs)
    made = [f"%tuple = call ptr @PyTuple_New(i64 {size})"]
    if has_names:
        made = [
            "%class = call ptr @PyTuple_GetItem(ptr %self, i64 1)",
            f"%tuple = call ptr @PyType_GenericAlloc(ptr %class, i64 {size})",
        ]
    return [
        *lines,
        *made,
        "%tuple.made = icmp ne ptr %tuple, null",
        f"br i1 %tuple.made, label %made{size}, label %failed{size}",
        *_failed(size),
        f"made{size}:",
        *(
            f"%set{k} = call i32 @PyTuple_SetItem(ptr %tuple, i64 {k}, ptr %r{k})"
            for k in range(size)
        ),
        "ret ptr %tuple",
    ]


def _failed(made: int) -> list[str]:
    """Out of memory: give back the results made so far and let the exception pass."""
    freed = [f"call void @Py_DecRef(ptr %r{k})" for k in range(made)]
    return [f"failed{made}:", *freed, "ret ptr null"]

"""Python objects as LLVM sees them: arrays in memory, functions of CPython and NumPy, short forms.

`templates/python_entry.ll` has the functions that the entries of all kernels of a dtype share.
"""

import re
from collections.abc import Mapping, Sequence

from armlet.codegen.templates import read_file

ARRAY = {
    "references": "i32",
    "type": "ptr",
    "data": "ptr",
    "rank": "i32",
    "dimensions": "ptr",
    "strides": "ptr",
    "base": "ptr",
    "descriptor": "ptr",
    "flags": "i32",
    "weakrefs": "ptr",
}
"""NumPy's array object, the same since NumPy 1.7; every object begins with the first two fields."""
ALIGNED, READABLE, WRITEABLE, OWNED = 0x100, 0x101, 0x501, 0x505
"""Flags: aligned; C-contiguous as well; writeable as well; and the owner of its memory."""
SPARES = 2
"""How many results are kept for reuse, so that one is free while a variable holds the other."""

PLACES = ("FALLBACK", "NAMES", "OTHERS", "SPARE_RESULTS", "OUT_NAME", "RESULTS")
"""What the tuple that an entry has as self holds, in this order.

The Python function for all that the entry does not take; the names of its arguments in the order of
`@arranged`; the functions by the option given; results to be used again; the tuple ("out",); the
class that several results are returned in, a tuple or a subclass without attributes of its own.
"""
SLOT = 16
"""Where an object that is called itself keeps that tuple."""

SYMBOLS = {
    **dict.fromkeys(
        (
            "armlet_array_type",
            "armlet_float64",
            "armlet_float32",
            "armlet_str",
            "armlet_list",
            "armlet_tuple",
            "armlet_float",
            "armlet_int",
            "armlet_none",
            "armlet_true",
            "armlet_dead",
        ),
        "global i8",
    ),
    "armlet_new_array": "ptr (ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)",
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "PyDict_GetItem": "ptr (ptr, ptr)",
    "PyErr_Clear": "void ()",
    "PyErr_Occurred": "ptr ()",
    "PyErr_SetNone": "void (ptr)",
    "PyFloat_AsDouble": "double (ptr)",
    "PyList_GetItem": "ptr (ptr, i64)",
    "PyList_SetItem": "i32 (ptr, i64, ptr)",
    "PyList_Size": "i64 (ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyTuple_Size": "i64 (ptr)",
    "PyType_GenericAlloc": "ptr (ptr, i64)",
}
"""What the functions use of CPython and NumPy, found by name when the code is loaded."""

SHARED_TEXT = read_file("python_entry.ll")
"""The functions that the entries of all kernels of a dtype share, in short forms."""
DEFINITION = re.compile(r"^define (\w+) @(\w+)\(([^)]*)\)", re.MULTILINE)
SHARED = {
    name: f"{result} ({re.sub(r' %[a-z_.]+', '', arguments).strip()})"
    for result, name, arguments in DEFINITION.findall(SHARED_TEXT)
}
"""Their types by name."""


def shared_functions(dtype: str) -> str:
    """The module of the functions that the entries of all kernels of a dtype call."""
    return module_text([SHARED_TEXT], dtype)


def module_text(texts: Sequence[str], dtype: str) -> str:
    """The text of a module with the declarations it needs, its short forms expanded."""
    array = f"%array = type {{ {', '.join(ARRAY.values())} }}"
    text = "\n".join([array, *declarations(SYMBOLS), *texts])
    for short, long in {
        "@armlet_dtype": f"@armlet_{dtype}",
        "@narrow": {"float64": "bitcast", "float32": "fptrunc"}[dtype],
        "@F": {"float64": "double", "float32": "float"}[dtype],
        "@BYTES": {"float64": "8", "float32": "4"}[dtype],
        **{f"@{name}": f"@{shared_name(name, dtype)}" for name in SHARED},
        **{name: str(place) for place, name in enumerate(PLACES)},
        **{"SLOT": str(SLOT), "SPARES": str(SPARES), "OWNED": str(OWNED), "ALIGNED": str(ALIGNED)},
    }.items():
        text = re.sub(rf"{re.escape(short)}\b", long, text)
    return FIELD.sub(_read_field, text)


def shared_name(name: str, dtype: str) -> str:
    """The name of a shared function for a dtype."""
    return f"armlet_{name}_{dtype}"


FIELD = re.compile(r"(%[\w.]+) = field (\w+) of (%[\w.]+)")


def _read_field(match: re.Match[str]) -> str:
    out, field, array = match.groups()
    place = list(ARRAY).index(field)
    return (
        f"{out}.at = getelementptr %array, ptr {array}, i32 0, i32 {place}\n"
        f"{out} = load {ARRAY[field]}, ptr {out}.at"
    )


def declarations(symbols: Mapping[str, str]) -> list[str]:
    """The declarations of functions and objects that are defined elsewhere."""
    lines = []
    for name, kind in symbols.items():
        if kind.startswith("global"):
            lines.append(f"@{name} = external {kind}")
        else:
            result, arguments = kind.split(" ", 1)
            lines.append(f"declare {result} @{name}{arguments}")
    return lines

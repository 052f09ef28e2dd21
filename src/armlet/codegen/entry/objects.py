"""Access to Python objects from LLVM IR: array fields, flags, and functions of CPython and NumPy.

`templates/objects.ll` has the functions that all entry points with the same dtype share.
`module_text` expands the abbreviations in templates, such as `field data of %a`.
"""

import re
from collections.abc import Sequence

from armlet.codegen.templates import read_blocks

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
"""Field -> LLVM type, in NumPy's C struct of an array; all Python objects have the first two."""
ALIGNED, READABLE, WRITEABLE, OWNED = 0x100, 0x101, 0x501, 0x505
"""NumPy flags, each added to those before: aligned, C-contiguous, writeable, owner of its data."""
SPARES = 2
"""Number of results kept for reuse: one is free while the caller still holds the other."""

PLACES = ("FALLBACK", "NAMES", "OTHERS", "SPARE_RESULTS", "OUT_NAME", "RESULTS")
"""The items of the tuple `%self` that an entry point receives, in order.

FALLBACK is the Python function for calls that the entry point does not handle. NAMES is the tuple
of all argument names, OTHERS is a dict from values of an option to the functions to call for them,
SPARE_RESULTS is a list of results to reuse, and OUT_NAME is the tuple ("out",). RESULTS is the
class that holds several results: `tuple` or a subclass without attributes of its own.
"""
SLOT = 16
"""Offset (bytes) of the pointer to the tuple `%self` in a callable object."""
NUMBERS = {
    "ALIGNED": ALIGNED,
    "READABLE": READABLE,
    "WRITEABLE": WRITEABLE,
    "OWNED": OWNED,
    "SPARES": SPARES,
    "SLOT": SLOT,
    **{name: place for place, name in enumerate(PLACES)},
}
"""Word in capitals in the templates -> the number that replaces the word."""
WORDS = {
    "float64": {"@narrow": "bitcast", "@F": "double", "@BYTES": "8"},
    "float32": {"@narrow": "fptrunc", "@F": "float", "@BYTES": "4"},
}
"""Dtype -> abbreviation -> replacement, for abbreviations that depend on the dtype."""

IR = read_blocks("objects.ll")
FUNCTIONS = IR["functions"]()
"""LLVM IR of the functions that all entry points with the same dtype share, not yet expanded."""
DEFINITION = re.compile(r"^define (\w+ @(\w+)\([^)]*\))", re.MULTILINE)
SHARED = {name: f"declare {head}" for head, name in DEFINITION.findall(FUNCTIONS)}
"""Name of a shared function -> its declaration."""
FIELD = re.compile(r"(%[\w.]+) = field (\w+) of (%[\w.]+)")


def shared_functions(dtype: str) -> str:
    """Return the LLVM IR module of the functions that all entry points with `dtype` share."""
    return module_text([FUNCTIONS], dtype)


def module_text(texts: Sequence[str], dtype: str) -> str:
    """Return an LLVM IR module: declarations and `texts`, with all abbreviations expanded."""
    array = f"%array = type {{ {', '.join(ARRAY.values())} }}"
    text = "\n".join([array, IR["declarations"](), *texts])
    for short, long in {
        "@armlet_dtype": f"@armlet_{dtype}",
        **WORDS[dtype],
        **{f"@{name}": f"@{shared_name(name, dtype)}" for name in SHARED},
        **{name: str(value) for name, value in NUMBERS.items()},
    }.items():
        text = re.sub(rf"{re.escape(short)}\b", long, text)
    return FIELD.sub(_read_field, text)


def shared_name(name: str, dtype: str) -> str:
    """Return the name of a shared function for a dtype, such as armlet_fits_float64."""
    return f"armlet_{name}_{dtype}"


def _read_field(match: re.Match[str]) -> str:
    out, field, array = match.groups()
    place = list(ARRAY).index(field)
    return (
        f"{out}.at = getelementptr %array, ptr {array}, i32 0, i32 {place}\n"
        f"{out} = load {ARRAY[field]}, ptr {out}.at"
    )

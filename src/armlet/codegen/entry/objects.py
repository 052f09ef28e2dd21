"""Access to Python objects from LLVM IR: array fields, flags, and functions of CPython and NumPy.

`templates/objects.ll` has the functions that all entry points of a dtype share. `module_text`
expands the short forms in templates, such as `field data of %a`.
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
"""Field -> LLVM type in NumPy's array struct since 1.7; any object has the first two fields."""
ALIGNED, READABLE, WRITEABLE, OWNED = 0x100, 0x101, 0x501, 0x505
"""Cumulative NumPy flags: aligned; also C-contiguous; also writeable; also owner of its data."""
SPARES = 2
"""Number of result arrays held for reuse: one is free while the caller still holds the other."""

PLACES = ("FALLBACK", "NAMES", "OTHERS", "SPARE_RESULTS", "OUT_NAME", "RESULTS")
"""The items of the tuple `%self` that an entry point receives, in order.

FALLBACK is the Python function for calls that the entry point does not handle. NAMES has the
argument names in the order of `@arrange`, OTHERS is a dict from values of an option to functions,
SPARE_RESULTS is a list of results to reuse, and OUT_NAME is the tuple ("out",). RESULTS is the
class that holds several results: `tuple` or a subclass without attributes of its own.
"""
SLOT = 16
"""Byte offset, in a callable object, of the pointer to its tuple `%self`."""
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
"""Dtype -> short form -> replacement, for short forms that depend on the dtype."""

IR = read_blocks("objects.ll")
FUNCTIONS = IR["functions"]()
"""LLVM IR of the functions that all entry points of a dtype share, before expansion."""
DEFINITION = re.compile(r"^define (\w+ @(\w+)\([^)]*\))", re.MULTILINE)
SHARED = {name: f"declare {head}" for head, name in DEFINITION.findall(FUNCTIONS)}
"""Name of a shared function -> its declaration."""
FIELD = re.compile(r"(%[\w.]+) = field (\w+) of (%[\w.]+)")


def shared_functions(dtype: str) -> str:
    """Return the LLVM IR module of the functions that all entry points of a dtype share."""
    return module_text([FUNCTIONS], dtype)


def module_text(texts: Sequence[str], dtype: str) -> str:
    """Return an LLVM IR module: declarations and `texts`, with all short forms expanded."""
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

"""Python objects in LLVM IR: arrays, functions of CPython and NumPy, and short forms of these.

`templates/objects.ll` has the functions that all entries of a dtype share.
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
"""The fields of a NumPy array, the same since NumPy 1.7; every object has the first two."""
ALIGNED, READABLE, WRITEABLE, OWNED = 0x100, 0x101, 0x501, 0x505
"""Flags of arrays, each with all before it: aligned, C-contiguous, writeable, owner of memory."""
SPARES = 2
"""The number of results held for reuse, so that one is free while a variable holds the other."""

PLACES = ("FALLBACK", "NAMES", "OTHERS", "SPARE_RESULTS", "OUT_NAME", "RESULTS")
"""The items of the tuple that is `%self` of an entry, in this order.

They are the Python function for calls that the entry does not take; the names of arguments in the
order of `@arrange`; the functions by option; results to reuse; the tuple ("out",); and the class in
which several results are returned, `tuple` or a subclass without attributes of its own.
"""
SLOT = 16
"""The offset of the tuple `%self` in a callable object, in bytes."""
NUMBERS = {
    "ALIGNED": ALIGNED,
    "READABLE": READABLE,
    "WRITEABLE": WRITEABLE,
    "OWNED": OWNED,
    "SPARES": SPARES,
    "SLOT": SLOT,
    **{name: place for place, name in enumerate(PLACES)},
}
"""The numbers that words in capitals stand for in the templates."""
WORDS = {
    "float64": {"@narrow": "bitcast", "@F": "double", "@BYTES": "8"},
    "float32": {"@narrow": "fptrunc", "@F": "float", "@BYTES": "4"},
}
"""The short forms that depend on the dtype."""

IR = read_blocks("objects.ll")
FUNCTIONS = IR["functions"]()
"""The text of the functions that all entries of a dtype share, its short forms not expanded."""
DEFINITION = re.compile(r"^define (\w+ @(\w+)\([^)]*\))", re.MULTILINE)
SHARED = {name: f"declare {head}" for head, name in DEFINITION.findall(FUNCTIONS)}
"""The declarations of the shared functions, by name."""
FIELD = re.compile(r"(%[\w.]+) = field (\w+) of (%[\w.]+)")


def shared_functions(dtype: str) -> str:
    """The text of a module with the functions that all entries of a dtype share."""
    return module_text([FUNCTIONS], dtype)


def module_text(texts: Sequence[str], dtype: str) -> str:
    """The text of a module: declarations and `texts`, with all short forms expanded."""
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
    """The name of a shared function for a dtype."""
    return f"armlet_{name}_{dtype}"


def _read_field(match: re.Match[str]) -> str:
    out, field, array = match.groups()
    place = list(ARRAY).index(field)
    return (
        f"{out}.at = getelementptr %array, ptr {array}, i32 0, i32 {place}\n"
        f"{out} = load {ARRAY[field]}, ptr {out}.at"
    )

"""Python objects as LLVM sees them: arrays in memory, functions of CPython and NumPy, short forms.

`templates/objects.ll` has the functions that the entries of all kernels of a dtype share.
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
"""NumPy's array object, the same since NumPy 1.7; every object begins with the first two fields."""
ALIGNED, READABLE, WRITEABLE, OWNED = 0x100, 0x101, 0x501, 0x505
"""Flags: aligned; C-contiguous as well; writeable as well; and the owner of its memory."""
SPARES = 2
"""How many results are held for reuse, so that one is free while a variable holds the other."""

PLACES = ("FALLBACK", "NAMES", "OTHERS", "SPARE_RESULTS", "OUT_NAME", "RESULTS")
"""What the tuple that an entry has as self holds, in this order.

The Python function for all that the entry does not take; the names of its arguments in the order of
`@arrange`; the functions by option; results to reuse; the tuple ("out",); the
class that several results are returned in, a tuple or a subclass without attributes of its own.
"""
SLOT = 16
"""Where an object that is called itself keeps that tuple."""
NUMBERS = {
    "ALIGNED": ALIGNED,
    "READABLE": READABLE,
    "WRITEABLE": WRITEABLE,
    "OWNED": OWNED,
    "SPARES": SPARES,
    "SLOT": SLOT,
    **{name: place for place, name in enumerate(PLACES)},
}
"""The words in capitals that stand for numbers."""
WORDS = {
    "float64": {"@narrow": "bitcast", "@F": "double", "@BYTES": "8"},
    "float32": {"@narrow": "fptrunc", "@F": "float", "@BYTES": "4"},
}
"""The short forms of a dtype."""

IR = read_blocks("objects.ll")
FUNCTIONS = IR["functions"]()
"""The functions that the entries of all kernels of a dtype share, in short forms."""
DEFINITION = re.compile(r"^define (\w+ @(\w+)\([^)]*\))", re.MULTILINE)
SHARED = {name: f"declare {head}" for head, name in DEFINITION.findall(FUNCTIONS)}
"""Their declarations by name."""
FIELD = re.compile(r"(%[\w.]+) = field (\w+) of (%[\w.]+)")


def shared_functions(dtype: str) -> str:
    """The module of the functions that the entries of all kernels of a dtype call."""
    return module_text([FUNCTIONS], dtype)


def module_text(texts: Sequence[str], dtype: str) -> str:
    """The text of a module with the declarations it needs, its short forms expanded."""
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

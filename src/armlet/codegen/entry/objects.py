"""LLVM functions that look at Python's objects, which all kernels of a dtype share.

They read NumPy's arrays where they lie in memory and leave the rest to functions of CPython. The
lines `%x = field NAME of %a` are short for the two that LLVM needs.
"""

import re
from collections.abc import Mapping, Sequence

ARRAY = {
    "references": "i32", "type": "ptr", "data": "ptr", "rank": "i32", "dimensions": "ptr",
    "strides": "ptr", "base": "ptr", "descriptor": "ptr", "flags": "i32", "weakrefs": "ptr",
}  # fmt: skip
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
        ("armlet_array_type", "armlet_float64", "armlet_float32", "armlet_str", "armlet_list",
         "armlet_tuple", "armlet_float", "armlet_int", "armlet_none", "armlet_true", "armlet_dead"),
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
}  # fmt: skip
"""What the functions use of CPython and NumPy, found by name when the code is loaded."""

SHARED = {
    "fits": "i1 (ptr, i32, i32, ptr)",
    "rows_of": "i64 (ptr, i32)",
    "apart": "i1 (ptr, i64, ptr, i64)",
    "item": "ptr (ptr, i64, i64)",
    "converted": "i1 (ptr, i64, i64, ptr)",
    "is_free": "i1 (ptr, i32, ptr)",
    "new_array": "ptr (i32, ptr)",
    "keep": "void (ptr, ptr)",
    "result": "ptr (ptr, i32, ptr, i1)",
    "spare": "ptr (ptr, i64)",
    "several": "ptr (ptr, i64)",
    "only_out": "i1 (ptr, ptr)",
    "arranged": "i1 (ptr, ptr, i64, ptr, i64, ptr)",
    "chosen": "ptr (ptr, ptr)",
    "passed_on": "ptr (ptr, ptr, ptr, i64)",
}
"""The functions of this file, `arguments.py` and `conversion.py`, compiled once for each dtype."""

FITS = """
; Whether an object is an array of the kernel's dtype, with these flags and of this shape.
define i1 @fits(ptr %a, i32 %flags, i32 %rank, ptr %shape) {
start:
%type = field type of %a
%is_array = icmp eq ptr %type, @armlet_array_type
br i1 %is_array, label %array, label %no
array:
%found.rank = field rank of %a
%found.descriptor = field descriptor of %a
%found.flags = field flags of %a
%ranked = icmp eq i32 %found.rank, %rank
%typed = icmp eq ptr %found.descriptor, @armlet_dtype
%has = and i32 %found.flags, %flags
%flagged = icmp eq i32 %has, %flags
%both = and i1 %ranked, %typed
%all = and i1 %both, %flagged
%sizes = field dimensions of %a
br i1 %all, label %axis, label %no
axis:
%k = phi i32 [ 0, %array ], [ %next, %compare ]
%next = add i32 %k, 1
%last = icmp eq i32 %k, %rank
br i1 %last, label %yes, label %compare
compare:
%found.at = getelementptr i64, ptr %sizes, i32 %k
%found = load i64, ptr %found.at
%wanted.at = getelementptr i64, ptr %shape, i32 %k
%wanted = load i64, ptr %wanted.at
%same = icmp eq i64 %found, %wanted
br i1 %same, label %axis, label %no
yes:
ret i1 true
no:
ret i1 false
}
"""

ROWS = """
; How many rows an array has that has one axis more than a state's, and -1 for anything else.
define i64 @rows_of(ptr %a, i32 %rank) {
start:
%type = field type of %a
%is_array = icmp eq ptr %type, @armlet_array_type
br i1 %is_array, label %array, label %no
array:
%found = field rank of %a
%one_more = add i32 %rank, 1
%batch = icmp eq i32 %found, %one_more
br i1 %batch, label %yes, label %no
yes:
%sizes = field dimensions of %a
%rows = load i64, ptr %sizes
ret i64 %rows
no:
ret i64 -1
}
"""

APART = """
; Whether two pieces of memory of so many bytes do not overlap.
define i1 @apart(ptr %a, i64 %a.bytes, ptr %b, i64 %b.bytes) {
%a.end = getelementptr i8, ptr %a, i64 %a.bytes
%b.end = getelementptr i8, ptr %b, i64 %b.bytes
%before = icmp ule ptr %a.end, %b
%after = icmp ule ptr %b.end, %a
%apart = or i1 %before, %after
ret i1 %apart
}
"""

ITEM = """
; One of the arrays given as results: in a tuple or list of so many, or the only one by itself.
define ptr @item(ptr %out, i64 %k, i64 %count) {
start:
%type = field type of %out
%is_list = icmp eq ptr %type, @armlet_list
%is_tuple = icmp eq ptr %type, @armlet_tuple
%several = or i1 %is_list, %is_tuple
br i1 %several, label %counted, label %bare
counted:
%size.of = select i1 %is_list, ptr @PyList_Size, ptr @PyTuple_Size
%get = select i1 %is_list, ptr @PyList_GetItem, ptr @PyTuple_GetItem
%size = call i64 %size.of(ptr %out)
%right = icmp eq i64 %size, %count
br i1 %right, label %take, label %no
take:
%taken = call ptr %get(ptr %out, i64 %k)
ret ptr %taken
bare:
%alone = icmp eq i64 %count, 1
br i1 %alone, label %itself, label %no
itself:
ret ptr %out
no:
ret ptr null
}
"""

FREE = """
; Whether an array that was returned before may be written to again: nobody but the one who asks
; refers to it, and it is as it was made.
define i1 @is_free(ptr %a, i32 %rank, ptr %shape) {
start:
%references = field references of %a
%only = icmp eq i32 %references, 1
br i1 %only, label %fit, label %no
fit:
%fits = call i1 @fits(ptr %a, i32 OWNED, i32 %rank, ptr %shape)
br i1 %fits, label %unseen, label %no
unseen:
%weakrefs = field weakrefs of %a
%is_unseen = icmp eq ptr %weakrefs, null
ret i1 %is_unseen
no:
ret i1 false
}
"""

NEW_ARRAY = """
; A new array to write to; null, with an exception, if there is no memory.
define ptr @new_array(i32 %rank, ptr %shape) {
call void @Py_IncRef(ptr @armlet_dtype)
%new = call ptr @armlet_new_array(ptr @armlet_array_type, ptr @armlet_dtype, i32 %rank, ptr %shape, ptr null, ptr null, i32 0, ptr null)
ret ptr %new
}
"""  # noqa: E501

KEEP = """
; Keep a result to be used again, beside the one that was kept last.
define void @keep(ptr %self, ptr %new) {
%spares = call ptr @PyTuple_GetItem(ptr %self, i64 SPARE_RESULTS)
%newest = call ptr @PyList_GetItem(ptr %spares, i64 0)
call void @Py_IncRef(ptr %newest)
call void @Py_IncRef(ptr %new)
%set.first = call i32 @PyList_SetItem(ptr %spares, i64 0, ptr %new)
%set.second = call i32 @PyList_SetItem(ptr %spares, i64 1, ptr %newest)
ret void
}
"""

RESULT = """
; A new reference to the only result, to be written to: one that is free, else one made now.
define ptr @result(ptr %self, i32 %rank, ptr %shape, i1 %batch) {
start:
%spares = call ptr @PyTuple_GetItem(ptr %self, i64 SPARE_RESULTS)
br i1 %batch, label %make, label %look
look:
%k = phi i64 [ 0, %start ], [ %next, %candidate ]
%next = add i64 %k, 1
%last = icmp eq i64 %k, SPARES
br i1 %last, label %make, label %candidate
candidate:
%a = call ptr @PyList_GetItem(ptr %spares, i64 %k)
%is_free = call i1 @is_free(ptr %a, i32 %rank, ptr %shape)
br i1 %is_free, label %take, label %look
take:
call void @Py_IncRef(ptr %a)
ret ptr %a
make:
%new = call ptr @new_array(i32 %rank, ptr %shape)
%failed = icmp eq ptr %new, null
%unkept = or i1 %failed, %batch
br i1 %unkept, label %done, label %kept
kept:
call void @keep(ptr %self, ptr %new)
br label %done
done:
ret ptr %new
}
"""

SPARE = """
; A tuple of several results that was returned before and that nobody else refers to, or null. The
; reference is borrowed, and its arrays may not be free.
define ptr @spare(ptr %self, i64 %k) {
start:
%spares = call ptr @PyTuple_GetItem(ptr %self, i64 SPARE_RESULTS)
%class = call ptr @PyTuple_GetItem(ptr %self, i64 RESULTS)
%tuple = call ptr @PyList_GetItem(ptr %spares, i64 %k)
%type = field type of %tuple
%references = field references of %tuple
%is_tuple = icmp eq ptr %type, %class
%only = icmp eq i32 %references, 1
%unused = and i1 %is_tuple, %only
%found = select i1 %unused, ptr %tuple, ptr null
ret ptr %found
}
"""

SEVERAL = """
; A new tuple to put several results in, of the class that they are returned in.
define ptr @several(ptr %self, i64 %count) {
start:
%class = call ptr @PyTuple_GetItem(ptr %self, i64 RESULTS)
%plain = icmp eq ptr %class, @armlet_tuple
br i1 %plain, label %tuple, label %named
tuple:
%new = call ptr @PyTuple_New(i64 %count)
ret ptr %new
named:
%new.named = call ptr @PyType_GenericAlloc(ptr %class, i64 %count)
ret ptr %new.named
}
"""


def printed(parts: Sequence[str], dtype: str) -> str:
    """A text with the declarations it needs, its short forms written out."""
    array = f"%array = type {{ {', '.join(ARRAY.values())} }}"
    text = "\n".join([array, *declared(SYMBOLS), *parts])
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
    """What a shared function is called for a dtype."""
    return f"armlet_{name}_{dtype}"


FIELD = re.compile(r"(%[\w.]+) = field (\w+) of (%[\w.]+)")


def _read_field(found: re.Match[str]) -> str:
    out, field, array = found.groups()
    place = list(ARRAY).index(field)
    return (
        f"{out}.at = getelementptr %array, ptr {array}, i32 0, i32 {place}\n"
        f"{out} = load {ARRAY[field]}, ptr {out}.at"
    )


def declared(symbols: Mapping[str, str]) -> list[str]:
    """Lines that say what functions and objects elsewhere are."""
    lines = []
    for name, kind in symbols.items():
        if kind.startswith("global"):
            lines.append(f"@{name} = external {kind}")
        else:
            result, arguments = kind.split(" ", 1)
            lines.append(f"declare {result} @{name}{arguments}")
    return lines

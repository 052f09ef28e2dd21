"""The entry point from XLA, which JAX compiles to, compiled with the kernel.

XLA calls `@xla` with a frame that says where arguments and results are (XLA's C API for custom
calls, a stable binary interface); when the function is registered, it asks for the version of that
API instead. The function returns null, for no error.
"""

from armlet.codegen.llvm.function import Target, Texts, modules
from armlet.codegen.llvm.split import many_states_texts, one_state_texts
from armlet.codegen.lower import Lowered

EXTENSIONS, API, ARGUMENTS, RESULTS = 8, 16, 72, 112
"""Where a call frame keeps its extensions, the API and the arrays of arguments and results."""
DATA, RANK, SIZES = 24, 32, 40
"""Where a buffer keeps the address of its entries, how many axes it has, and their lengths."""
METADATA, VERSION_ASKED, TRAITS, VERSION_KNOWN = 24, 24, 32, 32
"""Where an extension keeps the metadata, these a version (two i32) and flags; the API its own."""

HEAD = f"""
define ptr @xla(ptr %frame) nounwind {{
start:
%extensions.at = getelementptr i8, ptr %frame, i64 {EXTENSIONS}
%extensions = load ptr, ptr %extensions.at
%is_call = icmp eq ptr %extensions, null
br i1 %is_call, label %call, label %asked
asked:
%api.at = getelementptr i8, ptr %frame, i64 {API}
%api = load ptr, ptr %api.at
%metadata.at = getelementptr i8, ptr %extensions, i64 {METADATA}
%metadata = load ptr, ptr %metadata.at
%version.at = getelementptr i8, ptr %metadata, i64 {VERSION_ASKED}
%known.at = getelementptr i8, ptr %api, i64 {VERSION_KNOWN}
%traits.at = getelementptr i8, ptr %metadata, i64 {TRAITS}
store i32 0, ptr %traits.at
%no_api = icmp eq ptr %api, null
br i1 %no_api, label %first, label %same
first:
store i64 0, ptr %version.at
ret ptr null
same:
%known = load i64, ptr %known.at
store i64 %known, ptr %version.at
ret ptr null
call:
%arguments.at = getelementptr i8, ptr %frame, i64 {ARGUMENTS}
%arguments = load ptr, ptr %arguments.at
%results.at = getelementptr i8, ptr %frame, i64 {RESULTS}
%results = load ptr, ptr %results.at"""


ROWS = f"""
%rank.at = getelementptr i8, ptr %buffer, i64 {RANK}
%rank = load i64, ptr %rank.at
%sizes.at = getelementptr i8, ptr %buffer, i64 {SIZES}
%sizes = load ptr, ptr %sizes.at
%axes = sub i64 %rank, OWN
br label %axis
axis:
%k = phi i64 [ 0, %call ], [ %k.next, %more_axes ]
%rows = phi i64 [ 1, %call ], [ %rows.next, %more_axes ]
%is_axis = icmp slt i64 %k, %axes
br i1 %is_axis, label %more_axes, label %counted
more_axes:
%size.at = getelementptr i64, ptr %sizes, i64 %k
%size = load i64, ptr %size.at
%rows.next = mul i64 %rows, %size
%k.next = add i64 %k, 1
br label %axis
counted:"""
"""How many rows the first result has: the product of the axes before its own."""


def xla_entry(code: Lowered, target: Target, at_once: bool) -> tuple[str, Texts]:
    """The module of @xla, and the modules of what it calls.

    It is for at least a vector of rows, or for any few.
    """
    functions = many_states_texts if at_once else one_state_texts
    texts = modules(target, functions(code, target))
    places = [("arguments", k) for k in range(len(code.inputs))]
    places += [("results", k) for k in range(len(code.outputs))]
    lines = [HEAD]
    for i, (kind, k) in enumerate(places):
        lines += [
            f"%p{i}.at = getelementptr ptr, ptr %{kind}, i64 {k}",
            f"%p{i}.buffer = load ptr, ptr %p{i}.at",
            f"%p{i}.data = getelementptr i8, ptr %p{i}.buffer, i64 {DATA}",
            f"%p{i} = load ptr, ptr %p{i}.data",
        ]
    first = f"%p{len(code.inputs)}.buffer"
    lines.append(ROWS.replace("%buffer", first).replace("OWN", str(len(code.outputs[0].shape))))
    if at_once:
        pointers = ", ".join(f"ptr %p{i}" for i in range(len(places)))
        lines += [f"call void @many({pointers}, i64 0, i64 %rows)", "ret ptr null"]
    else:
        lines += _row_by_row(code, target)
    return texts[0] + "\n".join([*lines, "}"]), texts[1:]


def _row_by_row(code: Lowered, target: Target) -> list[str]:
    """A loop that calls @one for each row; inputs given once have no rows."""
    moves = [*(x.rate == "state" for x in code.inputs.values()), *(True for _ in code.outputs)]
    lines = [
        "br label %row",
        "row:",
        "%i = phi i64 [ 0, %counted ], [ %i.next, %this ]",
        "%is_row = icmp slt i64 %i, %rows",
        "br i1 %is_row, label %this, label %done",
        "this:",
        "%i.next = add i64 %i, 1",
    ]
    for k, (size, moving) in enumerate(zip(code.sizes, moves, strict=True)):
        lines += [
            f"%p{k}.first = mul i64 %i, {size * moving}",
            f"%p{k}.here = getelementptr {target.element}, ptr %p{k}, i64 %p{k}.first",
        ]
    here = ", ".join(f"ptr %p{k}.here" for k in range(len(moves)))
    return [*lines, f"call void @one({here})", "br label %row", "done:", "ret ptr null"]

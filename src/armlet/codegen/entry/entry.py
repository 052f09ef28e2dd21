"""The entry point from Python to machine code, compiled with the kernel.

CPython calls `@entry` with its arguments in place (METH_FASTCALL | METH_KEYWORDS); `@vectorcall` is
the same for an object that is called itself. The entry takes one state or a small batch, by place
or by name, with or without arrays to write to: contiguous arrays of the kernel's dtype are read
where they are, short vectors in lists or in other arrays are copied. Anything else, bad arguments
among it, goes to the Python function that `%self` begins with. `%self` is a tuple, laid out by
PLACES.
"""

from collections.abc import Sequence
from math import prod

from armlet.codegen.entry.arguments import ARRANGED, CHOSEN, SLOW, arrangement
from armlet.codegen.entry.conversion import CONVERTED
from armlet.codegen.entry.objects import (
    APART,
    FITS,
    FREE,
    ITEM,
    KEEP,
    NEW_ARRAY,
    READABLE,
    RESULT,
    ROWS,
    SEVERAL,
    SHARED,
    SPARE,
    declared,
    printed,
)
from armlet.codegen.entry.results import results
from armlet.codegen.lower import Lowered
from armlet.graph.signature import Shape

FEW = 32
"""How many rows are computed one by one where the code for rows of states is not there yet."""
COPIED = 1024
"""How many entries of an input are copied at most where it is not read in place."""
BATCH = 2**18
"""How many operations are done without looking for Ctrl-C or letting other threads run."""


def most_rows(code: Lowered) -> int:
    """How many rows an entry takes at most."""
    return max(1, BATCH // max(1, len(code.operations)))


def entry(code: Lowered, dtype: str, lanes: int) -> str:
    """The text of @entry and @vectorcall, to stand after the kernel's own."""
    inputs = [x.shape for x in code.inputs.values()]
    outputs = [output.shape for output in code.outputs]
    lines = [
        *arrangement(len(inputs), "states", _memory(inputs, outputs)),
        *_plain(inputs),
        *_several(inputs, outputs, most_rows(code)),
        *(line for k, shape in enumerate(inputs) for line in _read(k, shape)),
        *_found(inputs, outputs, {"float64": 8, "float32": 4}[dtype]),
        *results(len(inputs), len(outputs), code.single),
        *_run(inputs, outputs, lanes),
        "ret ptr %returned",
        *SLOW,
    ]
    shapes = [
        f"@shape{k} = private constant [{max(1, len(shape))} x i64] "
        f"[{', '.join(f'i64 {size}' for size in shape) or 'i64 0'}]"
        for k, shape in enumerate(outputs)
    ]
    return printed([*declared(SHARED), MANY, *shapes, *lines, VECTORCALL], dtype)


def shared(dtype: str) -> str:
    """The text of the functions that the entries of all kernels of a dtype call."""
    parts = (FITS, ROWS, APART, ITEM, CONVERTED, FREE, NEW_ARRAY, KEEP, RESULT, SPARE, SEVERAL)
    return printed((*parts, ARRANGED, CHOSEN), dtype)


MANY = "@many_states = global ptr null"
"""Where the code for rows of states is, once it is compiled."""
VECTORCALL = """
; The same for an object that keeps the tuple; the garbage collector takes it from dead ones.
define ptr @vectorcall(ptr %callable, ptr %args, i64 %flagged, ptr %keywords) {
start:
%self.at = getelementptr i8, ptr %callable, i64 SLOT
%self = load ptr, ptr %self.at
%dead = icmp eq ptr %self, null
br i1 %dead, label %refuse, label %call
call:
%count = and i64 %flagged, 9223372036854775807
%answer = tail call ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords)
ret ptr %answer
refuse:
call void @PyErr_SetNone(ptr @armlet_dead)
ret ptr null
}
"""


def _memory(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> list[str]:
    """Memory for the shape of every array, rows in front, and for copies of a few vectors."""
    lines = [
        f"%{name}.axes = alloca [{1 + len(shape)} x i64]" for name, shape in _named(inputs, outputs)
    ]
    return lines + [
        f"%{name}.copy = alloca [{_rows_copied(shape) * shape[0]} x @F]"
        for name, shape in _named(inputs, ())
        if _rows_copied(shape)
    ]


def _plain(inputs: Sequence[Shape]) -> list[str]:
    """Look whether every input is a contiguous array of one state, which most calls are made with.

    That is what `@fits` says for each of them, in fewer instructions.
    """
    lines = [
        "states:",
        "%slots = phi ptr [ %args, %start ], [ %args, %out_given ], [ %own, %optional ]",
        "%out = phi ptr [ null, %start ], [ %just_out.given, %out_given ], [ %own.out, %optional ]",
        "br label %plain0",
    ]
    for k, shape in enumerate(inputs):
        p = f"%p{k}"
        lines += [
            f"plain{k}:",
            f"{p}.slot = getelementptr ptr, ptr %slots, i64 {k}",
            f"{p} = load ptr, ptr {p}.slot",
            f"{p}.type = field type of {p}",
            f"{p}.is_array = icmp eq ptr {p}.type, @armlet_array_type",
            f"br i1 {p}.is_array, label %array{k}, label %several",
            f"array{k}:",
            f"{p}.rank = field rank of {p}",
            f"{p}.descriptor = field descriptor of {p}",
            f"{p}.flags = field flags of {p}",
            f"{p}.ranked = icmp eq i32 {p}.rank, {len(shape)}",
            f"{p}.typed = icmp eq ptr {p}.descriptor, @armlet_dtype",
            f"{p}.has = and i32 {p}.flags, {READABLE}",
            f"{p}.flagged = icmp eq i32 {p}.has, {READABLE}",
            f"{p}.both = and i1 {p}.ranked, {p}.typed",
            f"{p}.all = and i1 {p}.both, {p}.flagged",
            f"br i1 {p}.all, label %sizes{k}, label %several",
            f"sizes{k}:",
            f"{p}.sizes = field dimensions of {p}",
        ]
        right = "true"
        for d, size in enumerate(shape):
            lines += [
                f"{p}.size{d}.at = getelementptr i64, ptr {p}.sizes, i64 {d}",
                f"{p}.size{d} = load i64, ptr {p}.size{d}.at",
                f"{p}.same{d} = icmp eq i64 {p}.size{d}, {size}",
                f"{p}.right{d} = and i1 {right}, {p}.same{d}",
            ]
            right = f"{p}.right{d}"
        lines += [
            f"{p}.data = field data of {p}",
            f"br i1 {right}, label %plain{k + 1}, label %several",
        ]
    return [*lines, f"plain{len(inputs)}:", "br label %found"]


def _several(inputs: Sequence[Shape], outputs: Sequence[Shape], most: int) -> list[str]:
    """Find how many states there are, one or some rows, and from that every array's shape."""
    lines = ["several:", "%first = load ptr, ptr %slots" if inputs else "%first = add i64 0, 0"]
    rank = len(inputs[0]) if inputs else 0
    lines += [
        f"%s.rows = call i64 @rows_of(ptr %first, i32 {rank})"
        if inputs
        else "%s.rows = add i64 -1, 0",
        "%s.batch = icmp sge i64 %s.rows, 0",
        "%axes = zext i1 %s.batch to i32",
        "%unused = select i1 %s.batch, i64 0, i64 1",
        "%s.count = select i1 %s.batch, i64 %s.rows, i64 1",
    ]
    for name, shape in _named(inputs, outputs):
        for d, size in enumerate(("%s.rows", *shape)):
            lines += [
                f"%s.{name}.axis{d} = getelementptr i64, ptr %{name}.axes, i64 {d}",
                f"store i64 {size}, ptr %s.{name}.axis{d}",
            ]
        lines += [
            f"%s.{name}.shape = getelementptr i64, ptr %{name}.axes, i64 %unused",
            f"%s.{name}.rank = add i32 %axes, {len(shape)}",
            f"%s.{name}.entries = mul i64 %s.count, {prod(shape)}",
            f"%s.{name}.bytes = mul i64 %s.{name}.entries, @BYTES",
        ]
    return [
        *lines,
        f"%too_many = icmp sgt i64 %s.rows, {most}",
        f"%not_few = icmp sge i64 %s.rows, {FEW}",
        "%s.many = load ptr, ptr @many_states",
        "%no_many = icmp eq ptr %s.many, null",
        "%not_yet = and i1 %not_few, %no_many",
        "%elsewhere = or i1 %too_many, %not_yet",
        "br i1 %elsewhere, label %slow, label %input0",
    ]


def _found(inputs: Sequence[Shape], outputs: Sequence[Shape], size: int) -> list[str]:
    """Go on in one way, however the inputs were found."""
    last = len(inputs)
    lines = [f"input{last}:", "br label %found", "found:"]

    def either(kind: str, name: str, plain: str) -> None:
        lines.append(f"%{name} = phi {kind} [ {plain}, %plain{last} ], [ %s.{name}, %input{last} ]")

    either("i1", "batch", "false")
    either("i64", "rows", "-1")
    for k, shape in enumerate(inputs):
        either("ptr", f"a{k}.data", f"%p{k}.data")
        either("i64", f"a{k}.bytes", str(size * prod(shape)))
    for k, shape in enumerate(outputs):
        either("ptr", f"r{k}.shape", f"@shape{k}")
        either("i32", f"r{k}.rank", f"{len(shape)}")
        either("i64", f"r{k}.bytes", str(size * prod(shape)))
    return lines


def _named(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> list[tuple[str, Shape]]:
    """The names of arrays in the text, with the shapes that they have in one state."""
    return [
        *((f"a{k}", shape) for k, shape in enumerate(inputs)),
        *((f"r{k}", shape) for k, shape in enumerate(outputs)),
    ]


def _rows_copied(shape: Shape) -> int:
    """How many states' vectors are copied at most: none of what is not a vector, or a long one."""
    if len(shape) != 1 or shape[0] > COPIED:
        return 0
    return min(FEW, COPIED // max(1, shape[0]))


def _read(k: int, shape: Shape) -> list[str]:
    """Find where an input's numbers are: in its array, or in a copy of a few states' vectors."""
    a, most = f"%s.a{k}", _rows_copied(shape)
    lines = [
        f"input{k}:",
        f"{a}.slot = getelementptr ptr, ptr %slots, i64 {k}",
        f"{a} = load ptr, ptr {a}.slot",
        f"{a}.fits = call i1 @fits(ptr {a}, i32 {READABLE}, i32 {a}.rank, ptr {a}.shape)",
        f"br i1 {a}.fits, label %direct{k}, label %odd{k}",
        f"direct{k}:",
        f"{a}.own = field data of {a}",
        f"br label %read{k}",
    ]
    if most:
        lines += [
            f"odd{k}:",
            f"{a}.long = icmp sgt i64 %s.rows, {most}",
            f"br i1 {a}.long, label %slow, label %copy{k}",
            f"copy{k}:",
            f"{a}.copied = call i1 @converted(ptr {a}, i64 %s.rows, i64 {shape[0]}, "
            f"ptr %a{k}.copy)",
            f"br i1 {a}.copied, label %read{k}, label %slow",
            f"read{k}:",
            f"{a}.data = phi ptr [ {a}.own, %direct{k} ], [ %a{k}.copy, %copy{k} ]",
        ]
    else:
        lines += [
            f"odd{k}:",
            "br label %slow",
            f"read{k}:",
            f"{a}.data = phi ptr [ {a}.own, %direct{k} ]",
        ]
    return [*lines, f"br label %input{k + 1}"]


def _run(inputs: Sequence[Shape], outputs: Sequence[Shape], lanes: int) -> list[str]:
    """Run the kernel: on one state, on rows of states at once, or on one row after the other."""
    arrays, last = _named(inputs, outputs), len(outputs)
    pointers = [f"ptr %{name}.data" for name, _ in arrays]
    lines = [
        *(f"%r{k}.data = field data of %r{k}" for k in range(last)),
        "br i1 %batch, label %rows_of_states, label %one_state",
        "one_state:",
        f"call void @one({', '.join(pointers)})",
        "br label %done",
        "rows_of_states:",
        "%many = load ptr, ptr @many_states",
        f"%enough = icmp sge i64 %rows, {lanes}",
        "%known = icmp ne ptr %many, null",
        "%at_once = and i1 %enough, %known",
        "br i1 %at_once, label %all_rows, label %row",
        "all_rows:",
        f"call void %many({', '.join([*pointers, 'i64 0', 'i64 %rows'])})",
        "br label %done",
        "row:",
        "%i = phi i64 [ 0, %rows_of_states ], [ %i.next, %this ]",
        "%i.next = add i64 %i, 1",
        "%i.more = icmp slt i64 %i, %rows",
        "br i1 %i.more, label %this, label %done",
        "this:",
    ]
    for name, shape in arrays:
        lines += [
            f"%{name}.first = mul i64 %i, {prod(shape)}",
            f"%{name}.here = getelementptr @F, ptr %{name}.data, i64 %{name}.first",
        ]
    here = ", ".join(f"ptr %{name}.here" for name, _ in arrays)
    return [*lines, f"call void @one({here})", "br label %row", "done:"]

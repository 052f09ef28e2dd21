"""The entry point from Python to machine code, compiled with the kernel.

CPython calls `@entry` with its arguments in place (METH_FASTCALL | METH_KEYWORDS); `@vectorcall` is
the same for an object that is called itself. The entry takes one state or a small batch, by place
or by name, with or without arrays to write to: contiguous arrays of the kernel's dtype are read
where they are, short vectors in lists or in other arrays are copied. Anything else, bad arguments
among it, goes to the Python function that `%self` begins with. `%self` is a tuple, laid out by
PLACES.
"""

from collections.abc import Iterable, Sequence
from math import prod

from armlet.codegen.entry.objects import (
    READABLE,
    SHARED,
    SPARES,
    WRITEABLE,
    declarations,
    module_text,
)
from armlet.codegen.lower import Lowered
from armlet.graph.signature import Shape

FEW = 32
"""How many rows are computed one by one where the code for rows of states is not there yet."""
COPIED = 1024
"""How many entries of an input are copied at most where it is not read in place."""
BATCH = 2**18
"""How many operations are done without looking for Ctrl-C or letting other threads run."""
CHECKED = 16
"""How many arrays are taken at most to write to: each is compared with all before it."""


def most_rows(code: Lowered) -> int:
    """The largest number of rows that an entry takes."""
    return max(1, BATCH // max(1, len(code.operations)))


def entry(code: Lowered, dtype: str, lanes: int) -> str:
    """The text of @entry and @vectorcall, which follows that of the kernel."""
    inputs = [x.shape for x in code.inputs.values()]
    outputs = [output.shape for output in code.outputs]
    lines = [
        *_arguments(len(inputs), "states", _memory(inputs, outputs)),
        *_check_one_state(inputs),
        *_batch_shapes(inputs, outputs, most_rows(code)),
        *(line for k, shape in enumerate(inputs) for line in _locate_input(k, shape)),
        *_merge_inputs(inputs, outputs, {"float64": 8, "float32": 4}[dtype]),
        *_results(len(inputs), len(outputs), code.single),
        *_run(inputs, outputs, lanes),
        "ret ptr %returned",
        *SLOW,
    ]
    shapes = [
        f"@shape{k} = private constant [{max(1, len(shape))} x i64] "
        f"[{', '.join(f'i64 {size}' for size in shape) or 'i64 0'}]"
        for k, shape in enumerate(outputs)
    ]
    return module_text([*declarations(SHARED), MANY, *shapes, *lines, VECTORCALL], dtype)


def dispatcher(inputs: int) -> str:
    """The text of an @entry without a kernel, which selects another entry by the option."""
    return module_text([*declarations(SHARED), *_arguments(inputs, "slow", ()), *SLOW], "float64")


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
SLOW = (
    "slow:",
    "%python = call ptr @PyTuple_GetItem(ptr %self, i64 FALLBACK)",
    "%answer = call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %count, ptr %keywords)",
    "ret ptr %answer",
    "}",
)
"""The end of an entry: the Python function takes what it does not."""


# ------------------------------------------------------------------ arguments


def _arguments(inputs: int, then: str, memory: Iterable[str]) -> list[str]:
    """Put the arguments in order, and pass them on where the option selects another entry.

    Goes on with the inputs at %slots and the arrays to write to in %out.
    """
    return [
        "define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords) {",
        "start:",
        f"%own = alloca [{inputs + 2} x ptr]",
        *memory,
        f"%counted = icmp eq i64 %count, {inputs}",
        "%plain = icmp eq ptr %keywords, null",
        "%usual = and i1 %counted, %plain",
        f"br i1 %usual, label %{then}, label %unusual",
        "unusual:",
        "%is_out = call i1 @only_out(ptr %self, ptr %keywords)",
        "%just_out = and i1 %counted, %is_out",
        "br i1 %just_out, label %out_given, label %arrange",
        "out_given:",
        f"%just_out.at = getelementptr ptr, ptr %args, i64 {inputs}",
        "%just_out.value = load ptr, ptr %just_out.at",
        "%just_out.none = icmp eq ptr %just_out.value, @armlet_none",
        "%just_out.given = select i1 %just_out.none, ptr null, ptr %just_out.value",
        f"br label %{then}",
        "arrange:",
        "%arranged = call i1 @arranged(ptr %self, ptr %args, i64 %count, ptr %keywords, "
        f"i64 {inputs}, ptr %own)",
        "br i1 %arranged, label %optional, label %slow",
        "optional:",
        f"%own.out.at = getelementptr ptr, ptr %own, i64 {inputs}",
        "%own.out = load ptr, ptr %own.out.at",
        "%option.at = getelementptr ptr, ptr %own.out.at, i64 1",
        "%option = load ptr, ptr %option.at",
        "%no_option = icmp eq ptr %option, null",
        f"br i1 %no_option, label %{then}, label %other",
        "other:",
        "%chosen = call ptr @chosen(ptr %self, ptr %option)",
        "%none_chosen = icmp eq ptr %chosen, null",
        "br i1 %none_chosen, label %slow, label %pass_on",
        "pass_on:",
        f"%passed_on = call ptr @passed_on(ptr %self, ptr %chosen, ptr %own, i64 {inputs})",
        "ret ptr %passed_on",
    ]


def _memory(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> list[str]:
    """Allocate memory for the shapes of all arrays, and for copies of a few vectors."""
    lines = [
        f"%{name}.axes = alloca [{1 + len(shape)} x i64]"
        for name, shape in _array_names(inputs, outputs)
    ]
    return lines + [
        f"%{name}.copy = alloca [{_rows_copied(shape) * shape[0]} x @F]"
        for name, shape in _array_names(inputs, ())
        if _rows_copied(shape)
    ]


def _check_one_state(inputs: Sequence[Shape]) -> list[str]:
    """Check whether every input is a contiguous array of one state, as in most calls.

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


def _batch_shapes(inputs: Sequence[Shape], outputs: Sequence[Shape], most: int) -> list[str]:
    """Find the number of rows, if it is a batch, and the shape of every array."""
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
    for name, shape in _array_names(inputs, outputs):
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


def _merge_inputs(inputs: Sequence[Shape], outputs: Sequence[Shape], size: int) -> list[str]:
    """Join the paths of one state and of a batch."""
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


def _array_names(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> list[tuple[str, Shape]]:
    """The names of arrays in the text, with their shapes for one state."""
    return [
        *((f"a{k}", shape) for k, shape in enumerate(inputs)),
        *((f"r{k}", shape) for k, shape in enumerate(outputs)),
    ]


def _rows_copied(shape: Shape) -> int:
    """The largest number of vectors that are copied; 0 for other arrays and long vectors."""
    if len(shape) != 1 or shape[0] > COPIED:
        return 0
    return min(FEW, COPIED // max(1, shape[0]))


def _locate_input(k: int, shape: Shape) -> list[str]:
    """Find the address of an input's numbers: in its array, or in a copy."""
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


# ------------------------------------------------------------------ results


def _results(inputs: int, outputs: int, single: bool) -> list[str]:
    """Find the arrays to write to, `%r0`, `%r1`, …, and the value to return, `%returned`.

    They are those given, if they can be written to and are not too many, or others.
    """
    given = "take0" if outputs <= CHECKED else "slow"
    lines = ["%make = icmp eq ptr %out, null", f"br i1 %make, label %have, label %{given}"]
    for k in range(outputs):
        g = f"%g{k}"
        lines += [
            f"take{k}:",
            f"{g} = call ptr @item(ptr %out, i64 {k}, i64 {outputs})",
            f"{g}.none = icmp eq ptr {g}, null",
            f"br i1 {g}.none, label %slow, label %given{k}",
            f"given{k}:",
            f"{g}.fits = call i1 @fits(ptr {g}, i32 {WRITEABLE}, i32 %r{k}.rank, ptr %r{k}.shape)",
            f"br i1 {g}.fits, label %fit{k}, label %slow",
            f"fit{k}:",
            f"{g}.data = field data of {g}",
        ]
        others = [(f"%a{j}.data", f"%a{j}.bytes") for j in range(inputs)]
        others += [(f"%g{j}.data", f"%r{j}.bytes") for j in range(k) if outputs <= CHECKED]
        free = "true"
        for j, (data, bytes_) in enumerate(others):
            lines += [
                f"{g}.apart{j} = call i1 @apart(ptr {g}.data, i64 %r{k}.bytes, "
                f"ptr {data}, i64 {bytes_})",
                f"{g}.free{j} = and i1 {free}, {g}.apart{j}",
            ]
            free = f"{g}.free{j}"
        lines.append(f"br i1 {free}, label %take{k + 1}, label %slow")
    lines += [f"take{outputs}:", *(f"call void @Py_IncRef(ptr %g{k})" for k in range(outputs))]
    return [*lines, *(_single_result() if single else _result_tuple(outputs))]


def _single_result() -> list[str]:
    """Find the only result: the array of `out`, or a free one."""
    return [
        "br label %run",
        "have:",
        "%m0 = call ptr @result(ptr %self, i32 %r0.rank, ptr %r0.shape, i1 %batch)",
        "%m0.failed = icmp eq ptr %m0, null",
        "br i1 %m0.failed, label %failed, label %run",
        "failed:",
        "ret ptr null",
        "run:",
        "%r0 = phi ptr [ %g0, %take1 ], [ %m0, %have ]",
        "%returned = phi ptr [ %g0, %take1 ], [ %m0, %have ]",
    ]


def _result_tuple(outputs: int) -> list[str]:
    """Find several results and the tuple that holds them.

    A tuple that was returned before is used again as it is, if it and its arrays are free.
    """
    every = range(outputs)
    lines = ["br label %pack", "have:", "br i1 %batch, label %make0, label %spare0"]
    for s in range(SPARES):
        t, other = f"%t{s}", f"spare{s + 1}" if s + 1 < SPARES else "make0"
        lines += [
            f"spare{s}:",
            f"{t} = call ptr @spare(ptr %self, i64 {s})",
            f"{t}.none = icmp eq ptr {t}, null",
            f"br i1 {t}.none, label %{other}, label %item{s}.0",
        ]
        for k in every:
            lines += [
                f"item{s}.{k}:",
                f"{t}.{k} = call ptr @PyTuple_GetItem(ptr {t}, i64 {k})",
                f"{t}.{k}.free = call i1 @is_free(ptr {t}.{k}, i32 %r{k}.rank, ptr %r{k}.shape)",
                f"br i1 {t}.{k}.free, label %item{s}.{k + 1}, label %{other}",
            ]
        lines += [f"item{s}.{outputs}:", f"call void @Py_IncRef(ptr {t})", "br label %run"]
    for k in every:
        lines += [
            f"make{k}:",
            f"%m{k} = call ptr @new_array(i32 %r{k}.rank, ptr %r{k}.shape)",
            f"%m{k}.failed = icmp eq ptr %m{k}, null",
            f"br i1 %m{k}.failed, label %failed{k}, label %make{k + 1}",
            f"failed{k}:",
            *([f"call void @Py_DecRef(ptr %m{k - 1})", f"br label %failed{k - 1}"] if k else []),
            *([] if k else ["ret ptr null"]),
        ]
    return [
        *lines,
        f"make{outputs}:",
        "%kept = xor i1 %batch, true",
        "br label %pack",
        "pack:",
        *(f"%n{k} = phi ptr [ %g{k}, %take{outputs} ], [ %m{k}, %make{outputs} ]" for k in every),
        f"%keep = phi i1 [ false, %take{outputs} ], [ %kept, %make{outputs} ]",
        f"%tuple = call ptr @several(ptr %self, i64 {outputs})",
        "%tuple.failed = icmp eq ptr %tuple, null",
        f"br i1 %tuple.failed, label %failed{outputs}, label %fill",
        f"failed{outputs}:",
        *(f"call void @Py_DecRef(ptr %n{k})" for k in every),
        "ret ptr null",
        "fill:",
        *(f"%set{k} = call i32 @PyTuple_SetItem(ptr %tuple, i64 {k}, ptr %n{k})" for k in every),
        "br i1 %keep, label %keep_tuple, label %run",
        "keep_tuple:",
        "call void @keep(ptr %self, ptr %tuple)",
        "br label %run",
        "run:",
        *(
            _phi("ptr", f"r{k}", f"%n{k}", [f"%t{s}.{k}" for s in range(SPARES)], outputs)
            for k in every
        ),
        _phi("ptr", "returned", "%tuple", [f"%t{s}" for s in range(SPARES)], outputs),
    ]


def _phi(kind: str, name: str, new: str, spares: Sequence[str], outputs: int) -> str:
    """The phi of a value: a new one, or that of a spare tuple."""
    ways = [f"[ {new}, %fill ]", f"[ {new}, %keep_tuple ]"]
    ways += [f"[ {spare}, %item{s}.{outputs} ]" for s, spare in enumerate(spares)]
    return f"%{name} = phi {kind} {', '.join(ways)}"


def _run(inputs: Sequence[Shape], outputs: Sequence[Shape], lanes: int) -> list[str]:
    """Run the kernel: on one state, on rows of states at once, or on one row after the other."""
    arrays, last = _array_names(inputs, outputs), len(outputs)
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

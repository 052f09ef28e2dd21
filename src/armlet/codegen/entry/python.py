"""The entry point from Python to a kernel, in LLVM IR that is compiled with the kernel.

CPython calls a kernel through `@vectorcall`, with arguments by position or by name, and an optional
`out`. The call may have one state, or a batch (one row per state) of up to a few milliseconds.
Contiguous arrays of the kernel's dtype are read in place; short vectors in lists or other arrays
are copied. All other calls, including invalid ones, run a Python function, the first item of
`%self` (see `objects.PLACES`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from armlet.codegen.entry.objects import SHARED, SPARES, module_text
from armlet.codegen.lower import Lowered
from armlet.codegen.templates import read_blocks
from armlet.graph.signature import Shape

FEW = 32
"""Batches of fewer rows are computed row by row until the code for batches is compiled."""
COPIED = 1024
"""Largest number of entries to copy from an input that cannot be read in place."""
BATCH = 2**22
"""Largest number of operations in one call; Ctrl-C must wait until the call ends."""
HELD = 2**18
"""Largest number of operations for which a batch keeps the GIL; longer batches release it."""
CHECKED = 16
"""Largest number of arrays in `out`; each is checked for overlap with all arrays before it."""
MANY = "@many_states = global ptr null"
"""Global variable: the address of the code for batches, null until this code is compiled."""
IR = read_blocks("entry.ll")


def most_rows(code: Lowered, operations: int = BATCH) -> int:
    """Return how many rows (at least 1) can be computed with up to `operations` operations."""
    return max(1, operations // max(1, len(code.operations)))


def entry(code: Lowered, dtype: str, lanes: int) -> str:
    """Return LLVM IR of @entry and @vectorcall, to be appended to the LLVM IR of the kernel."""
    inputs = [x.shape for x in code.inputs.values()]
    outputs = [output.shape for output in code.outputs]
    arrays = {f"a{k}": shape for k, shape in enumerate(inputs)}
    arrays |= {f"r{k}": shape for k, shape in enumerate(outputs)}
    memory = [f"%{name}.axes = alloca [{1 + len(shape)} x i64]" for name, shape in arrays.items()]
    memory += [
        f"%a{k}.copy = alloca [{_rows_copied(shape) * shape[0]} x @F]"
        for k, shape in enumerate(inputs)
        if _rows_copied(shape)
    ]
    constants = [
        f"@shape{k} = private constant [{max(1, len(shape))} x i64] "
        f"[{', '.join(f'i64 {size}' for size in shape) or 'i64 0'}]"
        for k, shape in enumerate(outputs)
    ]
    text = [
        *constants,
        _arguments(len(inputs), "states", memory),
        IR["one_state"](checks=map(_check, range(len(inputs)), inputs), last=len(inputs)),
        IR["batch"](
            rank=len(inputs[0]) if inputs else 0,
            shapes=map(_batch_shape, arrays, arrays.values()),
            most=most_rows(code),
            few=FEW,
        ),
        *map(_locate_input, range(len(inputs)), inputs),
        *_merge_inputs(inputs, outputs, {"float64": 8, "float32": 4}[dtype]),
        *_arrays_of_out(len(inputs), len(outputs)),
        IR["single"]() if code.single else _result_tuple(len(outputs)),
        _run(arrays, len(outputs), lanes, most_rows(code, HELD)),
        IR["slow"](),
    ]
    return module_text([*SHARED.values(), MANY, *text, IR["vectorcall"]()], dtype)


def dispatcher(inputs: int) -> str:
    """Return LLVM IR of an entry point that forwards calls to the function for their option."""
    text = [_arguments(inputs, "slow", ()), IR["slow"](), IR["vectorcall"]()]
    return module_text([*SHARED.values(), *text], "float64")


def _arguments(inputs: int, then: str, memory: Iterable[str]) -> str:
    return IR["entry"](inputs=inputs, places=inputs + 2, then=then, memory=memory)


def _conjunction(name: str, count: int) -> str:
    """Return the name of the IR value that is true if the first `count` conditions hold."""
    return f"{name}{count - 1}" if count else "true"


def _check(k: int, shape: Shape) -> str:
    right = partial(_conjunction, f"%p{k}.right")
    sizes = (IR["size"](k=k, d=d, size=size, before=right(d)) for d, size in enumerate(shape))
    rank = len(shape)
    return IR["check"](k=k, next=k + 1, rank=rank, sizes=sizes, right=right(rank))


def _batch_shape(name: str, shape: Shape) -> str:
    sizes = enumerate(("%s.rows", *shape))
    axes = (IR["axis"](name=name, d=d, size=size) for d, size in sizes)
    return IR["shape"](name=name, axes=axes, rank=len(shape), size=prod(shape))


def _rows_copied(shape: Shape) -> int:
    """Return how many rows of an input may be copied; 0 unless the input is a short vector."""
    if len(shape) != 1 or shape[0] > COPIED:
        return 0
    return min(FEW, COPIED // max(1, shape[0]))


def _locate_input(k: int, shape: Shape) -> str:
    most = _rows_copied(shape)
    if not most:
        return IR["input"](k=k, next=k + 1, otherwise="slow", copy="", copied="")
    copy = IR["copy"](k=k, most=most, size=shape[0])
    copied = f", [ %a{k}.copy, %copy{k} ]"
    return IR["input"](k=k, next=k + 1, otherwise=f"indirect{k}", copy=copy, copied=copied)


def _merge_inputs(inputs: Sequence[Shape], outputs: Sequence[Shape], size: int) -> Iterator[str]:
    """Yield the lines that join the branches for one state and for a batch."""
    last = len(inputs)
    yield from (f"input{last}:", "br label %inputs", "inputs:")
    values = [("i1", "batch", "false"), ("i64", "rows", "-1")]
    for k, shape in enumerate(inputs):
        values += [("ptr", f"a{k}.data", f"%p{k}.data")]
        values += [("i64", f"a{k}.bytes", str(size * prod(shape)))]
    for k, shape in enumerate(outputs):
        values += [("ptr", f"r{k}.shape", f"@shape{k}"), ("i32", f"r{k}.rank", f"{len(shape)}")]
        values.append(("i64", f"r{k}.bytes", str(size * prod(shape))))
    for kind, name, plain in values:
        yield f"%{name} = phi {kind} [ {plain}, %plain{last} ], [ %s.{name}, %input{last} ]"


def _arrays_of_out(inputs: int, outputs: int) -> Iterator[str]:
    """Yield the lines that take the arrays %g0, %g1, … (at most CHECKED) from `out`."""
    taken = outputs <= CHECKED
    yield "%make = icmp eq ptr %out, null"
    yield f"br i1 %make, label %have, label %{'take0' if taken else 'slow'}"
    for k in range(outputs):
        free = partial(_conjunction, f"%g{k}.free")
        others = [(f"a{j}", f"a{j}") for j in range(inputs)]
        others += [(f"g{j}", f"r{j}") for j in range(k) if taken]
        apart = (
            IR["apart"](k=k, j=j, data=data, name=name, before=free(j))
            for j, (data, name) in enumerate(others)
        )
        last = free(len(others))
        yield IR["take"](k=k, next=k + 1, outputs=outputs, others=apart, free=last)
    yield f"take{outputs}:"
    yield from (f"call void @Py_IncRef(ptr %g{k})" for k in range(outputs))


def _result_tuple(outputs: int) -> str:
    every, spares = range(outputs), range(SPARES)
    ends = [(f"%t{s}", f"%item{s}.{outputs}") for s in spares]

    def result(name: str, new: str, entry: str) -> str:
        ways = [(new, "%fill"), (new, "%keep_tuple"), *((t + entry, end) for t, end in ends)]
        return f"%{name} = phi ptr {', '.join(f'[ {x}, {label} ]' for x, label in ways)}"

    def spare(s: int) -> str:
        other = f"spare{s + 1}" if s + 1 < SPARES else "make0"
        items = (IR["item"](s=s, k=k, next=k + 1, other=other) for k in every)
        return IR["spare"](s=s, outputs=outputs, other=other, items=items)

    def make(k: int) -> str:
        undo = f"call void @Py_DecRef(ptr %m{k - 1})\nbr label %failed{k - 1}"
        return IR["make"](k=k, next=k + 1, undo=undo if k else "ret ptr null")

    new = (f"%n{k} = phi ptr [ %g{k}, %take{outputs} ], [ %m{k}, %make{outputs} ]" for k in every)
    set_item = "call i32 @PyTuple_SetItem(ptr %tuple"
    results = [result(f"r{k}", f"%n{k}", f".{k}") for k in every]
    return IR["tuple"](
        outputs=outputs,
        spares=map(spare, spares),
        makes=map(make, every),
        arrays=new,
        unused=(f"call void @Py_DecRef(ptr %n{k})" for k in every),
        set=(f"%set{k} = {set_item}, i64 {k}, ptr %n{k})" for k in every),
        results=[*results, result("returned", "%tuple", "")],
    )


def _run(arrays: Mapping[str, Shape], outputs: int, lanes: int, held: int) -> str:
    places = (IR["place"](name=name, size=prod(shape)) for name, shape in arrays.items())
    return IR["run"](
        data=(f"%r{k}.data = field data of %r{k}" for k in range(outputs)),
        pointers=", ".join(f"ptr %{name}.data" for name in arrays),
        lanes=lanes,
        held=held,
        places=places,
        here=", ".join(f"ptr %{name}.here" for name in arrays),
    )

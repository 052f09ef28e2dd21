"""Print long programs as LLVM IR, in functions of a few hundred operations each.

LLVM takes more than linear time for a long function, so the program of a large robot is split into
chunks, each printed as a function. A value that one chunk computes and another reads is stored in a
memory slot, which is reused when the value is no longer needed. For batches, a slot holds a vector
of values, one per state; loops transpose rows of inputs to slots, and slots to rows of outputs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

from armlet._support.gc_pause import without_collections
from armlet.codegen.llvm.function import (
    Body,
    Target,
    Texts,
    arguments_of,
    many_states,
    one_state,
    over_rows,
    pointers_of,
)
from armlet.codegen.llvm.transpose import columns_from_rows, rows_from_columns
from armlet.codegen.llvm.types import BYTES, bits
from armlet.codegen.lower import TRIGONOMETRY, Lowered, Operand
from armlet.codegen.templates import read_blocks

IR = read_blocks("split.ll")
OPERATIONS, ENTRIES = 4000, 500
"""A program with more operations, or more entries of arguments and results, is split. The programs
of a seven-joint arm stay below both limits."""
SIZE, ANGLES = 300, 8
"""A chunk ends once it has SIZE operations; a run of sines has at most ANGLES different angles."""
TOGETHER = 10
"""Number of chunks that are compiled as one module, in a fraction of a second."""
ALIGNED = 64
"""Alignment of memory in bytes, so that no vector crosses a boundary of cache lines."""

Chunk = list[range]
"""The runs of operations (see `Lowered.runs`) that are printed as one function."""


class Place(NamedTuple):
    """Memory slot: the name of a pointer, and the offset from the pointer in numbers or vectors."""

    pointer: str
    entry: int


def is_long(code: Lowered) -> bool:
    """Whether a program is split into chunks."""
    return len(code.operations) > OPERATIONS or sum(code.sizes) > ENTRIES


# ------------------------------------------------------------------ chunks and memory slots


def chunks_of(code: Lowered, first: int, last: int) -> list[Chunk]:
    """Return operations `first` to `last` - 1 as chunks, without changing the order."""
    chunks: list[Chunk] = []
    size = SIZE
    for run in code.runs(first, last):
        for short in _split_run(code, run):
            if size >= SIZE:
                chunks.append([])
                size = 0
            chunks[-1].append(short)
            size += len(short)
    return chunks


def _split_run(code: Lowered, run: range) -> Iterator[range]:
    """Split a run into runs of at most SIZE operations or, for sines and cosines, ANGLES angles."""
    if not run or code.operations[run[0]].op not in TRIGONOMETRY:
        yield from (run[k : k + SIZE] for k in range(0, len(run), SIZE))
        return
    begin = run.start
    angles: set[int] = set()
    for i in run:
        angle = code.operations[i].args[0]
        if angle not in angles and len(angles) == ANGLES:
            yield range(begin, i)
            begin, angles = i, set()
        angles.add(angle)
    yield range(begin, run.stop)


def places_of(
    code: Lowered, chunks: Sequence[Chunk], wanted: Iterable[Operand]
) -> tuple[dict[int, int], int]:
    """Return (operation index -> slot, slot count) for results `wanted` or read by later chunks."""
    until: dict[Operand, int] = {}
    for k, i in _with_chunk(chunks):
        op, args = code.operations[i]
        if op != "input":
            until |= dict.fromkeys(args, k)
    until |= dict.fromkeys(wanted, len(chunks))
    places: dict[int, int] = {}
    released: list[list[int]] = [[] for _ in range(len(chunks) + 1)]
    free: list[int] = []
    size, now = 0, 0
    for k, i in _with_chunk(chunks):
        while now < k:
            for entry in released[now]:
                heappush(free, entry)
            now += 1
        if until.get(i, k) > k and code.operations[i].op != "input":
            if not free:
                heappush(free, size)
                size += 1
            places[i] = heappop(free)
            released[until[i]].append(places[i])
    return places, size


def _with_chunk(chunks: Iterable[Chunk]) -> Iterator[tuple[int, int]]:
    """Yield (chunk index, operation index) for all operations of the chunks, in order."""
    return ((k, i) for k, chunk in enumerate(chunks) for run in chunk for i in run)


# ------------------------------------------------------------------ functions


@dataclass
class _ChunkBody(Body):
    """LLVM IR of a chunk, which loads operands from `sources` and stores results at `targets`."""

    sources: Mapping[int, Place] = field(default_factory=dict)
    targets: Mapping[int, Sequence[Place]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return self.lanes * BYTES[self.target.element]

    def operand(self, a: Operand) -> str:
        if isinstance(a, int) and a not in self.name and a not in self.hoisted:
            out = self.name[a] = f"%r{a}"
            self._point(f"{out}.at", self.sources[a])
            self.lines.append(f"{out} = load {self.T}, ptr {out}.at, align {self.bytes}")
        return super().operand(a)

    def store(self, value: str, place: Place) -> None:
        at = f"%w{len(self.lines)}"
        self._point(at, place)
        self.lines.append(f"store {self.T} {value}, ptr {at}, align {self.bytes}")

    def print_chunk(self, chunk: Chunk) -> None:
        """Append the operations of a chunk, and instructions that store results in their slots."""
        for run in chunk:
            self.print_run(run)
            for i in run:
                for place in self.targets.get(i, ()):
                    self.store(self.operand(i), place)

    def _point(self, name: str, place: Place) -> None:
        self.lines.append(
            f"{name} = getelementptr {self.T}, ptr %{place.pointer}, i64 {place.entry}"
        )


class _Functions:
    """LLVM functions for a range of operations, one function per chunk, with pointers as arguments.

    `body` has the memory slots of inputs and results. The slots of other values begin at index
    `begin` of %memory. The last two parameters, %read and %written, both receive %memory. They are
    declared `noalias`, since no chunk loads a slot that it also stores; otherwise, LLVM would
    compare all loads with all stores.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        body: _ChunkBody,
        span: tuple[int, int],
        wanted: Collection[Operand] = (),
        begin: int = 0,
    ) -> None:
        self.name, self.arguments, self.body = name, arguments, body
        self.chunks = chunks_of(body.code, *span)
        places, size = places_of(body.code, self.chunks, wanted)
        self.end = begin + size
        entries = {i: begin + entry for i, entry in places.items()}
        body.sources = {**body.sources, **{i: Place("read", k) for i, k in entries.items()}}
        targets = {i: [*every] for i, every in body.targets.items()}
        for i, k in entries.items():
            targets.setdefault(i, []).append(Place("written", k))
        body.targets = targets

    def texts(self) -> list[Callable[[], str]]:
        """Return Python functions; each returns a text with up to TOGETHER LLVM functions."""
        numbers = range(len(self.chunks))
        return [
            partial(self._functions, numbers[k : k + TOGETHER])
            for k in range(0, len(numbers), TOGETHER)
        ]

    @without_collections
    def _functions(self, numbers: range) -> str:
        return "\n".join(self._function(k) for k in numbers)

    def _function(self, k: int) -> str:
        body = replace(self.body, lines=[], name={}, read={})
        body.print_chunk(self.chunks[k])
        names = (*self.arguments, "read", "written")
        pointers = ", ".join(f"ptr noalias %{name}" for name in names)
        head = f"define void @{self.name}.{k}({pointers}) #0 {{"
        return "\n".join([head, "entry:", *body.lines, "ret void", "}"])

    def declarations(self) -> list[str]:
        types = ", ".join(["ptr"] * (len(self.arguments) + 2))
        return [f"declare void @{self.name}.{k}({types})" for k in range(len(self.chunks))]

    def calls(self) -> list[str]:
        pointers = ", ".join(f"ptr %{name}" for name in (*self.arguments, "memory", "memory"))
        return [f"call void @{self.name}.{k}({pointers})" for k in range(len(self.chunks))]


def _input_places(code: Lowered, *rates: str) -> dict[int, Place]:
    """Return operation index -> memory slot, for the entries of inputs that have one of `rates`."""
    pointer = {x.name: name for name, x in arguments_of(code)[0].items() if x.rate in rates}
    return {
        i: Place(pointer[args[0]], args[1])
        for i, (op, args) in enumerate(code.operations)
        if op == "input" and args[0] in pointer
    }


@without_collections
def one_state_texts(code: Lowered, target: Target) -> Texts:
    """Return LLVM IR texts to compile separately: first @one, then the functions that it calls.

    If the program is split, @one stores constant results and calls the chunks.
    """
    if not is_long(code):
        return Texts([partial(one_state, code, target)])
    inputs, outputs = arguments_of(code)
    sources, targets = _input_places(code, "state", "once"), dict[int, list[Place]]()
    body = _ChunkBody(code, target, 1, [], sources=sources, targets=targets)
    for name, output in zip(outputs, code.outputs, strict=True):
        size = body.bytes * len(output.values)
        body.lines.append(f"call void @llvm.memset.p0.i64(ptr %{name}, i8 0, i64 {size}, i1 false)")
        for k, value in enumerate(output.values):
            if isinstance(value, int):
                targets.setdefault(value, []).append(Place(name, k))
            elif bits(value) != bits(0.0):
                body.store(body.number(value), Place(name, k))
    constants, span = body.lines, (0, len(code.operations))
    functions = _Functions("one.chunk", [*inputs, *outputs], body, span)
    driver = partial(
        IR["one"],
        declarations=functions.declarations(),
        pointers=", ".join(pointers_of(code)),
        size=max(1, functions.end),
        T=body.T,
        aligned=ALIGNED,
        constants=constants,
        calls=functions.calls(),
    )
    return Texts([driver, *functions.texts()])


@without_collections
def many_states_texts(code: Lowered, target: Target) -> Texts:
    """Return LLVM IR texts to compile separately: first @many, then the functions that it calls.

    If the program is split, @many transposes inputs, calls the chunks and transposes outputs. Slots
    of inputs come first, then slots of outputs that are the same in all states, then all others.
    """
    if not is_long(code):
        return Texts([partial(many_states, code, target)])
    inputs, outputs = arguments_of(code)
    F, lanes = target.element, target.lanes
    begin: dict[str, int] = {}
    columns = 0
    for name, x in inputs.items():
        if x.rate == "state":
            begin[name] = columns
            columns += x.size
    values = [value for output in code.outputs for value in output.values]
    fixed = {_key(x): x for x in values if isinstance(x, float) or x in code.hoisted}
    column = {key: columns + k for k, key in enumerate(fixed)}

    targets = {i: [Place("hoisted", entry)] for i, entry in code.hoisted.items()}
    body = _ChunkBody(code, target, 1, [], sources=_input_places(code, "once"), targets=targets)
    once = [name for name, x in inputs.items() if x.rate == "once"]
    early = _Functions("once.chunk", [*once, "hoisted"], body, (0, code.start))

    sources = {
        i: Place("read", begin[name] + k) for i, (name, k) in _input_places(code, "state").items()
    }
    body = _ChunkBody(code, target, lanes, [], hoisted=code.hoisted, sources=sources)
    span = code.start, len(code.operations)
    late = _Functions("many.chunk", ["hoisted"], body, span, values, columns + len(fixed))
    column |= {i: place.entry for i, place in body.sources.items()}
    for key, value in fixed.items():
        body.store(body.operand(value), Place("memory", column[key]))

    readers = [
        columns_from_rows(f"read.{name}", inputs[name].size, k, F, lanes)
        for name, k in begin.items()
    ]
    writers = [
        rows_from_columns(f"write.{name}", [column[_key(x)] for x in output.values], F, lanes)
        for name, output in zip(outputs, code.outputs, strict=True)
    ]
    rows = [
        *(f"call void @read.{name}(ptr %{name}, ptr %memory, i64 %i)" for name in begin),
        *late.calls(),
        *(f"call void @write.{name}(ptr %{name}, ptr %memory, i64 %i)" for name in outputs),
    ]
    size = max(late.end * body.bytes, early.end * early.body.bytes)
    driver = partial(
        IR["many"],
        transposing=[*readers, *writers],
        declarations=[*early.declarations(), *late.declarations()],
        pointers=", ".join(pointers_of(code)),
        hoisted=max(1, len(code.hoisted)),
        F=F,
        size=size + ALIGNED,
        aligned=ALIGNED,
        before=[*early.calls(), *body.lines],
        rows=over_rows(rows, lanes),
    )
    return Texts([driver, *early.texts(), *late.texts()])


def _key(value: Operand) -> Operand | str:
    """Return a dict key for an output entry; 0.0 and -0.0 have different keys."""
    return bits(value) if isinstance(value, float) else value

"""Print programs as LLVM IR: scalar code for one state, vector code for batches of states.

Sines and cosines whose angles are available at the same time are computed together. A vector of
angles holds different angles of one state or, in a batch, the same angle of different states.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import overload

from armlet.codegen.llvm.sincos import CONSTANTS, sines
from armlet.codegen.llvm.transpose import load_columns, store_columns
from armlet.codegen.llvm.types import (
    BYTES,
    bits,
    broadcast,
    library_call,
    pair_type,
    splat,
    type_suffix,
    vector_type,
)
from armlet.codegen.lower import TRIGONOMETRY, Lowered, Operand, nearest
from armlet.codegen.templates import read_blocks
from armlet.graph import Input

TABLE = {
    "add": "{out} = fadd {T} {0}, {1}",
    "sub": "{out} = fsub {T} {0}, {1}",
    "mul": "{out} = fmul {T} {0}, {1}",
    "div": "{out} = fdiv {T} {0}, {1}",
    "neg": "{out} = fneg {T} {0}",
    "sqrt": "{out} = call {T} @llvm.sqrt.{S}({T} {0})",
    "sign": "{out}.p = fcmp ogt {T} {0}, {zero}\n"
    "{out}.m = fcmp olt {T} {0}, {zero}\n"
    "{out}.s = select {B} {out}.m, {T} {minus}, {T} {0}\n"
    "{out} = select {B} {out}.p, {T} {plus}, {T} {out}.s",
    "abs": "{out} = call {T} @llvm.fabs.{S}({T} {0})",
    "min": "{out}.c = fcmp olt {T} {0}, {1}\n{out}.n = fcmp uno {T} {0}, {0}\n"
    "{out}.e = or {B} {out}.c, {out}.n\n{out} = select {B} {out}.e, {T} {0}, {T} {1}",
    "max": "{out}.c = fcmp ogt {T} {0}, {1}\n{out}.n = fcmp uno {T} {0}, {0}\n"
    "{out}.e = or {B} {out}.c, {out}.n\n{out} = select {B} {out}.e, {T} {0}, {T} {1}",
    "less": "{out}.c = fcmp olt {T} {0}, {1}\n{out} = select {B} {out}.c, {T} {plus}, {T} {zero}",
    "less_equal": "{out}.c = fcmp ole {T} {0}, {1}\n"
    "{out} = select {B} {out}.c, {T} {plus}, {T} {zero}",
    "equal": "{out}.c = fcmp oeq {T} {0}, {1}\n{out} = select {B} {out}.c, {T} {plus}, {T} {zero}",
    "where": "{out}.c = fcmp une {T} {0}, {zero}\n{out} = select {B} {out}.c, {T} {1}, {T} {2}",
    "floor": "{out} = call {T} @llvm.floor.{S}({T} {0})",
    "fma": "{out} = call {T} @llvm.fma.{S}({T} {0}, {T} {1}, {T} {2})",
    "fms": "{out}.n = fneg {T} {2}\n{out} = call {T} @llvm.fma.{S}({T} {0}, {T} {1}, {T} {out}.n)",
    "fnma": "{out}.n = fneg {T} {0}\n{out} = call {T} @llvm.fma.{S}({T} {out}.n, {T} {1}, {T} {2})",
}
UNFUSED = {
    "fma": "{out}.p = fmul {T} {0}, {1}\n{out} = fadd {T} {out}.p, {2}",
    "fms": "{out}.p = fmul {T} {0}, {1}\n{out} = fsub {T} {out}.p, {2}",
    "fnma": "{out}.p = fmul {T} {0}, {1}\n{out} = fsub {T} {2}, {out}.p",
}
"""Fused operation -> its replacement on a machine without fused multiply-add."""
LIBRARY = {"exp": 1, "log": 1, "tanh": 1, "atan2": 2, "pow": 2}
"""C library function (called for one lane after the other) -> number of its operands."""
LONG, BLOCK = 8000, 200
"""A function of more than LONG lines is cut into blocks of about BLOCK lines."""
PREDECESSOR = re.compile(r"%([\w.]+) \]")
"""Pattern that finds the label of a predecessor block in a phi node."""
Loaded = dict[tuple[str, int], str]
"""(input, index of an entry) -> name of the IR value that holds the loaded entry."""
IR = read_blocks("function.ll")
PACK = 8
"""Number of angles per vector in the code for one state."""


@dataclass(frozen=True)
class Target:
    """Target of compilation: dtype, lanes per vector, and whether it has fused multiply-adds."""

    dtype: str = "float64"
    lanes: int = 8
    fuses: bool = True

    @property
    def element(self) -> str:
        return {"float64": "double", "float32": "float"}[self.dtype]


@dataclass
class Body:
    """LLVM IR that computes with vectors of `lanes` numbers: lines, and names of results."""

    code: Lowered
    target: Target
    lanes: int
    lines: list[str]
    name: dict[int, str] = field(default_factory=dict)
    hoisted: Mapping[int, int] = field(default_factory=dict)
    """Operation index -> index in the array %hoisted, for results computed before the loop."""
    read: dict[int, str] = field(default_factory=dict)
    """Operation index -> name of the value, for hoisted results loaded in this basic block."""

    def __post_init__(self) -> None:
        element, lanes = self.target.element, self.lanes
        self.T = vector_type(element, lanes)
        words = {
            "T": self.T,
            "S": type_suffix(element, lanes),
            "B": vector_type("i1", lanes),
            "plus": self.number(1.0),
            "minus": self.number(-1.0),
            "zero": self.number(0.0),
        }
        self.table = TABLE if self.target.fuses else TABLE | UNFUSED
        """Operation -> LLVM IR for vectors of `lanes` numbers."""
        for word, text in words.items():
            self.table = {op: x.replace(f"{{{word}}}", text) for op, x in self.table.items()}

    def number(self, x: float) -> str:
        return splat(self.target.element, bits(float(nearest(x, self.target.dtype))), self.lanes)

    def operand(self, a: Operand) -> str:
        if isinstance(a, float):
            return self.number(a)
        return self._read(a) if a in self.hoisted else self.name[a]

    def _read(self, a: int) -> str:
        """Load a hoisted result into all lanes, once per basic block; return the value's name.

        The result is loaded again in each block, which costs no more than reading a constant from
        memory; kept across blocks, it would occupy a register.
        """
        if a not in self.read:
            out, F = f"%k{len(self.lines)}", self.target.element
            self.lines += [
                f"{out}.at = getelementptr {F}, ptr %hoisted, i64 {self.hoisted[a]}",
                f"{out}.one = load {F}, ptr {out}.at",
                *broadcast(out, f"{out}.first", f"{out}.one", F, self.lanes),
            ]
            self.read[a] = out
        return self.read[a]

    def emit(self, i: int, op: str, args: Sequence[Operand]) -> None:
        operands = [self.operand(a) for a in args]
        out = self.name[i] = f"%v{i}"
        if op in LIBRARY:
            self.lines += library_call(op, operands, out, self.target.element, self.lanes)
            return
        self.lines += self.table[op].format(*operands, out=out).split("\n")

    def print(self, loaded: Mapping[tuple[str, int], str], first: int, last: int) -> None:
        """Append operations `first` to `last` - 1; `loaded` has the values of the input entries."""
        for run in self.code.runs(first, last):
            for i in run:
                op, args = self.code.operations[i]
                if op == "input":
                    self.name[i] = loaded[args]
            self.print_run(run)

    def print_run(self, run: range) -> None:
        """Append a run of operations: only sines and cosines, or only other operations."""
        operations = {i: self.code.operations[i] for i in run}
        if any(op in TRIGONOMETRY for op, _ in operations.values()):
            self._trigonometry({(op, args[0]): i for i, (op, args) in operations.items()})
            return
        for i, (op, args) in operations.items():
            if op != "input":
                self.emit(i, op, args)

    def outputs(self) -> Iterator[list[str]]:
        """Yield, for each output, the list of its entries as LLVM IR operands."""
        for output in self.code.outputs:
            yield [self.operand(y) for y in output.values]

    def _trigonometry(self, wanted: Mapping[tuple[str, int], int]) -> None:
        """Append code that calls @sincos.near or, if an angle is too large for it, @sincos.far."""
        packed = self.lanes == 1
        size = PACK if packed else 1
        angles = list(dict.fromkeys(angle for _, angle in wanted))
        groups = [angles[k : k + size] for k in range(0, len(angles), size)]
        lanes = PACK if packed else self.lanes
        of = CONSTANTS[self.target.dtype]
        V, S = vector_type(of.element, lanes), type_suffix(of.element, lanes)
        P = pair_type(V)
        tag = f"t{min(wanted.values())}"
        vectors = [self._vector(group, f"{tag}.{g}", V) for g, group in enumerate(groups)]
        far_off, reach = "0", splat(of.element, bits(of.reach[self.target.fuses]), lanes)
        words = {"tag": tag, "V": V, "S": S, "P": P, "lanes": lanes}
        checks, calls = [], {"near": list[str](), "far": list[str]()}
        for g, x in enumerate(vectors):
            checks.append(IR["is_far"](**words, g=g, x=x, reach=reach, others=far_off))
            far_off = f"%{tag}.{g}.any"
            for way, lines in calls.items():
                lines.append(f"%{tag}.{g}.{way}.both = call {P} @sincos.{way}.{S}({V} {x})")
        both = (IR["both"](**words, g=g) for g in range(len(vectors)))
        sines = IR["sines"](**words, checks=checks, far_off=far_off, both=both, **calls)
        self.lines += sines.split("\n")
        self.read.clear()
        for g, group in enumerate(groups):
            for k, word in enumerate(TRIGONOMETRY):
                whole = f"%{tag}.{g}.{word}"
                self.lines.append(f"{whole} = extractvalue {P} %{tag}.{g}.both, {k}")
                for lane, angle in enumerate(group):
                    if (word, angle) in wanted:
                        value = f"{whole}.{lane}" if packed else whole
                        self.name[wanted[word, angle]] = value
                        if packed:
                            self.lines.append(f"{value} = extractelement {V} {whole}, i32 {lane}")

    def _vector(self, group: list[int], tag: str, V: str) -> str:
        """Return a vector of angles: several angles of one state, or one angle of many states."""
        if self.lanes > 1:
            return self.operand(group[0])
        x = "zeroinitializer"
        for k, i in enumerate(group):
            angle = f"{self.target.element} {self.operand(i)}"
            self.lines.append(f"%{tag}.x{k} = insertelement {V} {x}, {angle}, i32 {k}")
            x = f"%{tag}.x{k}"
        return x


def function(name: str, arguments: Sequence[str], lines: list[str]) -> str:
    """Return the LLVM IR of a function; the first of `lines` must be a block label.

    LLVM schedules the instructions of a basic block in quadratic time, so a long function is cut
    into blocks, without becoming slower. The branches between the blocks have a condition that is
    always true. Since LLVM cannot prove this, it does not join the blocks again.
    """
    head = f"define void @{name}({', '.join(arguments)}) #0 {{"
    if len(lines) <= LONG:
        return "\n".join([head, *lines, "}"])
    first, *others = lines
    cut = [first, f"%whole = icmp ne ptr {arguments[0].split()[-1]}, null"]
    block, size, last = first[:-1], 0, {}
    for line in others:
        if line.endswith(":"):
            block, size = line[:-1], 0
        elif size >= BLOCK and " = phi " not in line:
            last[block] = f"{block}.{len(cut)}"
            cut += [f"br i1 %whole, label %{last[block]}, label %never", f"{last[block]}:"]
            size = 0
        cut.append(line)
        size += 1
    from_last = partial(PREDECESSOR.sub, lambda match: f"%{last.get(match[1], match[1])} ]")
    cut = [from_last(line) if " = phi " in line else line for line in cut]
    return "\n".join([head, *cut, "never:", "ret void", "}"])


def arguments_of(code: Lowered) -> tuple[dict[str, Input], list[str]]:
    """Return a dict from pointer names to inputs, and the list of names of pointers to results."""
    inputs = {f"in{k}": x for k, x in enumerate(code.inputs.values())}
    return inputs, [f"out{k}" for k in range(len(code.outputs))]


def pointers_of(code: Lowered) -> list[str]:
    """Return the parameters of an LLVM function: pointers to the arguments and to the results."""
    inputs, outputs = arguments_of(code)
    return [f"ptr noalias %{name}" for name in (*inputs, *outputs)]


def load_entries(x: Input, pointer: str, name: str, element: str, lines: list[str]) -> Loaded:
    """Append instructions that load the entries of `x`, starting at `pointer`; return them."""
    for k in range(x.size):
        lines += [
            f"%{name}.p{k} = getelementptr {element}, ptr %{pointer}, i64 {k}",
            f"%{name}.{k} = load {element}, ptr %{name}.p{k}",
        ]
    return {(x.name, k): f"%{name}.{k}" for k in range(x.size)}


def store_entries(
    values: Sequence[str], pointer: str, name: str, element: str, lines: list[str]
) -> None:
    """Append instructions that store `values` as consecutive numbers, starting at `pointer`."""
    for k, value in enumerate(values):
        lines += [
            f"%{name}.p{k} = getelementptr {element}, ptr %{pointer}, i64 {k}",
            f"store {element} {value}, ptr %{name}.p{k}",
        ]


def one_state(code: Lowered, target: Target) -> str:
    """Return LLVM IR of `void @one(ptr in…, ptr out…)` for one state in contiguous arrays."""
    inputs, outputs = arguments_of(code)
    F = target.element
    lines = ["entry:"]
    loaded: Loaded = {}
    for name, x in inputs.items():
        loaded |= load_entries(x, name, name, F, lines)
    body = Body(code, target, 1, lines)
    body.print(loaded, 0, len(code.operations))
    for name, values in zip(outputs, body.outputs(), strict=True):
        store_entries(values, name, name, F, lines)
    return function("one", pointers_of(code), [*lines, "ret void"])


def many_states(code: Lowered, target: Target) -> str:
    """Return LLVM IR of `void @many(ptr in…, ptr out…, i64 from, i64 to)`, one state per lane.

    Each row is a state. Rows are read as vectors and transposed in registers. There must be at
    least as many rows as lanes: the last vector may compute some rows again. Inputs of rate "once"
    have one value for all states; operations on these inputs alone run before the loop over rows.
    """
    inputs, outputs = arguments_of(code)
    F = target.element
    before = [f"%hoisted = alloca [{max(1, len(code.hoisted))} x {F}], align 64"]
    early: Loaded = {}
    for name, x in inputs.items():
        if x.rate == "once":
            early |= load_entries(x, name, name, F, before)
    body = Body(code, target, 1, before)
    body.print(early, 0, code.start)
    store_entries([body.name[i] for i in code.hoisted], "hoisted", "hoisted", F, before)
    lines: list[str] = []
    loaded: Loaded = {}
    for name, x in inputs.items():
        if x.rate == "state":
            columns = load_columns(name, x.size, F, target.lanes, lines)
            loaded |= {(x.name, k): column for k, column in enumerate(columns)}
    body = Body(code, target, target.lanes, lines, hoisted=code.hoisted)
    body.print(loaded, code.start, len(code.operations))
    for name, columns in zip(outputs, body.outputs(), strict=True):
        store_columns(name, columns, F, target.lanes, lines)
    arguments = [*pointers_of(code), "i64 %from", "i64 %to"]
    lines = ["entry:", *before, *over_rows(lines, target.lanes), "ret void"]
    return function("many", arguments, lines)


def over_rows(lines: Iterable[str], lanes: int) -> list[str]:
    """Return a loop over rows %from to %to - 1; `lines` compute one row per lane: %i, %i + 1, …"""
    return IR["rows"](lines=lines, lanes=lanes).split("\n")


def module(target: Target, *texts: str) -> str:
    """Return an LLVM IR module: declarations, sine functions that `texts` call, and `texts`."""
    widths = sorted({PACK, target.lanes})
    lines = ["declare double @sin(double)", "declare double @cos(double)"]
    for element in BYTES:
        for lanes in (1, *widths):
            T, S = vector_type(element, lanes), type_suffix(element, lanes)
            lines.append(IR["declarations"](T=T, S=S))
    F, n = target.element, target.lanes
    width = n * 8 * BYTES[F]  # bits of a vector register
    V, S, end = f"<{n} x {F}>", f"v{n}f{8 * BYTES[F]}", "" if F == "double" else "f"
    lines += [
        f"declare {F} @{name}{end}({', '.join([F] * count)})" for name, count in LIBRARY.items()
    ]
    lines += [
        f"declare {V} @llvm.masked.load.{S}.p0(ptr, i32, <{n} x i1>, {V})",
        f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" }}',
    ]
    for lanes in widths:
        if any(f"@sincos.near.{type_suffix(F, lanes)}(" in text for text in texts):
            lines += sines(target.dtype, lanes, target.fuses)
    return "\n".join([*lines, *texts]) + "\n"


class Texts(Sequence[str]):
    """Sequence of LLVM IR texts, each generated when a thread reads it by its index."""

    def __init__(self, printers: Iterable[Callable[[], str]]) -> None:
        self.printers = list(printers)

    def __len__(self) -> int:
        return len(self.printers)

    @overload
    def __getitem__(self, k: int) -> str: ...
    @overload
    def __getitem__(self, k: slice) -> "Texts": ...
    def __getitem__(self, k: int | slice) -> "str | Texts":
        return Texts(self.printers[k]) if isinstance(k, slice) else self.printers[k]()


def modules(target: Target, texts: Sequence[str]) -> Texts:
    """Return a sequence of LLVM IR modules: one `module` for each of `texts`."""
    return Texts(partial(lambda k: module(target, texts[k]), k) for k in range(len(texts)))

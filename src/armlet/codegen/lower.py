"""Lowering: convert a program to a list of operations, from which all code is printed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from armlet._support.gc_pause import without_collections
from armlet.errors import CompileError
from armlet.graph import Count, Graph, Input, Program, Traced
from armlet.graph.count import count_operations
from armlet.graph.program import replacement, with_values
from armlet.graph.signature import Names, Shape

TRIGONOMETRY = ("sin", "cos")
FUSED = {"fma": ("mul", "add"), "fms": ("mul", "sub"), "fnma": ("mul", "sub")}
"""Fused operation -> the two operations that it is counted as."""
Operand = int | float
"""Index of an earlier operation (an int), or a constant (always a float)."""
Node = tuple[int, str, tuple[Any, ...]]
"""A node of a program: its index, operation and operands."""


class Operation(NamedTuple):
    """An operation and its operands; those of an "input" are its name and the index of an entry."""

    op: str
    args: tuple[Any, ...]


class Output(NamedTuple):
    """A result: its shape and its entries, row by row."""

    shape: Shape
    values: tuple[Operand, ...]


@dataclass(frozen=True)
class Lowered:
    """A program as the list of operations that a machine executes, in order.

    Sines of sums of angles are expanded into products, and products are fused with sums. Sines and
    cosines that can be computed at the same time are adjacent, grouped by angle. C, CUDA and LLVM
    code has the same operations in the same order; only fused operations and functions such as
    sines may be rounded differently.
    """

    inputs: Mapping[str, Input]
    """The arguments in order, with the rate "once" or "state"."""
    outputs: tuple[Output, ...]
    single: bool
    """Whether the only output is returned as an array, not in a tuple."""
    operations: tuple[Operation, ...]
    """The operations in order; operands are constants or indices of earlier operations."""
    start: int
    """The index of the first operation that depends on the state. Earlier operations depend on
    inputs of rate "once" alone, and run once, before a loop over states."""
    names: Names | None = None

    def count(self) -> Count:
        """Count the operations; a fused operation counts as a multiplication and an addition."""
        return count_operations(one for op, _ in self.operations for one in FUSED.get(op, (op,)))

    def runs(self, first: int, last: int) -> Iterator[range]:
        """Yield runs (index ranges): sines and cosines to compute together, or other operations."""
        for k in range(first, last):
            (before, _), (op, args) = self.operations[max(first, k - 1)], self.operations[k]
            was, now = before in TRIGONOMETRY, op in TRIGONOMETRY
            if was != now or (now and args[0] >= first):
                yield range(first, k)
                first = k
        yield range(first, last)

    @property
    def hoisted(self) -> dict[int, int]:
        """Operation index -> storage index, for results computed before `start` and used later."""
        if not self.start:
            return {}
        needed = [a for op, args in self.operations[self.start :] if op != "input" for a in args]
        needed += [y for output in self.outputs for y in output.values]
        early = sorted({a for a in needed if isinstance(a, int) and a < self.start})
        return {number: place for place, number in enumerate(early)}

    @property
    def sizes(self) -> list[int]:
        """The number of entries of each argument, then of each result."""
        return [
            *(x.size for x in self.inputs.values()),
            *(len(output.values) for output in self.outputs),
        ]


@without_collections
def lower(program: Program, once: Collection[str] = ()) -> Lowered:
    """Convert a program to a list of operations; the inputs named in `once` get the rate "once".

    `once` does not change the operations, only which of them run before the loop over states.
    """
    program.check_values()
    program = expand_sines(program)
    nodes = fuse_products(program)
    early = _early(nodes, once)
    nodes = _stages(nodes, early)
    place = {i: k for k, (i, _, _) in enumerate(nodes)}

    def operands(scalars: Iterable[Any]) -> tuple[Operand, ...]:
        return tuple([place[x.index] if type(x) is Traced else _number(x) for x in scalars])

    operations = [Operation(op, args if op == "input" else operands(args)) for _, op, args in nodes]
    outputs = [Output(y.shape, operands(y.flat)) for y in program.outputs]
    inputs = {
        name: x._replace(rate="once" if name in once else "state")
        for name, x in program.inputs.items()
    }
    return Lowered(
        inputs, tuple(outputs), program.single, tuple(operations), len(early), program.names
    )


def nearest(x: float, dtype: str) -> np.floating[Any]:
    """Round a constant to the nearest number of a dtype; raise if the constant is out of range."""
    with np.errstate(over="ignore"):
        value: np.floating[Any] = np.dtype(dtype).type(x)
    if not isfinite(value):
        raise CompileError(f"a constant is {x}: expected a finite {dtype}")
    return value


def _number(x: Any) -> float:
    """Convert a constant to float; an integer out of range becomes ±inf, which printers refuse."""
    try:
        return float(x)
    except OverflowError:
        return inf if x > 0 else -inf


def expand_sines(old: Program) -> Program:
    """Expand sines and cosines of a ± b into products, if sines or cosines of a and b occur, too.

    `armlet.search` prefers the sine of a sum, since it counts no sines, only multiplications and
    additions. A processor, however, takes far longer for a sine than for two products and a sum.
    """
    angles = {args[0].index for _, op, args in old.nodes if op in TRIGONOMETRY}
    sums: dict[int, tuple[str, Traced, Traced]] = {}
    for i, op, args in old.nodes:
        if i in angles and op in ("add", "sub"):
            a, b = args
            if isinstance(a, Traced) and isinstance(b, Traced) and {a.index, b.index} <= angles:
                sums[i] = op, a, b
    if not sums:
        return old
    graph = Graph()
    value: dict[int, Any] = {}
    pairs: dict[int, tuple[Any, Any]] = {}
    new = partial(replacement, value)

    def cos_sin(angle: Traced) -> tuple[Any, Any]:
        return pairs.get(angle.index) or (new(angle).cos(), new(angle).sin())

    for i, op, args in old.nodes:
        if op in TRIGONOMETRY:
            value[i] = cos_sin(args[0])[op == "sin"]
        else:
            value[i] = graph.copy(op, *map(new, args))
        if i in sums:
            op, a, b = sums[i]
            (cos_a, sin_a), (cos_b, sin_b) = cos_sin(a), cos_sin(b)
            sin_b = sin_b if op == "add" else -sin_b
            pairs[i] = cos_a * cos_b - sin_a * sin_b, sin_a * cos_b + cos_a * sin_b
    return with_values(old, value)


def fuse_products(program: Program) -> list[Node]:
    """Return the nodes of a program; a product whose only use is in a sum is fused with the sum.

    `fma` is a b + c, `fms` is a b - c and `fnma` is c - a b, rounded once if the target fuses.
    Products are fused here and not by a compiler, so that every vector width gives the same bits.
    """
    nodes: list[Node] = list(program.nodes)
    operands = (a for _, _, args in nodes for a in args)
    results = (y for output in program.outputs for y in output.flat)
    uses = Counter([x.index for x in chain(operands, results) if type(x) is Traced])
    product = {i: args for i, op, args in nodes if op == "mul" and uses[i] == 1}
    fused: set[int] = set()
    for k, (i, op, args) in enumerate(nodes):
        if op not in ("add", "sub"):
            continue
        x, y = args
        if isinstance(y, Traced) and y.index in product:
            index, other, name = y.index, x, "fma" if op == "add" else "fnma"
        elif isinstance(x, Traced) and x.index in product:
            index, other, name = x.index, y, "fma" if op == "add" else "fms"
        else:
            continue
        fused.add(index)
        nodes[k] = i, name, (*product[index], other)
    return [node for node in nodes if node[0] not in fused]


def _early(nodes: Sequence[Node], once: Collection[str]) -> set[int]:
    """Return the indices of the operations that depend on the inputs in `once` alone."""
    early: set[int] = set()
    if not once:
        return early
    for i, op, args in nodes:
        operands = (a.index for a in args if isinstance(a, Traced))
        if args[0] in once if op == "input" else early.issuperset(operands):
            early.add(i)
    return early


def _stages(nodes: Sequence[Node], early: Collection[int]) -> list[Node]:
    """Order the operations: first `early` operations, then all others, both in stages.

    A stage begins with all operations that can run after the previous stages, other than sines and
    cosines. It ends with all sines and cosines whose angles are then available, grouped by angle.
    """
    stage: dict[int, int] = {}
    angles: dict[int, int] = {}
    stages: defaultdict[tuple[bool, int, bool], list[Node]] = defaultdict(list)
    for node in nodes:
        i, op, args = node
        late, now = i not in early, 0
        for a in args:
            if isinstance(a, Traced) and stage[a.index] > now and (a.index not in early) == late:
                now = stage[a.index]
        is_trigonometric = op in TRIGONOMETRY
        stages[late, now, is_trigonometric].append(node)
        stage[i] = now + is_trigonometric
        if is_trigonometric:
            angles.setdefault(args[0].index, len(angles))

    def by_angle(node: Node) -> tuple[int, int]:
        _, op, args = node
        return angles[args[0].index], TRIGONOMETRY.index(op)

    ordered: list[Node] = []
    for key in sorted(stages):
        ordered += sorted(stages[key], key=by_angle) if key[2] else stages[key]
    return ordered

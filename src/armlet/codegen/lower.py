"""Lowering: the list of operations of a program that every target prints."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from armlet._support.gc_pause import without_collections
from armlet.codegen.expand import TRIGONOMETRY, expanded
from armlet.codegen.fuse import Node, fused
from armlet.graph import Count, Input, Program, Traced
from armlet.graph.count import tallied
from armlet.graph.inputs import Shape
from armlet.graph.results import Names

Operand = int | float
"""The number of an earlier operation, or, always a float, a constant."""
PARTS = {"fma": ("mul", "add"), "fms": ("mul", "sub"), "fnma": ("mul", "sub")}
"""What fused operations count as."""


class Operation(NamedTuple):
    """What is done with which operands; an input's are its name and the entry."""

    op: str
    args: tuple[Any, ...]


class Output(NamedTuple):
    """A result: its shape and, row by row, where its entries come from."""

    shape: Shape
    values: tuple[Operand, ...]


@dataclass(frozen=True)
class Lowered:
    """A program as the operations that a machine does, in their order.

    Sines of sums of angles are expanded into products, products are fused with the sums that use
    them, and sines and cosines that can be computed at the same time are adjacent, those of one
    angle side by side. C, CUDA and LLVM print these operations in this order, so that all of them
    round alike.

    Attributes
    ----------
    inputs : mapping of str to Input
        The arguments in order, as they are given: once, or for every state.
    outputs : tuple of Output
    single : bool
        Whether the only output is returned bare.
    operations : tuple of Operation
        Each after its operands, known by its place in the list.
    start : int
        Where what depends on the state begins. The operations before are done once, outside a loop
        over states, since they depend on inputs given once alone.
    """

    name: str
    inputs: Mapping[str, Input]
    outputs: tuple[Output, ...]
    single: bool
    operations: tuple[Operation, ...]
    start: int
    names: Names | None = None
    """What the outputs are called, if they have names."""

    def count(self) -> Count:
        """How many multiplications and additions are done; a fused one is both."""
        return tallied(part for op, _ in self.operations for part in PARTS.get(op, (op,)))

    def runs(self, first: int, last: int) -> Iterator[range]:
        """Operations in order, cut where sines and cosines to be taken at once begin or end."""
        for k in range(first, last):
            (before, _), (op, args) = self.operations[max(first, k - 1)], self.operations[k]
            was, now = before in TRIGONOMETRY, op in TRIGONOMETRY
            if was != now or (now and args[0] >= first):
                yield range(first, k)
                first = k
        yield range(first, last)

    @property
    def kept(self) -> dict[int, int]:
        """The operations before the start whose results are needed after it, and a place for each.

        Results that are outputs are among them.
        """
        if not self.start:
            return {}
        needed = [a for op, args in self.operations[self.start :] if op != "input" for a in args]
        needed += [y for output in self.outputs for y in output.values]
        early = sorted({a for a in needed if isinstance(a, int) and a < self.start})
        return {number: place for place, number in enumerate(early)}

    @property
    def sizes(self) -> list[int]:
        """How many entries each argument has, and then each result."""
        return [
            *(x.size for x in self.inputs.values()),
            *(len(output.values) for output in self.outputs),
        ]


@without_collections
def lowered(program: Program, once: Collection[str] = ()) -> Lowered:
    """The operations that a machine does for a program, where some inputs are given once.

    What is given once does not change the operations, only what is done before the first state.
    """
    program.check_values()
    program = expanded(program)
    nodes = fused(program)
    early = _early(nodes, once)
    nodes = _staged(nodes, early)
    place = {i: k for k, (i, _, _) in enumerate(nodes)}

    def operands(given: Iterable[Any]) -> tuple[Operand, ...]:
        return tuple([place[x.index] if type(x) is Traced else _number(x) for x in given])

    operations = [Operation(op, args if op == "input" else operands(args)) for _, op, args in nodes]
    outputs = [Output(y.shape, operands(y.flat)) for y in program.outputs]
    inputs = {
        name: x._replace(rate="once" if name in once else "state")
        for name, x in program.inputs.items()
    }
    return Lowered(
        program.name,
        inputs,
        tuple(outputs),
        program.single,
        tuple(operations),
        len(early),
        program.names,
    )


def _number(x: Any) -> float:
    """A constant; what no number holds is infinite, and refused by every printer."""
    try:
        return float(x)
    except OverflowError:
        return inf if x > 0 else -inf


def _early(nodes: Sequence[Node], once: Collection[str]) -> set[int]:
    """The operations that depend on inputs given once alone."""
    early: set[int] = set()
    if not once:
        return early
    for i, op, args in nodes:
        operands = (a.index for a in args if isinstance(a, Traced))
        if args[0] in once if op == "input" else early.issuperset(operands):
            early.add(i)
    return early


def _staged(nodes: Sequence[Node], early: Collection[int]) -> list[Node]:
    """The early operations and then the others, both in stages.

    A stage is all that can be done, and then all sines and cosines of that, by their angles.
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
        turns = op in TRIGONOMETRY
        stages[late, now, turns].append(node)
        stage[i] = now + turns
        if turns:
            angles.setdefault(args[0].index, len(angles))

    def by_angle(node: Node) -> tuple[int, int]:
        _, op, args = node
        return angles[args[0].index], TRIGONOMETRY.index(op)

    staged: list[Node] = []
    for key in sorted(stages):
        staged += sorted(stages[key], key=by_angle) if key[2] else stages[key]
    return staged

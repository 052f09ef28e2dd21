"""Programs made ready for machines: the one list of operations that every target prints."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, NamedTuple

from armlet.codegen.expand import TRIGONOMETRY, expanded
from armlet.codegen.fuse import Node, fused
from armlet.graph import Count, Program, Traced
from armlet.graph.count import tallied

Shape = tuple[int, ...]
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

    Sines of sums of angles are products of those of the parts, products are fused with the sums
    that take them, and the sines and cosines that can be taken at the same time stand together,
    those of one angle side by side. C, CUDA and LLVM print these operations in this order, so that
    all of them round alike.

    Attributes
    ----------
    inputs : mapping of str to tuple of int
        The arguments in order, with their shapes.
    outputs : tuple of Output
    single : bool
        Whether the only output is returned bare.
    operations : tuple of Operation
        Each after its operands, known by its place in the list.
    """

    name: str
    inputs: Mapping[str, Shape]
    outputs: tuple[Output, ...]
    single: bool
    operations: tuple[Operation, ...]

    def count(self) -> Count:
        """How many multiplications and additions are done; a fused one is both."""
        return tallied(part for op, _ in self.operations for part in PARTS.get(op, (op,)))

    def runs(self) -> Iterator[range]:
        """The operations in order, cut where sines and cosines to be taken at once begin or end."""
        start = 0
        for k, (op, args) in enumerate(self.operations):
            was, now = (x in TRIGONOMETRY for x in (self.operations[max(0, k - 1)].op, op))
            if was != now or (now and args[0] >= start):
                yield range(start, k)
                start = k
        yield range(start, len(self.operations))

    @property
    def sizes(self) -> list[int]:
        """How many entries each argument has, and then each result."""
        shapes = [*self.inputs.values(), *(output.shape for output in self.outputs)]
        return [prod(shape) for shape in shapes]


def lowered(program: Program) -> Lowered:
    """The operations that a machine does for a program."""
    program.check_values()
    program = expanded(program)
    nodes = _staged(fused(program))
    place = {i: k for k, (i, _, _) in enumerate(nodes)}

    def operand(x: Any) -> Operand:
        return place[x.index] if isinstance(x, Traced) else _number(x)

    operations = (
        Operation(op, args if op == "input" else tuple(map(operand, args))) for _, op, args in nodes
    )
    outputs = (Output(y.shape, tuple(map(operand, y.flat))) for y in program.outputs)
    return Lowered(program.name, program.inputs, tuple(outputs), program.single, tuple(operations))


def _number(x: Any) -> float:
    """A constant; what no number holds is infinite, and refused by every printer."""
    try:
        return float(x)
    except OverflowError:
        return inf if x > 0 else -inf


def _staged(nodes: Sequence[Node]) -> list[Node]:
    """The operations in stages: all that can be done, then all sines and cosines of that."""
    stage: dict[int, int] = {}
    first: dict[int, int] = {}
    keys = {}
    for k, (i, op, args) in enumerate(nodes):
        before = max((stage[a.index] for a in args if isinstance(a, Traced)), default=0)
        if op in TRIGONOMETRY:
            keys[i] = before, 1, first.setdefault(args[0].index, k), TRIGONOMETRY.index(op)
            stage[i] = before + 1
        else:
            keys[i] = before, 0, k, 0
            stage[i] = before
    return sorted(nodes, key=lambda node: keys[node[0]])

"""The expression graph: a flat list of operations, each after its operands, recorded once.

To evaluate, count, differentiate or print a program is to replay its list under another meaning
of the operations. There is no recursion, so a program may have any length.

Folding `0 x` to 0 and `x - x` to 0 assumes finite numbers.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any

from armlet import scalar
from armlet.graph.fold import COMMUTATIVE, fold

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "sin": scalar.sin,
    "cos": scalar.cos,
    "sqrt": scalar.sqrt,
    "sign": scalar.sign,
}
"""What an operation means for numbers, arrays, symbols and traced scalars alike."""


class Graph:
    """A growing list of operations; equal ones are recorded once."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, tuple[Any, ...]]] = []
        self.constant: list[bool] = []
        self.scalars: list[Traced] = []
        self.known: dict[tuple[str, tuple[Any, ...]], Traced] = {}

    def input(self, name: str, k: int) -> "Traced":
        """Entry k of an argument: a variable."""
        return self.node("input", (name, k))

    def symbol(self, name: str) -> "Traced":
        """A constant known by its name: what is computed from constants alone is off-line."""
        return self.node("symbol", (name,))

    def record(self, op: str, *args: Any) -> Any:
        """The result of an operation: a traced scalar, or a number where nothing is left to do."""
        if not any(isinstance(a, Traced) for a in args):
            return OPERATIONS[op](*args)
        folded = fold(op, args)
        if folded is not None:
            return folded
        if op in COMMUTATIVE:
            args = tuple(sorted(args, key=_rank))
        if op == "sub" and (opposite := self.known.get(("sub", args[::-1]))) is not None:
            return -opposite
        return self.node(op, args)

    def copy(self, op: str, *args: Any) -> Any:
        """Record any node of another graph, inputs and symbols too, given its operands here."""
        match op:
            case "input":
                return self.input(*args)
            case "symbol":
                return self.symbol(*args)
            case _:
                return self.record(op, *args)

    def node(self, op: str, args: tuple[Any, ...]) -> "Traced":
        """An operation as it is given, recorded if it is new."""
        key = (op, args)
        found = self.known.get(key)
        if found is None:
            operands = (a for a in args if isinstance(a, Traced))
            found = self.known[key] = Traced(self, len(self.nodes))
            self.nodes.append(key)
            self.scalars.append(found)
            self.constant.append(op != "input" and all(a.is_constant for a in operands))
        return found


def _rank(a: Any) -> int:
    return a.index if isinstance(a, Traced) else -1


class Traced:
    """A scalar that records what is done with it."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    @property
    def op(self) -> str:
        return self.graph.nodes[self.index][0]

    @property
    def args(self) -> tuple[Any, ...]:
        return self.graph.nodes[self.index][1]

    @property
    def is_constant(self) -> bool:
        """Whether it is made of constants alone, so that it can be computed off-line."""
        return self.graph.constant[self.index]

    def __repr__(self) -> str:
        return f"<{self.op} {self.index}>"

    def _with(self, op: str, other: Any) -> Any:
        if isinstance(other, SCALARS):
            return self.graph.record(op, self, other)
        return NotImplemented

    def _after(self, op: str, other: Any) -> Any:
        if isinstance(other, SCALARS):
            return self.graph.record(op, other, self)
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._after("add", other)

    def __sub__(self, other: Any) -> Any:
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Any:
        return self._after("sub", other)

    def __mul__(self, other: Any) -> Any:
        return self._with("mul", other)

    def __rmul__(self, other: Any) -> Any:
        return self._after("mul", other)

    def __truediv__(self, other: Any) -> Any:
        return self._with("div", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._after("div", other)

    def __neg__(self) -> Any:
        return self.graph.record("neg", self)

    def __pos__(self) -> Any:
        return self

    def sin(self) -> Any:
        return self.graph.record("sin", self)

    def cos(self) -> Any:
        return self.graph.record("cos", self)

    def sqrt(self) -> Any:
        return self.graph.record("sqrt", self)

    def sign(self) -> Any:
        return self.graph.record("sign", self)


SCALARS = (Traced, int, float)


def live(graph: Graph, outputs: Iterable[Any]) -> list[int]:
    """The nodes that the outputs need, in the order of recording."""
    needed = bytearray(len(graph.nodes))
    for y in outputs:
        if isinstance(y, Traced):
            needed[y.index] = 1
    for i in reversed(range(len(graph.nodes))):
        if needed[i]:
            for a in graph.nodes[i][1]:
                if isinstance(a, Traced):
                    needed[a.index] = 1
    return [i for i, used in enumerate(needed) if used]

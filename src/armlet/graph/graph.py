"""The expression graph: a list of operations without duplicates, each after its operands.

Programs are evaluated, counted, differentiated and printed by a loop over the list. There is no
recursion, so a program may have any length.

Recording simplifies `0 x` and `x - x` to 0. This assumes that x is finite, and may turn -0 into 0.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from armlet import scalar
from armlet.errors import CompileError
from armlet.graph.fold import COMMUTATIVE, fold
from armlet.graph.signature import Input, Shape
from armlet.graph.trace.arrays import NumPyRecorder
from armlet.graph.trace.elementary import (
    ELEMENTARY,
    ceil,
    check_divisor,
    floor_divide,
    logical_and,
    logical_or,
    logical_xor,
    negation,
    remainder,
    round_to,
    trunc,
)
from armlet.graph.trace.errors import branch_error

Array = np.ndarray[Any, Any]

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
    "abs": abs,
    "min": scalar.minimum,
    "max": scalar.maximum,
    "less": scalar.less,
    "less_equal": scalar.less_equal,
    "equal": scalar.equal,
    "where": scalar.where,
    "exp": scalar.exp,
    "log": scalar.log,
    "tanh": scalar.tanh,
    "atan2": scalar.atan2,
    "pow": scalar.power,
    "floor": scalar.floor,
}
"""Operation -> function for numbers, arrays, SymPy or CasADi symbols, and traced scalars.

Comparisons return 1 or 0. `where(c, x, y)` returns x where c is not zero, and y elsewhere.
"""


class Graph:
    """A growing list of operations. Equal operations are recorded once."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, tuple[Any, ...]]] = []
        self.constant: list[bool] = []
        self.scalars: list[Traced] = []
        self.interned: dict[tuple[str, tuple[Any, ...]], Traced] = {}

    def input(self, name: str, k: int) -> "Traced":
        """Return the traced scalar for entry `k` of the argument `name`."""
        return self.node("input", (name, k))

    def symbol(self, name: str) -> "Traced":
        """Return the traced scalar of a symbolic constant, which has a name and no value."""
        return self.node("symbol", (name,))

    def entries(self, inputs: Iterable[Input]) -> list["Traced"]:
        """Return the traced scalars for all entries of the inputs, one input after the other."""
        return [self.input(x.name, k) for x in inputs for k in range(x.size)]

    def record(self, op: str, *args: Any) -> Any:
        """Record an operation, or compute it if all operands are numbers; return the result."""
        for a in args:
            if isinstance(a, Traced):
                return self.record_folded(op, args)
        return OPERATIONS[op](*args)

    def record_folded(self, op: str, args: tuple[Any, ...]) -> Any:
        """Simplify an operation with a traced operand, or else record it; return the result."""
        folded = fold(op, args)
        if folded is not None:
            return folded
        if op in COMMUTATIVE and _rank(args[0]) > _rank(args[1]):
            args = args[::-1]
        if op == "sub" and (opposite := self.interned.get(("sub", args[::-1]))) is not None:
            return -opposite
        return self.node(op, args)

    def copy(self, op: str, *args: Any) -> Any:
        """Record a copy of an operation of another graph, with operands `args` of this graph."""
        if op in ("input", "symbol"):
            return self.node(op, args)
        return self.record(op, *args)

    def node(self, op: str, args: tuple[Any, ...]) -> "Traced":
        """Return the traced scalar of an operation, which is recorded unsimplified if it is new."""
        key = (op, args)
        scalar = self.interned.get(key)
        if scalar is None:
            constant = op != "input"
            for a in args:
                if isinstance(a, Traced):
                    if a.graph is not self:
                        raise CompileError(
                            "a traced value is used outside the function that it is an argument "
                            "of: give it to the other function as an argument"
                        )
                    constant = constant and self.constant[a.index]
            scalar = self.interned[key] = Traced(self, len(self.nodes))
            self.nodes.append(key)
            self.scalars.append(scalar)
            self.constant.append(constant)
        return scalar


def _rank(a: Any) -> int:
    return a.index if isinstance(a, Traced) else -1


def _operator(op: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Return two `Traced` methods that record `op` with the scalar as left and right operand."""

    def left(self: "Traced", other: Any) -> Any:
        if isinstance(other, SCALARS):
            return self.graph.record_folded(op, (self, other))
        return NotImplemented

    def right(self: "Traced", other: Any) -> Any:
        if isinstance(other, SCALARS):
            return self.graph.record_folded(op, (other, self))
        return NotImplemented

    return left, right


def _composed(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: "Traced", other: Any) -> Any:
        return function(self, other) if isinstance(other, SCALARS) else NotImplemented

    return method


def _function(op: str) -> Callable[[Any], Any]:
    def method(self: "Traced") -> Any:
        return self.graph.record_folded(op, (self,))

    return method


class Traced(NumPyRecorder):
    """A scalar that records the operations on it in a graph."""

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
        """Whether the scalar depends on constants alone; its operation is then not counted."""
        return self.graph.constant[self.index]

    def __repr__(self) -> str:
        return f"<{self.op} {self.index}>"

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    _quotient, __rtruediv__ = _operator("div")
    __floordiv__, __mod__ = _composed(floor_divide), _composed(remainder)
    __rfloordiv__ = _composed(lambda x, y: floor_divide(y, x))
    __rmod__ = _composed(lambda x, y: remainder(y, x))
    __divmod__ = _composed(lambda x, y: (floor_divide(x, y), remainder(x, y)))
    __rdivmod__ = _composed(lambda x, y: (floor_divide(y, x), remainder(y, x)))
    __rpow__ = _operator("pow")[1]
    __eq__ = _operator("equal")[0]  # records a comparison; `is` tests for the same scalar
    __lt__, __gt__ = _operator("less")
    __le__, __ge__ = _operator("less_equal")
    __ne__ = _composed(lambda x, y: negation(x == y))
    __and__ = __rand__ = _composed(logical_and)
    __or__ = __ror__ = _composed(logical_or)
    __xor__ = __rxor__ = _composed(logical_xor)
    __invert__, __ceil__, __trunc__ = negation, ceil, trunc
    __neg__, __abs__ = _function("neg"), _function("abs")
    sin, cos, sqrt, sign = map(_function, ("sin", "cos", "sqrt", "sign"))
    exp, log, tanh, floor = map(_function, ("exp", "log", "tanh", "floor"))
    __floor__ = floor
    __hash__ = object.__hash__

    def __truediv__(self, other: Any) -> Any:
        check_divisor(other)
        return self._quotient(other)

    def __pow__(self, exponent: Any) -> Any:
        """Return the power; small integer exponents yield products, and 0.5 a square root."""
        if not isinstance(exponent, SCALARS):
            return NotImplemented
        if isinstance(exponent, Traced) or not abs(exponent) <= PRODUCTS:
            return self.graph.record("pow", self, exponent)
        if exponent == 0.5:
            return self.sqrt()
        if exponent != int(exponent):
            return self.graph.record("pow", self, exponent)
        power: Any = 1
        for _ in range(abs(int(exponent))):
            power = power * self
        return power if exponent >= 0 else 1 / power

    def __round__(self, digits: int | None = None) -> Any:
        return round_to(self, digits or 0)

    def __pos__(self) -> Any:
        return self

    def __bool__(self) -> bool:
        raise branch_error("decides what is done next")

    def __float__(self) -> float:
        raise branch_error("is made a number")

    def __int__(self) -> int:
        raise branch_error("is made a whole number")

    def __index__(self) -> int:
        raise branch_error("is made an index")

    def record(self, op: str, *args: Any) -> Any:
        """Record an operation on `args` in the graph of this scalar; return the result."""
        return self.graph.record(op, *(a.item() if isinstance(a, np.generic) else a for a in args))

    def arctan2(self, other: Any) -> Any:
        """Return the angle of the point (x, y) = (other, self); NumPy calls this method."""
        return self.graph.record("atan2", self, other)

    def __getattr__(self, name: str) -> Any:
        """Return the function `ELEMENTARY[name]` as a method of this scalar.

        `numpy.tan`, for example, calls the method x.tan() of each entry x of an object array.
        """
        if name not in ELEMENTARY:
            raise AttributeError(f"a traced value has no attribute {name!r}")
        return partial(ELEMENTARY[name], self)


SCALARS = (Traced, int, float)
PRODUCTS = 64
"""The largest absolute value of an integer exponent for which powers become products."""


def live(graph: Graph, outputs: Iterable[Any]) -> list[int]:
    """Return the indices of the nodes that the outputs depend on, in recording order."""
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


def graph_of(arrays: Sequence[Any]) -> Graph | None:
    """Return the graph of the traced scalars in the arrays, or None if no scalar is traced."""
    for array in arrays:
        for x in np.asarray(array, dtype=object).flat:
            if isinstance(x, Traced):
                return x.graph
    return None


def object_array(values: Sequence[Any], shape: Shape | None = None) -> Array:
    """Return an object array of `values`; without `shape` the array has one dimension."""
    array: Array = np.empty(len(values), dtype=object)
    array[:] = values
    return array if shape is None else array.reshape(shape)


def arrays_of_shapes(values: Iterable[Any], shapes: Iterable[Shape]) -> list[Array]:
    """Split a flat sequence of values into object arrays with the shapes `shapes`, in order."""
    row = iter(values)
    return [object_array([*islice(row, prod(shape))], shape) for shape in shapes]

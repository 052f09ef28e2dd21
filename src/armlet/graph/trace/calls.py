"""Calls within a trace, whose results are computed by programs that are chosen later."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from armlet.graph.graph import Array, Graph, Traced, arrays_of_shapes
from armlet.graph.program import Program, new_array, replacement

CALL = "call "
"""The prefix of inputs that stand for results of calls; arguments have no space in their names."""


class Call(NamedTuple):
    """A call, with its arguments as arrays of traced scalars and numbers."""

    callee: Any
    """The object that is called; the graph does not look at it."""
    args: tuple[Array, ...]
    """The arguments, in the order of the inputs of any program that computes the call."""


class Recording(Graph):
    """A graph in which some inputs stand for results of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def call(self, callee: Any, program: Program, args: Sequence[Array]) -> list[Array]:
        """Record a call; return its results, with the shapes of the outputs of `program`.

        Entries that are numbers in `program` stay numbers; equal entries share one traced scalar.
        """
        name = f"{CALL}{len(self.calls)}"
        self.calls.append(Call(callee, tuple(args)))
        first: dict[int, Traced] = {}
        for place, y in enumerate(y for output in program.outputs for y in output.flat):
            if isinstance(y, Traced) and y.index not in first:
                first[y.index] = self.input(name, place)
        return [new_array(first, output) for output in program.outputs]

    def inline_calls(self, outputs: Sequence[Array], programs: Sequence[Program]) -> list[Array]:
        """Copy `outputs` to a new graph, in which call k is replaced by `programs[k]`."""
        graph = Graph()
        value: dict[int, Any] = {}
        results: dict[str, list[Any]] = {}
        new = partial(new_array, value)
        for i, (op, args) in enumerate(self.nodes):
            if op != "input" or not args[0].startswith(CALL):
                value[i] = graph.copy(op, *(replacement(value, a) for a in args))
                continue
            name, place = args
            if name not in results:
                k = int(name.removeprefix(CALL))
                arrays = inline(programs[k], graph, [*map(new, self.calls[k].args)])
                results[name] = [y for array in arrays for y in array.flat]
            value[i] = results[name][place]
        return [*map(new, outputs)]


def inline(program: Program, graph: Graph, args: Sequence[Array]) -> list[Array]:
    """Record a program in another graph with `args` as its inputs, and return its outputs."""
    entries = dict(zip(program.inputs, (x.ravel().tolist() for x in args), strict=True))

    def meaning(op: str, *operands: Any) -> Any:
        if op == "input":
            name, k = operands
            return entries[name][k]
        return graph.copy(op, *operands)

    return arrays_of_shapes(program.replay(meaning), [y.shape for y in program.outputs])

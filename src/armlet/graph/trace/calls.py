"""Calls within a trace: results of programs that are chosen later."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from armlet.graph.graph import Array, Graph, Traced, object_array
from armlet.graph.program import Program, replacement

CALL = "call "
"""The beginning of the names of results; no argument is named so, since it has a space."""


class Call(NamedTuple):
    """A call, with its arguments as arrays of traced scalars and numbers."""

    callee: Any
    """What is computed: the graph does not look at it."""
    args: tuple[Array, ...]
    """The arguments, in the order of the inputs of the programs that compute it."""


class Recording(Graph):
    """A graph in which some inputs are results of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def call(self, callee: Any, program: Program, args: Sequence[Array]) -> list[Array]:
        """The results of a call, with the shapes of the outputs of one program for it.

        Entries that are numbers in the program are these numbers, and equal ones are one scalar.
        """
        name = f"{CALL}{len(self.calls)}"
        self.calls.append(Call(callee, tuple(args)))
        first: dict[int, Traced] = {}
        results, place = [], 0
        for output in program.outputs:
            entries = []
            for y in output.flat:
                if isinstance(y, Traced):
                    if y.index not in first:
                        first[y.index] = self.input(name, place)
                    y = first[y.index]
                entries.append(y)
                place += 1
            results.append(object_array(entries, output.shape))
        return results

    def inline_calls(self, outputs: Sequence[Array], programs: Sequence[Program]) -> list[Array]:
        """Arrays of this graph in a new one, in which each call is computed by a program."""
        graph = Graph()
        value: dict[int, Any] = {}
        results: dict[str, list[Any]] = {}

        def new(array: Array) -> list[Any]:
            return [replacement(value, x) for x in array.flat]

        for i, (op, args) in enumerate(self.nodes):
            if op != "input" or not args[0].startswith(CALL):
                value[i] = graph.copy(op, *(replacement(value, a) for a in args))
                continue
            name, place = args
            if name not in results:
                k = int(name.removeprefix(CALL))
                results[name] = inline(programs[k], graph, [new(arg) for arg in self.calls[k].args])
            value[i] = results[name][place]
        return [object_array(new(output), output.shape) for output in outputs]


def inline(program: Program, graph: Graph, args: Sequence[Sequence[Any]]) -> list[Any]:
    """The outputs of a program in a row, recorded in another graph for entries of its inputs."""
    entries = dict(zip(program.inputs, args, strict=True))

    def meaning(op: str, *operands: Any) -> Any:
        if op == "input":
            name, k = operands
            return entries[name][k]
        return graph.copy(op, *operands)

    return program.replay(meaning)

"""Calls within a trace: results that some program computes, which one being chosen later."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from armlet.graph.evaluate.namespaces import objects
from armlet.graph.graph import Graph, Traced
from armlet.graph.program import Program, renewed

Array = np.ndarray[Any, Any]
CALL = "call "
"""What the names of results begin with: no argument is called so, since these are words."""


class Call(NamedTuple):
    """Something to be computed from arrays of traced scalars and numbers."""

    what: Any
    """What is computed: the graph does not look at it."""
    args: tuple[Array, ...]
    """The arguments, in the order of the inputs of the programs that compute it."""


class Recording(Graph):
    """A graph in which some results are of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def call(self, what: Any, program: Program, args: Sequence[Array]) -> list[Array]:
        """The results of a call, of the shapes that one program for it has.

        Entries that are numbers in the program are these numbers, and equal ones are one scalar.
        """
        name = f"{CALL}{len(self.calls)}"
        self.calls.append(Call(what, tuple(args)))
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
            results.append(objects(entries, output.shape))
        return results

    def filled(self, outputs: Sequence[Array], programs: Sequence[Program]) -> list[Array]:
        """Arrays of this graph in a new one, in which each call is computed by a program."""
        graph = Graph()
        value: dict[int, Any] = {}
        found: dict[str, list[Any]] = {}

        def new(array: Array) -> list[Any]:
            return [renewed(value, x) for x in array.flat]

        for i, (op, args) in enumerate(self.nodes):
            if op != "input" or not args[0].startswith(CALL):
                value[i] = graph.copy(op, *(renewed(value, a) for a in args))
                continue
            name, place = args
            if name not in found:
                k = int(name.removeprefix(CALL))
                given = [new(arg) for arg in self.calls[k].args]
                found[name] = inlined(programs[k], graph, given)
            value[i] = found[name][place]
        return [objects(new(output), output.shape) for output in outputs]


def inlined(program: Program, graph: Graph, args: Sequence[Sequence[Any]]) -> list[Any]:
    """The outputs of a program in a row, recorded in another graph, given the entries of inputs."""
    given: Mapping[str, Sequence[Any]] = dict(zip(program.inputs, args, strict=True))

    def meaning(op: str, *operands: Any) -> Any:
        if op == "input":
            name, k = operands
            return given[name][k]
        return graph.copy(op, *operands)

    return program.replay(meaning)

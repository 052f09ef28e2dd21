"""Calls recorded during a trace; the program that computes each call is chosen later."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from armlet.graph.graph import Array, Graph, Traced, arrays_of_shapes
from armlet.graph.program import Program, new_array, replacement

CALL = "call "
"""Prefix of the names of inputs that stand for calls. No argument name contains a space."""


class Call(NamedTuple):
    """A recorded call: the object that is called, and its arguments."""

    callee: Any
    """The object that is called, such as a `Request`; the graph only stores it."""
    args: tuple[Array, ...]
    """Arrays of traced scalars and numbers, in the order of the program's inputs."""


class Recording(Graph):
    """A graph in which some inputs stand for results of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def call(self, callee: Any, program: Program, args: Sequence[Array]) -> list[Array]:
        """Record a call; return arrays of new inputs that stand for the results of `program`.

        Results of `program` that are numbers stay numbers; equal results share one new input.
        """
        name = f"{CALL}{len(self.calls)}"
        self.calls.append(Call(callee, tuple(args)))
        first: dict[int, Traced] = {}
        for place, y in enumerate(y for output in program.outputs for y in output.flat):
            if isinstance(y, Traced) and y.index not in first:
                first[y.index] = self.input(name, place)
        return [new_array(first, output) for output in program.outputs]

    def inline_calls(self, outputs: Sequence[Array], programs: Sequence[Program]) -> list[Array]:
        """Return `outputs` copied to a new graph, in which `programs[k]` computes call k."""
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
    """Copy a program to another graph with `args` in place of its inputs; return the outputs."""
    entries = dict(zip(program.inputs, (x.ravel().tolist() for x in args), strict=True))

    def meaning(op: str, *operands: Any) -> Any:
        if op == "input":
            name, k = operands
            return entries[name][k]
        return graph.copy(op, *operands)

    return arrays_of_shapes(program.replay(meaning), [y.shape for y in program.outputs])

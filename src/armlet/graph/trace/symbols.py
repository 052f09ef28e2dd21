"""Symbolic constants as an argument, so that a program that has them can run."""

from dataclasses import replace
from functools import partial
from typing import Any

from armlet.errors import CompileError
from armlet.graph.graph import Graph
from armlet.graph.inputs import Input
from armlet.graph.program import Program, rebuilt, renewed

CONSTANTS = "constants"


def with_arguments(old: Program) -> Program:
    """The program with its symbols as entries of a last argument `constants`, in their order."""
    symbols = old.symbols
    if not symbols:
        return old
    if CONSTANTS in old.inputs:
        raise CompileError(
            f"{old.name} has symbolic constants and an argument called {CONSTANTS!r} too: expected "
            "another name for the argument"
        )
    graph = Graph()
    place = {name: k for k, name in enumerate(symbols)}
    value: dict[int, Any] = {}
    for i, op, args in old.nodes:
        if op == "symbol":
            value[i] = graph.input(CONSTANTS, place[args[0]])
        else:
            value[i] = graph.copy(op, *map(partial(renewed, value), args))
    inputs = {**old.inputs, CONSTANTS: Input(CONSTANTS, (len(symbols),), "once")}
    return replace(rebuilt(old, value), inputs=inputs)

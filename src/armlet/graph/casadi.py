"""Programs as functions of CasADi's matrices, which always have two axes."""

import re
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from armlet.errors import CompileError, DataError
from armlet.graph.graph import OPERATIONS
from armlet.graph.inputs import Shape
from armlet.graph.results import collected

if TYPE_CHECKING:
    from armlet.graph.program import Program


def matrix_function(program: "Program", casadi: ModuleType) -> Callable[..., Any]:
    """The program as a function of one state's matrices: a vector is a column.

    Symbols give expressions and numbers give numbers. The operations are recorded once, in SX;
    where MX are given, they stay together as one node of their graph.
    """
    name = program.name
    given = {key: casadi.SX.sym(key, *_axes(name, x.shape)) for key, x in program.inputs.items()}

    def meaning(op: str, *operands: Any) -> Any:
        if op == "input":
            key, k = operands
            columns = given[key].shape[1]
            return given[key][k // columns, k % columns]
        return OPERATIONS[op](*operands)

    values = iter(program.replay(meaning))
    results = []
    for output in program.outputs:
        result = casadi.SX.zeros(*_axes(name, output.shape))
        for i, j in np.ndindex(*result.shape):
            result[i, j] = next(values)
        results.append(result)
    word = re.sub(r"[\W_]+", "_", f"armlet {name}").strip("_")
    recorded = casadi.Function(word, [*given.values()], results)

    def call(*args: Any) -> Any:
        if len(args) != len(given):
            raise DataError(
                f"{name} takes {len(given)} arrays ({', '.join(given)}), got {len(args)}"
            )
        matrices = [x if hasattr(x, "shape") else np.asarray(x, dtype=float) for x in args]
        for key, x in zip(given, matrices, strict=True):
            if tuple(x.shape) not in (program.inputs[key].shape, given[key].shape):
                raise DataError(f"{key} has shape {tuple(x.shape)}: expected {given[key].shape}")
        found = recorded.call(matrices)
        return collected(found, program.single, program.names)

    return call


def _axes(name: str, shape: Shape) -> tuple[int, int]:
    """The rows and columns of an array."""
    if len(shape) > 2:
        raise CompileError(f"{name} has an array of shape {shape}: CasADi's have two axes at most")
    rows, columns = (*shape, 1, 1)[:2]
    return rows, columns

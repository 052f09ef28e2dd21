"""Programs as functions of CasADi's matrices, which always have two axes."""

import re
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from armlet.errors import CompileError, DataError
from armlet.graph.graph import OPERATIONS
from armlet.graph.inputs import Shape

if TYPE_CHECKING:
    from armlet.graph.program import Program


@lru_cache(maxsize=64)
def casadi_function(program: "Program", casadi: ModuleType) -> Any:
    """The program as a `casadi.Function` of one state's matrices: a vector is a column.

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
    numbered = [f"result{k + 1}" for k in range(len(results))]
    names = program.names or ([name] if program.single else numbered)
    arguments = [*map(_word, given)], [*map(_word, names)]
    return casadi.Function(_word(name), [*given.values()], results, *arguments)


def check_matrices(program: "Program", args: Sequence[Any]) -> None:
    """Raise if a matrix is not of its argument's shape, where CasADi would repeat or turn it."""
    for x, arg in zip(program.inputs.values(), args, strict=True):
        shape = tuple(arg.shape if hasattr(arg, "shape") else np.shape(arg))
        expected = _axes(program.name, x.shape)
        if shape not in (x.shape, expected):
            raise DataError(f"{x.name} has shape {shape}: expected {expected}")


def _word(name: str) -> str:
    """A name as CasADi wants it: a letter first, no two underscores in a row."""
    word = re.sub(r"[\W_]+", "_", name).strip("_")
    return word if word[:1].isalpha() else f"armlet_{word}".strip("_")


def _axes(name: str, shape: Shape) -> tuple[int, int]:
    """The rows and columns of an array."""
    if len(shape) > 2:
        raise CompileError(f"{name} has an array of shape {shape}: CasADi's have two axes at most")
    rows, columns = (*shape, 1, 1)[:2]
    return rows, columns

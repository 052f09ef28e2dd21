"""Evaluation of programs by the functions of an array library, one operation at a time."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import islice
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armlet.errors import CompileError, DataError, quote
from armlet.graph.graph import OPERATIONS, arrays_of_shapes
from armlet.graph.signature import Shape, leading_axes, return_value
from armlet.libraries import LIBRARIES

if TYPE_CHECKING:
    from armlet.graph.program import Program

NUMBERS = (int, float, np.integer)
"""The types of output entries that are constants."""
NAMESPACES = {"numpy": "numpy"} | {
    name: library.functions
    for name, library in LIBRARIES.items()
    if name not in ("jaxlib", "armlet")
}
"""Library name -> name of the module with the functions of the library."""


def function_of(program: "Program", library: str | ModuleType) -> Callable[..., Any]:
    """Return a function that runs a program on arrays of a library; see `Program.function`."""
    namespace = _library_module(library)
    if namespace.__name__ != "sympy":
        program.check_values()
    if namespace.__name__ == "casadi":
        return casadi_function(program, namespace)
    has_arrays = hasattr(namespace, "stack")

    def call(*args: Any) -> Any:
        entries, leading = _entries(program, args, namespace if has_arrays else np)

        def meaning(op: str, *operands: Any) -> Any:
            if op == "input":
                return entries[operands[0]][operands[1]]
            if op == "symbol":
                return namespace.Symbol(operands[0])
            return OPERATIONS[op](*operands)

        values, shapes = program.replay(meaning), [y.shape for y in program.outputs]
        if has_arrays:
            example = sum((x for every in entries.values() for x in every[:1]), 0)
            zero, row = namespace.zeros_like(_array(example, namespace)), iter(values)
            stacked = (_stack(namespace, zero, leading, [*islice(row, prod(s))]) for s in shapes)
            results = [x.reshape((*leading, *s)) for x, s in zip(stacked, shapes, strict=True)]
        else:
            results = arrays_of_shapes(values, shapes)
        return return_value(results, program.single, program.names)

    call.__name__ = program.name
    return call


def _library_module(library: str | ModuleType) -> ModuleType:
    """Return the module that has the functions of a library; `library` is a name or a module."""
    name = library.__name__ if isinstance(library, ModuleType) else library
    modules = {**NAMESPACES, **{module: module for module in NAMESPACES.values()}}
    if not isinstance(name, str) or name not in modules:
        raise DataError(
            f"library is {quote(library)}: expected one of {', '.join(NAMESPACES)}, by its name "
            "or as a module"
        )
    try:
        return import_module(modules[name])
    except ImportError as error:
        raise CompileError(f"{name} cannot be imported: {error}") from None


def _entries(
    program: "Program", args: Sequence[Any], namespace: ModuleType
) -> tuple[dict[str, list[Any]], Shape]:
    """Split each input into one array per entry; return name -> arrays, and the leading axes."""
    program.check_number(args)
    arrays = [_array(arg, namespace) for arg in args]
    inputs = program.inputs.values()
    leading, own = leading_axes(inputs, [tuple(array.shape) for array in arrays])
    entries: dict[str, list[Any]] = {}
    for x, array, axes in zip(inputs, arrays, own, strict=True):
        flat = array.reshape((*axes, x.size))
        every = (slice(None),) * len(axes)
        entries[x.name] = [flat[(*every, k)] for k in range(x.size)]
    return entries, leading


def _stack(namespace: ModuleType, zero: Any, leading: Shape, values: list[Any]) -> Any:
    """Stack values along a new last axis; `zero` is an array of zeros with the leading axes."""
    full = [
        y if not isinstance(y, NUMBERS) and tuple(y.shape) == leading else y + zero for y in values
    ]
    return namespace.stack(full, -1) if full else namespace.zeros((*leading, 0))


def _array(x: Any, namespace: ModuleType) -> Any:
    """Convert `x` to an array of the library; return a PyTorch tensor unchanged."""
    tensor = getattr(namespace, "Tensor", None)
    return x if tensor is not None and isinstance(x, tensor) else namespace.asarray(x)


# ------------------------------------------------------------------ CasADi


@lru_cache(maxsize=64)
def casadi_function(program: "Program", casadi: ModuleType) -> Callable[..., Any]:
    """Return a program as a `casadi.Function` of matrices for one state; vectors are columns.

    Called with symbols, the function returns expressions; called with numbers, it returns numbers.
    Its operations are recorded once, in SX; a call with MX symbols adds one node to the MX graph.
    """
    name = program.name
    symbols = {key: casadi.SX.sym(key, *_axes(name, x.shape)) for key, x in program.inputs.items()}

    def meaning(op: str, *operands: Any) -> Any:
        if op == "input":
            key, k = operands
            columns = symbols[key].shape[1]
            return symbols[key][k // columns, k % columns]
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
    arguments = [*map(_word, symbols)], [*map(_word, names)]
    function = casadi.Function(_word(name), [*symbols.values()], results, *arguments)
    return cast("Callable[..., Any]", function)


def check_matrices(program: "Program", args: Sequence[Any]) -> None:
    """Raise DataError if an argument has a wrong shape: CasADi would repeat or transpose it."""
    for x, arg in zip(program.inputs.values(), args, strict=True):
        shape = tuple(arg.shape if hasattr(arg, "shape") else np.shape(arg))
        expected = _axes(program.name, x.shape)
        if shape not in (x.shape, expected):
            raise DataError(f"{x.name} has shape {shape}: expected {expected}")


def _word(name: str) -> str:
    """Convert a name to a valid CasADi name: a letter first, and no two adjacent underscores."""
    word = re.sub(r"[\W_]+", "_", name).strip("_")
    return word if word[:1].isalpha() else f"armlet_{word}".strip("_")


def _axes(name: str, shape: Shape) -> tuple[int, int]:
    """Return the rows and columns of the CasADi matrix for an array of `shape`."""
    if len(shape) > 2:
        raise CompileError(f"{name} has an array of shape {shape}: CasADi's have two axes at most")
    rows, columns = (*shape, 1, 1)[:2]
    return rows, columns

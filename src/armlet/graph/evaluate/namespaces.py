"""Programs as functions of the arrays of any library, operation by operation."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from armlet.errors import CompileError, DataError, quoted
from armlet.graph.evaluate.casadi import casadi_function
from armlet.graph.graph import OPERATIONS
from armlet.graph.inputs import Shape, leading_axes
from armlet.graph.results import collected

if TYPE_CHECKING:
    from armlet.graph.program import Program

NUMBERS = (int, float, np.integer)
"""The types of constant entries, which stand in place of traced scalars."""
LIBRARIES = {
    "numpy": "numpy",
    "jax": "jax.numpy",
    "torch": "torch",
    "casadi": "casadi",
    "sympy": "sympy",
    "mpmath": "mpmath",
}
"""The module with a library's functions, by the name of the library."""


def library_named(library: str | ModuleType) -> ModuleType:
    """The module with the functions of a library, which is given by its name or as a module."""
    name = library.__name__ if isinstance(library, ModuleType) else library
    known = {**LIBRARIES, **{module: module for module in LIBRARIES.values()}}
    if not isinstance(name, str) or name not in known:
        raise DataError(
            f"library is {quoted(library)}: expected one of {', '.join(LIBRARIES)}, by its name "
            "or as a module"
        )
    try:
        return import_module(known[name])
    except ImportError as error:
        raise CompileError(f"{name} cannot be imported: {error}") from None


def function_of(program: "Program", library: str | ModuleType) -> Callable[..., Any]:
    """A program as a function of a library's arrays; `Program.function` documents it."""
    namespace = library_named(library)
    if namespace.__name__ != "sympy":
        program.check_values()
    if namespace.__name__ == "casadi":
        made: Callable[..., Any] = casadi_function(program, namespace)
        return made
    arrays = hasattr(namespace, "stack")

    def call(*args: Any) -> Any:
        given, leading = _arguments(program, args, namespace if arrays else np)

        def meaning(op: str, *operands: Any) -> Any:
            if op == "input":
                return given[operands[0]][operands[1]]
            if op == "symbol":
                return namespace.Symbol(operands[0])
            return OPERATIONS[op](*operands)

        values = program.replay(meaning)
        return _assembled(program, values, given, leading, namespace if arrays else None)

    call.__name__ = program.name
    return call


def objects(values: Sequence[Any], shape: Shape | None = None) -> np.ndarray[Any, Any]:
    """An array of any objects, in a row or of a shape."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array if shape is None else array.reshape(shape)


def _arguments(
    program: "Program", args: Sequence[Any], namespace: ModuleType
) -> tuple[dict[str, list[Any]], Shape]:
    """The entries of each argument, each an array over the leading axes, and these axes."""
    program.check_number(args)
    arrays = [_array(arg, namespace) for arg in args]
    inputs = program.inputs.values()
    leading, own = leading_axes(inputs, [tuple(array.shape) for array in arrays])
    entries: dict[str, list[Any]] = {}
    for given, array, axes in zip(inputs, arrays, own, strict=True):
        flat = array.reshape((*axes, given.size))
        every = (slice(None),) * len(axes)
        entries[given.name] = [flat[(*every, k)] for k in range(given.size)]
    return entries, leading


def _assembled(
    program: "Program",
    values: list[Any],
    given: Mapping[str, list[Any]],
    leading: Shape,
    namespace: ModuleType | None,
) -> Any:
    """The values as arrays of the outputs' shapes, after the leading axes."""
    parts, done = [], 0
    for output in program.outputs:
        parts.append(values[done : done + output.size])
        done += output.size
    shapes = [output.shape for output in program.outputs]
    if namespace is None:
        arrays = [objects(part) for part in parts]
    else:
        example = sum((x for entries in given.values() for x in entries[:1]), 0)
        zero = namespace.zeros_like(_array(example, namespace))
        arrays = [_stacked(namespace, zero, leading, part) for part in parts]
        shapes = [(*leading, *shape) for shape in shapes]
    results = [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)]
    return collected(results, program.single, program.names)


def _stacked(namespace: ModuleType, zero: Any, leading: Shape, values: list[Any]) -> Any:
    """Values as the last axis of an array; what lacks the leading axes is spread by a zero."""
    full = [y if _has_axes(y, leading) else y + zero for y in values]
    return namespace.stack(full, -1) if full else namespace.zeros((*leading, 0))


def _has_axes(y: Any, leading: Shape) -> bool:
    """Whether a value is an array over the leading axes; a constant is not."""
    return not isinstance(y, NUMBERS) and tuple(y.shape) == leading


def _array(x: Any, namespace: ModuleType) -> Any:
    """An array of the namespace; PyTorch's own are taken as they are, with their derivatives."""
    tensor = getattr(namespace, "Tensor", None)
    return x if tensor is not None and isinstance(x, tensor) else namespace.asarray(x)

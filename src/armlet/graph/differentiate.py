"""Derivatives of programs, forward and reverse, as more operations.

Both modes read one table, the partial derivatives of each operation, and replay the program into
a new graph, where equal operations are recorded once.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armlet.graph.graph import Graph, Traced

if TYPE_CHECKING:
    from armlet.graph.program import Program

PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda y, a, b: (1, 1),
    "sub": lambda y, a, b: (1, -1),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (1 / b, -y / b),
    "neg": lambda y, a: (-1,),
    "sin": lambda y, a: (a.cos(),),
    "cos": lambda y, a: (-a.sin(),),
    "sqrt": lambda y, a: (1 / (2 * y),),
    "sign": lambda y, a: (0,),
}
"""The partial derivatives of y = op(a, b) by a and by b."""

Copy = tuple[Graph, dict[int, Any]]


def jacobian(program: "Program", wrt: str, mode: str) -> list[np.ndarray[Any, Any]]:
    """The derivatives of the outputs by an input, in a graph of their own."""
    modes = {"forward": _forward, "reverse": _reverse}
    if mode not in modes:
        raise ValueError(f"mode is {mode!r}: expected 'forward' or 'reverse'")
    shape = program.inputs[wrt]
    rows = modes[mode](program, wrt)
    size = int(np.prod(shape))
    outputs = []
    done = 0
    for output in program.outputs:
        entries = np.zeros((output.size, size), dtype=object)
        for row, slopes in zip(entries, rows[done : done + output.size], strict=True):
            for k, slope in slopes.items():
                row[k] = slope
        done += output.size
        outputs.append(entries.reshape((*output.shape, *shape)))
    return outputs


def _copied(program: "Program") -> Copy:
    """The program's operations in a new graph, and what each of its nodes has become."""
    graph, value = Graph(), dict[int, Any]()
    for i, op, args in program.nodes:
        if op == "input":
            value[i] = graph.input(*args)
        elif op == "symbol":
            value[i] = graph.symbol(*args)
        else:
            value[i] = graph.record(op, *_looked_up(value, args))
    return graph, value


def _looked_up(value: dict[int, Any], args: tuple[Any, ...]) -> list[Any]:
    return [value[a.index] if isinstance(a, Traced) else a for a in args]


def _forward(program: "Program", wrt: str) -> list[dict[int, Any]]:
    """For each output entry, its slopes by the input's entries where they are not zero."""
    _, value = _copied(program)
    slopes: dict[int, dict[int, Any]] = {}
    for i, op, args in program.nodes:
        slopes[i] = {}
        if op == "input" and args[0] == wrt:
            slopes[i][args[1]] = 1
        elif op in PARTIALS and any(isinstance(a, Traced) and slopes[a.index] for a in args):
            partials = PARTIALS[op](value[i], *_looked_up(value, args))
            for a, partial in zip(args, partials, strict=True):
                if isinstance(a, Traced):
                    _add_scaled(slopes[i], partial, slopes[a.index])
    flat = (y for output in program.outputs for y in output.flat)
    return [slopes[y.index] if isinstance(y, Traced) else {} for y in flat]


def _add_scaled(total: dict[int, Any], factor: Any, slopes: dict[int, Any]) -> None:
    for k, slope in slopes.items():
        total[k] = total.get(k, 0) + factor * slope


def _reverse(program: "Program", wrt: str) -> list[dict[int, Any]]:
    """The same, from each output back to the input."""
    _, value = _copied(program)
    nodes = list(program.nodes)
    depends = set[int]()
    for i, op, args in nodes:
        if (op == "input" and args[0] == wrt) or any(
            isinstance(a, Traced) and a.index in depends for a in args
        ):
            depends.add(i)
    moving = [node for node in nodes if node[0] in depends]
    partials = {
        i: PARTIALS[op](value[i], *_looked_up(value, args))
        for i, op, args in moving
        if op != "input"
    }
    flat = (y for output in program.outputs for y in output.flat)
    return [_adjoints(y, moving, partials, depends) for y in flat]


def _adjoints(
    y: Any,
    moving: list[tuple[int, str, tuple[Any, ...]]],
    partials: dict[int, tuple[Any, ...]],
    depends: set[int],
) -> dict[int, Any]:
    """The slopes of one output by the input's entries."""
    if not isinstance(y, Traced) or y.index not in depends:
        return {}
    adjoint: dict[int, Any] = {y.index: 1}
    slopes: dict[int, Any] = {}
    for i, op, args in reversed(moving):
        if i not in adjoint:
            continue
        if op == "input":
            slopes[args[1]] = adjoint[i]
            continue
        for a, partial in zip(args, partials[i], strict=True):
            if isinstance(a, Traced) and a.index in depends:
                adjoint[a.index] = adjoint.get(a.index, 0) + adjoint[i] * partial
    return slopes

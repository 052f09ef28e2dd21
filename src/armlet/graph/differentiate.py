"""Derivatives of traced scalars, forward and reverse, as more operations of their graph.

Both modes read one table, the partial derivatives of each operation.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from armlet.graph.graph import Graph, Traced, live
from armlet.scalar import DERIVATIVES, less, where

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
    "abs": lambda y, a: (a.sign(),),
    "min": lambda y, a, b: (less(a, b), where(less(a, b), 0, 1)),
    "max": lambda y, a, b: (less(b, a), where(less(b, a), 0, 1)),
    "less": lambda y, a, b: (0, 0),
    "where": lambda y, c, a, b: (0, where(c, 1, 0), where(c, 0, 1)),
    "exp": lambda y, a: (y,),
    "log": lambda y, a: (1 / a,),
    "tanh": lambda y, a: (1 - y * y,),
    "atan2": lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
}
"""The partial derivatives of y = op(a, b) by a and by b.

What is not chosen counts with a factor of zero, so its derivatives must be finite too.
"""

Node = tuple[Traced, tuple[Any, ...], tuple[Any, ...]]
"""A traced scalar, its operands and its partial derivatives by them."""


def derivatives(
    outputs: Sequence[Any], inputs: Sequence[Traced], mode: str = "forward"
) -> np.ndarray[Any, Any]:
    """The matrix of ∂ outputs / ∂ inputs, recorded in the graph of the inputs."""
    modes = {"forward": _forward, "reverse": _reverse}
    if mode not in modes:
        raise ValueError(f"mode is {mode!r}: expected 'forward' or 'reverse'")
    if any(x.op not in ("input", "symbol") for x in inputs):  # others may be folded away
        raise ValueError("derivatives are by inputs and symbols, not by what is computed of them")
    moving = _moving(inputs[0].graph, outputs, inputs) if len(inputs) else []
    matrix = np.zeros((len(outputs), len(inputs)), dtype=object)
    for row, found in zip(matrix, modes[mode](outputs, inputs, moving), strict=True):
        for k, x in enumerate(inputs):
            row[k] = found.get(x.index, 0)
    return matrix


DERIVATIVES[Traced] = derivatives


def _moving(graph: Graph, outputs: Sequence[Any], inputs: Collection[Traced]) -> list[Node]:
    """What the outputs need and the inputs move, in the order of recording, inputs left out."""
    moved = {x.index for x in inputs}
    nodes: list[Node] = []
    for i in live(graph, outputs):
        op, args = graph.nodes[i]
        if i not in moved and any(isinstance(a, Traced) and a.index in moved for a in args):
            moved.add(i)
            y = graph.scalars[i]
            nodes.append((y, args, PARTIALS[op](y, *args)))
    return nodes


def _forward(
    outputs: Sequence[Any], inputs: Sequence[Traced], moving: list[Node]
) -> list[dict[int, Any]]:
    """For each output its derivatives by the inputs, as far as they are not zero."""
    found: dict[int, dict[int, Any]] = {x.index: {x.index: 1} for x in inputs}
    for y, args, partials in moving:
        total = found[y.index] = {}
        for a, partial in zip(args, partials, strict=True):
            if isinstance(a, Traced):
                for k, derivative in found.get(a.index, {}).items():
                    total[k] = total.get(k, 0) + partial * derivative
    return [found.get(y.index, {}) if isinstance(y, Traced) else {} for y in outputs]


def _reverse(
    outputs: Sequence[Any], inputs: Sequence[Traced], moving: list[Node]
) -> list[dict[int, Any]]:
    """The same, from each output back to the inputs."""
    inner = {y.index for y, _, _ in moving} | {x.index for x in inputs}
    return [
        _adjoints({y.index: 1}, moving, inner) if isinstance(y, Traced) else {} for y in outputs
    ]


def _adjoints(
    adjoint: dict[int, Any], moving: list[Node], inner: Collection[int]
) -> dict[int, Any]:
    """Derivatives by every node, given what is known of them, from the last node to the first."""
    for y, args, partials in reversed(moving):
        if y.index in adjoint:
            for a, partial in zip(args, partials, strict=True):
                if isinstance(a, Traced) and a.index in inner:
                    step = adjoint[y.index] * partial
                    adjoint[a.index] = adjoint.get(a.index, 0) + step
    return adjoint


# ------------------------------------------------------------------ products with derivatives


def along(graph: Graph, outputs: Sequence[Any], directions: Mapping[int, Any]) -> list[Any]:
    """The derivatives of outputs along directions, given for the inputs by their number."""
    inputs = [graph.scalars[i] for i in directions]
    found = dict(directions)
    for y, args, partials in _moving(graph, outputs, inputs):
        total: Any = 0
        for a, partial in zip(args, partials, strict=True):
            if isinstance(a, Traced) and a.index in found:
                total = total + partial * found[a.index]
        found[y.index] = total
    return [found.get(y.index, 0) if isinstance(y, Traced) else 0 for y in outputs]


def weighted(
    graph: Graph, outputs: Sequence[Any], weights: Sequence[Any], inputs: Sequence[Traced]
) -> list[Any]:
    """The derivatives of the weighted sum of outputs by inputs."""
    moving = _moving(graph, outputs, inputs)
    inner = {y.index for y, _, _ in moving} | {x.index for x in inputs}
    adjoint: dict[int, Any] = {}
    for y, weight in zip(outputs, weights, strict=True):
        if isinstance(y, Traced) and y.index in inner:
            adjoint[y.index] = adjoint.get(y.index, 0) + weight
    found = _adjoints(adjoint, moving, inner)
    return [found.get(x.index, 0) for x in inputs]

"""Forward-mode and reverse-mode derivatives of traced scalars, recorded in the same graph."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from armlet._support.validation import one_of
from armlet.graph.graph import Array, Graph, Traced, live, object_array
from armlet.graph.trace.elementary import logical_and, logical_or, negation, truth
from armlet.scalar import equal, less, log, power, where

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
    "less": lambda y, a, b: (0, 0),
    "less_equal": lambda y, a, b: (0, 0),
    "equal": lambda y, a, b: (0, 0),
    "exp": lambda y, a: (y,),
    "log": lambda y, a: (1 / a,),
    "tanh": lambda y, a: (1 - y * y,),
    "atan2": lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "pow": lambda y, a, b: (b * power(a, b - 1), where(equal(a, 0), 0, y * log(a))),
    "floor": lambda y, a: (0,),
}
"""Operation -> function of (y, a, b) that returns the partial derivatives of y = op(a, b)."""
CHOICES: dict[str, Callable[..., tuple[Any, Any, Any]]] = {
    "min": lambda a, b: (less(a, b), a, b),
    "max": lambda a, b: (less(b, a), a, b),
    "where": lambda c, a, b: (c, a, b),
}
"""Operation that selects a value -> function that returns (condition, value if true, if false).

The same condition selects the derivative. A factor of 1 or 0 could not replace this selection: at
x = 0, the derivative of 1 / x in `where(x, 1 / x, 0)` is infinite, and 0 times infinity is NaN.
"""


Node = tuple[Traced, tuple[Any, ...], tuple[Any, ...]]
"""A traced scalar, its operands, and its partial derivatives with respect to the operands.

For an operation in `CHOICES`: the scalar, the two values to select from, and the condition.
"""
Masked = tuple[Any, Any]
"""The cotangent of a node as a pair (condition, value): `value` where the condition holds or is
None, and 0 elsewhere."""


def derivatives(outputs: Sequence[Any], inputs: Sequence[Traced], mode: str = "forward") -> Array:
    """Return the Jacobian ∂ outputs / ∂ inputs, recorded in the graph of the inputs."""
    for x in inputs:
        if not isinstance(x, Traced):
            kind = type(x).__name__
            raise TypeError(f"{kind} scalars do not record their operations: trace first")
    one_of(mode, "mode", ("forward", "reverse"))
    if any(x.op not in ("input", "symbol") for x in inputs):  # other nodes may be folded away
        raise ValueError("derivatives are by inputs and symbols, not by what is computed of them")
    active = _active_nodes(inputs[0].graph, outputs, inputs) if len(inputs) else []
    if mode == "forward":
        gradients = _propagate(outputs, {x.index: {x.index: 1} for x in inputs}, active)
        rows = [[gradient.get(x.index, 0) for x in inputs] for gradient in gradients]
    else:
        rows = [_pull_back([y], [1], inputs, active) for y in outputs]
    return object_array([x for row in rows for x in row], (len(outputs), len(inputs)))


def _active_nodes(graph: Graph, outputs: Sequence[Any], inputs: Collection[Traced]) -> list[Node]:
    """Return the nodes on paths from inputs to outputs, excluding inputs, in recording order."""
    active = {x.index for x in inputs}
    nodes: list[Node] = []
    for i in live(graph, outputs):
        op, args = graph.nodes[i]
        if i not in active and any(isinstance(a, Traced) and a.index in active for a in args):
            active.add(i)
            y = graph.scalars[i]
            if op in CHOICES:
                condition, *options = CHOICES[op](*args)
                nodes.append((y, tuple(options), (condition,)))
            else:
                nodes.append((y, args, PARTIALS[op](y, *args)))
    return nodes


def _propagate(
    outputs: Sequence[Any], gradients: dict[int, dict[int, Any]], active: list[Node]
) -> list[dict[int, Any]]:
    """Return the gradient of each output, given those of the inputs; missing entries are zero."""
    for y, args, partials in active:
        inner = [gradients.get(a.index, {}) if isinstance(a, Traced) else {} for a in args]
        total = gradients[y.index] = {}
        if y.op in CHOICES:
            first, second = inner
            for k in first | second:
                total[k] = where(partials[0], first.get(k, 0), second.get(k, 0))
            continue
        for gradient, partial in zip(inner, partials, strict=True):
            for k, derivative in gradient.items():
                total[k] = total.get(k, 0) + partial * derivative
    return [gradients.get(y.index, {}) if isinstance(y, Traced) else {} for y in outputs]


def _pull_back(
    outputs: Sequence[Any], cotangents: Sequence[Any], inputs: Sequence[Traced], active: list[Node]
) -> list[Any]:
    """Return the derivative of Σ cotangent · output with respect to each input."""
    inner = {y.index for y, _, _ in active} | {x.index for x in inputs}
    adjoint: dict[int, Masked] = {}

    def add(x: Any, step: Masked) -> None:
        if isinstance(x, Traced) and x.index in inner:
            adjoint[x.index] = _sum(adjoint[x.index], step) if x.index in adjoint else step

    for y, cotangent in zip(outputs, cotangents, strict=True):
        add(y, (None, cotangent))
    for y, args, partials in reversed(active):
        if y.index not in adjoint:
            continue
        mask, value = adjoint[y.index]
        if y.op in CHOICES:
            conditions = (partials[0], negation(partials[0]))
            masks = (truth(x) if mask is None else logical_and(mask, x) for x in conditions)
            steps = [(both, value) for both in masks]
        else:
            steps = [(mask, value * partial) for partial in partials]
        for a, step in zip(args, steps, strict=True):
            add(a, step)
    values = {i: _value(x) for i, x in adjoint.items()}
    return [values.get(x.index, 0) for x in inputs]


def _value(x: Masked) -> Any:
    mask, value = x
    return value if mask is None else where(mask, value, 0)


def _sum(x: Masked, y: Masked) -> Masked:
    """Add two masked cotangents; the sum is 0 where neither condition holds."""
    if x[0] is y[0]:
        return x[0], x[1] + y[1]
    mask = None if x[0] is None or y[0] is None else logical_or(x[0], y[0])
    return mask, _value(x) + _value(y)


# ------------------------------------------------------------------ products with the Jacobian


def jvp(graph: Graph, outputs: Sequence[Any], tangents: Mapping[int, Any]) -> list[Any]:
    """Return the tangents of outputs; `tangents` maps node indices of inputs to tangents."""
    active = _active_nodes(graph, outputs, [graph.scalars[i] for i in tangents])
    along = {i: {0: dx} for i, dx in tangents.items()}
    return [gradient.get(0, 0) for gradient in _propagate(outputs, along, active)]


def vjp(
    graph: Graph, outputs: Sequence[Any], cotangents: Sequence[Any], inputs: Sequence[Traced]
) -> list[Any]:
    """Return the derivative of Σ cotangent · output with respect to each input."""
    return _pull_back(outputs, cotangents, inputs, _active_nodes(graph, outputs, inputs))

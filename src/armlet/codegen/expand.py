"""Sines of sums of angles expanded into products where the sines of the parts are computed anyway.

Counts list sines and cosines separately, so a sine of a sum saves operations there. A machine takes
far longer for it than for the two products and the sum that give the same.
"""

from functools import partial
from typing import Any

from armlet.graph import Graph, Program, Traced
from armlet.graph.program import rebuilt, renewed

TRIGONOMETRY = ("sin", "cos")


def expanded(old: Program) -> Program:
    """The program with sines and cosines of a + b, if those of a and of b occur, by products."""
    angles = {args[0].index for _, op, args in old.nodes if op in TRIGONOMETRY}
    sums: dict[int, tuple[str, Traced, Traced]] = {}
    for i, op, args in old.nodes:
        if i in angles and op in ("add", "sub"):
            a, b = args
            if isinstance(a, Traced) and isinstance(b, Traced) and {a.index, b.index} <= angles:
                sums[i] = op, a, b
    if not sums:
        return old
    graph = Graph()
    value: dict[int, Any] = {}
    pairs: dict[int, tuple[Any, Any]] = {}

    new = partial(renewed, value)

    def cos_sin(angle: Traced) -> tuple[Any, Any]:
        return pairs.get(angle.index) or (new(angle).cos(), new(angle).sin())

    for i, op, args in old.nodes:
        if op in TRIGONOMETRY:
            value[i] = cos_sin(args[0])[op == "sin"]
        else:
            value[i] = graph.copy(op, *map(new, args))
        if i in sums:
            op, a, b = sums[i]
            (cos_a, sin_a), (cos_b, sin_b) = cos_sin(a), cos_sin(b)
            sin_b = sin_b if op == "add" else -sin_b
            pairs[i] = cos_a * cos_b - sin_a * sin_b, sin_a * cos_b + cos_a * sin_b
    return rebuilt(old, value)

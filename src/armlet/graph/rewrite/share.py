"""Sharing parts of sums and of products, whatever the order they were written in.

A sum of several terms can be added up in any order. Two terms that several sums have in common, up
to sign, are added up first in all of them, so that it is done once; likewise for products.
"""

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

from armlet.graph.graph import Graph, Traced
from armlet.graph.program import Program, rebuilt, renewed
from armlet.graph.rewrite.uses import parts_of

FAMILY = {"add": "sum", "sub": "sum", "mul": "product"}

Part = tuple[int, Any]
"""A sign and a term of a sum; the sign of a factor is 1."""
Group = tuple[str, list[Part]]
"""The parts of a sum or product."""


def shared(old: Program) -> Program:
    """The program with common pairs of terms, and of factors, computed once."""
    groups = _groups(old)
    places: dict[Any, list[tuple[int, Part, Part]]] = {}
    for i, (family, parts) in groups.items():
        for two in combinations(parts, 2):
            (s, x), (t, y) = sorted(two, key=lambda part: _order(part[1]))
            places.setdefault((family, _order(x), _order(y), s * t), []).append((i, *two))
    chosen: dict[int, tuple[Part, Part]] = {}
    for found in sorted(places.values(), key=len, reverse=True):
        free = {i: (one, other) for i, one, other in found if i not in chosen}
        if len(free) > 1:
            chosen |= free
    graph = Graph()
    value: dict[int, Any] = {}

    new = partial(renewed, value)

    for i, op, args in old.nodes:
        if i in chosen:
            family, parts = groups[i]
            first, second = chosen[i]
            rest = [part for part in parts if part is not first and part is not second]
            value[i] = _joined(graph, family, [(s, new(x)) for s, x in (first, second, *rest)])
        else:
            value[i] = graph.copy(op, *map(new, args))
    return rebuilt(old, value)


def _groups(old: Program) -> dict[int, Group]:
    """The sums and products of a program, with the parts of their parts that nothing else uses."""
    inner = parts_of(old, FAMILY)

    def parts(sign: int, x: Any, family: str) -> Iterator[Part]:
        if isinstance(x, Traced) and x.index in inner and FAMILY[x.op] == family:
            yield from sides(sign, x.op, x.args)
        else:
            yield sign, x

    def sides(sign: int, op: str, args: tuple[Any, ...]) -> Iterator[Part]:
        yield from parts(sign, args[0], FAMILY[op])
        yield from parts(-sign if op == "sub" else sign, args[1], FAMILY[op])

    return {
        i: (FAMILY[op], [*sides(1, op, args)])
        for i, op, args in old.nodes
        if op in FAMILY and i not in inner and not old.graph.constant[i]
    }


def _order(x: Any) -> tuple[int, Any]:
    return (1, x.index) if isinstance(x, Traced) else (0, x)


def _joined(graph: Graph, family: str, parts: list[Part]) -> Any:
    """A sum of terms, or a product of factors, in the order given."""
    (sign, total), *rest = parts
    for s, x in rest:
        if family == "product":
            total = graph.record("mul", total, x)
        else:
            total = graph.record("add" if s == sign else "sub", total, x)
    return sign * total

"""Simplification: rounds of passes over a program, until a round saves too few operations."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from armlet.graph.count import M_PLUS_A, Count
from armlet.graph.graph import Graph, Traced
from armlet.graph.program import Program, replacement, with_values
from armlet.graph.rewrite.rewriting import Term, nested_terms, rewrite, terms_of
from armlet.graph.rewrite.rules import PASSES

ORDER = (*PASSES, "sharing")
"""The default order of the passes."""

WORTHWHILE = 0.01
"""The fraction of the cost that a round must save for another round to follow."""

FAMILY = {"add": "sum", "sub": "sum", "mul": "product"}
"""Operation -> "sum" or "product", whose terms or factors may be taken in any order."""

Gains = list[tuple[str, Count]]
"""The passes that saved operations, each with the operation count after the pass."""


def simplify(
    program: Program,
    weight: Mapping[str, float] = M_PLUS_A,
    order: Sequence[str] = ORDER,
    enough: Callable[[], bool] = bool,
) -> tuple[Program, Gains]:
    """Return a simplified program, and the operation count after each pass that lowered the cost.

    A round tries the passes in `order`, one after the other. Another round follows if the cost
    falls by enough; see `WORTHWHILE`. Once `enough()` returns true, no further pass is tried.
    """
    steps: dict[str, Callable[[Program], Program]] = {
        name: partial(rewrite, identities=PASSES[name], weight=weight) for name in PASSES
    }
    steps["sharing"] = share_terms
    gains: Gains = []
    before = float("inf")
    while (cost := program.count().cost(weight)) < (1 - WORTHWHILE) * before:
        before = cost
        for name in order:
            if enough():
                break
            after = steps[name](program)
            if after.count().cost(weight) < program.count().cost(weight):
                program = after
                gains.append((name, program.count()))
    return (order_eagerly(program) if gains else program), gains


def order_eagerly(old: Program) -> Program:
    """Move each operation right after its last operand, so that fewer values are alive at once."""
    waits_for = {i: {a.index for a in args if isinstance(a, Traced)} for i, _, args in old.nodes}
    users: dict[int, list[int]] = {}
    for i, operands in waits_for.items():
        for k in operands:
            users.setdefault(k, []).append(i)
    graph = Graph()
    value: dict[int, Any] = {}
    new = partial(replacement, value)
    for start in old.live:
        ready = [start]
        while ready:
            i = ready.pop()
            if i in value:
                continue
            op, args = old.graph.nodes[i]
            value[i] = graph.copy(op, *map(new, args))
            for user in users.get(i, ()):
                waits_for[user].discard(i)
                if not waits_for[user]:
                    ready.append(user)
    return with_values(old, value)


def share_terms(old: Program) -> Program:
    """Return a program that adds two terms once if several sums contain both; likewise for factors.

    The terms of a sum can be added in any order. Two terms that several sums have in common, up to
    sign, are added first in each of these sums.
    """
    groups = _groups(old)
    pairs: dict[Any, list[tuple[int, Term, Term]]] = {}
    for i, (family, terms) in groups.items():
        for two in combinations(terms, 2):
            (s, x), (t, y) = sorted(two, key=lambda term: _order(term[1]))
            pairs.setdefault((family, _order(x), _order(y), s * t), []).append((i, *two))
    chosen: dict[int, tuple[Term, Term]] = {}
    for users in sorted(pairs.values(), key=len, reverse=True):
        free = {i: (one, other) for i, one, other in users if i not in chosen}
        if len(free) > 1:
            chosen |= free
    graph = Graph()
    value: dict[int, Any] = {}
    new = partial(replacement, value)
    for i, op, args in old.nodes:
        if i in chosen:
            family, terms = groups[i]
            first, second = chosen[i]
            rest = [term for term in terms if term is not first and term is not second]
            value[i] = _total(graph, family, [(s, new(x)) for s, x in (first, second, *rest)])
        else:
            value[i] = graph.copy(op, *map(new, args))
    return with_values(old, value)


def _groups(old: Program) -> dict[int, tuple[str, list[Term]]]:
    """Return node -> ("sum" or "product", signed terms) for each outermost sum or product."""
    nested = nested_terms(old, FAMILY)
    return {
        i: (FAMILY[op], [*terms_of(1, old.graph.scalars[i], nested, True)])
        for i, op, _ in old.nodes
        if op in FAMILY and i not in nested and not old.graph.constant[i]
    }


def _order(x: Any) -> tuple[int, Any]:
    return (1, x.index) if isinstance(x, Traced) else (0, x)


def _total(graph: Graph, family: str, terms: list[Term]) -> Any:
    """Record the sum of terms, or the product of factors, in the order of `terms`."""
    (sign, total), *rest = terms
    for s, x in rest:
        if family == "product":
            total = graph.record("mul", total, x)
        else:
            total = graph.record("add" if s == sign else "sub", total, x)
    return sign * total

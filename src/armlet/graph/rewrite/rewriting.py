"""Rewriting programs by identities, wherever that takes fewer operations.

A program is replayed into a new graph. The terms of a sum are taken together, whatever the order
they were added in, unless a part of the sum is used elsewhere too. A rule is applied where the
operations that it makes superfluous outweigh those that it adds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

from armlet.graph.count import M_PLUS_A
from armlet.graph.graph import Graph, Traced
from armlet.graph.program import Program, rebuilt
from armlet.graph.rewrite.pattern import (
    SUMS,
    Bound,
    Rule,
    Term,
    all_match,
    is_constant,
    is_open,
    matches,
    may_be,
    rules_of,
    same,
)
from armlet.graph.rewrite.rules import Identity
from armlet.graph.rewrite.uses import parts_of, uses_of
from armlet.scalar import is_zero

DEPTH = 3
"""How deep the terms of rules are."""


def _remaining(terms: list[Term]) -> list[Term]:
    """The terms without pairs that cancel."""
    left: list[Term] = []
    for sign, x in terms:
        opposite = next((k for k, (s, y) in enumerate(left) if s != sign and same(x, y)), None)
        if opposite is None:
            left.append((sign, x))
        else:
            del left[opposite]
    return left


class Rewriting:
    """One pass over a program."""

    def __init__(
        self, old: Program, identities: tuple[Identity, ...], weight: Mapping[str, float]
    ) -> None:
        self.old, self.rules, self.weight = old, rules_of(identities), weight
        self.graph = Graph()
        self.value: dict[int, Any] = {}
        self.old_uses, _ = uses_of(old)
        self.parts = parts_of(old, dict.fromkeys(SUMS, "sum"))
        """Sums that are only a part of another."""
        self.made_of: dict[tuple[int, int], frozenset[Any]] = {}
        self.uses: Counter[int] = Counter()
        """How often each new node is used; those that are not there are not needed so far."""

    def result(self) -> Program:
        """The rewritten program."""
        for i, op, args in self.old.nodes:
            if i not in self.parts:
                self.value[i] = self._sum(i) if op in SUMS else self._one(op, args)
                self._use(self.value[i], self.old_uses[i])
        return rebuilt(self.old, self.value)

    def _new(self, x: Any) -> Any:
        """What has become of an operand."""
        if not isinstance(x, Traced):
            return x
        if x.index not in self.value:  # a part of a sum that stays as it is
            self.value[x.index] = self.graph.copy(x.op, *map(self._new, x.args))
            self._use(self.value[x.index], 1)
        return self.value[x.index]

    def _use(self, x: Any, times: int) -> None:
        if isinstance(x, Traced):
            if x.op == "neg":
                x = x.args[0]
            self.uses[x.index] += times

    def _one(self, op: str, args: tuple[Any, ...]) -> Any:
        """An operation that is no sum, rewritten or as it is."""
        x = self.graph.copy(op, *map(self._new, args))
        if isinstance(x, Traced) and not x.is_constant:
            for rule in self.rules.get(x.op, ()):
                ((sign, pattern),) = rule.terms
                for bound, inside in matches(pattern, x, {}):
                    y = self._applied(rule, bound, inside, 0)
                    if y is not None:
                        return sign * y
        return x

    def _sum(self, i: int) -> Any:
        """A sum, rewritten or as it is."""
        root = self.old.graph.scalars[i]
        if root.is_constant or "sum" not in self.rules:
            return self.graph.copy(root.op, *map(self._new, root.args))
        every = list(self._terms(1, root, True))
        terms = _remaining(every)
        changed = len(terms) < len(every)
        while (simpler := self._simpler(terms)) is not None:
            terms, changed = simpler, True
        if not changed:
            return self.graph.copy(root.op, *map(self._new, root.args))
        total: Any = 0
        for sign, x in terms:
            total = total + x if sign > 0 else total - x
        return total

    def _terms(self, sign: int, x: Any, is_root: bool = False) -> Iterator[Term]:
        """The terms of a sum, through the parts that are used nowhere else."""
        if isinstance(x, Traced) and (is_root or x.index in self.parts):
            yield from self._terms(sign, x.args[0])
            yield from self._terms(sign if x.op == "add" else -sign, x.args[1])
        else:
            yield sign, self._new(x)

    def _simpler(self, terms: list[Term]) -> list[Term] | None:
        """The terms with two replaced by a rule, or None if none gains anything."""
        for i, j in permutations(range(len(terms)), 2):
            (s, x), (t, y) = terms[i], terms[j]
            apart = self._made_of(x).isdisjoint(self._made_of(y))
            for rule in self.rules["sum"]:
                (p_sign, p), (q_sign, q) = rule.terms
                if apart and rule.joined:
                    continue
                if s * p_sign != t * q_sign or not (may_be(p, x) and may_be(q, y)):
                    continue
                for bound, inside in all_match((p, q), (x, y), {}):
                    z = self._applied(rule, bound, inside, self.weight["add"])
                    if z is not None:
                        rest = [term for k, term in enumerate(terms) if k not in (i, j)]
                        return rest if is_zero(z) else [*rest, (s * p_sign, z)]
        return None

    def _made_of(self, x: Any, depth: int = DEPTH) -> frozenset[Any]:
        """The operands and factors of a term: terms that a rule joins share some."""
        if is_constant(x):
            return frozenset((x,))
        found = self.made_of.get((x.index, depth))
        if found is None:
            parts = x.args if depth and is_open(x, depth == DEPTH) else ()
            found = frozenset((x,)).union(*(self._made_of(a, depth - 1) for a in parts))
            self.made_of[x.index, depth] = found
        return found

    def _applied(
        self, rule: Rule, bound: Bound, inside: tuple[int, ...], joining: float
    ) -> Any | None:
        """The right side of a rule, if it takes less than what it makes superfluous."""
        saved = joining + sum(self._weight(k) for k in set(inside) if self.uses[k] <= 1)
        y = rule.right(bound)
        if self._added(y) >= saved:
            return None
        for k in set(inside):
            self.uses[k] -= 1
        self._use(y, 1)
        return y

    def _weight(self, k: int) -> float:
        return 0 if self.graph.constant[k] else self.weight.get(self.graph.nodes[k][0], 0)

    def _added(self, y: Any) -> float:
        """What a scalar takes beyond what is needed anyway."""
        total, seen, stack = 0.0, set(), [y]
        while stack:
            x = stack.pop()
            if isinstance(x, Traced) and x.index not in seen and not self.uses[x.index] > 0:
                seen.add(x.index)
                total += self._weight(x.index)
                stack.extend(x.args)
        return total


def rewritten(
    old: Program,
    identities: tuple[Identity, ...],
    weight: Mapping[str, float] = M_PLUS_A,
) -> Program:
    """The program after one pass of rules."""
    return Rewriting(old, identities, weight).result()

"""Rewriting of programs by identities, wherever an identity saves operations.

A program is copied to a new graph. If nothing else uses a + b, the nested sum (a + b) + c is
treated as one sum, whose terms are combined in any order. A rule is applied where the operations
that it removes cost more than the operations that it adds.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from inspect import signature
from itertools import permutations, product
from typing import Any, NamedTuple

from armlet.graph.count import M_PLUS_A
from armlet.graph.fold import COMMUTATIVE
from armlet.graph.graph import Graph, Traced
from armlet.graph.program import Program, with_values
from armlet.graph.rewrite.rules import CONSTANTS, Identity
from armlet.scalar import identical, is_zero

DEPTH = 3
"""The largest number of nested operations in a term of a rule."""
TERMS = 24
"""The largest number of terms of a nested sum; more would slow the comparison of all pairs."""
SUMS = ("add", "sub")

Term = tuple[int, Any]
"""A sign (1 or -1) and a scalar."""
Bound = dict[str, Any]
"""Letter of a rule -> the scalar that it stands for."""
Match = tuple[Bound, tuple[int, ...]]
"""The scalar of each letter, and the indices of nodes that match operations of the pattern."""


class Rule(NamedTuple):
    """A rewriting rule: the terms of the left side, and a function that returns both sides."""

    terms: tuple[Term, ...]
    identity: Identity
    signs: Mapping[str, int]
    shares: bool
    """Whether all terms share a letter, so that matching terms must share a scalar."""

    def right(self, bound: Bound) -> Any:
        """Return the right side of the identity, with each letter replaced by its scalar."""
        return self.identity(*(sign * bound[x] for x, sign in self.signs.items()))[1]


@cache
def rules_of(identities: tuple[Identity, ...]) -> dict[str, list[Rule]]:
    """Return operation -> rules whose left sides have this root; each choice of signs is a rule."""
    rules: dict[str, list[Rule]] = {}
    for identity in identities:
        letters = list(signature(identity).parameters)
        seen = set()
        for signs in product((1, -1), repeat=len(letters)):
            graph = Graph()
            values = [s * graph.input(x, 0) for x, s in zip(letters, signs, strict=True)]
            left, _ = identity(*values)
            sign, bare = (-1, left.args[0]) if left.op == "neg" else (1, left)
            terms = tuple(terms_of(sign, bare, (), bare.op in SUMS))
            names: dict[str, tuple[bool, int]] = {}
            key = tuple((s * terms[0][0], _key(x, names)) for s, x in terms)
            if key not in seen:
                seen.add(key)
                op = "sum" if len(terms) > 1 else bare.op
                letters_of = [set(_letters(x)) for _, x in terms]
                shares = bool(set.intersection(*letters_of))
                rule = Rule(terms, identity, dict(zip(letters, signs, strict=True)), shares)
                rules.setdefault(op, []).append(rule)
    return rules


def terms_of(sign: int, x: Any, nested: Collection[int], is_root: bool = False) -> Iterator[Term]:
    """Yield the signed terms of a sum or factors of a product; nodes in `nested` are split, too."""
    if isinstance(x, Traced) and (is_root or x.index in nested):
        yield from terms_of(sign, x.args[0], nested)
        yield from terms_of(-sign if x.op == "sub" else sign, x.args[1], nested)
    else:
        yield sign, x


def is_open(x: Traced, is_term: bool) -> bool:
    """Whether a search for scalars that two terms share continues to the operands of `x`."""
    return x.op in ("mul", "sin", "cos") or (is_term and x.op in SUMS)


def _letters(x: Any, is_term: bool = True) -> Iterator[str]:
    """Yield the letters that a term of a pattern may share with other terms."""
    if isinstance(x, Traced):
        if x.op == "input" and x.args[0] not in CONSTANTS:
            yield x.args[0]
        elif is_open(x, is_term):
            for a in x.args:
                yield from _letters(a, False)


def _key(x: Any, names: dict[str, tuple[bool, int]]) -> Any:
    """Return a key for a pattern; patterns that differ only in letter names have equal keys."""
    if not isinstance(x, Traced):
        return x
    if x.op == "input":
        letter = x.args[0]
        return names.setdefault(letter, (letter in CONSTANTS, len(names)))
    return (x.op, *(_key(a, names) for a in x.args))


def may_be(pattern: Traced, x: Any) -> bool:
    """Whether `x` may match a pattern: a quick test that looks only at `x` and its operands."""
    op, args = pattern.graph.nodes[pattern.index]
    if op == "input":
        return args[0] not in CONSTANTS or is_constant(x)
    if not isinstance(x, Traced):
        return False
    nodes = x.graph.nodes
    x_op, x_args = nodes[x.index]
    if op != x_op:
        return False
    for a in args:
        inner = a.graph.nodes[a.index][0] if isinstance(a, Traced) else "input"
        if inner != "input" and not any(
            isinstance(b, Traced) and nodes[b.index][0] == inner for b in x_args
        ):
            return False
    return True


def is_constant(x: Any) -> bool:
    return not isinstance(x, Traced) or x.is_constant


def matches(pattern: Any, x: Any, bound: Bound) -> Iterator[Match]:
    """Yield each match of `x` with a pattern in which letters in `bound` keep their scalars."""
    if not isinstance(pattern, Traced):
        if not isinstance(x, Traced) and x == pattern:
            yield bound, ()
    elif pattern.op == "input":
        letter = pattern.args[0]
        if letter in bound:
            if identical(bound[letter], x):
                yield bound, ()
        elif letter not in CONSTANTS or is_constant(x):
            yield bound | {letter: x}, ()
    elif isinstance(x, Traced) and x.op == pattern.op and not x.is_constant:
        orders = [x.args, x.args[::-1]] if x.op in COMMUTATIVE else [x.args]
        for args in orders:
            for letters, inside in all_match(pattern.args, args, bound):
                yield letters, (x.index, *inside)


def all_match(patterns: tuple[Any, ...], args: tuple[Any, ...], bound: Bound) -> Iterator[Match]:
    """Yield each match of `args` with `patterns` in which equal letters have the same scalar."""
    if not patterns:
        yield bound, ()
        return
    for first, inside in matches(patterns[0], args[0], bound):
        for letters, others in all_match(patterns[1:], args[1:], first):
            yield letters, inside + others


# ------------------------------------------------------------------ uses of nodes


def uses_of(old: Program) -> tuple[Counter[int], dict[int, str]]:
    """Return node -> number of its uses, and node -> its last user: an operation or "output"."""
    uses: Counter[int] = Counter()
    users: dict[int, str] = {}
    outputs: list[tuple[str, Any]] = [("output", output.flat) for output in old.outputs]
    for op, args in (*((op, args) for _, op, args in old.nodes), *outputs):
        for a in args:
            if isinstance(a, Traced):
                uses[a.index] += 1
                users[a.index] = op
    return uses, users


def nested_terms(old: Program, family: Mapping[str, str]) -> set[int]:
    """Return the sums that are used only once, as a term of another sum; likewise for products.

    `family` maps operations to "sum" or "product". Nodes with more than TERMS terms are left out.
    """
    uses, users = uses_of(old)
    size: dict[int, int] = {}
    nested: set[int] = set()
    for i, op, args in old.nodes:
        if op in family and not old.graph.constant[i]:
            size[i] = sum(
                size[a.index] if isinstance(a, Traced) and a.index in nested else 1 for a in args
            )
            if uses[i] == 1 and family.get(users[i]) == family[op] and size[i] <= TERMS:
                nested.add(i)
    return nested


# ------------------------------------------------------------------ one pass


def _without_pairs(terms: list[Term]) -> list[Term]:
    rest: list[Term] = []
    for sign, x in terms:
        opposite = next((k for k, (s, y) in enumerate(rest) if s != sign and identical(x, y)), None)
        if opposite is None:
            rest.append((sign, x))
        else:
            del rest[opposite]
    return rest


class Rewriting:
    """One pass over a program, which applies rewriting rules."""

    def __init__(
        self, old: Program, identities: tuple[Identity, ...], weight: Mapping[str, float]
    ) -> None:
        self.old, self.rules, self.weight = old, rules_of(identities), weight
        self.graph = Graph()
        self.value: dict[int, Any] = {}
        self.old_uses, _ = uses_of(old)
        self.nested = nested_terms(old, dict.fromkeys(SUMS, "sum"))
        self.factors: dict[tuple[int, int], frozenset[Any]] = {}
        self.uses: Counter[int] = Counter()
        """Index of a node in the new graph -> number of its uses so far, zero by default."""

    def result(self) -> Program:
        for i, op, args in self.old.nodes:
            if i not in self.nested:
                self.value[i] = self._sum(i) if op in SUMS else self._one(op, args)
                self._use(self.value[i], self.old_uses[i])
        return with_values(self.old, self.value)

    def _new(self, x: Any) -> Any:
        if not isinstance(x, Traced):
            return x
        if x.index not in self.value:  # a nested sum that stays as it is
            self.value[x.index] = self.graph.copy(x.op, *map(self._new, x.args))
            self._use(self.value[x.index], 1)
        return self.value[x.index]

    def _use(self, x: Any, times: int) -> None:
        if isinstance(x, Traced):
            if x.op == "neg":
                x = x.args[0]
            self.uses[x.index] += times

    def _one(self, op: str, args: tuple[Any, ...]) -> Any:
        x = self.graph.copy(op, *map(self._new, args))
        if isinstance(x, Traced) and not x.is_constant:
            for rule in self.rules.get(x.op, ()):
                ((sign, pattern),) = rule.terms
                for bound, inside in matches(pattern, x, {}):
                    y = self._apply(rule, bound, inside, 0)
                    if y is not None:
                        return sign * y
        return x

    def _sum(self, i: int) -> Any:
        root = self.old.graph.scalars[i]
        if root.is_constant or "sum" not in self.rules:
            return self.graph.copy(root.op, *map(self._new, root.args))
        every = [(sign, self._new(x)) for sign, x in terms_of(1, root, self.nested, True)]
        terms = _without_pairs(every)
        changed = len(terms) < len(every)
        while (simpler := self._simpler(terms)) is not None:
            terms, changed = simpler, True
        if not changed:
            return self.graph.copy(root.op, *map(self._new, root.args))
        total: Any = 0
        for sign, x in terms:
            total = total + x if sign > 0 else total - x
        return total

    def _simpler(self, terms: list[Term]) -> list[Term] | None:
        """Return the terms after a rule replaced two terms, or None if no rule saves operations."""
        for i, j in permutations(range(len(terms)), 2):
            (s, x), (t, y) = terms[i], terms[j]
            apart = self._factors(x).isdisjoint(self._factors(y))
            for rule in self.rules["sum"]:
                (p_sign, p), (q_sign, q) = rule.terms
                if apart and rule.shares:
                    continue
                if s * p_sign != t * q_sign or not (may_be(p, x) and may_be(q, y)):
                    continue
                for bound, inside in all_match((p, q), (x, y), {}):
                    z = self._apply(rule, bound, inside, self.weight["add"])
                    if z is not None:
                        rest = [term for k, term in enumerate(terms) if k not in (i, j)]
                        return rest if is_zero(z) else [*rest, (s * p_sign, z)]
        return None

    def _factors(self, x: Any, depth: int = DEPTH) -> frozenset[Any]:
        """Return the scalars that the term `x` contains, down to `depth` nested operations."""
        if is_constant(x):
            return frozenset((x,))
        factors = self.factors.get((x.index, depth))
        if factors is None:
            inner = x.args if depth and is_open(x, depth == DEPTH) else ()
            factors = frozenset((x,)).union(*(self._factors(a, depth - 1) for a in inner))
            self.factors[x.index, depth] = factors
        return factors

    def _apply(
        self, rule: Rule, bound: Bound, inside: tuple[int, ...], joining: float
    ) -> Any | None:
        """Return a rule's right side if it costs less than the replaced operations, else None."""
        saved = joining + sum(self._weight(k) for k in set(inside) if self.uses[k] <= 1)
        y = rule.right(bound)
        if self._extra_weight(y) >= saved:
            return None
        for k in set(inside):
            self.uses[k] -= 1
        self._use(y, 1)
        return y

    def _weight(self, k: int) -> float:
        return 0 if self.graph.constant[k] else self.weight.get(self.graph.nodes[k][0], 0)

    def _extra_weight(self, y: Any) -> float:
        """Return the total weight of the operations in `y` that nothing else uses."""
        total, seen, stack = 0.0, set(), [y]
        while stack:
            x = stack.pop()
            if isinstance(x, Traced) and x.index not in seen and not self.uses[x.index] > 0:
                seen.add(x.index)
                total += self._weight(x.index)
                stack.extend(x.args)
        return total


def rewrite(
    old: Program, identities: tuple[Identity, ...], weight: Mapping[str, float] = M_PLUS_A
) -> Program:
    """Return a program rewritten by `identities`, wherever an identity saves operations."""
    return Rewriting(old, identities, weight).result()

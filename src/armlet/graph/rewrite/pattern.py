"""Identities as patterns, and the ways in which expressions match them."""

from collections.abc import Iterator, Mapping
from functools import cache
from inspect import signature
from itertools import product
from typing import Any, NamedTuple

from armlet.graph.fold import COMMUTATIVE
from armlet.graph.graph import Graph, Traced
from armlet.graph.rewrite.rules import CONSTANTS, Identity

SUMS = ("add", "sub")

Term = tuple[int, Any]
"""A sign and a scalar."""
Bound = dict[str, Any]
"""What the letters of a rule stand for."""
Match = tuple[Bound, tuple[int, ...]]
"""What letters stand for, and the nodes that a rule makes superfluous if nothing else uses them."""


class Rule(NamedTuple):
    """An identity as a pattern: the terms of its left side, and how to make its right side."""

    terms: tuple[Term, ...]
    identity: Identity
    signs: Mapping[str, int]
    joined: bool
    """Whether the terms have a letter in common, so that they must share something."""

    def right(self, bound: Bound) -> Any:
        """The right side, for what its letters were found to stand for."""
        return self.identity(*(sign * bound[x] for x, sign in self.signs.items()))[1]


@cache
def rules_of(identities: tuple[Identity, ...]) -> dict[str, list[Rule]]:
    """Identities as rules, in all their signs, by the operation at their root."""
    found: dict[str, list[Rule]] = {}
    for identity in identities:
        letters = list(signature(identity).parameters)
        seen = set()
        for signs in product((1, -1), repeat=len(letters)):
            graph = Graph()
            values = [s * graph.input(x, 0) for x, s in zip(letters, signs, strict=True)]
            left, _ = identity(*values)
            sign, bare = (-1, left.args[0]) if left.op == "neg" else (1, left)
            terms = tuple(_sides(sign, bare))
            names: dict[str, tuple[bool, int]] = {}
            key = tuple((s * terms[0][0], _shown(x, names)) for s, x in terms)
            if key not in seen:
                seen.add(key)
                op = "sum" if len(terms) > 1 else bare.op
                letters_of = [set(_letters(x)) for _, x in terms]
                joined = bool(set.intersection(*letters_of))
                rule = Rule(terms, identity, dict(zip(letters, signs, strict=True)), joined)
                found.setdefault(op, []).append(rule)
    return found


def _sides(sign: int, x: Any) -> Iterator[Term]:
    """The two terms of a sum, or the whole."""
    if x.op in SUMS:
        yield sign, x.args[0]
        yield sign if x.op == "add" else -sign, x.args[1]
    else:
        yield sign, x


def is_open(x: Traced, is_term: bool) -> bool:
    """Whether the operands of a term, or of a part of it, are looked at for what terms share."""
    return x.op in ("mul", "sin", "cos") or (is_term and x.op in SUMS)


def _letters(x: Any, is_term: bool = True) -> Iterator[str]:
    """The letters of a term of a pattern, as far as terms are looked at for what they share."""
    if isinstance(x, Traced):
        if x.op == "input" and x.args[0] not in CONSTANTS:
            yield x.args[0]
        elif is_open(x, is_term):
            for a in x.args:
                yield from _letters(a, False)


def _shown(x: Any, names: dict[str, tuple[bool, int]]) -> Any:
    """A pattern with its letters numbered as they come, to tell it from others."""
    if not isinstance(x, Traced):
        return x
    if x.op == "input":
        letter = x.args[0]
        return names.setdefault(letter, (letter in CONSTANTS, len(names)))
    return (x.op, *(_shown(a, names) for a in x.args))


def may_be(pattern: Traced, x: Any) -> bool:
    """Whether a scalar may be what a pattern says, at a glance."""
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
    """All ways in which a scalar is what a pattern says."""
    if not isinstance(pattern, Traced):
        if not isinstance(x, Traced) and x == pattern:
            yield bound, ()
    elif pattern.op == "input":
        letter = pattern.args[0]
        if letter in bound:
            if same(bound[letter], x):
                yield bound, ()
        elif letter not in CONSTANTS or is_constant(x):
            yield bound | {letter: x}, ()
    elif isinstance(x, Traced) and x.op == pattern.op and not x.is_constant:
        orders = [x.args, x.args[::-1]] if x.op in COMMUTATIVE else [x.args]
        for args in orders:
            for found, inside in all_match(pattern.args, args, bound):
                yield found, (x.index, *inside)


def all_match(some: tuple[Any, ...], args: tuple[Any, ...], bound: Bound) -> Iterator[Match]:
    if not some:
        yield bound, ()
        return
    for first, inside in matches(some[0], args[0], bound):
        for found, others in all_match(some[1:], args[1:], first):
            yield found, inside + others


def same(a: Any, b: Any) -> bool:
    return a is b or (not isinstance(a, Traced) and not isinstance(b, Traced) and a == b)

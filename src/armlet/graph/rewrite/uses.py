"""Where the operations of a program are used."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from armlet.graph.graph import Traced
from armlet.graph.program import Program

TERMS = 24


def uses_of(old: Program) -> tuple[Counter[int], dict[int, str]]:
    """How often each node is used, and by what operation last; outputs are uses too."""
    uses: Counter[int] = Counter()
    users: dict[int, str] = {}
    outputs: list[tuple[str, Any]] = [("output", output.flat) for output in old.outputs]
    for op, args in (*((op, args) for _, op, args in old.nodes), *outputs):
        for a in args:
            if isinstance(a, Traced):
                uses[a.index] += 1
                users[a.index] = op
    return uses, users


def parts_of(old: Program, family: Mapping[str, str]) -> set[int]:
    """The sums that are only a part of one other sum, likewise products, as a family has them.

    A part has at most TERMS terms, since all pairs of the terms of a sum are looked at.
    """
    uses, users = uses_of(old)
    size: dict[int, int] = {}
    parts: set[int] = set()
    for i, op, args in old.nodes:
        if op in family and not old.graph.constant[i]:
            size[i] = sum(
                size[a.index] if isinstance(a, Traced) and a.index in parts else 1 for a in args
            )
            if uses[i] == 1 and family.get(users[i]) == family[op] and size[i] <= TERMS:
                parts.add(i)
    return parts

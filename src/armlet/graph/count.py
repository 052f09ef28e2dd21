"""Counting operations as the literature does.

Multiplications and divisions are M, additions and subtractions are A; a negation is free, and so
are operations on constants alone, which are done off-line. Two times a variable is a
multiplication. Sines, cosines and the rest are listed separately.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

COST = {"mul": "M", "div": "M", "add": "A", "sub": "A"}
FREE = ("input", "neg")
M_PLUS_A = {"mul": 1.0, "div": 1.0, "add": 1.0, "sub": 1.0}
"""The weights for which the cost of a program is M + A."""


@dataclass(frozen=True)
class Count:
    """Multiplications M, additions A, and how often each other function is called."""

    M: int
    A: int
    functions: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        """M + A, by which counts are compared."""
        return self.M + self.A

    def cost(self, weight: Mapping[str, float]) -> float:
        """The weighted sum of all operations; those without a weight count as zero."""
        others = sum(times * weight.get(name, 0) for name, times in self.functions)
        return self.M * weight["mul"] + self.A * weight["add"] + others

    def __str__(self) -> str:
        others = "".join(f", {times} {name}" for name, times in self.functions)
        return f"{self.M}M {self.A}A{others}"


def count_operations(operations: Iterable[str]) -> Count:
    """The count of operations, which are given by their names in a graph."""
    times = Counter(operations)
    M, A = (sum(times[op] for op in COST if COST[op] == letter) for letter in "MA")
    others = ((op, count) for op, count in times.items() if op not in COST and op not in FREE)
    return Count(M, A, tuple(sorted(others)))

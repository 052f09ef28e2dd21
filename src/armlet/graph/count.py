"""Operation counts by the conventions of the literature.

Multiplications and divisions count as M, additions and subtractions as A. Negations are not
counted. Operations on constants alone are not counted either, since they can be done in advance. A
product 2 x counts as a multiplication. Sines, cosines and other functions are counted by name.
CONTRIBUTING.md explains what makes a count lower.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

COST = {"mul": "M", "div": "M", "add": "A", "sub": "A"}
FREE = ("input", "neg")
M_PLUS_A = {"mul": 1.0, "div": 1.0, "add": 1.0, "sub": 1.0}
"""Operation -> weight; with these weights, the cost of a program is M + A."""


@dataclass(frozen=True)
class Count:
    """Operation counts: multiplications M, additions A, other functions as pairs (name, count)."""

    M: int
    A: int
    functions: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        """The sum M + A, which excludes sines, cosines and other functions."""
        return self.M + self.A

    def cost(self, weight: Mapping[str, float]) -> float:
        """Return the weighted sum of all counts; a function without a weight costs nothing."""
        others = sum(times * weight.get(name, 0) for name, times in self.functions)
        return self.M * weight["mul"] + self.A * weight["add"] + others

    def __str__(self) -> str:
        others = "".join(f", {times} {name}" for name, times in self.functions)
        return f"{self.M}M {self.A}A{others}"


def count_operations(operations: Iterable[str]) -> Count:
    """Return the counts for a sequence of operation names, such as "mul" and "sin"."""
    times = Counter(operations)
    M, A = (sum(times[op] for op in COST if COST[op] == letter) for letter in "MA")
    others = ((op, count) for op, count in times.items() if op not in COST and op not in FREE)
    return Count(M, A, tuple(sorted(others)))

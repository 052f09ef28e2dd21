"""How counts grow with the number of joints, as exact polynomials."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

from armlet.api import trace
from armlet.dynamics import FORMULATIONS
from armlet.errors import ModelError
from armlet.formats import general_arm
from armlet.graph import Count

Polynomial = tuple[Fraction, ...]
"""Coefficients, constant term first."""


def counts(quantity: str, name: str, ns: Sequence[int]) -> dict[int, Count]:
    """The counts of a formulation on the general arm of n revolute joints, all parameters.

    An n that it does not hold for is left out.
    """
    found = {}
    for n in ns:
        with suppress(ModelError):
            found[n] = trace(general_arm("R" * n), quantity, name, minimal=False).count()
    return found


def fitted(values: Mapping[int, int], most: int = 5) -> Polynomial:
    """The polynomial of least degree through all values, of consecutive n.

    Raises ValueError if none up to the given degree goes through all of them.
    """
    ns = sorted(values)
    differences = [Fraction(values[n]) for n in ns]
    leading: list[Fraction] = []
    while any(differences):
        if len(leading) > most or len(differences) < 2:
            raise ValueError(f"no polynomial of degree {most} or less goes through {dict(values)}")
        leading.append(differences[0])
        differences = [b - a for a, b in pairwise(differences)]
    return _from_newton(leading, ns[0])


def _from_newton(leading: Sequence[Fraction], start: int) -> Polynomial:
    """Σ Δₖ binomial(n - start, k), multiplied out."""
    total = [Fraction(0)] * max(1, len(leading))
    basis = [Fraction(1)]
    for k, difference in enumerate(leading):
        for power, coefficient in enumerate(basis):
            total[power] += difference * coefficient
        shifted = [Fraction(0), *basis]
        root = start + k
        scaled = [-root * c for c in basis] + [Fraction(0)]
        basis = [(a + b) / (k + 1) for a, b in zip(shifted, scaled, strict=True)]
    while len(total) > 1 and total[-1] == 0:
        total.pop()
    return tuple(total)


def written(polynomial: Polynomial) -> str:
    """A polynomial in n for people: '12 n² + 3/2 n - 4'."""
    powers = ("", " n", " n²", " n³", " n⁴", " n⁵")
    text = ""
    for k, c in reversed(list(enumerate(polynomial))):
        if c:
            size = "" if abs(c) == 1 and k else str(abs(c))
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += (
                f"{sign}{size}{powers[k]}".replace("  ", " ") if size else f"{sign}{powers[k][1:]}"
            )
    return text or "0"


def cheapest(quantity: str, n: int) -> str:
    """The formulation with the fewest operations on the general arm of n revolute joints."""
    totals = {name: counts(quantity, name, [n])[n].total for name in FORMULATIONS[quantity]}
    return min(totals, key=totals.__getitem__)

"""How the operations of every formulation grow with the number of joints.

    python benchmarks/growth.py

Counts on the general arm of n revolute joints, all parameters symbolic, n = 2..16 (up to 8 where
they grow with the fourth power), and the polynomial that goes through all of them from some n on.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

import armlet
from armlet.errors import ModelError
from armlet.formats.dh import general_arm
from armlet.graph import Count

ORDERS = {"n": 1, "n^2": 2, "n^3": 3, "n^4": 4}
Polynomial = tuple[Fraction, ...]
"""Coefficients, constant term first."""


def counts(quantity: str, name: str, ns: Sequence[int]) -> dict[int, Count]:
    """The counts of a formulation on the general arm of n revolute joints, all parameters.

    An n that it does not hold for is left out.
    """
    found = {}
    for n in ns:
        with suppress(ModelError):
            found[n] = armlet.trace(general_arm("R" * n), quantity, name, minimal=False).count()
    return found


def polynomial_through(values: Mapping[int, int], most: int = 5) -> Polynomial:
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


def polynomial_text(polynomial: Polynomial) -> str:
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


def fit(values):
    """The polynomial from the first n on that it holds for."""
    for start in sorted(values)[:4]:
        try:
            return start, polynomial_through({n: x for n, x in values.items() if n >= start})
        except ValueError:
            continue
    raise ValueError(f"no polynomial goes through {values}")


def main():
    head = f"{'quantity':18} {'formulation':28} {'claimed':8} {'found':6} M and A"
    print(head)
    for quantity, entries in armlet.FORMULATIONS.items():
        for name, entry in entries.items():
            order = ORDERS[entry.growth.split(" ")[0]]
            found = counts(quantity, name, range(2, 9 if order > 3 else 17))
            if len(found) < 7:  # a Cartesian model has six joints at most
                continue
            start, M = fit({n: c.M for n, c in found.items()})
            other, A = fit({n: c.A for n, c in found.items()})
            degree = max(len(M), len(A)) - 1
            mark = "" if degree <= order else "  ABOVE"
            print(
                f"{quantity:18} {name:28} {entry.growth:8} n^{degree:<4} "
                f"{polynomial_text(M)}; {polynomial_text(A)} (n >= {max(start, other)}){mark}",
                flush=True,
            )


if __name__ == "__main__":
    main()

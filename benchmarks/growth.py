"""How the operations of every formulation grow with the number of joints.

    python benchmarks/growth.py

Counts on the general arm of n revolute joints, all parameters symbolic, n = 2..16 (up to 8 where
they grow with the fourth power), and the polynomial that goes through all of them from some n on.
"""

import armlet
from armlet.literature.growth import counts, fitted, written

ORDERS = {"n": 1, "n^2": 2, "n^3": 3, "n^4": 4}


def fit(values):
    """The polynomial from the first n on that it holds for."""
    for start in sorted(values)[:4]:
        try:
            return start, fitted({n: x for n, x in values.items() if n >= start})
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
                f"{written(M)}; {written(A)} (n >= {max(start, other)}){mark}",
                flush=True,
            )


if __name__ == "__main__":
    main()

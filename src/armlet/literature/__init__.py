"""The operation totals printed in the literature, and armlet's counts in the same scope."""

import tomllib
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import pi
from pathlib import Path
from typing import Any

from armlet.algebra import symmetric
from armlet.api import trace
from armlet.dynamics import FORMULATIONS
from armlet.dynamics.recursions import composite_masses
from armlet.errors import ModelError
from armlet.formats.dh import general_arm
from armlet.graph import Count, Graph, Program, trace_function
from armlet.robot import RobotModel
from armlet.scalar import Vector


@dataclass(frozen=True)
class Total:
    """A published total: its operations as polynomials in the number of joints, and its scope."""

    quantity: str
    method: str
    work: str
    M: tuple[Fraction, ...]
    A: tuple[Fraction, ...]
    n: tuple[int, ...]
    """The numbers of joints for which the work prints the total."""
    misprints: tuple[tuple[int, int, int], ...] = ()
    """Misprinted totals (n, M, A), which `M` and `A` correct; `note` says why."""
    formulation: str = ""
    """armlet's formulation of the method; empty to compare with the cheapest formulation."""
    starting_from: str = ""
    """The intermediate result whose operations the total leaves out, such as "bias"."""
    beyond: str = ""
    """A quantity and a formulation of it whose operations the total leaves out."""
    prismatic: int = 0
    """The number of the prismatic joint, counted from one; 0 if all joints are revolute."""
    twists: str = "general"
    """The twist angles: "general", or "quarter" if every twist is a quarter turn."""
    minimal: bool = False
    """Whether minimal parameters are used."""
    options: str = ""
    """The formulations that the method builds on, as key=name."""
    note: str = ""

    def printed_count(self, n: int) -> Count:
        """The total that the work prints for `n` joints, with its misprints."""
        for joints, M, A in self.misprints:
            if joints == n:
                return Count(M, A)
        return self.corrected_count(n)

    def corrected_count(self, n: int) -> Count:
        """The total for `n` joints with misprints corrected."""
        M, A = (sum(c * n**k for k, c in enumerate(polynomial)) for polynomial in (self.M, self.A))
        return Count(round(M), round(A))

    def count(self, n: int) -> Count:
        """armlet's operations in the same scope, for `n` joints."""
        scope = replace(self, method="", work="", M=(), A=(), n=(), misprints=(), note="")
        return _count(scope, n)

    def verdict(self, n: int) -> str:
        """Compare armlet's count with the printed or the corrected total, whichever is smaller."""
        difference = self.count(n).total - min(
            self.printed_count(n).total, self.corrected_count(n).total
        )
        return "below" if difference < 0 else "above" if difference > 0 else "equal"


@cache
def _count(scope: Total, n: int) -> Count:
    """armlet's operations by `scope.formulation`, or by the cheapest formulation for the arm."""
    arm = general_arm("".join("P" if i == scope.prismatic else "R" for i in range(1, n + 1)))
    if scope.twists == "quarter":
        arm = replace(arm, dh=tuple(row._replace(alpha=pi / 2) for row in arm.dh))
    counts = []
    for name in [scope.formulation] if scope.formulation else FORMULATIONS[scope.quantity]:
        with nullcontext() if scope.formulation else suppress(ModelError):
            counts.append(_program(scope, name, arm).count())
    fewest = min(counts, key=lambda count: count.total)
    if not scope.beyond:
        return fewest
    quantity, under = scope.beyond.split()
    base = trace(arm, quantity, under, minimal=scope.minimal).count()
    return Count(fewest.M - base.M, fewest.A - base.A, fewest.functions)


def _program(scope: Total, name: str, arm: RobotModel) -> Program:
    """The program of formulation `name`, complete or from `scope.starting_from` on."""
    chosen: dict[str, Any] = dict(pair.split("=") for pair in scope.options.split())
    functions = FORMULATIONS[scope.quantity][name].starting_from
    if scope.starting_from not in functions:
        return trace(arm, scope.quantity, name, minimal=scope.minimal, **chosen)
    n, function = arm.n, functions[scope.starting_from]
    shapes: dict[str, tuple[int, ...]] = {"q": (n,)}
    if scope.starting_from == "composite bodies":
        shapes |= {"c_hat": (n, 3), "J_hat": (n, 6)}
    else:
        shapes["tau" if scope.starting_from == "bias" else "qd"] = (n,)

    def result(graph: Graph, q: Vector, *others: Any) -> Any:
        robot = arm._with_constants({str(name): graph.symbol(str(name)) for name in arm.symbols})
        if "J_hat" not in shapes:
            return function(robot, q, *others)
        c, J = others
        inertias = [symmetric(*x) for x in J]
        return function(robot, q, [*zip(composite_masses(robot), c, inertias, strict=True)])

    return trace_function(scope.quantity, result, shapes)


@cache
def totals() -> tuple[Total, ...]:
    """All published totals, as listed in published.toml."""
    data = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    return tuple(_total(quantity, row) for quantity, rows in data.items() for row in rows)


def _total(quantity: str, row: Mapping[str, Any]) -> Total:
    M, A = (tuple(Fraction(c) for c in row[key]) for key in ("M", "A"))
    misprints = tuple(map(tuple, row.get("misprints", ())))
    lists = {"M": M, "A": A, "n": tuple(row["n"]), "misprints": misprints}
    return Total(**{**row, **lists, "quantity": quantity})

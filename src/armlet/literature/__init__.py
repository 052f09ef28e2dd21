"""Published operation counts and armlet's own; CONTRIBUTING.md says what lowers a count."""

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
    """A published count of multiplications `M` and additions `A`: coefficients of 1, n, n², …."""

    quantity: str
    method: str
    work: str
    M: tuple[Fraction, ...]
    A: tuple[Fraction, ...]
    n: tuple[int, ...]
    """Numbers of joints for which the publication prints the count."""
    misprints: tuple[tuple[int, int, int], ...] = ()
    """Misprinted counts (n, M, A); the fields `M` and `A` are corrected, as `note` explains."""
    formulation: str = ""
    """armlet's formulation of the method; if empty, armlet's cheapest formulation is counted."""
    starting_from: str = ""
    """An intermediate result, such as "bias", whose operations are not counted."""
    beyond: str = ""
    """A quantity and a formulation, as in "inertia_matrix lin"; their operations are subtracted."""
    prismatic: int = 0
    """The number, from 1, of the only prismatic joint; 0 if all joints are revolute."""
    twists: str = "general"
    """Twist angles: "general", or "quarter" if every twist is a quarter turn."""
    minimal: bool = False
    """Whether the count is for minimal inertial parameters."""
    options: str = ""
    """The formulations of other quantities that the method uses: quantity=formulation pairs."""
    note: str = ""

    def printed_count(self, n: int) -> Count:
        """Return the printed count for `n` joints, including misprints."""
        for joints, M, A in self.misprints:
            if joints == n:
                return Count(M, A)
        return self.corrected_count(n)

    def corrected_count(self, n: int) -> Count:
        """Return the published count for `n` joints after correction of misprints."""
        M, A = (sum(c * n**k for k, c in enumerate(polynomial)) for polynomial in (self.M, self.A))
        return Count(round(M), round(A))

    def count(self, n: int) -> Count:
        """Count armlet's operations for `n` joints, under the conditions of the published count."""
        scope = replace(self, method="", work="", M=(), A=(), n=(), misprints=(), note="")
        return _count(scope, n)

    def verdict(self, n: int) -> str:
        """Return whether armlet's total is "below", "equal" or "above" min(printed, corrected)."""
        published = min(self.printed_count(n).total, self.corrected_count(n).total)
        difference = self.count(n).total - published
        return "below" if difference < 0 else "above" if difference > 0 else "equal"


@cache
def _count(scope: Total, n: int) -> Count:
    """Count the operations of `scope.formulation`, or of the cheapest formulation if empty."""
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
    """Trace formulation `name`; if supported, `scope.starting_from` is an input or an output."""
    chosen: dict[str, Any] = dict(pair.split("=") for pair in scope.options.split())
    functions = FORMULATIONS[scope.quantity][name].starting_from
    if scope.starting_from not in functions:
        return trace(arm, scope.quantity, name, minimal=scope.minimal, **chosen)
    n, function = arm.nb, functions[scope.starting_from]
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
    """Read all published counts from published.toml."""
    data = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    return tuple(_total(quantity, row) for quantity, rows in data.items() for row in rows)


def _total(quantity: str, row: Mapping[str, Any]) -> Total:
    M, A = (tuple(Fraction(c) for c in row[key]) for key in ("M", "A"))
    misprints = tuple(map(tuple, row.get("misprints", ())))
    lists = {"M": M, "A": A, "n": tuple(row["n"]), "misprints": misprints}
    return Total(**{**row, **lists, "quantity": quantity})

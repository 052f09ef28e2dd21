"""The operation totals printed in the literature, and what armlet takes in their scope."""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
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
from armlet.scalar import Matrix, Vector


@dataclass(frozen=True)
class Total:
    """A printed total, as a polynomial in the number of joints, and what it covers."""

    quantity: str
    method: str
    work: str
    M: tuple[Fraction, ...]
    A: tuple[Fraction, ...]
    n: tuple[int, ...]
    """Where it is printed."""
    misprints: tuple[tuple[int, int, int], ...] = ()
    """n, M and A as printed, where the polynomials are a correction; `note` says why."""
    formulation: str = ""
    """armlet's formulation; empty for a method that is only cited, compared with the cheapest."""
    starting_from: str = ""
    """The intermediate result that it starts from."""
    beyond: str = ""
    """The quantity and formulation that it comes on top of."""
    prismatic: int = 0
    """The joint that is prismatic, from one."""
    twists: str = "general"
    """Or quarter, where every twist is a quarter turn."""
    minimal: bool = False
    """Whether minimal parameters are used."""
    options: str = ""
    """The formulations that the method builds on, as key=name."""
    note: str = ""

    def printed_count(self, n: int) -> Count:
        """What the work prints for n joints, misprints as they are."""
        for joints, M, A in self.misprints:
            if joints == n:
                return Count(M, A)
        return self.corrected_count(n)

    def corrected_count(self, n: int) -> Count:
        """The total without misprints."""
        M, A = (sum(c * n**k for k, c in enumerate(polynomial)) for polynomial in (self.M, self.A))
        return Count(round(M), round(A))

    def count(self, n: int) -> Count:
        """What armlet takes in the same scope, for n joints."""
        scope = replace(self, method="", work="", M=(), A=(), n=(), misprints=(), note="")
        return _cached_count(scope, n)

    def verdict(self, n: int) -> str:
        """Whether armlet's count is below, equal to or above printed and corrected total."""
        difference = self.count(n).total - min(
            self.printed_count(n).total, self.corrected_count(n).total
        )
        return "below" if difference < 0 else "above" if difference > 0 else "equal"

    def arm(self, n: int) -> RobotModel:
        letters = "".join("P" if i == self.prismatic else "R" for i in range(1, n + 1))
        arm = general_arm(letters)
        if self.twists == "quarter":
            arm = replace(arm, dh=tuple(row._replace(alpha=pi / 2) for row in arm.dh))
        return arm

    def _count_of(self, name: str, n: int) -> Count:
        arm = self.arm(n)
        whole = self._program(name, arm).count()
        if not self.beyond:
            return whole
        quantity, under = self.beyond.split()
        base = trace(arm, quantity, under, minimal=self.minimal).count()
        return Count(whole.M - base.M, whole.A - base.A, whole.functions)

    def _program(self, name: str, arm: RobotModel) -> Program:
        """The program of a formulation, whole or from an intermediate result on."""
        chosen: dict[str, Any] = dict(pair.split("=") for pair in self.options.split())
        on_hand = FORMULATIONS[self.quantity][name].starting_from
        if self.starting_from not in on_hand:
            return trace(arm, self.quantity, name, minimal=self.minimal, **chosen)
        n, function = arm.n, on_hand[self.starting_from]

        def with_symbols(graph: Graph) -> RobotModel:
            return arm._with_constants({str(name): graph.symbol(str(name)) for name in arm.symbols})

        def from_bodies(graph: Graph, q: Vector, c: Matrix, J: Matrix) -> Any:
            robot = with_symbols(graph)
            inertias = [symmetric(*x) for x in J]
            return function(robot, q, [*zip(composite_masses(robot), c, inertias, strict=True)])

        def from_torques_or_rates(graph: Graph, q: Vector, x: Vector) -> Any:
            return function(with_symbols(graph), q, x)

        if self.starting_from == "composite bodies":
            shapes = {"q": (n,), "c_hat": (n, 3), "J_hat": (n, 6)}
            return trace_function(self.quantity, from_bodies, shapes)
        other = "tau" if self.starting_from == "bias" else "qd"
        return trace_function(self.quantity, from_torques_or_rates, {"q": (n,), other: (n,)})


@cache
def _cached_count(total: Total, n: int) -> Count:
    """The count of the formulation named, or of the cheapest that holds for the arm."""
    if total.formulation:
        return total._count_of(total.formulation, n)
    counts = []
    for name in FORMULATIONS[total.quantity]:
        with suppress(ModelError):
            counts.append(total._count_of(name, n))
    return min(counts, key=lambda count: count.total)


@cache
def totals() -> tuple[Total, ...]:
    """Every printed total."""
    data = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    return tuple(_total(quantity, row) for quantity, rows in data.items() for row in rows)


def _total(quantity: str, row: Mapping[str, Any]) -> Total:
    polynomials = {key: tuple(Fraction(c) for c in row[key]) for key in ("M", "A")}
    misprints = tuple(map(tuple, row.get("misprints", ())))
    lists = {"n": tuple(row["n"]), "misprints": misprints}
    return Total(**{**row, **polynomials, **lists, "quantity": quantity})

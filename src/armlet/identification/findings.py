"""What an identification has found, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from armlet.api import Robot
from armlet.errors import DataError, quoted
from armlet.identification.estimation.estimators import Estimate
from armlet.identification.estimation.factors import Array, Factors
from armlet.identification.estimation.gains import Gains
from armlet.identification.estimation.instrumental import Instrumented
from armlet.identification.estimation.physical import is_consistent
from armlet.identification.estimation.torque_model import TorqueModel
from armlet.identification.preprocessing.samples import Samples

LEAST_SQUARES, INSTRUMENTAL, CONSISTENT = "least squares", "instrumental variables", "consistent"
"""The names of solutions."""
SMALL_TORQUE = 1e-6
"""Errors of a joint with less torque than this share of the largest one's are in % of that."""


class Fit(NamedTuple):
    """How well torques are met: errors in % of the torques, root mean squares."""

    whole: float
    """Of all joints together."""
    joints: Array
    """Of each joint, (n,)."""
    rest: Array
    """The root mean square of what is left of each joint, Nm or N."""

    @classmethod
    def of(cls, factors: Factors, x: Array) -> "Fit":
        """The fit of parameters to rows."""
        squares = factors.squares(x)
        least = SMALL_TORQUE**2 * factors.torques.max() + np.finfo(float).tiny
        torques = np.maximum(factors.torques, least)
        whole = 100 * float(np.sqrt(squares.sum() / torques.sum()))
        rest = np.sqrt(squares / np.maximum(factors.rows, 1))
        return cls(whole, 100 * np.sqrt(squares / torques), rest)


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """The parameters of an arm and how they were found.

    Attributes
    ----------
    model : TorqueModel
        What the torques are made of.
    estimate : Estimate
        The parameters by least squares, with covariance and noise.
    standard : array, optional
        Standard parameters, ten per body and those of the drives, that bodies and drives can have,
        and that meet the torques best; None if they were not asked for.
    fits : mapping of str to Fit
        "least squares" or "instrumental variables", and "consistent", on the data used and, with
        "validation, " before the name, on those held out.
    condition : float
        The condition number of the regressor.
    essential : tuple of str
        The parameters without which the fit would be worse.
    choices : tuple of mappings
        How each run was conditioned.
    notes : tuple of str
        What is worth knowing.
    instrumented : Instrumented, optional
        How instrumental variables were found, if they were, and whether least squares differs.
    gains : Gains, optional
        Torques per unit of what was logged, with deviations, if they were unknown.
    samples, held : tuples of Samples
        The conditioned runs that were used, and what was held out.
    """

    model: TorqueModel
    estimate: Estimate
    standard: Array | None
    fits: Mapping[str, Fit]
    condition: float
    essential: tuple[str, ...]
    choices: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    instrumented: Instrumented | None = None
    gains: Gains | None = None
    samples: tuple[Samples, ...] = ()
    held: tuple[Samples, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of the model."""
        return self.model.names

    @property
    def values(self) -> Array:
        """Their values."""
        return self.estimate.x

    @property
    def deviations(self) -> Array:
        """Their standard deviations."""
        return self.estimate.deviations

    @property
    def way(self) -> str:
        """How the values were found: "least squares" or "instrumental variables"."""
        return LEAST_SQUARES if self.instrumented is None else INSTRUMENTAL

    @property
    def solutions(self) -> dict[str, Array]:
        """The parameters of the model by each solution: `values`, and those of physical bodies."""
        physical = {} if self.standard is None else {CONSISTENT: self.model.Lam @ self.standard}
        return {self.way: self.values, **physical}

    @property
    def solution(self) -> str:
        """The solution of `robot`, files and curves: "consistent" if there are physical bodies."""
        return [*self.solutions][-1]

    @property
    def robot(self) -> Robot:
        """The arm with what was found: physical bodies if these were asked for."""
        if self.standard is None:
            return self.model.robot(self.values)
        known = dict(zip(self.model.standard, self.standard, strict=True))
        return self.model.with_drives(self.model.parameters.model.with_inertia(self.bodies), known)

    @property
    def bodies(self) -> Array:
        """The inertial parameters of physical bodies, (nb, 10)."""
        if self.standard is None:
            raise DataError(
                "physically consistent bodies were not asked for: expected consistent=True"
            )
        nb = self.model.parameters.model.nb
        return self.standard[: 10 * nb].reshape(nb, 10)

    @property
    def is_consistent(self) -> bool:
        """Whether there are bodies, each of them physical."""
        return self.standard is not None and is_consistent(self.bodies)

    def compared(self, run: Samples, solution: str | None = None) -> tuple[Array, Array, Array]:
        """The times, measured and predicted torques of a run, filtered alike and decimated.

        Predictions are those of `robot`, or of a solution by its name, such as "least squares".
        """
        x = self._parameters(solution) + self.model.load(run.payload)

        def predicted(own: Samples) -> Array:
            torques = self.model.regressor(own.q, own.qd, own.qdd) @ x
            found: Array = torques + self.model.known(own.q, own.qd)
            return found

        return run.t[run.kept], run.decimated(run.tau), run.decimated(predicted)

    def predicted(
        self, q: Array, qd: Array, qdd: Array, solution: str | None = None
    ) -> tuple[Array, Array]:
        """The torques at some states, (k, n), and their standard deviations, noise included.

        Torques are those of `robot`, or of a solution by its name; deviations those of `values`.
        """
        W = self.model.regressor(q, qd, qdd)
        spread = np.einsum("kip,pr,kir->ki", W, self.estimate.covariance, W)
        deviations = np.sqrt(np.maximum(spread, 0) + self.estimate.noise**2)
        return self.torques(q, qd, qdd, solution), deviations

    def torques(self, q: Array, qd: Array, qdd: Array, solution: str | None = None) -> Array:
        """The torques of `robot` and what was known, (k, n), or of a solution by its name."""
        W, x = self.model.regressor(q, qd, qdd), self._parameters(solution)
        found: Array = W @ x + self.model.known(q, qd)
        return found

    def _parameters(self, solution: str | None) -> Array:
        """The parameters of a solution, by default that of `robot`."""
        solutions = self.solutions
        if solution is not None and solution not in solutions:
            raise DataError(
                f"solution is {quoted(solution)}: expected {' or '.join(map(repr, solutions))}"
            )
        return solutions[solution or self.solution]

    def figures(self) -> dict[str, Any]:
        """All figures as plain data."""
        return {
            "robot": self.model.parameters.model.name,
            "parameters": [
                {"name": name, "value": float(x), "deviation": float(s)}
                for name, x, s in zip(self.names, self.values, self.deviations, strict=True)
            ],
            "solution": self.solution,
            "condition": self.condition,
            "rank": self.estimate.rank,
            "essential": list(self.essential),
            "noise": self.estimate.noise.tolist(),
            "covariance": self.estimate.covariance.tolist(),
            "fits": {
                name: {"whole": x.whole, "joints": x.joints.tolist(), "rest": x.rest.tolist()}
                for name, x in self.fits.items()
            },
            "bodies": None if self.standard is None else self.bodies.tolist(),
            "choices": [dict(x) for x in self.choices],
            "instrumental": None if self.instrumented is None else self.instrumented._asdict(),
            "gains": None
            if self.gains is None
            else {name: x.tolist() for name, x in self.gains._asdict().items()},
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        robot, fit = self.model.parameters.model, self.fits[self.solution]
        return (
            f"<{type(self).__name__} {robot.name!r}: {len(self.names)} parameters, error "
            f"{fit.whole:.2f} % ({self.solution}), condition number {self.condition:.0f}>"
        )

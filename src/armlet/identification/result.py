"""`Identified`, the result of `identify`: parameters, torque errors, files and the report."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.files import write
from armlet.api import Robot
from armlet.errors import DataError, quote
from armlet.identification import report
from armlet.identification.estimation import estimators
from armlet.identification.estimation.estimators import Array, Estimate, Factors, Gains
from armlet.identification.estimation.instrumental import InstrumentTest
from armlet.identification.estimation.physical import is_consistent
from armlet.identification.estimation.torque_model import TorqueRegressor
from armlet.identification.preprocessing import Samples
from armlet.plotting import Figure, Plottable, Theme, with_theme

LEAST_SQUARES, INSTRUMENTAL, CONSISTENT = "least squares", "instrumental variables", "consistent"
"""The names of the solutions in `Identified.solutions`."""
SMALL_TORQUE = 1e-6
"""The least torque that divides a joint's error, relative to the largest joint torque."""


class Fit(NamedTuple):
    """Root-mean-square torque errors, absolute and in % of the root-mean-square torques."""

    whole: float
    """The error of all joints together, in %."""
    joints: Array
    """The error of each joint, in %, (n,)."""
    residuals: Array
    """The root-mean-square residual of each joint, Nm or N."""

    @classmethod
    def of(cls, factors: Factors, x: Array) -> "Fit":
        """Return the torque errors of parameters x on the rows of `factors`."""
        squares = estimators.residual_squares(factors.R, x)
        least = SMALL_TORQUE**2 * factors.torques.max() + np.finfo(float).tiny
        torques = np.maximum(factors.torques, least)
        whole = 100 * float(np.sqrt(squares.sum() / torques.sum()))
        residuals = np.sqrt(squares / np.maximum(factors.rows, 1))
        return cls(whole, 100 * np.sqrt(squares / torques), residuals)


@dataclass(frozen=True, eq=False, repr=False)
class Identified(Plottable):
    """The result of `identify`: parameters of an arm, and torque errors.

    Attributes
    ----------
    regressor : TorqueRegressor
        The torque model, linear in the parameters.
    estimate : Estimate
        The parameters by least squares or instrumental variables, with covariance and noise.
    standard : array, optional
        The standard parameters (ten per body, then drive parameters and extra terms) that fit the
        torques best with physical bodies; None if physical bodies were not requested.
    fits : mapping of str to Fit
        Torque errors on the data used, by solution name, such as "least squares" or "consistent".
        For data held out, "validation, " precedes the solution name.
    condition : float
        The condition number of the regressor.
    essential : tuple of str
        The names of the parameters without which the fit is significantly worse.
    choices : tuple of mappings
        The preprocessing choices of each run.
    notes : tuple of str
        Remarks on choices, assumptions and omissions.
    instrument_test : InstrumentTest, optional
        For instrumental variables: the convergence, and a test of whether least squares is biased.
    gains : Gains, optional
        The torque per logged unit (Nm/A, for instance) and its standard deviation, if identified.
    unused : tuple of str
        The names of the joints whose torques were not used, because they are constant in every run.
    samples, held_out : tuples of Samples
        The preprocessed samples that were used, and those held out, of up to eight runs each.
    """

    regressor: TorqueRegressor
    estimate: Estimate
    standard: Array | None
    fits: Mapping[str, Fit]
    condition: float
    essential: tuple[str, ...]
    choices: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    instrument_test: InstrumentTest | None = None
    gains: Gains | None = None
    unused: tuple[str, ...] = ()
    samples: tuple[Samples, ...] = ()
    held_out: tuple[Samples, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.regressor.names

    @property
    def values(self) -> Array:
        """The values of the parameters."""
        return self.estimate.x

    @property
    def deviations(self) -> Array:
        """The standard deviations of the parameters."""
        return self.estimate.deviations

    @property
    def method(self) -> str:
        """The method of the estimate: "least squares" or "instrumental variables"."""
        return LEAST_SQUARES if self.instrument_test is None else INSTRUMENTAL

    @property
    def solutions(self) -> dict[str, Array]:
        """A mapping from solution names to parameter values in the order of `names`.

        The solution `values` is named by `method`. If physical bodies were requested, a second
        solution, "consistent", has the parameters of these bodies.
        """
        physical = {} if self.standard is None else {CONSISTENT: self.regressor.Lam @ self.standard}
        return {self.method: self.values, **physical}

    @property
    def solution(self) -> str:
        """The name of the solution that `robot` and all files use: "consistent" if available."""
        return [*self.solutions][-1]

    @property
    def robot(self) -> Robot:
        """The arm with the identified parameters; its bodies are physical if this was requested."""
        if self.standard is None:
            return self.regressor.robot_with(self.values)
        values = dict(zip(self.regressor.standard, self.standard, strict=True))
        return self.regressor.with_drives(self.regressor.robot.with_inertia(self.bodies), values)

    @property
    def bodies(self) -> Array:
        """The inertial parameters of the physical bodies, (nb, 10); raise if not requested."""
        if self.standard is None:
            raise DataError(
                "physically consistent bodies were not asked for: expected physical=True"
            )
        nb = self.regressor.robot.nb
        return self.standard[: 10 * nb].reshape(nb, 10)

    @property
    def is_consistent(self) -> bool:
        """Whether physical bodies were requested and every body is physical."""
        return self.standard is not None and is_consistent(self.bodies)

    def compare(self, run: Samples, solution: str | None = None) -> tuple[Array, Array, Array]:
        """Return times, measured torques and predicted torques of a run, filtered and decimated.

        Predictions are those of `robot`, or of the named `solution`, such as "least squares".
        """
        x = self._parameters(solution) + self.regressor.payload(run.payloads)
        predicted = (self._torques(own.q, own.qd, own.qdd, x) for own in run.blocks())
        return run.t[run.indices], run.decimate(run.tau), run.decimate(predicted)

    def predict(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, solution: str | None = None
    ) -> tuple[Array, Array]:
        """Return predicted torques (..., n) and their standard deviations, which include noise.

        Torques are those of `robot`, or of the named `solution`; deviations follow from `estimate`.
        """
        W = self.regressor.columns(q, qd, qdd)
        spread = np.einsum("...ip,pr,...ir->...i", W, self.estimate.covariance, W)
        deviations = np.sqrt(np.maximum(spread, 0) + self.estimate.noise**2)
        return self.torques(q, qd, qdd, solution), deviations

    def torques(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, solution: str | None = None
    ) -> Array:
        """Return predicted torques (..., n), with springs, of `robot` or the named `solution`."""
        return self._torques(q, qd, qdd, self._parameters(solution))

    def _torques(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, x: Array) -> Array:
        known = self.regressor.known_torques(q, qd)
        return np.asarray(self.regressor.columns(q, qd, qdd) @ x + known)

    def _parameters(self, solution: str | None) -> Array:
        """Return the parameters of the named solution; by default the solution of `robot`."""
        solutions = self.solutions
        if solution is not None and solution not in solutions:
            raise DataError(
                f"solution is {quote(solution)}: expected {' or '.join(map(repr, solutions))}"
            )
        return solutions[solution or self.solution]

    def figures(self) -> dict[str, Any]:
        """Return all numerical results as a dict of plain Python data."""
        return {
            "robot": self.regressor.robot.name,
            "parameters": [
                {"name": name, "value": float(x), "deviation": float(s)}
                for name, x, s in zip(self.names, self.values, self.deviations, strict=True)
            ],
            "solution": self.solution,
            "condition": self.condition if np.isfinite(self.condition) else None,
            "rank": self.estimate.rank,
            "essential": list(self.essential),
            "noise": self.estimate.noise.tolist(),
            "covariance": self.estimate.covariance.tolist(),
            "fits": {name: _plain(fit) for name, fit in self.fits.items()},
            "bodies": None if self.standard is None else self.bodies.tolist(),
            "choices": [dict(x) for x in self.choices],
            "instrumental": _plain(self.instrument_test),
            "gains": _plain(self.gains),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        fit = self.fits[self.solution]
        return (
            f"<Identified {self.regressor.robot.name!r}: {len(self.names)} parameters, error "
            f"{fit.whole:.2f} % ({self.solution}), condition number {self.condition:.0f}>"
        )

    # ---------------------------------------------------------------- files and figures

    def to_urdf(self, path: str | Path) -> None:
        """Write the arm as URDF; its bodies must be physical."""
        self.robot.with_inertia(self.bodies).to_urdf(path)

    def to_toml(self, path: str | Path) -> None:
        """Write the arm as TOML; its bodies must be physical."""
        self.robot.with_inertia(self.bodies).to_toml(path)

    def plot(self, theme: Theme = "light") -> Figure:
        """Return a Plotly figure of measured and predicted torques; data held out are shaded."""
        return with_theme(report.torques(self), theme)

    def report(self, path: str | Path) -> None:
        """Write the report as an HTML page, and its data as a JSON file of the same name."""
        path = Path(path)
        if path.suffix == ".json":
            raise DataError(f"report {path.name} ends in '.json', as its data do: expected .html")
        write(path, report.page(self))
        self.to_json(path.with_suffix(".json"))

    def to_json(self, path: str | Path) -> None:
        """Write all numerical results as JSON."""
        write(path, json.dumps(self.figures(), indent=2) + "\n")


def _plain(x: Fit | Gains | InstrumentTest | None) -> dict[str, Any] | None:
    """Return the fields of a named tuple as a dict of lists and numbers; None for None."""
    return None if x is None else {key: np.asarray(y).tolist() for key, y in x._asdict().items()}

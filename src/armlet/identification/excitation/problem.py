"""The optimisation problem of `excite`: paths, criteria to minimise, and derivatives."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet._support.lazy import cached_property
from armlet.api import Robot, compile, minimal_parameters
from armlet.identification.estimation.torque_model import identifiable
from armlet.identification.excitation.limits import Limit, Range, State
from armlet.minimal import MinimalParameters

Array = NDArray[np.float64]
DEGREE = 5
"""The degree of splines, whose jerk (derivative of the acceleration) is therefore continuous."""
ROUNDING = 1e-13
"""A velocity below this share of the sum of its terms' absolute values is rounded to zero."""
LEAST = 1e-14
"""The lower bound on eigenvalues of WᵀW, relative to the largest; some may be zero at first."""
NEAR = 0.1
"""The ratio of slack to barrier weight below which a parabola continues the barrier."""
SMOOTH = 0.02
"""During the search, Coulomb friction changes sign smoothly over this share of the speed limit."""
ROWS = 256
"""The number of states whose rows are factorised together; they fit in the processor's cache."""
SAMPLES = 20
"""The number of points in time, per coefficient, at which the search evaluates a path."""


@dataclass(frozen=True)
class Path(ABC):
    """Basis functions of time, whose linear combinations are the joint positions."""

    duration: float
    count: int
    """The number of harmonics, or of free control points of a spline."""

    @property
    @abstractmethod
    def constant(self) -> Array:
        """The coefficients of a joint that rests at position 1, (m,)."""

    @property
    @abstractmethod
    def scale(self) -> Array:
        """The sizes of coefficients that cause velocities of similar size, (m,)."""

    @abstractmethod
    def basis(self, t: Array) -> tuple[Array, Array, Array]:
        """Return the basis functions and their first two derivatives at times t, each (k, m)."""

    @cached_property
    def free(self) -> Array:
        """A basis (m, p) of coefficients with rest at both ends; free / scale is orthonormal."""
        ends = self.basis(np.array([0.0, self.duration]))
        rest = np.vstack([ends[1], ends[2]]) * self.scale
        _, values, rows = np.linalg.svd(rest)
        rank = int((values > 1e-9 * values[0]).sum())
        return np.asarray(self.scale[:, None] * rows[rank:].T)

    @cached_property
    def still(self) -> Array:
        """The free coefficients x, (p,), of a joint that rests at position 1."""
        return np.asarray(np.linalg.lstsq(self.free, self.constant, rcond=None)[0], dtype=float)

    def motion(self, coefficients: Array, t: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations, each (k, n), for coefficients (m, n)."""
        basis = self.basis(t)
        q, qd, qdd = (B @ coefficients for B in basis)
        at_rest = np.abs(qd) <= ROUNDING * (np.abs(basis[1]) @ np.abs(coefficients))
        return q, np.where(at_rest, 0, qd), qdd


@dataclass(frozen=True)
class Fourier(Path):
    """A finite Fourier series whose period is the duration.

    q(t) = c + Σ (aₖ sin(k ω t) + bₖ cos(k ω t)), with ω = 2π / duration and k from 1 to `count`.
    The coefficients are in the order c, all aₖ, all bₖ.
    """

    @property
    def rates(self) -> Array:
        """The angular frequencies k ω."""
        return np.asarray(2 * np.pi / self.duration * np.arange(1.0, self.count + 1))

    @property
    def constant(self) -> Array:
        return np.array([1.0] + [0.0] * (2 * self.count))

    @property
    def scale(self) -> Array:
        return np.array([1.0, *(1 / self.rates), *(1 / self.rates)])

    def basis(self, t: Array) -> tuple[Array, Array, Array]:
        w = self.rates
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        one = np.ones((len(t), 1))
        return (
            np.hstack([one, s, c]),
            np.hstack([0 * one, w * c, -w * s]),
            np.hstack([0 * one, -(w**2) * s, -(w**2) * c]),
        )


@dataclass(frozen=True)
class Splines(Path):
    """A B-spline of degree 5 with equidistant knots; coefficients are its control points.

    The first three control points are equal, and the last three are equal, for rest at both ends.
    """

    @property
    def constant(self) -> Array:
        return np.ones(self.count + 4)

    @property
    def scale(self) -> Array:
        return self.constant

    def basis(self, t: Array) -> tuple[Array, Array, Array]:
        from scipy.interpolate import BSpline  # which takes as long to load as all of armlet

        inner = np.linspace(0, self.duration, self.count + 5 - DEGREE)
        knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, self.duration)])
        spline = BSpline(knots, np.eye(self.count + 4), DEGREE)
        values, first, second = (spline(t, nu=k) for k in range(3))
        return values, first, second


# ------------------------------------------------------------------ criteria


def condition(eigenvalues: Array, exponent: float) -> tuple[float, Array]:
    """Return the log of a smooth condition number, and its derivative with respect to eigenvalues.

    The condition number is that of the regressor W, for the `eigenvalues` of WᵀW. The largest one
    and the inverse of the smallest are replaced by p-norms with p = `exponent`. A larger p is more
    accurate, but less smooth where eigenvalues coincide.
    """
    x = eigenvalues
    above, below = (x / x[-1]) ** exponent, (x[0] / x) ** exponent
    value = np.log(x[-1] / x[0]) + np.log(above.sum() * below.sum()) / exponent
    return float(value) / 2, (above / above.sum() - below / below.sum()) / x / 2


def log_det(eigenvalues: Array, exponent: float) -> tuple[float, Array]:
    """Return -mean(log(`eigenvalues`)), and its derivative with respect to `eigenvalues`."""
    x = eigenvalues
    return -float(np.log(x).mean()), -1 / x / len(x)


Criterion = Callable[[Array, float], tuple[float, Array]]
CriterionName = Literal["condition", "log_det"]
CRITERIA: dict[CriterionName, Criterion] = {"condition": condition, "log_det": log_det}
"""The criteria to minimise: functions of the ascending eigenvalues of WᵀW."""


class Score(NamedTuple):
    """The condition number of a regressor W at k states, and log det(WᵀW / k)."""

    condition: float
    log_det: float

    @classmethod
    def of(cls, eigenvalues: Array) -> "Score":
        """Return the score for the ascending eigenvalues of WᵀW / k."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.sqrt(eigenvalues[-1] / eigenvalues[0])
            return cls(float(ratio), float(np.log(eigenvalues).sum()))


class Regressor:
    """The regressor W of a robot along a trajectory, with criteria and their derivatives."""

    def __init__(
        self,
        robot: Robot,
        parameters: MinimalParameters[Any] | None,
        rotors: bool,
        friction: bool,
        speed: Array,
    ) -> None:
        options: Mapping[str, Any] = {"rotors": rotors, "friction": friction}
        self.robot = robot
        self.notes: tuple[str, ...] = ()
        if parameters is None:
            parameters, self.notes = identifiable(robot, rotors, friction)
        if parameters is not minimal_parameters(robot, rotors, friction):
            options = {"parameters": parameters}
        self.parameters = parameters
        self.kernel = compile(robot, "regressor", **options)
        self.step = SMOOTH * speed
        back = dict(zip(parameters.standard, parameters.back, strict=True))
        none = np.zeros(len(parameters))
        rows = np.array([back.get(f"coulomb{i + 1}", none) for i in range(robot.nb)], dtype=float)
        signs = np.sign(robot._joint_velocities(np.ones(robot.nv)))
        self.coulomb = robot._coordinate_torques(signs[:, None] * rows)
        """The factors of the velocity's sign in each joint's row of the regressor, (n, p)."""

    def score(self, state: State) -> Score:
        """Return the score of the regressor at all states, computed from a triangular factor."""
        factor: Array = np.empty((0, len(self.parameters)))
        for k in range(0, len(state.q), ROWS):
            W = self.kernel(*(x[k : k + ROWS] for x in state)).reshape(-1, factor.shape[1])
            factor = np.asarray(np.linalg.qr(np.vstack([factor, W]), mode="r"))
        values = np.linalg.svd(factor, compute_uv=False)[::-1]
        return Score.of(values**2 / len(state.q))

    def smooth(self, state: State) -> Array:
        """Return the regressor (k, n, p) with Coulomb friction that changes sign smoothly."""
        jump = np.tanh(state.qd / self.step) - np.sign(state.qd)
        return np.asarray(self.kernel(*state) + jump[:, :, None] * self.coulomb)

    def objective(
        self, state: State, criterion: Criterion, exponent: float
    ) -> tuple[float, State, Score]:
        """Return a criterion of `smooth`, its derivative with respect to the state, and a score."""
        Y = self.smooth(state)
        W = Y.reshape(-1, Y.shape[-1])
        exact, V = np.linalg.eigh(W.T @ W / len(Y))
        eigenvalues = np.maximum(exact, LEAST * exact[-1])
        value, derivatives = criterion(eigenvalues, exponent)
        cotangents = (W @ (2 / len(Y) * (V * derivatives) @ V.T)).reshape(Y.shape)
        by = State(*self.kernel.vjp(*state, cotangents))
        signs = np.einsum("kip,ip->ki", cotangents, self.coulomb)
        by = by._replace(qd=by.qd + signs * (1 - np.tanh(state.qd / self.step) ** 2) / self.step)
        return value, by, Score.of(eigenvalues)


class Problem:
    """The search for coefficients x (p, n) of `path.free`, in units of half the joint ranges."""

    def __init__(
        self, path: Path, regressor: Regressor, limits: list[Limit], positions: Range
    ) -> None:
        self.path, self.regressor, self.limits = path, regressor, limits
        self.centre = (positions.lower + positions.upper) / 2
        self.half = (positions.upper - positions.lower) / 2
        self.shape = path.free.shape[1], len(self.half)
        times = np.linspace(0, path.duration, SAMPLES * len(path.free))
        self.basis = [B @ path.free for B in path.basis(times)]
        self.spare = {limit.name: 0.0 for limit in limits}
        """The least slack required, by limit name; between sampled times, limits may be broken."""
        self.score = Score(np.inf, -np.inf)
        """The score at the last evaluation of `objective`."""

    def state(self, x: Array) -> State:
        """Return the states for free coefficients x at the sampled times of the search."""
        q, qd, qdd = (B @ (x.reshape(self.shape) * self.half) for B in self.basis)
        return State(self.regressor.robot.integrate(self.centre, q), qd, qdd)

    def coefficients(self, x: Array) -> Array:
        """Return the path coefficients (m, n) for free coefficients x."""
        moved = self.path.free @ (x.reshape(self.shape) * self.half)
        return np.asarray(moved + np.outer(self.path.constant, self.centre))

    def objective(
        self, x: Array, criterion: Criterion, exponent: float, weight: float
    ) -> tuple[float, Array]:
        """Return a criterion plus weighted barriers, and the sum's derivative with respect to x."""
        state = self.state(x)
        value, by, self.score = self.regressor.objective(state, criterion, exponent)
        total = [*by]
        for limit in self.limits:
            height, more = limit.barrier(state, NEAR * weight, self.spare[limit.name])
            value += weight * height
            total = [a + weight * b for a, b in zip(total, more, strict=True)]
        by_x = sum(B.T @ a for B, a in zip(self.basis, total, strict=True)) * self.half
        return value, np.ravel(by_x)

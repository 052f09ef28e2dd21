"""`excite`: a motion from which parameters can be identified well, within all limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.blas import single_blas_thread
from armlet._support.progress import advancing
from armlet.api import Robot
from armlet.errors import DataError, quoted
from armlet.identification.excitation.excitation import Excitation, motion_along
from armlet.identification.excitation.limits import (
    Box,
    Sides,
    State,
    least_slack,
    limits_of,
    ranges_of,
    slack_of_rows,
)
from armlet.identification.excitation.objective import CRITERIA, CriterionName, Problem, Regressor
from armlet.identification.excitation.paths import Fourier, Path, Splines
from armlet.identification.excitation.postures import posture_within
from armlet.minimal import MinimalParameters

Array = NDArray[np.float64]
CHECKED = 1000.0
"""The rate in Hz at which limits are checked in the end."""
HALVINGS = 24
"""How often the share of a motion that keeps within the limits is halved in."""
SPARE = 1e-9
"""The slack that a checked motion has, so that no rounding breaks a limit."""


class Stage(NamedTuple):
    """A part of the search: how sharp the criterion is, and the weight of the barriers."""

    exponent: float
    weight: float
    iterations: int


EARLY = (Stage(1, 3e-2, 100), Stage(4, 1e-2, 200))
"""What every start goes through."""
LATE = (Stage(16, 3e-3, 300), Stage(32, 1e-3, 300))
"""What the best goes through."""
MORE = Stage(32, 1e-3, 50)
"""What it goes through once more, with more slack, if it breaks a limit between the times."""
ROUNDS = 8
"""How often it does before the motion is made smaller instead."""


@single_blas_thread
def excite(
    robot: Robot,
    duration: float = 20.0,
    *,
    harmonics: int | None = None,
    splines: int | None = None,
    criterion: CriterionName = "condition",
    rate: float = 1000.0,
    position: Sides = (None, None),
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    tool_box: Box | None = None,
    margin: float = 0.05,
    parameters: MinimalParameters[Any] | None = None,
    rotors: bool = False,
    friction: bool = True,
    starts: int = 4,
    seed: int = 0,
) -> Excitation:
    """A motion that excites a robot: its parameters can be identified well from torques along it.

    The coefficients of the path are chosen by L-BFGS, from random starts, with exact derivatives of
    the regressor and of all limits; logarithmic barriers keep the motion within the limits. It is
    then checked at 1 kHz, and where it breaks a limit between the times looked at, the search goes
    on with more slack. The arm is at rest at both ends.

    Parameters
    ----------
    robot : Robot
    duration : float
        How long, in s.
    harmonics : int, optional
        The path is a Fourier series with so many harmonics, 5 by default; the period is the
        duration.
    splines : int, optional
        Instead, the path is a B-spline of degree 5 with so many points that can be chosen.
    criterion : {"condition", "log_det"}
        What is made best for the regressor W over all times: a small condition number, columns as
        they are, or a large det(WᵀW).
    rate : float
        Rows per second of the result.
    position : pair of array_like, optional
        Lower and upper limits, each a number or one for each joint; None for the robot's own.
    speed, acceleration, torque : array_like, optional
        Limits in both directions, a number or one for each joint. Without, speed and torque are
        limited as the robot says, and accelerations are not.
    tool_box : pair of sequences, optional
        (xmin, ymin, zmin) and (xmax, ymax, zmax) that the tool stays between, in the base's axes;
        infinite where there is no limit.
    margin : float
        The share of the robot's own limits that is not used; given limits are taken as they are.
    parameters : MinimalParameters, optional
        What is to be identified; by default the minimal parameters with these:
    rotors, friction : bool
        Whether rotor inertias and friction are to be identified, too.
    starts : int
        How many random motions to start from; the best is followed to the end.
    seed : int
        Of the random numbers. The same seed gives the same bits on the same machine.

    Returns
    -------
    Excitation
        With t, q, qd, qdd, tau, the condition number, the margins and the coefficients. Ctrl-C ends
        the search: the best motion so far is returned, within all limits, and `ended` says so.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> plan = armlet.excite(robot, 5.0, position=(-2, 2), speed=3, torque=50, rate=100)
    >>> len(plan.parameters), plan.q.shape
    (12, (501, 2))
    >>> bool(plan.condition < 30 and min(plan.margins["torque"]) >= 0)
    True
    """
    _check(criterion, duration, rate, starts)
    path = _path(duration, harmonics, splines)
    ranges, notes = ranges_of(robot, margin, position, speed, acceleration, torque, tool_box)
    limits = limits_of(robot, ranges)
    regressor = Regressor(robot, parameters, rotors, friction, ranges["speed"].upper)
    notes += regressor.notes
    problem = Problem(path, regressor, limits, ranges["position"])
    best, ended = _searched(problem, criterion, starts, np.random.default_rng(seed))
    times = _times(duration, rate)
    checked = np.union1d(times, _times(duration, CHECKED))
    ended = ended or _keep_within(problem, best, checked)
    coefficients = problem.coefficients(best.between(_share_within(problem, best, checked)))
    motion = motion_along(robot, path, coefficients, times, tuple(notes))
    score = regressor.score(State(motion.q, motion.qd, motion.qdd))
    return Excitation(
        robot, motion, path, coefficients, score.condition, score.log_det, criterion,
        np.array(best.history), ranges, regressor.parameters, ended, tuple(notes),
    )  # fmt: skip


def _check(criterion: str, duration: float, rate: float, starts: int) -> None:
    if criterion not in CRITERIA:
        raise DataError(f"criterion is {quoted(criterion)}: expected {' or '.join(CRITERIA)}")
    if not np.isfinite(duration) or duration <= 0:
        raise DataError(f"duration is {quoted(duration)}: expected a time in s, more than 0")
    if not np.isfinite(rate) or rate * duration < 1:
        raise DataError(f"rate is {quoted(rate)}: expected rows per second, two in all or more")
    _check_whole("starts", starts, 1)


def _check_whole(name: str, value: int, least: int, why: str = "") -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise DataError(f"{name} is {quoted(value)}: expected a whole number, {least} or more{why}")


def _path(duration: float, harmonics: int | None, splines: int | None) -> Path:
    if harmonics is not None and splines is not None:
        raise DataError("harmonics and splines are given: expected one of them")
    if splines is not None:
        _check_whole("splines", splines, 3)
        return Splines(duration, splines)
    harmonics = 5 if harmonics is None else harmonics
    _check_whole("harmonics", harmonics, 2, ", as one alone is nowhere at rest")
    return Fourier(duration, harmonics)


def _times(duration: float, rate: float) -> Array:
    """Times from 0 to the duration, at a rate in Hz or nearly so, that both ends are among."""
    return np.linspace(0, duration, max(1, round(duration * rate)) + 1)


# -------------------------------------------------------------------- the search


class Candidate:
    """A motion that is made better, from a random start about a posture within the limits."""

    def __init__(
        self, problem: Problem, criterion: CriterionName, rng: np.random.Generator
    ) -> None:
        self.problem, self.criterion = problem, criterion
        posture = posture_within(problem.limits, problem.centre, problem.half, rng)
        self.still = np.outer(problem.path.still, (posture - problem.centre) / problem.half)
        self.x = self.still + 3 * rng.normal(size=problem.shape)
        self.history: list[float] = []

        def slack(x: float) -> float:
            return least_slack(problem.limits, problem.state(self.between(x)))

        spare = 0.1 * slack(0.0)
        self.x = self.between(_largest(lambda x: slack(x) >= spare))

    def improve(self, stage: Stage, step: Callable[[], None]) -> None:
        """Go through a stage of the search; `step` is called at every iteration."""
        from scipy.optimize import minimize  # which takes as long to load as all of armlet

        def note(xk: Array) -> None:
            self.x = xk.reshape(self.problem.shape).copy()
            self.history.append(getattr(self.problem.score, self.criterion))
            step()

        minimize(
            self.problem.objective, self.x.ravel(), (CRITERIA[self.criterion], *stage[:2]),
            method="L-BFGS-B", jac=True, callback=note,
            options={"maxiter": stage.iterations, "maxfun": 3 * stage.iterations, "maxcor": 30,
                     "ftol": 1e-7, "gtol": 0},
        )  # fmt: skip

    def between(self, share: float) -> Array:
        """The motion, made smaller about its posture."""
        return self.still + share * (self.x - self.still)

    @property
    def cost(self) -> float:
        """How good it is, by the next stage of the search."""
        return self.problem.objective(self.x, CRITERIA[self.criterion], *LATE[0][:2])[0]


def _searched(
    problem: Problem, criterion: CriterionName, starts: int, rng: np.random.Generator
) -> tuple[Candidate, str]:
    """The best motion found, and why the search ended before its time."""
    total = starts * sum(x.iterations for x in EARLY) + sum(x.iterations for x in LATE)
    tried: list[Candidate] = []
    done = 0

    with advancing("exciting motion") as advance:

        def step() -> None:
            nonlocal done
            done += 1
            advance(done / total)

        try:
            for k in range(starts):
                tried.append(Candidate(problem, criterion, rng))
                for stage in EARLY:
                    tried[-1].improve(stage, step)
                done = (k + 1) * sum(x.iterations for x in EARLY)
            best = min(tried, key=lambda x: x.cost)
            for stage in LATE:
                best.improve(stage, step)
            return best, ""
        except KeyboardInterrupt:
            if not tried:
                raise
            return min(tried, key=lambda x: x.cost), f"interrupted at {done / total:.0%}"


def _state(problem: Problem, x: Array, times: Array) -> State:
    return State(*problem.path.motion(problem.coefficients(x), times))


def _keep_within(problem: Problem, best: Candidate, times: Array) -> str:
    """Search on with more slack while a motion breaks limits; why that ended before its time."""
    try:
        for _ in range(ROUNDS):
            found = _state(problem, best.x, times)
            missing = {x.name: SPARE - x.least_slack(found) for x in problem.limits}
            if max(missing.values()) <= 0:
                break
            for name, x in missing.items():
                problem.spare[name] += 1.2 * max(0.0, x)
            best.improve(MORE, lambda: None)
    except KeyboardInterrupt:
        return "interrupted at 100%"
    return ""


def _share_within(problem: Problem, best: Candidate, times: Array) -> float:
    """The share of a motion, about its posture, that keeps within the limits at all times.

    A share is looked for at those times alone at which limits were broken, until no others are.
    """
    still, moved = (_state(problem, x, times) for x in (best.still, best.x))

    def between(share: float, rows: Any = slice(None)) -> State:
        pairs = zip(still, moved, strict=True)
        return State(*(a[rows] + share * (b[rows] - a[rows]) for a, b in pairs))

    def holds(share: float, rows: Any) -> bool:
        return least_slack(problem.limits, between(share, rows)) >= SPARE

    share, rows = 1.0, np.zeros(len(times), dtype=bool)
    while share > 0:
        broken = slack_of_rows(problem.limits, between(share)) < SPARE
        if not (broken & ~rows).any():  # rounding may differ with the number of rows
            break
        rows |= broken
        share = _largest(partial(holds, rows=rows))
    return share


def _largest(holds: Callable[[float], bool]) -> float:
    """The largest share from 0 to 1, by halving, at which something holds that holds at 0."""
    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

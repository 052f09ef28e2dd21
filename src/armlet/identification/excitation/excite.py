"""`excite`: optimise a trajectory for parameter identification, within all limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet._support.blas import single_blas_thread
from armlet._support.lazy import cached_property
from armlet._support.progress import advancing
from armlet.api import Robot
from armlet.errors import DataError
from armlet.identification.excitation.limits import (
    MotionLimits,
    Range,
    State,
    least_slack,
    limits_of,
    posture_within,
    units,
)
from armlet.identification.excitation.problem import (
    CRITERIA,
    CriterionName,
    Fourier,
    Path,
    Problem,
    Regressor,
    Splines,
)
from armlet.minimal import MinimalParameters
from armlet.plotting import COLOURS, Figure, Theme, graph_objects, panels, plain, with_theme
from armlet.simulation import Trajectory
from armlet.simulation.trajectory import Occurrence  # noqa: F401  in the type hints of its fields

Array = NDArray[np.float64]
CHECKED = 1000.0
"""The rate in Hz at which the limits of the final trajectory are checked."""
HALVINGS = 24
"""The number of bisections in the search for the largest scale within the limits."""
SPARE = 1e-9
"""The slack that a trajectory needs to pass checks, so that rounding breaks no limit."""
POINTS = 501
"""The number of points of a plotted curve."""
COLUMNS = {"position": "q", "speed": "qd", "acceleration": "qdd", "torque": "tau"}
"""The names of joint limits, mapped to the trajectory arrays that they limit."""
LINE, EDGE = COLOURS[0], COLOURS[3]
"""The colours of trajectories and limits."""


class Stage(NamedTuple):
    """A stage of the search: criterion exponent, barrier weight and largest iteration count."""

    exponent: float
    weight: float
    iterations: int


EARLY = (Stage(1, 3e-2, 100), Stage(4, 1e-2, 200))
"""The stages for every random start."""
LATE = (Stage(16, 3e-3, 300), Stage(32, 1e-3, 300))
"""The further stages for the best start."""
MORE = Stage(32, 1e-3, 50)
"""A last stage, with more slack, for a trajectory that breaks a limit between sampled times."""
ROUNDS = 8
"""The largest number of runs of `MORE`; if a limit is still broken, the motion is scaled down."""


@single_blas_thread
def excite(
    robot: Robot,
    duration: float = 20.0,
    *,
    harmonics: int | None = None,
    splines: int | None = None,
    criterion: CriterionName = "condition",
    rate: float = 1000.0,
    limits: MotionLimits | None = None,
    parameters: MinimalParameters[Any] | None = None,
    rotors: bool = False,
    friction: bool = True,
    starts: int = 4,
    seed: int = 0,
) -> Excitation:
    """Find a trajectory whose torques determine the parameters of a robot well.

    L-BFGS optimises the coefficients of the path, from random starts and with exact derivatives;
    logarithmic barriers enforce the limits. The result is checked at 1 kHz; if it breaks a limit,
    the search continues at a larger distance from this limit. The arm is at rest at both ends.

    Parameters
    ----------
    robot : Robot
    duration : float
        The duration of the trajectory, in s.
    harmonics : int, optional
        The number of harmonics of a Fourier series whose period is the duration; by default 5.
    splines : int, optional
        Instead of `harmonics`, the number of free control points of a B-spline of degree 5.
    criterion : {"condition", "log_det"}
        "condition" to minimise the condition number of the regressor W of all times, whose columns
        are not scaled; "log_det" to maximise det(WᵀW).
    rate : float
        Rows per second of the result.
    limits : MotionLimits, optional
        Limits of positions, speeds, accelerations, torques and the tool; by default the robot's
        limits, less a margin.
    parameters : MinimalParameters, optional
        The parameters to identify; by default minimal parameters for `rotors` and `friction`.
    rotors, friction : bool
        Whether the parameters include rotor inertias and friction.
    starts : int
        The number of random starts; only the best of them is optimised to the end.
    seed : int
        The seed of the random numbers; results are reproducible to the bit on the same machine.

    Returns
    -------
    Excitation
        The trajectory, with condition number, margins and coefficients. After Ctrl-C, it is the
        best trajectory so far, within all limits, and `ended` reports the interruption.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> limits = armlet.MotionLimits(position=(-2, 2), speed=3, torque=50)
    >>> plan = armlet.excite(robot, 5.0, limits=limits, rate=100)
    >>> len(plan.parameters), plan.q.shape
    (12, (501, 2))
    >>> bool(plan.condition < 30 and min(plan.margins["torque"]) >= 0)
    True
    """
    validation.one_of(criterion, "criterion", CRITERIA)
    validation.number(duration, "duration", "a time in s", above=0)
    validation.number(rate, "rate", "rows per second", low=1 / duration)
    validation.integer(starts, "starts", low=1)
    path: Path
    if harmonics is not None and splines is not None:
        raise DataError("harmonics and splines are given: expected one of them")
    if splines is not None:
        path = Splines(duration, validation.integer(splines, "splines", low=3))
    else:  # one harmonic alone is nowhere at rest
        count = 5 if harmonics is None else harmonics
        path = Fourier(duration, validation.integer(count, "harmonics", low=2))
    limits = MotionLimits() if limits is None else limits
    validation.instance(limits, "limits", MotionLimits, "an armlet.MotionLimits")
    ranges, notes = limits.of_robot(robot)
    regressor = Regressor(robot, parameters, rotors, friction, ranges["speed"].upper)
    notes += regressor.notes
    problem = Problem(path, regressor, limits_of(robot, ranges), ranges["position"])
    best, ended = _search(problem, criterion, starts, np.random.default_rng(seed))
    times = _times(duration, rate)
    checked = np.union1d(times, _times(duration, CHECKED))
    ended = ended or _keep_within(problem, best, checked)
    coefficients = problem.coefficients(best.between(_share_within(problem, best, checked)))
    motion = motion_along(robot, path, coefficients, times, tuple(notes))
    score = regressor.score(State(motion.q, motion.qd, motion.qdd))
    return Excitation(
        **{**vars(motion), "ended": ended},
        robot=robot,
        path=path,
        coefficients=coefficients,
        condition=score.condition,
        log_det=score.log_det,
        criterion=criterion,
        history=np.array(best.history),
        limits=ranges,
        parameters=regressor.parameters,
    )


def _times(duration: float, rate: float) -> Array:
    return np.linspace(0, duration, max(1, round(duration * rate)) + 1)


# ------------------------------------------------------------------ the search


class Candidate:
    """A trajectory under optimisation, from a random start about a posture within the limits."""

    def __init__(
        self, problem: Problem, criterion: CriterionName, rng: np.random.Generator
    ) -> None:
        self.problem, self.criterion = problem, criterion
        robot, centre, half = problem.regressor.robot, problem.centre, problem.half
        posture = posture_within(problem.limits, centre, half, robot.joint_names, rng)
        self.still = np.outer(problem.path.still, robot.difference(centre, posture) / half)
        self.x = self.still + 3 * rng.normal(size=problem.shape)
        self.history: list[float] = []

        def slack(x: float) -> float:
            return float(least_slack(problem.limits, problem.state(self.between(x))).min())

        spare = 0.1 * slack(0.0)
        self.x = self.between(_largest(lambda x: slack(x) >= spare))

    def improve(self, stage: Stage, step: Callable[[], None]) -> None:
        """Minimise the objective of one stage, and call `step` at every iteration."""
        from scipy.optimize import minimize  # which takes as long to load as all of armlet

        def note(xk: Array) -> None:
            self.x = xk.reshape(self.problem.shape).copy()
            self.history.append(getattr(self.problem.score, self.criterion))
            step()

        arguments = (CRITERIA[self.criterion], stage.exponent, stage.weight)
        iterations = {"maxiter": stage.iterations, "maxfun": 3 * stage.iterations}
        options = {**iterations, "maxcor": 30, "ftol": 1e-7, "gtol": 0}
        how = {"method": "L-BFGS-B", "jac": True, "callback": note, "options": options}
        minimize(self.problem.objective, self.x.ravel(), arguments, **how)

    def between(self, share: float) -> Array:
        """Return free coefficients with the deviation from the posture scaled by `share`."""
        return self.still + share * (self.x - self.still)

    @property
    def cost(self) -> float:
        """The objective with the settings of the first late stage; lower is better."""
        return self.problem.objective(self.x, CRITERIA[self.criterion], *LATE[0][:2])[0]


def _search(
    problem: Problem, criterion: CriterionName, starts: int, rng: np.random.Generator
) -> tuple[Candidate, str]:
    """Return the best candidate of all starts, and the reason for an interruption or ""."""
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
    """Optimise with more slack while a limit is broken; return why it was interrupted or ""."""
    try:
        for _ in range(ROUNDS):
            state = _state(problem, best.x, times)
            missing = {x.name: SPARE - x.slack(state).min() for x in problem.limits}
            if max(missing.values()) <= 0:
                break
            for name, x in missing.items():
                problem.spare[name] += 1.2 * max(0.0, x)
            best.improve(MORE, lambda: None)
    except KeyboardInterrupt:
        return "interrupted at 100%"
    return ""


def _share_within(problem: Problem, best: Candidate, times: Array) -> float:
    """Return the largest share of the deviation from the posture that breaks no limit, up to 1.

    Bisection checks only the times at which a limit was broken. If the result breaks a limit at
    other times, these times are added and bisection is repeated.
    """
    still, moved = (_state(problem, x, times) for x in (best.still, best.x))

    def broken(share: float, rows: Any = slice(None)) -> NDArray[np.bool_]:
        pairs = zip(still, moved, strict=True)
        state = State(*(a[rows] + share * (b[rows] - a[rows]) for a, b in pairs))
        return least_slack(problem.limits, state) < SPARE

    def holds(share: float) -> bool:
        return not broken(share, rows).any()

    share, rows = 1.0, np.zeros(len(times), dtype=bool)
    while share > 0:
        fresh = broken(share) & ~rows  # rounding may differ with the number of rows
        if not fresh.any():
            break
        rows |= fresh
        share = _largest(holds)
    return share


def _largest(holds: Callable[[float], bool]) -> float:
    """Return the largest share from 0 to 1 for which `holds` is true; it must be true for 0."""
    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# ------------------------------------------------------------------ the result


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Excitation(Trajectory):
    """The result of `excite`: a trajectory that determines the parameters of a robot well.

    Torques include `passive_torque`, such as friction; they are nan for a robot without masses.
    `ended` is empty, or the reason for an interruption of the search; `notes` lists assumptions.

    Attributes
    ----------
    robot : Robot
    path : Path
        The Fourier series or the spline.
    coefficients : array of shape (m, n)
        The coefficients of each joint: constant, sines and cosines, or control points.
    condition, log_det : float
        The condition number of the regressor W of all k times, whose columns are not scaled, and
        log det(WᵀW / k).
    criterion : str
        The criterion that was optimised.
    history : array
        The criterion at every iteration, computed at sampled times and with smooth friction.
    limits : mapping of str to Range
        Lower and upper limits of the trajectory by name, with margins already subtracted.
    parameters : MinimalParameters
        The parameters to identify, one per column of W.
    """

    robot: Robot
    path: Path
    coefficients: Array
    condition: float
    log_det: float
    criterion: str
    history: Array
    limits: Mapping[str, Range]
    parameters: MinimalParameters[Any]

    @cached_property
    def margins(self) -> dict[str, Array]:
        """The smallest distances to limits, by limit name: per joint, or per tool coordinate."""
        values = {name: getattr(self, array) for name, array in COLUMNS.items()}
        values["tool"] = tool_positions(self.robot, self.q)
        return {name: limits.margins(values[name]) for name, limits in self.limits.items()}

    def at(self, times: ArrayLike) -> Trajectory:
        """Return the trajectory at `times`, which must be between 0 and the duration."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        if not np.all((t >= 0) & (t <= self.path.duration)):
            raise DataError(
                f"times reach beyond the motion, which has 0 to {self.path.duration:g} s"
            )
        return motion_along(self.robot, self.path, self.coefficients, t, self.notes)

    def plot(self, theme: Theme = "light") -> Figure:
        """Return a Plotly figure of joint trajectories, torques and tool position, with limits."""
        graphs = graph_objects()
        run = self.at(np.linspace(0, self.path.duration, POINTS))
        shown = {x: y for x, y in COLUMNS.items() if not np.isnan(getattr(run, y)).any()}
        rows, columns = len(run.joints) + ("tool" in self.limits), len(shown)
        letters = {joint.letter for joint in self.robot.coordinates}
        figure = panels(
            rows,
            columns,
            height=150 * rows + 150,
            title=f"{plain(self.robot.name)}: {self._summary()}; dashed: limits",
            shared_xaxes=True,
            horizontal_spacing=0.07,
            vertical_spacing=0.25 / rows,
            column_titles=[f"{name} ({units(name, letters)})" for name in shown],
        )
        figure.update_annotations(yshift=24)
        figure.update_layout(margin_t=110)

        def name(text: str, row: int, column: int = 1) -> None:
            place = {"x": 0, "y": 1, "xref": "x domain", "yref": "y domain"}
            place |= {"xanchor": "left", "yanchor": "bottom", "row": row, "col": column}
            figure.add_annotation(text=f"<b>{plain(text)}</b>", showarrow=False, **place)

        def draw(values: Array, what: str, entry: int, row: int, column: int) -> None:
            curve = graphs.Scatter(x=run.t, y=values, line_color=LINE, showlegend=False)
            figure.add_trace(curve, row, column)
            edges = [x[entry] for x in self.limits.get(what, ()) if np.isfinite(x[entry])]
            for y in edges:
                dashed = {"color": EDGE, "dash": "dash", "width": 1}
                figure.add_hline(y=y, line=dashed, row=row, col=column)
            low, high = min([*edges, values.min()]), max([*edges, values.max()])
            room = 0.08 * (high - low) or 1.0
            figure.update_yaxes(range=[low - room, high + room], row=row, col=column)

        for i, joint in enumerate(run.joints):
            name(joint, i + 1)
            for k, (what, array) in enumerate(shown.items()):
                draw(getattr(run, array)[:, i], what, i, i + 1, k + 1)
        if "tool" in self.limits:
            for k, values in enumerate(tool_positions(self.robot, run.q).T):
                draw(values, "tool", k, rows, k + 1)
                name(f"tool, {'xyz'[k]} (m)", rows, k + 1)
        for column in range(1, columns + 1):
            last = rows if column <= 3 else len(run.joints)  # the tool has three panels
            figure.update_xaxes(title_text="time (s)", showticklabels=True, row=last, col=column)
        figure.update_yaxes(nticks=5)
        return with_theme(figure, theme)

    def _summary(self) -> str:
        ended = f", {self.ended}" if self.ended else ""
        count = len(self.parameters)
        return f"condition number {self.condition:.4g} for {count} parameters{ended}"

    def __repr__(self) -> str:
        size = f"{self.path.duration:g} s, {len(self.t)} rows"
        return f"<Excitation of {self.robot.name!r}: {size}, {self._summary()}>"


def tool_positions(robot: Robot, q: Array) -> Array:
    """Return the tool positions, (k, 3), at the joint positions q."""
    return np.asarray(robot.forward_kinematics(q)[:, :3, 3])


def motion_along(
    robot: Robot, path: Path, coefficients: Array, t: Array, notes: tuple[str, ...] = ()
) -> Trajectory:
    """Return the trajectory along a path; torques and energies are nan if no body has mass."""
    q, qd, qdd = path.motion(coefficients, t)
    tau, kinetic, potential = (np.full_like(x, np.nan) for x in (qd, t, t))
    if robot.phi.any():
        tau = robot.inverse_dynamics(q, qd, qdd) + robot.passive_torque(q, qd)
        kinetic, potential = robot.energy(q, qd)
    return Trajectory(t, q, qd, qdd, tau, kinetic, potential, robot.joint_names, notes=notes)

"""What `armlet demo` goes through: operations, times, a motion, and what its log tells."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.api import Robot, compile, function, load, minimal_parameters, trace
from armlet.cli.deviation import deviation, random_states
from armlet.cli.measure import random_states as states_of
from armlet.cli.rivals import pinocchio
from armlet.cli.terminal import progress
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError
from armlet.graph import Count, Program
from armlet.identification import Identified, Log, identify
from armlet.literature import totals
from armlet.runtime.timing import Timed, time_in_turns
from armlet.simulation import Friction, Trajectory, simulate

Array = NDArray[np.float64]
STATES = 20
"""At how many random states results are compared with the definition."""
COUNTED = (
    "inverse_dynamics", "inertia_matrix", "bias", "gravity_torque", "forward_dynamics",
    "friction_torque", "forward_kinematics", "jacobian", "energy",
)  # fmt: skip
"""Quantities whose cheapest programs are found within seconds."""
TIMED = ("inverse_dynamics", "inertia_matrix", "forward_dynamics")
ROWS, ROUNDS = 1000, 3
"""The number of states of a batch, and how often each is timed."""
JOINTS = 6
"""The published totals are those for arms with so many joints."""
OPENSYMORO = {"puma560": Count(345, 296)}
"""OpenSYMORO's inverse dynamics of arms of the catalogue, all parameters symbolic."""
DURATION, DT, WAVES, SEED = 10.0, 1e-3, 8, 8
"""Of the motion: how long it and its steps are in s, how many waves it has, and which."""
REACH = {"R": 1.2, "P": 0.3}
"""How far a joint moves to either side, in rad or m, if its limits allow that."""
SHARE = 0.8
"""How much of the limits is used."""
RATE = 30.0
"""How fast the controllers of the joints are, in rad/s."""
NOISE = 0.02
"""The noise of the logged torques, relative to their root mean squares."""
HELD = 0.3
"""The last share of the time, from which no parameters are found."""
MOST = 12
"""Arms with more joints are not identified: that takes longer than a tour."""


class Counted(NamedTuple):
    """The operations of a quantity as it is compiled, and its deviation from the definition."""

    operations: Count
    deviation: float | None


class Published(NamedTuple):
    """A total printed in the literature, and armlet's in the same scope."""

    quantity: str
    method: str
    work: str
    printed: Count
    counted: Count


@dataclass(frozen=True)
class Tour:
    """All that is shown."""

    arm: Robot
    counted: dict[str, Counted]
    published: list[Published]
    calls: dict[str, dict[str, float]]
    """By quantity and library, the seconds of one call for one state."""
    batches: dict[str, dict[str, float]]
    """The same for each state of a batch."""
    run: Trajectory
    symbolic: Count | None = None
    """The operations of the inverse dynamics with all parameters symbolic, as OpenSYMORO counts."""
    found: Identified | None = None
    errors: Array | None = None
    """How far each parameter is from the true one, in deviations."""
    left_out: list[str] = field(default_factory=list)
    """What was left out, and why."""

    @property
    def near(self) -> int:
        """How many parameters are within three deviations of the true ones."""
        return 0 if self.errors is None else int((np.abs(self.errors) < 3).sum())


def toured(arm: Robot) -> Tour:
    """All numbers of the tour."""
    names = [name for name in COUNTED if arm.tool or "frame" not in QUANTITIES[name].options]
    counted = {name: _counted(arm, name) for name in progress(names, "compiling")}
    left_out: list[str] = []
    calls, batches = _times(arm, left_out)
    run = moved(arm)
    found = errors = None
    if arm.n > MOST or run.ended:
        left_out.append(f"identification: {run.ended or f'more than {MOST} joints'}")
    else:
        try:
            found = identified(arm, run)
            errors = _errors(arm, found)
        except ArmletError as error:
            left_out.append(f"identification: {error}")
    published, symbolic = _published(), _symbolic(arm)
    return Tour(arm, counted, published, calls, batches, run, symbolic, found, errors, left_out)


# ------------------------------------------------------------------ operations and times


def _counted(arm: Robot, name: str) -> Counted:
    states = random_states(arm, name, STATES)
    found = getattr(arm, name)(*states)
    return Counted(trace(arm, name).count(), deviation(arm, name, states, found))


def _symbolic(arm: Robot) -> Count | None:
    if arm.name not in OPENSYMORO or arm != load(arm.name):
        return None
    options: Any = {"constants": {"inertia": "symbolic"}, "minimal": False}
    return trace(arm.without_drives(), "inverse_dynamics", **options).count()


def _published() -> list[Published]:
    chosen = [total for total in totals() if JOINTS in total.n]
    return [
        Published(x.quantity, x.method, x.work, x.printed(JOINTS), x.counted(JOINTS))
        for x in progress(chosen, "counting")
    ]


def _times(
    arm: Robot, left_out: list[str]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """The times of calls and of batches, without drives as in Pinocchio."""
    rigid = arm.without_drives()
    try:
        rival = pinocchio(rigid)
    except (ArmletError, ImportError, RuntimeError, ValueError) as error:
        rival = None
        left_out.append(f"Pinocchio: {str(error).splitlines()[0]}")
    calls, batches = {}, {}
    for name in progress(TIMED, "timing"):
        kernel, states = compile(rigid, name), states_of(name, rigid.n, ROWS)
        by_state, by_column = (_in_python(kernel.program, x) for x in (np.array, list))
        one = tuple(np.ascontiguousarray(x[0]) for x in states)
        rows, columns = tuple(states), tuple(np.ascontiguousarray(x.T) for x in states)
        kernel(*one)
        single = {"armlet": Timed(kernel, one), "NumPy": Timed(by_state, one)}
        whole = {"armlet": Timed(kernel, rows, ROWS), "NumPy": Timed(by_column, columns, ROWS)}
        if rival is not None:
            call = rival.calls[name]
            single["Pinocchio"] = Timed(call.func, (*call.args, *one))
            if name in rival.batches:
                batch = partial(rival.batches[name], threads=1)
                whole["Pinocchio"] = Timed(batch, (*rows, np.empty_like(rows[0])), ROWS)
        calls[name] = _medians(single)
        batches[name] = _medians(whole)
    return calls, batches


def _in_python(program: Program, collect: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a program is printed as: the same operations by Python and NumPy.

    `collect` makes the result of a list of entries.
    """
    namespace: dict[str, Any] = {}
    exec(program.source("python"), namespace)
    namespace["array"] = collect
    function: Callable[..., Any] = namespace[program.name]
    return function


def _medians(calls: dict[str, Timed]) -> dict[str, float]:
    return {name: x.median for name, x in time_in_turns(calls, ROUNDS).items()}


# ------------------------------------------------------------------ a motion and its log


def planned(arm: Robot) -> list[Array]:
    """Positions, velocities and accelerations of all joints: waves from rest, within limits."""
    k = np.arange(1, WAVES + 1)
    size = np.random.default_rng(SEED).normal(size=(WAVES, arm.n)) / k[:, None]
    w, t = 2 * np.pi / DURATION * k, np.arange(0, DURATION, DT)[:, None]
    q, qd, qdd = -np.cos(w * t) @ size, w * np.sin(w * t) @ size, w**2 * np.cos(w * t) @ size
    middle, reach = np.zeros(arm.n), np.empty(arm.n)
    for i, joint in enumerate(arm.coordinates):
        lower, upper, velocity, _ = joint.limits
        reach[i] = min(REACH.get(joint.letter, 0.3), SHARE * (upper - lower) / 2)
        if np.isfinite([lower, upper]).all():
            middle[i] = (lower + upper) / 2
        fastest = np.abs(qd[:, i]).max() / (np.ptp(q[:, i]) / 2)
        reach[i] = min(reach[i], SHARE * velocity / fastest)
    scale = reach / (np.ptp(q, axis=0) / 2)
    centre = (q.max(axis=0) + q.min(axis=0)) / 2
    return [middle + scale * (q - centre), scale * qd, scale * qdd]


def moved(arm: Robot) -> Trajectory:
    """The arm with friction along the plan, under planned torques and feedback at each joint."""
    q, qd, qdd = planned(arm)
    inertia = np.diagonal(arm.inertia_matrix(q[::100]), axis1=1, axis2=2).min(axis=0)
    stiffness, damping = RATE**2 * inertia, 2 * RATE * inertia

    @function(arm, target=arm.n, velocity=arm.n, feedforward=arm.n)
    def follow(q: Array, qd: Array, target: Array, velocity: Array, feedforward: Array) -> Array:
        tau: Array = feedforward + stiffness * (target - q) + damping * (velocity - qd)
        return tau

    feedforward = arm.inverse_dynamics(q, qd, qdd) + arm.passive_torque(q, qd)
    plan = {"target": q, "velocity": qd, "feedforward": feedforward}
    return simulate(
        arm, q[0], torque=follow, arguments=plan, duration=DURATION, dt=DT,
        method="semi_implicit_euler",
    )  # fmt: skip


def identified(arm: Robot, run: Trajectory) -> Identified:
    """The parameters of the arm from a noisy log of the motion, the last part of it held out."""
    size = np.sqrt((run.tau**2).mean(axis=0))
    noise = NOISE * size * np.random.default_rng(SEED).normal(size=run.tau.shape)
    log = Log(run.t, run.q, run.tau + noise, joints=run.joints, name="the motion above")
    model = arm.without_drives()
    return identify(
        model, log, rotors=True, friction=Friction(), consistent=False, validation=HELD
    )  # fmt: skip


def _errors(arm: Robot, found: Identified) -> Array:
    """The differences of the parameters found from the true ones, in deviations."""
    true = minimal_parameters(arm, rotors=True, friction=True)
    known = dict(zip(true.names, np.asarray(true.values, dtype=float), strict=True))
    given = np.array([known.get(name, np.nan) for name in found.names])
    errors: Array = (found.values - given) / np.maximum(found.deviations, np.finfo(float).tiny)
    return errors

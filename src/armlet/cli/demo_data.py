"""The numbers of `armlet demo`: operations, times, a motion, and its identification."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.api import Robot, function, load, minimal_parameters, trace
from armlet.cli.output import progress
from armlet.cli.reference import by_definition, deviation, random_states
from armlet.cli.timing import Times, measure, pinocchio
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError
from armlet.graph import Count
from armlet.identification import Identified, Log, TorqueModel, identify
from armlet.literature import Total, totals
from armlet.simulation import Friction, Trajectory, simulate

Array = NDArray[np.float64]
STATES = 20
"""The number of random states at which results are compared with the definition."""
COUNTED = (
    "inverse_dynamics",
    "inertia_matrix",
    "bias",
    "gravity_torque",
    "forward_dynamics",
    "friction_torque",
    "forward_kinematics",
    "jacobian",
    "energy",
)
"""Quantities whose cheapest programs are found within seconds."""
TIMED, ROUNDS = ("inverse_dynamics", "inertia_matrix", "forward_dynamics"), 3
PUBLISHED_JOINTS = 6
"""The published totals are those for arms with so many joints."""
OPENSYMORO = {"puma560": Count(345, 296)}
"""OpenSYMORO's inverse dynamics of arms of the catalogue, all parameters symbolic."""
DURATION, DT, WAVES, SEED = 10.0, 1e-3, 8, 8
"""Of the motion: duration and step in s, number of waves, and the seed of their sizes."""
REACH = {"R": 1.2, "P": 0.3}
"""How far a joint moves to either side, in rad or m, if its limits allow that."""
SHARE = 0.8
"""The share of the limits that is used."""
RATE = 30.0
"""The bandwidth of the joint controllers, in rad/s."""
NOISE = 0.02
"""The noise of the logged torques, relative to their root mean squares."""
HELD_OUT = 0.3
"""The last share of the time, which validates the parameters identified from the rest."""
MOST_JOINTS = 12
"""Arms with more joints are not identified: that takes longer than a demonstration should."""


class Counted(NamedTuple):
    """The operations of a quantity as it is compiled, and its deviation from the definition."""

    operations: Count
    deviation: float | None


class Published(NamedTuple):
    """A total printed in the literature, and armlet's in the same scope."""

    total: Total
    printed: Count
    counted: Count


@dataclass(frozen=True)
class Demo:
    """The results that the terminal and the page show."""

    arm: Robot
    counted: dict[str, Counted]
    published: list[Published]
    times: dict[str, Times]
    run: Trajectory
    symoro: str
    """A sentence on the inverse dynamics beside OpenSYMORO's, empty for other arms."""
    identified: Identified | None
    errors: Array
    """The error of each identified parameter, divided by its standard deviation."""
    left_out: list[str]
    """What was left out, and why."""

    @property
    def below(self) -> int:
        """How many of the published totals are above armlet's."""
        return sum(x.counted.total < x.printed.total for x in self.published)

    @property
    def near(self) -> int:
        """How many parameters are within three deviations of the true ones."""
        return int((np.abs(self.errors) < 3).sum())


# ------------------------------------------------------------------ operations and times


def collect(arm: Robot) -> Demo:
    """Compute all results."""
    names = [name for name in COUNTED if arm.tool or "frame" not in QUANTITIES[name].options]
    counted = {}
    for name in progress(names, "compiling"):
        states = random_states(arm, name, STATES)
        off = deviation(by_definition(arm, name, states), getattr(arm, name)(*states))
        counted[name] = Counted(trace(arm, name).count(), off)
    rigid = arm.without_drives()  # as Pinocchio's
    peer, left_out = pinocchio(rigid)
    times = {
        name: measure(rigid, name, ROUNDS, peer, numpy=True) for name in progress(TIMED, "timing")
    }
    run = motion(arm)
    identified, errors = None, np.zeros(0)
    if arm.n > MOST_JOINTS or run.ended:
        left_out.append(f"identification: {run.ended or f'more than {MOST_JOINTS} joints'}")
    else:
        try:
            identified = identification(arm, run)
            errors = _errors(arm, identified)
        except ArmletError as error:
            left_out.append(f"identification: {error}")
    n = PUBLISHED_JOINTS
    chosen = [total for total in totals() if n in total.n]
    published = [
        Published(total, total.printed_count(n), total.count(n))
        for total in progress(chosen, "counting")
    ]
    return Demo(arm, counted, published, times, run, _symoro(arm), identified, errors, left_out)


def _symoro(arm: Robot) -> str:
    theirs = OPENSYMORO.get(arm.name)
    if theirs is None or arm != load(arm.name):
        return ""
    options: Any = {"constants": {"inertia": "symbolic"}, "minimal": False}
    mine = trace(arm.without_drives(), "inverse_dynamics", **options).count()
    return (
        " Inverse dynamics of this arm with all parameters symbolic, multiplications + "
        f"additions: armlet {mine.M} + {mine.A}, OpenSYMORO {theirs.M} + {theirs.A}."
    )


# ------------------------------------------------------------------ a motion and its log


def plan(arm: Robot) -> list[Array]:
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


def motion(arm: Robot) -> Trajectory:
    """Simulate the arm with friction along the plan, with feedback at each joint."""
    q, qd, qdd = plan(arm)
    inertia = np.diagonal(arm.inertia_matrix(q[::100]), axis1=1, axis2=2).min(axis=0)
    stiffness, damping = RATE**2 * inertia, 2 * RATE * inertia

    @function(arm, target=arm.n, velocity=arm.n, feedforward=arm.n)
    def follow(q: Array, qd: Array, target: Array, velocity: Array, feedforward: Array) -> Array:
        tau: Array = feedforward + stiffness * (target - q) + damping * (velocity - qd)
        return tau

    feedforward = arm.inverse_dynamics(q, qd, qdd) + arm.passive_torque(q, qd)
    return simulate(
        arm,
        q[0],
        torque=follow,
        arguments={"target": q, "velocity": qd, "feedforward": feedforward},
        duration=DURATION,
        dt=DT,
        method="semi_implicit_euler",
    )


def identification(arm: Robot, run: Trajectory) -> Identified:
    """Identify the arm from a noisy log of the motion; its end is held out."""
    size = np.sqrt((run.tau**2).mean(axis=0))
    noise = NOISE * size * np.random.default_rng(SEED).normal(size=run.tau.shape)
    log = Log(run.t, run.q, run.tau + noise, joints=run.joints, name="the motion above")
    model = TorqueModel(rotors=True, friction=Friction())
    rigid = arm.without_drives()
    return identify(rigid, log, model=model, physical=False, validation=HELD_OUT)


def _errors(arm: Robot, identified: Identified) -> Array:
    """The differences of the parameters from the true ones, in deviations."""
    parameters = minimal_parameters(arm, rotors=True, friction=True)
    by_name = dict(zip(parameters.names, parameters.values, strict=True))
    true = np.array([float(by_name.get(name, np.nan)) for name in identified.names])
    deviations = np.maximum(identified.deviations, np.finfo(float).tiny)
    return np.asarray((identified.values - true) / deviations)

"""`simulate`: one motion of an arm, by adaptive methods or by steps of fixed length."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.validation import one_of
from armlet.api.functions import Function
from armlet.api.robot import Robot
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError, DataError, DataWarning, quoted
from armlet.simulation.arguments import (
    STATE,
    Arguments,
    arguments_by_name,
    check_steps,
    numbers,
    positive,
)
from armlet.simulation.events import Called, Event, HeldArguments
from armlet.simulation.integrators import METHODS
from armlet.simulation.plan import Plan
from armlet.simulation.rollout import option
from armlet.simulation.run import ADAPTIVE, INTERRUPTED, Run, Torque
from armlet.simulation.stiffness import default_adaptive, rates_of, warn_if_unstable
from armlet.simulation.system import Friction, Stops
from armlet.simulation.trajectory import ARRAYS, Trajectory, decimate

Array = NDArray[np.float64]
ROWS = 1000
"""How many rows a trajectory has if no interval is given."""
UNEVEN = 1e-3
"""How far the duration may be from a whole number of dt, in dt: rounding."""
GROWTH = 0.1
"""By how much of the energy exchanged a free motion may gain before that is said."""


class MotionError(ArmletError):
    """A simulation that ended before its time; `trajectory` is what came before."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


AtLimits = Literal["ignore", "stop", "error"]
RECORDED = (*STATE, "qdd", "tau")
"""What a recorded function may be of, beside arguments."""
LIMITS: tuple[AtLimits, ...] = get_args(AtLimits)


def simulate(
    robot: Robot,
    q0: ArrayLike,
    qd0: ArrayLike | None = None,
    torque: ArrayLike | Function | Torque | None = None,
    *,
    duration: float,
    dt: float | None = None,
    method: str | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    friction: bool | Friction = True,
    limits: AtLimits = "ignore",
    arguments: Mapping[str, ArrayLike] | None = None,
    events: Sequence[Event | Function | Called] = (),
    record: Sequence[str | Function] = (),
    every: int = 1,
) -> Trajectory:
    """A motion of an arm.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : array_like of shape (n,)
        Where it starts; at rest by default.
    torque : optional
        None (free motion); an array of shape (n,), torques that do not change, or (steps, n), rows
        dt apart, each held until the next; an `armlet.function` of q, qd, t and further arguments,
        compiled into the simulation; or any Python function of t, q and qd, which is slower: with
        steps of fixed length it is called at the start of each, and its torques are held.
    duration : float
        How long, in s: a whole number of dt.
    dt : float, optional
        The time between rows; of a method of fixed steps also the length of a step. By default a
        thousandth of the duration.
    method : str, optional
        "dop853", "rk45", "radau" and "lsoda" (SciPy's) choose their steps for a given accuracy;
        those of `armlet.METHODS` have fixed steps. By default "lsoda" where friction, stops or the
        torque function are stiff at the start, and "dop853" otherwise. A method of fixed steps
        that are too long for them is warned of.
    rtol, atol : float
        The accuracy of adaptive methods, relative and absolute.
    friction : bool or Friction
        Whether drives have friction, and how it is made smooth. Springs and gravity compensation
        of the robot always act.
    limits : {"ignore", "stop", "error"}
        What happens at the limits of joints: nothing, damped stops, or a `MotionError` where a
        joint is beyond them after a dt.
    arguments : mapping of str to array_like, optional
        Further arguments of the torque function, of events and of what is recorded: one value, or
        one for every dt (steps, ...), each held until the next. Any name but t, q and qd will do.
    events : sequence of Event
        What to look for; a function alone is an event that ends the simulation. An event is seen
        if the sign of its function differs from one dt to the next.
    record : sequence of str or functions of your own
        What else to note at every row: names of quantities, such as "forward_kinematics", or
        functions of q, qd, qdd, tau, t and further arguments.
    every : int
        After how many dt a row is kept.

    Returns
    -------
    Trajectory
        With a row at time 0. If the motion diverges or a torque is not finite, it has what came
        before, `ended` says why, and so does a `DataWarning`; so too, without a warning, where
        Ctrl-C is pressed.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> run = armlet.simulate(robot, [0, 0], duration=1.0)
    >>> run
    <Trajectory of 2 joints, 1001 rows, 0 to 1 s>
    >>> float(np.ptp(run.energy)) < 1e-6
    True
    """
    duration = positive("duration", duration, "a time in s")
    dt = duration / ROWS if dt is None else positive("dt", dt, "a length of time in s")
    if limits not in LIMITS:
        raise DataError(f"limits is {quoted(limits)}: expected 'ignore', 'stop' or 'error'")
    if method is not None and method not in (*ADAPTIVE, *METHODS):
        raise DataError(
            f"method is {quoted(method)}: expected one of {', '.join((*ADAPTIVE, *METHODS))}"
        )
    steps = _steps(duration, dt)
    check_steps(dt, steps, every)
    rtol, atol = (positive(name, x, "a number") for name, x in (("rtol", rtol), ("atol", atol)))
    for name, items in (("events", events), ("record", record)):
        if isinstance(items, str) or not isinstance(items, Sequence):
            raise DataError(f"{name} is {quoted(items)}: expected a list")
    known = [x if isinstance(x, Event) else Event(x) for x in events]
    values = arguments_by_name(arguments)
    called: Torque | None = None
    if callable(torque) and not isinstance(torque, Function):
        called, torque = torque, np.zeros((steps, robot.nv))
        if method in METHODS and METHODS[method].memory:
            raise DataError(
                f"{method} remembers past steps, during which a Python function's torques are held "
                "and jump in between: expected another method, or an armlet.function"
            )
    given = Arguments(robot, None, steps, _own(values, torque, known, record), torque)
    q = _start("q0", q0, robot.nq)
    qd = _start("qd0", np.zeros(robot.nv) if qd0 is None else qd0, robot.nv)
    laws = option(friction, Friction), option(limits == "stop", Stops)
    plan = Plan(method or "", given.torque, None, *laws, given.inputs)
    rates = rates_of(plan, robot, q, qd, given.values)
    if method is None:
        method = default_adaptive(rates)
        plan = replace(plan, method=method)
    unstable = method in METHODS and warn_if_unstable(rates, method, dt, stacklevel=2)
    fine_rows = 1 if known or limits == "error" else every  # both are looked for in every dt
    run = Run(robot, plan, given.values, called, dt, steps, fine_rows)
    if method in METHODS and called is None:
        found = run.trajectory(*run.by_steps(q, qd))
    else:
        found = run.trajectory(*run.by_pieces(q, qd, rtol, atol))
    held, early = HeldArguments(values, dt, steps), found.ended
    fine = run.with_events(found, known, held)
    found = decimate(fine, every // run.every)
    if record:
        found = replace(found, recorded=_recorded(robot, found, record, held))
    _look_at_limits(robot, fine, found, limits)
    if early and found.ended == early and not early.startswith(INTERRUPTED):
        warnings.warn(
            f"{early}; the trajectory has {len(found):,} of {-(-steps // every) + 1:,} rows",
            DataWarning,
            stacklevel=2,
        )
    elif not unstable:
        _look_at_energy(robot, found, torque is None, plan.friction is not None)
    return found


def _steps(duration: float, dt: float) -> int:
    """How many dt a duration has."""
    count = duration / dt
    if not np.isfinite(count):
        raise DataError(f"dt is {dt:g} s and duration {duration:g} s: expected a longer dt")
    steps = max(round(count), 1)
    if abs(count - steps) > UNEVEN:
        raise DataError(
            f"duration is {duration:g} s, {count:.6g} times dt of {dt:g} s: expected a whole "
            f"number of dt, such as duration={steps * dt:g} or dt={duration / steps:.12g}"
        )
    return steps


def _own(
    arguments: Mapping[str, ArrayLike],
    torque: Any,
    events: Sequence[Event],
    record: Sequence[str | Function],
) -> dict[str, ArrayLike]:
    """The arguments of the torque function, and any that nothing has, which are then refused."""
    own = torque.inputs if isinstance(torque, Function) else {}
    watched = [(x.function, STATE) for x in events] + [(f, RECORDED) for f in record]
    others = {
        name
        for function, state in watched
        if isinstance(function, Function)
        for name in function.inputs
        if name not in state
    }
    return {name: x for name, x in arguments.items() if name in own or name not in others}


def _recorded(
    robot: Robot, run: Trajectory, record: Sequence[str | Function], held: HeldArguments
) -> dict[str, Array]:
    """What is recorded beside the motion, by name."""
    state = {name: getattr(run, name) for name in RECORDED}
    found: dict[str, Array] = {}
    for what in record:
        name = what.__name__ if isinstance(what, Function) else one_of(what, "quantity", QUANTITIES)
        if name in found or name in ARRAYS:
            raise DataError(f"{name!r} is recorded twice: expected functions with other names")
        if isinstance(what, Function):
            found[name] = np.asarray(what(*held.at(what, state)))
            continue
        quantity = QUANTITIES[name]
        if not set(quantity.arguments) <= set(state):
            needs = ", ".join(quantity.arguments)
            raise DataError(f"{name} cannot be recorded: it is a function of {needs}")
        found[name] = np.asarray(getattr(robot, name)(*(state[x] for x in quantity.arguments)))
    return found


def _start(name: str, x: ArrayLike, n: int) -> Array:
    array = numbers(name, x)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise DataError(f"{name} is {quoted(x)}: expected {n} finite numbers")
    return array


def _look_at_limits(robot: Robot, run: Trajectory, returned: Trajectory, limits: str) -> None:
    """Raise where a joint is beyond its limits and that is an error."""
    if limits != "error":
        return
    low = np.array([joint.limits.lower for joint in robot.coordinates])
    high = np.array([joint.limits.upper for joint in robot.coordinates])
    beyond = (run.q < low) | (run.q > high)
    if beyond.any():
        k, i = map(int, np.argwhere(beyond)[0])
        raise MotionError(
            f"joint {run.joints[i]!r} is at {run.q[k, i]:g} at {run.t[k]:g} s, beyond its limits "
            f"{low[i]:g} to {high[i]:g}",
            returned[: int(np.searchsorted(returned.t, run.t[k]))],
        )


def _stored(robot: Robot, run: Trajectory) -> Array:
    """The potential energy of springs, less that of the weights that are compensated."""
    stored = np.zeros(len(run))
    if robot.has_springs:
        stiffness, reference = np.array(robot.springs, dtype=float).T
        stored = (robot.joint_positions(run.q) - reference) ** 2 @ stiffness / 2
    if robot.has_compensation:
        stored = stored - robot._compensated_bodies().energy(run.q, run.qd)[1]
    return stored


def _look_at_energy(robot: Robot, run: Trajectory, free: bool, friction: bool) -> None:
    """Warn where steps are so long that a motion without torques gains energy."""
    driven = friction and any(drive.offset for drive in robot.drives)
    if not free or driven or len(run) < 2:
        return
    potential = run.potential + _stored(robot, run)
    gained = run.kinetic[-1] + potential[-1] - run.kinetic[0] - potential[0]
    if gained <= 0:
        return
    exchanged = np.ptp(potential)
    if gained > GROWTH * max(exchanged, 1e-12):
        warnings.warn(
            f"a motion without torques gains {gained:.3g} J while {exchanged:.3g} J are exchanged: "
            "the steps are too long, choose a smaller dt or another method",
            DataWarning,
            stacklevel=3,
        )

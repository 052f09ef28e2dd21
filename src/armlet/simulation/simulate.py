"""`simulate`: one trajectory of an arm, by adaptive or fixed-step integrators."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet._support.progress import advancing
from armlet.api.functions import Function
from armlet.api.robot import Robot
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError, DataError, DataWarning, quote
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.simulation.events import Event, HeldArguments, StateFunction, find_events, held_rows
from armlet.simulation.forces import Plant, call_arguments, rates_at, single_plant
from armlet.simulation.integrators import INTEGRATORS, warn_if_unstable
from armlet.simulation.step import (
    FASTEST,
    STATE,
    Steps,
    acceleration_kernel,
    argument_shapes,
    arguments_by_name,
    first_inputs,
    make_arm,
    positions,
    run,
)
from armlet.simulation.trajectory import ARRAYS, Trajectory, decimate

Array = NDArray[np.float64]
Torque = Callable[[float, Array, Array], ArrayLike]
State = tuple[Array, Array]
"""Positions and velocities."""
AtLimits = Literal["ignore", "error"]
ADAPTIVE = {"dop853": "DOP853", "rk45": "RK45", "radau": "Radau", "lsoda": "LSODA"}
"""The names of adaptive integrators, mapped to their classes in `scipy.integrate`."""
STIFF = 300.0
"""The `Rate` in 1/s above which the default adaptive integrator is "lsoda"."""
RECORDED = (*STATE, "qdd", "tau")
"""The state variables that recorded functions may take, besides further arguments."""
ROWS = 1000
"""The default number of time steps dt in a simulation."""
UNEVEN = 1e-3
"""Largest difference allowed between duration / dt and an integer."""
GROWTH = 0.1
"""Largest energy gain without a warning, relative to the range of the potential energy."""
STEPS = 20_000
"""An adaptive integrator stops if this many steps advance it by less than 1 % of dt."""
JUMPS = {"sign", "less", "less_equal", "equal", "where", "floor"}
"""Operations with discontinuous results."""
REVERSALS = 9
"""Gains count as too high for the step length if a held torque alternates, with growing changes, in
this many successive steps; random torques hardly do so."""
INTERRUPTED = "interrupted"
"""The first word of `Trajectory.ended` after Ctrl-C."""
SLOW = "the torque is a Python function, called at every step: an armlet.function is faster"


class PythonTorque(NamedTuple):
    """A Python torque function, and a record of its torques at all multiples of dt so far."""

    function: Torque
    rows: list[Array]

    def at(self, robot: RobotModel, t: float, q: Array, qd: Array) -> Array:
        """Call the function with copies of the state, and return its torques after checks."""
        returned = self.function(float(t), q.copy(), qd.copy())
        tau = validation.array(returned, "what the torque function returns", finite=False)
        if tau.shape != qd.shape:
            raise DataError(f"the torque function returns shape {tau.shape}: expected {qd.shape}")
        if not np.isfinite(tau).all():
            raise FloatingPointError(_bad_torque(robot, t, tau))
        return tau


@dataclass(frozen=True)
class Adaptive:
    """An adaptive integrator of SciPy, with tolerances that determine its step lengths.

    Parameters
    ----------
    method : {"dop853", "rk45", "radau", "lsoda"}, optional
        By default "lsoda" if friction, stops, springs or the torque function are stiff in the
        initial state, and "dop853" otherwise.
    rtol, atol : float
        The relative and absolute tolerance.
    """

    method: str | None = None
    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        if self.method is not None:
            validation.one_of(self.method, "method", ADAPTIVE)
        validation.number(self.rtol, "rtol", above=0)
        validation.number(self.atol, "atol", above=0)


class MotionError(ArmletError):
    """Raised if a joint leaves its limits (`limits="error"`); `trajectory` has the rows before."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


def simulate(
    robot: Robot | Plant,
    q0: ArrayLike,
    qd0: ArrayLike | None = None,
    torque: ArrayLike | Function | Torque | None = None,
    *,
    duration: float,
    dt: float | None = None,
    method: str | Adaptive | None = None,
    limits: AtLimits = "ignore",
    arguments: Mapping[str, ArrayLike] | None = None,
    events: Sequence[Event | Function | StateFunction] = (),
    record: Sequence[str | Function] = (),
    every: int = 1,
) -> Trajectory:
    """Simulate one trajectory of an arm, by an adaptive or a fixed-step integrator.

    Parameters
    ----------
    robot : Robot or Plant
        A `Robot` alone has the friction of its drives and no stops; a `Plant` sets both.
    q0, qd0 : array_like of shape (nq,) and (nv,)
        The initial positions and velocities; velocities are zero by default. The quaternions of
        ball joints must have the length 1, up to 1e-6.
    torque : optional
        Constant torques (nv,), by default zero; torques (steps, nv), a row held during each dt; an
        `armlet.function` of q, qd, t and further arguments, compiled into the simulation; or any
        Python function of t, q and qd (slower), whose torques are constant during each fixed step.
    duration : float
        The simulated time in s, a multiple of dt.
    dt : float, optional
        The length of fixed steps and the time between states, in s; by default duration / 1000.
    method : str or Adaptive, optional
        An adaptive integrator ("dop853", "rk45", "radau", "lsoda", or an `Adaptive` with
        tolerances), or one of `armlet.INTEGRATORS` with fixed steps; by default `Adaptive()`. Of
        these, "adams_bashforth4" and "variational_midpoint" are for revolute and prismatic joints.
        A `DataWarning` reports fixed steps that are too long for the forces on the arm.
    limits : {"ignore", "error"}
        With "error", raise `MotionError` if a joint is beyond its limits at any multiple of dt.
    arguments : mapping of str to array_like, optional
        Further arguments of all functions, by any name but t, q and qd: one value, or an array
        (steps, ...) with one value for each dt.
    events : sequence of Event
        Events to detect; a function f stands for `Event(f)`, which ends the simulation. An event is
        detected if its function has different signs at the start and the end of a dt.
    record : sequence of str or Function
        Further values to record at every row: names of quantities, such as "forward_kinematics",
        or user functions of q, qd, qdd, tau, t and further arguments. Several results are recorded
        one by one, as "energy.kinetic" and "energy.potential", or "name.0" if they have no names.
    every : int
        The number of steps of length dt per returned row; the last row is always returned.

    Returns
    -------
    Trajectory
        The first row is at time 0. If the trajectory ends early, `ended` has the reason: an event,
        Ctrl-C, divergence, torques that are not finite, or failure of the integrator. The last
        three also cause a `DataWarning`.

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
    duration = validation.number(duration, "duration", "a time in s", above=0)
    dt = duration / ROWS if dt is None else dt
    dt = validation.number(dt, "dt", "a length of time in s", above=0)
    validation.integer(every, "every", low=1)
    validation.one_of(limits, "limits", get_args(AtLimits))
    adaptive = method if isinstance(method, Adaptive) else Adaptive()
    method = method.method if isinstance(method, Adaptive) else method
    if method is not None:
        validation.one_of(method, "method", (*ADAPTIVE, *INTEGRATORS))
    count = _step_count(duration, dt)
    plant = single_plant(robot)
    robot = plant.robot
    for name, items in (("events", events), ("record", record)):
        if isinstance(items, str) or not isinstance(items, Sequence):
            raise DataError(f"{name} is {quote(items)}: expected a list")
    watched = [x if isinstance(x, Event) else Event(x) for x in events]
    values_of = arguments_by_name(arguments)
    python: PythonTorque | None = None
    applied: Any = torque
    if callable(torque) and not isinstance(torque, Function):
        if method in INTEGRATORS and INTEGRATORS[method].memory:
            raise DataError(
                f"{method} remembers past steps, during which a Python function's torques are held "
                "and jump in between: expected another method, or an armlet.function"
            )
        python, applied = PythonTorque(torque, []), np.zeros((count, robot.nv))
    observers = [(x.function, STATE) for x in watched] + [(x, RECORDED) for x in record]
    observed = {
        name
        for function, state in observers
        if isinstance(function, Function)
        for name in argument_shapes(function, state, values_of)
    }
    arm, values = make_arm(
        plant, None, count, torque=applied, arguments=values_of, other_arguments=observed
    )
    q = positions(robot, q0, "q0")
    qd = validation.array(np.zeros(robot.nv) if qd0 is None else qd0, "qd0", (robot.nv,))
    rates = rates_at(arm, q, qd, first_inputs(arm, values))
    if method is None:
        method = "lsoda" if any(rate.value > STIFF for rate in rates) else "dop853"
    warned = method in INTEGRATORS and warn_if_unstable(rates, method, dt, stacklevel=2)
    beyond = (q < robot.lower) | (q > robot.upper)
    if arm.stops is not None and beyond.any():
        i, warned = int(np.argmax(beyond)), True
        warnings.warn(
            f"joint {robot.position_names[i]!r} starts at {q[i]:g}, beyond its limits "
            f"{robot.lower[i]:g} to {robot.upper[i]:g}: its stop pushes it back",
            DataWarning,
            stacklevel=2,
        )
    fine_rows = 1 if watched or limits == "error" else every  # to check at every dt
    steps = Steps(arm, method, values, dt, count, fine_rows)
    held = HeldArguments(values_of, dt, count)
    if python is None and method in INTEGRATORS:
        *rows, ended = _fixed_steps(steps, q, qd)
    else:
        *rows, ended = _row_by_row(steps, python, (q, qd), adaptive)
    fine = _trajectory(robot, steps, python, rows, ended)
    early = fine.ended
    occurrences, is_end = find_events(watched, fine, held)
    if is_end:
        name, t, q, qd = occurrences[-1]
        k = int(np.searchsorted(fine.t, t))
        pairs = ((fine.t, t), (fine.q, q), (fine.qd, qd))
        rows = [np.concatenate([before[:k], [end]]) for before, end in pairs]
        fine = _trajectory(robot, steps, python, rows, f"{name!r} at {t:g} s")
    fine = replace(fine, events=tuple(occurrences))
    result = decimate(fine, every // fine_rows)
    if record:
        result = replace(result, recorded=_record(robot, result, record, held))
    if limits == "error":
        _check_limits(robot, fine, result)
    if early and result.ended == early and not early.startswith(INTERRUPTED):
        warnings.warn(
            f"{early}; the trajectory has {len(result):,} of {-(-count // every) + 1:,} rows",
            DataWarning,
            stacklevel=2,
        )
    elif torque is None and not warned:
        _check_energy(robot, result, arm.friction is not None)
    elif python is not None and method in INTEGRATORS:
        _check_held_torques(robot, np.array(python.rows), method, dt)
    return result


def _step_count(duration: float, dt: float) -> int:
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


def _record(
    robot: Robot, run: Trajectory, record: Sequence[str | Function], held: HeldArguments
) -> dict[str, Array]:
    """Evaluate the quantities and functions of `record` at all rows; return arrays by name."""
    state = {name: getattr(run, name) for name in RECORDED}
    recorded: dict[str, Array] = {}
    for what in record:
        results: Any
        if isinstance(what, Function):
            name, names = what.__name__, what.program.names
            results = what(*held.at(what, state))
        else:
            name = validation.one_of(what, "quantity", QUANTITIES)
            names = QUANTITIES[name].results
            results = getattr(robot, name)(*(state[x] for x in QUANTITIES[name].arguments))
        is_constant = isinstance(what, Function) and not what.inputs
        several = isinstance(results, tuple)
        labels = [f"{name}.{x}" for x in names or range(len(results))] if several else [name]
        for label, values in zip(labels, results if several else [results], strict=True):
            if label in recorded or label in ARRAYS:
                raise DataError(f"{label!r} is recorded twice: expected functions with other names")
            rows = np.asarray(values)
            recorded[label] = np.repeat(rows[None], len(run), axis=0) if is_constant else rows
    return recorded


# ------------------------------------------------------------------ rows of t, q and qd


def _fixed_steps(steps: Steps, q0: Array, qd0: Array) -> tuple[Array, Array, Array, str]:
    """Return rows of t, q and qd by fixed steps, and the reason for an early end, or ""."""
    begun = time.monotonic()
    result = run(steps, q0[None], qd0[None], keep=True)
    t = np.concatenate([[0.0], result.t])
    q = np.concatenate([q0[None], result.q[:, 0]])
    qd = np.concatenate([qd0[None], result.qd[:, 0]])
    good = np.isfinite(q).all(1) & (np.abs(qd) <= FASTEST).all(1)
    if not good.all():
        k = int(np.argmin(good))
        ended = _divergence(steps.arm.robot, t[k], q[k], qd[k])
        rows = max(k, 1)  # always keep the initial row
        hint = "a smaller dt or another method may help"
        return t[:rows], q[:rows], qd[:rows], f"{ended}; {hint}"
    is_whole = t[-1] > (steps.count - 0.5) * steps.dt
    return t, q, qd, "" if is_whole else _interrupted(t[-1], begun)


def _row_by_row(
    steps: Steps, python: PythonTorque | None, start: State, adaptive: Adaptive
) -> tuple[Array, Array, Array, str]:
    """Return rows as `_fixed_steps` does, for adaptive integrators or Python torque functions."""
    robot, states = steps.arm.robot, list[State]()
    begun, ended = time.monotonic(), ""
    if python is None or steps.method in ADAPTIVE:
        rows = _adaptive_rows(steps, python, start, adaptive)
    else:
        rows = _held_torque_rows(steps, python, start)
    try:
        with advancing(f"{steps.method} of {robot.name}") as advance:
            for q, qd in rows:
                now = len(states) * steps.dt
                if not (np.isfinite(q).all() and np.isfinite(qd).all()):
                    raise FloatingPointError(_divergence(robot, now, q, qd))
                if python is not None:
                    python.rows.append(python.at(robot, now, q, qd))
                states.append((q, qd))
                advance(len(states) / steps.count)
    except KeyboardInterrupt:
        if python is not None and not states:  # there are no torques yet
            raise
        states = states or [start]
        ended = _interrupted((len(states) - 1) * steps.dt, begun)
    except FloatingPointError as error:
        ended = str(error)
    is_row = np.arange(len(states)) % steps.every == 0
    is_row[steps.count :] = True
    t = np.flatnonzero(is_row) * np.float64(steps.dt)
    q, qd = (np.array(x)[is_row] for x in zip(*states, strict=True))
    return t, q, qd, ended


def _held_torque_rows(steps: Steps, python: PythonTorque, state: State) -> Iterator[State]:
    """Yield the initial state, then the state after each fixed step.

    After each yield, the caller appends the torques at that state to `python.rows`. The next step
    holds these torques constant.
    """
    yield state
    for _ in range(steps.count):
        one = replace(steps, values=[python.rows[-1][None]], count=1, every=1)
        result = run(one, state[0][None], state[1][None])
        state = result.q[0, 0], result.qd[0, 0]
        yield state


def _adaptive_rows(
    steps: Steps, python: PythonTorque | None, start: State, adaptive: Adaptive
) -> Iterator[State]:
    """Yield the states at multiples of dt, by an integrator of x = (q, q̇).

    The length of a quaternion in x drifts by the errors of the integrator, without effect on the
    motion: its rate is proportional to its length, and all else depends on the unit quaternion.
    """
    arm, dt, method = steps.arm, steps.dt, steps.method
    robot, n = arm.robot, arm.robot.nq
    acceleration = acceleration_kernel(arm)
    program = acceleration.program

    def unpack(x: Array) -> State:
        return robot._nearest(x[:n]), x[n:]

    def inputs_at(t: float, q: Array, qd: Array) -> list[Array]:
        if python is not None:
            return [python.at(robot, t, q, qd)]
        k = min(int(t / dt + 1e-9), steps.count - 1)
        pairs = zip(arm.inputs, steps.values, strict=True)
        return [value[k] if x.rate == "step" else value for x, value in pairs]

    def derivative(t: float, x: Array) -> Array:
        q, qd = unpack(x)
        qdd = acceleration(q, qd, np.array(t), *inputs_at(t, q, qd))
        return np.concatenate([robot._tangent(x[:n]) @ qd, qdd])

    def jacobian(t: float, x: Array) -> Array:
        q, qd = unpack(x)
        inputs = inputs_at(t, q, qd)
        A = np.zeros((len(x), len(x)))
        for k, unit in enumerate(np.eye(n)):  # the tangent is affine in q
            A[:n, k] = (robot._tangent(unit) - robot._tangent(0 * q)) @ qd
        A[:n, n:] = robot._tangent(q)
        A[n:] = np.hstack([kernel(q, qd, np.array(t), *inputs) for kernel in derivatives])
        if not np.isfinite(A).all():
            raise FloatingPointError(
                f"{method} stops at {t:g} s: the derivatives of the accelerations are not finite"
            )
        return A

    options: dict[str, Any] = {"rtol": adaptive.rtol, "atol": adaptive.atol}
    if method in ("radau", "lsoda") and python is None:
        derivatives = [Kernel(program.derivative(name)) for name in ("q", "qd")]
        options["jac"] = jacobian
    torque = arm.torque
    jumps = torque and ("t" in torque.inputs or JUMPS & {op for _, op, _ in program.nodes})
    if jumps or any(x.rate == "step" for x in arm.inputs):
        options["max_step"] = dt  # a longer step could miss a pulse
    yield start
    from scipy import integrate  # slow to import

    x0 = np.concatenate(start)
    if not np.isfinite(rates := derivative(0.0, x0)).all():  # shorter steps would not help
        raise FloatingPointError(_divergence(robot, 0.0, start[0], rates[n:]))
    solver = getattr(integrate, ADAPTIVE[method])(derivative, 0.0, x0, steps.count * dt, **options)
    k, tried, since = 1, 0, 0.0
    while k <= steps.count:
        message, tried = solver.step(), tried + 1
        is_stuck = tried == STEPS and solver.t - since < dt / 100
        if is_stuck and solver.status != "failed":
            message = (
                f"{STEPS} steps took it {solver.t - since:.1e} s ahead, as for torques that jump "
                "with the state: expected smooth ones (tanh, not sign) or fixed steps"
            )
        if is_stuck or solver.status == "failed":
            raise FloatingPointError(f"{method} stops at {solver.t:g} s: {message}".rstrip("."))
        if tried == STEPS:
            tried, since = 0, solver.t
        if np.abs(solver.y[n:]).max() > FASTEST:
            raise FloatingPointError(_divergence(robot, solver.t, *unpack(solver.y)))
        between = solver.dense_output()
        is_last = solver.status == "finished"
        while k <= steps.count and (is_last or k * dt <= solver.t):
            yield unpack(between(min(k * dt, solver.t)))
            k, tried, since = k + 1, 0, solver.t


# ------------------------------------------------------------------ why a simulation ended


def _divergence(robot: RobotModel, t: float, q: Array, qd: Array) -> str:
    is_finite = np.isfinite(robot.difference(robot.neutral, q)) & np.isfinite(qd)
    if not is_finite.all():
        joint = robot.velocity_names[int(np.argmin(is_finite))]
        return f"the motion of joint {joint!r} is not finite at {t:g} s"
    i = int(np.argmax(np.abs(qd)))
    joint = robot.velocity_names[i]
    return f"the motion diverges: joint {joint!r} has a velocity of {qd[i]:.1e} at {t:g} s"


def _bad_torque(robot: RobotModel, t: float, tau: Array) -> str:
    joint = robot.velocity_names[int(np.argmin(np.isfinite(tau)))]
    ended = f"the torque of joint {joint!r} is not finite at {t:g} s"
    if t == 0:
        raise DataError(f"{ended}: expected finite torques at the start")
    return ended


def _interrupted(t: float, begun: float) -> str:
    return f"{INTERRUPTED} at {t:g} s, after {time.monotonic() - begun:.1f} s of work"


# ------------------------------------------------------------------ the trajectory


def _trajectory(
    robot: Robot, steps: Steps, python: PythonTorque | None, rows: Sequence[Array], ended: str
) -> Trajectory:
    """Build a trajectory from rows of t, q and qd: add torques, accelerations and energies."""
    (t, q, qd), arm, dt = rows, steps.arm, steps.dt
    values = steps.values if python is None else [np.array(python.rows)]

    def inputs_at(t: Array) -> dict[str, Array]:
        pairs = zip(arm.inputs, values, strict=True)
        return {x.name: held_rows(value, x.shape, t, dt) for x, value in pairs}

    def accelerations(u: Mapping[str, Array]) -> Array:
        inputs = {**u, "t": t, "q": q, "qd": qd}
        return np.asarray(kernel.evaluate(*(inputs[name] for name in kernel.program.inputs)))

    kernel, u = acceleration_kernel(arm), inputs_at(t)
    jumps = any(x.rate == "step" for x in arm.inputs)
    if python is not None and steps.method in ADAPTIVE:
        jumps = False
        if not np.isclose(t[-1], round(t[-1] / dt) * dt, rtol=1e-12):  # an event between rows
            u["tau"][-1] = python.at(robot, t[-1], q[-1], qd[-1])
    tau = u.get("tau", np.zeros_like(qd))
    if arm.torque is not None:
        state = {"t": t, "q": q, "qd": qd}
        tau = np.asarray(arm.torque(*call_arguments(arm.torque, state, u)))
    good = np.isfinite(tau).all(1)
    if not good.all():
        k = int(np.argmin(good))
        ended = _bad_torque(robot, t[k], tau[k])
        t, q, qd, tau = t[:k], q[:k], qd[:k], tau[:k]
        u = {name: x[:k] for name, x in u.items()}
    qdd = accelerations(u)
    # just before a row, the inputs are those of the step that ends there
    before = accelerations(inputs_at(t - 1e-5 * dt)) if jumps else None
    kinetic, potential = robot.energy(q, qd)
    return Trajectory(
        *(t, q, qd, qdd, tau, kinetic, potential),
        robot.joint_names,
        ended,
        notes=() if python is None else (SLOW,),
        qdd_before=before,
        kinds={joint.name: joint.kind for joint in robot.coordinates if joint.type.labels[0]},
    )


def _check_limits(robot: Robot, run: Trajectory, returned: Trajectory) -> None:
    beyond = (run.q < robot.lower) | (run.q > robot.upper)
    if beyond.any():
        k, i = map(int, np.argwhere(beyond)[0])
        raise MotionError(
            f"joint {robot.position_names[i]!r} is at {run.q[k, i]:g} at {run.t[k]:g} s, beyond "
            f"its limits {robot.lower[i]:g} to {robot.upper[i]:g}",
            returned[: int(np.searchsorted(returned.t, run.t[k]))],
        )


def _check_held_torques(robot: Robot, tau: Array, method: str, dt: float) -> None:
    """Warn if a held torque alternates with growing amplitude: dt is too long for the feedback.

    Feedback gains are not computed, since extra calls of a Python function may change its state.
    """
    changes = np.diff(tau, axis=0)
    before, size = changes[:-1], np.abs(changes)
    grows = (changes[1:] * before < 0) & (size[1:] > size[:-1])
    grows &= size[1:] > 1e-6 * np.abs(tau).max(0, initial=0.0)
    if len(grows) < REVERSALS:
        return
    runs = sliding_window_view(grows, REVERSALS, axis=0).all(-1).any(0)
    if runs.any():
        warnings.warn(
            f"the torque of joint {robot.velocity_names[int(runs.argmax())]!r} alternates from "
            f"step to step and grows: the gains of the torque function are too high for steps of "
            f"{dt:g} s by {method}, which hold torques; choose a smaller dt or an adaptive method",
            DataWarning,
            stacklevel=3,
        )


def _check_energy(robot: Robot, run: Trajectory, has_friction: bool) -> None:
    """Warn if a simulation without torques gains energy, which means that steps are too long."""
    is_driven = has_friction and any(drive.offset for drive in robot.drives)
    if is_driven or len(run) < 2:
        return
    potential = run.potential
    if robot._has_springs:
        stiffness, reference = np.array(robot.springs, dtype=float).T
        joints = robot.uncoupled
        moved = joints.difference(joints.neutral, robot.joint_positions(run.q))
        potential = potential + (moved - reference) ** 2 @ stiffness / 2
    if robot._has_compensation:
        potential = potential - robot._compensated_bodies().energy(run.q, run.qd)[1]
    gained = run.kinetic[-1] + potential[-1] - run.kinetic[0] - potential[0]
    exchanged = np.ptp(potential)
    if gained > GROWTH * max(exchanged, 1e-12):
        warnings.warn(
            f"a motion without torques gains {gained:.3g} J while {exchanged:.3g} J are exchanged: "
            "the steps are too long, choose a smaller dt or another method",
            DataWarning,
            stacklevel=3,
        )

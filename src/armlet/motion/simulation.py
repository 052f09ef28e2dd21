"""`simulate`: one motion of an arm, by adaptive methods or by steps of fixed length."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api.functions import Function
from armlet.api.quantities import Quantities
from armlet.errors import ArmletError, DataError, DataWarning, quoted
from armlet.motion.methods import METHODS
from armlet.motion.rollout import Given, Plan, check_steps, option
from armlet.motion.system import Friction, Stops
from armlet.motion.trajectory import Trajectory
from armlet.progress import status
from armlet.runtime import Kernel

Array = NDArray[np.float64]
Torque = Callable[[float, Array, Array], ArrayLike]
ADAPTIVE = {"dop853": "DOP853", "rk45": "RK45", "radau": "Radau", "lsoda": "LSODA"}
"""SciPy's methods, which choose the length of their steps, and their classes."""
IMPLICIT = ("radau", "lsoda")
ROWS = 1000
"""How many rows a trajectory has if no interval is given."""
SLOW = "the torque is a Python function, called at every step: an armlet.program is faster"
GROWTH = 0.1
"""By how much of the energy exchanged a free motion may gain before that is said."""


class MotionError(ArmletError):
    """A simulation that ended before its time; `trajectory` is what came before."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


def simulate(
    robot: Quantities,
    q0: ArrayLike,
    qd0: ArrayLike | None = None,
    torque: ArrayLike | Function | Torque | None = None,
    *,
    duration: float,
    dt: float | None = None,
    method: str = "dop853",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    friction: bool | Friction = True,
    limits: Literal["ignore", "stop", "error"] = "ignore",
    arguments: Mapping[str, ArrayLike] | None = None,
) -> Trajectory:
    """A motion of an arm.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : array_like of shape (n,)
        Where it starts; at rest by default.
    torque : optional
        None (free motion); an array of shape (steps, n), rows dt apart, each held until the next;
        an `armlet.program` of q, qd, t and further arguments, compiled into the simulation; or any
        Python function of t, q and qd, which is slower.
    duration : float
        How long, in s.
    dt : float, optional
        The time between rows; of a method of fixed steps also the length of a step. By default a
        thousandth of the duration.
    method : str
        "dop853", "rk45", "radau" and "lsoda" (SciPy's) choose their steps for a given accuracy;
        those of `armlet.METHODS` have fixed steps.
    rtol, atol : float
        The accuracy of adaptive methods, relative and absolute.
    friction : bool or Friction
        Whether drives have friction, and how it is made smooth.
    limits : {"ignore", "stop", "error"}
        What happens at the limits of joints: nothing, damped stops, or a `MotionError`.
    arguments : mapping of str to array_like, optional
        Further arguments of the torque function.

    Returns
    -------
    Trajectory
        With a row at time 0. If the state becomes infinite, it has what came before, and `ended`
        says why; so too where Ctrl-C is pressed, except within a loop of machine code.

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
    if not np.isfinite(duration) or duration <= 0:
        raise DataError(f"duration is {quoted(duration)}: expected a time in s, more than 0")
    if limits not in ("ignore", "stop", "error"):
        raise DataError(f"limits is {quoted(limits)}: expected 'ignore', 'stop' or 'error'")
    if method not in ADAPTIVE and method not in METHODS:
        raise DataError(
            f"method is {quoted(method)}: expected one of {', '.join((*ADAPTIVE, *METHODS))}"
        )
    dt = duration / ROWS if dt is None else dt
    steps = round(duration / dt) if np.isfinite(dt) and dt > 0 else 0
    check_steps(dt, steps, 1)
    called: Torque | None = None
    if callable(torque) and not isinstance(torque, Function):
        called, torque = torque, np.zeros((steps, robot.nv))
    given = Given(robot, 1, steps, dict(arguments or {}), torque, None, None)
    plan = Plan(
        method, given.torque, None, option(friction, Friction),
        option(limits == "stop", Stops), given.inputs,
    )  # fmt: skip
    run = _Run(robot, plan, given.values, called, dt, steps)
    q, qd = _start("q0", q0, robot.nq), _start("qd0", qd0, robot.nv)
    if method in METHODS and called is None:
        q, qd, ended = run.by_steps(q, qd)
    else:
        q, qd, ended = run.by_pieces(q, qd, rtol, atol)
    found = run.trajectory(q, qd, ended)
    _look_at_limits(robot, found, limits)
    _look_at_energy(found, torque is None and plan.friction is None and method in METHODS)
    return found


def _start(name: str, x: ArrayLike | None, n: int) -> Array:
    array = np.zeros(n) if x is None else np.asarray(x, dtype=float)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise DataError(f"{name} is {quoted(x)}: expected {n} finite numbers")
    return array


@dataclass(frozen=True)
class _Run:
    """A simulation: what moves, what is given, and at which times."""

    robot: Quantities
    plan: Plan
    values: list[Array]
    called: Torque | None
    """The torque, if it is a Python function."""
    dt: float
    steps: int
    applied: list[Array] = field(default_factory=list)
    """What that function returned at the rows so far."""

    def by_steps(self, q0: Array, qd0: Array) -> tuple[Array, Array, str]:
        """Rows of q and qd by steps of fixed length, in a loop of machine code."""
        found = self.plan.run(
            self.robot, q0[None], qd0[None], self.values, self.dt, self.steps, 1, 1
        )
        q = np.concatenate([q0[None], found.q[:, 0]])
        qd = np.concatenate([qd0[None], found.qd[:, 0]])
        good = np.isfinite(q).all(1) & np.isfinite(qd).all(1)
        if good.all():
            return q, qd, ""
        k = int(np.argmin(good))
        return q[:k], qd[:k], self._not_finite(k * self.dt, q[k], qd[k])

    def by_pieces(
        self, q0: Array, qd0: Array, rtol: float, atol: float
    ) -> tuple[Array, Array, str]:
        """The same by an adaptive method, or by a Python function of the torques."""
        rows, ended = [np.concatenate([q0, qd0])], ""
        begun, n = time.monotonic(), len(q0)
        try:
            with status(f"simulating {self.robot.name}"):
                self._apply(0.0, rows[0])
                for row in self._rows(rows[0], rtol, atol):
                    if not np.isfinite(row).all():
                        ended = self._not_finite(len(rows) * self.dt, row[:n], row[n:])
                        break
                    rows.append(row)
                    self._apply((len(rows) - 1) * self.dt, row)
        except KeyboardInterrupt:
            ended = f"interrupted at {len(rows) * self.dt:g} s, {time.monotonic() - begun:.0f} s in"
        except FloatingPointError as error:
            ended = str(error)
        x = np.array(rows[: len(self.applied)] if self.called else rows)
        return x[:, :n], x[:, n:], ended

    def _apply(self, t: float, x: Array) -> None:
        """Note the torque that a Python function has at a row."""
        if self.called is not None:
            self.applied.append(self._torque(t, *np.split(x, 2)))

    def _rows(self, x: Array, rtol: float, atol: float) -> Iterator[Array]:
        """The states at every dt."""
        if self.plan.method in METHODS:
            yield from self._called_steps(x)
            return
        options: dict[str, Any] = {"rtol": rtol, "atol": atol}
        if self.plan.method in IMPLICIT and self.called is None:
            options["jac"] = self._slope
        if any(given.rate == "step" for given in self.plan.inputs):
            options["max_step"] = self.dt
        end = self.steps * self.dt
        from scipy import integrate  # which takes as long to load as all of armlet

        start = getattr(integrate, ADAPTIVE[self.plan.method])
        solver = start(self._derivative, 0.0, x, end, **options)
        k = 1
        while k <= self.steps:
            message = solver.step()
            if solver.status == "failed":
                raise FloatingPointError(f"{self.plan.method} stops at {solver.t:g} s: {message}")
            between = solver.dense_output()
            last = solver.status == "finished"
            while k <= self.steps and (last or k * self.dt <= solver.t):
                yield between(min(k * self.dt, solver.t))
                k += 1

    def _called_steps(self, x: Array) -> Iterator[Array]:
        """Steps of fixed length under torques that a Python function holds during each of them."""
        q, qd = np.split(x, 2)
        for _ in range(self.steps):
            held = [self.applied[-1][None]]
            found = self.plan.run(self.robot, q[None], qd[None], held, self.dt, 1, 1, 1)
            q, qd = found.q[0, 0], found.qd[0, 0]
            yield np.concatenate([q, qd])

    def _torque(self, t: float, q: Array, qd: Array) -> Array:
        assert self.called is not None
        tau = np.asarray(self.called(t, q, qd), dtype=float)
        if tau.shape != qd.shape:
            raise DataError(f"the torque function returns shape {tau.shape}: expected {qd.shape}")
        if not np.isfinite(tau).all():
            joint = self.robot.joints[int(np.argmin(np.isfinite(tau)))].name
            raise FloatingPointError(f"the torque of joint {joint!r} is not finite at {t:g} s")
        return tau

    def _now(self, t: float, q: Array, qd: Array) -> list[Array]:
        """What is given at a time: of what has rows, the one that is held."""
        if self.called is not None:
            return [self._torque(t, q, qd)]
        k = min(int(t / self.dt + 1e-9), self.steps - 1)
        return [
            x[k] if given.rate == "step" else x
            for given, x in zip(self.plan.inputs, self.values, strict=True)
        ]

    @cached_property
    def _acceleration(self) -> Kernel:
        return self.plan.acceleration(self.robot)

    @cached_property
    def _slopes(self) -> list[Kernel]:
        """The kernels of the derivatives of the accelerations by q and by qd."""
        return [Kernel(self._acceleration.program.derivative(name)) for name in ("q", "qd")]

    def _derivative(self, t: float, x: Array) -> Array:
        q, qd = np.split(x, 2)
        qdd = self._acceleration(q, qd, np.array(t), *self._now(t, q, qd))
        return np.concatenate([qd, qdd])

    def _slope(self, t: float, x: Array) -> Array:
        """The derivative of that by the state, exactly."""
        q, qd = np.split(x, 2)
        n = len(q)
        A = np.zeros((2 * n, 2 * n))
        A[:n, n:] = np.eye(n)
        now = self._now(t, q, qd)
        A[n:] = np.hstack([slope(q, qd, np.array(t), *now) for slope in self._slopes])
        return A

    def _not_finite(self, t: float, q: Array, qd: Array) -> str:
        bad = ~(np.isfinite(q) & np.isfinite(qd))
        joint = self.robot.joints[int(np.argmax(bad))].name
        return f"the state of joint {joint!r} is not finite at {t:g} s"

    def trajectory(self, q: Array, qd: Array, ended: str) -> Trajectory:
        """The motion with its torques, accelerations and energies."""
        t = self.dt * np.arange(len(q), dtype=float)
        held = np.minimum(np.arange(len(q)), self.steps - 1)
        if self.called is not None:
            given = {"tau": np.array(self.applied).reshape(qd.shape)}
        else:
            given = {
                x.name: value[held]
                if x.rate == "step"
                else np.broadcast_to(value, (len(q), *x.shape))
                for x, value in zip(self.plan.inputs, self.values, strict=True)
            }
        state = {**given, "t": t, "q": q, "qd": qd}
        tau = given.get("tau", np.zeros_like(qd))
        if self.plan.torque is not None:
            tau = np.asarray(self.plan.torque(*(state[name] for name in self.plan.torque.inputs)))
        qdd = self._acceleration(*(state[name] for name in self._acceleration.program.inputs))
        kinetic, potential = self.robot.energy(q, qd)
        names = tuple(joint.name for joint in self.robot.joints)
        notes = () if self.called is None else (SLOW,)
        return Trajectory(t, q, qd, qdd, tau, kinetic, potential, names, ended, notes)


def _look_at_limits(robot: Quantities, run: Trajectory, limits: str) -> None:
    """Raise where a joint is beyond its limits and that is an error."""
    if limits != "error":
        return
    low = np.array([joint.limits.lower for joint in robot.joints])
    high = np.array([joint.limits.upper for joint in robot.joints])
    beyond = (run.q < low) | (run.q > high)
    if beyond.any():
        k, i = map(int, np.argwhere(beyond)[0])
        raise MotionError(
            f"joint {run.joints[i]!r} is at {run.q[k, i]:g} at {run.t[k]:g} s, beyond its limits "
            f"{low[i]:g} to {high[i]:g}",
            run[:k],
        )


def _look_at_energy(run: Trajectory, free: bool) -> None:
    """Warn where steps are so long that a free motion gains energy."""
    if not free or len(run) < 2:
        return
    gained = run.energy[-1] - run.energy[0]
    exchanged = np.ptp(run.potential)
    if gained > GROWTH * max(exchanged, 1e-12) or run.ended:
        warnings.warn(
            f"a motion without torques gains {gained:.3g} J while {exchanged:.3g} J are exchanged: "
            "the steps are too long, choose a smaller dt or another method",
            DataWarning,
            stacklevel=3,
        )

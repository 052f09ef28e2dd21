"""One motion: by SciPy's adaptive methods, or by steps of fixed length."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet._support.progress import advancing
from armlet.api.robot import Robot
from armlet.errors import DataError
from armlet.runtime import Kernel
from armlet.simulation.arguments import call_arguments, numbers
from armlet.simulation.events import Event, HeldArguments, happened, step_at
from armlet.simulation.integrators import METHODS
from armlet.simulation.plan import Plan
from armlet.simulation.trajectory import Trajectory

Array = NDArray[np.float64]
Torque = Callable[[float, Array, Array], ArrayLike]
ADAPTIVE = {"dop853": "DOP853", "rk45": "RK45", "radau": "Radau", "lsoda": "LSODA"}
"""SciPy's methods, which choose the length of their steps, and their classes."""
IMPLICIT = ("radau", "lsoda")
FASTEST = 1e5
"""A velocity, rad/s or m/s, that no arm has: a motion ends there."""
INTERRUPTED = "interrupted"
"""How the sentence begins that says where Ctrl-C was pressed."""
SLOW = "the torque is a Python function, called at every step: an armlet.function is faster"


@dataclass(frozen=True)
class Run:
    """A simulation: what moves, what is given, and at which times."""

    robot: Robot
    plan: Plan
    values: list[Array]
    called: Torque | None
    """The torque, if it is a Python function."""
    dt: float
    steps: int
    every: int
    applied: list[Array] = field(default_factory=list)
    """What that function returned at the rows so far."""

    def by_steps(self, q0: Array, qd0: Array) -> tuple[Array, Array, Array, str]:
        """Rows of t, q and qd by steps of fixed length, in a loop of machine code."""
        begun = time.monotonic()
        found = self.plan.run(
            self.robot, q0[None], qd0[None], self.values, self.dt, self.steps, self.every, keep=True
        )
        t = np.concatenate([[0.0], found.t])
        q = np.concatenate([q0[None], found.q[:, 0]])
        qd = np.concatenate([qd0[None], found.qd[:, 0]])
        slow = qd.max() <= FASTEST and qd.min() >= -FASTEST
        if not (slow and np.isfinite(q.sum())):  # which is faster than to look at each row
            good = np.isfinite(q).all(1) & (np.abs(qd) <= FASTEST).all(1)
            if not good.all():
                k = int(np.argmin(good))
                ended = self._diverges(t[: k + 1], q[: k + 1], qd[k])
                rows = max(k, 1)  # the start is kept, however fast it is
                return t[:rows], q[:rows], qd[:rows], ended
        whole = t[-1] > (self.steps - 0.5) * self.dt
        return t, q, qd, "" if whole else self._interrupted(t[-1], begun)

    def by_pieces(
        self, q0: Array, qd0: Array, rtol: float, atol: float
    ) -> tuple[Array, Array, Array, str]:
        """The same by an adaptive method, or by a Python function of the torques."""
        rows, ended = [np.concatenate([q0, qd0])], ""
        begun, n = time.monotonic(), len(q0)
        try:
            with advancing(f"{self.plan.method} of {self.robot.name}") as advance:
                self._apply(0.0, rows[0])
                for row in self._rows(rows[0], rtol, atol):
                    advance(len(rows) / self.steps)
                    if not np.isfinite(row).all():
                        ended = self._not_finite(len(rows) * self.dt, row[:n], row[n:])
                        break
                    rows.append(row)
                    self._apply((len(rows) - 1) * self.dt, row)
        except KeyboardInterrupt:
            ended = self._interrupted((len(rows) - 1) * self.dt, begun)
        except FloatingPointError as error:
            ended = str(error)
        x = np.array(rows[: len(self.applied)] if self.called else rows)
        kept = np.arange(len(x)) % self.every == 0
        kept[self.steps :] = True
        return np.flatnonzero(kept) * np.float64(self.dt), x[kept, :n], x[kept, n:], ended

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

        if not np.isfinite(a := self._derivative(0.0, x)).all():  # which no shorter step would cure
            raise FloatingPointError(self._not_finite(0.0, *np.split(a, 2)))
        start = getattr(integrate, ADAPTIVE[self.plan.method])
        solver = start(self._derivative, 0.0, x, end, **options)
        k = 1
        while k <= self.steps:
            message = solver.step()
            if solver.status == "failed":
                raise FloatingPointError(
                    f"{self.plan.method} stops at {solver.t:g} s: {message}".rstrip(".")
                )
            self._check_speed(solver.t, solver.y[len(x) // 2 :])
            between = solver.dense_output()
            last = solver.status == "finished"
            while k <= self.steps and (last or k * self.dt <= solver.t):
                yield between(min(k * self.dt, solver.t))
                k += 1

    def _check_speed(self, t: float, qd: Array) -> None:
        """Raise where a motion diverges, for which no step would be short enough."""
        if np.abs(qd).max() > FASTEST:
            raise FloatingPointError(self._too_fast(t, qd))

    def _too_fast(self, t: float, qd: Array) -> str:
        i = int(np.argmax(np.abs(qd)))
        joint = self.robot.coordinates[i].name
        return f"the motion diverges: joint {joint!r} has a velocity of {qd[i]:.1e} at {t:g} s"

    def _diverges(self, t: Array, q: Array, qd: Array) -> str:
        """Why a motion by steps of fixed length ends at the last of these rows."""
        is_finite = np.isfinite(q[-1]).all() and np.isfinite(qd).all()
        said = self._too_fast(t[-1], qd) if is_finite else self._not_finite(t[-1], q[-1], qd)
        return f"{said}; a smaller dt or another method may help"

    def _called_steps(self, x: Array) -> Iterator[Array]:
        """Steps of fixed length under torques that a Python function holds during each of them."""
        q, qd = np.split(x, 2)
        for _ in range(self.steps):
            held = [self.applied[-1][None]]
            found = self.plan.run(self.robot, q[None], qd[None], held, self.dt, 1)
            q, qd = found.q[0, 0], found.qd[0, 0]
            yield np.concatenate([q, qd])

    def _torque(self, t: float, q: Array, qd: Array) -> Array:
        assert self.called is not None
        returned = self.called(float(t), q.copy(), qd.copy())  # it may write to them, or keep them
        tau = numbers("what the torque function returns", returned)
        if tau.shape != qd.shape:
            raise DataError(f"the torque function returns shape {tau.shape}: expected {qd.shape}")
        if not np.isfinite(tau).all():
            ended = self._no_torque(tau, t)
            if not self.applied:
                raise DataError(f"{ended}: expected finite torques at the start")
            raise FloatingPointError(ended)
        return tau

    def _no_torque(self, tau: Array, t: float) -> str:
        joint = self.robot.coordinates[int(np.argmin(np.isfinite(tau)))].name
        return f"the torque of joint {joint!r} is not finite at {t:g} s"

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
        if not np.isfinite(A).all():
            raise FloatingPointError(
                f"{self.plan.method} stops at {t:g} s: the derivatives of the accelerations are "
                "not finite"
            )
        return A

    def _interrupted(self, t: float, begun: float) -> str:
        return f"{INTERRUPTED} at {t:g} s, after {time.monotonic() - begun:.1f} s of work"

    def _not_finite(self, t: float, q: Array, qd: Array) -> str:
        bad = ~(np.isfinite(q) & np.isfinite(qd))
        joint = self.robot.coordinates[int(np.argmax(bad))].name
        return f"the motion of joint {joint!r} is not finite at {t:g} s"

    def trajectory(self, t: Array, q: Array, qd: Array, ended: str) -> Trajectory:
        """The motion with its torques, accelerations and energies."""
        if self.called is not None:
            row = step_at(t, self.dt)
            given = {"tau": np.array(self.applied)[np.minimum(row, len(self.applied) - 1)]}
            if self.plan.method in ADAPTIVE and not np.isclose(
                t[-1], row[-1] * self.dt, rtol=1e-12
            ):
                given["tau"][-1] = self._torque(t[-1], q[-1], qd[-1])  # of an event between rows
        else:
            given = {
                x.name: value[np.minimum(step_at(t, self.dt), self.steps - 1)]
                if x.rate == "step"
                else np.broadcast_to(value, (len(q), *x.shape))
                for x, value in zip(self.plan.inputs, self.values, strict=True)
            }
        state = {"t": t, "q": q, "qd": qd}
        tau = given.get("tau", np.zeros_like(qd))
        if self.plan.torque is not None:
            tau = np.asarray(self.plan.torque(*call_arguments(self.plan.torque, state, given)))
        good = np.isfinite(tau).all(1)
        if not good.all():
            k = int(np.argmin(good))
            ended = self._no_torque(tau[k], t[k])
            if not k:
                raise DataError(f"{ended}: expected finite torques at the start")
            t, q, qd, tau = t[:k], q[:k], qd[:k], tau[:k]
            state = {"t": t, "q": q, "qd": qd}
            given = {name: x[:k] for name, x in given.items()}
        kernel, inputs = self._acceleration, {**given, **state}
        qdd = np.asarray(kernel.evaluate(*(inputs[name] for name in kernel.program.inputs)))
        kinetic, potential = self.robot.energy(q, qd)
        names = tuple(joint.name for joint in self.robot.coordinates)
        notes = () if self.called is None else (SLOW,)
        return Trajectory(t, q, qd, qdd, tau, kinetic, potential, names, ended, notes)

    def with_events(
        self, run: Trajectory, events: Sequence[Event], held: HeldArguments
    ) -> Trajectory:
        """The motion with what happened, up to an event that ends it."""
        if not events or len(run) < 2:
            return run

        def between(t: float) -> tuple[Array, Array]:
            now = run.at([t])
            return now.q[0], now.qd[0]

        found = happened(events, (run.t, run.q, run.qd), between, held)
        happenings = tuple(x for _, x in found)
        if found and found[-1][0].ends:
            name, t, q, qd = happenings[-1]
            k = int(np.searchsorted(run.t, t))
            rows = (np.array([*run.t[:k], t]), np.vstack([run.q[:k], q]),
                    np.vstack([run.qd[:k], qd]))  # fmt: skip
            run = self.trajectory(*rows, f"{name!r} at {t:g} s")
        return replace(run, events=happenings)

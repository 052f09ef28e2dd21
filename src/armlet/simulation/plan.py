"""What a roll-out or a simulation does in loops of machine code, compiled once for a robot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from armlet._support.progress import advancing, status
from armlet.api.functions import Function
from armlet.graph import Input, Loop, trace_function
from armlet.graph.trace.arrays import as_traced
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.runtime.loop_kernel import LoopKernel
from armlet.simulation.arguments import call_arguments
from armlet.simulation.integrators import METHODS, Stages
from armlet.simulation.system import Arm, Friction, Shared, Stops

Array = NDArray[np.float64]
T = TypeVar("T")
REMEMBERED = 3
"""How many past states a method of several steps remembers."""


class Rollouts(NamedTuple):
    """Motions of many arms, times first: row k is at time t[k]."""

    t: Array
    """The times of the rows, (rows,)."""
    q: Array
    """Positions, (rows, N, n)."""
    qd: Array
    """Velocities, (rows, N, n)."""
    cost: Array | None = None
    """What was accumulated, (N,), if anything was."""
    gradient: Mapping[str, Array] | None = None
    """The derivatives of the sum of all costs, by name, each of the shape of what was given."""
    along: "Rollouts | None" = None
    """The derivatives of q, qd and cost along the directions that were given."""

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Which of the motions stay finite, and their costs, (N,): `runs.q[:, runs.finite]`.

        What is not finite once stays so, and the last row tells.
        """
        found: NDArray[np.bool_] = np.isfinite(self.q[-1]).all(1) & np.isfinite(self.qd[-1]).all(1)
        return found if self.cost is None else found & np.isfinite(self.cost)


@dataclass(frozen=True)
class Plan:
    """What a loop of machine code depends on: the same plan is compiled once for a robot."""

    method: str
    torque: Function | None
    reduce: Function | None
    friction: Friction | None
    stops: Stops | None
    inputs: tuple[Input, ...]

    # ---------------------------------------------------------------- to run

    def run(
        self,
        robot: RobotModel,
        q0: Array,
        qd0: Array,
        values: Sequence[Array],
        dt: float,
        steps: int,
        every: int = 1,
        threads: int = 1,
        keep: bool = False,
    ) -> Rollouts:
        """The motions; with `keep`, Ctrl-C ends them, and the rows so far are returned."""
        runs = len(q0)
        state = self.start(q0, qd0)
        if self.reduce is not None:
            every = steps
        first, started = 0, []
        if METHODS[self.method].memory:
            if steps <= REMEMBERED:
                plan = replace(self, method="rk4")
                return plan.run(robot, q0, qd0, values, dt, steps, every, threads, keep)
            first = REMEMBERED
            started = self._first_steps(robot, state, values, dt, first)
            state = [*started[-1], self._memory(robot, [state, *started[:-1]], values, runs)]
        kernel = self.kernel(robot)
        if self._staged:
            kept = np.stack(self._staged.start(q0, qd0), axis=1)
            state += [kept, np.array(self._staged.rows)]
        given = (*state, np.array(dt), *values)
        done, found = first, kernel.results(runs, steps, every)
        try:
            with advancing(f"{self.method} of {robot.name}") as advance:
                for done in kernel.pieces(given, found, runs, range(first, steps), every, threads):
                    advance(done / steps)
        except KeyboardInterrupt:
            if not keep:
                raise
        q, qd, *ends = kernel.ordered(found)
        for step, (q_start, qd_start, *_) in enumerate(started):
            if (step + 1) % every == 0:
                q[step // every], qd[step // every] = q_start, qd_start
        rows = -(-steps // every) if done == steps or not runs else done // every
        t = times(dt, steps, every)[:rows]
        if self.reduce is None:
            return Rollouts(t, q[:rows], qd[:rows])
        return Rollouts(t, q, qd, ends[1])

    def start(self, q0: Array, qd0: Array) -> list[Array]:
        """What is carried at time 0, without what the method remembers."""
        return [q0, qd0, *[np.zeros(len(q0))] * (1 if self.reduce is None else 2)]

    def _first_steps(
        self,
        robot: RobotModel,
        state: list[Array],
        values: Sequence[Array],
        dt: float,
        count: int,
    ) -> list[list[Array]]:
        """What is carried after each of the first steps, which Runge and Kutta's method does."""
        plan = replace(self, method="rk4")
        kernel = plan.once(robot, "whole", lambda: LoopKernel(plan.loop(robot)))
        found = []
        for k in range(count):
            given = (*state, np.array(dt), *self.between(values, k, k + 1))
            q, qd, *ends = kernel(*given, runs=len(state[0]), steps=1)
            state = [q[0], qd[0], *ends]
            found.append(state)
        return found

    def between(self, values: Sequence[Array], begin: int, end: int) -> list[Array]:
        """What is given for some of the steps."""
        return [
            x[begin:end] if given.rate in ("step", "state") else x
            for given, x in zip(self.inputs, values, strict=True)
        ]

    def _memory(
        self, robot: RobotModel, states: Sequence[list[Array]], values: Sequence[Array], runs: int
    ) -> Array:
        """The derivatives at some states, the first steps', the latest first."""
        past: list[Array] = []
        for k, (q, qd, t, *_) in reversed(list(enumerate(states))):
            now = [
                np.broadcast_to(
                    x[0] if given.rate in ("step", "state") else x, (runs, *given.shape)
                )
                for given, x in zip(self.inputs, self.between(values, k, k + 1), strict=True)
            ]
            past += [qd, self.acceleration(robot)(q, qd, t, *now)]
        return np.stack(past, axis=1)

    # ---------------------------------------------------------------- to compile

    def acceleration(self, robot: RobotModel) -> Kernel:
        """The kernel of accelerations at q, qd, t, given all other inputs."""

        def made() -> Kernel:
            arm = self._arm(robot)
            state = _state(robot)
            inputs = [*state, *(x._replace(rate="state") for x in self.inputs)]

            def body(graph: Any, *args: Any) -> Any:
                given = _named(inputs, args)
                q, qd, t = (given.pop(x.name) for x in state)
                return replace(arm, given=given).acceleration(t, q, qd)

            return Kernel(trace_function("acceleration", body, inputs))

        plan = replace(self, method="", reduce=None)
        return robot._once(("acceleration", plan), made)

    @property
    def _staged(self) -> Stages | None:
        """The stages of the method; a cost, which is that of whole steps, would be done in each."""
        return METHODS[self.method].stages if self.reduce is None else None

    def kernel(self, robot: RobotModel) -> LoopKernel:
        """The loop as machine code, by stages where the method has them."""
        loop = self.staged_loop if self._staged else self.loop
        return self.once(robot, "loop", lambda: LoopKernel(loop(robot)))

    def once(self, robot: RobotModel, what: str | tuple[str, ...], made: Callable[[], T]) -> T:
        """What is made once for this plan and a robot, with a line on the terminal meanwhile."""

        def told() -> T:
            with status(f"tracing steps of {self.method}"):
                return made()

        return robot._once((what, self), told)

    def loop(self, robot: RobotModel) -> Loop:
        """The loop: it carries q, qd, the time, the cost and what the method remembers."""
        arm, method = self._arm(robot), METHODS[self.method]
        state = _state(robot)
        if self.reduce is not None:
            state.append(Input("cost", ()))
        if method.memory:
            state.append(Input("memory", (method.memory, robot.nv)))
        inputs = [*state, Input("dt", (), "once"), *self.inputs]

        def body(graph: Any, *args: Any) -> Any:
            given = _named(inputs, args)
            old = {x.name: given.pop(x.name) for x in state}
            h, q, qd, t = given.pop("dt"), old["q"], old["qd"], old["t"]
            past = [old["memory"]] if method.memory else []
            q_new, qd_new, *memory = method.step(replace(arm, given=given), h, t, q, qd, *past)
            new = [q_new, qd_new, np.array(t + h)]
            if self.reduce is not None:
                known = {"t": t, "q": q, "qd": qd}
                if "tau" in given:
                    known["tau"] = given["tau"]
                more = self.reduce.record(call_arguments(self.reduce, known, given))
                new.append(np.array(old["cost"] + more))
            return (*new, *(np.array(x, dtype=object) for x in memory))

        carried = {k: x.name for k, x in enumerate(state)}
        return Loop(trace_function(f"step_of_{self.method}", body, inputs), carried, (0, 1))

    def staged_loop(self, robot: RobotModel) -> Loop:
        """The loop whose body is one stage: it carries q, qd, the time and what stages keep."""
        stages = self._staged
        assert stages is not None
        arm, rows = self._arm(robot), np.array(stages.rows)
        state = _state(robot)
        kept = len(stages.start(np.zeros(robot.nq), np.zeros(robot.nv)))
        inputs = [
            *state, Input("kept", (kept, robot.nv)), Input("row", rows.shape[1:], "stage"),
            Input("dt", (), "once"), *self.inputs,
        ]  # fmt: skip

        def body(graph: Any, *args: Any) -> Any:
            given = _named(inputs, args)
            q, qd, t = (given.pop(x.name) for x in state)
            kept, row, h = (given.pop(name) for name in ("kept", "row", "dt"))
            t, q, qd, kept = stages.body(replace(arm, given=given), h, t, q, qd, kept, row)
            return q, qd, np.array(t), np.array(kept, dtype=object)

        carried = {0: "q", 1: "qd", 2: "t", 3: "kept"}
        program = trace_function(f"stage_of_{self.method}", body, inputs)
        return Loop(program, carried, (0, 1), stages=len(rows))

    def _arm(self, robot: RobotModel) -> Arm:
        """The arm under all forces."""
        arm = Arm(robot, self.torque, self.friction, self.stops)
        return arm if self.torque is None else Shared.of(arm, self.torque, self.inputs)


def times(dt: float, steps: int, every: int) -> Array:
    """The times of the rows."""
    found: Array = dt * np.minimum(np.arange(1, -(-steps // every) + 1) * every, steps)
    return found


def _state(robot: RobotModel) -> list[Input]:
    return [Input("q", (robot.nq,)), Input("qd", (robot.nv,)), Input("t", ())]


def _named(inputs: Sequence[Input], args: Sequence[Any]) -> dict[str, Any]:
    """Traced arrays by the names of inputs, scalars bare."""
    return {
        x.name: as_traced(arg) if x.shape else arg[()] for x, arg in zip(inputs, args, strict=True)
    }

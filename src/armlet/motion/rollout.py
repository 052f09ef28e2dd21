"""Roll-outs: many motions of an arm at the same time, in loops of machine code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api.functions import Function, part_of_another
from armlet.errors import DataError, quoted
from armlet.graph import Input, Loop, traced
from armlet.graph.arrays import as_traced
from armlet.graph.inputs import Shape
from armlet.motion.methods import METHODS
from armlet.motion.system import Arm, Friction, Shared, Stops
from armlet.progress import status
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.runtime.loops import LoopKernel
from armlet.tracing import one_of

Array = NDArray[np.float64]
STATE = ("t", "q", "qd")
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


def rollout(
    robot: RobotModel,
    q0: ArrayLike,
    qd0: ArrayLike | None = None,
    torque: ArrayLike | Function | None = None,
    *,
    dt: float,
    steps: int,
    method: str = "semi_implicit_euler",
    every: int = 1,
    reduce: Function | None = None,
    inertia: ArrayLike | None = None,
    arguments: Mapping[str, ArrayLike] | None = None,
    friction: bool | Friction = False,
    stops: bool | Stops = False,
    threads: int = 1,
) -> Rollouts:
    """Motions of an arm from many starts, by steps of fixed length, one per vector lane.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : array_like of shape (N, n)
        Where the motions start; at rest by default.
    torque : array_like or function of your own, optional
        Torques of shape (steps, n) or (steps, N, n), held during each step, or an
        `armlet.program` of q, qd, t and further arguments, taken at every instant that the method
        asks for; none by default.
    dt : float
        The length of a step in s.
    steps : int
        How many there are.
    method : str
        One of `armlet.METHODS`.
    every : int
        After how many steps a row is kept; the last row is the end.
    reduce : function of your own, optional
        Accumulate this function of q, qd, t and further arguments over the starts of all steps,
        and keep only the end. The sum is `cost`.
    inertia : array_like of shape (nb, 10) or (N, nb, 10), optional
        Inertial parameters as in `robot.phi`, for all motions or for each.
    arguments : mapping of str to array_like, optional
        Further arguments of the functions: one value, or one for every motion (N, ...), every
        step (steps, ...) or both (steps, N, ...).
    friction : bool or Friction
        Whether drives have friction, and how it is made smooth.
    stops : bool or Stops
        Whether joints have stops at their limits.
    threads : int
        How many threads share the motions.

    Returns
    -------
    Rollouts
        A named tuple t, q, qd, cost.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> runs = armlet.rollout(robot, np.zeros((1000, 2)), dt=1e-3, steps=100, every=10)
    >>> runs.q.shape
    (10, 1000, 2)
    """
    q0 = _starts("q0", q0, robot.nq)
    qd0 = np.zeros((len(q0), robot.nv)) if qd0 is None else _starts("qd0", qd0, robot.nv)
    if len(q0) != len(qd0):
        raise DataError(f"q0 has {len(q0)} rows and qd0 {len(qd0)}: expected the same")
    check_steps(dt, steps, every)
    given = Given(robot, len(q0), steps, dict(arguments or {}), torque, reduce, inertia)
    plan = Plan(
        one_of(method, METHODS, "method"),
        given.torque,
        reduce,
        option(friction, Friction),
        option(stops, Stops),
        given.inputs,
    )
    return plan.run(robot, q0, qd0, given.values, dt, steps, every, threads)


@dataclass(frozen=True)
class Plan:
    """What a loop of machine code depends on: the same plan is compiled once for a robot."""

    method: str
    torque: Function | None
    reduce: Function | None
    friction: Friction | None
    stops: Stops | None
    inputs: tuple[Input, ...]

    def run(
        self,
        robot: RobotModel,
        q0: Array,
        qd0: Array,
        values: Sequence[Array],
        dt: float,
        steps: int,
        every: int,
        threads: int,
    ) -> Rollouts:
        """The motions."""
        runs = len(q0)
        state = [q0, qd0, np.zeros(runs)]
        if self.reduce is not None:
            state.append(np.zeros(runs))
            every = steps
        first, started = 0, []
        if METHODS[self.method].memory:
            first = min(REMEMBERED, steps)
            started = self._start(robot, state, values, dt, first)
            state = [*started[-1], self._memory(robot, [state, *started[:-1]], values, runs)]
        with status(f"compiling a loop of {self.method}"):
            kernel = self.kernel(robot)
        given = (*state, np.array(dt), *values)
        found = kernel(*given, runs=runs, steps=steps, first=first, every=every, threads=threads)
        for step, (q, qd, *_) in enumerate(started):
            if (step + 1) % every == 0 or step + 1 == steps:
                found[0][step // every], found[1][step // every] = q, qd
        rows = -(-steps // every)
        t = dt * np.minimum(np.arange(1, rows + 1) * every, steps)
        if self.reduce is None:
            return Rollouts(t, found[0], found[1])
        return Rollouts(t, found[0], found[1], found[3] if first < steps else started[-1][3])

    def _start(
        self,
        robot: RobotModel,
        state: list[Array],
        values: Sequence[Array],
        dt: float,
        count: int,
    ) -> list[list[Array]]:
        """What is carried after each of the first steps, which Runge and Kutta's method does."""
        kernel = replace(self, method="rk4").kernel(robot)
        found = []
        for k in range(count):
            given = (*state, np.array(dt), *self._until(values, k + 1))
            rows = kernel(*given, runs=len(state[0]), steps=k + 1, first=k)
            state = [rows[0][k], rows[1][k], *rows[2:]]
            found.append(state)
        return found

    def _until(self, values: Sequence[Array], steps: int) -> list[Array]:
        """What is given for the first steps."""
        return [
            x[:steps] if given.rate in ("step", "state") else x
            for given, x in zip(self.inputs, values, strict=True)
        ]

    def _memory(
        self, robot: RobotModel, states: Sequence[list[Array]], values: Sequence[Array], runs: int
    ) -> Array:
        """The derivatives at some states, the first steps', the latest first."""
        past: list[Array] = []
        for k, (q, qd, t, *_) in reversed(list(enumerate(states))):
            now = [self._at(x, v, k, runs) for x, v in zip(self.inputs, values, strict=True)]
            past += [qd, self.acceleration(robot)(q, qd, t, *now)]
        return np.stack(past, axis=1)

    def _at(self, given: Input, value: Array, step: int, runs: int) -> Array:
        """The value of an input at a step, for every run."""
        one = value[step] if given.rate in ("step", "state") else value
        return np.broadcast_to(one, (runs, *given.shape))

    def acceleration(self, robot: RobotModel) -> Kernel:
        """The kernel of accelerations at q, qd, t, given all other inputs; once for a robot."""
        arm = self.arm(robot)
        state = [Input("q", (robot.nq,)), Input("qd", (robot.nv,)), Input("t", ())]
        inputs = [*state, *(x._replace(rate="state") for x in self.inputs)]

        def made() -> Kernel:
            def body(graph: Any, *args: Any) -> Any:
                given = _named(inputs, args)
                q, qd, t = (given.pop(x.name) for x in state)
                return replace(arm, given=given).acceleration(t, q, qd)

            return Kernel(traced("acceleration", body, inputs))

        plan = replace(self, method="", reduce=None)
        return robot.once(("acceleration", plan), made)

    def arm(self, robot: RobotModel) -> Arm:
        """The arm under all forces."""
        arm = Arm(robot, self.torque, self.friction, self.stops)
        return arm if self.torque is None else Shared.of(arm, self.inputs)

    def kernel(self, robot: RobotModel) -> LoopKernel:
        """The loop of machine code, made once for a robot."""
        return robot.once(("loop", self), lambda: LoopKernel(self.loop(robot)))

    def loop(self, robot: RobotModel) -> Loop:
        """The loop: it carries q, qd, the time, the cost and what the method remembers."""
        arm, method = self.arm(robot), METHODS[self.method]
        state = [Input("q", (robot.nq,)), Input("qd", (robot.nv,)), Input("t", ())]
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
                values = {**given, "q": q, "qd": qd, "t": t}
                more = part_of_another(self.reduce, [values[x] for x in self.reduce.inputs])
                new.append(np.array(old["cost"] + more))
            return (*new, *(np.array(x, dtype=object) for x in memory))

        carried = {k: x.name for k, x in enumerate(state)}
        return Loop(traced(f"step_of_{self.method}", body, inputs), carried, (0, 1))


def _named(inputs: Sequence[Input], args: Sequence[Any]) -> dict[str, Any]:
    """Traced arrays by the names of inputs, scalars bare."""
    return {
        x.name: as_traced(arg) if x.shape else arg[()] for x, arg in zip(inputs, args, strict=True)
    }


class Given:
    """What is given beside the starts: torques, inertias and arguments, with their rates."""

    def __init__(
        self,
        robot: RobotModel,
        runs: int,
        steps: int,
        arguments: dict[str, ArrayLike],
        torque: Any,
        reduce: Function | None,
        inertia: ArrayLike | None,
    ) -> None:
        self.runs, self.steps = runs, steps
        self.torque = torque if isinstance(torque, Function) else None
        inputs: list[Input] = []
        self.values: list[Array] = []
        if torque is not None and self.torque is None:
            arguments["tau"] = torque
        if inertia is not None:
            arguments["inertia"] = inertia
        wanted: dict[str, Shape] = {"tau": (robot.nv,), "inertia": (robot.nb, 10)}
        functions = [f for f in (self.torque, reduce) if f is not None]
        for function in functions:
            wanted |= {x.name: x.shape for x in function.inputs.values() if x.name not in STATE}
            for name in function.inputs:
                if name not in STATE and name not in arguments:
                    raise DataError(
                        f"{function!r} has an argument {name!r} that is not given: expected "
                        f"arguments={{{name!r}: ...}}"
                    )
        for name, value in arguments.items():
            if name not in wanted:
                raise DataError(f"no function has an argument {name!r}: expected one that has")
            array = np.asarray(value, dtype=float)
            inputs.append(Input(name, wanted[name], self._rate(name, array, wanted[name])))
            self.values.append(array)
        self.inputs = tuple(inputs)

    def _rate(self, name: str, array: Array, shape: Shape) -> str:
        runs, steps = self.runs, self.steps
        rates = {"once": (), "run": (runs,), "step": (steps,), "state": (steps, runs)}
        fits = [rate for rate, axes in rates.items() if array.shape == (*axes, *shape)]
        if runs == 1 and len(fits) > 1:  # one motion: nothing is given for each of many
            fits = [rate for rate in fits if rate in ("once", "step")]
        if name == "tau" and "once" in fits:
            fits = []
        if not fits:
            expected = ", ".join(str((*axes, *shape)) for axes in rates.values())
            raise DataError(f"{name} has shape {array.shape}: expected one of {expected}")
        if len(fits) > 1:
            raise DataError(
                f"{name} has shape {array.shape}, and there are as many motions as steps: expected "
                f"a value for both, of shape {(self.steps, self.runs, *shape)}"
            )
        return fits[0]


def _starts(name: str, x: ArrayLike, n: int) -> Array:
    array = np.asarray(x, dtype=float)
    if array.ndim != 2 or array.shape[1] != n:
        raise DataError(f"{name} has shape {array.shape}: expected (N, {n})")
    return array


def check_steps(dt: float, steps: int, every: int) -> None:
    if not np.isfinite(dt) or dt <= 0:
        raise DataError(f"dt is {quoted(dt)}: expected a length of time in s, more than 0")
    for name, count in (("steps", steps), ("every", every)):
        if not isinstance(count, int | np.integer) or count < 1:
            raise DataError(f"{name} is {quoted(count)}: expected a whole number, 1 or more")


def option(x: Any, kind: type[Any]) -> Any:
    """A setting that is given, the default one for True, None for False."""
    if isinstance(x, kind):
        return x
    if not isinstance(x, bool):
        raise DataError(
            f"{kind.__name__.lower()} is {quoted(x)}: expected a bool or {kind.__name__}"
        )
    return kind() if x else None

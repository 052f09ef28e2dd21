"""Trace the step of an integrator, compile it as the body of a `Loop`, and run the loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet._support.progress import advancing, status
from armlet.api.functions import Function
from armlet.errors import DataError, quote
from armlet.graph import Input, Loop, Program, trace_function
from armlet.graph.signature import Shape
from armlet.graph.trace.arrays import as_traced
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.runtime.loop_kernel import LoopKernel
from armlet.simulation.forces import (
    PREFIX,
    Arm,
    Friction,
    Plant,
    Stops,
    call_arguments,
    state_inputs,
)
from armlet.simulation.integrators import INTEGRATORS, STAGE_MEMORY

Array = NDArray[np.float64]
STATE = ("t", "q", "qd")
ROUNDING = 1e-6
"""Largest difference allowed between the length of a quaternion and 1."""
FASTEST = 1e5
"""The joint velocity in rad/s or m/s above which a simulation counts as divergent."""
STARTER = "rk4"
"""The one-step integrator that takes the first steps of multistep integrators."""


class Rollouts(NamedTuple):
    """The result of `armlet.rollout`; row k of q and qd is at time t[k]."""

    t: Array
    """The times in s of the rows of q and qd, (rows,)."""
    q: Array
    """Positions of N runs, (rows, N, nq)."""
    qd: Array
    """Velocities of N runs, (rows, N, nv)."""
    cost: Array | None = None
    """The cost of each run, (N,): the sum of `reduce` over all steps; None without `reduce`."""
    gradient: Mapping[str, Array] | None = None
    """Name in `wrt` -> gradient of the sum of all costs by that value, with the value's shape."""
    tangents: Rollouts | None = None
    """The derivatives of q, qd and cost along the tangents in `wrt`."""

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Whether each of the N runs ends with finite values and no velocity above `FASTEST`."""
        slow: NDArray[np.bool_] = (np.abs(self.qd[-1]) <= FASTEST).all(1)
        return slow & is_finite(self)


def is_finite(runs: Rollouts) -> NDArray[np.bool_]:
    """Return for each of the N roll-outs whether its last row and its cost are finite."""
    ends = [runs.q[-1].T, runs.qd[-1].T, *([] if runs.cost is None else [runs.cost])]
    finite: NDArray[np.bool_] = np.isfinite(np.vstack(ends)).all(0)
    return finite


# ------------------------------------------------------------------ arguments of a call


def check_steps(dt: float, steps: int, every: int = 1) -> None:
    """Raise unless `dt` is positive and `steps` and `every` are integers of at least 1."""
    validation.number(dt, "dt", "a length of time in s", above=0)
    validation.integer(steps, "steps", low=1)
    validation.integer(every, "every", low=1)


def positions(
    robot: RobotModel, q: ArrayLike, name: str, *leading: int | str, finite: bool = True
) -> Array:
    """Return positions from a user as an array (*leading, nq), with quaternions of length 1.

    Raise if the length of a quaternion differs from 1 by more than `ROUNDING`.
    """
    array = validation.array(q, name, (*leading, robot.nq), finite=finite)
    if not robot._without_vector_space:
        return array
    with np.errstate(invalid="ignore"):
        nearest = robot._nearest(array)
        for joint, at in robot._without_vector_space:
            is_wrong = np.linalg.norm(array[..., at] - nearest[..., at], axis=-1) > ROUNDING
            if is_wrong.any():
                wrong = array[..., at][is_wrong][0]
                raise DataError(
                    f"{name} of joint {joint.name!r} is {quote(wrong.tolist())}: expected a "
                    "quaternion x, y, z, w of length 1"
                )
    return nearest


def check_result(name: str, function: Function | None, shape: Shape) -> None:
    """Raise unless `function` is None or an `armlet.function` that returns an array of `shape`."""
    if function is None:
        return
    validation.instance(function, name, Function, "a function under armlet.function")
    shapes = [y.shape for y in function.program.outputs]
    if shapes != [shape]:
        expected = f"one array of shape {shape}" if shape else "one number"
        raise DataError(f"{function!r} returns shapes {shapes}: expected {expected}")


def arguments_by_name(arguments: Mapping[str, ArrayLike] | None) -> Mapping[str, ArrayLike]:
    """Return `arguments` after a type check, with an empty dictionary in place of None."""
    if arguments is not None and not isinstance(arguments, Mapping):
        raise DataError(f"arguments is {quote(arguments)}: expected a dictionary")
    return arguments or {}


def make_arm(
    plant: Plant,
    runs: int | None,
    steps: int,
    *,
    torque: Any = None,
    reduce: Function | None = None,
    arguments: Mapping[str, ArrayLike] | None = None,
    other_arguments: Collection[str] = (),
) -> tuple[Arm, list[Array]]:
    """Return the `Arm` for a plant and its torques, and the values of the arm's inputs, in order.

    The inputs are `tau` if `torque` is an array, `inertia` if the plant has it, and the further
    arguments of the functions `torque` and `reduce`. The shape of a value determines whether the
    input changes per step, per run or never (its rate, see `Input`). `runs` is the number of
    roll-outs; None stands for a simulation, whose arrays have no axis for runs. `other_arguments`
    are further names allowed in `arguments`, for events and recorded functions.
    """
    robot = plant.robot
    if callable(torque) and not isinstance(torque, Function):
        raise DataError(f"torque is {quote(torque)}: expected a function under armlet.function")
    function = torque if isinstance(torque, Function) else None
    check_result("torque", function, (robot.nv,))
    check_result("reduce", reduce, ())
    arguments = arguments_by_name(arguments)
    shapes = argument_shapes(function, STATE, arguments)
    state = STATE if torque is None or function is not None else (*STATE, "tau")
    for name, shape in argument_shapes(reduce, state, arguments).items():
        if shapes.setdefault(name, shape) != shape:
            raise DataError(
                f"{name!r} is an argument of shape {shapes[name]} of {function!r} and of "
                f"shape {shape} of {reduce!r}: expected the same, or two names"
            )
    inputs, values = [], []

    def add(name: str, label: str, value: Any, shape: Shape) -> None:
        array = validation.array(value, label, finite=False)
        inputs.append(Input(name, shape, input_rate(label, array.shape, shape, runs, steps)))
        values.append(array)

    if torque is not None and function is None:
        add("tau", "torque", torque, (robot.nv,))
    if plant.inertia is not None:
        add("inertia", "inertia", plant.inertia, (robot.nb, 10))
    for name, value in arguments.items():
        if name in shapes:
            add(PREFIX + name, name, value, shapes[name])
        elif name not in other_arguments:
            raise DataError(f"no function has an argument {name!r}: expected one that has")
    friction = Friction() if plant.friction is True else plant.friction or None
    stops = Stops() if plant.stops is True else plant.stops or None
    if friction is not None and not friction.acts_on(robot):
        friction = None
    return Arm(robot, function, friction, stops, tuple(inputs)), values


def argument_shapes(
    function: Function | None, state: Collection[str], arguments: Mapping[str, ArrayLike]
) -> dict[str, Shape]:
    """Return shapes of non-`state` arguments; raise if an argument has no value in `arguments`."""
    if function is None:
        return {}
    shapes = {x.name: x.shape for x in function.inputs.values() if x.name not in state}
    for name in shapes:
        if name not in arguments:
            raise DataError(
                f"{function!r} has an argument {name!r} without a value: expected "
                f"arguments={{{name!r}: ...}}"
            )
    return shapes


def input_rate(name: str, array_shape: Shape, shape: Shape, runs: int | None, steps: int) -> str:
    """Return the rate of an input (see `Input`) from its shape and the shape of its value."""
    axes: dict[str, Shape] = {"once": (), "step": (steps,)}
    if runs is not None:
        axes |= {"run": (runs,), "state": (steps, runs)}
    fits = [rate for rate, leading in axes.items() if array_shape == (*leading, *shape)]
    if len(fits) > 1 and runs == 1:  # one run of one step: all fitting rates mean the same
        fits = [rate for rate in fits if rate in ("once", "step")]
    if not fits:
        expected = ", ".join(str((*leading, *shape)) for leading in axes.values())
        raise DataError(f"{name} has shape {array_shape}: expected one of {expected}")
    if len(fits) > 1:
        raise DataError(
            f"{name} has shape {array_shape}, and there are as many roll-outs as steps: expected "
            f"a value for both, of shape {(steps, runs, *shape)}"
        )
    return fits[0]


def has_rows(x: Input) -> bool:
    """Return whether the value of an input has one row per step."""
    return x.rate in ("step", "state")


def first_inputs(arm: Arm, values: Sequence[Array]) -> dict[str, Array]:
    """Return input name -> value in the first step of the first run."""
    first = {}
    for x, value in zip(arm.inputs, values, strict=True):
        at_start = value[0] if has_rows(x) else value
        first[x.name] = at_start[0] if x.rate in ("run", "state") else at_start
    return first


# ------------------------------------------------------------------ the loop


def step_loop(arm: Arm, method: str, reduce: Function | None = None, staged: bool = False) -> Loop:
    """Return a loop that records q and qd; its body is one step or, if `staged`, one stage."""
    integrator, robot = INTEGRATORS[method], arm.robot
    if integrator.needs_vector_space:
        robot._require_vector_space(f"the integrator {method}")
    memory = STAGE_MEMORY if staged else integrator.memory
    carried = state_inputs(robot)
    if reduce is not None:
        carried.append(Input("cost", ()))
    if memory:
        carried.append(Input("memory", (memory, robot.nv)))
    inputs, stages = [*carried, Input("dt", (), "once"), *arm.inputs], 1
    if staged:
        assert integrator.rows is not None
        stages, *row_shape = integrator.rows.shape
        inputs.append(Input("row", (*row_shape,), "stage"))
    advance = integrator.stage if staged else integrator.step
    assert advance is not None

    def step(q: Any, qd: Any, t: Any, dt: Any, **more: Any) -> Any:
        cost, memory, row = (more.pop(name, None) for name in ("cost", "memory", "row"))
        u, past = more, [x for x in (memory, row) if x is not None]
        q_new, qd_new, *rest = advance(arm, dt, t, q, qd, u, *past)
        outputs = [q_new, qd_new, t + (dt if row is None else row[-1] * dt)]
        if reduce is not None:
            state = {"t": t, "q": q, "qd": qd}
            state |= {"tau": u["tau"]} if "tau" in u else {}
            outputs.append(cost + reduce.record(call_arguments(reduce, state, u)))
        return tuple(np.array(x, dtype=object) for x in (*outputs, *rest))

    step.__name__ = f"{'stage' if staged else 'step'}_of_{method}"
    carried_to = {k: x.name for k, x in enumerate(carried)}
    return Loop(_trace(step, inputs), carried_to, recorded=(0, 1), stages=stages)


def _trace(function: Any, inputs: Sequence[Input]) -> Program:

    def body(_graph: Any, *arrays: Any) -> Any:
        pairs = zip(inputs, arrays, strict=True)
        return function(**{x.name: as_traced(y) if x.shape else y[()] for x, y in pairs})

    return trace_function(function.__name__, body, inputs)


def acceleration_kernel(arm: Arm) -> Kernel:
    """Compile the accelerations as a function of q, qd, t and all inputs of an arm."""

    def acceleration(q: Any, qd: Any, t: Any, **u: Any) -> Any:
        return arm.acceleration(t, q, qd, u)

    inputs = [*state_inputs(arm.robot), *(x._replace(rate="state") for x in arm.inputs)]
    return arm.robot._once(
        ("acceleration kernel", arm), lambda: Kernel(_trace(acceleration, inputs))
    )


def loop_kernel(
    arm: Arm,
    method: str,
    reduce: Function | None = None,
    staged: bool = False,
    derivative: str = "",
    names: Sequence[str] = (),
) -> LoopKernel:
    """Compile the loop of `step_loop`, or return it from the robot's cache.

    `derivative` "jvp" or "vjp" selects the derivative of the loop with respect to the inputs
    `names`. "states" selects a loop that records all carried values, which "vjp" takes as inputs.
    """

    def compile_loop() -> LoopKernel:
        with status(f"tracing steps of {method}"):
            step = "step", arm, method, reduce, staged
            loop = arm.robot._once(step, lambda: step_loop(*step[1:]))
            if derivative == "states":
                loop = replace(loop, recorded=(*loop.carried,))
            elif derivative:
                loop = getattr(loop, derivative)(names)
            return LoopKernel(loop)

    key = "loop", arm, method, reduce, staged, derivative, *names
    return arm.robot._once(key, compile_loop)


# ------------------------------------------------------------------ running it


@dataclass(frozen=True)
class Steps:
    """Settings for `run`: arm, integrator, values of inputs, and length and number of steps."""

    arm: Arm
    method: str
    values: Sequence[Array]
    """The values of the arm's inputs, in the order of `arm.inputs`."""
    dt: float
    count: int
    every: int = 1
    """The number of steps per recorded row."""
    reduce: Function | None = None
    threads: int = 1

    @property
    def times(self) -> Array:
        """The times of the recorded rows, in s."""
        rows = -(-self.count // self.every)
        times: Array = self.dt * np.minimum(np.arange(1, rows + 1) * self.every, self.count)
        return times

    def values_between(self, begin: int, end: int) -> list[Array]:
        """Return the values of the inputs for the steps `begin` to `end` - 1."""
        return [
            value[begin:end] if has_rows(x) else value
            for x, value in zip(self.arm.inputs, self.values, strict=True)
        ]


def start_state(steps: Steps, q0: Array, qd0: Array) -> list[Array]:
    """Return the initial q, qd, t and, if there is a `reduce`, cost of all runs."""
    return [q0, qd0, *[np.zeros(len(q0))] * (1 if steps.reduce is None else 2)]


def run(steps: Steps, q0: Array, qd0: Array, keep: bool = False) -> Rollouts:
    """Simulate all runs; after Ctrl-C, return the rows so far if `keep`, else raise."""
    integrator, runs, every = INTEGRATORS[steps.method], len(q0), steps.every
    state, first = start_state(steps, q0, qd0), 0
    started: list[list[Array]] = []
    if integrator.memory:
        first = integrator.memory // 2
        if steps.count <= first:
            return run(replace(steps, method=STARTER), q0, qd0, keep)
        started, memory = _first_steps(steps, state, first)
        state = [*started[-1], memory]
    # costs are sums over whole steps, so such steps are not split into stages
    staged = integrator.rows is not None and steps.reduce is None
    kernel = loop_kernel(steps.arm, steps.method, steps.reduce, staged)
    if staged:
        state.append(np.zeros((runs, STAGE_MEMORY, steps.arm.robot.nv)))
    arrays = [*state, np.array(steps.dt), *steps.values, *([integrator.rows] if staged else [])]
    done, results = first, kernel.empty_results(runs, steps.count, every)
    blocks = kernel.run_blocks(
        arrays, results, runs, range(first, steps.count), every, steps.threads
    )
    try:
        with advancing(f"{steps.method} of {steps.arm.robot.name}") as advance:
            for done in blocks:
                advance(done / steps.count)
    except KeyboardInterrupt:
        if not keep:
            raise
    q, qd, *ends = kernel.outputs(results)
    for step, (q_then, qd_then, *_) in enumerate(started):
        if (step + 1) % every == 0:
            q[step // every], qd[step // every] = q_then, qd_then
    rows = len(q) if done == steps.count or not runs else done // every
    cost = None if steps.reduce is None else ends[1]
    return Rollouts(steps.times[:rows], q[:rows], qd[:rows], cost)


def _first_steps(steps: Steps, state: list[Array], count: int) -> tuple[list[list[Array]], Array]:
    """Take the first `count` steps of a multistep integrator by `STARTER`.

    Return one list [q, qd, t, cost (if any)] per step, and the memory from which the multistep
    integrator continues (see `Integrator.memory`), of shape (runs, 2 * count, nv).
    """
    kernel = loop_kernel(steps.arm, STARTER, steps.reduce)
    acceleration = acceleration_kernel(steps.arm)
    states: list[list[Array]] = []
    past: list[Array] = []
    for k in range(count):
        values = steps.values_between(k, k + 1)
        now = [
            np.broadcast_to(value[0] if has_rows(x) else value, (len(state[0]), *x.shape))
            for x, value in zip(steps.arm.inputs, values, strict=True)
        ]
        past = [state[1], acceleration(*state[:3], *now), *past]
        q, qd, *ends = kernel(*state, np.array(steps.dt), *values, runs=len(state[0]), steps=1)
        state = [q[0], qd[0], *ends]
        states.append(state)
    return states, np.stack(past, axis=1)

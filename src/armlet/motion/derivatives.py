"""Derivatives of roll-outs: along directions, step by step, and of costs, back from the end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError
from armlet.graph import Input
from armlet.motion.methods import METHODS
from armlet.motion.plan import Plan, Rollouts, times
from armlet.robot import RobotModel
from armlet.runtime.loops import LoopKernel

Array = NDArray[np.float64]
MEMORY = 2**28
"""How many bytes of states are kept to go back through; longer runs are computed twice."""
STARTS = {"q0": "q", "qd0": "qd"}
"""What is carried, by the names of its starts."""


def inputs_named(plan: Plan, names: Collection[str], what: str) -> list[str]:
    """The names of the inputs among what a derivative is asked by, without the starts'."""
    method = METHODS[plan.method]
    if method.memory:
        raise DataError(
            f"{plan.method} has no derivatives: expected a method that remembers no past steps"
        )
    given = [x.name for x in plan.inputs]
    known = [*STARTS, *("torque" if name == "tau" else name for name in given)]
    for name in names:
        if name not in known:
            raise DataError(f"{what} has {name!r}: expected names of {', '.join(known)}")
    return ["tau" if name == "torque" else name for name in names if name not in STARTS]


def forward(
    plan: Plan,
    robot: RobotModel,
    starts: Sequence[Array],
    values: Sequence[Array],
    along: Mapping[str, Array],
    dt: float,
    steps: int,
    every: int,
    threads: int,
) -> Rollouts:
    """The motions, and their derivatives along directions of what is given."""
    names = inputs_named(plan, along, "along")
    directions = _directions(plan, starts, values, along)

    def made() -> LoopKernel:
        return LoopKernel(plan.loop(robot).jvp(names))

    kernel = plan.once(robot, ("jvp", *names), made)
    if plan.reduce is not None:
        every = steps
    state = plan.start(*starts)
    moved = [directions["q0"], directions["qd0"], *(np.zeros(len(x)) for x in state[2:])]
    more = [directions[name] for name in names]
    found = kernel(
        *state, np.array(dt), *values, *moved, *more,
        runs=len(starts[0]), steps=steps, every=every, threads=threads,
    )  # fmt: skip
    t, half = times(dt, steps, every), len(found) // 2
    motion, slopes = (
        Rollouts(t, x[0], x[1], None if plan.reduce is None else x[3])
        for x in (found[:half], found[half:])
    )
    return motion._replace(along=slopes)


def _directions(
    plan: Plan, starts: Sequence[Array], values: Sequence[Array], along: Mapping[str, Array]
) -> dict[str, Array]:
    """The direction of each start and input, zero where none is given."""
    given = {**dict(zip(STARTS, starts, strict=True)),
             **{x.name: value for x, value in zip(plan.inputs, values, strict=True)}}  # fmt: skip
    found = {name: np.zeros_like(x) for name, x in given.items()}
    for name, direction in along.items():
        inner = "tau" if name == "torque" else name
        found[inner] = np.asarray(direction, dtype=float)
        if found[inner].shape != given[inner].shape:
            raise DataError(
                f"the direction of {name} has shape {found[inner].shape}: expected that of {name}, "
                f"{given[inner].shape}"
            )
    return found


def reverse(
    plan: Plan,
    robot: RobotModel,
    starts: Sequence[Array],
    values: Sequence[Array],
    by: Sequence[str],
    dt: float,
    steps: int,
    threads: int,
) -> Rollouts:
    """The ends of the motions with their costs, and the derivatives of the sum of all costs.

    States are kept for as many steps as fit into MEMORY, and else at the starts of pieces of the
    run, each of which is then computed again on the way back.
    """
    names = inputs_named(plan, by, "gradient")
    if plan.reduce is None:
        raise DataError("a gradient is that of a cost: expected reduce=, a function of your own")

    def made() -> tuple[LoopKernel, LoopKernel]:
        loop = plan.loop(robot)
        return LoopKernel(replace(loop, recorded=(0, 1, 2))), LoopKernel(loop.vjp(names))

    onward, back = plan.once(robot, ("vjp", *names), made)
    runs = len(starts[0])
    options = {"runs": runs, "threads": threads}
    piece = max(isqrt(steps) + 1, MEMORY // (8 * runs * (robot.nq + robot.nv + 1)))
    pieces = [(begin, min(begin + piece, steps)) for begin in range(0, steps, piece)]

    def run(state: Sequence[Array], begin: int, end: int, every: int) -> list[Array]:
        given = (*state, np.array(dt), *plan.between(values, begin, end))
        return [*onward(*given, steps=end - begin, every=every, **options)]

    states = [plan.start(*starts)]
    for begin, end in pieces[:-1]:
        *rows, cost = run(states[-1], begin, end, end - begin)
        states.append([*(x[-1] for x in rows), cost])
    last: list[Array] = []
    weights = [np.zeros((runs, robot.nq)), np.zeros((runs, robot.nv)), np.zeros(runs),
               np.ones(runs)]  # fmt: skip
    inputs = {x.name: x for x in plan.inputs}
    sums = {
        name: np.zeros((runs, *inputs[name].shape))
        for name in names
        if inputs[name].rate in ("run", "once")
    }
    found: dict[str, list[Array]] = {name: [] for name in names}
    for (begin, end), state in zip(reversed(pieces), reversed(states), strict=True):
        *rows, cost = run(state, begin, end, 1)
        last = last or [*(x[-1] for x in rows), cost]
        before = [np.concatenate([x[None], y[:-1]])[::-1]
                  for x, y in zip(state, rows, strict=False)]  # fmt: skip
        known = dict(zip(("q", "qd", "t"), before, strict=True)) | {"dt": np.array(dt)}
        for x, value in zip(plan.inputs, plan.between(values, begin, end), strict=True):
            known[x.name] = value[::-1] if x.rate in ("step", "state") else value
        wanted = [*back.loop.body.inputs][: -len(weights) - len(sums)]
        results = back(
            *(known[name] for name in wanted), *weights, *sums.values(),
            steps=end - begin, every=1, **options,
        )  # fmt: skip
        weights = [*results[:4]]
        for name, slopes in zip(names, results[4:], strict=True):
            if name in sums:
                sums[name] = slopes
            else:
                found[name].insert(0, slopes[::-1])
    gradient = {"q0": weights[0], "qd0": weights[1]}
    for name in names:
        slopes = sums[name] if name in sums else np.concatenate(found[name])
        gradient[name] = _as_given(inputs[name], slopes)
    asked = {name: gradient["tau" if name == "torque" else name] for name in by}
    q, qd, _, cost = last
    return Rollouts(times(dt, steps, steps), q[None], qd[None], cost, asked)


def _as_given(x: Input, slopes: Array) -> Array:
    """Derivatives for every run, summed where one value is given for all runs."""
    axis = {"once": 0, "step": 1}.get(x.rate)
    return slopes if axis is None else slopes.sum(axis)

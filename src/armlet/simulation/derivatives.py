"""Derivatives of roll-outs: along directions, step by step, and of costs, back from the end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet._support.progress import advancing
from armlet.errors import DataError, quoted
from armlet.graph import Input
from armlet.robot import RobotModel
from armlet.runtime.loop_kernel import LoopKernel
from armlet.simulation.arguments import PREFIX
from armlet.simulation.integrators import METHODS
from armlet.simulation.plan import Plan, Rollouts, times

Array = NDArray[np.float64]
MEMORY = 2**28
"""How many bytes of states are kept to go back through; longer runs are computed twice."""
STARTS = {"q0": "q", "qd0": "qd"}
"""What is carried, by the names of its starts."""


def inputs_named(plan: Plan, names: Collection[str], what: str) -> dict[str, str]:
    """The starts and inputs that a derivative is asked by, by the names that a user gives them."""
    method = METHODS[plan.method]
    if method.memory:
        raise DataError(
            f"{plan.method} has no derivatives: expected a method that remembers no past steps"
        )
    if isinstance(names, str):
        raise DataError(f"{what} is {quoted(names)}: expected a list of names")
    inputs = [x.name for x in plan.inputs]
    own = {"q0": "q0", "qd0": "qd0"}
    own |= {name: x for name, x in (("torque", "tau"), ("inertia", "inertia")) if x in inputs}
    arguments = {x.removeprefix(PREFIX): x for x in inputs if x.startswith(PREFIX)}
    for name in names:
        if name in own and name in arguments:
            raise DataError(
                f"{what} has {name!r}, which is also an argument of a function: expected an "
                "argument with another name"
            )
        if name not in own and name not in arguments:
            known = ", ".join({**own, **arguments})
            raise DataError(f"{what} has {quoted(name)}: expected names of {known}")
    return {name: own.get(name) or arguments[name] for name in names}


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
    asked = inputs_named(plan, along, "along")
    names = [x for x in asked.values() if x not in STARTS]
    directions = _directions(plan, starts, values, along, asked)

    def made() -> LoopKernel:
        return LoopKernel(plan.loop(robot).jvp(names))

    kernel = plan.once(robot, ("jvp", *names), made)
    if plan.reduce is not None:
        every = steps
    state = plan.start(*starts)
    moved = [directions["q0"], directions["qd0"], *(np.zeros(len(x)) for x in state[2:])]
    more = [directions[name] for name in names]
    with advancing(f"derivatives of {plan.method} of {robot.name}") as advance:
        found = kernel(
            *state, np.array(dt), *values, *moved, *more,
            runs=len(starts[0]), steps=steps, every=every, threads=threads, advance=advance,
        )  # fmt: skip
    t, half = times(dt, steps, every), len(found) // 2
    motion, slopes = (
        Rollouts(t, x[0], x[1], None if plan.reduce is None else x[3])
        for x in (found[:half], found[half:])
    )
    return motion._replace(along=slopes)


def _directions(
    plan: Plan,
    starts: Sequence[Array],
    values: Sequence[Array],
    along: Mapping[str, Array],
    asked: Mapping[str, str],
) -> dict[str, Array]:
    """The direction of each start and input, zero where none is given."""
    given = {**dict(zip(STARTS, starts, strict=True)),
             **{x.name: value for x, value in zip(plan.inputs, values, strict=True)}}  # fmt: skip
    found = {name: np.zeros_like(x) for name, x in given.items()}
    for name, direction in along.items():
        expected = given[asked[name]].shape
        if direction.shape != expected:
            raise DataError(
                f"the direction of {name} has shape {direction.shape}: expected that of {name}, "
                f"{expected}"
            )
        found[asked[name]] = direction
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
    asked = inputs_named(plan, by, "gradient")
    names = [x for x in asked.values() if x not in STARTS]
    if plan.reduce is None:
        raise DataError("a gradient is that of a cost: expected reduce=, a function of your own")
    way = _Way(plan, robot, values, names, dt, len(starts[0]), threads)
    bytes_of_step = 8 * max(1, len(starts[0])) * (robot.nq + robot.nv + 1)
    piece = max(isqrt(steps) + 1, MEMORY // bytes_of_step)
    pieces = [(begin, min(begin + piece, steps)) for begin in range(0, steps, piece)]
    states = [plan.start(*starts)]
    with advancing(f"gradient of {plan.method} of {robot.name}") as advance:
        for begin, end in pieces[:-1]:
            states.append([x[-1] for x in way.onward(states[-1], begin, end, end - begin)])
        q, qd, _, cost = way.back(states[-1], *pieces[-1])
        for (begin, end), state in zip(pieces[-2::-1], states[-2::-1], strict=True):
            advance(1 - end / steps)
            way.back(state, begin, end)
    gradient = way.gradient()
    by_name = {name: gradient[x] for name, x in asked.items()}
    return Rollouts(times(dt, steps, steps), q[None], qd[None], cost, by_name)


class _Way:
    """The way through the steps of motions and back: derivatives of the sum of all costs."""

    def __init__(
        self,
        plan: Plan,
        robot: RobotModel,
        values: Sequence[Array],
        names: Sequence[str],
        dt: float,
        runs: int,
        threads: int,
    ) -> None:
        def made() -> tuple[LoopKernel, LoopKernel]:
            loop = plan.loop(robot)
            every = replace(loop, recorded=(*loop.carried,))
            return LoopKernel(every), LoopKernel(loop.vjp(names))

        self._onward, self._back = plan.once(robot, ("vjp", *names), made)
        self.plan, self.values, self.names, self.dt = plan, values, names, np.array(dt)
        self.options: dict[str, Any] = {"runs": runs, "threads": threads}
        self.inputs = {x.name: x for x in plan.inputs}
        shapes = ((runs, robot.nq), (runs, robot.nv), (runs,))
        self.weights: list[Array] = [*map(np.zeros, shapes), np.ones(runs)]
        self.sums: dict[str, Array] = {}
        self.rows: dict[str, list[Array]] = {}
        for name in names:
            x = self.inputs[name]
            if x.rate in ("run", "once"):
                self.sums[name] = np.zeros((runs, *x.shape))
            else:
                self.rows[name] = []

    def onward(self, state: Sequence[Array], begin: int, end: int, every: int) -> tuple[Array, ...]:
        """Rows of what is carried, from one step to another."""
        given = (*state, self.dt, *self.plan.between(self.values, begin, end))
        return self._onward(*given, steps=end - begin, every=every, **self.options)

    def back(self, state: Sequence[Array], begin: int, end: int) -> list[Array]:
        """Go back to a step whose state is given, from a later one, whose state is returned."""
        rows = self.onward(state, begin, end, 1)
        known = {"dt": self.dt}
        for name, start, later in zip(("q", "qd", "t"), state, rows, strict=False):
            known[name] = np.concatenate([start[None], later[:-1]])[::-1]
        between = self.plan.between(self.values, begin, end)
        for x, value in zip(self.plan.inputs, between, strict=True):
            known[x.name] = value[::-1] if x.rate in ("step", "state") else value
        wanted = [known[name] for name in self._back.loop.body.inputs if name in known]
        given = (*wanted, *self.weights, *self.sums.values())
        found = self._back(*given, steps=end - begin, **self.options)
        self.weights = [*found[: len(self.weights)]]
        for name, slopes in zip(self.names, found[len(self.weights) :], strict=True):
            if name in self.sums:
                self.sums[name] = slopes
            else:
                self.rows[name].insert(0, slopes[::-1])
        return [x[-1] for x in rows]

    def gradient(self) -> dict[str, Array]:
        """The derivatives by everything asked for and by the starts, each as it was given."""
        found = dict(zip(STARTS, self.weights, strict=False))
        for name, slopes in self.sums.items():
            found[name] = _as_given(self.inputs[name], slopes)
        for name, pieces in self.rows.items():
            found[name] = _as_given(self.inputs[name], np.concatenate(pieces))
        return found


def _as_given(x: Input, slopes: Array) -> Array:
    """Derivatives for every run, summed where one value is given for all runs."""
    axis = {"once": 0, "step": 1}.get(x.rate)
    return slopes if axis is None else slopes.sum(axis)

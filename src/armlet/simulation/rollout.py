"""`rollout`: simulate many runs of an arm at once, and differentiate the results."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from math import isqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet._support.progress import advancing
from armlet.api.functions import Function
from armlet.api.robot import Robot
from armlet.errors import DataError, DataWarning, quote
from armlet.simulation.forces import PREFIX, Plant, cached_rates
from armlet.simulation.integrators import (
    INTEGRATORS,
    default_integrator,
    warn_if_unstable,
)
from armlet.simulation.step import (
    Rollouts,
    Steps,
    check_steps,
    first_inputs,
    has_rows,
    is_finite,
    loop_kernel,
    make_arm,
    positions,
    run,
    start_state,
)

Array = NDArray[np.float64]
MEMORY = 2**28
"""Memory limit in bytes for the states that a gradient stores; see `_reverse`."""
STARTS = ("q0", "qd0")


def rollout(
    robot: Robot | Plant,
    q0: ArrayLike,
    qd0: ArrayLike | None = None,
    torque: ArrayLike | Function | None = None,
    *,
    dt: float,
    steps: int,
    method: str | None = None,
    every: int = 1,
    reduce: Function | None = None,
    arguments: Mapping[str, ArrayLike] | None = None,
    wrt: Sequence[str] | Mapping[str, ArrayLike] = (),
    threads: int = 1,
) -> Rollouts:
    """Simulate many runs of an arm at once, by steps of fixed length.

    Parameters
    ----------
    robot : Robot or Plant
        A `Robot` has no friction or stops here; a `Plant` sets both, and may set inertias per run.
    q0, qd0 : array_like of shape (N, nq) and (N, nv)
        The initial positions and velocities; velocities are zero by default. The quaternions of
        ball joints must have the length 1, up to 1e-6.
    torque : array_like or Function, optional
        Constant torques of shape (nv,) or (N, nv), by default zero; torques of shape (steps, nv) or
        (steps, N, nv), held during each step; or an `armlet.function` of q, qd, t and further
        arguments, evaluated whenever the integrator evaluates forces.
    dt : float
        The length of a step in s.
    steps : int
        The number of steps.
    method : str, optional
        One of `armlet.INTEGRATORS`: by default "rosenbrock2" if friction or stops act, and
        "semi_implicit_euler" otherwise. A `DataWarning` reports steps that are too long for
        friction, stops, springs or the torque function in the initial state of the first run;
        later calls reuse this result while constant arguments and inertias are unchanged.
    every : int
        The number of steps per returned row; the last row is the end of the run.
    reduce : Function, optional
        An `armlet.function` of q, qd, t and further arguments; also of tau, the torques of a step,
        if `torque` is an array. The `cost` of the result is the sum of the function's values at the
        start of every step. Of q and qd, only the last row is then returned.
    arguments : mapping of str to array_like, optional
        Further arguments of the functions by name: one value, or an array with a value per run
        (N, ...), per step (steps, ...), or per step and run (steps, N, ...).
    wrt : sequence of str, or mapping of str to array_like
        What to differentiate by: "q0", "qd0", "torque" (an array), "inertia" (of a `Plant`), or
        names of further arguments. A sequence of these names gives the `gradient` of the sum of all
        costs (reverse mode). A mapping from names to tangents, each with the shape of the value,
        gives `tangents`: derivatives of q, qd and cost along these tangents (forward mode). The
        tangents of the quaternions in q0 must be orthogonal to these.
    threads : int
        The number of threads that share the runs.

    Returns
    -------
    Rollouts
        A named tuple (t, q, qd, cost, gradient, tangents). Its property `finite`, of shape (N,), is
        False for runs that diverge: at the end, the state or cost is not finite, or a velocity is
        above 1e5. A `DataWarning` states the number of these runs.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> runs = armlet.rollout(robot, np.zeros((1000, 2)), dt=1e-3, steps=100, every=10)
    >>> runs.q.shape
    (10, 1000, 2)
    """
    plant = robot if isinstance(robot, Plant) else Plant(robot, friction=False)
    q0 = positions(plant.robot, q0, "q0", "N", finite=False)
    runs = len(q0)
    qd0 = np.zeros((runs, plant.robot.nv)) if qd0 is None else qd0
    qd0 = validation.array(qd0, "qd0", ("N", plant.robot.nv), finite=False)
    if len(qd0) != runs:
        raise DataError(f"q0 has {runs} rows and qd0 {len(qd0)}: expected the same")
    check_steps(dt, steps, every)
    validation.integer(threads, "threads", low=1)
    arm, values = make_arm(plant, runs, steps, torque=torque, reduce=reduce, arguments=arguments)
    method = default_integrator(arm, "semi_implicit_euler") if method is None else method
    validation.one_of(method, "method", INTEGRATORS)
    if runs:
        rates = cached_rates(arm, q0[0], qd0[0], first_inputs(arm, values))
        warn_if_unstable(rates, method, dt, stacklevel=2)
    every = every if reduce is None else steps
    fixed_steps = Steps(arm, method, values, dt, steps, every, reduce, threads)
    if wrt is None or len(wrt) == 0:  # an array of names has no truth value
        result = run(fixed_steps, q0, qd0)
    elif isinstance(wrt, Mapping):
        result = _forward(fixed_steps, q0, qd0, wrt)
    else:
        result = _reverse(fixed_steps, q0, qd0, wrt)
    _warn_of_divergence(result)
    return result


def _warn_of_divergence(result: Rollouts) -> None:
    count = len(result.finite)
    if not result.finite.all():
        lost = np.flatnonzero(~result.finite)
        message = (
            f"{len(lost):,} of {count:,} roll-outs diverge, the first of them number {lost[0]}: "
            "`finite` says which do not; choose a smaller dt or another method"
        )
    elif bad := [name for name, x in (result.gradient or {}).items() if not np.isfinite(x).all()]:
        message = f"the gradient by {bad[0]!r} is not finite, while all costs are"
    elif result.tangents is not None and not (finite := is_finite(result.tangents)).all():
        message = f"the derivatives of {(~finite).sum():,} of {count:,} roll-outs are not finite"
    else:
        return
    warnings.warn(message, DataWarning, stacklevel=3)


# ------------------------------------------------------------------ derivatives


def _forward(steps: Steps, q0: Array, qd0: Array, tangents: Mapping[str, ArrayLike]) -> Rollouts:
    """Return roll-outs and their derivatives along `tangents` of initial states and inputs."""
    names = _input_names(steps, tangents)
    varied = [x for x in names.values() if x not in STARTS]
    arm, method, reduce = steps.arm, steps.method, steps.reduce
    values = dict(zip((x.name for x in arm.inputs), steps.values, strict=True))
    along = {name: np.zeros_like(x) for name, x in {"q0": q0, "qd0": qd0, **values}.items()}
    for name, value in tangents.items():
        shape = along[names[name]].shape
        label, expected = f"the tangent of {name}", f"that of {name}, {shape}"
        along[names[name]] = validation.array(value, label, shape, expected=expected, finite=False)

    kernel = loop_kernel(arm, method, reduce, derivative="jvp", names=varied)
    state = start_state(steps, q0, qd0)
    state_along = [along["q0"], along["qd0"], *(np.zeros(len(x)) for x in state[2:])]
    arrays = [*state, np.array(steps.dt), *steps.values, *state_along, *(along[x] for x in varied)]
    with advancing(f"derivatives of {method} of {arm.robot.name}") as advance:
        results = kernel(
            *arrays,
            runs=len(q0),
            steps=steps.count,
            every=steps.every,
            threads=steps.threads,
            advance=advance,
        )
    half = len(results) // 2
    runs, derivatives = (
        Rollouts(steps.times, x[0], x[1], None if reduce is None else x[3])
        for x in (results[:half], results[half:])
    )
    return runs._replace(tangents=derivatives)


def _reverse(steps: Steps, q0: Array, qd0: Array, wrt: Sequence[str]) -> Rollouts:
    """Return final states and costs of roll-outs, and the gradient of the sum of all costs.

    If the states do not fit into MEMORY, the steps are split into segments. Only the first state of
    each segment is stored, and the backward pass computes the other states again.
    """
    names = _input_names(steps, wrt)
    if steps.reduce is None:
        raise DataError("a gradient is that of a cost: expected reduce=, a user function")
    arm, runs, threads = steps.arm, len(q0), steps.threads
    inputs = [x for x in arm.inputs if x.name in names.values()]
    by, loop = [x.name for x in inputs], (arm, steps.method, steps.reduce)
    forward = loop_kernel(*loop, derivative="states")
    backward = loop_kernel(*loop, derivative="vjp", names=by)
    cotangents = [np.zeros_like(q0), np.zeros_like(qd0), np.zeros(runs), np.ones(runs)]
    sums = {x.name: np.zeros((runs, *x.shape)) for x in inputs if not has_rows(x)}
    blocks: dict[str, list[Array]] = {x.name: [] for x in inputs if has_rows(x)}

    def states(state: Sequence[Array], begin: int, end: int, every: int) -> tuple[Array, ...]:
        """Return q, qd, t and cost after steps `begin` to `end` - 1, one row per `every` steps."""
        arrays = (*state, np.array(steps.dt), *steps.values_between(begin, end))
        return forward(*arrays, runs=runs, steps=end - begin, every=every, threads=threads)

    def pull_back(state: Sequence[Array], begin: int, end: int) -> list[Array]:
        """Pull cotangents back from step `end` to `begin`; return q, qd, t and cost at `end`."""
        rows = states(state, begin, end, 1)
        values = {"dt": np.array(steps.dt)}
        for name, start, later in zip(("q", "qd", "t"), state, rows, strict=False):
            values[name] = np.concatenate([start[None], later[:-1]])[::-1]
        for x, value in zip(arm.inputs, steps.values_between(begin, end), strict=True):
            values[x.name] = value[::-1] if has_rows(x) else value
        used = [values[name] for name in backward.loop.body.inputs if name in values]
        arrays = (*used, *cotangents, *sums.values())
        results = backward(*arrays, runs=runs, steps=end - begin, threads=threads)
        cotangents[:] = results[: len(cotangents)]
        for x, derivatives in zip(inputs, results[len(cotangents) :], strict=True):
            if has_rows(x):
                blocks[x.name].insert(0, derivatives[::-1])
            else:
                sums[x.name] = derivatives
        return [x[-1] for x in rows]

    bytes_of_step = 8 * max(1, runs) * (arm.robot.nq + arm.robot.nv + 1)
    length = max(isqrt(steps.count) + 1, MEMORY // bytes_of_step)
    segments = [(k, min(k + length, steps.count)) for k in range(0, steps.count, length)]
    starts = [start_state(steps, q0, qd0)]
    with advancing(f"gradient of {steps.method} of {arm.robot.name}") as advance:
        for begin, end in segments[:-1]:
            starts.append([x[-1] for x in states(starts[-1], begin, end, end - begin)])
        q, qd, _, cost = pull_back(starts[-1], *segments[-1])
        for (begin, end), state in zip(segments[-2::-1], starts[-2::-1], strict=True):
            advance(1 - end / steps.count)
            pull_back(state, begin, end)
    by_input = dict(zip(STARTS, cotangents, strict=False)) | sums
    by_input |= {name: np.concatenate(rows) for name, rows in blocks.items()}
    axis_of_runs = {"once": 0, "step": 1}
    for x in inputs:
        if x.rate in axis_of_runs:  # all runs share the value, so their derivatives add up
            by_input[x.name] = by_input[x.name].sum(axis_of_runs[x.rate])
    gradient = {name: by_input[x] for name, x in names.items()}
    return Rollouts(steps.times, q[None], qd[None], cost, gradient)


def _input_names(steps: Steps, names: Collection[str]) -> dict[str, str]:
    """Check the names in `wrt`, and map each name to "q0", "qd0" or an input of the loop."""
    if INTEGRATORS[steps.method].memory:
        raise DataError(
            f"{steps.method} has no derivatives: expected an integrator that remembers no past "
            "steps"
        )
    if isinstance(names, str):
        raise DataError(f"wrt is {quote(names)}: expected a list of names")
    inputs = [x.name for x in steps.arm.inputs]
    own = {name: name for name in STARTS}
    own |= {name: x for name, x in (("torque", "tau"), ("inertia", "inertia")) if x in inputs}
    arguments = {x.removeprefix(PREFIX): x for x in inputs if x.startswith(PREFIX)}
    for name in names:
        if name in own and name in arguments:
            raise DataError(
                f"wrt has {name!r}, which is also an argument of a function: expected an "
                "argument with another name"
            )
        if name not in own and name not in arguments:
            expected = ", ".join({**own, **arguments})
            raise DataError(f"wrt has {quote(name)}: expected names of {expected}")
    return {name: own.get(name) or arguments[name] for name in names}

"""Roll-outs: many motions of an arm at the same time, in loops of machine code."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.validation import integer, one_of
from armlet.api.functions import Function
from armlet.errors import DataError, DataWarning, quoted
from armlet.robot import RobotModel
from armlet.simulation.arguments import Arguments, arguments_by_name, check_steps, numbers
from armlet.simulation.derivatives import forward, reverse
from armlet.simulation.integrators import METHODS
from armlet.simulation.plan import Plan, Rollouts
from armlet.simulation.stiffness import cached_rates, default_steps, warn_if_unstable
from armlet.simulation.system import Friction, Stops

Array = NDArray[np.float64]


def rollout(
    robot: RobotModel,
    q0: ArrayLike,
    qd0: ArrayLike | None = None,
    torque: ArrayLike | Function | None = None,
    *,
    dt: float,
    steps: int,
    method: str | None = None,
    every: int = 1,
    reduce: Function | None = None,
    inertia: ArrayLike | None = None,
    arguments: Mapping[str, ArrayLike] | None = None,
    friction: bool | Friction = False,
    stops: bool | Stops = False,
    gradient: Sequence[str] = (),
    along: Mapping[str, ArrayLike] | None = None,
    threads: int = 1,
) -> Rollouts:
    """Motions of an arm from many starts, by steps of fixed length, one per vector lane.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : array_like of shape (N, n)
        Where the motions start; at rest by default.
    torque : array_like or function of your own, optional
        Torques that do not change, of shape (n,), or (N, n) for each motion; torques of shape
        (steps, n) or (steps, N, n), held during each step; or an `armlet.function` of q, qd, t and
        further arguments, taken at every instant that the method asks for. None by default.
    dt : float
        The length of a step in s.
    steps : int
        How many there are.
    method : str, optional
        One of `armlet.METHODS`: by default "rosenbrock2" where friction or stops act, which are
        too stiff for explicit steps, and "semi_implicit_euler" otherwise. A method whose steps are
        too long for friction, stops or the torque function at the first start is warned of.
    every : int
        After how many steps a row is kept; the last row is the end.
    reduce : function of your own, optional
        Accumulate this function of q, qd, t and further arguments over the starts of all steps,
        and keep only the end. The sum is `cost`. Where `torque` is an array, an argument tau is
        the torque of the step.
    inertia : array_like of shape (nb, 10) or (N, nb, 10), optional
        Inertial parameters as in `robot.phi`, for all motions or for each.
    arguments : mapping of str to array_like, optional
        Further arguments of the functions: one value, or one for every motion (N, ...), every
        step (steps, ...) or both (steps, N, ...).
    friction : bool or Friction
        Whether drives have friction, and how it is made smooth. Springs and gravity compensation
        of the robot always act.
    stops : bool or Stops
        Whether joints have stops at their limits.
    gradient : sequence of str
        By what the sum of all costs is differentiated: "q0", "qd0", "torque" (an array),
        "inertia" or names of arguments. The derivatives go back through all steps.
    along : mapping of str to array_like, optional
        Directions of the same things, each of the shape of what is given, along which q, qd and
        the cost are differentiated step by step.
    threads : int
        How many threads share the motions.

    Returns
    -------
    Rollouts
        A named tuple t, q, qd, cost, gradient, along. Its property `finite`, of shape (N,), says
        which motions and costs stay finite; a `DataWarning` says how many do not.

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
    integer(threads, "threads", low=1)
    given = Arguments(robot, len(q0), steps, arguments_by_name(arguments), torque, reduce, inertia)
    laws = option(friction, Friction), option(stops, Stops)
    if method is None:
        method = default_steps(robot, *laws, "semi_implicit_euler")
    plan = Plan(one_of(method, "method", METHODS), given.torque, reduce, *laws, given.inputs)
    if len(q0):
        rates = cached_rates(plan, robot, q0[0], qd0[0], given.values)
        warn_if_unstable(rates, plan.method, dt, stacklevel=2)
    if gradient and along:
        raise DataError("gradient and along are both given: expected one of them in a call")
    starts, values = (q0, qd0), given.values
    if gradient:
        found = reverse(plan, robot, starts, values, gradient, dt, steps, threads)
    elif along:
        directions = {name: numbers(f"the direction of {name}", x) for name, x in along.items()}
        found = forward(plan, robot, starts, values, directions, dt, steps, every, threads)
    else:
        found = plan.run(robot, q0, qd0, values, dt, steps, every, threads)
    _warn_of_nan(found)
    return found


def _warn_of_nan(found: Rollouts) -> None:
    """Warn of motions, costs and derivatives that are not finite."""
    is_finite = found.finite
    if not is_finite.all():
        lost, count = np.flatnonzero(~is_finite), len(is_finite)
        said = (
            f"{len(lost):,} of {count:,} roll-outs are not finite at the end, the first of them "
            f"number {lost[0]}: `finite` says which are; choose a smaller dt or another method"
        )
    elif bad := [name for name, x in (found.gradient or {}).items() if not np.isfinite(x).all()]:
        said = f"the gradient by {bad[0]!r} is not finite, while all costs are"
    elif found.along is not None and not found.along.finite.all():
        lost = np.flatnonzero(~found.along.finite)
        said = f"the derivatives of {len(lost):,} of {len(is_finite):,} roll-outs are not finite"
    else:
        return
    warnings.warn(said, DataWarning, stacklevel=3)


def _starts(name: str, x: ArrayLike, n: int) -> Array:
    array = numbers(name, x)
    if array.ndim != 2 or array.shape[1] != n:
        raise DataError(f"{name} has shape {array.shape}: expected (N, {n})")
    return array


def option(x: Any, kind: type[Any]) -> Any:
    """A setting that is given, the default one for True, None for False."""
    if isinstance(x, kind):
        return x
    if not isinstance(x, bool):
        raise DataError(
            f"{kind.__name__.lower()} is {quoted(x)}: expected a bool or {kind.__name__}"
        )
    return kind() if x else None

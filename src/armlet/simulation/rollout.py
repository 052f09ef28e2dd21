"""`rollout`: many simulations of an arm at once, in one loop of machine code."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from armlet._support import validation
from armlet.api.functions import Function
from armlet.errors import DataError, DataWarning
from armlet.robot import RobotModel
from armlet.simulation.derivatives import forward, reverse
from armlet.simulation.forces import Friction, Stops, cached_rates
from armlet.simulation.integrators import INTEGRATORS, default_integrator, warn_if_unstable
from armlet.simulation.step import Rollouts, Steps, check_steps, first_inputs, make_arm, run


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
    tangents: Mapping[str, ArrayLike] | None = None,
    threads: int = 1,
) -> Rollouts:
    """Simulate an arm from many starts at once, by steps of fixed length, one run per vector lane.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : array_like of shape (N, n)
        The starts; at rest by default.
    torque : array_like or Function, optional
        Constant torques of shape (n,), or (N, n) for each run; torques of shape (steps, n) or
        (steps, N, n), held during each step; or an `armlet.function` of q, qd, t and further
        arguments, evaluated at every instant that the integrator asks for. None by default.
    dt : float
        The length of a step in s.
    steps : int
        How many there are.
    method : str, optional
        The integrator, one of `armlet.INTEGRATORS`: by default "rosenbrock2" where friction or
        stops act, which are too stiff for explicit steps, and "semi_implicit_euler" otherwise. A
        `DataWarning` says if steps are too long for friction, stops or the torque function at
        the first start.
    every : int
        After how many steps a row is kept; the last row is the end.
    reduce : Function, optional
        Sum this function of q, qd, t and further arguments over the starts of all steps, and keep
        only the last row. The sum is `cost`. Where `torque` is an array, an argument tau is
        the torque of the step.
    inertia : array_like of shape (nb, 10) or (N, nb, 10), optional
        Inertial parameters as in `robot.phi`, for all runs or for each.
    arguments : mapping of str to array_like, optional
        Further arguments of the functions: one value, or one for every run (N, ...), every step
        (steps, ...) or both (steps, N, ...).
    friction : bool or Friction
        Whether drives have friction, and how it is made smooth. Springs and gravity compensation
        of the robot always act.
    stops : bool or Stops
        Whether joints have stops at their limits.
    gradient : sequence of str
        What the sum of all costs is differentiated by: "q0", "qd0", "torque" (an array),
        "inertia" or names of arguments. The derivatives go back through all steps.
    tangents : mapping of str to array_like, optional
        Tangents of the same arguments, each of the shape of its value, along which q, qd and the
        cost are differentiated step by step.
    threads : int
        How many threads share the runs.

    Returns
    -------
    Rollouts
        A named tuple t, q, qd, cost, gradient, tangents. Its property `finite`, of shape (N,),
        says which runs and costs stay finite; a `DataWarning` says how many do not.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> runs = armlet.rollout(robot, np.zeros((1000, 2)), dt=1e-3, steps=100, every=10)
    >>> runs.q.shape
    (10, 1000, 2)
    """
    q0 = validation.array(q0, "q0", ("N", robot.nq), finite=False)
    runs = len(q0)
    if qd0 is None:
        qd0 = np.zeros((runs, robot.nv))
    else:
        qd0 = validation.array(qd0, "qd0", ("N", robot.nv), finite=False)
    if len(qd0) != runs:
        raise DataError(f"q0 has {runs} rows and qd0 {len(qd0)}: expected the same")
    check_steps(dt, steps, every)
    validation.integer(threads, "threads", low=1)
    arm, values = make_arm(
        robot,
        runs,
        steps,
        torque=torque,
        reduce=reduce,
        inertia=inertia,
        arguments=arguments,
        friction=friction,
        stops=stops,
    )
    method = default_integrator(arm, "semi_implicit_euler") if method is None else method
    validation.one_of(method, "method", INTEGRATORS)
    if runs:
        rates = cached_rates(arm, q0[0], qd0[0], first_inputs(arm, values))
        warn_if_unstable(rates, method, dt, stacklevel=2)
    every = every if reduce is None else steps
    loop = Steps(arm, method, values, dt, steps, every, reduce, threads)
    if gradient and tangents:
        raise DataError("gradient and tangents are both given: expected one of them in a call")
    if gradient:
        result = reverse(loop, q0, qd0, gradient)
    elif tangents:
        arrays = {
            name: validation.array(x, f"the tangent of {name}", finite=False)
            for name, x in tangents.items()
        }
        result = forward(loop, q0, qd0, arrays)
    else:
        result = run(loop, q0, qd0)
    _warn_of_nan(result)
    return result


def _warn_of_nan(result: Rollouts) -> None:
    """Warn of roll-outs, costs and derivatives that are not finite."""
    is_finite = result.finite
    count = len(is_finite)
    if not is_finite.all():
        lost = np.flatnonzero(~is_finite)
        message = (
            f"{len(lost):,} of {count:,} roll-outs are not finite at the end, the first of them "
            f"number {lost[0]}: `finite` says which are; choose a smaller dt or another method"
        )
    elif bad := [name for name, x in (result.gradient or {}).items() if not np.isfinite(x).all()]:
        message = f"the gradient by {bad[0]!r} is not finite, while all costs are"
    elif result.tangents is not None and not result.tangents.finite.all():
        lost = np.flatnonzero(~result.tangents.finite)
        message = f"the derivatives of {len(lost):,} of {count:,} roll-outs are not finite"
    else:
        return
    warnings.warn(message, DataWarning, stacklevel=3)

"""Roll-outs: many motions of an arm at the same time, in loops of machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api.functions import Function
from armlet.errors import DataError, quoted
from armlet.graph import Input
from armlet.graph.inputs import Shape
from armlet.motion.arguments import check_steps
from armlet.motion.derivatives import forward, reverse
from armlet.motion.methods import METHODS
from armlet.motion.plan import STATE, Plan, Rollouts
from armlet.motion.system import Friction, Stops
from armlet.robot import RobotModel
from armlet.runtime.threads import check_threads
from armlet.tracing import one_of

Array = NDArray[np.float64]


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
        A named tuple t, q, qd, cost, gradient, along.

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
    check_threads(threads)
    given = Given(robot, len(q0), steps, dict(arguments or {}), torque, reduce, inertia)
    plan = Plan(
        one_of(method, METHODS, "method"),
        given.torque,
        reduce,
        option(friction, Friction),
        option(stops, Stops),
        given.inputs,
    )
    if gradient and along:
        raise DataError("gradient and along are both given: expected one of them in a call")
    if gradient:
        return reverse(plan, robot, (q0, qd0), given.values, gradient, dt, steps, threads)
    if along:
        directions = {name: np.asarray(x, dtype=float) for name, x in along.items()}
        return forward(plan, robot, (q0, qd0), given.values, directions, dt, steps, every, threads)
    return plan.run(robot, q0, qd0, given.values, dt, steps, every, threads)


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


def option(x: Any, kind: type[Any]) -> Any:
    """A setting that is given, the default one for True, None for False."""
    if isinstance(x, kind):
        return x
    if not isinstance(x, bool):
        raise DataError(
            f"{kind.__name__.lower()} is {quoted(x)}: expected a bool or {kind.__name__}"
        )
    return kind() if x else None

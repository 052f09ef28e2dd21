"""Linear-quadratic regulators at a posture (`regulator`) or along a trajectory (`tracker`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet._support import validation
from armlet.api.functions import Function, function
from armlet.api.robot import Robot
from armlet.controllers.feedback import Array
from armlet.errors import DataError, ModelError, listing, quote
from armlet.simulation.step import check_steps, positions

BALANCE = 1e-6
"""The largest accepted gravity torque of a joint without drive, divided by weight times 1 m."""


class Regulator(NamedTuple):
    """The result of `regulator`: a feedback law that holds a posture, its gain and its cost."""

    torque: Function
    """A function of q and qd that returns the torques."""
    gain: Array
    """The gain G, (n, 2 n): τ = g - G x, with gravity torques g of the posture."""
    cost: Array
    """The matrix S, (2 n, 2 n), of the cost-to-go xᵀ S x, where x are the displacement from the
    posture, and q̇."""


class Tracker(NamedTuple):
    """The result of `tracker`: a feedback law along a trajectory, its arguments and its cost."""

    torque: Function
    """A function of q, qd and the four `arguments` that returns the torques."""
    arguments: dict[str, Array]
    """The `arguments=` for `simulate` and `rollout`: `target`, `target_velocity` and the torques
    `feedforward`, each with one row per step, and `gain` of shape (steps, n, 2 n)."""
    cost: Array
    """The matrices S of the cost-to-go, (steps + 1, 2 n, 2 n), one per row of the trajectory."""


def regulator(
    robot: Robot,
    q: ArrayLike,
    *,
    state_cost: ArrayLike,
    torque_cost: ArrayLike,
    driven: Sequence[str] | None = None,
    dt: float | None = None,
) -> Regulator:
    """Design a linear-quadratic regulator that holds a posture.

    The regulator minimises the integral of xᵀ Q x + uᵀ R u for the linear model
    `robot.state_space`, where x is the deviation of (q, q̇) from the posture at rest, and u is the
    deviation of the torques from the gravity torques.

    Parameters
    ----------
    robot : Robot
    q : array_like of shape (nq,)
        The posture.
    state_cost : array_like of shape (), (2 n,) or (2 n, 2 n)
        Q for displacements from the posture, then velocities: one number, the diagonal or the
        matrix. n is `robot.nv`.
    torque_cost : array_like of shape (), (n,) or (n, n)
        R: one number, the diagonal or the matrix.
    driven : sequence of str, optional
        The names of the joints that have a drive, or of entries of `robot.velocity_names`; by
        default all. Joints without a drive get no torque, so their gravity torque at the posture
        must be zero.
    dt : float, optional
        The length, in s, of steps with constant torques; by default torques vary continuously.

    Returns
    -------
    Regulator
        A named tuple (torque, gain, cost).

    Examples
    --------
    Both links upright, with a motor at the elbow alone:

    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> up = armlet.controllers.regulator(
    ...     robot, [np.pi / 2, 0.0], state_cost=1, torque_cost=1, driven=["joint2"]
    ... )
    >>> run = armlet.simulate(robot, [np.pi / 2 + 0.02, 0.0], torque=up.torque, duration=10.0)
    >>> bool(np.abs(run.q[-1] - [np.pi / 2, 0]).max() < 1e-3)
    True
    """
    posture = positions(robot, q, "q")
    n = robot.nv
    Q = _cost_matrix("state_cost", state_cost, 2 * n)
    R = _cost_matrix("torque_cost", torque_cost, n, positive=True)
    hold = robot.gravity_torque(posture)
    joints = _driven_joints(robot, driven, hold)
    A, B = robot.state_space(posture, np.zeros(n), hold)
    B, R = B[:, joints], R[np.ix_(joints, joints)]
    if dt is None:
        S = _infinite_horizon_cost("continuous", A, B, Q, R)
        best = np.linalg.solve(R, B.T @ S)
    else:
        check_steps(dt, 1)
        A, B = _discretize(A, B, dt)
        S = _infinite_horizon_cost("discrete", A, B, Q * dt, R * dt)
        best = _step_gain(A, B, R * dt, S)
    gain = np.zeros((n, 2 * n))
    gain[joints] = best

    @function(robot)
    def regulator(q: Array, qd: Array) -> Array:
        tau: Array = hold - gain @ np.concatenate([robot.difference(posture, q), qd])
        return tau

    return Regulator(regulator, gain, S)


def tracker(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    dt: float,
    state_cost: ArrayLike,
    torque_cost: ArrayLike,
    end_cost: ArrayLike | None = None,
) -> Tracker:
    """Design a time-varying linear-quadratic regulator along a trajectory.

    The feedforward torques of a step are the inverse dynamics at the row where the step starts. The
    gains follow from the discrete Riccati recursion, with one linear model per row.

    Parameters
    ----------
    robot : Robot
    q, qd, qdd : array_like of shape (steps + 1, nq), (steps + 1, nv) and (steps + 1, nv)
        The trajectory, with one row per time step dt.
    dt : float
        The time between rows in s, which is the length of a step.
    state_cost, torque_cost : array_like
        Q and R, as in `regulator`.
    end_cost : array_like, optional
        The matrix S of the cost-to-go at the last row: one number, the diagonal or the matrix; by
        default the solution for an infinite horizon.

    Returns
    -------
    Tracker
        A named tuple (torque, arguments, cost).

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot, dt = armlet.load("planar2r"), 1e-3
    >>> t = dt * np.arange(1001)[:, None]
    >>> q, qd, qdd = np.sin(t) * [1, 2], np.cos(t) * [1, 2], -np.sin(t) * [1, 2]
    >>> follow = armlet.controllers.tracker(
    ...     robot, q, qd, qdd, dt=dt, state_cost=[100, 100, 1, 1], torque_cost=1e-3
    ... )
    >>> run = armlet.simulate(
    ...     robot, q[0] + 0.1, qd[0], follow.torque, arguments=follow.arguments,
    ...     duration=1.0, dt=dt, method="semi_implicit_euler",
    ... )
    >>> bool(np.abs(run.q[-1] - q[-1]).max() < 1e-2)
    True
    """
    n = robot.nv
    target = positions(robot, q, "q", "rows")
    rows = len(target)
    if rows < 2:
        raise DataError(f"q has {rows} rows: expected 2 or more, the start and the end of a step")
    check_steps(dt, rows - 1)
    velocity = validation.array(qd, "qd", (rows, n))
    acceleration = validation.array(qdd, "qdd", (rows, n))
    Q = _cost_matrix("state_cost", state_cost, 2 * n)
    R = _cost_matrix("torque_cost", torque_cost, n, positive=True) * dt
    feedforward = robot.inverse_dynamics(target, velocity, acceleration)
    A, B = _discretize(*robot.state_space(target, velocity, feedforward), dt)
    cost, gain = np.empty((rows, 2 * n, 2 * n)), np.empty((rows - 1, n, 2 * n))
    if end_cost is None:
        cost[-1] = _infinite_horizon_cost("discrete", A[-1], B[-1], Q * dt, R)
    else:
        cost[-1] = _cost_matrix("end_cost", end_cost, 2 * n)
    for k in reversed(range(rows - 1)):
        S = cost[k + 1]
        gain[k] = _step_gain(A[k], B[k], R, S)
        closed = A[k] - B[k] @ gain[k]
        cost[k] = Q * dt + gain[k].T @ R @ gain[k] + closed.T @ S @ closed

    @function(robot, target=robot.nq, target_velocity=n, feedforward=n, gain=(n, 2 * n))
    def tracker(
        q: Array, qd: Array, target: Array, target_velocity: Array, feedforward: Array, gain: Array
    ) -> Array:
        error = np.concatenate([robot.difference(q, target), target_velocity - qd])
        tau: Array = feedforward + gain @ error
        return tau

    arguments = {
        "target": target[:-1],
        "target_velocity": velocity[:-1],
        "feedforward": feedforward[:-1],
        "gain": gain,
    }
    return Tracker(tracker, arguments, cost)


def _step_gain(A: Array, B: Array, R: Array, S: Array) -> Array:
    return np.asarray(np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A), dtype=float)


def _infinite_horizon_cost(time: str, A: Array, B: Array, Q: Array, R: Array) -> Array:
    """Return the solution S of the Riccati equation in "continuous" or "discrete" time."""
    from scipy import linalg  # slow to import

    solve = linalg.solve_continuous_are if time == "continuous" else linalg.solve_discrete_are
    try:
        S: Array = solve(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise DataError(
            f"no regulator has a finite cost: {error}; expected drives that act on every unstable "
            "motion, and a state_cost that sees every motion that does not die out"
        ) from None
    return S


def _discretize(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """Return A and B of the discrete-time model, with constant torques during each step."""
    from scipy.linalg import expm  # slow to import

    states, torques = B.shape[-2:]
    model = np.zeros((*B.shape[:-2], states + torques, states + torques))
    model[..., :states, :states], model[..., :states, states:] = A, B
    step = expm(model * dt)[..., :states, :]
    return step[..., :states], step[..., states:]


def _driven_joints(robot: Robot, driven: Sequence[str] | None, hold: Array) -> list[int]:
    """Return indices of driven joints; raise if gravity torques `hold` act on other joints."""
    joints = [joint.name for joint in robot.coordinates for _ in joint.type.twists]
    pairs = [*zip(robot.velocity_names, joints, strict=True)]
    if driven is None:
        return list(range(robot.nv))
    for name in driven:
        if not any(name in pair for pair in pairs):
            names = listing(robot.velocity_names)
            raise ModelError(f"no joint is called {quote(name)}: expected some of {names}")
    at = [k for k, pair in enumerate(pairs) if any(name in driven for name in pair)]
    most = BALANCE * float(robot.mass * np.linalg.norm(robot.gravity))
    for k, (name, tau) in enumerate(zip(robot.velocity_names, hold, strict=True)):
        if k not in at and abs(tau) > most:
            raise DataError(
                f"the posture is not in balance: joint {name!r} has no drive, and its gravity "
                f"torque is {tau:.3g}; expected a posture where it is zero"
            )
    return at


def _cost_matrix(name: str, values: ArrayLike, size: int, *, positive: bool = False) -> Array:
    """Return a cost matrix; raise unless it is positive semidefinite (definite if `positive`)."""
    expected = f"one number, {size}, or a matrix of shape {(size, size)}"
    matrix = validation.array(values, name, (), (size,), (size, size), expected=expected)
    if matrix.ndim < 2:
        matrix = np.diag(np.broadcast_to(matrix, (size,)))
    least, largest = np.linalg.eigvalsh(matrix)[[0, -1]]
    rounding = 1e-12 * abs(largest)
    is_definite = least > rounding if positive else least >= -rounding
    if not is_definite or np.abs(matrix - matrix.T).max() > rounding:
        kind = "positive definite" if positive else "positive semidefinite"
        raise DataError(f"{name} is not a symmetric, {kind} matrix: expected one")
    return matrix

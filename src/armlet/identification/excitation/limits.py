"""Limits of a trajectory: ranges, slack, barrier functions and their derivatives.

Slack is the distance to a limit in units of half the range; `spare` is the slack that must remain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet._support.lazy import cached_property
from armlet.api import Robot, compile
from armlet.errors import DataError, listing, quote

Array = NDArray[np.float64]
POSTURES = 4000
"""The number of random postures that are tried."""
UNITS = {
    "position": ("rad", "m"),
    "speed": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "torque": ("Nm", "N"),
    "tool": ("m", "m"),
}
"""The quantities that can be limited, and their units for revolute and prismatic joints."""


def units(name: str, letters: Set[str]) -> str:
    """Return the units of a limit as text, for joints of types `letters`."""
    return ", ".join(x for k, x in enumerate(UNITS[name]) if k in {y == "P" for y in letters})


class State(NamedTuple):
    """Positions, velocities and accelerations, or derivatives with respect to them, each (k, n)."""

    q: Array
    qd: Array
    qdd: Array


class Range(NamedTuple):
    """Lower and upper limits of the entries of a quantity; infinite where there is no limit."""

    lower: Array
    upper: Array

    def margins(self, values: Array) -> Array:
        """Return each entry's smallest distance to its limits, over all rows of `values`."""
        return np.asarray(np.minimum(values - self.lower, self.upper - values).min(axis=0))

    @property
    def is_finite(self) -> bool:
        """Whether any limit is finite."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())


@dataclass(frozen=True)
class Limit:
    """A limited quantity: its range, and functions that compute its values and derivatives."""

    name: str
    range: Range
    values: Callable[[State], Array]
    """A function that returns the quantity at a state, (k, c)."""
    vjp: Callable[[State, Array], State]
    """A function of a state and cotangents (k, c) that returns the vector-Jacobian product."""

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """A and b such that A y <= b are the m finite limits of y, in units of half the range."""
        lower, upper = self.range
        half = (upper - lower) / 2
        scale = np.where(np.isfinite(half), half, 1.0)
        eye = np.eye(len(lower)) / scale
        A, b = np.vstack([-eye, eye]), np.concatenate([-lower / scale, upper / scale])
        return A[np.isfinite(b)], b[np.isfinite(b)]

    def slack(self, state: State) -> Array:
        """Return the slack of the m finite limits in k states, (k, m); negative beyond a limit."""
        A, b = self.sides
        return np.asarray(b - self.values(state) @ A.T)

    def barrier(self, state: State, near: float, spare: float = 0.0) -> tuple[float, State]:
        """Return the barrier of this quantity, and its derivative with respect to the state.

        The barrier is -log(slack - spare), summed over the finite lower and upper limits of all
        entries, and averaged over the rows of the state. Where slack - spare is below `near`, a
        parabola continues the barrier, which is therefore finite beyond the limits.
        """
        slack = self.slack(state) - spare
        s = np.maximum(slack, near)
        d = (s - slack) / near
        values, derivatives = -np.log(s) + d + d**2 / 2, -(1 + d) / s
        cotangents = -(derivatives @ self.sides[0]) / len(slack)
        return float(values.sum()) / len(slack), self.vjp(state, cotangents)


def least_slack(limits: Sequence[Limit], state: State) -> Array:
    """Return the smallest slack of all limits in each state, (k,)."""
    return np.asarray(np.min([limit.slack(state).min(axis=1) for limit in limits], axis=0))


def limits_of(robot: Robot, ranges: Mapping[str, Range]) -> list[Limit]:
    """Return one `Limit` of a robot for each range with a finite entry."""
    factories = {"torque": _torque, "tool": _tool}
    return [
        factories[name](robot, x) if name in factories else _of_state(name, x)
        for name, x in ranges.items()
        if x.is_finite
    ]


def _of_state(name: str, limits: Range) -> Limit:
    k = ("position", "speed", "acceleration").index(name)

    def vjp(_: State, cotangents: Array) -> State:
        return State(*(cotangents if j == k else np.zeros_like(cotangents) for j in range(3)))

    return Limit(name, limits, lambda s: s[k], vjp)


def _torque(robot: Robot, limits: Range) -> Limit:
    """Return the limit of the torques, which include friction and springs.

    Coulomb friction is not smooth: instead of being added to torques, it narrows their range.
    """
    rigid = compile(robot, "inverse_dynamics")
    smooth = tuple(drive._replace(coulomb=0) for drive in robot.drives)
    passive = compile(replace(robot, drives=smooth), "passive_torque")

    def values(s: State) -> Array:
        return np.asarray(rigid(*s) + passive(s.q, s.qd))

    def vjp(s: State, cotangents: Array) -> State:
        by, (by_q, by_qd) = State(*rigid.vjp(*s, cotangents)), passive.vjp(s.q, s.qd, cotangents)
        return by._replace(q=by.q + by_q, qd=by.qd + by_qd)

    direction = np.sign(robot._joint_velocities(np.ones(robot.nv)))  # one sign per joint
    dry = np.array([drive.coulomb for drive in robot.drives], dtype=float) * direction
    size = np.abs(robot._coordinate_torques(dry))
    narrow = Range(limits.lower + size, limits.upper - size)
    for joint, x, limit in zip(robot.coordinates, size, limits.upper, strict=True):
        if x >= limit:
            raise DataError(
                f"the Coulomb friction of {joint.name} is {x:g}: expected less than its limit of "
                f"torque, {limit:g}"
            )
    return Limit("torque", narrow, values, vjp)


def _tool(robot: Robot, box: Range) -> Limit:
    pose = compile(robot, "forward_kinematics")

    def values(s: State) -> Array:
        return np.asarray(pose(s.q)[:, :3, 3])

    def vjp(s: State, cotangents: Array) -> State:
        by_pose = np.zeros((len(cotangents), 4, 4))
        by_pose[:, :3, 3] = cotangents
        by = pose.vjp(s.q, by_pose)[0]
        return State(by, 0 * by, 0 * by)

    return Limit("tool", box, values, vjp)


# ------------------------------------------------------------------ ranges


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """The limits of an exciting trajectory.

    Attributes
    ----------
    position : pair of array_like
        Lower and upper limits, each a number or one number per joint; None for the robot's limits.
    speed, acceleration, torque : array_like, optional
        Limits in both directions, each a number or one number per joint. By default, the robot's
        limits of speed and torque, and no limit of acceleration.
    tool_box : pair of sequences, optional
        Corners (xmin, ymin, zmin) and (xmax, ymax, zmax) of a box that contains the tool, in base
        coordinates; infinite coordinates for no limit.
    margin : float
        The share of the robot's own limits that is left unused; other limits are used in full.
    """

    position: tuple[ArrayLike | None, ArrayLike | None] = (None, None)
    speed: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    torque: ArrayLike | None = None
    tool_box: tuple[Sequence[float], Sequence[float]] | None = None
    margin: float = 0.05

    def of_robot(self, robot: Robot) -> tuple[dict[str, Range], list[str]]:
        """Return a robot's ranges by limit name, and notes on assumptions."""
        robot._require_vector_space("an exciting trajectory")
        share = 1 - validation.number(self.margin, "margin", "a share", low=0, below=1)
        notes: list[str] = []
        lower, upper = _pair("position", self.position)
        if lower is None or upper is None:
            default = _own_positions(robot, share, notes)
            lower = default.lower if lower is None else lower
            upper = default.upper if upper is None else upper
        ranges = {"position": _range("position", lower, upper, robot.nq)}
        if not np.isfinite(ranges["position"]).all():
            raise DataError(f"position is {quote(self.position)}: expected finite limits")
        names = [x.name for x in robot.coordinates if not 0 < x.limits.velocity < np.inf]
        if names and self.speed is None:
            raise DataError(
                f"{robot.name!r} has no limit of velocity for {listing(names)}: expected speed=, a "
                "number or one for each joint"
            )
        speed = share * robot.velocity_limit if self.speed is None else self.speed
        ranges["speed"] = _both_ways("speed", speed, robot.nv)
        if self.acceleration is None:
            notes.append("accelerations are not limited: no model has limits for them")
        else:
            ranges["acceleration"] = _both_ways("acceleration", self.acceleration, robot.nv)
        if not robot.phi.any():
            notes.append("torques are not limited: the robot has no masses")
        else:
            torque = share * robot.effort_limit if self.torque is None else self.torque
            ranges["torque"] = _both_ways("torque", torque, robot.nv)
            if not ranges["torque"].is_finite:
                notes.append("torques are not limited: the robot has no limits for them")
        if self.tool_box is not None:
            ranges["tool"] = _range("tool_box", *_pair("tool_box", self.tool_box), 3)
        return ranges, notes


def _own_positions(robot: Robot, share: float, notes: list[str]) -> Range:
    """Return the robot's own position limits, narrowed to `share` about their centre."""
    lower, upper = robot.lower, robot.upper
    free = ~np.isfinite(upper - lower)
    endless = [joint for joint, x in zip(robot.coordinates, free, strict=True) if x]
    if prismatic := [joint.name for joint in endless if joint.letter == "P"]:
        raise DataError(
            f"{robot.name!r} has no limits of position for {listing(prismatic)}: expected "
            "position=(lower, upper), in rad and m"
        )
    if endless:
        names = listing([joint.name for joint in endless])
        notes.append(f"{names} without limits of position: kept within -π to π")
    lower, upper = np.where(free, -np.pi, lower), np.where(free, np.pi, upper)
    centre, half = (lower + upper) / 2, (upper - lower) / 2 * share
    return Range(centre - half, centre + half)


def _both_ways(name: str, value: ArrayLike, n: int) -> Range:
    size = _numbers(name, value, n, above=0)
    return Range(-size, size)


def _range(name: str, lower: ArrayLike, upper: ArrayLike, n: int) -> Range:
    limits = Range(_numbers(name, lower, n), _numbers(name, upper, n))
    if not (limits.lower < limits.upper).all():
        k = int(np.flatnonzero(~(limits.lower < limits.upper))[0])
        raise DataError(
            f"{name} is from {limits.lower[k]:g} to {limits.upper[k]:g} at entry {k}: expected the "
            "lower first"
        )
    return limits


def _pair(name: str, pair: Any) -> tuple[Any, Any]:
    try:
        lower, upper = pair
    except (TypeError, ValueError):
        raise DataError(f"{name} is {quote(pair)}: expected a pair, (lower, upper)") from None
    return lower, upper


def _numbers(name: str, value: ArrayLike, n: int, **bounds: float) -> Array:
    """Return `value` as an array of n numbers; repeat a single number."""
    expected = f"a number or {n} numbers"
    numbers = validation.array(value, name, (), (n,), expected=expected, finite=False, **bounds)
    return np.array(np.broadcast_to(numbers, (n,)))


# ------------------------------------------------------------------ postures


def posture_within(
    limits: list[Limit], centre: Array, half: Array, joints: Sequence[str], rng: np.random.Generator
) -> Array:
    """Return a posture that meets all limits at rest; search at random, then minimise."""
    offsets = np.vstack([np.zeros(len(half)), rng.uniform(-0.9, 0.9, (POSTURES, len(half)))])
    postures = centre + offsets * half
    slack = least_slack(limits, _at_rest(postures))
    best: Array = postures[slack.argmax()]
    if slack.max() > 0:
        return best
    from scipy.optimize import minimize  # which takes as long to load as all of armlet

    def cost(q: Array) -> tuple[float, Array]:
        barriers = [limit.barrier(_at_rest(q[None]), near=1e-2) for limit in limits]
        return sum(x for x, _ in barriers), np.sum([by.q[0] for _, by in barriers], axis=0)

    nearer: Array = minimize(cost, best, method="L-BFGS-B", jac=True).x
    if least_slack(limits, _at_rest(nearer[None])) > 0:
        return nearer
    state = _at_rest(best[None])  # positions are within limits
    limit = min(limits, key=lambda x: x.slack(state).min())
    values = limit.values(state)[0]
    k = int(limit.range.margins(values[None]).argmin())
    lower, upper = limit.range.lower[k], limit.range.upper[k]
    entry = f"{'xyz'[k]} of the tool" if limit.name == "tool" else f"{limit.name} of {joints[k]}"
    raise DataError(
        f"no posture within the limits was found: the nearest has {values[k]:.4g} for {entry}, "
        f"expected {lower:.4g} to {upper:.4g}; give wider limits"
    )


def _at_rest(postures: Array) -> State:
    return State(postures, 0 * postures, 0 * postures)

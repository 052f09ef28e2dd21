"""Limits of a motion: what is limited, how far a motion is from there, and derivatives of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet.api import Robot, compile
from armlet.errors import DataError, listed, quoted

Array = NDArray[np.float64]
Box = tuple[Sequence[float], Sequence[float]]
Sides = tuple[ArrayLike | None, ArrayLike | None]
UNITS = {
    "position": ("rad", "m"),
    "speed": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "torque": ("Nm", "N"),
    "tool": ("m", "m"),
}
"""What can be limited, and in which units, of revolute and of prismatic joints."""


def units(name: str, letters: Set[str]) -> str:
    """In which units something is limited for joints of these kinds, R and P."""
    return ", ".join(
        unit for letter, unit in zip("RP", UNITS[name], strict=True) if letter in letters
    )


class State(NamedTuple):
    """Positions, velocities and accelerations, or derivatives by them, each (k, n)."""

    q: Array
    qd: Array
    qdd: Array


class Range(NamedTuple):
    """The lower and upper limits of each of several entries; infinite where there is none."""

    lower: Array
    upper: Array

    def margins(self, values: Array) -> Array:
        """The least distance of each entry to its limits over rows of values."""
        least: Array = np.minimum(values - self.lower, self.upper - values).min(axis=0)
        return least

    @property
    def is_finite(self) -> bool:
        """Whether there is any limit at all."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())


@dataclass(frozen=True)
class Limit:
    """Entries that a motion must keep within a range.

    `values(state)` are the entries, (k, c); `pulled(state, weights)` is the derivative of their
    weighted sum by the state.
    """

    name: str
    entries: tuple[str, ...]
    """What the entries are called."""
    range: Range
    values: Callable[[State], Array]
    pulled: Callable[[State, Array], State]

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Rows A and numbers b: A y <= b is the limit, one row for each finite side.

        Rows are scaled so that half the width of the range is one.
        """
        lower, upper = self.range
        half = (upper - lower) / 2
        scale = np.where(np.isfinite(half), half, 1.0)
        eye = np.eye(len(lower)) / scale
        A, b = np.vstack([-eye, eye]), np.concatenate([-lower / scale, upper / scale])
        return A[np.isfinite(b)], b[np.isfinite(b)]

    def slack(self, state: State) -> Array:
        """How far each side is from being broken, in half widths of the range: (k, sides)."""
        A, b = self.sides
        slack: Array = b - self.values(state) @ A.T
        return slack

    def least_slack(self, state: State) -> float:
        """The slack of the side that is nearest to being broken."""
        return float(self.slack(state).min())

    def barrier(self, state: State, near: float, spare: float = 0.0) -> tuple[float, State]:
        """A function that grows towards the limits, and its derivative by the state.

        It is minus the logarithm of the slack less some to spare, summed over sides and averaged
        over rows. Below the slack called near it is a parabola, finite where limits are broken.
        """
        slack = self.slack(state) - spare
        s = np.maximum(slack, near)
        d = (s - slack) / near
        values, slopes = -np.log(s) + d + d**2 / 2, -(1 + d) / s
        weights = -(slopes @ self.sides[0]) / len(slack)
        return float(values.sum()) / len(slack), self.pulled(state, weights)


def slack_of_rows(limits: Sequence[Limit], state: State) -> Array:
    """The slack of whatever is nearest to being broken, for each row."""
    slack: Array = np.min([limit.slack(state).min(axis=1) for limit in limits], axis=0)
    return slack


def least_slack(limits: Sequence[Limit], state: State) -> float:
    """The slack of whatever is nearest to being broken."""
    return float(slack_of_rows(limits, state).min())


def limits_of(robot: Robot, ranges: Mapping[str, Range]) -> list[Limit]:
    """The limits of a motion of a robot that keeps within ranges of `UNITS`."""
    others = {"torque": _torque, "tool": _tool}
    return [
        others[name](robot, x) if name in others else _part(robot, name, x)
        for name, x in ranges.items()
        if x.is_finite
    ]


def _of_joints(robot: Robot, name: str) -> tuple[str, ...]:
    return tuple(f"{name} of {joint.name}" for joint in robot.coordinates)


def _part(robot: Robot, name: str, limits: Range) -> Limit:
    """Limits of a part of the state itself."""
    k = ("position", "speed", "acceleration").index(name)

    def pulled(s: State, weights: Array) -> State:
        return State(*(weights if j == k else np.zeros_like(weights) for j in range(3)))

    return Limit(name, _of_joints(robot, name), limits, lambda s: s[k], pulled)


def _torque(robot: Robot, limits: Range) -> Limit:
    """Limits of the torques, those of friction and springs among them.

    Coulomb friction jumps with the sign of the velocity. It narrows the range instead, so that
    torques that keep within it do so with either sign.
    """
    rigid = compile(robot, "inverse_dynamics")
    smooth = tuple(drive._replace(coulomb=0) for drive in robot.drives)
    passive = compile(replace(robot, drives=smooth), "passive_torque")

    def values(s: State) -> Array:
        torques: Array = rigid(*s) + passive(s.q, s.qd)
        return torques

    def pulled(s: State, weights: Array) -> State:
        by, (by_q, by_qd) = State(*rigid.vjp(*s, weights)), passive.vjp(s.q, s.qd, weights)
        return by._replace(q=by.q + by_q, qd=by.qd + by_qd)

    direction = np.sign(robot.joint_velocities(np.ones(robot.nv)))  # of each joint
    dry = np.array([drive.coulomb for drive in robot.drives], dtype=float) * direction
    size = np.abs(robot.coordinate_torques(dry))
    narrow = Range(limits.lower + size, limits.upper - size)
    for joint, x, limit in zip(robot.coordinates, size, limits.upper, strict=True):
        if x >= limit:
            raise DataError(
                f"the Coulomb friction of {joint.name} is {x:g}: expected less than its limit of "
                f"torque, {limit:g}"
            )
    return Limit("torque", _of_joints(robot, "torque"), narrow, values, pulled)


def _tool(robot: Robot, box: Range) -> Limit:
    """Limits of the place of the tool."""
    pose = compile(robot, "forward_kinematics")

    def values(s: State) -> Array:
        place: Array = pose(s.q)[:, :3, 3]
        return place

    def pulled(s: State, weights: Array) -> State:
        by_pose = np.zeros((len(weights), 4, 4))
        by_pose[:, :3, 3] = weights
        by = pose.vjp(s.q, by_pose)[0]
        return State(by, 0 * by, 0 * by)

    entries = tuple(f"{axis} of the tool" for axis in "xyz")
    return Limit("tool", entries, box, values, pulled)


# -------------------------------------------------------------------- what the ranges are


def ranges_of(
    robot: Robot,
    margin: float,
    position: Sides = (None, None),
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    tool_box: Box | None = None,
) -> tuple[dict[str, Range], list[str]]:
    """What a motion must keep within, by name, and notes on what was assumed.

    Limits that are given are taken as they are, those of the robot with a margin.
    """
    if not 0 <= margin < 1:
        raise DataError(f"margin is {quoted(margin)}: expected a share from 0 to below 1")
    own = [joint.limits for joint in robot.coordinates]
    share = 1 - margin
    notes: list[str] = []
    lower, upper = _two("position", position)
    if lower is None or upper is None:
        known = _own_positions(robot, share, notes)
        lower = known.lower if lower is None else lower
        upper = known.upper if upper is None else upper
    found = {"position": _range("position", lower, upper, robot.nq)}
    if not np.isfinite(found["position"]).all():
        raise DataError(f"position is {quoted(position)}: expected finite limits")
    if speed is None:
        _require(robot, [x.velocity for x in own], "velocity", "speed")
        speed = [share * x.velocity for x in own]
    found["speed"] = _both_ways("speed", speed, robot.nv)
    if acceleration is None:
        notes.append("accelerations are not limited: no model has limits for them")
    else:
        found["acceleration"] = _both_ways("acceleration", acceleration, robot.nv)
    if torque is None:
        torque = [share * x.effort for x in own]
    found["torque"] = _both_ways("torque", torque, robot.nv)
    if not robot.phi.any():
        notes.append("torques are not limited: the robot has no masses")
        found.pop("torque")
    elif not found["torque"].is_finite:
        notes.append("torques are not limited: the robot has no limits for them")
    if tool_box is not None:
        found["tool"] = _range("tool_box", *_two("tool_box", tool_box), 3)
    return found, notes


def _own_positions(robot: Robot, share: float, notes: list[str]) -> Range:
    """The positions of a robot's limits, narrowed to a share about their centre."""
    lower, upper = (
        np.array([getattr(joint.limits, side) for joint in robot.coordinates])
        for side in ("lower", "upper")
    )
    free = ~np.isfinite(upper - lower)
    endless = [joint for joint, x in zip(robot.coordinates, free, strict=True) if x]
    if sliding := [joint.name for joint in endless if joint.letter == "P"]:
        raise DataError(
            f"{robot.name!r} has no limits of position for {listed(sliding)}: expected "
            "position=(lower, upper), in rad and m"
        )
    if endless:
        names = listed([joint.name for joint in endless])
        notes.append(f"{names} without limits of position: kept within -π to π")
    lower, upper = np.where(free, -np.pi, lower), np.where(free, np.pi, upper)
    centre, half = (lower + upper) / 2, (upper - lower) / 2 * share
    return Range(centre - half, centre + half)


def _require(robot: Robot, values: Sequence[float], what: str, argument: str) -> None:
    """Raise if a limit of some joints is not known."""
    names = [
        joint.name for joint, x in zip(robot.coordinates, values, strict=True) if not 0 < x < np.inf
    ]
    if names:
        raise DataError(
            f"{robot.name!r} has no limit of {what} for {listed(names)}: expected {argument}=, a "
            "number or one for each joint"
        )


def _both_ways(name: str, value: ArrayLike, n: int) -> Range:
    """The range from minus a limit to the limit."""
    size = _numbers(name, value, n)
    if not (size > 0).all():
        raise DataError(f"{name} is {quoted(value)}: expected numbers above zero")
    return Range(-size, size)


def _two(name: str, pair: Any) -> tuple[Any, Any]:
    try:
        lower, upper = pair
    except (TypeError, ValueError):
        raise DataError(f"{name} is {quoted(pair)}: expected a pair, (lower, upper)") from None
    return lower, upper


def _range(name: str, lower: ArrayLike, upper: ArrayLike, n: int) -> Range:
    found = Range(_numbers(name, lower, n), _numbers(name, upper, n))
    if not (found.lower < found.upper).all():
        k = int(np.flatnonzero(~(found.lower < found.upper))[0])
        raise DataError(
            f"{name} is from {found.lower[k]:g} to {found.upper[k]:g} at entry {k}: expected the "
            "lower first"
        )
    return found


def _numbers(name: str, value: ArrayLike, n: int) -> Array:
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), (n,)))
    except (TypeError, ValueError):
        raise DataError(f"{name} is {quoted(value)}: expected a number or {n} numbers") from None

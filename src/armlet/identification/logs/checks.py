"""Warn of implausible logs: joints at rest, saturated torques, wrong order, sign or unit.

No check raises an error: in a correct log, joints may rest, and torques may differ from gravity.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.api.robot import Robot

Array = NDArray[np.float64]
AT_REST = 1e-3
"""A joint that moves less than this (rad or m) counts as at rest."""
BEYOND = 0.1
"""How far positions may exceed the limits of a joint, relative to the joint's range."""
HELD = 0.01
"""The shortest time in s for which a saturated torque stays at its largest value."""
STEEP = 30
"""Near a plateau due to saturation, torques fall by more quantisation steps than this number."""
NEAR_LIMIT = 0.999
ROWS = 2000
"""The largest number of rows that are compared with gravity torques."""
HEAVY = 0.3
"""The least variation of gravity torques for a check, relative to that of measured torques."""
OPPOSED, UNLIKE, LIKE = -0.5, 0.3, 0.8
"""Correlations with gravity: opposed below -0.5, unlike below 0.3, alike above 0.8."""
SPEED_RATIO = 1.5
"""The largest plausible factor between measured velocities and the positions' derivative."""
TURN = 2 * np.pi
SMALL = np.pi / 2
"""The largest plausible step of a position between rows, in rad, apart from jumps by a turn."""
MOSTLY = 0.99
"""With a single-turn encoder, more than this share of steps is small or about a full turn."""


class Wrap(NamedTuple):
    """The jumps of a position by a full turn, as from a single-turn encoder."""

    column: int
    row: int
    times: int
    is_safe: bool
    """Whether all other steps between rows are small, so that the position can be unwrapped."""

    def message(self, t: Array, joints: Sequence[str], of_motors: bool) -> str:
        """Return the warning about these jumps."""
        subject = f"{'the motor of ' if of_motors else ''}joint {joints[self.column]!r}"
        cure = "turns are added up from the first row on"
        if not self.is_safe:
            cure = "other steps are large, too: use numpy.unwrap on this column before reading it"
        elif of_motors:
            cure += "; the revolution count at the first row is unknown: correct it with offsets="
        return (
            f"the position of {subject} jumps by a turn at {t[self.row]:.4g} s (row {self.row}), "
            f"{self.times} times in all, as that of an encoder that counts one turn: {cure}"
        )


def unwrap(q: Array, rotary: Sequence[bool]) -> tuple[Array, list[Wrap]]:
    """Unwrap the columns of q (k, n) for which this is safe; return q and all jumps found."""
    wraps = []
    for i in np.flatnonzero(rotary):
        steps = np.abs(np.diff(q[:, i]))
        small, turn = steps < SMALL, np.abs(steps - TURN) < SMALL
        if turn.any() and (small | turn).mean() > MOSTLY:
            first, safe = int(np.argmax(turn)) + 1, bool((small | turn).all())
            wraps.append(Wrap(int(i), first, int(turn.sum()), safe))
    safe_columns = [x.column for x in wraps if x.is_safe]
    if safe_columns:
        q = q.copy()
        q[:, safe_columns] = np.unwrap(q[:, safe_columns], axis=0)
    return q, wraps


def log_warnings(t: Array, q: Array, qd: Array | None, tau: Array, robot: Robot) -> list[str]:
    """Return warnings about implausible data in a log of `robot`; each warning names a joint."""
    spans, changes = np.ptp(q, axis=0), np.ptp(tau, axis=0)
    at_rest = [
        f"joint {joint.name!r} never moves: "
        "its friction and most of its inertia cannot be identified"
        for joint, span in zip(robot.coordinates, spans, strict=True)
        if span < AT_REST
    ]
    dead = [
        f"the torque of joint {joint.name!r} never changes, though it moves"
        for joint, span, change in zip(robot.coordinates, spans, changes, strict=True)
        if change == 0 and span >= AT_REST and changes.any()
    ]
    beyond = []
    for i, joint in enumerate(robot.coordinates):
        lower, upper, *_ = joint.limits
        least, most = q[:, i].min(), q[:, i].max()
        if lower < upper and max(lower - least, most - upper) > BEYOND * (upper - lower):
            beyond.append(
                f"joint {joint.name!r} moves from {least:.4g} to {most:.4g}, beyond its limits "
                f"{lower:.4g} and {upper:.4g}: its unit, sign, offset, gear ratio or the order of "
                "the joints is doubtful"
            )
    return [
        *at_rest,
        *dead,
        *beyond,
        *_speeds(t, q, qd, robot),
        *_saturated(t, q, tau, robot),
        *_unlike_gravity(q, tau, robot),
    ]


def _speeds(t: Array, q: Array, qd: Array | None, robot: Robot) -> Iterator[str]:
    """Yield a warning for each joint whose velocity differs from its position's derivative."""
    if qd is None or len(t) < 3:
        return
    between = (qd[1:] + qd[:-1]) / 2 * np.diff(t)[:, None]  # travel per step
    for i, joint in enumerate(robot.coordinates):
        if np.ptp(q[:, i]) < AT_REST:
            continue
        way = np.concatenate([[0], np.cumsum(between[:, i])])
        way, own = way - way.mean(), q[:, i] - q[:, i].mean()
        ratio = float(own @ way / (own @ own))
        if not 1 / SPEED_RATIO < ratio < SPEED_RATIO:
            yield (
                f"the velocity of joint {joint.name!r} is {ratio:.3g} times the derivative of its "
                "position: its unit, sign or order is doubtful"
            )


def _saturated(t: Array, q: Array, tau: Array, robot: Robot) -> Iterator[str]:
    """Yield a warning for each joint whose torque reaches its limit, or is clipped in motion."""
    for i, joint in enumerate(robot.coordinates):
        size = np.abs(tau[:, i])
        top = size.max()
        held = _clipped(t, size)
        if 0 < NEAR_LIMIT * joint.limits.effort <= top:
            yield (
                f"the torque of joint {joint.name!r} reaches its limit, {joint.limits.effort:g}: "
                "rows in which it is saturated should be left out"
            )
        elif held is not None and np.ptp(q[held, i]) > AT_REST / 10:
            yield (
                f"the torque of joint {joint.name!r} stays at its largest, {top:g}, for "
                f"{t[held.stop - 1] - t[held.start]:.2g} s from {t[held.start]:.4g} s: it may be "
                "saturated"
            )


def _clipped(t: Array, size: Array) -> slice | None:
    """Return the longest run of rows at the largest torque, or None if it is not saturation.

    A quantised torque also stays at its largest value at a smooth peak. As many rows later, it has
    fallen by at most eight quantisation steps; after saturation, by more than `STEEP`.
    """
    at_top = size >= size.max() * (1 - 1e-9)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], at_top, [False]])))
    start, stop = max(edges.reshape(-1, 2).tolist(), key=lambda edge: edge[1] - edge[0])
    count = stop - start
    if count < 5 or at_top.all() or t[stop - 1] - t[start] < HELD:
        return None
    quantum = size.max() - size[~at_top].max()
    around = size[max(0, start - count)], size[min(len(size) - 1, stop - 1 + count)]
    return slice(start, stop) if size.max() - min(around) > STEEP * quantum else None


def _unlike_gravity(q: Array, tau: Array, robot: Robot) -> Iterator[str]:
    """Yield a warning for each joint whose torque opposes gravity or may be another joint's."""
    if robot.symbols or not robot.mass or not np.any(robot.g):
        return
    rows = slice(None, None, -(-len(q) // ROWS))
    gravity = np.asarray(robot.gravity_torque(np.ascontiguousarray(q[rows])))
    tau = tau[rows]
    g, measured = gravity - gravity.mean(0), tau - tau.mean(0)
    g_size, tau_size = np.linalg.norm(g, axis=0), np.linalg.norm(measured, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        like = np.nan_to_num(measured.T @ g / np.outer(tau_size, g_size))
    for i, joint in enumerate(robot.coordinates):
        if g_size[i] <= HEAVY * tau_size[i] or g_size[i] < 0.1 * g_size.max():
            continue
        k = int(np.argmax(like[:, i]))
        if like[i, i] < OPPOSED:
            yield (
                f"the torque of joint {joint.name!r} is opposite to gravity (correlation "
                f"{like[i, i]:.2f}): the sign of its torque or of a position is doubtful"
            )
        elif like[i, i] < UNLIKE and like[k, i] > LIKE:
            yield (
                f"gravity on joint {joint.name!r} is like the torque of joint "
                f"{robot.coordinates[k].name!r} (correlation {like[k, i]:.2f}, with its own "
                f"{like[i, i]:.2f}): the order of the joints is doubtful"
            )

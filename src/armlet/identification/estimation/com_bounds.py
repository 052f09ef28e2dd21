"""Where centres of mass can be: boxes in frames of an arm, given or by its geometry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet.api import Robot
from armlet.errors import DataError, ModelError, quoted
from armlet.identification.estimation.factors import Array
from armlet.robot.components import BASE

Centres = float | Mapping[str, tuple[ArrayLike, ArrayLike]]
"""A margin around the geometry in m, or corners of boxes in frames by name."""


class Box(NamedTuple):
    """A box that the centre of mass of a body is in: lower ≤ Rᵀ(com - r) ≤ upper."""

    body: int
    R: Array
    r: Array
    lower: Array
    upper: Array


def boxes(robot: Robot, centres: Centres) -> list[Box]:
    """The boxes of centres of mass that are asked for."""
    if not isinstance(centres, Mapping):
        return _by_geometry(robot, centres)
    return [_given(robot, name, corners) for name, corners in centres.items()]


def _given(robot: Robot, name: str, corners: tuple[ArrayLike, ArrayLike]) -> Box:
    body, pose = robot.frame(name)
    if body == BASE:
        raise ModelError(f"frame {quoted(name)} is on the base, which has no centre to be found")
    try:
        low, high = np.asarray(corners, dtype=float).reshape(2, 3)
    except (TypeError, ValueError):
        low, high = np.full((2, 3), np.nan)
    if not (low <= high).all():
        raise DataError(
            f"centres= has the corners {quoted(corners)} for {quoted(name)}: expected two of three "
            "coordinates each, the lower ones first"
        )
    return Box(body, np.asarray(pose.R, dtype=float), np.asarray(pose.r, dtype=float), low, high)


def _by_geometry(robot: Robot, margin: float) -> list[Box]:
    """Boxes around the joints and the named frames of every body, with a margin."""
    if not (isinstance(margin, int | float | np.number) and 0 <= margin < np.inf):
        raise DataError(f"centres is {quoted(margin)}: expected a margin in m, or boxes by frame")
    points: list[list[Array]] = [[np.zeros(3)] for _ in range(robot.nb)]
    for parent, mount in zip(robot.parent, robot.at_zero, strict=True):
        if parent != BASE:
            points[parent].append(np.asarray(mount.origin(), dtype=float))
    for body, pose in robot.frames.values():
        if body != BASE:
            points[body].append(np.asarray(pose.r, dtype=float))
    return [
        Box(i, np.eye(3), np.zeros(3), np.min(own, axis=0) - margin, np.max(own, axis=0) + margin)
        for i, own in enumerate(points)
    ]

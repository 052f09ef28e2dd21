"""Detect and correct angles that look like rounded quarter turns."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from math import atan2, ceil, hypot, log10
from typing import TypeVar

import numpy as np

from armlet.description.assembly import assemble
from armlet.description.description import Description
from armlet.errors import ModelWarning
from armlet.robot import DHRow, RobotModel
from armlet.scalar import QUARTER, quarter_turns

Model = TypeVar("Model", bound=RobotModel)
ANGLES = ("gamma", "alpha", "beta", "theta")
NEAR = 1e-5
"""An angle this close (rad) to a multiple of a quarter turn counts as rounded."""
DECIMALS = range(2, 10)
"""Multiples of π/2 written with 2 to 9 decimals, such as 3.142, always count as rounded."""
SAME = 1e-13
"""Bound (rad) on the rounding error of the conversion to canonical frames."""


def warn_of_rounded_angles(
    robot: RobotModel, description: Description, lock: Mapping[str, float], stacklevel: int
) -> None:
    """Warn of angles that look rounded; the message has a `tolerance` that makes them exact."""
    angles = [getattr(row, key) for row in robot.dh for key in ANGLES]
    off = [away for x in angles if (away := _away_if_rounded(x))]
    if not off:
        return
    tolerance = 10.0 ** ceil(log10(max(off)))
    exact = assemble(description, lock, tolerance)
    before, after = (len(arm.constants("geometry")) for arm in (robot, exact))
    angles_are = "1 angle is" if len(off) == 1 else f"{len(off)} angles are"
    warnings.warn(
        f"{description.where}: {angles_are} up to {max(off):.1e} rad from a quarter turn, "
        f"as if it had been rounded: as they are, the robot has {before} geometric constants "
        f"other than 0 and ±1 instead of {after}, and takes more operations; load it with "
        f"tolerance={tolerance:g} to take them as exact",
        ModelWarning,
        stacklevel=stacklevel + 1,
    )


def with_exact_angles(robot: Model) -> tuple[Model, float]:
    """Return the robot with rounded angles made exact, and the sum of the rounding errors (rad).

    The direction of gravity is made exact too. Rounding shifts axes by at most the sum of the
    errors times the sum of all lengths. Lengths below this bound become zero.
    """
    if robot.symbols:
        return robot, 0.0
    angles = [getattr(row, key) for row in robot.dh for key in ANGLES]
    g = [float(x) for x in robot.g]
    tilts = [atan2(abs(x), hypot(*g[:k], *g[k + 1 :])) for k, x in enumerate(g)]
    tilted = [_rounding(x) if x < QUARTER / 2 else 0.0 for x in tilts]
    off = sum(map(_rounding, angles)) + sum(tilted)
    reach = sum(abs(x) for row in robot.dh for x in (row.b, row.a, row.d))

    def exact(key: str, x: float) -> float:
        if key not in ANGLES:
            return x if abs(x) > off * reach else 0.0
        return round(x / QUARTER) * QUARTER if _rounding(x) else x

    rows = tuple(
        DHRow(**{key: exact(key, x) for key, x in row._asdict().items()}) for row in robot.dh
    )
    level = [0.0 if tilt else x for x, tilt in zip(g, tilted, strict=True)]
    return replace(robot, dh=rows, g=np.array(level, dtype=object)), off


def _rounding(angle: float) -> float:
    """Return the largest rounding error among |angle| and its differences from π/2 and π."""
    x = abs(angle)
    return max(map(_away_if_rounded, (x, abs(QUARTER - x), abs(2 * QUARTER - x))))


def _away_if_rounded(angle: float) -> float:
    """Return the distance to the nearest multiple of π/2 if the angle looks rounded, else 0."""
    k = round(angle / QUARTER)
    away = abs(angle - k * QUARTER)
    written = any(abs(angle - round(k * QUARTER, digits)) <= SAME for digits in DECIMALS)
    return away if quarter_turns(angle) is None and (away <= NEAR or written) else 0.0

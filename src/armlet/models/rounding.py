"""Detection of angles that look like rounded quarter turns."""

import warnings
from collections.abc import Mapping
from math import ceil, log10

from armlet.errors import ModelWarning
from armlet.robot import Description, RobotModel, assembled
from armlet.scalar import QUARTER, quarter_turns

NEAR = 1e-5
"""The largest distance of a rounded angle from a multiple of a quarter turn (rad)."""
DECIMALS = range(2, 10)
"""An angle with at most this many decimals may be further off: 1.57, 3.142."""
SAME = 1e-13
"""The rounding error from the file to the canonical frames (rad)."""


def warn_of_rounded_angles(
    robot: RobotModel, description: Description, lock: Mapping[str, float], stacklevel: int
) -> None:
    """Warn if angles look rounded, with the cost and the tolerance that makes them exact."""
    angles = [x for row in robot.dh for x in (row.gamma, row.alpha, row.beta, row.theta)]
    off = [away for x in angles if (away := _away_if_rounded(x))]
    if not off:
        return
    tolerance = 10.0 ** ceil(log10(max(off)))
    exact = assembled(description, lock, tolerance)
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


def _away_if_rounded(angle: float) -> float:
    """The distance of an angle from the quarter turn it was rounded from, or 0 if it was not."""
    k = round(angle / QUARTER)
    away = abs(angle - k * QUARTER)
    written = any(abs(angle - round(k * QUARTER, digits)) <= SAME for digits in DECIMALS)
    return away if quarter_turns(angle) is None and (away <= NEAR or written) else 0.0

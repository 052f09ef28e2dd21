"""Denavit-Hartenberg tables, in the two conventions in use."""

from collections.abc import Mapping, Sequence
from math import degrees, isfinite, pi
from typing import Any

import numpy as np

from armlet.description import Connection
from armlet.errors import ModelError, quoted
from armlet.robot import Pose
from armlet.robot.pose import turn
from armlet.scalar import Vector

CONVENTIONS = ("standard", "modified")


def array(values: Any) -> Vector:
    """The numbers as floats; strings are refused, which NumPy would parse."""
    found = np.array(values)
    if found.dtype.kind in "SUc":
        raise TypeError("expected real numbers")
    return found.astype(float)


def checked_row(row: Any, subject: str) -> tuple[float, float, float, float]:
    """The row (alpha, a, d, theta) in radians and metres, checked."""
    try:
        values = [float(x) for x in array(row)]
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"{subject} is {quoted(row)}: expected four numbers alpha, a, d, theta"
        ) from None
    if len(values) != 4:
        raise ModelError(f"{subject} has {len(values)} numbers: expected four, alpha, a, d, theta")
    if not all(isfinite(x) for x in values):
        raise ModelError(f"{subject} is {values}: expected finite numbers")
    check_angles({"alpha": values[0], "theta": values[3]}, subject)
    return values[0], values[1], values[2], values[3]


def check_angles(angles: Mapping[str, float], subject: str) -> None:
    """Refuse angles that are degrees by mistake."""
    for name, angle in angles.items():
        if abs(angle) > 2 * pi + 1e-9:
            raise ModelError(
                f"{subject} has {name} = {angle:g} rad ({degrees(angle):g} degrees), more than a "
                "turn: expected less (a quarter turn is pi/2 rad or 90 degrees)"
            )


def check_convention(convention: str, subject: str) -> None:
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        raise ModelError(
            f"{subject}: the convention is {quoted(convention)}: expected 'modified' (Craig: alpha "
            "and a come first, the frame is on the joint's own axis) or 'standard' (theta and d "
            "first, the frame is on the next axis)"
        )


def dh_connection(
    row: Sequence[float], convention: str, kind: str, name: str, parent: str, child: str
) -> Connection:
    """The joint of a DH row; q adds to theta or to d.

    In the modified convention the frame is Rx(alpha) Tx(a) Rz(theta) Tz(d) and the joint's axis
    is its z. In the standard one it is Rz(theta) Tz(d) Tx(a) Rx(alpha) and the axis is the
    parent's z.
    """
    alpha, a, d, theta = row
    about_x = Pose(turn(0, alpha), np.array([a, 0.0, 0.0]))
    about_z = Pose(turn(2, theta), np.array([0.0, 0.0, d]))
    if convention == "modified":
        return Connection(name, kind, parent, child, about_x @ about_z)
    at = about_z @ about_x
    back = at.inverse()
    return Connection(name, kind, parent, child, at, axis=back.R[:, 2], point=back.r)

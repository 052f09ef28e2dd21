"""Numeric poses of frames: position and orientation."""

import math
from typing import NamedTuple

import numpy as np

from armlet.scalar import QUARTER, Matrix, Vector, cos_sin

TOLERANCE = 1e-14
"""The size of rounding errors: angles (rad) this close to a multiple of a quarter turn are rounded
to the multiple, and lengths this small relative to other lengths are set to zero."""
DECIMALS = range(10, 17)
"""A multiple of π/2 written with this many decimals, such as 1.57079632679, counts as exact."""


def round_angle(angle: float, tolerance: float = TOLERANCE) -> float:
    """Wrap an angle to (-π, π]; angles close to a multiple of a quarter turn are rounded to it."""
    k = round(angle / QUARTER)
    is_close = abs(angle - k * QUARTER) <= tolerance
    if not is_close and angle not in (round(k * QUARTER, digits) for digits in DECIMALS):
        return math.remainder(angle, 4 * QUARTER)
    return ((k + 1) % 4 - 1) * QUARTER


class Pose(NamedTuple):
    """The pose of frame B in frame A: the columns of R are the axes of B, r is the origin of B."""

    R: Matrix
    r: Vector

    def __matmul__(self, other: "Pose") -> "Pose":
        return Pose(self.R @ other.R, self.R @ other.r + self.r)

    def inverse(self) -> "Pose":
        return Pose(self.R.T, -self.R.T @ self.r)

    def point(self, r: Vector) -> Vector:
        return self.R @ r + self.r


IDENTITY_POSE = Pose(np.eye(3), np.zeros(3))


def axis_rotation(axis: int, angle: float) -> Matrix:
    """Return the rotation matrix for an angle about coordinate axis 0, 1 or 2."""
    c, s = cos_sin(round_angle(angle))
    i, j = axis - 2, axis - 1
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def pose(xyz: Vector, rpy: Vector) -> Pose:
    """Return the pose with origin `xyz`, and roll, pitch, yaw `rpy` about fixed x, y, z axes."""
    roll, pitch, yaw = rpy
    R = axis_rotation(2, yaw) @ axis_rotation(1, pitch) @ axis_rotation(0, roll)
    return Pose(R, np.array(xyz, dtype=float))


def rpy_of(R: Matrix) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of a rotation matrix."""
    roll = math.atan2(R[2, 1], R[2, 2])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    y = R[:, 1] * math.cos(roll) - R[:, 2] * math.sin(roll)  # equals (-sin yaw, cos yaw, 0)
    return roll, pitch, math.atan2(-y[0], y[1])


def rotation_of_quaternion(w: float, x: float, y: float, z: float) -> Matrix:
    """Return the rotation matrix of a quaternion, scalar first and of any nonzero norm."""
    w, x, y, z = np.array([w, x, y, z]) / math.sqrt(w * w + x * x + y * y + z * z)
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    whole = np.round(R)  # makes rotations by quarter turns exact
    return whole if np.abs(R - whole).max() <= TOLERANCE else R


def rotation(axis: Vector, angle: float) -> Matrix:
    """Return the rotation matrix for an angle about a unit vector."""
    half = angle / 2
    return rotation_of_quaternion(math.cos(half), *(math.sin(half) * axis))

"""Canonical frames: modified Denavit-Hartenberg frames with as many zero parameters as possible.

The z axis of a body is its joint axis, in the file's direction. The x axis points along the
common normal of this axis and the joint axis of the main child, the child with the largest subtree.
The common normal of nearly parallel axes is ill defined and may be far from the joints. For such
axes, x points to the point where the child's axis crosses the plane z = 0, and rotations about x
and y, instead of about x alone, turn z to the child's z (Hayati 1983). So no DH length is much
larger than the arm. Where the geometry leaves a choice, the choice makes parameters zero:

- origins can move along parallel axes: the offsets d of successive parallel axes are merged into
  the d of the last body, or into the base frame if the first of these axes is on the base;
- the axis of a prismatic joint can be shifted: it passes through the origin of the next body;
- a joint without an axis, such as a ball joint, keeps the frame of its file;
- the x axes of the base, the tips and coaxial joints are free: they are chosen to make angles zero;
- of x and -x, the direction at the smaller angle from the previous normal is chosen.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armlet.algebra import X_AXIS
from armlet.robot.components import BASE
from armlet.robot.displacement import DHRow
from armlet.robot.joints import JointType
from armlet.robot.pose import IDENTITY_POSE, Pose, round_angle
from armlet.scalar import Vector, cos_sin

NEARLY_PARALLEL = 0.01
"""Below this angle (rad) between two axes, their common normal is not used: the normal's direction
has an error of about 1e-16 divided by the angle."""
FAR = 1.5
"""A common normal is used only if its ends are near the joints: the distance from each joint to the
normal's end must be at most this multiple of the distance between the joints."""


class Mount(NamedTuple):
    """A body as the file describes it: its frame and its joint, in the neutral position."""

    parent: int
    pose: Pose
    """The pose of the body's frame in the parent's frame."""
    type: JointType
    axis: Vector
    """The direction of the body's joint axis, a unit vector in the body's frame; the z axis of this
    frame if the joint has no axis."""
    point: Vector
    """A point on the joint's axis, in the body's frame; the origin if the joint has no axis."""


class Line(NamedTuple):
    """A joint axis: its direction, and a point on it (None if the axis can be shifted)."""

    axis: Vector
    point: Vector

    def seen_from(self, pose: Pose) -> "Line":
        """Express the line in another frame, in which `pose` is the pose of the line's frame."""
        return Line(pose.R @ self.axis, None if self.point is None else pose.point(self.point))

    def foot(self, r: Vector) -> Vector:
        """Return the point of the line nearest to point r."""
        return self.point + self.axis * (self.axis @ (r - self.point))

    def nearest(self, other: "Line") -> Vector:
        """Return the point of this line nearest to `other`, a line that is not parallel."""
        across = cross(self.axis, other.axis)
        t = cross(other.point - self.point, other.axis) @ across / (across @ across)
        return self.point + t * self.axis

    def crossing(self, origin: Vector, normal: Vector) -> Vector:
        """Return the point where the line crosses the plane through `origin` with this `normal`."""
        t = ((origin - self.point) @ normal) / (self.axis @ normal)
        return self.point + t * self.axis


class FrameChoice:
    """Choose the canonical frames: `dh` has their DH rows, `own` their poses in file frames."""

    def __init__(self, mounts: Sequence[Mount], tolerance: float) -> None:
        self.mounts = mounts
        self.tolerance = tolerance
        self.main = main_children([mount.parent for mount in mounts])
        self.lines: dict[int, Line] = {}
        self.anchors: dict[int, Vector | None] = {}
        self.levels: dict[int, Vector | None] = {}
        self.skew: dict[int, bool] = {}
        for i in reversed(range(len(mounts))):
            self._anchor(i)
        self.own: dict[int, Pose] = {}
        self.dh: dict[int, DHRow] = {}
        first = self.main.get(BASE, 0)
        for i in sorted(range(len(mounts)), key=lambda i: i != first):
            self._place(i)

    def has_axis(self, i: int) -> bool:
        return i == BASE or self.mounts[i].type.has_axis

    def are_skew(self, line: Line, other: Line) -> bool:
        """Whether the common normal of two axes is well defined and ends near the joints."""
        if size(cross(line.axis, other.axis)) <= max(NEARLY_PARALLEL, self.tolerance):
            return False
        if line.point is None or other.point is None:
            return True
        feet = line.nearest(other) - line.point, other.nearest(line) - other.point
        apart = float(np.linalg.norm(other.point - line.point))
        return size(*feet) <= FAR * apart + self.tolerance * size(line.point, other.point)

    def normal(self, line: Line, other: Line, skew: bool, scale: float) -> Vector | None:
        """Return the x axis from `line` to `other`, of arbitrary sign, or None if x is free."""
        if skew:
            return across(cross(line.axis, other.axis), line.axis)
        if line.point is None or other.point is None:
            return None
        way = other.crossing(line.point, line.axis) - line.point
        return across(way, line.axis) if size(way) > self.tolerance * scale else None

    def _anchor(self, i: int) -> None:
        """Determine the joint axis `lines[i]` of body i, and the origin if the geometry fixes it.

        A fixed origin becomes `anchors[i]` and `levels[i]`. For a free origin, `anchors[i]` is None
        and `levels[i]` is the next fixed origin towards the tips, projected on the axis, or None.
        """
        mount, child = self.mounts[i], self.main.get(i)
        line = Line(mount.axis, mount.point if mount.type.rotates or child is not None else None)
        anchor = level = None
        if not mount.type.has_axis:
            self.lines[i], self.anchors[i], self.levels[i] = line, mount.point, mount.point
            return
        if child is not None:
            pose = self.mounts[child].pose
            next_line = self.lines[child].seen_from(pose)
            next_anchor, next_level = self.anchors[child], self.levels[child]
            if not mount.type.rotates:
                if next_anchor is not None:
                    anchor = pose.point(next_anchor)
                elif next_line.point is not None:
                    skew = self.are_skew(line, next_line)
                    anchor = next_line.nearest(line) if skew else next_line.point
                line = Line(line.axis, anchor)
            self.skew[child] = self.are_skew(line, next_line)
            if mount.type.rotates and next_line.point is not None:
                if self.skew[child]:
                    anchor = line.nearest(next_line)
                elif next_level is not None:
                    level = line.foot(pose.point(next_level))
        self.lines[i], self.anchors[i] = line, anchor
        self.levels[i] = level if anchor is None else anchor

    def _outward(self, i: int, line: Line, wanted: Vector) -> Vector:
        """Return the x axis of body i towards the main child, or along `wanted` if x is free.

        The origin of body i is `line.point`. Of x and -x, the one closer to `wanted` is returned.
        """
        if not self.has_axis(i):
            return X_AXIS.astype(float)
        child = self.main.get(i)
        x = None
        if child is not None:
            pose = self.mounts[child].pose
            next_line = self.lines[child].seen_from(pose)
            scale = size(pose.r, line.point, next_line.point)
            x = self.normal(line, next_line, self.skew[child], scale)
            if x is not None and self._is_opposite(x, wanted, line, next_line, scale):
                x = -x
        return across(wanted if x is None else x, line.axis)

    def _is_opposite(
        self, x: Vector, wanted: Vector, line: Line, other: Line, scale: float
    ) -> bool:
        """Whether -x is closer to `wanted` than x; in a tie, whether -x points to `other`."""
        if abs(x @ wanted) > self.tolerance:
            return bool(x @ wanted < 0)
        if line.point is None or other.point is None:
            return False
        return bool((other.point - line.point) @ x < -self.tolerance * scale)

    def _place(self, i: int) -> None:
        """Choose the frame of body i and compute its DH row."""
        mount, line = self.mounts[i], self.lines[i]
        p, z = mount.parent, mount.axis
        if p == BASE and BASE not in self.own:
            self._place_first(i)
            return
        R_p, o_p = mount.pose.inverse() @ self.own[p]
        x_p, z_p = R_p[:, 0], R_p[:, 2]
        line = line if line.point is not None else Line(z, o_p)
        parent_line = Line(z_p, o_p)
        scale = size(mount.pose.r, self.own[p].r, line.point)
        is_main = self.main.get(p) == i and self.has_axis(p)
        skew = self.skew[i] if is_main else self.are_skew(parent_line, line)
        if is_main:
            start, e = o_p, x_p
        else:
            start = parent_line.nearest(line) if skew else o_p
            normal = self.normal(parent_line, line, skew, scale)
            e = x_p if normal is None else -normal if normal @ x_p < 0 else normal
        end = line.nearest(parent_line) if skew else line.crossing(o_p, z_p)
        anchor = self.anchors[i]
        origin = end if anchor is None else anchor
        y = cross(z_p, e)
        alpha = self._angle(math.atan2(-(z @ y), z @ z_p))
        beta = 0.0 if skew else self._angle(math.atan2(z @ e, math.hypot(z @ y, z @ z_p)))
        (c_a, s_a), (c_b, s_b) = cos_sin(alpha), cos_sin(beta)
        e_tilted = c_b * e + s_b * (s_a * y - c_a * z_p)
        x = self._outward(i, Line(z, origin), e_tilted)
        self.own[i] = Pose(np.column_stack([x, cross(z, x), z]), origin)
        self.dh[i] = DHRow(
            gamma=self._angle_about(z_p, x_p, e),
            b=self._length((start - o_p) @ z_p, scale),
            alpha=alpha,
            a=self._length((end - start) @ e, scale),
            beta=beta,
            d=self._length((origin - end) @ z, scale),
            theta=self._angle_about(z, e_tilted, x),
        )

    def _place_first(self, i: int) -> None:
        """Choose the frame of body i and an equal base frame, so that the DH row of i is zero."""
        mount, line = self.mounts[i], self.lines[i]
        base_x, base_y, _ = mount.pose.R
        along_x = size(cross(base_x, line.axis)) <= max(NEARLY_PARALLEL, self.tolerance)
        origin = mount.point if (level := self.levels[i]) is None else level
        x = self._outward(i, Line(line.axis, origin), base_y if along_x else base_x)
        self.own[i] = Pose(np.column_stack([x, cross(line.axis, x), line.axis]), origin)
        self.own[BASE] = mount.pose @ self.own[i]
        self.dh[i] = DHRow(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def _angle(self, angle: float) -> float:
        return round_angle(angle, self.tolerance)

    def _angle_about(self, axis: Vector, a: Vector, b: Vector) -> float:
        """Return the angle about `axis` that rotates vector a into vector b."""
        return self._angle(math.atan2(axis @ cross(a, b), a @ b))

    def _length(self, x: float, scale: float) -> float:
        """Return x, or exactly 0.0 if x is a rounding error relative to `scale`."""
        return float(x) if abs(x) > self.tolerance * scale else 0.0


def canonical(mounts: Sequence[Mount], tolerance: float) -> tuple[list[DHRow], list[Pose]]:
    """Return the DH row of each body, and the canonical frames as poses in the file frames.

    The list of poses ends with the base frame. In `mounts`, parents come before their children.
    """
    if not mounts:
        return [], [IDENTITY_POSE]
    chosen = FrameChoice(mounts, tolerance)
    n = len(mounts)
    return [chosen.dh[i] for i in range(n)], [chosen.own[i] for i in (*range(n), BASE)]


def main_children(parent: Sequence[int]) -> dict[int, int]:
    """Return the child with the largest subtree, for the base and each body that has children."""
    weight = [1] * len(parent)
    for i in reversed(range(len(parent))):
        if parent[i] != BASE:
            weight[parent[i]] += weight[i]
    main: dict[int, int] = {}
    for i, p in enumerate(parent):
        if p not in main or weight[i] > weight[main[p]]:
            main[p] = i
    return main


def cross(a: Vector, b: Vector) -> Vector:
    """Return a × b of two vectors, bitwise equal to `np.cross` but faster."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def across(v: Vector, axis: Vector) -> Vector:
    """Return the unit vector along the component of v perpendicular to the unit vector `axis`."""
    for _ in range(2):  # twice: for a short v, rounding leaves a component along the axis
        v = v / np.linalg.norm(v)
        v = v - axis * (axis @ v)
    return v / np.linalg.norm(v)


def size(*vectors: Vector | None) -> float:
    """Return the largest norm of the vectors; None is ignored."""
    return max(float(np.linalg.norm(v)) for v in vectors if v is not None)

"""Canonical frames: modified Denavit-Hartenberg, with as many zeros as the geometry allows.

The z axis of a body is its joint's axis, in the file's direction; x points along the common normal
to the axis of the child with the largest subtree, the main child. What the geometry leaves free is
used up:

- parallel axes leave the origin free along them: in a run of parallel axes the offsets are merged
  into the last, or into the base where the run starts there;
- a sliding axis may be anywhere: it is put through the origin of the body after it;
- the base, the tips and coaxial joints have a free x: it is chosen for a zero angle;
- the sign of x is chosen for the smaller angle from the normal before it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armlet.robot.pose import HERE, Pose, round_angle
from armlet.robot.robot import BASE, Row
from armlet.scalar import Vector


class Mount(NamedTuple):
    """A body as the file has it: its frame in its parent's frame with the joint at zero, the
    joint's axis (a unit vector) and a point on it in the body's frame, and whether it slides."""

    parent: int
    pose: Pose
    axis: Vector
    point: Vector
    slides: bool


class Line(NamedTuple):
    """A joint's axis: its direction and a point on it, or None where any point will do."""

    axis: Vector
    point: Vector | None

    def seen_from(self, pose: Pose) -> "Line":
        """The line in the frame that this one's frame has that pose in."""
        return Line(pose.R @ self.axis, None if self.point is None else pose.point(self.point))

    def foot(self, r: Vector) -> Vector:
        """The point of the line nearest to r."""
        assert self.point is not None
        return self.point + self.axis * (self.axis @ (r - self.point))


class Chooser:
    """Chooses the canonical frames of a tree of mounts."""

    def __init__(self, mounts: Sequence[Mount], tolerance: float) -> None:
        self.mounts = mounts
        self.tolerance = tolerance
        self.length = tolerance * max((float(np.linalg.norm(m.pose.r)) for m in mounts), default=1)
        self.main = main_children([mount.parent for mount in mounts])
        self.lines: dict[int, Line] = {}
        self.anchors: dict[int, Vector | None] = {}
        self.levels: dict[int, Vector | None] = {}
        for i in reversed(range(len(mounts))):
            self._anchor(i)
        self.own: dict[int, Pose] = {}
        self.rows: dict[int, Row] = {}
        first = self.main.get(BASE, 0)
        for i in sorted(range(len(mounts)), key=lambda i: i != first):
            self._place(i)

    def parallel(self, a: Vector, b: Vector) -> bool:
        return bool(np.linalg.norm(np.cross(a, b)) <= self.tolerance)

    def nearest(self, line: Line, other: Line) -> Vector:
        """The point of a line nearest to another that is not parallel to it."""
        assert line.point is not None
        assert other.point is not None
        across = np.cross(line.axis, other.axis)
        t = np.cross(other.point - line.point, other.axis) @ across / (across @ across)
        return line.point + t * line.axis

    def normal(self, line: Line, other: Line) -> Vector | None:
        """The direction of the common normal, or None where any will do."""
        if not self.parallel(line.axis, other.axis):
            return unit(np.cross(line.axis, other.axis))
        if line.point is None or other.point is None:
            return None
        across = other.foot(line.point) - line.point
        return unit(across) if np.linalg.norm(across) > self.length else None

    def _anchor(self, i: int) -> None:
        """Fix the axis of body i, and the place of its origin on it where that is not free.

        Where it is free but a body after it has a fixed one, that one's level is noted.
        """
        mount, child = self.mounts[i], self.main.get(i)
        line = Line(mount.axis, None if mount.slides and child is None else mount.point)
        anchor = level = None
        if child is not None:
            pose = self.mounts[child].pose
            next_line = self.lines[child].seen_from(pose)
            next_anchor = self.anchors[child]
            here = None if next_anchor is None else pose.point(next_anchor)
            next_level = self.levels[child]
            if mount.slides:
                if here is None and next_line.point is not None:
                    skew = not self.parallel(line.axis, next_line.axis)
                    here = self.nearest(next_line, line) if skew else next_line.point
                line, anchor = Line(line.axis, here), here
            elif next_line.point is not None and not self.parallel(line.axis, next_line.axis):
                anchor = self.nearest(line, next_line)
            elif next_line.point is not None and next_level is not None:
                level = line.foot(pose.point(next_level))
        self.lines[i], self.anchors[i] = line, anchor
        self.levels[i] = level if anchor is None else anchor

    def _outward(self, i: int, line: Line, wanted: Vector) -> Vector:
        """The x axis of body i: the normal to its main child, nearest to the direction wanted."""
        child = self.main.get(i)
        x = None
        if child is not None:
            next_line = self.lines[child].seen_from(self.mounts[child].pose)
            x = self.normal(line, next_line)
            if x is not None and self._is_opposite(x, wanted, line, next_line):
                x = -x
        x = wanted if x is None else x
        return unit(x - line.axis * (line.axis @ x))

    def _is_opposite(self, x: Vector, wanted: Vector, line: Line, other: Line) -> bool:
        """Whether -x is the better x: nearer to the direction wanted, else towards the other."""
        if abs(x @ wanted) > self.tolerance:
            return bool(x @ wanted < 0)
        if line.point is None or other.point is None:
            return False
        return bool((other.point - line.point) @ x < -self.length)

    def _place(self, i: int) -> None:
        """Choose the frame of body i and read off its row."""
        mount, line = self.mounts[i], self.lines[i]
        p, z = mount.parent, mount.axis
        if p == BASE and BASE not in self.own:
            self._place_first(i)
            return
        x_p, _, z_p, o_p = in_frame(mount.pose.inverse() @ self.own[p])
        line = line if line.point is not None else Line(z, o_p)
        parent_line = Line(z_p, o_p)
        if self.main.get(p) == i:
            e = x_p
        else:
            e = self.normal(parent_line, line)
            e = x_p if e is None else -e if e @ x_p < 0 else e
        if self.parallel(z_p, z):
            start, end = o_p, line.foot(o_p)
        else:
            start, end = self.nearest(parent_line, line), self.nearest(line, parent_line)
        x = self._outward(i, line, e)
        anchor = self.anchors[i]
        origin = end if anchor is None else anchor
        self.own[i] = Pose(np.column_stack([x, np.cross(z, x), z]), origin)
        self.rows[i] = Row(
            gamma=self._angle(x_p, e, z_p),
            b=self._length((start - o_p) @ z_p),
            alpha=self._angle(z_p, z, e),
            a=self._length((end - start) @ e),
            d=self._length((origin - end) @ z),
            theta=self._angle(e, x, z),
        )

    def _place_first(self, i: int) -> None:
        """Choose the base's frame as that of its main child at zero, whose row is then empty."""
        mount, line = self.mounts[i], self.lines[i]
        base_x, base_y, _, base_o = in_frame(mount.pose.inverse())
        wanted = base_y if self.parallel(base_x, line.axis) else base_x
        line = line if line.point is not None else Line(line.axis, base_o)
        x = self._outward(i, line, wanted)
        level = self.levels[i]
        origin = line.point if level is None else level
        self.own[i] = Pose(np.column_stack([x, np.cross(line.axis, x), line.axis]), origin)
        self.own[BASE] = mount.pose @ self.own[i]
        self.rows[i] = Row(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def _angle(self, a: Vector, b: Vector, axis: Vector) -> float:
        return round_angle(math.atan2(axis @ np.cross(a, b), a @ b), self.tolerance)

    def _length(self, x: float) -> float:
        return float(x) if abs(x) > self.length else 0.0


def canonical(mounts: Sequence[Mount], tolerance: float) -> tuple[list[Row], list[Pose]]:
    """The row of each body, and the pose of each canonical frame in the file's, the base's last.

    Parents come before their children.
    """
    if not mounts:
        return [], [HERE]
    chosen = Chooser(mounts, tolerance)
    n = len(mounts)
    return [chosen.rows[i] for i in range(n)], [chosen.own[i] for i in (*range(n), BASE)]


def main_children(parent: Sequence[int]) -> dict[int, int]:
    """For each body that has children, the one with the most bodies on it, the first of equals."""
    weight = [1] * len(parent)
    for i in reversed(range(len(parent))):
        if parent[i] != BASE:
            weight[parent[i]] += weight[i]
    main: dict[int, int] = {}
    for i, p in enumerate(parent):
        if p not in main or weight[i] > weight[main[p]]:
            main[p] = i
    return main


def unit(v: Vector) -> Vector:
    return v / np.linalg.norm(v)


def in_frame(pose: Pose) -> tuple[Vector, Vector, Vector, Vector]:
    """The axes x, y, z and the origin of a frame."""
    return pose.R[:, 0], pose.R[:, 1], pose.R[:, 2], pose.r

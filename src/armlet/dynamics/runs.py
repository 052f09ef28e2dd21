"""Runs of parallel axes: bodies that turn against one body by sums of angles.

Bodies whose axes are parallel turn against the body that the first of them sits on by the sum of
their angles, about one direction. What lies across the axes need not go from joint to joint: it
goes straight to that body. This saves operations where that body moves or bears little, so only
runs that start on the base or on a body that sits on the base are taken.
"""

from typing import NamedTuple

from armlet.algebra import ZERO, vector
from armlet.robot import BASE, Displacement, Robot, Screw, axial_turn
from armlet.scalar import Scalar, Vector, is_zero, quarter_turns


class Borne(NamedTuple):
    """What a body bears: a force and a moment about its origin, in its axes."""

    f: Vector
    t: Vector
    straight: Vector = ZERO
    """A part of the moment across the axes of a run, on its way straight to the body that the run
    starts on, in the axes of its mount."""


class Runs(NamedTuple):
    """The runs of a robot at some joint angles."""

    start: list[int]
    """The first body of the run that each body belongs to."""
    turn: list[Screw]
    """The turn of each body against the mount of its run's start."""

    def goes_on(self, i: int) -> bool:
        """Whether body i is in a run and not its start."""
        return self.start[i] != i

    def has_others(self, i: int) -> bool:
        """Whether body i is in a run with others."""
        return self.start.count(self.start[i]) > 1

    def carried(self, robot: Robot, X: list[Displacement], i: int, borne: Borne) -> Borne:
        """What body i bears, carried over to its parent as far as the joints there feel it."""
        f, t, straight = borne
        if self.goes_on(i):
            return Borne(*X[i].wrench(f, along(t)), straight + self.turn[i].vector(across(t)))
        f, t = X[i].wrench(f, t)
        return Borne(f, t + robot.mounts[i].vector(straight))

    def inward(self, robot: Robot, i: int, v: Vector) -> Vector:
        """The part of v across body i's axis, in the axes of the body that its run starts on."""
        return robot.mounts[self.start[i]].vector(self.turn[i].vector(across(v)))


def parallel_runs(robot: Robot, q: Vector) -> Runs:
    """The runs of parallel axes; a body that is in none is one of its own."""
    start: list[int] = []
    turn: list[Screw] = []
    angle: list[tuple[Scalar, Scalar]] = []
    for i, p in robot.base_to_tips():
        own = _angle(robot, i, q)
        if p != BASE and _is_straight(robot.mounts[i]) and _is_near_base(robot, start[p]):
            start.append(start[p])
            angle.append((angle[p][0] + own[0], angle[p][1] + own[1]))
        else:
            start.append(i)
            angle.append(own)
        turn.append(Screw(2, *axial_turn(*angle[i]), 0))
    return Runs(start, turn)


def _angle(robot: Robot, i: int, q: Vector) -> tuple[Scalar, Scalar]:
    """The angle of joint i, and apart from it a constant that is an exact number of quarter turns.

    So the angle of a run is a sum of angles whose sines are on hand.
    """
    theta = robot.rows[i].theta
    if robot.joints[i].letter == "P":
        return 0, theta
    return (q[i] + theta, 0) if quarter_turns(theta) is None else (q[i], theta)


def _is_straight(mount: Displacement) -> bool:
    return all(is_zero(screw.s) and screw.c == 1 for screw in mount)


def _is_near_base(robot: Robot, i: int) -> bool:
    p = robot.parent[i]
    return p == BASE or robot.parent[p] == BASE


def across(v: Vector) -> Vector:
    """The part of a vector across the z axis."""
    return vector(v[0], v[1], 0)


def along(v: Vector) -> Vector:
    """The part of a vector along the z axis."""
    return vector(0, 0, v[2])

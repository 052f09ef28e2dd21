"""Displacements of bodies from their parents, with fewer operations if joint axes are parallel.

A run is a chain of bodies with parallel joint axes, in equal or opposite directions. The run starts
on the parent of its first body. Relative to this parent, each body of the run rotates about the
common direction, by the sum of the joint angles. The joints of the run are loaded only by the
component of a moment along the axes. The other components of moments and inertias are therefore
transformed in one step to the parent on which the run starts. Likewise, the perpendicular
components of angular velocities are transformed in one step from that parent. This saves operations
only if the run starts on the base or a child of the base; elsewhere, each body is its own run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from armlet.algebra import ZERO, cross, symmetric, vector
from armlet.robot import BASE, Displacement, RobotModel, Screw, Twist, cos_sin_of_sum
from armlet.scalar import Matrix, Scalar, Vector, is_zero, quarter_turns

NOTHING = symmetric(0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class CarriedWrench:
    """The force f and moment t that a joint transmits, about its body's origin, in body axes."""

    f: Vector
    t: Vector
    ahead: Vector = field(default_factory=lambda: ZERO)
    """Moment of bodies further out in the run, perpendicular to the joint axes, not counted in `t`.
    It loads no joint of the run and is added to the parent on which the run starts. The axes are
    those of the body when all angles q + θ of the run are zero."""

    def __add__(self, other: "CarriedWrench") -> "CarriedWrench":
        return CarriedWrench(self.f + other.f, self.t + other.t, self.ahead + other.ahead)

    def along(self, twists: Iterable[Twist]) -> list[Scalar]:
        """The joint torque w · t + v · f for each unit twist (w, v) of the joint."""
        return [w @ self.t + v @ self.f for w, v in twists]


@dataclass(frozen=True)
class CarriedBody:
    """Mass, first moment and inertia of a rigid body, about a frame's origin and in its axes."""

    m: Scalar
    c: Vector
    J: Matrix
    ahead: Matrix = field(default_factory=lambda: NOTHING)
    """Inertia of outer bodies of the run that loads no joint of the run: see `CarriedWrench`."""

    def __add__(self, other: "CarriedBody") -> "CarriedBody":
        m, c, J = self.m + other.m, self.c + other.c, self.J + other.J
        return CarriedBody(m, c, J, self.ahead + other.ahead)

    def wrench(self, w: Vector, v: Vector) -> CarriedWrench:
        """The wrench for angular acceleration w and linear acceleration v of the body at rest."""
        f, t = self.m * v + cross(w, self.c), self.J @ w + cross(self.c, v)
        return CarriedWrench(f, t, self.ahead @ w)


@dataclass(frozen=True)
class ParallelAxes:
    """The displacement of each body from its parent, and the rotations in runs of parallel axes."""

    robot: RobotModel
    X: list[Displacement]
    start: list[int]
    """For each body, the first body of its run."""
    rotation: list[Screw]
    """For each body, the rotation about z by the sum of the angles q + θ from its run's start; not
    used for joints that are no part of runs."""
    is_opposite: list[bool]
    """For each body, whether its joint axis is opposite to that of the first body of its run."""

    def __getitem__(self, i: int) -> Displacement:
        return self.X[i]

    def wrench(self, i: int, carried: CarriedWrench) -> CarriedWrench:
        """The wrench `carried` by body i, transformed to the frame of its parent."""
        f, t, ahead = carried.f, carried.t, carried.ahead
        if self.start[i] != i:  # it continues a run
            ahead = self.robot._mounts[i].vector(ahead + self.rotation[i].vector(across(t)))
            return CarriedWrench(*self.X[i].wrench(f, along(t)), ahead)
        f, t = self._joint(i).wrench(f, t)
        return CarriedWrench(*self.robot._mounts[i].wrench(f, t + ahead))

    def body(self, i: int, carried: CarriedBody) -> CarriedBody:
        """The inertial parameters `carried` by body i, transformed to the frame of its parent."""
        m, c, J, ahead = carried.m, carried.c, carried.J, carried.ahead
        if self.start[i] != i:  # it continues a run
            J_along = symmetric(0, 0, 0, 0, 0, J[2, 2])
            ahead = self.robot._mounts[i].tensor(ahead + self.rotation[i].tensor(J - J_along))
            return CarriedBody(*self.X[i].body(m, c, J_along), ahead)
        m, c, J = self._joint(i).body(m, c, J)
        return CarriedBody(*self.robot._mounts[i].body(m, c, J + ahead))

    def _joint(self, i: int) -> Displacement:
        """The part of the displacement of body i that depends on q: all but the constant mount."""
        return Displacement(self.X[i][len(self.robot._mounts[i]) :])

    def vector(self, i: int, v: Sequence[Vector]) -> Vector:
        """The parent's vector in the axes of body i, transformed in one step where possible.

        `v` has one vector per body, with the base last. Only the component along the joint axis is
        taken from the parent. The perpendicular components are taken from the body on which the run
        of body i starts, because these components of an angular velocity are equal along the run.
        """
        if not _fits_run(self.robot, i):
            return self.X[i].inverse().vector(v[self.robot.parent[i]])
        parent = self.robot._mounts[i].inverse().vector(v[self.robot.parent[i]])
        return self.rotation[i].inverse().vector(across(self.at_zero(i, v))) + along(parent)

    def at_zero(self, i: int, v: Sequence[Vector]) -> Vector:
        """The vector of the body on which the run starts, in the axes of `CarriedWrench.ahead`."""
        first = self.start[i]
        x, y, z = self.robot._mounts[first].inverse().vector(v[self.robot.parent[first]])
        return vector(x, -y, -z) if self.is_opposite[i] else vector(x, y, z)

    def rates(self, qd: Vector) -> list[Vector]:
        """The angular velocity of each body relative to the body on which its run starts."""
        rate: list[Vector] = []
        for i, p in self.robot.base_to_tips():
            twists, speeds = self.robot.twists[i], qd[self.robot.v_of[i]]
            own = sum(twist.w * x for twist, x in zip(twists, speeds, strict=True))
            if self.start[i] != i:  # it continues a run
                own = own + (rate[p] if self.is_opposite[i] == self.is_opposite[p] else -rate[p])
            rate.append(own)
        return rate


def parallel_axes(robot: RobotModel, q: Vector) -> ParallelAxes:
    """The displacements and runs of a robot; a body that continues no run starts a new run."""
    start: list[int] = []
    rotation: list[Screw] = []
    is_opposite: list[bool] = []
    angle: list[tuple[Scalar, Scalar]] = []
    for i, p in robot.base_to_tips():
        own = _angle(robot, i, q)
        z = _parallel(robot._mounts[i])
        fits = p != BASE and _fits_run(robot, i) and _fits_run(robot, p)
        if fits and z and len(robot.path(start[p])) <= 2:  # on the base, or a child of it
            start.append(start[p])
            angle.append((own[0] + z * angle[p][0], own[1] + z * angle[p][1]))
            is_opposite.append(is_opposite[p] != (z < 0))
        else:
            start.append(i)
            angle.append(own)
            is_opposite.append(False)
        rotation.append(Screw(2, *cos_sin_of_sum(*angle[i]), 0))
    return ParallelAxes(robot, robot.displacements(q), start, rotation, is_opposite)


def _angle(robot: RobotModel, i: int, q: Vector) -> tuple[Scalar, Scalar]:
    """The angle q + θ of joint i as two terms, of which the second is constant.

    The first term includes θ only if θ is not a multiple of a quarter turn. The displacement of
    body i splits the angle in the same way, so that both share one sine and one cosine.
    """
    theta = robot.dh[i].theta
    if not _fits_run(robot, i):
        return 0, 0
    if not robot.joints[i].type.rotates:
        return 0, theta
    angle = q[robot.q_of[i]][0]
    return (angle + theta, 0) if quarter_turns(theta) is None else (angle, theta)


def _fits_run(robot: RobotModel, i: int) -> bool:
    """Whether joint i may be part of a run: its first position, if it rotates, is an angle."""
    joint = robot.joints[i].type
    return joint.has_axis and joint.is_vector_space


def _parallel(mount: Displacement) -> int:
    """1 if `mount` does not rotate, -1 if it rotates by a half turn about x, else 0."""
    screws = [screw for screw in mount if not (is_zero(screw.s) and screw.c == 1)]
    is_half = len(screws) == 1 and screws[0].k == 0 and is_zero(screws[0].s) and screws[0].c == -1
    return 1 if not screws else -1 if is_half else 0


def across(v: Vector) -> Vector:
    """The component of a vector perpendicular to the z axis, as a vector."""
    return vector(v[0], v[1], 0)


def along(v: Vector) -> Vector:
    """The component of a vector along the z axis, as a vector."""
    return vector(0, 0, v[2])

"""Poses, Jacobians, velocities and accelerations of frames."""

from collections.abc import Sequence

import numpy as np

from armlet.algebra import IDENTITY, ZERO, angular_acceleration_tensor, cross, homogeneous
from armlet.dynamics.coupling import columns, project
from armlet.dynamics.formulation import by_definition
from armlet.dynamics.recursions import angular_rates, joint_acceleration, joint_motion
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@by_definition("forward_kinematics", "two_axes", contends=True)
def forward_kinematics(robot: RobotModel, q: Vector, frame: str | None = None) -> Matrix:
    """The pose of a frame relative to the base link: a 4x4 homogeneous matrix.

    The x and y axes and the origin of the frame are transformed towards the base, body by body; z
    is the cross product x × y.
    """
    body, (R, r) = robot.frame(frame)
    X = robot.displacements(q)
    x, y = R[:, 0], R[:, 1]
    for i in reversed(robot.path(body)):
        x, y, r = X[i].vector(x), X[i].vector(y), X[i].point(r)
    base = robot.frames[robot.base_link].pose
    x, y, r = base.R.T @ x, base.R.T @ y, base.R.T @ (r - base.r)
    return homogeneous(np.column_stack([x, y, cross(x, y)]), r)


@by_definition("forward_kinematics", "rows", contends=True)
def forward_kinematics_by_rows(robot: RobotModel, q: Vector, frame: str | None = None) -> Matrix:
    """The pose of a frame relative to the base link, with the rotation matrix computed row by row.

    The rows are computed from the base to the tip. This takes more operations than `two_axes`, but
    shares most of them with `jacobian`: a program for both needs few additional operations.
    """
    body, (R_frame, r) = robot.frame(frame)
    X = robot.displacements(q)
    base = robot.frames[robot.base_link].pose
    path = robot.path(body)
    for i in reversed(path):
        r = X[i].point(r)
    R = base.R.T
    for i in path:
        R = np.array([X[i].inverse().vector(row) for row in R], dtype=object)
    return homogeneous(R @ R_frame, base.R.T @ (r - base.r))


@by_definition("jacobian", "geometric")
def jacobian(robot: RobotModel, q: Vector, frame: str | None = None) -> Matrix:
    """The geometric Jacobian Jq of a frame: (ω, v) = Jq q̇ in the axes of the base link.

    The column of a joint with unit twist (w, v) is (R w, R (w × s + v)). R is the rotation from the
    joint's body to the base link, and s is the position of the frame's origin in the body's frame.
    """
    body, (_, r) = robot.frame(frame)
    X = robot.displacements(q)
    base = robot.frames[robot.base_link].pose
    path = robot.path(body)
    tip: dict[int, Vector] = {}
    for i in reversed(path):
        tip[i], r = r, X[i].point(r)
    R = base.R.T
    Jq = np.zeros((6, robot.nv), dtype=object)
    for i in path:
        R = np.array([X[i].inverse().vector(row) for row in R], dtype=object)
        for k, (w, v) in zip(range(robot.nv)[robot.v_of[i]], robot.twists[i], strict=True):
            Jq[:3, k], Jq[3:, k] = R @ w, R @ (cross(w, tip[i]) + v)
    return Jq


def frame_motion(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, frame: str | None
) -> tuple[Vector, Vector, Vector, Vector]:
    """Return ω, v, ω̇ and a of a frame relative to the base link, in the axes of the base link.

    The recursion runs towards the base. Relative to body i, the frame is at s and moves with ω, v,
    ω̇ and a. Joint i moves body i relative to its parent with the velocity (ω_J, v_J), the unit
    twist times q̇, and the acceleration (α_J, a_J), the unit twist times q̈. In the axes of body i,
    these updates make a, ω̇, v and ω those of the frame relative to the parent:

        a  += ω_J × (2 v + ω_J × s + v_J) + α_J × s + a_J
        ω̇  += ω_J × ω + α_J
        v  += ω_J × s + v_J
        ω  += ω_J
    """
    body, (_, s) = robot.frame(frame)
    X = robot.displacements(q)
    w, v, wd, a = ZERO, ZERO, ZERO, ZERO
    for i in reversed(robot.path(body)):
        rate, faster = joint_motion(robot, i, qd), joint_motion(robot, i, qdd)
        dv = cross(rate.w, s) + rate.v
        a = a + cross(rate.w, 2 * v + dv) + cross(faster.w, s) + faster.v
        wd = wd + cross(rate.w, w) + faster.w
        v, w = v + dv, w + rate.w
        a, wd, v, w = (X[i].vector(x) for x in (a, wd, v, w))
        s = X[i].point(s)
    R = robot.frames[robot.base_link].pose.R.T
    return R @ w, R @ v, R @ wd, R @ a


@by_definition("frame_velocity", "inward")
def frame_velocity(robot: RobotModel, q: Vector, qd: Vector, frame: str | None = None) -> Vector:
    """The velocity (ω, v) of a frame, by `frame_motion`."""
    w, v, _, _ = frame_motion(robot, q, qd, [0] * robot.nv, frame)
    return np.concatenate([w, v])


@by_definition("frame_acceleration", "inward")
def frame_acceleration(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, frame: str | None = None
) -> Vector:
    """The acceleration (ω̇, a) of a frame, by `frame_motion`."""
    _, _, wd, a = frame_motion(robot, q, qd, qdd, frame)
    return np.concatenate([wd, a])


@by_definition("frame_acceleration_bias", "inward")
def frame_acceleration_bias(
    robot: RobotModel, q: Vector, qd: Vector, frame: str | None = None
) -> Vector:
    """The acceleration (ω̇, a) of a frame at q̈ = 0: Jq' q̇, with Jq' of `jacobian_rate`."""
    return frame_acceleration(robot, q, qd, [0] * robot.nv, frame)


@by_definition("jacobian_rate", "inward")
def jacobian_rate(robot: RobotModel, q: Vector, qd: Vector, frame: str | None = None) -> Matrix:
    """The time derivative Jq' of the Jacobian of a frame, by `jacobian_rates`."""
    return jacobian_rates(robot, q, qd, [0] * robot.nv, frame)[1]


@by_definition("poses", "outward")
def poses(robot: RobotModel, q: Vector, frames: Sequence[str] | None = None) -> Matrix:
    """The pose of each frame in `frames`, by default of every frame, relative to the base link.

    The rotation R of each body, row by row, and its origin o are computed from base to tips, with
    oᵢ = oₚ + Rₚ r, where the origin of body i is at r in the frame of its parent p.
    """
    X = robot.displacements(q)
    base = robot.frames[robot.base_link].pose
    R = [IDENTITY] * robot.nb + [base.R.T]
    o = [ZERO] * robot.nb + [-base.R.T @ base.r]
    for i, p in robot.base_to_tips():
        R[i] = np.array([X[i].inverse().vector(row) for row in R[p]], dtype=object)
        o[i] = o[p] + R[p] @ X[i].origin()
    names = robot.frames if frames is None else frames
    T = np.zeros((len(names), 4, 4), dtype=object)
    for k, (body, (R_frame, r)) in enumerate(map(robot.frame, names)):
        T[k, :3, :3], T[k, :3, 3], T[k, 3, 3] = R[body] @ R_frame, o[body] + R[body] @ r, 1
    return T


@project(("q", "qd", "qdd"), lambda robot, rates: tuple(columns(robot, J) for J in rates))
def jacobian_rates(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, frame: str | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """The geometric Jacobian Jq of a frame and its first and second time derivatives.

    The recursion runs from the frame to the base. s leads from the origin of body i to that of the
    frame, r to that of the next body towards the frame; v, q̇ and q̈ belong to the next body's joint.
    Dots are rates relative to fixed axes, ω is the angular velocity of body i, and Ω = ω̇~ + ω̃ ω̃:

        s = r + (s of the next body),   ṙ = ω × r + v q̇,   r̈ = Ω r + 2 ω × v q̇ + v q̈

    Joint i, of unit twist (w, v), has ẇ = ω × w, v̇ = ω × v, ẅ = Ω w and v̈ = Ω v. The columns are

        Jq   = (w, w × s + v)
        Jq'  = (ẇ, ẇ × s + w × ṡ + v̇)
        Jq'' = (ẅ, ẅ × s + 2 ẇ × ṡ + w × s̈ + v̈)

    rotated to the axes of the base link, as in `jacobian`.
    """
    body, (_, s) = robot.frame(frame)
    X = robot.displacements(q)
    w, wd = angular_rates(robot, X, qd, qdd)
    Omega = [*map(angular_acceleration_tensor, w, wd)]
    path = robot.path(body)
    sd, sdd = cross(w[body], s), Omega[body] @ s
    columns = {}
    for i in reversed(path):
        for k, (w_axis, v_axis) in zip(
            range(robot.nv)[robot.v_of[i]], robot.twists[i], strict=True
        ):
            wd_axis, wdd_axis = cross(w[i], w_axis), Omega[i] @ w_axis
            faster = cross(wdd_axis, s) + cross(2 * wd_axis, sd) + cross(w_axis, sdd)
            columns[k] = (
                (w_axis, cross(w_axis, s) + v_axis),
                (wd_axis, cross(wd_axis, s) + cross(w_axis, sd) + cross(w[i], v_axis)),
                (wdd_axis, faster + Omega[i] @ v_axis),
            )
        p, r = robot.parent[i], X[i].origin()
        s = X[i].point(s)
        sd = X[i].vector(sd + joint_motion(robot, i, qd).v) + cross(w[p], r)
        sdd = X[i].vector(sdd + joint_acceleration(robot, i, w[i], qd, qdd)) + Omega[p] @ r

    R = robot.frames[robot.base_link].pose.R.T
    Jq, Jqd, Jqdd = np.zeros((3, 6, robot.nv), dtype=object)
    for i in path:
        R = np.array([X[i].inverse().vector(row) for row in R], dtype=object)
        for k in range(robot.nv)[robot.v_of[i]]:
            for J, (angular, linear) in zip((Jq, Jqd, Jqdd), columns[k], strict=True):
                J[:3, k], J[3:, k] = R @ angular, R @ linear
    return Jq, Jqd, Jqdd

"""How a frame moves: its velocity, its acceleration and the rate of its Jacobian."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armlet.algebra import IDENTITY, ZERO, cross
from armlet.dynamics.formulation import formulation
from armlet.dynamics.kinematics.rates import jacobian_rates
from armlet.dynamics.recursions import joint_motion
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


class Motion(NamedTuple):
    """How a point and the axes on it move against a body: place and rates, in the body's axes."""

    s: Vector
    w: Vector
    v: Vector
    wd: Vector
    a: Vector


def frame_motion(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, frame: str | None
) -> Motion:
    """The motion of a frame against the file's base, in its axes.

    From the frame inwards. Against body i, the frame is at s and moves with ω, v, ω̇ and a. The
    joint moves the body against the parent with the twist (w, v) q̇, and faster by (w, v) q̈; call
    these (ω_J, v_J) and (α_J, a_J). Against the parent, and still in the body's axes, the frame
    then moves with

        a  + ω_J × (2 v + ω_J × s + v_J) + α_J × s + a_J
        ω̇  + ω_J × ω + α_J
        v  + ω_J × s + v_J
        ω  + ω_J
    """
    body, (_, s) = robot.frame(frame)
    X = robot.displacements(q)
    w, v, wd, a = ZERO, ZERO, ZERO, ZERO
    for i in reversed(robot.path(body)):
        rate, faster = joint_motion(robot, i, qd), joint_motion(robot, i, qdd)
        swept = cross(rate.w, s) + rate.v
        a = a + cross(rate.w, 2 * v + swept) + cross(faster.w, s) + faster.v
        wd = wd + cross(rate.w, w) + faster.w
        v, w = v + swept, w + rate.w
        a, wd, v, w = (X[i].vector(x) for x in (a, wd, v, w))
        s = X[i].point(s)
    base = robot.frames[robot.base_link].pose
    turned = (base.R.T @ x for x in (w, v, wd, a))
    return Motion(base.R.T @ (s - base.r), *turned)


@formulation("frame_velocity", source="by definition", growth="n", name="inward", walks_twists=True)
def frame_velocity(robot: RobotModel, q: Vector, qd: Vector, frame: str | None = None) -> Vector:
    """(ω, v) of a frame, as `frame_motion` has it."""
    motion = frame_motion(robot, q, qd, [0] * robot.nv, frame)
    return np.concatenate([motion.w, motion.v])


@formulation(
    "frame_acceleration", source="by definition", growth="n", name="inward", walks_twists=True
)
def frame_acceleration(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, frame: str | None = None
) -> Vector:
    """(ω̇, a) of a frame, as `frame_motion` has it."""
    motion = frame_motion(robot, q, qd, qdd, frame)
    return np.concatenate([motion.wd, motion.a])


@formulation(
    "frame_acceleration_bias", source="by definition", growth="n", name="inward", walks_twists=True
)
def frame_acceleration_bias(
    robot: RobotModel, q: Vector, qd: Vector, frame: str | None = None
) -> Vector:
    """Jq' q̇: the acceleration (ω̇, a) of a frame while no joint accelerates."""
    return frame_acceleration(robot, q, qd, [0] * robot.nv, frame)


@formulation("jacobian_rate", source="by definition", growth="n", name="inward")
def jacobian_rate(robot: RobotModel, q: Vector, qd: Vector, frame: str | None = None) -> Matrix:
    """Jq', as `jacobian_rates` has it."""
    return jacobian_rates(robot, q, qd, [0] * robot.nv, frame)[1]


@formulation("poses", source="by definition", growth="n", name="outward", walks_twists=True)
def poses(robot: RobotModel, q: Vector, frames: Sequence[str] | None = None) -> Matrix:
    """The pose of every frame, or of those named, in the file's base.

    From the base outwards, R and o of each body, R by its rows: with r its origin in the parent's
    frame, oᵢ = oₚ + Rₚ r.
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

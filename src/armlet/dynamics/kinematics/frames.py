"""Where a frame is, and how it moves with the joints."""

import numpy as np

from armlet.algebra import cross
from armlet.dynamics.formulation import formulation
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@formulation(
    "forward_kinematics",
    source="by definition",
    growth="n",
    name="two_axes",
    walks_twists=True,
    contends=True,
)
def forward_kinematics(robot: RobotModel, q: Vector, frame: str | None = None) -> Matrix:
    """The pose of a frame in the file's base: a homogeneous matrix, four by four.

    From the frame inwards, its x and y axes and its origin are carried over body by body; z is
    their cross product.
    """
    body, (R, r) = robot.frame(frame)
    X = robot.displacements(q)
    x, y = R[:, 0], R[:, 1]
    for i in reversed(robot.path(body)):
        x, y, r = X[i].vector(x), X[i].vector(y), X[i].point(r)
    base = robot.frames[robot.base_link].pose
    T = np.zeros((4, 4), dtype=object)
    x, y, r = base.R.T @ x, base.R.T @ y, base.R.T @ (r - base.r)
    T[:3, 0], T[:3, 1], T[:3, 2], T[:3, 3] = x, y, cross(x, y), r
    T[3, 3] = 1
    return T


@formulation(
    "forward_kinematics",
    source="by definition",
    growth="n",
    name="rows",
    walks_twists=True,
    contends=True,
)
def forward_kinematics_by_rows(robot: RobotModel, q: Vector, frame: str | None = None) -> Matrix:
    """The same, with the rows of the rotation carried over from the base outwards.

    It takes more than `two_axes`, but `jacobian` takes these steps too: beside it the pose is
    nearly free.
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
    T = np.zeros((4, 4), dtype=object)
    T[:3, :3], T[:3, 3] = R @ R_frame, base.R.T @ (r - base.r)
    T[3, 3] = 1
    return T


@formulation(
    "jacobian",
    source="by definition",
    growth="n",
    name="geometric",
    walks_twists=True,
)
def jacobian(robot: RobotModel, q: Vector, frame: str | None = None) -> Matrix:
    """The geometric Jacobian Jq of a frame: (ω, v) = Jq q̇ in the axes of the file's base.

    With R the axes of the joint's body in the base and s the frame's origin in the body's frame,
    the column of a joint with twist (w, v) is (R w, R (w × s + v)).
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

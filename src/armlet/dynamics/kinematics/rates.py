"""How the Jacobian of a frame changes along a motion."""

import numpy as np

from armlet.algebra import angular_acceleration_tensor, cross
from armlet.dynamics.coupling import columns, projected
from armlet.dynamics.recursions import angular_motion, sliding
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@projected(("q", "qd", "qdd"), lambda robot, rates: tuple(columns(robot, J) for J in rates))
def jacobian_rates(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, frame: str | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """The geometric Jacobian Jq of a frame with its first and second rates along q, q̇, q̈.

    From the frame inwards, where it is from the origin of body i, s, and its rates in fixed axes,
    all in the body's axes; r and ṙ, r̈ are those of the next origin on the way:

        s = r + s of the next,   ṙ = ω × r + v q̇,   r̈ = Ω r + 2 ω × v q̇ + v q̈

    With the twist (w, v) of joint i and ẇ = ω × w, v̇ = ω × v, ẅ = Ω w, v̈ = Ω v, column i of each is

        Jq   = (w, w × s + v)
        Jq'  = (ẇ, ẇ × s + w × ṡ + v̇)
        Jq'' = (ẅ, ẅ × s + 2 ẇ × ṡ + w × s̈ + v̈)

    in the axes of the file's base, as in `jacobian`.
    """
    body, (_, s) = robot.frame(frame)
    X = robot.displacements(q)
    w, wd = angular_motion(robot, X, qd, qdd)
    Omega = [*map(angular_acceleration_tensor, w, wd)]
    path = robot.path(body)
    sd, sdd = cross(w[body], s), Omega[body] @ s
    columns = {}
    for i in reversed(path):
        w_axis, v_axis = robot.unit_twists[i]
        wd_axis, wdd_axis = cross(w[i], w_axis), Omega[i] @ w_axis
        columns[i] = (
            (w_axis, cross(w_axis, s) + v_axis),
            (wd_axis, cross(wd_axis, s) + cross(w_axis, sd) + cross(w[i], v_axis)),
            (
                wdd_axis,
                cross(wdd_axis, s) + cross(2 * wd_axis, sd) + cross(w_axis, sdd)
                + Omega[i] @ v_axis,
            ),
        )  # fmt: skip
        p, r = robot.parent[i], X[i].origin()
        s = X[i].point(s)
        sd = X[i].vector(sd + v_axis * qd[i]) + cross(w[p], r)
        sdd = X[i].vector(sdd + sliding(robot, i, w[i], qd, qdd)) + Omega[p] @ r

    R = robot.frames[robot.base_link].pose.R.T
    Jq, Jqd, Jqdd = np.zeros((3, 6, robot.n), dtype=object)
    for i in path:
        R = np.array([X[i].inverse().vector(row) for row in R], dtype=object)
        for J, (angular, linear) in zip((Jq, Jqd, Jqdd), columns[i], strict=True):
            J[:3, i], J[3:, i] = R @ angular, R @ linear
    return Jq, Jqd, Jqdd

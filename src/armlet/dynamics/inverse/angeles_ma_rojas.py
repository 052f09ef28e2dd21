"""Inverse dynamics by Kane's equations."""

from armlet.algebra import ZERO, angular_acceleration_tensor, cross, euler_moment
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import (
    angular_rates,
    central_inertias,
    centres,
    joint_acceleration,
    joint_torques,
)
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Angeles, Ma and Rojas 1989; Balafoutis and Patel 1991, (5.2.36)-(5.2.37)",
    minimal=False,
    walks_twists=True,
)
def angeles_ma_rojas(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by Kane's equations.

    Joint i has the unit twist (w, v). At unit speed of joint i, each body j that it carries has the
    angular velocity w. The centre of mass of j is at rᵢⱼ from the origin of frame i, and moves with
    w × rᵢⱼ + v. The torque is the power of all forces F and moments M at these partial velocities:

        τᵢ  = Σⱼ w · (Mⱼ + rᵢⱼ × Fⱼ) + v · Fⱼ
        Fⱼ  = mⱼ a_comⱼ,   Mⱼ = Iⱼ ω̇ⱼ + ωⱼ × Iⱼ ωⱼ

    The accelerations of the centres of mass are computed from the base to the tips, starting with
    -g at the base. With Ω = ω̇~ + ω̃ ω̃ and the origin of body i at r in its parent p:

        a_comᵢ = a_comₚ + Ωₚ (r - comₚ) + Ωᵢ comᵢ + 2 ωᵢ × v q̇ᵢ + v q̈ᵢ

    `joint_torques` computes the sums over the bodies j.
    """
    X = robot.displacements(q)
    com, I = centres(robot), central_inertias(robot)
    w, wd = angular_rates(robot, X, qd, qdd)
    Omega = [angular_acceleration_tensor(*rates) for rates in zip(w, wd, strict=True)]
    com.append(ZERO)
    a_com: list[Vector] = [ZERO] * robot.nb + [-robot.g]
    f, t = [ZERO] * robot.nb, [ZERO] * robot.nb
    for i, p in robot.base_to_tips():
        a_com[i] = X[i].inverse().vector(a_com[p] + Omega[p] @ (X[i].origin() - com[p]))
        a_com[i] = a_com[i] + Omega[i] @ com[i] + joint_acceleration(robot, i, w[i], qd, qdd)
        f[i] = robot.m[i] * a_com[i]
        t[i] = euler_moment(w[i], wd[i], I[i]) + cross(com[i], f[i])
    return joint_torques(robot, X, f, t)

"""Inverse dynamics by Newton and Euler, about the centres of mass, with vectors."""

from armlet.algebra import ZERO, cross
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import (
    angular_rates,
    central_inertias,
    centres,
    centripetal,
    joint_acceleration,
    joint_torques,
)
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Luh, Walker and Paul 1980; Balafoutis and Patel 1991, Algorithm 5.3, (5.2.23)-(5.2.24)",
    minimal=False,
    walks_twists=True,
)
def luh_walker_paul(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by vector Newton-Euler equations in the bodies' axes.

    `angular_rates` computes ω and ω̇. Body i has its origin at r in the parent p, and the inertia I
    about the centre of mass com; v is the linear component of the joint's unit twist. From the base
    to the tips, the acceleration a of the origin (-g at the base), the force F and the moment M are

        aᵢ  = aₚ + ω̇ₚ × r + ωₚ × (ωₚ × r) + 2 ωᵢ × v q̇ᵢ + v q̈ᵢ
        Fᵢ  = mᵢ (aᵢ + ω̇ᵢ × comᵢ + ωᵢ × (ωᵢ × comᵢ))
        Mᵢ  = Iᵢ ω̇ᵢ + ωᵢ × Iᵢ ωᵢ

    `joint_torques` sums the wrenches (F, M + com × F) about the origins, from the tips to the base.
    """
    X = robot.displacements(q)
    com, I = centres(robot), central_inertias(robot)
    w, wd = angular_rates(robot, X, qd, qdd)
    a: list[Vector] = [ZERO] * robot.nb + [-robot.g]
    f, t = [ZERO] * robot.nb, [ZERO] * robot.nb
    for i, p in robot.base_to_tips():
        r = X[i].origin()
        a[i] = X[i].inverse().vector(a[p] + cross(wd[p], r) + centripetal(w[p], r))
        a[i] = a[i] + joint_acceleration(robot, i, w[i], qd, qdd)
        f[i] = robot.m[i] * (a[i] + cross(wd[i], com[i]) + centripetal(w[i], com[i]))
        t[i] = I[i] @ wd[i] + cross(w[i], I[i] @ w[i]) + cross(com[i], f[i])
    return joint_torques(robot, X, f, t)

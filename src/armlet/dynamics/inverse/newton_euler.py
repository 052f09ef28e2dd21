"""Inverse dynamics by Newton and Euler, about the joints' origins."""

from armlet.algebra import (
    ZERO,
    angular_acceleration_tensor,
    cross,
    euler_moment,
    point_inertia,
)
from armlet.dynamics.steps import angular_motion, joint_torques, sliding
from armlet.robot import BASE, Robot
from armlet.scalar import Matrix, Scalar, Vector


def newton_euler(
    robot: Robot, q: Vector, qd: Vector, qdd: Vector, wrench: Vector | None = None
) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by augmented bodies and the angular acceleration tensor.

    What a body must bear for the mass beyond a turning joint does not depend on that joint's
    angle, so that mass is lumped at the joint's origin r, off-line: body i gets the mass mᵢ, the
    first moment uᵢ and the inertia Kᵢ of itself and these points. A sliding joint lumps nothing.

    Outwards, with Ω = ω̇~ + ω̃ ω̃ and a the acceleration of the frame's origin (gravity enters as
    that of the base, -g); the origin is reached from the parent's by r, fixed in the parent, and
    by a slide h along the joint's axis:

        ωᵢ  = ωₚ + w q̇ᵢ
        ω̇ᵢ  = ω̇ₚ + ωₚ × w q̇ᵢ + w q̈ᵢ
        aᵢ  = aₚ + Ωₚ r + Ωᵢ h z + 2 ωᵢ × v q̇ᵢ + v q̈ᵢ

    Inwards, with force f and moment t about the origin, less what a lumped mass accounts for:

        fᵢ  = Ωᵢ uᵢ + (v · v) mᵢ aᵢ + Σ f of the children
        tᵢ  = Kᵢ ω̇ᵢ + ωᵢ × Kᵢ ωᵢ + uᵢ × aᵢ + Σ t of the children
        τᵢ  = w · tᵢ + v · fᵢ + (rotor inertia) q̈ᵢ

    The wrench is (moment, force) that the tool exerts on the world, in its frame. Balafoutis and
    Patel 1991, Algorithm 5.7, on trees and without recomputing constants at sliding joints.
    """
    n = robot.n
    X = robot.displacements(q)
    m, u, K = augmented_bodies(robot)

    w, wd = angular_motion(robot, X, qd, qdd)
    Omega = [angular_acceleration_tensor(*turn) for turn in zip(w, wd, strict=True)]
    a: list[Vector] = [ZERO] * n + [-robot.g]
    for i, p in robot.base_to_tips():
        r, h = robot.mounts[i].origin(), X[i][-1].h
        carried = X[i].inverse().vector(a[p] + Omega[p] @ r) + h * Omega[i][:, 2]
        a[i] = carried + sliding(robot, i, w[i], qd, qdd)

    f, t = [ZERO] * n, [ZERO] * n
    for i in range(n):
        _, v_axis = robot.axis[i]
        f[i] = Omega[i] @ u[i] + (v_axis @ v_axis) * m[i] * a[i]
        t[i] = euler_moment(w[i], wd[i], K[i]) + cross(u[i], a[i])
    if wrench is not None:
        add_tool_wrench(robot, wrench, f, t)
    return joint_torques(robot, X, qdd, f, t)


def augmented_bodies(robot: Robot) -> tuple[list[Scalar], list[Vector], list[Matrix]]:
    """Mass, first moment and inertia of each body with the masses beyond its turning joints."""
    m, u, K = list(robot.m), list(robot.c), list(robot.J)
    for i, p in robot.tips_to_base():
        w_axis, _ = robot.axis[i]
        lumped = (w_axis @ w_axis) * m[i]
        r = robot.joint_origins[i]
        m[p], u[p], K[p] = m[p] + lumped, u[p] + lumped * r, K[p] + point_inertia(lumped, r)
    return m, u, K


def add_tool_wrench(robot: Robot, wrench: Vector, f: list[Vector], t: list[Vector]) -> None:
    """Add what the tool exerts on the world to the forces and moments of the body it is on."""
    i, (R, r) = robot.frame()
    if i != BASE:
        force = R @ wrench[3:]
        f[i], t[i] = f[i] + force, t[i] + R @ wrench[:3] + cross(r, force)

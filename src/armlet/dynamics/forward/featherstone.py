"""Forward dynamics by articulated bodies."""

import numpy as np

from armlet.algebra import ZERO, angular_acceleration_tensor, cross, euler_moment
from armlet.dynamics.forward.articulated import accelerations
from armlet.dynamics.inverse.newton_euler import augmented_bodies
from armlet.robot import Robot
from armlet.scalar import Matrix, Scalar, Vector


def featherstone(robot: Robot, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Joint accelerations q̈ by articulated bodies, speeds and gravity included.

    The speeds ω and what they and gravity alone make of the acceleration of the origins, a, with
    Ω = ω̃ ω̃ and the origin at r and a slide h along the axis z from the parent's:

        ωᵢ = ωₚ + w q̇ᵢ
        aᵢ = aₚ + Ωₚ (r + h z) + 2 ωᵢ × v q̇ᵢ,  from -g at the base

    Each body then has a wrench η = (t, f) to be overcome before it accelerates by itself, and an
    acceleration ζ beyond its parent's; u and K are those of the augmented body, whose mass m is
    left only at sliding joints, since what is lumped in the parent is borne there:

        fᵢ = Ωᵢ uᵢ + (v · v) mᵢ aᵢ
        tᵢ = ωᵢ × Kᵢ ωᵢ + uᵢ × aᵢ
        ζᵢ = (ωₚ × w q̇ᵢ, 0)

    The rest is `accelerations`; with the bias on hand it is all there is, as the count that Saha
    1999, Table 2, gives has it. Featherstone 1983, in body axes, on trees.
    """
    n = robot.n
    X = robot.displacements(q)
    m, u, K = augmented_bodies(robot)
    w: list[Vector] = [ZERO] * (n + 1)
    a: list[Vector] = [ZERO] * n + [-robot.g]
    Omega: list[Matrix] = [angular_acceleration_tensor(ZERO, ZERO)] * (n + 1)
    eta, zeta = [], []
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        w_axis, v_axis = robot.axis[i]
        w_p = inward.vector(w[p])
        w[i] = w_p + w_axis * qd[i]
        Omega[i] = angular_acceleration_tensor(w[i], ZERO)
        r, h = robot.mounts[i].origin(), X[i][-1].h
        along = angular_acceleration_tensor(w_p, ZERO)[:, 2]
        a[i] = inward.vector(a[p] + Omega[p] @ r) + h * along + cross(w[i], v_axis * (2 * qd[i]))
        f = Omega[i] @ u[i] + (v_axis @ v_axis) * m[i] * a[i]
        t = euler_moment(w[i], ZERO, K[i]) + cross(u[i], a[i])
        eta.append(np.concatenate([t, f]))
        zeta.append(np.concatenate([cross(w_p, w_axis * qd[i]), ZERO]))
    return accelerations(robot, q, tau, eta, zeta)

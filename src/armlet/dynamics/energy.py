"""Kinetic and potential energy."""

import numpy as np

from armlet.algebra import Z_AXIS, ZERO, cross
from armlet.dynamics.formulation import Formulation, table
from armlet.robot import BASE, Robot
from armlet.scalar import Matrix, Scalar, Vector


def energy(robot: Robot, q: Vector, qd: Vector) -> tuple[Matrix, Matrix]:
    """Kinetic and potential energy; the potential is zero with all mass at the base's origin.

        T = ½ Σ vᵢ · (mᵢ vᵢ + 2 ωᵢ × cᵢ) + ωᵢ · Jᵢ ωᵢ + (rotor inertia) q̇ᵢ²
        U = - g · Σ (first moment of each body in the base's frame)

    with v the velocity of the frame's origin, reached as in `newton_euler`.
    """
    X = robot.displacements(q)
    w: list[Vector] = [ZERO] * (robot.n + 1)
    v: list[Vector] = [ZERO] * (robot.n + 1)
    twice_kinetic: Scalar = 0
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        w_axis, v_axis = robot.axis[i]
        w[i] = inward.vector(w[p]) + w_axis * qd[i]
        r, h = robot.mounts[i].origin(), X[i][-1].h
        v[i] = inward.vector(v[p] + cross(w[p], r)) + h * cross(w[i], Z_AXIS) + v_axis * qd[i]
        momentum = robot.m[i] * v[i] + 2 * cross(w[i], robot.c[i])
        twice_kinetic += v[i] @ momentum + w[i] @ (robot.J[i] @ w[i])
        twice_kinetic += robot.rotor_inertia[i] * qd[i] * qd[i]
    return np.array(twice_kinetic / 2), np.array(potential_energy(robot, q))


def potential_energy(robot: Robot, q: Vector) -> Scalar:
    """- g · (first moment of the whole arm about the base's origin)."""
    X = robot.displacements(q)
    m_hat, c_hat = [*robot.m, 0], [*robot.c, ZERO]
    for i in reversed(range(robot.n)):
        p = robot.parent[i]
        m_hat[p] = m_hat[p] + m_hat[i]
        c_hat[p] = c_hat[p] + X[i].vector(c_hat[i]) + m_hat[i] * X[i].origin()
    origin = robot.frames[robot.base_link].pose.r
    return -robot.g @ (c_hat[BASE] - m_hat[BASE] * origin)


FORMULATIONS = table(Formulation("velocities", energy, "by definition", "n"))

"""The inertia matrix by composite bodies."""

from armlet.algebra import cross
from armlet.dynamics.steps import columns
from armlet.robot import Robot
from armlet.scalar import Matrix, Vector


def composite_bodies(robot: Robot, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by composite bodies.

    Body i and all it carries, frozen together, have mass m̂ᵢ and, about the origin of frame i and
    in its axes, first moment ĉᵢ and inertia Ĵᵢ; carried over to the parent p they add up:

        (m̂, ĉ, Ĵ)ₚ += ᵖXᵢ (m̂, ĉ, Ĵ)ᵢ

    Column i of H is what a unit acceleration of joint i alone, of axis (w, v), asks of joint i and
    of the joints between it and the base (Walker and Orin 1982, third method):

        fᵢ = m̂ᵢ v + w × ĉᵢ
        tᵢ = Ĵᵢ w + ĉᵢ × v
    """
    X = robot.displacements(q)
    m_hat, c_hat, J_hat = list(robot.m), list(robot.c), list(robot.J)
    for i, p in robot.tips_to_base():
        m, c, J = X[i].body(m_hat[i], c_hat[i], J_hat[i])
        m_hat[p], c_hat[p], J_hat[p] = m_hat[p] + m, c_hat[p] + c, J_hat[p] + J
    wrenches = [
        (m_hat[i] * v + cross(w, c_hat[i]), J_hat[i] @ w + cross(c_hat[i], v))
        for i, (w, v) in enumerate(robot.axis)
    ]
    return columns(robot, X, robot.axis, wrenches)

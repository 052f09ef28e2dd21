"""The inertia matrix by Renaud: composite bodies with their constant parts off-line."""

from armlet.algebra import point_inertia
from armlet.dynamics.inertia.lin_fang import lin_fang_3
from armlet.dynamics.steps import composite_masses, composites
from armlet.robot import Robot
from armlet.scalar import Matrix, Vector


def renaud(robot: Robot, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by generalised links.

    The mass m̂ᵢ beyond a turning joint i is lumped in the parent p, off-line, at the end of s from
    its origin to that of i, which is constant (A5), (A6):

        uₚ = cₚ + Σ m̂ᵢ s,    Kₚ = Jₚ - Σ m̂ᵢ s̃ s̃

    On-line a composite body goes over a turning joint without its mass, m = 0, and over a sliding
    one with all of it, m = m̂ᵢ (A7), (A8). With cᵢ = ᵖRᵢ ĉᵢ

        ĉₚ = uₚ + Σ (cᵢ + m s)
        Ĵₚ = Kₚ + Σ (ᵖRᵢ Ĵᵢ ᵖRᵢᵀ - s̃ c̃ᵢ - c̃ᵢ s̃ - m s̃ s̃)

    The entries follow by how each joint moves the accelerated body's origin: `lin_fang_3`, (A9).
    Renaud 1984, with sliding joints in Lin 1991, Fig. A1.
    """
    m_hat = composite_masses(robot)
    u, K = list(robot.c), list(robot.J)
    for i, p in robot.tips_to_base():
        w, _ = robot.axis[i]
        lumped, s = (w @ w) * m_hat[i], robot.joint_origins[i]
        u[p], K[p] = u[p] + lumped * s, K[p] + point_inertia(lumped, s)
    m = [(v @ v) * mass for (_, v), mass in zip(robot.axis, m_hat, strict=True)]
    return lin_fang_3(robot, q, *composites(robot, q, m, u, K))

"""The inertia matrix by Kawasaki and others: first moments about the parents' origins."""

from armlet.algebra import ZERO
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.lin_fang import from_parents
from armlet.dynamics.recursions import composite_masses
from armlet.robot import RobotModel, with_base
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix",
    source="Kawasaki, Murata and Kanzaki 1996, as in Lin and Fang 1999, (B1)-(B11), on trees",
    growth="n^2",
)
def kawasaki(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), from first moments about the parents' origins.

    Composite body i has the first moment hᵢ about the origin of its parent p, in the parent's axes,
    and the inertia Ĵᵢ about its own, in its own. With s from the parent's origin to that of i

        hᵢ = ᵖRᵢ (cᵢ + Σ h of the children) + m̂ᵢ s                          (B1), (B3)
        Ĵₚ = Jₚ + Σ (ᵖRᵢ Ĵᵢ ᵖRᵢᵀ - s̃ h̃ᵢ - h̃ᵢ s̃ + m̂ᵢ s̃ s̃)                  (B2), (B4)

    and the first moment about its own origin, in the parent's axes, is hᵢ - m̂ᵢ s. The entries
    follow as in `from_parents`, (B5)-(B11). With minimal parameters no mass is left beyond
    revolute joints alone, and h is that moment: Algorithm II.
    """
    X, m_hat = robot.displacements(q), composite_masses(robot)
    c_hat, J_hat = with_base(robot.c), with_base(robot.J)
    h, c_p = [ZERO] * robot.n, [ZERO] * robot.n
    for i, p in robot.tips_to_base():
        _, h[i], dJ = X[i].body(m_hat[i], c_hat[i], J_hat[i])
        c_p[i] = h[i] - m_hat[i] * X[i].origin()
        c_hat[p], J_hat[p] = c_hat[p] + h[i], J_hat[p] + dJ
    return from_parents(robot, X, h, c_p, J_hat)

"""The inertia matrix by generalised links, of augmented ones."""

from armlet.algebra import cross
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import augmented_bodies, columns
from armlet.robot import RobotModel, with_base
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix",
    source="Balafoutis and Patel 1991, Algorithm 6.2, corrected for prismatic joints, on trees",
    growth="n^2",
)
def balafoutis_patel_62(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by generalised links.

    The augmented link i is body i with the masses beyond its revolute joints lumped at their
    origins: off-line, mass m, first moment u and inertia K about the origin. The generalised link
    i is all that joint i carries, with first moment U and inertia E; mass that is lumped is not
    carried along, so a revolute joint i passes on m̂ = 0 and, r the parent's origin to its own:

        Uₚ += ᵖRᵢ Uᵢ
        Eₚ += ᵖRᵢ (Eᵢ - r̃ Ũᵢ - Ũᵢ r̃) ᵖRᵢᵀ

    A prismatic one passes on its mass too. A unit acceleration of joint i takes the wrench

        f = w × Uᵢ + m̂ᵢ v
        t = Eᵢ w + Uᵢ × v

    and column i of H is its projection on joint i and on those between it and the base.
    The moment Uᵢ × v is left out in (6.3.29e).
    """
    X = robot.displacements(q)
    m_hat, U, E = map(with_base, zip(*augmented_bodies(robot), strict=True))
    for i, p in robot.tips_to_base():
        dm, dU, dE = X[i].body(m_hat[i], U[i], E[i])
        m_hat[p], U[p], E[p] = m_hat[p] + dm, U[p] + dU, E[p] + dE

    wrenches = [
        (cross(w, U[i]) + m_hat[i] * v, E[i] @ w + cross(U[i], v))
        for i, (w, v) in enumerate(robot.unit_twists)
    ]
    return columns(robot, X, robot.unit_twists, wrenches)

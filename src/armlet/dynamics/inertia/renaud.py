"""The inertia matrix by Renaud: composite bodies with their constant parts off-line."""

from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.lin_fang import lin_fang_3
from armlet.dynamics.recursions import composite_masses
from armlet.minimal.lumping import gather, mass_at_origin
from armlet.robot import Body, RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix", source="Renaud 1984; Lin 1991, (A5)-(A9), Fig. A1, on trees", growth="n^2"
)
def renaud(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by generalised links.

    The mass m̂ᵢ beyond a revolute joint i is lumped in the parent p, off-line, at the end of s from
    its origin to that of i, which is constant (A5), (A6):

        uₚ = cₚ + Σ m̂ᵢ s,    Kₚ = Jₚ - Σ m̂ᵢ s̃ s̃

    On-line a composite body passes a revolute joint without its mass, m = 0, and a prismatic one
    with all of it, m = m̂ᵢ (A7), (A8). With cᵢ = ᵖRᵢ ĉᵢ

        ĉₚ = uₚ + Σ (cᵢ + m s)
        Ĵₚ = Kₚ + Σ (ᵖRᵢ Ĵᵢ ᵖRᵢᵀ - s̃ c̃ᵢ - c̃ᵢ s̃ - m s̃ s̃)

    The entries follow by how each joint moves the accelerated body's origin: `lin_fang_3`, (A9).
    """
    m_hat = composite_masses(robot)
    at_zero = robot.displacements([0] * robot.n)

    def over(i: int, body: Body) -> Body:
        composite = m_hat[i], *body[1:]
        return at_zero[i].body(*mass_at_origin(robot.joints[i].type, composite))

    def carried(i: int, body: Body) -> Body:
        return X[i].body(robot.unit_twists[i].translates * m_hat[i], *body[1:])

    X = robot.displacements(q)
    generalised = gather(robot, carried, gather(robot, over, robot.bodies))
    bodies = [(m, c, J) for m, (_, c, J) in zip(m_hat, generalised, strict=True)]
    return lin_fang_3(robot, q, bodies)

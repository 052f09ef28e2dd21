"""The inertia matrix by Renaud: composite bodies with constant terms computed off-line."""

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
    """Joint-space inertia matrix H(q), by composite bodies, with constant terms computed off-line.

    Off-line, the mass m̂ᵢ beyond a revolute joint i is lumped on the parent p, at the origin of i,
    which is at the constant position s in frame p (A5), (A6):

        uₚ = cₚ + Σ m̂ᵢ s,    Kₚ = Jₚ - Σ m̂ᵢ s̃ s̃

    On-line, composite body i is added to its parent. The mass m that is not lumped is 0 if joint i
    is revolute and m̂ᵢ if joint i is prismatic (A7), (A8). With cᵢ = ᵖRᵢ ĉᵢ:

        ĉₚ = uₚ + Σ (cᵢ + m s)
        Ĵₚ = Kₚ + Σ (ᵖRᵢ Ĵᵢ ᵖRᵢᵀ - s̃ c̃ᵢ - c̃ᵢ s̃ - m s̃ s̃)

    `lin_fang_3` computes the entries from these composite bodies, (A9).
    """
    m_hat = composite_masses(robot)

    def over(i: int, body: Body) -> Body:
        composite = m_hat[i], *body[1:]
        return robot._at_zero[i].body(*mass_at_origin(robot.joints[i].type, composite))

    def carried(i: int, body: Body) -> Body:
        return X[i].body(robot.unit_twists[i].translates * m_hat[i], *body[1:])

    X = robot.displacements(q)
    generalised = gather(robot, carried, gather(robot, over, robot.bodies))
    bodies = [(m, c, J) for m, (_, c, J) in zip(m_hat, generalised, strict=True)]
    return lin_fang_3(robot, q, bodies)

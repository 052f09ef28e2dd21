"""The inertia matrix by the decoupled natural orthogonal complement."""

from collections.abc import Sequence

from armlet.algebra import ZERO, cross
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import central_inertias, centres, columns, unit_wrenches
from armlet.minimal.lumping import gather
from armlet.robot import Displacement, RobotModel, Screw
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix", source="Saha 1999, (23) and (24), on trees", growth="n^2", minimal=False
)
def saha(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by the decoupled natural orthogonal complement.

    Twists are at the centres of mass, in body axes. At unit speed, joint i adds the twist
    pᵢ = (w, w × com + v) to that of its body. Bᵢₚ transforms a twist from the parent's centre to
    the body's centre. Composite body i has the mass matrix M̃ᵢ about the centre of body i:

        M̃ₚ += Bᵢₚᵀ M̃ᵢ Bᵢₚ
        Hⱼᵢ = pⱼᵀ Bᵢⱼᵀ M̃ᵢ pᵢ,  j between i and the base

    M̃ is the mass matrix of a rigid body. Instead of M̃, the code thus transforms mass, first moment
    and inertia, by the displacement from centre to centre.
    """
    com = centres(robot)
    B = between_centres(robot, q, com)
    own = [*zip(robot.m, [ZERO] * robot.nb, central_inertias(robot), strict=True)]
    composite = gather(robot, lambda i, body: B[i].body(*body), own)
    twists = [(w, cross(w, com[i]) + v) for i, (w, v) in enumerate(robot.unit_twists)]
    return columns(robot, B, twists, unit_wrenches(twists, composite))


def between_centres(robot: RobotModel, q: Vector, com: Sequence[Vector]) -> list[Displacement]:
    """Return each body's displacement in its parent, with both origins at the centres of mass."""
    at = [*com, ZERO]
    return [
        Displacement((*shift(-at[p]), *X, *shift(at[i])))
        for X, (i, p) in zip(robot.displacements(q), robot.base_to_tips(), strict=True)
    ]


def shift(r: Vector) -> list[Screw]:
    return [Screw(k, 1, 0, r[k]) for k in range(3)]

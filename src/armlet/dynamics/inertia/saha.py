"""The inertia matrix by the decoupled natural orthogonal complement."""

from collections.abc import Sequence

from armlet.algebra import ZERO, cross
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import central_inertias, centres, columns
from armlet.robot import Displacement, RobotModel, Screw, with_base
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix", source="Saha 1999, (23) and (24), on trees", growth="n^2", minimal=False
)
def saha(robot: RobotModel, q: Vector) -> Matrix:
    """Generalised inertia matrix H(q), by the decoupled natural orthogonal complement.

    Twists are of the centres of mass, in body axes: joint i gives its body pᵢ = (w, w × com + v),
    and Bᵢₚ takes the twist of the parent's centre to the body's. The composite body i has, about
    the centre of body i, the mass matrix M̃ᵢ:

        M̃ₚ += Bᵢₚᵀ M̃ᵢ Bᵢₚ
        Hⱼᵢ = pⱼᵀ Bᵢⱼᵀ M̃ᵢ pᵢ,  j between i and the base

    M̃ is a rigid body's: a mass, a first moment and an inertia, and Bᵀ carries them, and wrenches,
    by the displacement from centre to centre.
    """
    com = centres(robot)
    B = between_centres(robot, q, com)
    m, c, J = with_base(robot.m), [ZERO] * (robot.n + 1), with_base(central_inertias(robot))
    for i, p in robot.tips_to_base():
        dm, dc, dJ = B[i].body(m[i], c[i], J[i])
        m[p], c[p], J[p] = m[p] + dm, c[p] + dc, J[p] + dJ

    twists = [(w, cross(w, com[i]) + v) for i, (w, v) in enumerate(robot.unit_twists)]
    wrenches = [
        (m[i] * v + cross(w, c[i]), J[i] @ w + cross(c[i], v)) for i, (w, v) in enumerate(twists)
    ]
    return columns(robot, B, twists, wrenches)


def between_centres(robot: RobotModel, q: Vector, com: Sequence[Vector]) -> list[Displacement]:
    """How each body's centre of mass sits at its parent's, in the axes of the bodies."""
    at = [*com, ZERO]
    return [
        Displacement((*shift(-at[p]), *X, *shift(at[i])))
        for X, (i, p) in zip(robot.displacements(q), robot.base_to_tips(), strict=True)
    ]


def shift(r: Vector) -> list[Screw]:
    """A translation by r, as screws."""
    return [Screw(k, 1, 0, r[k]) for k in range(3)]

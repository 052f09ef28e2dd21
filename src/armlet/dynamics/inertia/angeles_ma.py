"""The inertia matrix by the natural orthogonal complement."""

import numpy as np

from armlet.algebra import cross
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import Pair, central_inertias, centres
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix",
    source="Angeles and Ma 1988; Balafoutis and Patel 1991, (6.2.10) to (6.2.15), on trees",
    growth="n^3",
    minimal=False,
)
def angeles_ma(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by the natural orthogonal complement.

    t stacks the twists (ωₖ, velocity of the centre of mass) of all bodies k, in body axes. It is
    linear in the joint velocities: t = T q̇. With the central inertias and masses in
    Mₖ = diag(Iₖ, mₖ 1), the kinetic energy is ½ tᵀ M t. Joints i and j both carry the bodies k:

        H = Tᵀ M T,  Hᵢⱼ = Σₖ Tₖᵢᵀ Mₖ Tₖⱼ
    """
    I = central_inertias(robot)
    H = np.zeros((robot.nv, robot.nv), dtype=object)
    for k, twists in enumerate(complement(robot, q)):
        for j, (w_j, v_j) in twists.items():
            L, p = I[k] @ w_j, robot.m[k] * v_j
            for i, (w_i, v_i) in twists.items():
                if i <= j:
                    H[i, j] = H[j, i] = H[i, j] + (w_i @ L + v_i @ p)
    return H


def complement(robot: RobotModel, q: Vector) -> list[dict[int, Pair]]:
    """Return T as a dict per body: joint on the path to the base -> the body's twist at unit speed.

    If a body's origin has the twist (ω, v), the centre of mass moves with v + ω × com. Twists are
    transformed from parent to body like wrenches, with ω as the force and v as the moment.
    """
    X = robot.displacements(q)
    at_origin: list[dict[int, Pair]] = [{} for _ in range(robot.nb + 1)]
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        at_origin[i] = {j: inward.wrench(w, v) for j, (w, v) in at_origin[p].items()}
        at_origin[i][i] = robot.unit_twists[i]
    return [
        {j: (w, v + cross(w, com)) for j, (w, v) in twists.items()}
        for twists, com in zip(at_origin[: robot.nb], centres(robot), strict=True)
    ]

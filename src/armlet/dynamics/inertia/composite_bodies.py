"""The inertia matrix by composite bodies."""

import numpy as np

from armlet.algebra import ZERO
from armlet.dynamics.formulation import describe
from armlet.dynamics.parallel_axes import NOTHING, CarriedBody, parallel_axes
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix",
    source="Walker and Orin 1982, third method",
    growth="n^2",
    contends=True,
    walks_twists=True,
)
def composite_bodies(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by composite bodies.

    Composite body i is body i welded to all bodies it carries, with mass m̂ᵢ, first moment ĉᵢ and
    inertia Ĵᵢ about the origin and in the axes of frame i. From the tips, with p the parent of i:

        (m̂, ĉ, Ĵ)ₚ += ᵖXᵢ (m̂, ĉ, Ĵ)ᵢ

    A unit acceleration of joint i alone, of unit twist (w, v), needs the wrench

        fᵢ = m̂ᵢ v + w × ĉᵢ,   tᵢ = Ĵᵢ w + ĉᵢ × v

    Column i of H has the projections of this wrench on the unit twists of the joints j from i to
    the base. From body j to its parent p, the wrench is transformed by (f, t)ₚ = ᵖXⱼ (f, t)ⱼ.
    """
    X = parallel_axes(robot, q)
    body = [CarriedBody(*own) for own in robot.bodies] + [CarriedBody(0, ZERO, NOTHING)]
    for i, p in robot.tips_to_base():
        body[p] = body[p] + X.body(i, body[i])

    H = np.zeros((robot.nv, robot.nv), dtype=object)
    for k, (i, (w, v)) in enumerate(robot._velocities):
        wrench = body[i].wrench(w, v)
        for j in reversed(robot.path(i)):
            rows = robot.v_of[j]
            H[rows, k] = H[k, rows] = wrench.along(robot.twists[j])
            wrench = X.wrench(j, wrench)
    return H

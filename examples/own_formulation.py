"""A formulation of your own: gravity torques from the potential energy, counted and compiled.

python examples/own_formulation.py

The function is written for any scalar. The decorator puts it beside those of the literature: it is
tested by the laws of its quantity, counted, and compiled like them.
"""

import armlet
from armlet.algebra import cross
from armlet.robot import BASE
from armlet.scalar import Scalar, Vector
from armlet.testing import check_formulation


@armlet.formulation("gravity_torque", source="weights of what each joint carries", growth="n")
def carried_weights(robot: armlet.Robot, q: Vector) -> list[Scalar]:
    """Gravity torques g(q), from the mass and first moment that each joint carries.

    Outwards the direction of gravity goes into every frame; inwards masses and moments add up:

        gᵢ = ᵖXᵢ⁻¹ gₚ
        (m, c)ₚ += ᵖXᵢ (m, c)ᵢ
        τᵢ = -(w · (cᵢ × gᵢ) + v · mᵢ gᵢ)
    """
    X = robot.displacements(q)
    g: dict[int, Vector] = {BASE: robot.g}
    for i, p in robot.base_to_tips():
        g[i] = X[i].inverse().vector(g[p])
    carried = dict(enumerate(robot.bodies))
    tau: list[Scalar] = [0] * robot.nv
    for i, p in robot.tips_to_base():
        m, c, J = carried[i]
        for k, (w, v) in zip(range(robot.nv)[robot.v_of[i]], robot.twists[i], strict=True):
            tau[k] = -(w @ cross(c, g[i])) - m * (v @ g[i])
        if p != BASE:
            carried[p] = tuple(a + b for a, b in zip(carried[p], X[i].body(m, c, J), strict=True))
    return tau


def main() -> None:
    check_formulation(carried_weights)
    robot = armlet.load("puma560")
    for name in armlet.formulations("gravity_torque"):
        print(f"{name:16} {armlet.trace(robot, 'gravity_torque', name).count()}")


if __name__ == "__main__":
    main()

"""Inverse dynamics by Newton and Euler, as a boundary value problem in the base's axes."""

from armlet.algebra import IDENTITY, ZERO, changed_basis, cross, symmetric, upper_triangle
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import centripetal
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Rodriguez 1987; Balafoutis and Patel 1991, Algorithm 5.5, (5.2.34)-(5.2.35)",
)
def rodriguez(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by spatial recursions in the axes of the base.

    A motion is a pair (angular, linear), and a force is a pair (moment, force). Both are about the
    body's origin and in base axes. r leads from the parent's origin to the body's; Φ = [1 r̃; 0 1].
    The joint's unit twist is S = (w, v), the inertia is I = [J c̃; -c̃ m]. At the base, the
    recursions start with the velocity V = 0 and the acceleration A = (0, -g):

        Vᵢ  = Φᵀ Vₚ + S q̇ᵢ
        Aᵢ  = Φᵀ Aₚ + S q̈ᵢ + (ωₚ × w q̇ᵢ, ωₚ × (ωₚ × r) + 2 ωₚ × v q̇ᵢ)

    Only the angular component ω of V is used. The forces F are summed from the tips to the base:

        Fᵢ = I Aᵢ + (ωᵢ × J ωᵢ, ωᵢ × (ωᵢ × c)) + Σ Φ F of the children,   τᵢ = S · Fᵢ

    The sources leave out the bias terms and gravity.
    """
    n = robot.nb
    X = robot.displacements(q)
    R_0: list[Matrix] = [IDENTITY] * (n + 1)
    w_0, wd_0 = [ZERO] * (n + 1), [ZERO] * (n + 1)
    a_0: list[Vector] = [ZERO] * n + [-robot.g]
    r_0, f_0, t_0 = ([ZERO] * (n + 1) for _ in range(3))
    twist_0: list[tuple[Vector, Vector]] = []
    for i, p in robot.base_to_tips():
        R_0[i] = R_0[p] @ X[i].rotation()
        r = r_0[i] = R_0[p] @ X[i].origin()
        w_axis, v_axis = (R_0[i] @ half for half in robot.unit_twists[i])
        twist_0.append((w_axis, v_axis))
        w_0[i] = w_0[p] + w_axis * qd[i]
        wd_0[i] = wd_0[p] + cross(w_0[p], w_axis * qd[i]) + w_axis * qdd[i]
        a_0[i] = a_0[p] + cross(wd_0[p], r) + centripetal(w_0[p], r)
        a_0[i] = a_0[i] + cross(w_0[p], v_axis * (2 * qd[i])) + v_axis * qdd[i]
        c, J = R_0[i] @ robot.c[i], symmetric(*upper_triangle(changed_basis(robot.J[i], R_0[i])))
        f_0[i] = robot.m[i] * a_0[i] + cross(wd_0[i], c) + centripetal(w_0[i], c)
        t_0[i] = J @ wd_0[i] + cross(c, a_0[i]) + cross(w_0[i], J @ w_0[i])

    for i, p in robot.tips_to_base():
        f_0[p], t_0[p] = f_0[p] + f_0[i], t_0[p] + t_0[i] + cross(r_0[i], f_0[i])
    return [w_axis @ t_0[i] + v_axis @ f_0[i] for i, (w_axis, v_axis) in enumerate(twist_0)]

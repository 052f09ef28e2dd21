"""Inverse dynamics by the decoupled natural orthogonal complement."""

from armlet.algebra import ZERO, cross, euler_moment
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import angular_rates, central_inertias, centres, centripetal
from armlet.robot import RobotModel, with_base
from armlet.scalar import Scalar, Vector


@describe("inverse_dynamics", source="Saha 1999, (32)", minimal=False)
def saha(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by the decoupled natural orthogonal complement.

    Twists (angular, linear) and wrenches (moment, force) are about the centres of mass. r leads
    from the centre of the parent p to origin i; com leads from origin i to the centre of body i.
    The joint's unit twist is S = (w, w × com + v), and the parent's twist is transformed by

        B   = [1 0; -(r + com)~ 1],   Ḃ = [0 0; -(ωₚ × r + ωᵢ × com + v q̇ᵢ)~ 0]

    At the base, the recursions start with the twist ν = 0 and its rate ξ = (ω̇, a_com) = (0, -g).
    ωᵢ × S is the cross product of ωᵢ with each component of S:

        νᵢ  = B νₚ + S q̇ᵢ
        ξᵢ  = B ξₚ + Ḃ νₚ + S q̈ᵢ + ωᵢ × S q̇ᵢ

    Only the angular component ω of ν is used. The wrenches γ are summed from the tips to the base:

        γᵢ = (I ω̇ᵢ + ωᵢ × I ωᵢ, m a_com) + Σ Bᵀ γ of the children,   τᵢ = S · γᵢ
    """
    n = robot.nb
    X = robot.displacements(q)
    com, I = centres(robot), central_inertias(robot)
    com.append(ZERO)
    r = [X[i].origin() - com[p] for i, p in robot.base_to_tips()]
    S = [
        (w_axis, cross(w_axis, com[i]) + v_axis)
        for i, (w_axis, v_axis) in enumerate(robot.unit_twists)
    ]
    w, wd = angular_rates(robot, X, qd, qdd)
    a_com: list[Vector] = [ZERO] * n + [-robot.g]
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        _, v_com = S[i]
        v_joint = robot.unit_twists[i][1] * qd[i]
        w_p, wd_p = inward.vector(w[p]), inward.vector(wd[p])
        a_com[i] = inward.vector(a_com[p] + cross(wd[p], r[i]) + centripetal(w[p], r[i]))
        a_com[i] = a_com[i] + cross(wd_p, com[i]) + cross(w_p, cross(w[i], com[i]) + v_joint)
        a_com[i] = a_com[i] + v_com * qdd[i] + cross(w[i], v_com * qd[i])

    f = with_base([robot.m[i] * a_com[i] for i in range(n)])
    t_com = with_base([euler_moment(w[i], wd[i], I[i]) for i in range(n)])
    for i, p in robot.tips_to_base():
        f_p, t_p = X[i].vector(f[i]), X[i].vector(t_com[i] + cross(com[i], f[i]))
        f[p], t_com[p] = f[p] + f_p, t_com[p] + t_p + cross(r[i], f_p)
    return [w_axis @ t_com[i] + v_com @ f[i] for i, (w_axis, v_com) in enumerate(S)]

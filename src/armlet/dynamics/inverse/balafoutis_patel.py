"""Inverse dynamics by Newton and Euler, with the angular acceleration tensor."""

from armlet.algebra import ZERO, angular_acceleration_tensor, cross, euler_moment, point_inertia
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import (
    angular_rates,
    central_inertias,
    centres,
    joint_acceleration,
    joint_torques,
)
from armlet.robot import RobotModel, with_base
from armlet.scalar import Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Balafoutis and Patel 1991, Algorithm 5.6, (5.3.7)-(5.3.8)",
    minimal=False,
    walks_twists=True,
)
def balafoutis_patel_56(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by tensor Newton-Euler equations about the centres of mass.

    The recursions and symbols are those of `luh_walker_paul`, with Ω = ω̇~ + ω̃ ω̃. The moment M in
    Euler's equation is the axial vector of a tensor M~. E = ½ tr(I) 1 - I is the Euler tensor of
    the inertia I:

        aᵢ  = aₚ + Ωₚ r + 2 ωᵢ × v q̇ᵢ + v q̈ᵢ
        Fᵢ  = mᵢ (aᵢ + Ωᵢ comᵢ)
        M~ᵢ = Ωᵢ Eᵢ - (Ωᵢ Eᵢ)ᵀ
    """
    X = robot.displacements(q)
    com, I = centres(robot), central_inertias(robot)
    w, wd = angular_rates(robot, X, qd, qdd)
    Omega = [angular_acceleration_tensor(*turn) for turn in zip(w, wd, strict=True)]
    a: list[Vector] = [ZERO] * robot.nb + [-robot.g]
    f, t = [ZERO] * robot.nb, [ZERO] * robot.nb
    for i, p in robot.base_to_tips():
        a[i] = X[i].inverse().vector(a[p] + Omega[p] @ X[i].origin())
        a[i] = a[i] + joint_acceleration(robot, i, w[i], qd, qdd)
        f[i] = robot.m[i] * (a[i] + Omega[i] @ com[i])
        t[i] = euler_moment(w[i], wd[i], I[i]) + cross(com[i], f[i])
    return joint_torques(robot, X, f, t)


@describe(
    "inverse_dynamics",
    source="Balafoutis and Patel 1991, Algorithm 5.7, (5.3.44)-(5.3.46)",
    contends=True,
)
def balafoutis_patel_57(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by tensor Newton-Euler equations of augmented bodies.

    Augmented body i is body i with a point mass m̂ at the origin r of each child. m̂ is the mass of
    the child and of all bodies that the child carries. The augmented body has a first moment u and
    an inertia K, which are constant if the joints of all children are revolute:

        uᵢ  = cᵢ + Σ m̂ r,   Kᵢ = Jᵢ - Σ m̂ r̃ r̃

    The acceleration a of the origin is computed from the base, where it is -g, to the tips. (w, v)
    is the joint's unit twist, Ω = ω̇~ + ω̃ ω̃, ζ is the acceleration that a prismatic joint adds, and
    μ is the moment due to rotation:

        ζᵢ  = 2 ωᵢ × v q̇ᵢ + v q̈ᵢ
        aᵢ  = aₚ + Ωₚ r + ζᵢ
        μᵢ  = Kᵢ ω̇ᵢ + ωᵢ × Kᵢ ωᵢ

    Towards the base, Ü is the second time derivative of the composite body's first moment:

        Üᵢ  = Ωᵢ uᵢ + Σ (Ü + m̂ ζ) of the children
        tᵢ  = μᵢ + uᵢ × aᵢ + Σ (t + r × (Ü + m̂ ζ)) of the children
        τᵢ  = w · tᵢ + v · (m̂ᵢ aᵢ + Üᵢ)
    """
    n = robot.nb
    X = robot.displacements(q)
    m_hat, u, K = map(with_base, (robot.m, robot.c, robot.J))
    for i, p in robot.tips_to_base():
        r = X[i].origin()
        m_hat[p] = m_hat[p] + m_hat[i]
        u[p], K[p] = u[p] + m_hat[i] * r, K[p] + point_inertia(m_hat[i], r)

    w, wd = angular_rates(robot, X, qd, qdd)
    Omega = [angular_acceleration_tensor(*turn) for turn in zip(w, wd, strict=True)]
    zeta = [joint_acceleration(robot, i, w[i], qd, qdd) for i in range(n)]
    a: list[Vector] = [ZERO] * n + [-robot.g]
    for i, p in robot.base_to_tips():
        a[i] = X[i].inverse().vector(a[p] + Omega[p] @ X[i].origin()) + zeta[i]

    Udd = with_base([Omega[i] @ u[i] for i in range(n)])
    t = with_base([euler_moment(w[i], wd[i], K[i]) + cross(u[i], a[i]) for i in range(n)])
    for i, p in robot.tips_to_base():
        Udd_p, t_p = X[i].wrench(Udd[i] + m_hat[i] * zeta[i], t[i])
        Udd[p], t[p] = Udd[p] + Udd_p, t[p] + t_p
    return [
        w_axis @ t[i] + v_axis @ (m_hat[i] * a[i] + Udd[i])
        for i, (w_axis, v_axis) in enumerate(robot.unit_twists)
    ]

"""Forward dynamics by articulated bodies.

An articulated body is a body and all bodies that it carries, whose joints move freely. Its inertia
is a symmetric 6x6 matrix in the body's axes, which maps an acceleration (angular, linear) at the
body's origin to a wrench (moment, force) there.
"""

from collections.abc import Sequence

import numpy as np

from armlet.algebra import ZERO, angular_acceleration_tensor, cross, euler_moment, outer
from armlet.dynamics.bias import bias
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.rodriguez_kreutz import spatial_inertia
from armlet.minimal.lumping import augment
from armlet.robot import Displacement, RobotModel, Screw, with_base
from armlet.scalar import Matrix, Scalar, Vector

NOTHING = np.zeros(6, dtype=object)
NOTHING.setflags(write=False)


def from_factors(robot: RobotModel, q: Vector, phi: Vector) -> list[Scalar]:
    """Solve H q̈ = φ for q̈, by factors of H that are computed from articulated bodies.

    `articulated_bodies` computes m̂ and ψ; s is the joint's unit twist. Bᵢⱼ transforms a twist from
    body j to body i, which j carries; Bᵢ is Bᵢₚ with the parent p of i. In H = U D Uᵀ, D is
    diagonal with the entries m̂ᵢ, and U is unit triangular with the entries Uⱼᵢ = sⱼ · Bᵢⱼᵀ ψᵢ.
    Three systems are solved, the first by recursion to the base, the last by recursion to the tips:

        U φ̂ = φ:     φ̂ᵢ = φᵢ - s · ηᵢ,  ηₚ += Bᵢᵀ (ηᵢ + ψᵢ φ̂ᵢ)
        D φ̃ = φ̂:     φ̃ᵢ = φ̂ᵢ / m̂ᵢ
        Uᵀ q̈ = φ̃:    q̈ᵢ = φ̃ᵢ - ψᵢ · Bᵢ μₚ,  μᵢ = Bᵢ μₚ + s q̈ᵢ

    `accelerations` runs these recursions, with zero `wrenches` and `zeta`. The recursions are those
    of Saha 1999, (33) to (37) and appendix B, but on trees, and about the joints' origins instead
    of the centres of mass, so that the unit twist s is a coordinate axis.
    """
    return accelerations(robot, q, phi, [NOTHING] * robot.nb, [NOTHING] * robot.nb)


@describe(
    "forward_dynamics",
    source="Featherstone 1983, articulated bodies",
    starting_from={"bias": from_factors},
    contends=True,
)
def featherstone(robot: RobotModel, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Joint accelerations q̈ by articulated bodies, without computing the bias torques first.

    First, the angular velocity ω of each body and the acceleration a of its origin are computed as
    if q̈ and ω̇ were zero. The origin of body i is at r + h z from that of its parent p; z is the
    joint's axis. With the joint's unit twist (w, v) and Ω = ω̃ ω̃:

        ωᵢ = ωₚ + w q̇ᵢ
        aᵢ = aₚ + Ωₚ (r + h z) + 2 ωᵢ × v q̇ᵢ,  from -g at the base

    For this motion, body i needs the wrench η = (t, f), where m, u and K are those of the augmented
    body (see `augment`). Relative to its parent, body i has the velocity-dependent acceleration ζ
    in addition to the terms in aᵢ:

        fᵢ = Ωᵢ uᵢ + mᵢ aᵢ,   tᵢ = ωᵢ × Kᵢ ωᵢ + uᵢ × aᵢ,   ζᵢ = (ωₚ × w q̇ᵢ, 0)

    `accelerations` computes q̈ from τ, η and ζ.
    """
    n = robot.nb
    X = robot.displacements(q)
    augmented = augment(robot).bodies
    w: list[Vector] = [ZERO] * (n + 1)
    a: list[Vector] = [ZERO] * n + [-robot.g]
    Omega: list[Matrix] = [angular_acceleration_tensor(ZERO, ZERO)] * (n + 1)
    eta, zeta = [], []
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        w_axis, v_axis = robot.unit_twists[i]
        w_p = inward.vector(w[p])
        w[i] = w_p + w_axis * qd[i]
        Omega[i] = angular_acceleration_tensor(w[i], ZERO)
        r, h = X[i].origin_along_z()
        along = angular_acceleration_tensor(w_p, ZERO)[:, 2]
        a[i] = inward.vector(a[p] + Omega[p] @ r) + h * along + cross(w[i], v_axis * (2 * qd[i]))
        m, u, K = augmented[i]
        f = Omega[i] @ u + m * a[i]
        t = euler_moment(w[i], ZERO, K) + cross(u, a[i])
        eta.append(np.concatenate([t, f]))
        zeta.append(np.concatenate([cross(w_p, w_axis * qd[i]), ZERO]))
    return accelerations(robot, q, tau, eta, zeta)


@describe(
    "forward_dynamics",
    source="Saha 1999, (33) to (37), on trees",
    starting_from={"bias": from_factors},
)
def saha(robot: RobotModel, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Joint accelerations q̈ = H⁻¹ (τ - b), with the bias b by Newton and Euler."""
    return from_factors(robot, q, np.array(tau, dtype=object) - bias(robot, q, qd))


def accelerations(
    robot: RobotModel, q: Vector, tau: Vector, wrenches: Sequence[Vector], zeta: Sequence[Vector]
) -> list[Scalar]:
    """Joint accelerations q̈ from torques τ, wrenches η and velocity-dependent accelerations ζ.

    Because of velocities and gravity, body i needs the wrench ηᵢ. Relative to its parent p, it
    accelerates with s q̈ᵢ + ζᵢ, where s is the joint's unit twist. Bᵢ transforms a twist from the
    parent's frame to the body's, and Bᵢᵀ a wrench from the body's frame to the parent's.
    `articulated_bodies` computes m̂, ψ and M̂ⁱ. The first recursion runs towards the base; the second
    one computes the bodies' accelerations μ from the base, where μ is zero, to the tips:

        uᵢ = τᵢ - s · ηᵢ,   ηₚ += Bᵢᵀ (ηᵢ + M̂ⁱ ζᵢ + ψᵢ uᵢ)

        μᵢ = Bᵢ μₚ + ζᵢ,   q̈ᵢ = uᵢ / m̂ᵢ - ψᵢ · μᵢ,   then μᵢ += s q̈ᵢ
    """
    X = robot.displacements(q)
    m_hat, psi, left = articulated_bodies(robot, X)
    axis = [np.concatenate(pair) for pair in robot.unit_twists]
    u: list[Scalar] = [0] * robot.nv
    eta = with_base(wrenches)
    for i, p in robot.tips_to_base():
        u[i] = tau[i] - axis[i] @ eta[i]
        moment, force = np.split(eta[i] + left[i] @ zeta[i] + psi[i] * u[i], 2)
        force, moment = X[i].wrench(force, moment)
        eta[p] = eta[p] + np.concatenate([moment, force])

    qdd = []
    mu = [NOTHING] * (robot.nb + 1)
    for i, p in robot.base_to_tips():
        mu[i] = np.concatenate(X[i].inverse().wrench(*np.split(mu[p], 2))) + zeta[i]
        qdd.append(u[i] / m_hat[i] - psi[i] @ mu[i])
        mu[i] = mu[i] + axis[i] * qdd[i]
    return qdd


def articulated_bodies(
    robot: RobotModel, X: Sequence[Displacement]
) -> tuple[list[Scalar], list[Vector], list[Matrix]]:
    """Return m̂, ψ and M̂ⁱ of each articulated body; m̂ is the inertia about or along the joint axis.

    Joint i moves freely, so only the part M̂ⁱ of the inertia M̂ᵢ acts on the parent p. s is the
    joint's unit twist, and Bᵢ transforms a twist from the parent's frame to the body's:

        ψ̂ᵢ = M̂ᵢ s,  m̂ᵢ = s · ψ̂ᵢ + (rotor inertia),  ψᵢ = ψ̂ᵢ / m̂ᵢ
        M̂ⁱ = M̂ᵢ - ψ̂ᵢ ψᵢᵀ
        M̂ₚ += Bᵢᵀ M̂ⁱ Bᵢ,  from M̂ₚ = [[J, c̃], [-c̃, m 1]], the body alone

    Except for terms in (rotor inertia) / m̂, s · ψᵢ is 1 and M̂ⁱ s is 0. The code writes out these
    constants, so that constant folding removes operations with them.
    """
    n = robot.nb
    m_hat: list[Scalar] = [0] * n
    psi: list[Vector] = [NOTHING] * n
    left: list[Matrix] = [NOTHING] * n
    M_hat = with_base([*map(spatial_inertia, robot.m, robot.c, robot.J)])
    for i, p in robot.tips_to_base():
        s = np.concatenate(robot.unit_twists[i])
        rotor, others = robot.drives[i].rotor_inertia, outer(1 - s, 1 - s)
        psi_hat = M_hat[i] @ s
        m_hat[i] = s @ psi_hat + rotor
        held = rotor / m_hat[i]
        psi[i] = (1 - s) * psi_hat / m_hat[i] + s * (1 - held)
        along = outer(s, psi_hat) + outer((1 - s) * psi_hat, s)
        rest = others * (M_hat[i] - outer(psi_hat, psi[i])) + held * along
        left[i] = np.triu(rest) + np.triu(rest, 1).T
        M_hat[p] = M_hat[p] + inertia_in_parent(X[i], left[i])
    return m_hat, psi, left


def inertia_in_parent(X: Displacement, M_hat: Matrix) -> Matrix:
    """Transform an articulated inertia M̂ from the body's frame to the parent's: Bᵀ M̂ B."""
    J, C, M = M_hat[:3, :3], M_hat[:3, 3:], M_hat[3:, 3:]
    for screw in reversed(X):
        J, C = translate(screw, J, C, M)
        J, C, M = screw.tensor(J), screw.general_tensor(C), screw.tensor(M)
    return np.block([[J, C], [C.T, M]])


def translate(screw: Screw, J: Matrix, C: Matrix, M: Matrix) -> tuple[Matrix, Matrix]:
    """Return the blocks J and C of an articulated inertia after a screw's translation h along e.

    The inertia is [[J, C], [Cᵀ, M]]. With S = h ẽ, C' = C + S M and J' = J + S Cᵀ + C' Sᵀ.
    """
    (i, j), k, h = screw.others, screw.k, screw.h
    new_J, new_C = np.array(J, dtype=object), np.array(C, dtype=object)
    new_C[i], new_C[j] = C[i] - h * M[j], C[j] + h * M[i]
    new_J[i, i] = J[i, i] - h * (C[i, j] + new_C[i, j])
    new_J[j, j] = J[j, j] + h * (C[j, i] + new_C[j, i])
    new_J[i, j] = new_J[j, i] = J[i, j] + h * (new_C[i, i] - C[j, j])
    new_J[i, k] = new_J[k, i] = J[i, k] - h * C[k, j]
    new_J[j, k] = new_J[k, j] = J[j, k] + h * C[k, i]
    return new_J, new_C

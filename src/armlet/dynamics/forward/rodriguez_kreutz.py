"""Forward dynamics by spatial operators: factors of H⁻¹ applied to the torques."""

import numpy as np

from armlet.dynamics.bias import bias
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.rodriguez_kreutz import kalman_filter
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


@describe(
    "forward_dynamics",
    source="Rodriguez and Kreutz 1988; Balafoutis and Patel 1991, (6.2.19), on trees",
)
def rodriguez_kreutz(robot: RobotModel, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Joint accelerations q̈ = H⁻¹ (τ - b), by operator factors of H⁻¹, with b by Newton and Euler.

    `kalman_filter` computes unit twists h, transition operators φ, gains G and inertias D̂. In
    H = F D̂ Fᵀ, F is that of `armlet.dynamics.inertia.rodriguez_kreutz`. First, ε = F⁻¹ (τ - b) is
    computed from the tips to the base, with the wrench zᵢ of all bodies that body i carries. Then
    q̈ = F⁻ᵀ D̂⁻¹ ε is computed from the base, where the acceleration λ is zero, to the tips:

        εᵢ = τᵢ - bᵢ - hᵢ · zᵢ
        zₚ += φᵢ (zᵢ + Gᵢ εᵢ)
        λᵢ = φᵢᵀ λₚ,   q̈ᵢ = εᵢ / D̂ᵢ - Gᵢ · λᵢ,   then λᵢ += hᵢ q̈ᵢ
    """
    h, phi, G, D_hat = kalman_filter(robot, q)
    z = [np.zeros(6, dtype=object)] * (robot.nb + 1)
    epsilon = np.array(tau, dtype=object) - bias(robot, q, qd)
    for i, p in robot.tips_to_base():
        epsilon[i] = epsilon[i] - h[i] @ z[i]
        z[p] = z[p] + phi[i] @ (z[i] + G[i] * epsilon[i])

    lam = [np.zeros(6, dtype=object)] * (robot.nb + 1)
    qdd = []
    for i, p in robot.base_to_tips():
        lam[i] = phi[i].T @ lam[p]
        qdd.append(epsilon[i] / D_hat[i] - G[i] @ lam[i])
        lam[i] = lam[i] + h[i] * qdd[i]
    return qdd

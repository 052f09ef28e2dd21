"""Linearised forward dynamics and the state space of an arm."""

from collections.abc import Callable

import numpy as np

from armlet.algebra import solve
from armlet.dynamics.formulation import describe
from armlet.dynamics.forward.composite import composite
from armlet.dynamics.linear.balafoutis_patel import balafoutis_patel_71
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector

Derivatives = tuple[Matrix, Matrix, Matrix]


@describe(
    "forward_linearization",
    source="by the derivatives of the torques",
    growth="n^3",
    name="implicit",
    coupled=True,
)
def forward_linearization(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    tau: Vector,
    forward_dynamics: Callable[..., list[Scalar]] = composite,
    linearization: Callable[..., Derivatives] = balafoutis_patel_71,
) -> Derivatives:
    """∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ, from any formulations of the forward dynamics and linearised torques.

    At the q̈ of the forward dynamics, solving δτ = H δq̈ + V δq̇ + P δq for δq̈ gives

        ∂q̈/∂q = -H⁻¹ P,   ∂q̈/∂q̇ = -H⁻¹ V,   ∂q̈/∂τ = H⁻¹
    """
    n = robot.nv
    qdd = forward_dynamics(robot, q, qd, tau)
    H, V, P = linearization(robot, q, qd, qdd)
    derivatives = solve(H, np.hstack([-P, -V, np.eye(n, dtype=int)]))
    return derivatives[:, :n], derivatives[:, n : 2 * n], derivatives[:, 2 * n :]


@describe(
    "state_space",
    source="Balafoutis and Patel 1991, (7.2.2)",
    growth="n^3",
    name="implicit",
    coupled=True,
)
def state_space(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    tau: Vector,
    forward_dynamics: Callable[..., list[Scalar]] = composite,
    linearization: Callable[..., Derivatives] = balafoutis_patel_71,
) -> tuple[Matrix, Matrix]:
    """A and B of ẋ = A x + B δτ, where x = (δq, δq̇).

    A = [0 1; ∂q̈/∂q ∂q̈/∂q̇],   B = [0; ∂q̈/∂τ]
    """
    by_q, by_qd, by_tau = forward_linearization(robot, q, qd, tau, forward_dynamics, linearization)
    zero, one = np.zeros((robot.nv, robot.nv), dtype=int), np.eye(robot.nv, dtype=int)
    return np.block([[zero, one], [by_q, by_qd]]), np.concatenate([zero, by_tau])

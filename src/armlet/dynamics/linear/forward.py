"""Linearised forward dynamics and the state space of an arm."""

import numpy as np

from armlet.algebra import solved
from armlet.dynamics.formulation import FORMULATIONS, formulation
from armlet.errors import ArmletError
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@formulation(
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
    forward_dynamics: str = "composite",
    linearization: str = "balafoutis_patel_71",
) -> tuple[Matrix, Matrix, Matrix]:
    """∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ, with forward dynamics and linearised torques by any named.

    At q̈ of the forward dynamics, δτ = H δq̈ + V δq̇ + P δq gives

        ∂q̈/∂q = -H⁻¹ P,   ∂q̈/∂q̇ = -H⁻¹ V,   ∂q̈/∂τ = H⁻¹
    """
    n, slopes_of_torques = robot.n, FORMULATIONS["linearization"][linearization]
    if slopes_of_torques.traced:
        raise ArmletError(
            f"linearization {linearization!r} differentiates by accelerations that are given, and "
            "those of forward dynamics are computed: name another"
        )
    qdd = FORMULATIONS["forward_dynamics"][forward_dynamics].function(robot, q, qd, tau)
    H, V, P = slopes_of_torques.function(robot, q, qd, qdd)
    derivatives = solved(H, np.hstack([-P, -V, np.eye(n, dtype=int)]))
    return derivatives[:, :n], derivatives[:, n : 2 * n], derivatives[:, 2 * n :]


@formulation(
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
    forward_dynamics: str = "composite",
    linearization: str = "balafoutis_patel_71",
) -> tuple[Matrix, Matrix]:
    """A and B of ẋ = A x + B δτ, where x = (δq, δq̇).

        A = [0 1; ∂q̈/∂q ∂q̈/∂q̇],   B = [0; ∂q̈/∂τ]

    Balafoutis and Patel 1991, (7.2.2).
    """
    by_q, by_qd, by_tau = forward_linearization(robot, q, qd, tau, forward_dynamics, linearization)
    zero, one = np.zeros((robot.n, robot.n), dtype=int), np.eye(robot.n, dtype=int)
    return np.block([[zero, one], [by_q, by_qd]]), np.concatenate([zero, by_tau])

"""The inertia matrix, column by column from inverse dynamics."""

from dataclasses import replace

import numpy as np

from armlet.algebra import ZERO
from armlet.dynamics.formulation import describe
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix",
    source="Walker and Orin 1982, methods 1 and 2; Balafoutis and Patel 1991, (6.2.4), on trees",
    growth="n^2",
    walks_twists=True,
)
def unit_columns(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by inverse dynamics with unit accelerations.

    Without speed and gravity the torques are τ = H q̈, so column i of H is the torques at
    q̈ᵢ = 1 alone; only the rows up to the diagonal are computed, since H is symmetric:

        H eᵢ = τ(q, 0, eᵢ),  g = 0
    """
    n = robot.nv
    weightless = replace(robot, g=ZERO)
    H = np.zeros((n, n), dtype=object)
    for i in range(n):
        tau = newton_euler(weightless, q, [0] * n, [int(k == i) for k in range(n)])
        H[: i + 1, i] = H[i, : i + 1] = tau[: i + 1]
    return H

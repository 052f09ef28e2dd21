"""The inverse of the inertia matrix."""

from collections.abc import Callable

import numpy as np

from armlet.algebra import udu
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "inverse_inertia_matrix",
    source="by H = U D Uᵀ",
    growth="n^3",
    name="factors",
    walks_twists=True,
    coupled=True,
)
def inverse_inertia_matrix(
    robot: RobotModel, q: Vector, inertia_matrix: Callable[..., Matrix] = composite_bodies
) -> Matrix:
    """Inverse H⁻¹ = Vᵀ D⁻¹ V of the inertia matrix H = U D Uᵀ, with V = U⁻¹.

    `inertia_matrix` computes H. U and V are unit upper triangular, and D is diagonal. U V = 1 gives
    the entries of V, from the last row upwards:

        Vᵢₖ = -Uᵢₖ - Σⱼ Uᵢⱼ Vⱼₖ,   i < j < k
    """
    H = inertia_matrix(robot, q)
    U, D = udu(H)
    n = len(H)
    V = np.eye(n, dtype=object)
    for k in range(n):
        for i in reversed(range(k)):
            V[i, k] = -U[i, k] - sum(U[i, j] * V[j, k] for j in range(i + 1, k))
    scaled = [[V[i, k] / D[i] for k in range(n)] for i in range(n)]
    inverse = np.zeros((n, n), dtype=object)
    for k in range(n):
        for j in range(k + 1):
            entry = sum(scaled[i][j] * V[i, k] for i in range(j + 1))
            inverse[j, k] = inverse[k, j] = entry
    return inverse

"""The Coriolis matrix by Christoffel's symbols."""

import numpy as np

from armlet.dynamics.bias.lin import coefficients
from armlet.dynamics.formulation import describe
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "coriolis_matrix",
    source="Lin 1991, (32)-(34), (45) and (47), on trees",
    growth="n^3",
    minimal=False,
    contends=True,
)
def christoffel(robot: RobotModel, q: Vector, qd: Vector) -> Matrix:
    """C(q, q̇) with Cᵢⱼ = Σ Dᵢₖⱼ q̇ₖ, D Christoffel's symbols of the first kind.

    Dᵢₖⱼ = ½ (∂Hᵢⱼ/∂qₖ + ∂Hᵢₖ/∂qⱼ - ∂Hₖⱼ/∂qᵢ)
    """
    return (coefficients(robot, q) * np.array(qd, dtype=object)[:, None]).sum(axis=1)

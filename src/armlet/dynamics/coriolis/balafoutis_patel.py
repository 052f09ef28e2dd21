"""The Coriolis matrix by the linearised model of Balafoutis and Patel."""

from armlet.dynamics.formulation import describe
from armlet.dynamics.linear.balafoutis_patel import balafoutis_patel_71 as linearization
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "coriolis_matrix",
    source="half of V of Balafoutis and Patel 1991, Algorithm 7.1, on trees",
    growth="n^2",
    contends=True,
)
def balafoutis_patel_71(robot: RobotModel, q: Vector, qd: Vector) -> Matrix:
    """Christoffel's C(q, q̇), with C q̇ + g(q) the bias, as half of V = ∂τ/∂q̇.

    The bias is quadratic in q̇, bᵢ = Σ cᵢⱼₖ q̇ⱼ q̇ₖ + gᵢ with cᵢⱼₖ = cᵢₖⱼ Christoffel's symbols of
    the first kind, so that Vᵢⱼ = 2 Σ cᵢⱼₖ q̇ₖ is twice Christoffel's C; and V is linear in q̇:

        C(q, q̇) = V(q, q̇ / 2)
    """
    half = [speed / 2 for speed in qd]
    _, V, _ = linearization(robot, q, half, [0] * robot.n)
    return V

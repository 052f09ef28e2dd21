"""Linearised models by differentiating any inverse dynamics."""

from collections.abc import Callable

from armlet.dynamics.formulation import describe
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.graph.differentiate import derivatives
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "linearization",
    source="forward differentiation",
    growth="n^2",
    traced=True,
    own_rotors=True,
    coupled=True,
)
def forward_mode(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    inverse_dynamics: Callable[..., list[Scalar]] = newton_euler,
) -> tuple[Matrix, Matrix, Matrix]:
    """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q: derivatives run along with the operations of τ."""
    return by_qdd_qd_q(inverse_dynamics(robot, q, qd, qdd), q, qd, qdd, "forward")


@describe(
    "linearization",
    source="reverse differentiation",
    growth="n^2",
    traced=True,
    own_rotors=True,
    coupled=True,
)
def reverse_mode(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    inverse_dynamics: Callable[..., list[Scalar]] = newton_euler,
) -> tuple[Matrix, Matrix, Matrix]:
    """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q: derivatives run back from each torque."""
    return by_qdd_qd_q(inverse_dynamics(robot, q, qd, qdd), q, qd, qdd, "reverse")


def by_qdd_qd_q(
    tau: list[Scalar], q: Vector, qd: Vector, qdd: Vector, mode: str
) -> tuple[Matrix, Matrix, Matrix]:
    """∂τ/∂q̈, ∂τ/∂q̇ and ∂τ/∂q of traced torques."""
    n = len(q)
    P_V_H = derivatives(tau, [*q, *qd, *qdd], mode)
    return P_V_H[:, 2 * n :], P_V_H[:, n : 2 * n], P_V_H[:, :n]

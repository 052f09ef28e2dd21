"""Linearised models by differentiating any inverse dynamics."""

from armlet.dynamics.formulation import FORMULATIONS, formulation
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector, derivatives


@formulation(
    "linearization",
    source="forward differentiation",
    growth="n^2",
    traced=True,
    own_rotors=True,
    coupled=True,
)
def forward_mode(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, inverse_dynamics: str = "newton_euler"
) -> tuple[Matrix, Matrix, Matrix]:
    """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q: derivatives run along with the operations of τ."""
    return _differentiated(robot, q, qd, qdd, inverse_dynamics, "forward")


@formulation(
    "linearization",
    source="reverse differentiation",
    growth="n^2",
    traced=True,
    own_rotors=True,
    coupled=True,
)
def reverse_mode(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, inverse_dynamics: str = "newton_euler"
) -> tuple[Matrix, Matrix, Matrix]:
    """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q: derivatives run back from each torque."""
    return _differentiated(robot, q, qd, qdd, inverse_dynamics, "reverse")


def _differentiated(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, inverse_dynamics: str, mode: str
) -> tuple[Matrix, Matrix, Matrix]:
    n = robot.n
    tau = FORMULATIONS["inverse_dynamics"][inverse_dynamics].function(robot, q, qd, qdd)
    P_V_H = derivatives(tau, [*q, *qd, *qdd], mode)
    return P_V_H[:, 2 * n :], P_V_H[:, n : 2 * n], P_V_H[:, :n]

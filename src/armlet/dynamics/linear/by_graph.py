"""Linearised models by automatic differentiation of any inverse-dynamics formulation."""

from collections.abc import Callable

from armlet.dynamics.formulation import describe
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.graph.differentiate import derivatives
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector


def differentiation(mode: str) -> Callable[..., tuple[Matrix, Matrix, Matrix]]:
    """Return the formulation that differentiates the torques in "forward" or "reverse" mode."""

    @describe(
        "linearization",
        source=f"{mode} differentiation",
        growth="n^2",
        name=f"{mode}_mode",
        traced=True,
        own_rotors=True,
        coupled=True,
        walks_twists=True,
    )
    def linearization(
        robot: RobotModel,
        q: Vector,
        qd: Vector,
        qdd: Vector,
        inverse_dynamics: Callable[..., list[Scalar]] = newton_euler,
    ) -> tuple[Matrix, Matrix, Matrix]:
        """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q, from the recorded operations of τ.

        Forward mode propagates derivatives along with the operations, reverse mode from each
        torque back to the state. Derivatives by q are in the tangent space: P v is the rate of τ
        while q changes at the velocity v.
        """
        n = robot.nv
        P_V_H = derivatives(inverse_dynamics(robot, q, qd, qdd), [*q, *qd, *qdd], mode)
        P = P_V_H[:, : -2 * n] @ robot._tangent(q)
        return P_V_H[:, -n:], P_V_H[:, -2 * n : -n], P

    return linearization


forward_mode, reverse_mode = map(differentiation, ("forward", "reverse"))

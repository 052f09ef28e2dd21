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
        torque back to the state.
        """
        n = len(q)
        P_V_H = derivatives(inverse_dynamics(robot, q, qd, qdd), [*q, *qd, *qdd], mode)
        return P_V_H[:, 2 * n :], P_V_H[:, n : 2 * n], P_V_H[:, :n]

    return linearization


forward_mode, reverse_mode = map(differentiation, ("forward", "reverse"))

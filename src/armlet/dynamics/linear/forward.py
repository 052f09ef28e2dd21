"""Linearised forward dynamics and the state space of an arm."""

from collections.abc import Callable

import numpy as np

from armlet.algebra import cross, solve
from armlet.dynamics.formulation import describe
from armlet.dynamics.forward.composite import composite
from armlet.dynamics.linear.balafoutis_patel import balafoutis_patel_71
from armlet.graph.differentiate import derivatives
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
    by_all = solve(H, np.hstack([-P, -V, np.eye(n, dtype=int)]))
    return by_all[:, :n], by_all[:, n : 2 * n], by_all[:, 2 * n :]


@describe(
    "forward_linearization",
    source="forward differentiation",
    growth="n^3",
    name="forward_mode",
    traced=True,
    coupled=True,
    walks_twists=True,
)
def forward_mode(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    tau: Vector,
    forward_dynamics: Callable[..., list[Scalar]] = composite,
) -> Derivatives:
    """∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ, from the recorded operations of the forward dynamics.

    Derivatives by q are in the tangent space, as those of `linearization` in `by_graph`.
    """
    n = robot.nv
    by_all = derivatives(forward_dynamics(robot, q, qd, tau), [*q, *qd, *tau], "forward")
    return by_all[:, : -2 * n] @ robot._tangent(q), by_all[:, -2 * n : -n], by_all[:, -n:]


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
    """A and B of ẋ = A x + B δτ, where x = (δq, δq̇): see `first_order`."""
    return first_order(
        robot, qd, *forward_linearization(robot, q, qd, tau, forward_dynamics, linearization)
    )


@describe(
    "state_space",
    source="forward differentiation",
    growth="n^3",
    name="forward_mode",
    traced=True,
    coupled=True,
    walks_twists=True,
)
def state_space_by_differentiation(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    tau: Vector,
    forward_dynamics: Callable[..., list[Scalar]] = composite,
) -> tuple[Matrix, Matrix]:
    """A and B of ẋ = A x + B δτ, where x = (δq, δq̇): see `first_order`."""
    return first_order(robot, qd, *forward_mode(robot, q, qd, tau, forward_dynamics))


def first_order(
    robot: RobotModel, qd: Vector, by_q: Matrix, by_qd: Matrix, by_tau: Matrix
) -> tuple[Matrix, Matrix]:
    """A = [-L 1; ∂q̈/∂q ∂q̈/∂q̇],   B = [0; ∂q̈/∂τ], from the derivatives of the accelerations.

    δq is the displacement from the state (q, q̇), in axes that move with the bodies. As these axes
    rotate, δq changes at the rate δq̇ - L δq. For a joint with the orthonormal unit twists (w, v)ₖ
    that moves with the twist (ω, ν), column k of L is the Lie bracket (ω × wₖ, ω × vₖ + ν × wₖ), as
    a combination of the unit twists. L is zero if the joint has an axis.
    """
    n = robot.nv
    L, one = np.zeros((n, n), dtype=object), np.eye(n, dtype=int)
    for joint, at in zip(robot.coordinates, robot._slices["nv"], strict=True):
        twists = np.array([np.concatenate(twist) for twist in joint.type.twists], dtype=object)
        w, v = np.split(twists.T @ np.array(qd[at], dtype=object), 2)
        brackets = [[*cross(w, x[:3]), *(cross(w, x[3:]) + cross(v, x[:3]))] for x in twists]
        L[at, at] = twists @ np.array(brackets, dtype=object).T
    return np.block([[-L, one], [by_q, by_qd]]), np.concatenate([0 * one, by_tau])

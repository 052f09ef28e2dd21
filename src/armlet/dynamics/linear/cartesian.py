"""Models of an arm in the coordinates of its tool, nonlinear and linearised.

The velocity of the tool is χ̇ = Jq q̇ with the geometric Jacobian Jq. The angular component ω of χ̇ is
not the rate of any coordinates. In the linearised model, δχ = Jq δq therefore stands for a small
rotation δφ and a small translation, and δχ̇ = Jq' δq + Jq δq̇ is the rate of δχ. The variation of ω
is δφ × ω plus the angular component of δχ̇. With six joints, as in Balafoutis and Patel 1991, Jq is
square. With fewer joints, the left inverse of Jq restricts the model to feasible tool motions.
With more joints, a ModelError is raised. In singular postures, the formulas divide by zero.
"""

from collections.abc import Callable

import numpy as np

from armlet.dynamics.bias import bias as newton_euler
from armlet.dynamics.bias import gravity_torque
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.dynamics.kinematics import jacobian_rates
from armlet.dynamics.linear.balafoutis_patel import balafoutis_patel_71
from armlet.errors import ModelError
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector, is_zero


@describe(
    "cartesian_model",
    source="Balafoutis and Patel 1991, (7.4.4)",
    growth="n^3",
    name="geometric",
    topology="serial",
    coupled=True,
)
def cartesian_model(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    frame: str | None = None,
    inertia_matrix: Callable[..., Matrix] = composite_bodies,
    bias: Callable[..., list[Scalar]] = newton_euler,
) -> tuple[Matrix, Vector, Vector]:
    """D, C and G of the wrench f = D χ̈ + C + G (moment, force) that moves a frame, in base axes.

    The joint torques are τ = Jᵀ f with the geometric Jacobian J. With the inertia matrix H, the
    velocity torques c, the gravity torques g, and the time derivative J' of J:

        D = J⁻ᵀ H J⁻¹,   C = J⁻ᵀ (c - H J⁻¹ J' q̇),   G = J⁻ᵀ g
    """
    check(robot, frame)
    J, Jd, _ = jacobian_rates(robot, q, qd, [0] * robot.nv, frame)
    inverse = left_inverse(J)
    H = inertia_matrix(robot, q)
    g: Vector = np.array(gravity_torque(robot, q), dtype=object)
    c: Vector = np.array(bias(robot, q, qd), dtype=object) - g
    D = inverse.T @ H @ inverse
    return D, inverse.T @ c - D @ (Jd @ np.array(qd, dtype=object)), inverse.T @ g


@describe(
    "cartesian_linearization",
    source="Balafoutis and Patel 1991, (7.4.15)-(7.4.17)",
    growth="n^3",
    name="geometric",
    topology="serial",
    coupled=True,
)
def cartesian_linearization(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    frame: str | None = None,
    linearization: Callable[..., tuple[Matrix, Matrix, Matrix]] = balafoutis_patel_71,
) -> tuple[Matrix, Matrix, Matrix]:
    """Dx, Vx, Px of δτ = Dx δχ̈ + Vx δχ̇ + Px δχ with the displacement δχ of a frame, in base axes.

    With H, V, P of `linearization`, δχ = J δq, δχ̇ = J' δq + J δq̇, δχ̈ = J'' δq + 2 J' δq̇ + J δq̈:

        Dx = H J⁻¹,   Vx = (V - 2 Dx J') J⁻¹,   Px = (P - Vx J' - Dx J'') J⁻¹
    """
    check(robot, frame)
    J, Jd, Jdd = jacobian_rates(robot, q, qd, qdd, frame)
    inverse = left_inverse(J)
    H, V, P = linearization(robot, q, qd, qdd)
    Dx = H @ inverse
    Vx = (V - 2 * Dx @ Jd) @ inverse
    return Dx, Vx, (P - Vx @ Jd - Dx @ Jdd) @ inverse


def check(robot: RobotModel, frame: str | None) -> None:
    """Raise a ModelError for more than six coordinates, or for one that does not move the frame."""
    body, _ = robot.frame(frame)
    path = robot.path(body)
    moving = len({robot.couplings[i].leader for i in path} if robot.couplings else path)
    if moving != robot.nv or robot.nv > 6:
        raise ModelError(
            f"{moving} of the {robot.nv} joints of robot {robot.name!r} move frame "
            f"{frame or robot.tool!r}: a Cartesian model needs all of them to, and six at most"
        )


def left_inverse(J: Matrix) -> Matrix:
    """The left inverse J⁻¹ of a J with independent columns, without pivoting or square roots.

    The modified Gram-Schmidt process gives J = Q U, with a unit upper triangular U and orthogonal
    columns in Q. Then J⁻¹ = U⁻¹ (QᵀQ)⁻¹ Qᵀ.
    """
    n = J.shape[1]
    Q = np.array(J, dtype=object)
    U = np.zeros((n, n), dtype=object)
    size: list[Scalar] = []
    for k in range(n):
        size.append(Q[:, k] @ Q[:, k])
        if is_zero(size[k]):
            raise ModelError("the joints move the frame in fewer ways than there are joints")
        for j in range(k + 1, n):
            U[k, j] = Q[:, k] @ Q[:, j] / size[k]
            Q[:, j] = Q[:, j] - U[k, j] * Q[:, k]
    inverse = np.array([Q[:, k] / size[k] for k in range(n)], dtype=object)
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            inverse[k] = inverse[k] - U[k, j] * inverse[j]
    return inverse

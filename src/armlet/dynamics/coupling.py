"""Quantities of robots with coupled joints, computed from the same robot with free joints.

The coordinates q determine the joint positions Γ q + q₀, velocities Γ q̇ and accelerations Γ q̈, with
constant Γ and q₀. Joint torques τ do the same work as the coordinate torques Γᵀ τ.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from armlet.dynamics.quantities import QUANTITIES
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector

Function = TypeVar("Function", bound=Callable[..., Any])
Projection = Callable[[RobotModel, Any], Any]


def torques(robot: RobotModel, tau: Any) -> Matrix:
    """Coordinate torques Γᵀ τ, from joint torques τ in one or more columns."""
    return robot._coordinate_torques(np.array(tau, dtype=object))


def columns(robot: RobotModel, J: Matrix) -> Matrix:
    """Jacobian J Γ for the velocities of the coordinates, from the Jacobian J of the joints."""
    return torques(robot, J.T).T


def matrix(robot: RobotModel, C: Matrix) -> Matrix:
    """Matrix Γᵀ C Γ for the coordinates, from the matrix C of the joints."""
    return torques(robot, columns(robot, C))


def inertia(robot: RobotModel, H: Matrix) -> Matrix:
    """Symmetric matrix Γᵀ H Γ; entries below the diagonal are copied from above."""
    result = matrix(robot, H)
    for i in range(len(result)):
        result[i, :i] = result[:i, i]
    return result


def derivatives(robot: RobotModel, triple: tuple[Matrix, Matrix, Matrix]) -> tuple[Matrix, ...]:
    """Torque derivatives H, V and P for the coordinates, from those for the joints."""
    H, V, P = triple
    return inertia(robot, H), matrix(robot, V), matrix(robot, P)


def unchanged(_: RobotModel, result: Any) -> Any:
    """Return `result`, which depends on the bodies' motion, not on the choice of coordinates."""
    return result


RULES: dict[Projection, tuple[str, ...]] = {
    torques: (
        *("inverse_dynamics", "bias", "gravity_torque", "friction_torque", "passive_torque"),
        *("regressor", "gravity_regressor"),
    ),
    columns: ("jacobian", "jacobian_rate", "centre_of_mass_jacobian"),
    matrix: ("coriolis_matrix",),
    inertia: ("inertia_matrix",),
    derivatives: ("linearization",),
    unchanged: (
        *("forward_kinematics", "poses", "frame_velocity", "frame_acceleration"),
        *("frame_acceleration_bias", "centre_of_mass", "momentum", "energy", "energy_regressor"),
    ),
}
PROJECTIONS = {quantity: rule for rule, quantities in RULES.items() for quantity in quantities}
"""Quantity -> projection from free to coupled joints. All other quantities need the inverse of a
matrix: their formulations compute this matrix from listed quantities or support no coupling."""


def project(arguments: Sequence[str], projection: Projection) -> Callable[[Function], Function]:
    """Return a decorator that extends a function for free joints to coupled ones, by `projection`.

    `arguments` names the state arguments after the robot; later arguments are passed unchanged.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def complete(robot: RobotModel, *args: Any, **options: Any) -> Any:
            if not robot.couplings:
                return function(robot, *args, **options)
            state = [joint_state(robot, name, x) for name, x in zip(arguments, args, strict=False)]
            others = args[len(arguments) :]
            return projection(robot, function(robot.uncoupled, *state, *others, **options))

        return cast(Function, complete)

    return decorate


def joint_state(robot: RobotModel, argument: str, values: Any) -> Vector:
    """Positions, velocities or accelerations of all joints, from `values` of the coordinates."""
    array = np.array([*values], dtype=object)
    return robot.joint_positions(array) if argument == "q" else robot._joint_velocities(array)


def with_coupling(quantity: str) -> Callable[[Function], Function]:
    """Return a decorator that extends a function for `quantity` to coupled joints."""
    return project(QUANTITIES[quantity].arguments, PROJECTIONS[quantity])

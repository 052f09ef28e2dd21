"""Quantities of robots with coupled joints, from those of the same robot with free joints.

The coordinates q move the joints by Γ q + q₀, with Γ and q₀ constant: velocities and accelerations
of the joints are Γ q̇ and Γ q̈. Torques τ of the joints do the same work as Γᵀ τ of the coordinates.
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
    """Γᵀ τ: the torques of the coordinates, from joint torques in one column or several."""
    return robot._coordinate_torques(np.array(tau, dtype=object))


def columns(robot: RobotModel, J: Matrix) -> Matrix:
    """J Γ: the columns of J for the velocities of the coordinates."""
    return torques(robot, J.T).T


def matrix(robot: RobotModel, C: Matrix) -> Matrix:
    """Γᵀ C Γ."""
    return torques(robot, columns(robot, C))


def inertia(robot: RobotModel, H: Matrix) -> Matrix:
    """Γᵀ H Γ, which is symmetric: entries below the diagonal are copied from above."""
    result = matrix(robot, H)
    for i in range(len(result)):
        result[i, :i] = result[:i, i]
    return result


def derivatives(robot: RobotModel, triple: tuple[Matrix, Matrix, Matrix]) -> tuple[Matrix, ...]:
    """The derivatives H, V and P of the torques, for the coordinates."""
    H, V, P = triple
    return inertia(robot, H), matrix(robot, V), matrix(robot, P)


def unchanged(_: RobotModel, result: Any) -> Any:
    """The result itself, which depends only on the positions and motion of the bodies."""
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
"""How quantities of coupled joints follow from those of free joints. Quantities not listed invert a
matrix of the coordinates: their formulations call listed quantities or hold for free joints."""


def project(arguments: Sequence[str], projection: Projection) -> Callable[[Function], Function]:
    """A decorator that extends a function of free joints to coupled joints, by a projection.

    `arguments` names the state arguments, which follow the robot; later arguments are passed on.
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
    """The positions, velocities or accelerations of all joints, from those of the coordinates."""
    array = np.array([*values], dtype=object)
    return robot.joint_positions(array) if argument == "q" else robot._joint_velocities(array)


def with_coupling(quantity: str) -> Callable[[Function], Function]:
    """A decorator that extends a function of a quantity from free joints to coupled joints."""
    return project(QUANTITIES[quantity].arguments, PROJECTIONS[quantity])

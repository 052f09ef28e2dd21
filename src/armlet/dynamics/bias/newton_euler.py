"""Bias and gravity torques by Newton and Euler: inverse dynamics of an arm that does not
accelerate, or does not move. The zeros are exact, so nothing is computed with them."""

from armlet.dynamics.formulation import describe
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


@describe(
    "bias",
    source="Balafoutis and Patel 1991, Algorithm 5.7, on trees, without acceleration",
    growth="n",
    name="newton_euler",
    contends=True,
    walks_twists=True,
)
def bias(robot: RobotModel, q: Vector, qd: Vector) -> list[Scalar]:
    """Coriolis, centrifugal and gravity torques b(q, q̇): inverse dynamics at q̈ = 0."""
    return newton_euler(robot, q, qd, [0] * robot.nv)


@describe(
    "gravity_torque",
    source="Balafoutis and Patel 1991, Algorithm 5.7, on trees, without acceleration",
    growth="n",
    name="newton_euler",
    contends=True,
    walks_twists=True,
)
def gravity_torque(robot: RobotModel, q: Vector) -> list[Scalar]:
    """Gravity torques g(q): inverse dynamics at rest."""
    return newton_euler(robot, q, [0] * robot.nv, [0] * robot.nv)

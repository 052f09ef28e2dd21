"""Friction in the drives."""

from armlet.dynamics.formulation import formulation
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector, sign


@formulation(
    "friction_torque",
    source="by definition",
    growth="n",
    name="drives",
    walks_twists=True,
)
def friction_torque(robot: RobotModel, qd: Vector) -> list[Scalar]:
    """Viscous, Coulomb and constant friction: fᵥ q̇ + f꜀ sign(q̇) + f₀, joint by joint.

    It is to be added to the inverse dynamics.
    """
    return [
        drive.viscous * qd[i] + drive.coulomb * sign(qd[i]) + drive.offset
        for i, drive in enumerate(robot.drives)
    ]

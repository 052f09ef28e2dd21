"""Passive forces: friction in the drives, springs, gravity compensation."""

import numpy as np

from armlet.dynamics.bias import gravity_torque
from armlet.dynamics.formulation import by_definition
from armlet.minimal import lump
from armlet.robot import Drive, RobotModel
from armlet.scalar import Scalar, Vector, sign


@by_definition("friction_torque", "drives")
def friction_torque(robot: RobotModel, qd: Vector) -> list[Scalar]:
    """Viscous, Coulomb and constant friction: fᵥ q̇ + f꜀ sign(q̇) + f₀, joint by joint.

    The inverse dynamics do not include these torques: motors need the sum of both.
    """
    return [drive_friction(drive, qd[i], sign(qd[i])) for i, drive in enumerate(robot.drives)]


def drive_friction(drive: Drive, v: Scalar, direction: Scalar, stribeck: Scalar = 0) -> Scalar:
    """Friction of a drive at the velocity v: fᵥ v + (f꜀ + stribeck) direction + f₀.

    `direction` is the sign of v, or a smooth approximation of the sign.
    """
    return drive.viscous * v + (drive.coulomb + stribeck) * direction + drive.offset


@by_definition("passive_torque", "joint_by_joint")
def passive_torque(robot: RobotModel, q: Vector, qd: Vector) -> list[Scalar]:
    """Friction and spring torques, minus the gravity torques of the compensated masses.

        (friction torque of q̇)ᵢ + kᵢ (δᵢ - rᵢ) - (gravity torque of the compensated masses)ᵢ

    with the displacement δ from the neutral positions, and stiffness kᵢ and reference rᵢ of spring
    i. The inverse dynamics do not include these torques: motors need the sum of both. The
    compensated masses are always lumped (see `lump`).
    """
    friction = friction_torque(robot, qd)
    moved = robot.difference(robot.neutral, np.array(q, dtype=object))
    tau = [
        f + spring.stiffness * (x - spring.reference)
        for f, spring, x in zip(friction, robot.springs, moved, strict=True)
    ]
    if not robot._has_compensation:
        return tau
    compensated = gravity_torque(lump(robot._compensated_bodies()), q)
    return [t - g for t, g in zip(tau, compensated, strict=True)]

"""The robot: an immutable tree of bodies in canonical frames, and its traversals."""

from armlet.robot.arrangement import Arrangement
from armlet.robot.coupling import Coupling, Tie
from armlet.robot.description import (
    Connection,
    Description,
    Link,
    PassiveForce,
    assembled,
    described,
)
from armlet.robot.displacement import Body, Displacement, Screw, axial_turn
from armlet.robot.joints import JOINT_KINDS, JointKind, Twist
from armlet.robot.parts import (
    BASE,
    PHI,
    Compensation,
    DHRow,
    Drive,
    Frame,
    Joint,
    Limits,
    Spring,
    with_base,
)
from armlet.robot.pose import HERE, TOLERANCE, Pose, pose
from armlet.robot.robot import RobotModel

__all__ = [
    "BASE",
    "HERE",
    "JOINT_KINDS",
    "PHI",
    "TOLERANCE",
    "Arrangement",
    "Body",
    "Compensation",
    "Connection",
    "Coupling",
    "DHRow",
    "Description",
    "Displacement",
    "Drive",
    "Frame",
    "Joint",
    "JointKind",
    "Limits",
    "Link",
    "PassiveForce",
    "Pose",
    "RobotModel",
    "Screw",
    "Spring",
    "Tie",
    "Twist",
    "assembled",
    "axial_turn",
    "described",
    "pose",
    "with_base",
]

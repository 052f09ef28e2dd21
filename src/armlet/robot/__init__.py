"""Robot models: immutable trees of rigid bodies in canonical frames."""

from armlet.robot.arrangement import Arrangement
from armlet.robot.components import (
    BASE,
    PHI,
    Compensation,
    Coupling,
    Drive,
    Frame,
    Joint,
    Limits,
    Spring,
    with_base,
)
from armlet.robot.displacement import (
    Body,
    DHRow,
    Displacement,
    Factor,
    Rotation,
    Screw,
    Translation,
    cos_sin_of_sum,
)
from armlet.robot.joints import JOINT_TYPES, JointType, Twist
from armlet.robot.pose import IDENTITY_POSE, TOLERANCE, Pose, pose
from armlet.robot.robot import RobotModel

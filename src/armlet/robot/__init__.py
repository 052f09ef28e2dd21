"""The robot: an immutable tree of bodies in canonical frames, and the ways to walk it."""

from armlet.robot.arrangement import Arrangement
from armlet.robot.description import Connection, Description, Link, assembled, described
from armlet.robot.displacement import Displacement, Screw
from armlet.robot.parts import BASE, PHI, Drive, Frame, Joint, Limits, Row
from armlet.robot.pose import HERE, TOLERANCE, Pose, pose
from armlet.robot.robot import RobotModel, axial_turn

Robot = RobotModel
"""The name that formulations and loaders use for it."""

__all__ = [
    "BASE",
    "HERE",
    "PHI",
    "TOLERANCE",
    "Arrangement",
    "Connection",
    "Description",
    "Displacement",
    "Drive",
    "Frame",
    "Joint",
    "Limits",
    "Link",
    "Pose",
    "Robot",
    "RobotModel",
    "Row",
    "Screw",
    "assembled",
    "axial_turn",
    "described",
    "pose",
]

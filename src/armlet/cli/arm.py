"""The arm that a command is asked about."""

from armlet.errors import ArmletError
from armlet.models import general_arm, load
from armlet.robot import Robot


def asked_arm(robot: str | None, general: str | None) -> Robot:
    """A robot by name or file, or the general arm."""
    if robot is not None and general is None:
        return load(robot)
    if general is not None and robot is None:
        return general_arm(general)
    raise ArmletError("name a robot or give --general RRRRRR, one of the two")

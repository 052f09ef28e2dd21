"""The robot argument of commands."""

from typing import Annotated

import typer

from armlet.errors import ArmletError
from armlet.models import general_arm, load
from armlet.robot import RobotModel

RobotName = Annotated[
    str | None, typer.Argument(help="A catalogue name or a file.", metavar="[ROBOT]")
]
GeneralArm = Annotated[
    str | None, typer.Option(help="Instead of a robot, the general arm, such as RRPRRR.")
]


def selected_arm(robot: RobotName, general: GeneralArm) -> RobotModel:
    """A robot by name or file, or the general arm."""
    if robot is not None and general is None:
        return load(robot)
    if general is not None and robot is None:
        return general_arm(general)
    raise ArmletError("name a robot or give --general RRRRRR, one of the two")

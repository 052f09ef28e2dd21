"""Command-line options that choose a robot and set the arguments of `armlet.load`."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, NamedTuple

import typer

from armlet.api import Robot, general_arm, load
from armlet.cli.options import completion, frames, joints, robots
from armlet.description.coupling import MIMIC
from armlet.description.options import PASSIVE
from armlet.errors import ArmletError, quote

PANEL = "The robot"
ROBOT = Annotated[
    str | None, typer.Argument(help="A catalogue name or a file.", autocompletion=robots)
]
GENERAL = Annotated[
    str | None,
    typer.Option(help="A general arm with these joints, such as RRPRRR, instead of a robot."),
]


def _of_load(kind: Any, about: str, **more: Any) -> Any:
    option = typer.Option(help=about, rich_help_panel=PANEL, **more)
    return Annotated[kind | None, option]


OPTIONS: dict[str, Any] = {
    "lock": _of_load(
        list[str],
        "Fix a joint at a value (rad or m), such as finger=0.02. Repeatable.",
        metavar="NAME=VALUE",
        autocompletion=joints,
    ),
    "mimic": _of_load(
        str,
        "Joints that mimic others: couple (the default) moves them with the joint they follow, "
        "free lets them move by themselves, lock fixes them.",
        metavar="couple|free|lock",
        autocompletion=completion(*MIMIC),
    ),
    "tool": _of_load(str, "The frame that is the tool.", autocompletion=frames),
    "gravity": _of_load(
        tuple[float, float, float],
        "The acceleration of gravity in base axes, three numbers.",
        metavar="X Y Z",
    ),
    "tolerance": _of_load(float, "Tolerance (rad) for rounding angles to multiples of 90 degrees."),
    "passive": _of_load(
        str,
        "'ignore' leaves out passive forces other than damping and friction: springs, gravity "
        "compensation, fluids, tendons.",
        metavar="read|ignore",
        autocompletion=completion(*PASSIVE),
    ),
    "folders": _of_load(
        list[str],
        "A folder, besides that of the robot's file, to read files from. Repeatable.",
        metavar="FOLDER",
    ),
    "xacro": _of_load(
        list[str],
        "An argument of a .xacro file, such as hand=true. Repeatable.",
        metavar="NAME=VALUE",
    ),
    "order": _of_load(
        str, "The order of joints: file, pinocchio, or their names with commas between them."
    ),
}
"""Argument of `armlet.load` -> command-line option."""
OF_A_FRAME = "of kinematics; by default the tool."
FrameName = Annotated[
    str | None, typer.Option(help=f"The frame {OF_A_FRAME}", autocompletion=frames)
]
FrameNames = Annotated[
    list[str] | None, typer.Option(help=f"A frame {OF_A_FRAME} Repeatable.", autocompletion=frames)
]


class Choice(NamedTuple):
    """The robot that is chosen on the command line, but not loaded yet."""

    robot: str | None
    general: str | None
    options: Mapping[str, Any]
    """Arguments of `armlet.load`."""

    def load(self, frame: str | None = None) -> Robot:
        """Load the robot or build the general arm; a `frame` that is not None becomes the tool."""
        if self.robot is not None and self.general is None:
            arm = load(self.robot, **self.options)
        elif self.general is None or self.robot is not None:
            raise ArmletError("name a robot or give --general RRRRRR, one of the two")
        elif self.options:
            raise ArmletError(
                f"--{next(iter(self.options))} is for a robot: leave it out with --general"
            )
        else:
            arm = general_arm(self.general)
        return arm if frame is None else arm.with_tool(frame)


def _arguments(texts: Sequence[str]) -> dict[str, str]:
    """Parse arguments NAME=VALUE of a xacro file."""
    for text in texts:
        if "=" not in text:
            raise _not_understood("xacro", text, "hand=true")
    return dict(text.split("=", 1) for text in texts)


def _locks(texts: Sequence[str]) -> dict[str, float]:
    values = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            values[name] = float(value if name else "")
        except ValueError:
            raise _not_understood("lock", text, "finger=0.02") from None
    return values


def _not_understood(option: str, text: str, example: str) -> ArmletError:
    return ArmletError(
        f"--{option} {quote(text)} is not understood: expected NAME=VALUE, such as {example}"
    )


PARSERS: dict[str, Callable[[Any], Any]] = {
    "lock": _locks,
    "xacro": _arguments,
    "order": lambda text: text.split(",") if "," in text else text,
}
"""Option -> function that parses its text; other options are passed on as they are."""


def takes_robot(
    default: str | None = None, *, general: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the robot and the options of `armlet.load` to a command.

    The command receives a `Choice` as its first argument. `default` is the robot if the user names
    none. If `general` is true, the user may give the joints of a general arm instead of a robot.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(*, robot: str | None, general: str | None = None, **arguments: Any) -> None:
            values = {name: arguments.pop(name) for name in OPTIONS}
            options = {
                name: PARSERS.get(name, lambda x: x)(value)
                for name, value in values.items()
                if value is not None and value != []
            }
            command(Choice(robot, general, options), **arguments)

        def parameter(name: str, annotation: Any, default: Any = None) -> Parameter:
            return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

        _, *own = signature(command).parameters.values()
        parameters = [
            parameter("robot", ROBOT, default if default or general else Parameter.empty),
            *([parameter("general", GENERAL)] if general else []),
            *(x.replace(kind=Parameter.KEYWORD_ONLY) for x in own),
            *(parameter(name, annotation) for name, annotation in OPTIONS.items()),
        ]
        update_wrapper(run, command, ("__module__", "__name__", "__doc__"))
        run.__annotations__ = {x.name: x.annotation for x in parameters}
        vars(run)["__signature__"] = Signature(parameters)
        return run

    return decorate

"""The robot of a command: its name or file, and the options that are those of `armlet.load`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

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
    str | None, typer.Option(help="Instead of a robot, the general arm, such as RRPRRR.")
]
OPTIONS: dict[str, Any] = {
    "lock": Annotated[
        list[str] | None,
        typer.Option(
            help="Fix a joint at a value (rad or m), such as finger=0.02. Repeatable.",
            metavar="NAME=VALUE",
            autocompletion=joints,
            rich_help_panel=PANEL,
        ),
    ],
    "mimic": Annotated[
        str | None,
        typer.Option(
            help="Joints that mimic others: couple (the default) moves them with the joint they "
            "follow, free lets them move by themselves, lock fixes them.",
            metavar="couple|free|lock",
            autocompletion=completion(*MIMIC),
            rich_help_panel=PANEL,
        ),
    ],
    "tool": Annotated[
        str | None,
        typer.Option(
            help="The frame that is the tool.", autocompletion=frames, rich_help_panel=PANEL
        ),
    ],
    "gravity": Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            help="The acceleration of gravity in base axes, three numbers.",
            metavar="X Y Z",
            rich_help_panel=PANEL,
        ),
    ],
    "tolerance": Annotated[
        float | None,
        typer.Option(
            help="Angles this close to quarter turns (rad) are made exact.", rich_help_panel=PANEL
        ),
    ],
    "passive": Annotated[
        str | None,
        typer.Option(
            help="'ignore' leaves out passive forces other than damping and friction: springs, "
            "gravity compensation, fluids, tendons.",
            metavar="read|ignore",
            autocompletion=completion(*PASSIVE),
            rich_help_panel=PANEL,
        ),
    ],
    "folders": Annotated[
        list[str] | None,
        typer.Option(
            help="A folder that files named by the robot's may be read from, besides its own. "
            "Repeatable.",
            metavar="FOLDER",
            rich_help_panel=PANEL,
        ),
    ],
    "xacro": Annotated[
        list[str] | None,
        typer.Option(
            help="An argument of a .xacro file, such as hand=true. Repeatable.",
            metavar="NAME=VALUE",
            rich_help_panel=PANEL,
        ),
    ],
    "order": Annotated[
        str | None,
        typer.Option(
            help="The order of joints: file, pinocchio, or their names with commas between them.",
            rich_help_panel=PANEL,
        ),
    ],
}
OF_A_FRAME = "of kinematics; by default the tool."
FrameName = Annotated[
    str | None, typer.Option(help=f"The frame {OF_A_FRAME}", autocompletion=frames)
]
FrameNames = Annotated[
    list[str] | None,
    typer.Option(help=f"A frame {OF_A_FRAME} Repeatable.", autocompletion=frames),
]


@dataclass(frozen=True)
class Choice:
    """The robot that was chosen on the command line, to be loaded by `load`."""

    robot: str | None
    general: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those of `armlet.load` that were given."""

    def load(self, frame: str | None = None) -> Robot:
        """The robot by name or file, or the general arm; a frame that is given is its tool."""
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


def _order(text: str) -> str | list[str]:
    """The order of joints: its name, or the names of joints."""
    return text.split(",") if "," in text else text


def _arguments(texts: Sequence[str]) -> dict[str, str]:
    """The arguments of a xacro file."""
    pairs = [text.partition("=") for text in texts]
    for name, equals, value in pairs:
        if not equals:
            raise ArmletError(
                f"--xacro {quote(name + value)} is not understood: expected NAME=VALUE, such as "
                "hand=true"
            )
    return {name: value for name, _, value in pairs}


def _locks(texts: Sequence[str]) -> dict[str, float]:
    """The values of joints to lock, by their names."""
    values: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            values[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise ArmletError(
                f"--lock {quote(text)} is not understood: expected NAME=VALUE, such as finger=0.02"
            )
    return values


PARSERS: dict[str, Callable[[Any], Any]] = {"lock": _locks, "xacro": _arguments, "order": _order}
"""How the texts of some options are read."""


def takes_robot(
    default: str | None = None, *, general: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command whose first argument is a `Choice`: add the options of `armlet.load`.

    Without a default the robot must be named, unless the general arm is another choice.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(*, robot: str | None, general: str | None = None, **arguments: Any) -> None:
            given = {name: arguments.pop(name) for name in OPTIONS}
            options = {
                name: PARSERS[name](value) if name in PARSERS else value
                for name, value in given.items()
                if value is not None and value != []
            }
            command(Choice(robot, general, options), **arguments)

        _, *own = signature(command).parameters.values()
        robot = Parameter.empty if default is None and not general else default
        parameters = [
            Parameter("robot", Parameter.KEYWORD_ONLY, default=robot, annotation=ROBOT),
            *([_option("general", GENERAL)] if general else []),
            *(parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own),
            *(_option(name, annotation) for name, annotation in OPTIONS.items()),
        ]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__module__ = command.__module__
        run.__annotations__ = {x.name: x.annotation for x in parameters}
        vars(run)["__signature__"] = Signature(parameters)
        return run

    return decorate


def _option(name: str, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)

"""What the shell completes: robots, quantities, formulations, joints and frames."""

import warnings
from collections.abc import Callable, Iterable
from glob import escape, glob
from os.path import isdir

import typer

from armlet.api import load
from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.errors import ArmletError
from armlet.formats import ENDINGS, catalogue
from armlet.robot import RobotModel


def one_of(*names: str) -> Callable[[str], list[str]]:
    """A completion by these names."""

    def complete(incomplete: str) -> list[str]:
        return _matching(names, incomplete)

    return complete


quantities = one_of(*QUANTITIES)


def functions(incomplete: str) -> list[str]:
    """Quantities, and after a colon the formulations of one."""
    quantity, colon, _ = incomplete.partition(":")
    if not colon:
        return quantities(incomplete)
    return _matching((f"{quantity}:{x}" for x in FORMULATIONS.get(quantity, ())), incomplete)


def robots(incomplete: str) -> list[str]:
    """The catalogue, the files that can be loaded, and folders."""
    paths = (f"{x}/" if isdir(x) else x for x in sorted(glob(f"{escape(incomplete)}*")))
    files = [path for path in paths if path.endswith((*ENDINGS, "/"))]
    return [*_matching(catalogue(), incomplete), *files]


def frames(context: typer.Context, incomplete: str) -> list[str]:
    """The frames of the robot named before."""
    robot = _robot(context)
    return [] if robot is None else _matching(robot.frames, incomplete)


def joints(context: typer.Context, incomplete: str) -> list[str]:
    """The joints of the robot named before, for a value to be added."""
    robot = _robot(context)
    names = [] if robot is None else [f"{joint.name}=" for joint in robot.joints]
    return _matching(names, incomplete)


def _robot(context: typer.Context) -> RobotModel | None:
    """The robot on the command line, if it can be loaded."""
    # While the value of an option is missing, click leaves the arguments where they are.
    name = context.params.get("robot") or next(iter(context.args), None)
    try:
        with warnings.catch_warnings(action="ignore"):
            return None if name is None else load(name, mimic="free")
    except ArmletError:
        return None


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]

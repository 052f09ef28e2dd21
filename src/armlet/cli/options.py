"""Options that several commands share: their types, checks and shell completion."""

import warnings
from collections.abc import Callable, Iterable
from glob import escape, glob
from os.path import isdir
from pathlib import Path
from typing import Annotated, Any

import typer

from armlet import plotting
from armlet._support import validation
from armlet._support.files import check_writable
from armlet.api import load
from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.errors import ArmletError, DataError, quote
from armlet.formats.loading import ENDINGS, catalogue
from armlet.robot import RobotModel

TABLES = (".npz", ".csv", ".parquet")
"""Endings of files that a trajectory can be written to."""


def _check_figure(path: Path | None) -> Path | None:
    """Check, before the command computes anything, that a figure can be saved as `path`."""
    if path is not None:
        plotting.check(path)
    return path


def _check_table(path: Path | None) -> Path | None:
    if path is not None:
        validation.suffix(path, f"--out {path.name}", TABLES)
        check_writable(path)
    return path


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Plot = Annotated[
    Path | None,
    typer.Option(
        help=f"Write a figure: {', '.join(plotting.ENDINGS)}; needs the extra plot.",
        metavar="FILE",
        callback=_check_figure,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help=f"Write the trajectory as {', '.join(TABLES)}.", callback=_check_table
    ),
]
Rotors = Annotated[bool, typer.Option(help="Whether rotor inertias are identified.")]
WithFriction = Annotated[bool, typer.Option(help="Whether friction is identified.")]


def write(result: plotting.Plottable, out: Path | None, plot: Path | None) -> list[str]:
    """Write a trajectory as the table `out` and the figure `plot`, if given; return the paths."""
    if out is not None:
        getattr(result, f"to_{out.suffix[1:]}")(out)
    if plot is not None:
        plotting.save(result.plot(), plot)
    return [str(path) for path in (out, plot) if path is not None]


def numbers(name: str, text: str, *counts: int) -> list[float]:
    """Parse the comma-separated numbers of option `name`; refuse other counts than `counts`."""
    try:
        values = [float(x) for x in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in counts:
        expected = " or ".join(map(str, sorted(set(counts))))
        raise DataError(f"{name} is {quote(text)}: expected {expected} numbers with commas between")
    return values


def name_option(what: str, names: Iterable[str]) -> Any:
    """Return a typer option whose help and shell completion list `names`."""
    listed = [*names]
    return typer.Option(help=f"{what}: {', '.join(listed)}.", autocompletion=completion(*listed))


# ------------------------------------------------------------------ completion


def completion(*names: str) -> Callable[[str], list[str]]:
    """Return a function that lists the `names` that start with the text typed so far."""

    def complete(incomplete: str) -> list[str]:
        return _matching(names, incomplete)

    return complete


quantities = completion(*QUANTITIES)


def functions(incomplete: str) -> list[str]:
    """Complete the name of a quantity or, after a colon, of one of its formulations."""
    quantity, colon, _ = incomplete.partition(":")
    if not colon:
        return quantities(incomplete)
    return _matching((f"{quantity}:{x}" for x in FORMULATIONS.get(quantity, ())), incomplete)


def robots(incomplete: str) -> list[str]:
    """Complete the name of a robot in the catalogue, of a robot file, or of a folder."""
    paths = (f"{x}/" if isdir(x) else x for x in sorted(glob(f"{escape(incomplete)}*")))
    files = [path for path in paths if path.endswith((*ENDINGS, "/"))]
    return [*_matching(catalogue(), incomplete), *files]


def frames(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a frame of the robot that the command line names."""
    robot = _robot(context)
    return [] if robot is None else _matching(robot.frames, incomplete)


def joints(context: typer.Context, incomplete: str) -> list[str]:
    """Complete "JOINT=" with the name of a joint of the robot that the command line names."""
    robot = _robot(context)
    names = [] if robot is None else [f"{joint.name}=" for joint in robot.joints]
    return _matching(names, incomplete)


def _robot(context: typer.Context) -> RobotModel | None:
    """Load the robot that the command line names; return None if it cannot be loaded."""
    # If the value of the last option is missing, click leaves the arguments in `context.args`.
    name = context.params.get("robot") or next(iter(context.args), None)
    try:
        with warnings.catch_warnings(action="ignore"):
            return None if name is None else load(name, mimic="free")
    except ArmletError:
        return None


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]

"""The command line: one file a command."""

import sys
import warnings
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.console import Console

from armlet.cli.bench import bench
from armlet.cli.compare import compare
from armlet.cli.count import count
from armlet.cli.demo import demo
from armlet.cli.generate import generate
from armlet.cli.info import info
from armlet.cli.minimal import minimal
from armlet.cli.robots import robots
from armlet.errors import ArmletError

app = typer.Typer(
    name="armlet",
    help="The dynamics of robot arms, computed with the fewest operations.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
for command in (demo, robots, info, count, compare, generate, minimal, bench):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        print(f"armlet {version('armlet')}")
        raise typer.Exit


@app.callback()
def armlet(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The dynamics of robot arms, computed with the fewest operations."""


def main() -> None:
    """Run a command; bad input is one clear line and exit code 1."""
    stderr = Console(stderr=True, soft_wrap=True)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        stderr.print("[yellow]warning:[/]", end=" ")
        stderr.print(str(message), highlight=False, markup=False)

    warnings.showwarning = show
    try:
        app()
    except ArmletError as error:
        stderr.print("[red]error:[/]", end=" ")
        stderr.print(str(error), highlight=False, markup=False)
        sys.exit(1)

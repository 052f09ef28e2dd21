"""The command line: each command has a file in `commands` and an entry in `COMMANDS`."""

import io
import os
import sys
import warnings
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from armlet.cli.commands.bench import bench
from armlet.cli.commands.compare import compare
from armlet.cli.commands.count import count
from armlet.cli.commands.demo import demo
from armlet.cli.commands.excite import excite
from armlet.cli.commands.generate import generate
from armlet.cli.commands.identify import identify
from armlet.cli.commands.info import info
from armlet.cli.commands.minimal import minimal
from armlet.cli.commands.robots import robots
from armlet.cli.commands.simulate import simulate
from armlet.cli.commands.view import view
from armlet.cli.output import Terminal, styled_text
from armlet.errors import ArmletError

app = typer.Typer(
    name="armlet",
    help="The dynamics of robot arms, computed with the fewest operations.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
COMMANDS = (
    demo,
    robots,
    info,
    count,
    compare,
    generate,
    minimal,
    simulate,
    excite,
    identify,
    view,
    bench,
)
"""All commands, in the order in which `armlet --help` lists them."""
for command in COMMANDS:
    app.command()(command)


def _version(is_set: bool) -> None:
    if is_set:
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
    """Run the command line; if it fails, print the error and exit with code 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spell")
    warnings.showwarning = lambda message, *_, **__: _report("warning:", "yellow", str(message))
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except ArmletError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader has closed the pipe
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        _fail(f"the output cannot be written: {error.strerror}")


def _report(word: str, style: str, message: str) -> None:
    """Print `word` in `style`, then `message`, on stderr; do nothing if stderr is closed."""
    first, *rest = message.split("\n")
    with suppress(OSError):
        Terminal(stderr=True).print(styled_text((word, style), f" {first}"))
        for line in rest:
            Terminal(stderr=True).print(line)


def _fail(message: str) -> NoReturn:
    _report("error:", "red", message)
    sys.exit(1)


def _drop_output() -> None:
    """Redirect stdout to the null device, since Python's flush at exit would fail again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

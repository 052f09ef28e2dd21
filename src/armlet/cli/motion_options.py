"""Options of the commands that make motions or take them: numbers, names, files to write."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer

from armlet._support.files import check_writable
from armlet.cli.completion import one_of
from armlet.errors import DataError, quoted
from armlet.plotting import Figure, save

ENDINGS = (".npz", ".csv", ".parquet")
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help=f"Write the motion as {', '.join(ENDINGS)}.")
]

Rotors = Annotated[bool, typer.Option(help="Whether rotor inertias are identified.")]
WithFriction = Annotated[bool, typer.Option(help="Whether friction is identified.")]
Name = TypeVar("Name", bound=str)


class Motion(Protocol):
    """What can be written as files and pages."""

    def plot(self) -> Figure:
        """It as a figure."""


def check_out(out: Path | None) -> None:
    """Raise, before anything is computed, if a motion cannot be written as such a file."""
    if out is None:
        return
    if out.suffix not in ENDINGS:
        raise DataError(
            f"--out {out.name} ends in {quoted(out.suffix)}: expected {', '.join(ENDINGS)}"
        )
    check_writable(out)


def write(motion: Motion, out: Path | None, plot: Path | None) -> list[str]:
    """Write a motion as a file and as a page, where asked for, and return their names."""
    if out is not None:
        getattr(motion, f"to_{out.suffix[1:]}")(out)
    if plot is not None:
        save(motion.plot(), plot)
    return [str(path) for path in (out, plot) if path is not None]


def numbers(name: str, text: str, *counts: int) -> list[float]:
    """The numbers of an option, of which there must be so many."""
    try:
        found = [float(x) for x in text.split(",")]
    except ValueError:
        found = []
    if len(found) not in counts:
        expected = " or ".join(map(str, sorted(set(counts))))
        raise DataError(
            f"{name} is {quoted(text)}: expected {expected} numbers with commas between"
        )
    return found


def name_among(what: str, names: Iterable[str]) -> Any:
    """An option that is one of some names, which the shell completes; `chosen` reads it."""
    known = [*names]
    return typer.Option(help=f"{what}: {', '.join(known)}.", autocompletion=one_of(*known))


def chosen(option: str, text: str, names: Iterable[Name]) -> Name:
    """The name that an option has, if it is one of those known."""
    known = [*names]
    for name in known:
        if name == text:
            return name
    raise DataError(f"{option} is {quoted(text)}: expected {', '.join(known)}")

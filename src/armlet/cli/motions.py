"""Options of the commands that make motions: numbers in a row, files and pages to write."""

from pathlib import Path
from typing import Annotated, Protocol

import typer

from armlet.errors import DataError, quoted
from armlet.motion.trajectory import Figure

ENDINGS = (".npz", ".csv", ".parquet")
Out = Annotated[Path | None, typer.Option(help=f"Write the motion as {', '.join(ENDINGS)}.")]
Plot = Annotated[Path | None, typer.Option(help="Write a page with plots; needs plotly.")]


class Motion(Protocol):
    """What can be written as files and pages."""

    def plot(self) -> Figure:
        """It as a figure."""


def check_ending(out: Path | None) -> None:
    """Raise, before anything is computed, if a motion cannot be written as such a file."""
    if out is not None and out.suffix not in ENDINGS:
        raise DataError(
            f"--out {out.name} ends in {quoted(out.suffix)}: expected {', '.join(ENDINGS)}"
        )


def write(motion: Motion, out: Path | None, plot: Path | None) -> list[str]:
    """Write a motion as a file and as a page, where asked for, and return their names."""
    if out is not None:
        getattr(motion, f"to_{out.suffix[1:]}")(out)
    if plot is not None:
        motion.plot().write_html(plot)
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

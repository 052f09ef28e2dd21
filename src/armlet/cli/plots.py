"""The option of commands that have something to look at: a figure, saved as a file."""

from pathlib import Path
from typing import Annotated

import typer

from armlet.plotting import ENDINGS, check


def _checked(path: Path | None) -> Path | None:
    """The file, if a figure can be saved there: commands read it before they do anything."""
    if path is not None:
        check(path)
    return path


Plot = Annotated[
    Path | None,
    typer.Option(
        help=f"Write a figure: {', '.join(ENDINGS)}; needs the extra plot.",
        metavar="FILE", callback=_checked,
    ),
]  # fmt: skip

"""Figures of the examples, in the look of `Trajectory.plot`, and what runs an example.

They need plotly; writing them as SVG files also needs kaleido, and Chrome or Chromium.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.errors import ArmletError
from armlet.plotting import COLOURS, graph_objects, panels, save

Array = NDArray[np.float64]
Figure = Any
"""A figure of Plotly's, which has no types."""
WIDTH, HEIGHT = 760, 230
"""Of a figure and of a row of panels, in pixels."""


class Curve(NamedTuple):
    """A line over x, or marks joined by one."""

    name: str
    x: Array
    y: Array
    colour: str
    dash: str = "solid"
    mode: str = "lines"


class Panel(NamedTuple):
    """Curves on one pair of axes; more than one have a legend beside them."""

    y_title: str
    curves: Sequence[Curve]
    title: str = ""


def joints(t: Array, values: Array, names: Iterable[str]) -> list[Curve]:
    """The columns of an array over time, each in the colour of its joint."""
    return [
        Curve(name, t, column, COLOURS[i % len(COLOURS)])
        for i, (name, column) in enumerate(zip(names, values.T, strict=True))
    ]


def figure(
    shown: Sequence[Panel], x_title: str = "time (s)", columns: int = 1, log: bool = False
) -> Figure:
    """The panels row by row, over the same x."""
    graphs, rows = graph_objects(), -(-len(shown) // columns)
    titles = [panel.title for panel in shown]
    height = max(HEIGHT * rows, 360)
    found = panels(
        rows,
        columns,
        height=height,
        subplot_titles=titles if any(titles) else None,
        vertical_spacing=70 / height if rows > 1 else 0,
        horizontal_spacing=0.13,
    )
    legends: dict[str, Any] = {}
    for k, panel in enumerate(shown):
        row, column = divmod(k, columns)
        legend = f"legend{k + 1}" if k else "legend"
        for curve in panel.curves:
            style = {"color": curve.colour, "dash": curve.dash, "simplify": False}
            found.add_trace(
                graphs.Scatter(
                    x=curve.x,
                    y=curve.y,
                    name=curve.name,
                    mode=curve.mode,
                    line=style,
                    legend=legend,
                    showlegend=len(panel.curves) > 1,
                ),
                row + 1,
                column + 1,
            )
        axis = found.get_subplot(row + 1, column + 1).yaxis
        axis.title = panel.y_title
        legends[legend] = {"x": 1.02, "y": axis.domain[1], "yanchor": "top"}
    found.update_xaxes(title_text=x_title, row=rows)
    if log:
        found.update_xaxes(type="log", dtick=1, exponentformat="power")
        found.update_yaxes(type="log", dtick=2, exponentformat="power")
    return found.update_layout(width=WIDTH, **legends)


def numbers_text(values: Array) -> str:
    """Numbers with four decimals, without the sign of a zero."""
    return ", ".join(f"{x:.4f}" for x in values.round(4) + 0.0)


def run(
    about: str | None,
    numbers: Callable[..., Iterable[str]],
    figures: Callable[..., Mapping[str, Figure]],
    data: str | None = None,
) -> None:
    """The command line of an example: print its numbers, and write its figures where told to.

    Both functions take the folder of the data that an example needs, if `data` says what that is.
    """
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the figures there")
    if data is not None:
        parser.add_argument("data", type=Path, metavar="DATA", help=data)
    chosen = parser.parse_args()
    given: list[Path] = [] if data is None else [chosen.data]
    out: Path | None = chosen.out
    for line in numbers(*given):
        print(line)
    if out is not None:
        try:
            _write(figures(*given), out)
        except ArmletError as error:
            raise SystemExit(str(error)) from None


def _write(figures: Mapping[str, Figure], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in figures.items():
        save(found.update_layout(width=WIDTH), folder / f"{name}.svg")
        print(f"wrote {folder / name}.svg")

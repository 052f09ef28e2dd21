"""Light and dark themes of all figures, and functions that save figures.

Figures are drawn in the colours of the light theme. `DARK` maps each of these colours to a colour
of the dark theme. Python recolours pictures; a script in the browser recolours pages.
"""

import json
import re
from html import escape, unescape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal, Protocol

from armlet._support.files import check_writable, expand_user, unwritable, write, write_bytes
from armlet._support.optional import require
from armlet.errors import ArmletError, DataError, quote, visible

Theme = Literal["light", "dark"]
PAGE, *PICTURES = ENDINGS = (".html", ".png", ".svg")
"""File endings of saved figures."""
WIDTH, SCALE = 900, 2
"""Default width of pictures in pixels, and pixel ratio of .png pictures."""

# fmt: off
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#4a1870", "#4d4000")
"""Colours of curves that colour-blind people can distinguish (after Okabe and Ito)."""
INK, FAINT, GRID, PAPER = "#24292f", "#6e7781", "#e4e8ec", "#ffffff"
"""Colours of main text and lines, secondary text and lines, grids and background."""
SHADE = "#b4bcc6"
"""Colour of wide lines, and of areas behind curves."""
DARK = {
    **dict(zip(COLOURS, (
        "#3a9bdc", "#f0a830", "#1fbf8f", "#f0703c", "#f2a7cf", "#a5dcff", "#9466ff", "#f0e442",
    ), strict=True)),
    INK: "#e2e6ea", FAINT: "#98a2ad", GRID: "#343b43", PAPER: "#16191d", SHADE: "#59626d",
}
"""Colour of the light theme -> colour of the dark theme."""
# fmt: on
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
TOP_LEFT = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "top"}
COLOUR = re.compile("#[0-9a-f]{6}")


class Figure(Protocol):
    """Protocol with the most used methods of Plotly figures."""

    def show(self) -> object:
        """Open the figure in a browser or a notebook."""

    def write_html(self, file: str | Path) -> object:
        """Write the figure as an HTML page."""

    def to_html(self, *, full_html: bool, include_plotlyjs: bool | str) -> str:
        """Return the figure as HTML: a page or a section of a page."""

    def to_json(self) -> str:
        """Return the figure as JSON."""


class Plottable:
    """Base class of results that notebooks show as a plot, or as text if Plotly is missing."""

    def plot(self) -> Figure:
        """Return a Plotly figure of the object."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        try:
            return self.plot().to_html(full_html=False, include_plotlyjs="cdn")
        except ArmletError:
            return f"<pre>{self!r}</pre>"


def graph_objects() -> Any:
    """Import and return `plotly.graph_objects`, Plotly's module of curves, bars and surfaces."""
    return require("plotly.graph_objects")


def panels(
    rows: int = 1, columns: int = 1, *, height: int, title: str | None = None, **options: Any
) -> Any:
    """Return an empty figure with a grid of panels; `options` are passed to `make_subplots`."""
    figure = require("plotly.subplots").make_subplots(rows, columns, **options)
    figure.update_layout(template=template(), height=height, title_text=title)
    if title is None:
        figure.update_layout(margin_t=40 if options.get("subplot_titles") else 20)
    return figure


def template() -> dict[str, Any]:
    """Return the light theme as a Plotly template."""
    axis = {
        "gridcolor": GRID,
        "linecolor": FAINT,
        "tickcolor": FAINT,
        "ticks": "outside",
        "ticklen": 4,
        "showline": True,
        "zeroline": False,
        "automargin": True,
        "title": {"standoff": 8},
    }
    solid = {"gridcolor": GRID, "linecolor": FAINT, "backgroundcolor": PAPER, "zeroline": False}
    layout = {
        "colorway": COLOURS,
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "font": {"family": FONT, "size": 12, "color": INK},
        "title": {"font": {"size": 16}, "pad": {"l": 20, "t": 20}, **TOP_LEFT},
        "margin": {"l": 60, "r": 30, "t": 80, "b": 50},
        "xaxis": axis,
        "yaxis": axis,
        "bargap": 0.25,
        "legend": {"bgcolor": "rgba(0,0,0,0)", "tracegroupgap": 0},
        "hoverlabel": {"bgcolor": PAPER, "bordercolor": GRID, "font": {"color": INK}},
        "scene": {"xaxis": solid, "yaxis": solid, "zaxis": solid},
        "annotationdefaults": {"font": {"color": INK, "size": 13}},
    }
    lines = [{"line": {"width": 1.6, "simplify": False}}]
    return {"layout": layout, "data": {"scatter": lines}}


def plain(text: str) -> str:
    """Escape tags and unprintable characters, so that Plotly shows the text literally."""
    return escape(visible(text), quote=False)


def with_theme(figure: Figure, theme: Theme) -> Figure:
    """Return the figure in the colours of `theme`."""
    if theme not in ("light", "dark"):
        raise DataError(f"theme is {quote(str(theme))}: expected light or dark")
    if theme == "light":
        return figure
    text = COLOUR.sub(lambda match: DARK.get(match[0], match[0]), figure.to_json())
    dark: Figure = graph_objects().Figure(json.loads(text), skip_invalid=True)
    return dark


# ------------------------------------------------------------------ files


def check(path: str | Path) -> None:
    """Raise if a figure cannot be saved as `path`; call this before computing the figure."""
    path = expand_user(path)
    if path.suffix not in ENDINGS:
        raise DataError(
            f"{path.name} ends in {quote(path.suffix)}: a figure is saved as {', '.join(ENDINGS)}"
        )
    check_writable(path)
    require("plotly")
    if path.suffix in PICTURES:
        require("kaleido")


def save(figure: Figure, path: str | Path, *, theme: Theme = "light") -> None:
    """Write a figure as a page or a picture, depending on the ending of `path`.

    Parameters
    ----------
    figure : Figure
        A Plotly figure in armlet's colours, such as the result of `Trajectory.plot`.
    path : str or Path
        A page (.html) needs no network, and follows the light or dark setting of the browser.
        Pictures (.png, .svg) need kaleido and a Chrome or Chromium that kaleido can find.
    theme : {"light", "dark"}
        The theme of a picture; pages contain both themes.
    """
    check(path)
    path = expand_user(path)
    if path.suffix == PAGE:
        plotly: Any = figure
        title = plotly.layout.title.text
        write(path, page(unescape(title) if title else path.stem, figure_html(figure)))
    else:
        write_bytes(path, _picture(with_theme(figure, theme), path))


def _picture(figure: Any, path: Path) -> bytes:
    kaleido, kind = require("kaleido"), path.suffix[1:]
    options = {
        "format": kind,
        "width": figure.layout.width or WIDTH,
        "height": figure.layout.height,
        "scale": SCALE if kind == "png" else 1,
    }
    try:
        picture: bytes = kaleido.calc_fig_sync(figure, opts=options)
    except Exception as error:  # raised by kaleido, the browser or their connection
        raise unwritable(
            path,
            f"kaleido draws {kind} files with Chrome or Chromium, which failed "
            f"({type(error).__name__}); install one, name it by BROWSER_PATH, or save .html",
        ) from error
    return picture


def figure_html(figure: Figure) -> str:
    """Return the HTML of a figure, to be passed to `page` in the argument `body`."""
    text = figure.to_json().replace("<", "\\u003c")
    return f'<div class="figure"><script type="application/json">{text}</script></div>\n'


def page(title: str, body: str, style: str = "") -> str:
    """Return the HTML of a page that follows the light or dark setting of the browser.

    The page needs no network. The CSS text `style` may use the variables --ink, --faint, --grid,
    --paper and --shade.
    """
    colours = {"ink": INK, "faint": FAINT, "grid": GRID, "paper": PAPER, "shade": SHADE}
    template = files("armlet").joinpath("plotting.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=escape(title),
        light=" ".join(f"--{name}: {x};" for name, x in colours.items()),
        dark=" ".join(f"--{name}: {DARK[x]};" for name, x in colours.items()),
        font=FONT,
        style=style,
        body=body,
        library=require("plotly.offline").get_plotlyjs(),
        colours=json.dumps(DARK),
    )

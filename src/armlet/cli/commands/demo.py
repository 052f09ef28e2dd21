"""armlet demo"""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, Any

import numpy as np
import typer

from armlet._support.files import check_writable, expand_user, write
from armlet.cli.demo_data import NOISE, PUBLISHED_JOINTS, STATES, Demo, Published, collect
from armlet.cli.options import Json
from armlet.cli.output import Table, Terminal, print_json
from armlet.cli.robot_options import Choice, FrameName, takes_robot
from armlet.cli.timing import ARMLET, LIBRARIES, NUMPY, PINOCCHIO, ROWS
from armlet.errors import ArmletError, visible
from armlet.graph import Count
from armlet.identification.report import torques, verdict
from armlet.plotting import (
    COLOURS,
    FAINT,
    INK,
    SHADE,
    Figure,
    figure_html,
    graph_objects,
    page,
    panels,
)
from armlet.version import __version__

DRAWN = 25
"""Every so many rows of the motion, one is drawn."""
LIBRARY_COLOURS = {ARMLET: COLOURS[0], PINOCCHIO: COLOURS[1], NUMPY: FAINT}
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "star")
COUNTS = ("multiplications", "additions", "deviation")
LEGEND = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
"""A legend below all else, however narrow the page is."""


@takes_robot("puma560")
def demo(
    choice: Choice,
    frame: FrameName = None,
    html: Annotated[
        Path, typer.Option(help="The page that shows it all; needs plotly.", metavar="FILE")
    ] = Path("demo.html"),
    as_json: Json = False,
) -> None:
    """Count the operations of an arm, time them, let the arm move, and identify it from its log.

    Example: armlet demo
    """
    path = expand_user(html)
    check_writable(path)
    results = collect(choice.load(frame))
    try:
        write(path, demo_page(results))
        where = str(path)
    except ArmletError as error:
        where = f"none ({error})"
    if as_json:
        print_json(_data(results, where))
    else:
        _print(results, where)


# ------------------------------------------------------------------ in the terminal


def _print(demo: Demo, where: str) -> None:
    console = Terminal()
    console.print(f"{demo.arm!r}")
    if demo.arm.source:
        console.print(f"numbers from {demo.arm.source}", style="dim")
    below = sum(x.counted.total < x.printed.total for x in demo.published)
    published = (
        f"armlet takes fewer operations than {below} of the {len(demo.published)} counts that are "
        f"published for arms with {PUBLISHED_JOINTS} joints.{demo.symoro}"
    )
    console.show(_operations(demo), _speed(demo), published)
    console.print()
    run, identified = demo.run, demo.identified
    console.print(
        f"{run.t[-1]:g} s of motion with friction and feedback, {len(run) - 1:,} steps: the "
        f"fastest joint reaches {np.abs(run.qd).max():.3g} rad/s or m/s."
    )
    if identified is not None:
        console.print(
            f"From its log with {NOISE:.0%} noise in the torques {len(identified.names)} "
            f"parameters are identified, {demo.near} within three deviations of the true ones. "
            f"{verdict(identified)}"
        )
    console.notes(f"left out: {line}" for line in demo.left_out)
    console.show(f"page: {where}")


def _operations(demo: Demo) -> Table:
    caption = f"compiled code at {STATES} random states, compared with the definition"
    table = Table(["quantity"], COUNTS, title="operations", caption=caption)
    for row in _count_rows(demo):
        table.add_row(*row)
    return table


def _speed(demo: Demo) -> Table:
    caption = f"batches of {ROWS:,} states; NumPy runs the program that armlet prints as Python"
    table = Table(
        ["quantity", ""], _libraries(demo), title="nanoseconds per state", caption=caption
    )
    for row in _time_rows(demo):
        table.add_row(*row)
    return table


def _count_rows(demo: Demo) -> list[list[str]]:
    """Rows of a quantity, its operations, and its deviation from the definition."""
    return [
        [name, str(x.operations.M), str(x.operations.A), _small(x.deviation)]
        for name, x in demo.counted.items()
    ]


def _small(x: float | None) -> str:
    return "" if x is None else f"{x:.0e}" if x else "0"


def _libraries(demo: Demo) -> list[str]:
    return [x for x in LIBRARIES if any(x in times.call for times in demo.times.values())]


def _time_rows(demo: Demo) -> list[list[str]]:
    """Rows of a quantity, call or batch, and the nanoseconds of each library."""
    rows = []
    for way in ("call", "batch"):
        for quantity, times in demo.times.items():
            seconds = getattr(times, way)
            cells = (f"{1e9 * seconds[x]:,.0f}" if x in seconds else "" for x in _libraries(demo))
            rows.append([quantity, way, *cells])
    return rows


def _data(demo: Demo, where: str) -> dict[str, Any]:
    identified = demo.identified
    return {
        "robot": demo.arm.name,
        "states": STATES,
        "quantities": {
            name: {**_counts(x.operations), "deviation": x.deviation}
            for name, x in demo.counted.items()
        },
        "published": [
            {**x._asdict(), "printed": _counts(x.printed), "counted": _counts(x.counted)}
            for x in demo.published
        ],
        "seconds": {
            way: {name: getattr(times, way) for name, times in demo.times.items()}
            for way in ("call", "batch")
        },
        "motion": {"rows": len(demo.run), "ended": demo.run.ended},
        "identification": None
        if identified is None
        else {
            "parameters": len(identified.names),
            "near": demo.near,
            "errors": {name: fit.whole for name, fit in identified.fits.items()},
            "verdict": verdict(identified),
        },
        "left_out": demo.left_out,
        "page": where,
    }


def _counts(count: Count) -> dict[str, int]:
    return {"M": count.M, "A": count.A}


# ------------------------------------------------------------------ the page


def demo_page(demo: Demo) -> str:
    """The HTML of the page, which loads nothing from the network."""
    quantity, times = next(iter(demo.times.items()))
    run = demo.run
    below = sum(x.counted.total < x.printed.total for x in demo.published)
    counts = [[_words(name), *cells] for name, *cells in _count_rows(demo)]
    seconds = [[f"{_words(name)}, {way}", *cells] for name, way, *cells in _time_rows(demo)]
    fields = {
        "name": _text(demo.arm.name),
        "source": _text(demo.arm.source),
        "version": __version__,
        "left_out": "".join(f"<br>Left out: {_text(line)}" for line in demo.left_out),
        "published": len(demo.published),
        "joints": PUBLISHED_JOINTS,
        "below": below,
        "symoro": demo.symoro,
        "published_figure": figure_html(published_figure(demo.published)),
        "operations": _html_table(["this arm", *COUNTS], counts),
        "quantity": _words(quantity),
        "call": f"{1e9 * times.call[ARMLET]:.0f}",
        "call_ratio": f"{times.call[NUMPY] / times.call[ARMLET]:.0f}",
        "batch": f"{1e9 * times.batch[ARMLET]:.0f}",
        "batch_ratio": f"{times.batch[NUMPY] / times.batch[ARMLET]:.0f}",
        "rows": f"{ROWS:,}",
        "speed_figure": figure_html(speed_figure(demo)),
        "times": _html_table(["nanoseconds per state", *_libraries(demo)], seconds),
        "duration": f"{run.t[-1]:g}",
        "steps": f"{len(run) - 1:,}",
        "ended": f" It ended early: {_text(run.ended)}." if run.ended else "",
        "motion_figure": figure_html(run[::DRAWN].plot()),
        "identification": _identification_html(demo),
    }
    body = Template(_file("demo.html")).substitute(fields)
    return page(f"armlet: {visible(demo.arm.name)}", body, _file("demo.css"))


def _file(name: str) -> str:
    return files("armlet.cli.commands").joinpath(name).read_text(encoding="utf-8")


def _text(words: str) -> str:
    """Words for HTML, without unprintable characters."""
    return escape(visible(words))


def _words(quantity: str) -> str:
    """The name of a quantity as words."""
    return quantity.replace("_", " ")


def _html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["".join(f"<th>{_text(x)}</th>" for x in head)]
    lines += ["".join(f"<td>{_text(x)}</td>" for x in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f'<div class="wide"><table>{body}</table></div>'


def _identification_html(demo: Demo) -> str:
    result = demo.identified
    if result is None:
        return "<p>This was left out: the last lines of the page say why.</p>"
    return (
        f"<p>From this motion with {NOISE:.0%} noise in the torques, {len(result.names)} "
        f"parameters of the arm are identified; {demo.near} are within three deviations of the "
        f"true ones.</p>\n{figure_html(parameter_figure(demo))}"
        f"{figure_html(torques(result, height=125))}"
        '<p class="small">Data that were held out are shaded.</p>\n'
        f'<p class="small">{_text(verdict(result))}</p>'
    )


# ------------------------------------------------------------------ figures


def published_figure(rows: Sequence[Published]) -> Figure:
    """A figure of armlet's operations over those printed, one mark for each total."""
    graphs = graph_objects()
    figure = panels(height=400)
    sizes = [x.total for row in rows for x in (row.printed, row.counted)]
    ends = [min(sizes) / 1.3, max(sizes) * 1.3]
    line = {"color": FAINT, "width": 1.2}
    figure.add_trace(
        graphs.Scatter(
            x=ends, y=ends, mode="lines", line=line, name="as many as printed", hoverinfo="skip"
        )
    )
    for k, quantity in enumerate(dict.fromkeys(row.quantity for row in rows)):
        own = [row for row in rows if row.quantity == quantity]
        figure.add_trace(
            graphs.Scatter(
                x=[row.printed.total for row in own],
                y=[row.counted.total for row in own],
                mode="markers",
                name=_words(quantity),
                marker={"color": COLOURS[k % len(COLOURS)], "size": 8, "symbol": MARKS[k % 6]},
                hovertext=[f"{row.method}, {row.work}" for row in own],
                hovertemplate="%{hovertext}<br>printed %{x}, armlet %{y}<extra></extra>",
            )
        )
    ticks = {"type": "log", "tickvals": [300, 1000, 3000, 10000, 30000, 100000]}
    logs = [float(np.log10(x)) for x in ends]
    figure.update_xaxes(title_text="operations printed in the literature", range=logs, **ticks)
    low = [min(x.counted.total for x in rows), max(x.counted.total for x in rows)]
    span = [float(np.log10(low[0] / 1.3)), float(np.log10(low[1] * 1.3))]
    figure.update_yaxes(title_text="operations of armlet", range=span, **ticks)
    result: Figure = figure.update_layout(legend=LEGEND)
    return result


def speed_figure(demo: Demo) -> Figure:
    """A figure of the times of one call and of batches, beside other libraries."""
    titles = ["one call", f"batch of {ROWS:,}"]
    figure = panels(2, 1, height=500, subplot_titles=titles, vertical_spacing=0.2)
    names = [name.replace("_", "<br>") for name in demo.times]
    for row, way in enumerate(("call", "batch"), 1):
        seconds: list[dict[str, float]] = [getattr(times, way) for times in demo.times.values()]
        most = max(x for each in seconds for x in each.values())
        for library, colour in LIBRARY_COLOURS.items():
            values = [1e9 * each[library] if library in each else None for each in seconds]
            if any(values):
                figure.add_trace(_bars(library, colour, names, values, row == 1), row, 1)
        span = [0.6, np.log10(1e9 * most) + 0.75]
        figure.update_xaxes(type="log", range=span, dtick=1, tickangle=0, row=row, col=1)
    figure.update_xaxes(title_text="nanoseconds per state", row=2, col=1)
    figure.update_yaxes(autorange="reversed", ticks="")
    result: Figure = figure.update_layout(bargap=0.25, legend=LEGEND)
    return result


def _bars(
    library: str, colour: str, names: list[str], values: list[float | None], listed: bool
) -> Any:
    """The times of a library as bars with numbers beside them."""
    return graph_objects().Bar(
        y=names,
        x=values,
        orientation="h",
        name=library,
        legendgroup=library,
        showlegend=listed,
        marker={"color": colour, "line_width": 0},
        text=[None if x is None else f"{x:,.0f}" for x in values],
        textposition="outside",
        textfont={"color": INK},
        cliponaxis=False,
        hovertemplate=library + ": %{x:.0f} ns<extra></extra>",
    )


def parameter_figure(demo: Demo) -> Figure:
    """A figure of the errors of the identified parameters, in standard deviations."""
    identified, errors = demo.identified, demo.errors
    assert identified is not None
    assert errors is not None
    figure = panels(height=230)
    about = [
        f"{_text(name)}: {x:.4g}, deviation {s:.2g}"
        for name, x, s in zip(
            identified.names, identified.values, identified.deviations, strict=True
        )
    ]
    figure.add_trace(
        graph_objects().Scatter(
            x=np.arange(1, len(errors) + 1),
            y=np.clip(errors, -6, 6),
            mode="markers",
            marker={"color": COLOURS[0], "size": 7},
            hovertext=about,
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    )
    figure.add_hrect(y0=-3, y1=3, fillcolor=SHADE, opacity=0.25, line_width=0)
    figure.update_yaxes(title_text="error / deviation", range=[-6, 6], dtick=3)
    figure.update_xaxes(title_text="parameter")
    result: Figure = figure
    return result

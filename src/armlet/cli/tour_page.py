"""The page of `armlet demo`: its numbers as tables and figures, one card for each part."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from armlet.cli import charts
from armlet.cli.tour import JOINTS, NOISE, OPENSYMORO, ROWS, Published, Tour
from armlet.errors import visible
from armlet.identification.report import torques, verdict
from armlet.plotting import COLOURS, FAINT, INK, SHADE, Figure, graph_objects, page, panels, part
from armlet.version import __version__

SHOWN = 25
"""Of the motion each row of so many is drawn."""
LIBRARIES = {**{x: charts.LIBRARIES[x] for x in ("armlet", "Pinocchio")}, "NumPy": FAINT}
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "star")
STYLE = """
body { max-width: 1360px; margin: 0 auto; padding: 1.2em; line-height: 1.45; }
h1 { font-weight: 600; margin: 0.2em 0 0; } h2 { font-weight: 600; margin: 0 0 0.3em; }
p { margin: 0.3em 0 0.8em; } .small { color: var(--faint); font-size: 0.85em; }
.modebar { display: none !important; }
.cards { display: grid; gap: 1.2em;
         grid-template-columns: repeat(auto-fit, minmax(min(100%, 34em), 1fr)); }
.card { border: 1px solid var(--grid); border-radius: 10px; padding: 1.1em 1.3em; min-width: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
td, th { padding: 0.15em 0.6em; text-align: right; border-bottom: 1px solid var(--grid); }
td:first-child, th:first-child { text-align: left; padding-left: 0; } th { font-weight: 600; }
@media (max-width: 500px) {
  body { padding: 0.7em; } .card { padding: 0.8em; }
  table { font-size: 0.8em; } td, th { padding: 0.15em 0.25em; }
}
"""


def tour_page(tour: Tour) -> str:
    """The whole page, which needs no network."""
    cards = {
        "Operations": _operations(tour),
        "Speed": _speed(tour),
        "A motion": _motion(tour),
        "What its log tells": _identification(tour),
    }
    body = "".join(
        f'<section class="card"><h2>{title}</h2>\n{text}</section>\n'
        for title, text in cards.items()
    )
    name, source = _text(tour.arm.name), _text(tour.arm.source)
    left = "".join(f"<br>Left out: {_text(line)}" for line in tour.left_out)
    about = (
        f"<h1>armlet: {name}</h1>\n<p>From a robot arm to the fewest operations that compute its "
        f"dynamics, to machine code, a motion, and back to its parameters.</p>\n"
    )
    end = f'<p class="small">armlet {__version__}; numbers of the arm from {source}.{left}</p>\n'
    title = f"armlet: {visible(tour.arm.name)}"
    return page(title, f'{about}<div class="cards">\n{body}</div>\n{end}', STYLE)


def _text(words: str) -> str:
    """Words for HTML, without unprintable characters."""
    return escape(visible(words))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["".join(f"<th>{_text(x)}</th>" for x in head)]
    lines += ["".join(f"<td>{_text(x)}</td>" for x in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f'<div class="wide"><table>{body}</table></div>\n'


# ------------------------------------------------------------------ operations


def _operations(tour: Tour) -> str:
    below = sum(x.counted.total < x.printed.total for x in tour.published)
    text = (
        f"<p>Of {len(tour.published)} operation counts printed in the literature for arms with "
        f"{JOINTS} joints, {below} are larger than armlet's in the same scope: marks below the "
        f"line.{symoro(tour)}</p>\n"
    )
    rows = [
        (spaced(name), str(x.operations.M), str(x.operations.A), _small(x.deviation))
        for name, x in tour.counted.items()
    ]
    head = ("this arm", "multiplications", "additions", "deviation")
    note = (
        '<p class="small">Deviation: the largest difference from the definition, relative to the '
        "largest entry, at random states.</p>\n"
    )
    return text + part(published_figure(tour.published)) + _table(head, rows) + note


def symoro(tour: Tour) -> str:
    """armlet's inverse dynamics of this arm beside OpenSYMORO's, where that is known."""
    if tour.symbolic is None:
        return ""
    mine, theirs = tour.symbolic, OPENSYMORO[tour.arm.name]
    return (
        " Inverse dynamics of this arm with all parameters symbolic, multiplications + additions: "
        f"armlet {mine.M} + {mine.A}, OpenSYMORO {theirs.M} + {theirs.A}."
    )


def _small(x: float | None) -> str:
    return "" if x is None else f"{x:.0e}" if x else "0"


def spaced(quantity: str) -> str:
    """The name of a quantity as words."""
    return quantity.replace("_", " ")


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
                x=[row.printed.total for row in own], y=[row.counted.total for row in own],
                mode="markers", name=spaced(quantity),
                marker={"color": COLOURS[k % len(COLOURS)], "size": 8, "symbol": MARKS[k % 6]},
                hovertext=[f"{row.method}, {row.work}" for row in own],
                hovertemplate="%{hovertext}<br>printed %{x}, armlet %{y}<extra></extra>",
            )
        )  # fmt: skip
    ticks = {"type": "log", "tickvals": [300, 1000, 3000, 10000, 30000, 100000]}
    logs = [float(np.log10(x)) for x in ends]
    figure.update_xaxes(title_text="operations printed in the literature", range=logs, **ticks)
    low = [min(x.counted.total for x in rows), max(x.counted.total for x in rows)]
    span = [float(np.log10(low[0] / 1.3)), float(np.log10(low[1] * 1.3))]
    figure.update_yaxes(title_text="operations of armlet", range=span, **ticks)
    result: Figure = figure.update_layout(legend=_at_the_end())
    return result


def _at_the_end() -> dict[str, object]:
    """A legend below all else, however narrow the page is."""
    return {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}


# ------------------------------------------------------------------ times


def _speed(tour: Tour) -> str:
    name = next(iter(tour.calls))
    call, batch = tour.calls[name], tour.batches[name]
    text = (
        f"<p>One call for {spaced(name)} takes {1e9 * call['armlet']:.0f} ns, the same operations "
        f"in Python {call['NumPy'] / call['armlet']:.0f} times as long. In a batch a state takes "
        f"{1e9 * batch['armlet']:.0f} ns, in NumPy {batch['NumPy'] / batch['armlet']:.0f} times as "
        "long.</p>\n"
    )
    libraries = [x for x in LIBRARIES if x in call]
    rows = []
    for what, times in (("call", tour.calls), ("batch", tour.batches)):
        for quantity, found in times.items():
            cells = [f"{1e9 * found[x]:,.0f}" if x in found else "" for x in libraries]
            rows.append((f"{spaced(quantity)}, {what}", *cells))
    head = ("nanoseconds per state", *libraries)
    note = (
        '<p class="small">Medians of processor time on one core, drives off. A batch has '
        f"{ROWS:,} states. NumPy runs the program that armlet prints as Python, in a batch on "
        "arrays of states.</p>\n"
    )
    return text + part(speed_figure(tour)) + _table(head, rows) + note


def speed_figure(tour: Tour) -> Figure:
    """A figure of the times of one call and of batches, beside other libraries."""
    graphs = graph_objects()
    titles = ["one call", f"batch of {ROWS:,}"]
    figure = panels(2, 1, height=500, subplot_titles=titles, vertical_spacing=0.2)
    for row, times in enumerate((tour.calls, tour.batches), 1):
        names = [name.replace("_", "<br>") for name in times]
        most = max(x for found in times.values() for x in found.values())
        for library, colour in LIBRARIES.items():
            values = [
                1e9 * found[library] if library in found else None for found in times.values()
            ]
            if not any(values):
                continue
            figure.add_trace(
                graphs.Bar(
                    y=names, x=values, orientation="h", name=library, legendgroup=library,
                    showlegend=row == 1, marker={"color": colour, "line_width": 0},
                    text=[None if x is None else f"{x:,.0f}" for x in values],
                    textposition="outside", textfont={"color": INK}, cliponaxis=False,
                    hovertemplate=library + ": %{x:.0f} ns<extra></extra>",
                ),
                row, 1,
            )  # fmt: skip
        span = [0.6, np.log10(1e9 * most) + 0.75]
        figure.update_xaxes(type="log", range=span, dtick=1, tickangle=0, row=row, col=1)
    figure.update_xaxes(title_text="nanoseconds per state", row=2, col=1)
    figure.update_yaxes(autorange="reversed", ticks="")
    result: Figure = figure.update_layout(bargap=0.25, legend=_at_the_end())
    return result


# ------------------------------------------------------------------ the motion and its log


def _motion(tour: Tour) -> str:
    run = tour.run
    ended = f" It ended early: {_text(run.ended)}." if run.ended else ""
    text = (
        f"<p>{run.t[-1]:g} s in {len(run) - 1:,} steps of machine code: each joint follows waves "
        f"within its limits, with friction, under planned torques and feedback.{ended}</p>\n"
    )
    return text + part(run[::SHOWN].plot())


def _identification(tour: Tour) -> str:
    found = tour.found
    if found is None:
        return "<p>This was left out: the last lines of the page say why.</p>\n"
    text = (
        f"<p>From this motion with {NOISE:.0%} noise in the torques, {len(found.names)} parameters "
        f"of the arm are found; {tour.near} are within three deviations of the true ones.</p>\n"
    )
    shaded = '<p class="small">Data that were held out are shaded.</p>\n'
    told = f'<p class="small">{_text(verdict(found))}</p>\n'
    return text + part(parameter_figure(tour)) + part(torques(found, height=125)) + shaded + told


def parameter_figure(tour: Tour) -> Figure:
    """A figure of how far the parameters found are from the true ones, in deviations."""
    found, errors = tour.found, tour.errors
    assert found is not None
    assert errors is not None
    figure = panels(height=230)
    about = [
        f"{_text(name)}: {x:.4g}, deviation {s:.2g}"
        for name, x, s in zip(found.names, found.values, found.deviations, strict=True)
    ]
    figure.add_trace(
        graph_objects().Scatter(
            x=np.arange(1, len(errors) + 1), y=np.clip(errors, -6, 6), mode="markers",
            marker={"color": COLOURS[0], "size": 7}, hovertext=about,
            hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
        )
    )  # fmt: skip
    figure.add_hrect(y0=-3, y1=3, fillcolor=SHADE, opacity=0.25, line_width=0)
    figure.update_yaxes(title_text="error / deviation", range=[-6, 6], dtick=3)
    figure.update_xaxes(title_text="parameter")
    result: Figure = figure
    return result

"""Figures of operation counts, absolute and in percent of published counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armlet.graph import Count
from armlet.literature import Total
from armlet.plotting import COLOURS, INK, SHADE, Figure, graph_objects, panels, plain

BAR, HEAD, FOOT = 22, 56, 70
"""Heights in pixels of a bar, the gap between panels, and the margin below the last panel."""
CUT = 4
"""Bars longer than `CUT` times the shortest bar are cut off."""
WIDTH = 735
"""Width of the bars with their labels, in pixels."""
OPERATIONS = {"multiplications": ("M", COLOURS[0]), "additions": ("A", COLOURS[5])}


@dataclass(frozen=True)
class Bar:
    """A formulation's bar; `beside` is appended to the bar's label, `about` is the hover text."""

    name: str
    count: Count
    beside: str = ""
    about: str = ""


def full_bar(counts: Sequence[Count]) -> int:
    """Return the largest count that a chart shows in full; bars of larger counts are cut off."""
    totals = [count.total for count in counts]
    return max(1, min(max(totals), CUT * min(totals)))


def _stack(heights: Sequence[int], title: str, heads: Sequence[str], top: int = 110) -> Any:
    """Return an empty figure with panels below one another; `heads` are the panels' titles."""
    whole = sum(heights) + HEAD * (len(heights) - 1)
    figure = panels(
        len(heights),
        1,
        height=top + whole + FOOT,
        title=title,
        subplot_titles=heads,
        row_heights=list(heights),
        vertical_spacing=HEAD / whole if len(heights) > 1 else 0,
    )
    legend = {"orientation": "h", "x": 0, "y": 1 + 38 / whole, "yanchor": "bottom"}
    figure.update_layout(margin={"t": top, "b": FOOT}, legend=legend)
    return figure


def operations(title: str, groups: Mapping[str, Sequence[Bar]]) -> Figure:
    """Draw a bar chart of operation counts, with one panel per quantity and short bars first."""
    heights = [BAR * len(bars) + 8 for bars in groups.values()]
    figure = _stack(heights, plain(title), [plain(name) for name in groups])
    for row, group in enumerate(groups.values(), 1):
        bars = sorted(group, key=lambda bar: bar.count.total)
        whole = full_bar([bar.count for bar in bars])
        shares = [min(1, whole / max(1, bar.count.total)) for bar in bars]
        labels = [
            f"{bar.count.M} + {bar.count.A}{bar.beside}{' (cut off)' if share < 1 else ''}"
            for bar, share in zip(bars, shares, strict=True)
        ]
        for name, (key, colour) in OPERATIONS.items():
            counts = [getattr(bar.count, key) for bar in bars]
            trace = graph_objects().Bar(
                y=[plain(bar.name) for bar in bars],
                x=[count * share for count, share in zip(counts, shares, strict=True)],
                text=labels if key == "A" else None,
                textposition="outside",
                textfont={"color": INK},
                cliponaxis=False,
                orientation="h",
                name=name,
                legendgroup=name,
                showlegend=row == 1,
                marker={"color": colour, "line_width": 0},
                customdata=counts,
                hovertext=[plain(bar.about) for bar in bars],
                hovertemplate="%{y}: %{customdata} " + name + "<br>%{hovertext}<extra></extra>",
            )
            figure.add_trace(trace, row, 1)
        room = (6.6 * max(map(len, labels)) + 14) / WIDTH
        figure.update_xaxes(range=[0, whole / (1 - room)], row=row, col=1)
    figure.update_yaxes(autorange="reversed", ticks="")
    figure.update_xaxes(title_text="operations", row=len(groups), col=1)
    result: Figure = figure.update_layout(barmode="stack", bargap=0.3)
    return result


def published(rows: Iterable[tuple[Total, str, int, Count]]) -> Figure:
    """Draw armlet's counts as percentages of published totals.

    Each row is (published total, its conditions as text, number of joints, armlet's count).
    """
    groups: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for total, scope, n, count in rows:
        printed, corrected = total.printed_count(n), total.corrected_count(n)
        also = "" if corrected == printed else f" (corrected {corrected.M} + {corrected.A})"
        label = f"{total.method}{scope}".replace(") (", ", ")
        head = f"{total.quantity}, {total.work.partition(',')[0]}"
        about = (
            f"{total.work}, n = {n}<br>printed {printed.M} + {printed.A}{also}, "
            f"armlet {count.M} + {count.A}"
        )
        share = 100 * count.total / min(printed.total, corrected.total)
        groups.setdefault(head, {}).setdefault(plain(label), []).append((share, about))
    shares = [share for group in groups.values() for place in group.values() for share, _ in place]
    figure = _stack(
        [19 * len(group) for group in groups.values()],
        f"{len(shares)} published operation counts: armlet's is below in "
        f"{sum(share < 100 for share in shares)} of them",
        list(groups),
        top=75,
    )
    graphs = graph_objects()
    thin = {"mode": "lines", "line": {"color": SHADE, "width": 1.5}, "hoverinfo": "skip"}
    for row, group in enumerate(groups.values(), 1):
        places = sorted(group.items(), key=lambda item: -max(item[1])[0])
        for label, place in places:
            ends = graphs.Scatter(x=[min(place)[0], 100], y=[label] * 2, **thin)
            figure.add_trace(ends, row, 1)
        points = [(label, *point) for label, place in places for point in place]
        marks = graphs.Scatter(
            x=[share for _, share, _ in points],
            y=[label for label, _, _ in points],
            mode="markers",
            hovertext=[about for _, _, about in points],
            marker={"color": COLOURS[0], "size": 8},
            hovertemplate="%{y}<br>%{hovertext}<extra></extra>",
        )
        figure.add_trace(marks, row, 1)
        around = [len(group) - 0.4, -0.6]
        figure.update_yaxes(range=around, ticks="", tickfont={"size": 11}, row=row, col=1)
    figure.add_vline(x=100, line={"color": INK, "width": 1.5}, row="all", col=1)
    figure.update_xaxes(range=[0, max(105.0, *(x + 5 for x in shares))], ticksuffix=" %")
    figure.update_xaxes(
        title_text="armlet's M + A in % of those printed, in the same scope; one mark for each n",
        row=len(groups),
        col=1,
    )
    result: Figure = figure.update_layout(width=1100, showlegend=False)
    return result

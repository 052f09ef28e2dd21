"""Figures of operation counts, and of those beside the literature."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armlet.graph import Count
from armlet.literature import Total
from armlet.plotting import COLOURS, INK, SHADE, Figure, graph_objects, panels, plain

BAR, HEAD, FOOT = 22, 56, 70
"""Heights in pixels: of a bar, of what is between two panels, and of what is below the last."""
CUT = 4
"""Bars that are longer than so many of the shortest are cut off."""
OPERATIONS = {"multiplications": ("M", COLOURS[0]), "additions": ("A", COLOURS[5])}


@dataclass(frozen=True)
class Bar:
    """A bar: the operations of a formulation, the text beside it, and the text on hovering."""

    name: str
    count: Count
    beside: str = ""
    about: str = ""


def _stack(heights: Sequence[int], title: str, heads: Sequence[str], top: int = 110) -> Any:
    """An empty figure of panels in one column, of these heights in pixels."""
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
    """A figure of the operations of formulations by quantity, the fewest first."""
    heights = [BAR * len(bars) + 8 for bars in groups.values()]
    figure = _stack(heights, plain(title), [plain(name) for name in groups])
    for row, bars in enumerate(groups.values(), 1):
        _bars(figure, row, sorted(bars, key=lambda bar: bar.count.total))
    figure.update_layout(barmode="stack", bargap=0.3)
    figure.update_xaxes(title_text="operations", row=len(groups), col=1)
    result: Figure = figure
    return result


def _bars(figure: Any, row: int, bars: Sequence[Bar]) -> None:
    graphs = graph_objects()
    whole = max(1, min(CUT * bars[0].count.total, bars[-1].count.total))
    for name, (key, colour) in OPERATIONS.items():
        counts = [getattr(bar.count, key) for bar in bars]
        shares = [min(1, whole / max(1, bar.count.total)) for bar in bars]
        figure.add_trace(
            graphs.Bar(
                y=[plain(bar.name) for bar in bars],
                x=[count * share for count, share in zip(counts, shares, strict=True)],
                text=[_label(bar, whole) for bar in bars] if key == "A" else None,
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
            ),
            row,
            1,
        )
    room = (6.6 * max(len(_label(bar, whole)) for bar in bars) + 14) / 735  # of a figure's width
    figure.update_xaxes(range=[0, whole / (1 - room)], row=row, col=1)
    figure.update_yaxes(autorange="reversed", ticks="", row=row, col=1)


def _label(bar: Bar, whole: int) -> str:
    cut = " (cut off)" if bar.count.total > whole else ""
    beside = f", {bar.beside}" if bar.beside else ""
    return f"{bar.count.M} + {bar.count.A}{beside}{cut}"


def published(rows: Iterable[tuple[Total, str, int, Count]]) -> Figure:
    """A figure of armlet's counts as percentages of published totals.

    A row is a total, its scope as text, a number of joints, and armlet's count.
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
        place = groups.setdefault(head, {}).setdefault(label, [])
        place.append((100 * count.total / min(printed.total, corrected.total), about))
    shares = [share for group in groups.values() for place in group.values() for share, _ in place]
    below = sum(share < 100 for share in shares)
    figure = _stack(
        [19 * len(group) for group in groups.values()],
        f"{len(shares)} published operation counts: armlet's is below in {below} of them",
        list(groups),
        top=75,
    )
    for row, group in enumerate(groups.values(), 1):
        _shares(figure, row, dict(sorted(group.items(), key=lambda item: -max(item[1])[0])))
    figure.add_vline(x=100, line={"color": INK, "width": 1.5}, row="all", col=1)
    right = max(105.0, *(x + 5 for x in shares))
    figure.update_xaxes(range=[0, right], ticksuffix=" %")
    figure.update_layout(width=1100)
    figure.update_xaxes(
        title_text="armlet's M + A in % of those printed, in the same scope; one mark for each n",
        row=len(groups),
        col=1,
    )
    result: Figure = figure
    return result


def _shares(figure: Any, row: int, group: Mapping[str, list[tuple[float, str]]]) -> None:
    graphs = graph_objects()
    points = [(plain(label), *point) for label, place in group.items() for point in place]
    labels, shares, about = zip(*points, strict=True)
    for label, place in group.items():
        ends = {"x": [min(place)[0], 100], "y": [plain(label)] * 2}
        thin = {"color": SHADE, "width": 1.5}
        figure.add_trace(
            graphs.Scatter(**ends, mode="lines", line=thin, showlegend=False, hoverinfo="skip"),
            row,
            1,
        )
    figure.add_trace(
        graphs.Scatter(
            x=shares,
            y=labels,
            mode="markers",
            showlegend=False,
            hovertext=about,
            marker={"color": COLOURS[0], "size": 8},
            hovertemplate="%{y}<br>%{hovertext}<extra></extra>",
        ),
        row,
        1,
    )
    around = [len(group) - 0.4, -0.6]
    figure.update_yaxes(range=around, ticks="", tickfont={"size": 11}, row=row, col=1)

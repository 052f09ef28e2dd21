"""armlet compare"""

import html as markup
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from armlet.api import compile, trace
from armlet.cli.arm import Choice, FrameName, takes_robot
from armlet.cli.completion import quantities
from armlet.cli.deviation import deviation, random_states
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal, progress, styled
from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.dynamics.quantities import PASSIVE
from armlet.errors import ArmletError, ModelError, visible
from armlet.graph import Count
from armlet.models.file import check_writable, shown_path, write
from armlet.robot import RobotModel

ROWS = 4096
REPEATS = 5
CHECKED = 10
WIDTH = 24


@dataclass(frozen=True)
class Run:
    """A formulation on a robot: operations, compiled nanoseconds per state, deviation."""

    name: str
    source: str
    count: Count
    time: float
    deviation: float | None


@takes_robot()
def compare(
    choice: Choice,
    quantity: Annotated[
        str, typer.Option(help="The quantity to compare.", autocompletion=quantities)
    ] = "inverse_dynamics",
    frame: FrameName = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with the chart to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Run every formulation of a quantity on a robot, and the cheapest program, side by side.

    Operations are counted with symbolic inertias, drives off; times are those of the compiled
    kernel on batches, one thread; deviations are from the definition.

    Example: armlet compare puma560 --quantity inertia_matrix
    """
    if quantity not in QUANTITIES:
        raise ArmletError(
            f"no quantity is called {quantity!r}: expected one of {', '.join(QUANTITIES)}"
        )
    if html is not None:
        check_writable(html)
    arm = choice.load(frame)
    runs, refused = [], []
    for name in progress([*FORMULATIONS[quantity], None], "running"):
        try:
            runs.append(_run(arm, quantity, name))
        except ModelError as error:
            refused.append(str(error))
    if not runs:
        raise ArmletError(refused[0])
    runs.sort(key=lambda run: run.count.total)
    if html is not None:
        write(html, _page(arm, quantity, runs, refused))
    if as_json:
        print(json.dumps([_data(run) for run in runs], indent=2))
        return
    console = Terminal()
    console.print(_table(arm, quantity, runs))
    for line in refused:
        console.print(line, style="dim")
    if html is not None:
        console.print(f"wrote {shown_path(html)}", soft_wrap=True)


def _run(arm: RobotModel, quantity: str, name: str | None) -> Run:
    """A formulation as it is written, or the cheapest program found."""
    rigid = arm if quantity in PASSIVE else arm.without_drives()
    counted = trace(rigid, quantity, name, constants={"inertia": "symbolic"}).count()
    kernel = compile(arm, quantity, name)
    states = random_states(arm, quantity, ROWS)
    kernel(*states)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        kernel(*states)
        times.append(time.perf_counter() - start)
    few = [x[:CHECKED] for x in states]
    off = deviation(arm, quantity, few, kernel(*few))
    source = "the search over formulations, frames, units and rules"
    if name is not None:
        source = FORMULATIONS[quantity][name].source
    return Run(name or "cheapest", source, counted, min(times) / ROWS * 1e9, off)


def _scale(runs: list[Run]) -> int:
    """The count of a full bar; counts far above the others are cut off."""
    totals = [run.count.total for run in runs] or [1]
    return max(1, min(max(totals), 4 * min(totals)))


def _table(arm: RobotModel, quantity: str, runs: list[Run]) -> Table:
    table = Table(f"{arm.name}: {quantity}")
    table.words("formulation")
    table.numbers("M", "A", "M+A")
    table.add_column("", no_wrap=True)
    table.numbers("ns per state", "deviation")
    whole = _scale(runs)
    for run in runs:
        bar = "█" * min(WIDTH, max(1, round(WIDTH * run.count.total / whole)))
        bar += "▶" if run.count.total > whole else ""
        table.add_row(
            run.name,
            str(run.count.M),
            str(run.count.A),
            str(run.count.total),
            styled((bar, "cyan")),
            f"{run.time:.1f}",
            _short(run.deviation),
        )
    return table


def _short(deviation: float | None) -> str:
    return "" if deviation is None else f"{deviation:.0e}"


def _data(run: Run) -> dict[str, Any]:
    return {
        "formulation": run.name,
        "source": run.source,
        "M": run.count.M,
        "A": run.count.A,
        "nanoseconds": run.time,
        "deviation": run.deviation,
    }


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1c2733; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; text-align: left; border-bottom: 1px solid #dde3ea; }
.number { text-align: right !important; font-variant-numeric: tabular-nums; }
.bar { height: .9rem; display: flex; overflow: hidden; }
.bar span { display: block; flex: none; } .m { background: #2563a8; } .a { background: #8fbbe4; }
small { color: #5b6b7b; }
"""


def escape(text: str) -> str:
    """The text escaped for HTML, without unprintable characters."""
    return markup.escape(visible(text))


def _page(arm: RobotModel, quantity: str, runs: list[Run], refused: list[str]) -> str:
    """A self-contained HTML page."""
    whole = _scale(runs)
    rows = "".join(
        f"<tr><td><b>{escape(run.name)}</b><br><small>{escape(run.source)}</small></td>"
        f'<td class="number">{run.count.M}</td><td class="number">{run.count.A}</td>'
        f'<td style="width:40%"><div class="bar">'
        f'<span class="m" style="width:{100 * run.count.M / whole:.2f}%"></span>'
        f'<span class="a" style="width:{100 * run.count.A / whole:.2f}%"></span></div></td>'
        f'<td class="number">{run.time:.1f}</td>'
        f'<td class="number">{_short(run.deviation)}</td></tr>'
        for run in runs
    )
    notes = "".join(f"<p><small>{escape(line)}</small></p>" for line in refused)
    title = escape(f"{arm.name}: {quantity}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style><h1>{title}</h1><p>{escape(arm.source)}</p>"
        "<table><tr><th>formulation</th><th class=number>M</th><th class=number>A</th>"
        '<th><span class="m">&emsp;</span> multiplications '
        '<span class="a">&emsp;</span> additions</th>'
        "<th class=number>ns per state</th><th class=number>deviation</th></tr>"
        f"{rows}</table>{notes}"
        "<p><small>Symbolic inertias, drives off, minimal parameters; bars end at four times the "
        "shortest; times of the compiled kernel on batches, one thread; deviations from the "
        "definition.</small></p>"
        "</html>"
    )

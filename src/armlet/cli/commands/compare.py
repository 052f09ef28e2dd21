"""The command `armlet compare`."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from armlet._support.validation import one_of
from armlet.api import compile, trace
from armlet.cli import charts
from armlet.cli.options import Json, Plot, quantities
from armlet.cli.output import Table, Terminal, print_json, progress, styled_text
from armlet.cli.reference_values import by_definition, deviation, random_states
from armlet.cli.robot_options import Choice, FrameName, takes_robot
from armlet.cli.timing import medians
from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.dynamics.quantities import PASSIVE
from armlet.errors import ArmletError, ModelError
from armlet.graph import Count
from armlet.plotting import save
from armlet.robot import RobotModel

ROWS = 4096
ROUNDS = 5
CHECKED = 100
WRONG = 1e-6
"""A larger deviation cannot be a rounding error."""
WIDTH = 24
"""Width of a full bar in the table, in characters."""


@dataclass(frozen=True)
class Run:
    """Measurements of a formulation: operation count, time in ns per state, and deviation."""

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
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Compare all formulations (algorithms) of a quantity for a robot, and the cheapest program.

    Operations are counted with symbolic inertias and without rotor inertias.
    Times are of compiled code on one thread, per state of a batch. The deviation
    is the largest difference from exact results, divided by the largest exact
    entry. Exact results are computed from the definition of the quantity.

    Example: armlet compare puma560 --quantity inertia_matrix --plot bars.html
    """
    one_of(quantity, "quantity", QUANTITIES)
    arm = choice.load(frame)
    runs, refused = [], []
    states = random_states(arm, quantity, ROWS)
    exact = by_definition(arm, quantity, [x[:CHECKED] for x in states])
    for name in progress([*FORMULATIONS[quantity], None], "running"):
        try:
            runs.append(_run(arm, quantity, name, states, exact))
        except ModelError as error:
            refused.append(str(error))
    if not runs:
        raise ArmletError(refused[0])
    runs.sort(key=lambda run: run.count.total)
    if plot is not None:
        bars = [charts.Bar(x.name, x.count, f", {x.time:.1f} ns", x.source) for x in runs]
        title = f"Operations on {arm.name}, and the compiled time per state of a batch"
        save(charts.operations(title, {quantity: bars}), plot)
    if as_json:
        keys = ("formulation", "source", "M", "A", "nanoseconds", "deviation")
        values = [(x.name, x.source, x.count.M, x.count.A, x.time, x.deviation) for x in runs]
        print_json([dict(zip(keys, row, strict=True)) for row in values])
        return
    console = Terminal()
    console.print(_table(arm, quantity, runs))
    console.notes(refused)
    for run in filter(_is_wrong, runs):
        console.print(
            f"{run.name} is off by {_short(run.deviation)} of the largest entry in one of "
            f"{CHECKED} states: take another formulation",
            style="red",
        )
    console.files(plot)


def _run(
    arm: RobotModel, quantity: str, name: str | None, states: list[Any], exact: list[Any] | None
) -> Run:
    """Measure the formulation `name`, or the cheapest program if `name` is None."""
    rigid = arm if quantity in PASSIVE else arm.without_drives()
    operations = trace(rigid, quantity, name, constants={"inertia": "symbolic"}).count()
    kernel = compile(arm, quantity, name)
    off = deviation(exact, kernel(*states))
    seconds = medians({"": (kernel, *states)}, ROUNDS, ROWS)[""]
    source = "the search over formulations, frames, units and rules"
    if name is not None:
        source = FORMULATIONS[quantity][name].source
    return Run(name or "cheapest", source, operations, 1e9 * seconds, off)


def _table(arm: RobotModel, quantity: str, runs: list[Run]) -> Table:
    table = Table(["formulation"], ["M", "A", "M+A"], title=f"{arm.name}: {quantity}")
    table.add_column("", no_wrap=True)
    table.numbers("ns per state", "deviation")
    whole = charts.full_bar([run.count for run in runs])
    for run in runs:
        bar = "█" * min(WIDTH, max(1, round(WIDTH * run.count.total / whole)))
        bar += "▶" if run.count.total > whole else ""
        table.add_row(
            run.name,
            str(run.count.M),
            str(run.count.A),
            str(run.count.total),
            styled_text((bar, "cyan")),
            f"{run.time:.1f}",
            styled_text((_short(run.deviation), "red" if _is_wrong(run) else "")),
        )
    return table


def _is_wrong(run: Run) -> bool:
    return run.deviation is not None and run.deviation > WRONG


def _short(deviation: float | None) -> str:
    return "" if deviation is None else f"{deviation:.0e}"

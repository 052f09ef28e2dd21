"""The command `armlet count`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from armlet._support.validation import one_of
from armlet.api import cheapest, trace
from armlet.cli import charts, options
from armlet.cli.options import Json, Plot
from armlet.cli.output import Table, Terminal, print_json, progress, styled_text
from armlet.cli.robot_options import Choice, FrameName, takes_robot
from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.dynamics.quantities import PASSIVE
from armlet.errors import ArmletError, ModelError, quote
from armlet.graph import Count
from armlet.literature import Total, totals
from armlet.plotting import Figure, save
from armlet.robot import RobotModel
from armlet.search.cheapest import SearchResult

PASSES = {
    "factors": "a b + a c = a (b + c)",
    "cancel": "terms that cancel",
    "constants": "constants combined",
    "angles": "sines of sums of angles",
    "turns": "constants and rotations in another order",
    "squares": "sums and differences of squares",
    "sharing": "terms and factors that occur together",
}
"""Simplification pass -> what the pass does."""
Counts = dict[str, dict[str, tuple[Count, Count]]]
"""Quantity -> formulation -> (operations with all parameters, with minimal parameters)."""
MINIMIZED = ("operations", "multiplications", "additions")
VERDICTS = {"below": "green", "equal": "", "above": "red"}
"""Result of `Total.verdict` -> colour in the table."""


@takes_robot(general=True)
def count(
    choice: Choice,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            help="A quantity to count; all by default. Repeatable.",
            autocompletion=options.quantities,
        ),
    ] = None,
    frame: FrameName = None,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Use the inertias as numbers, not as symbols.")
    ] = False,
    drives: Annotated[
        bool, typer.Option("--drives", help="Keep rotor inertias and friction.")
    ] = False,
    minimize: Annotated[
        str, options.name_option("What the search minimizes", MINIMIZED)
    ] = "operations",
    published: Annotated[
        bool, typer.Option("--published", help="Compare with the totals printed in the literature.")
    ] = False,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Count the operations of each formulation (algorithm), and of the cheapest program found.

    M is the number of multiplications, A is the number of additions.

    The geometry is numeric and the inertias are symbolic, as in published tables.
    Operations that involve only constants are not counted. With --quantity, the
    steps of the search for the cheapest program are also shown.

    Example: armlet count puma560 --quantity inverse_dynamics

    Example: armlet count --published --plot published.html
    """
    if published:
        if choice.robot or choice.general:
            raise ArmletError("--published counts the arms of the literature: name no robot")
        show_published(quantity, as_json, plot)
        return
    arm = choice.load(frame)
    rigid = arm if drives else arm.without_drives()
    constants = {} if numbers else {"inertia": "symbolic"}
    for name in quantity or ():
        one_of(name, "quantity", QUANTITIES)
    names = quantity or [name for name in QUANTITIES if drives or name not in PASSIVE]
    pairs = [(name, entry) for name in names for entry in (*FORMULATIONS[name], None)]
    counts: Counts = {name: {} for name in names}
    best: dict[str, SearchResult] = {}
    for name, entry in progress(pairs, "counting"):
        robot = arm if name in PASSIVE else rigid
        try:
            if entry is None:
                best[name] = cheapest(robot, name, constants=constants, minimize=minimize)
                continue
            every, fewest = (
                trace(robot, name, entry, constants=constants, minimal=minimal).count()
                for minimal in (False, True)
            )
        except ModelError:  # the formulation does not hold for this robot
            continue
        counts[name][entry] = every, fewest
    title = f"{arm.name}: {'numbers' if numbers else 'symbolic inertia'}"
    for name in quantity or ():
        if name not in best:
            raise ArmletError(f"no formulation of {name} holds for robot {quote(arm.name)}")
    if plot is not None:
        save(_chart(title, counts, best), plot)
    if as_json:
        print_json(_data(counts, best))
        return
    steps = [_steps(name, arm, best[name]) for name in quantity or ()]
    console = Terminal()
    console.print(_table(title, counts, best))
    console.show(*steps, None if plot is None else f"written: {plot}")


def _table(title: str, counts: Counts, best: dict[str, SearchResult]) -> Table:
    table = Table(["quantity", "formulation"], ["all", "M+A", "minimal", "M+A"], title=title)
    for name, result in best.items():
        for entry, (every, fewest) in counts[name].items():
            same = every == fewest and not QUANTITIES[name].minimal
            cells = ("", "") if same else (_short(fewest), str(fewest.total))
            table.add_row(name, entry, _short(every), str(every.total), *cells)
        count = result.program.count()
        bold = styled_text(("cheapest", "bold"))
        table.add_row(name, bold, "", "", _short(count), str(count.total))
    return table


def _chart(title: str, counts: Counts, best: dict[str, SearchResult]) -> Figure:
    groups = {}
    for name, result in best.items():
        bars = [charts.Bar("cheapest", result.program.count(), about="the cheapest program")]
        for entry, (_, fewest) in counts[name].items():
            bars.append(charts.Bar(entry, fewest, about=FORMULATIONS[name][entry].source))
        groups[name] = bars
    return charts.operations(f"Operations on {title}, minimal parameters", groups)


def _data(counts: Counts, best: dict[str, SearchResult]) -> list[dict[str, Any]]:
    def operations(count: Count) -> dict[str, int]:
        return {"M": count.M, "A": count.A, **dict(count.functions)}

    rows: list[dict[str, Any]] = [
        {
            "quantity": name,
            "formulation": entry,
            "all": operations(every),
            "minimal": operations(fewest),
        }
        for name, entries in counts.items()
        for entry, (every, fewest) in entries.items()
    ]
    return rows + [
        {
            "quantity": name,
            "formulation": "cheapest",
            "minimal": operations(result.program.count()),
            "steps": [{"step": x.name, "M": x.count.M, "A": x.count.A} for x in result.steps],
        }
        for name, result in best.items()
    ]


def _steps(quantity: str, arm: RobotModel, best: SearchResult) -> Table:
    """Return a table of the search for the cheapest program: the count after each step."""
    table = Table(["step"], ["count", "M+A", "gain"], "what", title=f"the cheapest {quantity}")
    before = None
    for step in best.steps:
        total = step.count.total
        gain = "" if before is None else str(total - before)
        table.add_row(step.name, _short(step.count), str(total), gain, _what(step.name, arm, best))
        before = total
    return table


def _what(step: str, arm: RobotModel, best: SearchResult) -> str:
    if step == "frames":
        joints = ", ".join(arm.joints[i].name for i in best.arrangement.back)
        return f"origins moved back along the axes of {joints}"
    if step == "units":
        return f"lengths in units of {best.arrangement.unit:.6g} m"
    if step == "frames and units":
        return "those by which another formulation gained"
    first = step == best.steps[0].name
    return PASSES.get(step, "as it is written, in canonical frames" if first else "its formulation")


def _short(count: Count) -> str:
    return f"{count.M}M {count.A}A"


# ------------------------------------------------------------------ --published


def show_published(quantities: Sequence[str] | None, as_json: bool, plot: Path | None) -> None:
    """Print published totals and armlet's counts under the same conditions; plot them if asked."""
    for name in quantities or ():
        one_of(name, "quantity", QUANTITIES)
    chosen = [total for total in totals() if not quantities or total.quantity in quantities]
    if plot is not None and not chosen:
        raise ArmletError(f"no published total is of {' or '.join(quantities or ())}")
    rows = [(total, n, total.count(n)) for total in progress(chosen, "counting") for n in total.n]
    if plot is not None:
        save(charts.published((total, _scope(total), n, count) for total, n, count in rows), plot)
    if as_json:
        print_json([_published_data(*row) for row in rows])
        return
    table = Table(text="method")
    table.numbers("n", "printed", "corrected", "armlet", "")
    section, method = Text(), Text()
    notes, verdicts = [], []
    for total, n, count in rows:
        if section != (section := styled_text((total.quantity, "bold"), f": {total.work}")):
            table.add_row(section)
        here = styled_text(
            f"  {total.method}", (_scope(total), "dim"), " ", (total.formulation, "cyan")
        )
        printed, corrected = total.printed_count(n), total.corrected_count(n)
        verdicts.append(total.verdict(n))
        table.add_row(
            "" if method == here else here,
            str(n),
            _short(printed),
            "" if corrected == printed else _short(corrected),
            _short(count),
            styled_text((verdicts[-1], VERDICTS[verdicts[-1]])),
        )
        method = here
        if corrected != printed:
            scope = f"{total.work}, {total.method}{_scope(total)}, n = {n}"
            notes.append(f"corrected: {scope}: {total.note}")
    console = Terminal()
    listed = ", ".join(f"{verdicts.count(word)} {word}" for word in VERDICTS)
    summary = f"{len(rows)} totals: {listed} (by M + A; the smaller of printed and corrected)"
    console.print(table)
    console.show(summary)
    console.notes(notes)
    console.files(plot)


def _scope(total: Total) -> str:
    """Return the conditions of a published total as text in parentheses; "" if there are none."""
    words = [
        f"joint {total.prismatic} prismatic" if total.prismatic else "",
        "quarter turns" if total.twists == "quarter" else "",
        f"{total.starting_from} given" if total.starting_from else "",
        f"beyond {total.beyond.split()[0]}" if total.beyond else "",
        "minimal" if total.minimal else "",
    ]
    listed = ", ".join(filter(None, words))
    return f" ({listed})" if listed else ""


def _published_data(total: Total, n: int, count: Count) -> dict[str, Any]:
    texts = ("quantity", "method", "work", "formulation", "starting_from", "beyond", "note")
    counts = {
        "printed": total.printed_count(n),
        "corrected": total.corrected_count(n),
        "armlet": count,
    }
    return {
        **{name: getattr(total, name) for name in texts},
        **{name: {"M": x.M, "A": x.A} for name, x in counts.items()},
        "n": n,
        "verdict": total.verdict(n),
    }

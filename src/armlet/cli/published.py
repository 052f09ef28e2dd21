"""armlet count --published"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from armlet._support.validation import one_of
from armlet.cli.charts import published
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal, progress, styled
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError
from armlet.literature import Total, totals
from armlet.plotting import save

MARKS = {"below": "green", "equal": "", "above": "red"}


def show_published(quantities: Sequence[str] | None, as_json: bool, plot: Path | None) -> None:
    """Print and plot every published total with armlet's count in the same scope."""
    for name in quantities or ():
        one_of(name, "quantity", QUANTITIES)
    chosen = [total for total in totals() if not quantities or total.quantity in quantities]
    if plot is not None and not chosen:
        raise ArmletError(f"no published total is of {' or '.join(quantities or ())}")
    shown = progress(chosen, "counting")
    rows = [(total, n, total.counted(n)) for total in shown for n in total.n]
    if plot is not None:
        save(published((total, _scope(total), n, count) for total, n, count in rows), plot)
    if as_json:
        print(json.dumps([_data(*row) for row in rows], indent=2))
        return
    table = Table()
    table.text("method")
    table.numbers("n", "printed", "corrected", "armlet", "")
    section, method = Text(), Text()
    for total, n, count in rows:
        if section != (section := styled((total.quantity, "bold"), f": {total.work}")):
            table.add_row(section)
        here = styled(f"  {total.method}", (_scope(total), "dim"), " ", (total.formulation, "cyan"))
        printed, corrected = total.printed(n), total.corrected(n)
        verdict = total.verdict(n)
        table.add_row(
            "" if method == here else here,
            str(n),
            f"{printed.M}M {printed.A}A",
            "" if corrected == printed else f"{corrected.M}M {corrected.A}A",
            f"{count.M}M {count.A}A",
            styled((verdict, MARKS[verdict])),
        )
        method = here
    console = Terminal()
    console.print(table)
    verdicts = [total.verdict(n) for total, n, _ in rows]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in MARKS)
    console.print()
    console.print(f"{len(rows)} totals: {counts} (by M + A; the smaller of printed and corrected)")
    for note in _notes(rows):
        console.print(note, style="dim")
    if plot is not None:
        console.print(f"written: {plot}")


def _notes(rows: Sequence[tuple[Total, int, Any]]) -> list[str]:
    """Why totals are corrected, one line for each."""
    corrected = [(x, n) for x, n, _ in rows if x.printed(n) != x.corrected(n)]
    return [f"corrected: {x.work}, {x.method}{_scope(x)}, n = {n}: {x.note}" for x, n in corrected]


def _scope(total: Total) -> str:
    """The scope of the total, as text."""
    words = [
        f"joint {total.slides} prismatic" if total.slides else "",
        "quarter turns" if total.twists == "quarter" else "",
        f"{total.given} given" if total.given else "",
        f"beyond {total.beyond.split()[0]}" if total.beyond else "",
        "minimal" if total.minimal else "",
    ]
    listed = ", ".join(word for word in words if word)
    return f" ({listed})" if listed else ""


def _data(total: Total, n: int, count: Any) -> dict[str, Any]:
    printed, corrected = total.printed(n), total.corrected(n)
    return {
        "quantity": total.quantity,
        "method": total.method,
        "work": total.work,
        "formulation": total.formulation,
        "given": total.given,
        "beyond": total.beyond,
        "n": n,
        "printed": {"M": printed.M, "A": printed.A},
        "corrected": {"M": corrected.M, "A": corrected.A},
        "armlet": {"M": count.M, "A": count.A},
        "verdict": total.verdict(n),
        "note": total.note,
    }

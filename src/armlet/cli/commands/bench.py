"""armlet bench"""

import json
from typing import Annotated, Any

import typer
from rich.text import Text

from armlet.cli.charts import speeds
from armlet.cli.measure import DTYPES, THREADS, TIMED, machine, measured
from armlet.cli.plots import Plot
from armlet.cli.rivals import rivals
from armlet.cli.robot_options import Choice, takes_robot
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal, progress, styled
from armlet.plotting import save


@takes_robot("panda")
def bench(
    choice: Choice,
    peers: Annotated[bool, typer.Option("--peers", help="Time Pinocchio and MuJoCo too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    rounds: Annotated[int, typer.Option(help="How often each is timed.", min=1)] = 15,
    plot: Plot = None,
) -> None:
    """Time the compiled kernels of a robot: calls, the code alone, batches, the first call.

    Drives are off. Times are medians of rounds in turns: processor time on one core, wall time of
    two threads.

    Example: armlet bench panda --peers --plot times.html
    """
    arm = choice.load().without_drives()
    found, skipped = rivals(arm) if peers else ([], [])
    host = machine(rounds)
    names = progress(TIMED, "timing")
    data = {
        "robot": arm.name,
        "joints": arm.n,
        "machine": host,
        "quantities": {name: measured(arm, name, rounds, host, found) for name in names},
        "skipped": skipped,
    }
    if plot is not None:
        save(speeds(data), plot)
    if as_json:
        print(json.dumps(data, indent=2))
        return
    console = Terminal()
    show(data, console)
    if plot is not None:
        console.print(f"written: {plot}")


def show(data: dict[str, Any], console: Terminal) -> None:
    """Print the tables."""
    for line in described(data):
        console.print(line, style="dim")
    tables = [_single(data), _rows(data)]
    if any(found["rivals"] for found in data["quantities"].values()):
        tables.append(_beside(data))
    for table in tables:
        console.print()
        console.print(table)
    for line in data["skipped"]:
        console.print(f"left out: {line}", style="dim")


def described(data: dict[str, Any]) -> list[str]:
    """The machine and the versions, as lines of text."""
    host = data["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in host["versions"].items())
    each = host["fused"]["float64"] / host["clock"]
    return [
        f"{host['cpu']}, {host['cores']} cores, {host['clock'] / 1e9:.2f} GHz, "
        f"{each:.2f} multiply-adds of {host['lanes']['float64']} float64 per cycle, "
        f"load {host['load']}",
        versions,
    ]


def nanoseconds(spread: dict[str, float]) -> Text:
    """The median and half the distance of the quartiles."""
    around = (spread["high"] - spread["low"]) / 2
    return styled(f"{_short(spread['median'])} ", (f"±{_short(around)}", "dim"))


def _short(seconds: float) -> str:
    return f"{seconds * 1e9:.{1 if seconds < 1e-7 else 0}f}"


def _table(title: str, words: list[str], numbers: list[str], caption: str) -> Table:
    table = Table(title, caption)
    table.words(*words)
    table.numbers(*numbers)
    return table


def _single(data: dict[str, Any]) -> Table:
    """One state at a time."""
    table = _table(
        f"{data['robot']}, one state: nanoseconds",
        ["quantity"],
        ["M", "A", "first call, ms", "call", "code alone"],
        "first call: trace and compile; code alone: in a native loop over 256 states",
    )
    for name, found in data["quantities"].items():
        table.add_row(
            name,
            str(found["operations"]["M"]),
            str(found["operations"]["A"]),
            f"{1e3 * (found['first']['trace'] + found['first']['one']):.0f}",
            nanoseconds(found["call"]),
            nanoseconds(found["kernel"]),
        )
    return table


def _rows(data: dict[str, Any]) -> Table:
    """Many states at a time."""
    table = _table(
        f"{data['robot']}, batches: nanoseconds per state",
        ["quantity"],
        ["float64", "two", "float32", "two", "bound", "reached", "writing"],
        "batches of 100,000 states, results in given arrays; two: on two threads; bound: the "
        "float64 arithmetic at the machine's rate of fused multiply-adds; writing: the results "
        "filled with zeros",
    )
    for name, found in data["quantities"].items():
        batch = found["batch"]
        table.add_row(
            name,
            *(nanoseconds(batch[dtype][str(t)]) for dtype in DTYPES for t in THREADS),
            _short(batch["float64"]["bound"]),
            f"{batch['float64']['share']:.0%}",
            _short(batch["float64"]["writing"]["median"]),
        )
    return table


def _beside(data: dict[str, Any]) -> Table:
    table = _table(
        "from Python, compared with other libraries: nanoseconds per state",
        ["quantity", "", "rival"],
        ["its time", "armlet", "ratio", "off"],
        "rows, two: on two threads; ratio: armlet's time over the rival's; off: the largest "
        "difference over the largest entry; armlet's regressor is for the minimal parameters",
    )
    for name, way, rival, theirs, mine in compared(data):
        off = theirs.get("difference")
        ratio = f"{mine['median'] / theirs['median']:.3f}"
        told = "" if off is None else f"{off:.0e}"
        table.add_row(name, way, rival, nanoseconds(theirs), nanoseconds(mine), ratio, told)
    return table


def compared(data: dict[str, Any]) -> list[tuple[str, str, str, dict[str, Any], dict[str, Any]]]:
    """Quantity, kind of call, rival, its time and armlet's, for all that were timed together."""
    lines = []
    for name, found in data["quantities"].items():
        lines += [(name, "call", rival, x, found["call"]) for rival, x in found["rivals"].items()]
        for threads in THREADS:
            mine = found["batch"]["float64"][str(threads)]
            way = "rows" if threads == 1 else "rows, two"
            lines += [(name, way, rival, x, mine) for rival, x in mine["rivals"].items()]
    return lines

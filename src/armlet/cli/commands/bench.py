"""The command `armlet bench`."""

from typing import Annotated

import typer

from armlet.cli.options import Json
from armlet.cli.output import Table, Terminal, print_json, progress
from armlet.cli.robot_options import Choice, takes_robot
from armlet.cli.timing import FUNCTIONS, LIBRARIES, ROWS, Times, measure, pinocchio


@takes_robot("panda")
def bench(
    choice: Choice,
    rounds: Annotated[int, typer.Option(help="How many times each kernel is timed.", min=1)] = 15,
    as_json: Json = False,
) -> None:
    """Measure times of armlet's compiled functions of a robot, and of Pinocchio's if installed.

    Rotor inertias and friction are left out. Times are medians of the processor
    time on one thread. The scripts in the folder `benchmarks` of the repository
    also measure first calls, several threads, MuJoCo and loops in native code.

    Example: armlet bench panda
    """
    arm = choice.load().without_drives()
    peer, left_out = pinocchio(arm)
    times = {name: measure(arm, name, rounds, peer) for name in progress(FUNCTIONS, "timing")}
    if as_json:
        quantities = {
            name: {"M": count.M, "A": count.A, "call": call, "batch": batch}
            for name, (count, call, batch) in times.items()
        }
        data = {"robot": arm.name, "rows": ROWS, "quantities": quantities, "left_out": left_out}
        print_json(data)
        return
    console = Terminal()
    console.print(_table(arm.name, times))
    console.notes(f"left out: {line}" for line in left_out)


def _table(name: str, times: dict[str, Times]) -> Table:
    libraries = [x for x in LIBRARIES if any(x in each.call for each in times.values())]
    table = Table(
        ["quantity"],
        ["M", "A", *(f"{x}, {way}" for way in ("call", "batch") for x in libraries)],
        title=f"{name}: nanoseconds per state",
        caption=f"batch: {ROWS:,} states on one thread",
    )
    for quantity, each in times.items():
        seconds = [way.get(x) for way in (each.call, each.batch) for x in libraries]
        cells = ["" if x is None else f"{1e9 * x:.{1 if x < 1e-7 else 0}f}" for x in seconds]
        table.add_row(quantity, str(each.operations.M), str(each.operations.A), *cells)
    return table

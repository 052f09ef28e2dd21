"""armlet demo"""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armlet._support.files import check_writable, expanded, write
from armlet.cli.robot_options import Choice, FrameName, takes_robot
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal
from armlet.cli.tour import JOINTS, NOISE, ROWS, STATES, Tour, toured
from armlet.cli.tour_page import LIBRARIES, symoro, tour_page
from armlet.errors import ArmletError
from armlet.graph import Count
from armlet.identification.report import verdict


@takes_robot("puma560")
def demo(
    choice: Choice,
    frame: FrameName = None,
    html: Annotated[
        Path, typer.Option(help="The page that shows it all; needs plotly.", metavar="FILE")
    ] = Path("demo.html"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Count the operations of an arm, time them, let the arm move, and identify it from its log.

    Example: armlet demo
    """
    path = expanded(html)
    check_writable(path)
    tour = toured(choice.load(frame))
    try:
        write(path, tour_page(tour))
        page = str(path)
    except ArmletError as error:
        page = f"none ({error})"
    if as_json:
        print(json.dumps(_data(tour, page), indent=2))
    else:
        _print(tour, page)


def _print(tour: Tour, page: str) -> None:
    console = Terminal()
    console.print(f"{tour.arm!r}")
    if tour.arm.source:
        console.print(f"numbers from {tour.arm.source}", style="dim")
    for table in (_operations(tour), _speed(tour)):
        console.print()
        console.print(table)
    below = sum(x.counted.total < x.printed.total for x in tour.published)
    console.print()
    console.print(
        f"armlet takes fewer operations than {below} of the {len(tour.published)} counts that are "
        f"published for arms with {JOINTS} joints.{symoro(tour)}"
    )
    console.print()
    run, found = tour.run, tour.found
    console.print(
        f"{run.t[-1]:g} s of motion with friction and feedback, {len(run) - 1:,} steps: the "
        f"fastest joint reaches {np.abs(run.qd).max():.3g} rad/s or m/s."
    )
    if found is not None:
        console.print(
            f"From its log with {NOISE:.0%} noise in the torques {len(found.names)} parameters are "
            f"found, {tour.near} within three deviations of the true ones. {verdict(found)}"
        )
    for line in tour.left_out:
        console.print(f"left out: {line}", style="dim")
    console.print()
    console.print(f"page: {page}")


def _operations(tour: Tour) -> Table:
    caption = f"compiled code at {STATES} random states, compared with the definition"
    table = Table("operations", caption)
    table.words("quantity")
    table.numbers("multiplications", "additions", "deviation")
    for name, x in tour.counted.items():
        off = "" if x.deviation is None else f"{x.deviation:.0e}"
        table.add_row(name, str(x.operations.M), str(x.operations.A), off)
    return table


def _speed(tour: Tour) -> Table:
    libraries = [x for x in LIBRARIES if any(x in found for found in tour.calls.values())]
    caption = f"batches of {ROWS:,} states; NumPy runs the program that armlet prints as Python"
    table = Table("nanoseconds per state", caption)
    table.words("quantity", "")
    table.numbers(*libraries)
    for way, times in (("call", tour.calls), ("batch", tour.batches)):
        for name, found in times.items():
            cells = [f"{1e9 * found[x]:.0f}" if x in found else "" for x in libraries]
            table.add_row(name, way, *cells)
    return table


def _data(tour: Tour, page: str) -> dict[str, Any]:
    found = tour.found
    return {
        "robot": tour.arm.name,
        "states": STATES,
        "quantities": {
            name: {**_both(x.operations), "deviation": x.deviation}
            for name, x in tour.counted.items()
        },
        "published": [
            {**x._asdict(), "printed": _both(x.printed), "counted": _both(x.counted)}
            for x in tour.published
        ],
        "seconds": {"call": tour.calls, "batch": tour.batches},
        "motion": {"rows": len(tour.run), "ended": tour.run.ended},
        "identification": None
        if found is None
        else {
            "parameters": len(found.names),
            "near": tour.near,
            "errors": {name: fit.whole for name, fit in found.fits.items()},
            "verdict": verdict(found),
        },
        "left_out": tour.left_out,
        "page": page,
    }


def _both(count: Count) -> dict[str, int]:
    return {"M": count.M, "A": count.A}

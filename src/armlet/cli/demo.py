"""armlet demo"""

import json
from typing import Annotated, Any

import typer

from armlet.api import Robot, trace
from armlet.cli.arm import Choice, FrameName, takes_robot
from armlet.cli.deviation import deviation, random_states
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal, progress
from armlet.dynamics import QUANTITIES
from armlet.graph import Count

STATES = 20
SHOWN = (
    "inverse_dynamics", "inertia_matrix", "bias", "gravity_torque", "forward_dynamics",
    "friction_torque", "forward_kinematics", "jacobian", "energy",
)  # fmt: skip
"""Quantities whose cheapest programs are found within seconds."""
OPENSYMORO = Count(345, 296)
"""OpenSYMORO's inverse dynamics of the PUMA 560, all parameters symbolic."""


@takes_robot("puma560")
def demo(
    choice: Choice,
    frame: FrameName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Load an arm, count its operations, evaluate it and check it against the definition.

    Example: armlet demo
    """
    arm = choice.load(frame)
    names = [name for name in SHOWN if arm.tool or "frame" not in QUANTITIES[name].options]
    rows = {name: _row(arm, name) for name in progress(names, "compiling")}
    if as_json:
        print(json.dumps({"robot": arm.name, "states": STATES, "quantities": rows}, indent=2))
        return
    table = Table()
    table.words("quantity")
    table.numbers("multiplications", "additions", "deviation from definition")
    for name, row in rows.items():
        table.add_row(name, str(row["M"]), str(row["A"]), f"{row['deviation']:.0e}")
    console = Terminal()
    console.print(f"{arm!r}")
    if arm.source:
        console.print(f"numbers from {arm.source}", style="dim")
    console.print()
    console.print(table)
    console.print()
    console.print(f"Computed at {STATES} random states with compiled code.", style="dim")
    if choice == Choice("puma560"):
        counted = trace(
            arm.without_drives(),
            "inverse_dynamics",
            constants={"inertia": "symbolic"},
            minimal=False,
        ).count()
        console.print(
            f"With all inertial parameters symbolic, inverse_dynamics takes {counted.M}M "
            f"{counted.A}A; OpenSYMORO takes {OPENSYMORO.M}M {OPENSYMORO.A}A.",
            style="dim",
        )


def _row(arm: Robot, name: str) -> dict[str, Any]:
    """The operations of a quantity as it is compiled, and its deviation from the definition."""
    count = trace(arm, name).count()
    states = random_states(arm, name, STATES)
    found = getattr(arm, name)(*states)
    return {"M": count.M, "A": count.A, "deviation": deviation(arm, name, states, found)}

"""armlet demo"""

from typing import Annotated

import typer
from rich.progress import track
from rich.table import Table

from armlet.api import load, trace
from armlet.cli.deviation import deviation, random_states
from armlet.cli.terminal import Terminal
from armlet.dynamics import QUANTITIES, definition

STATES = 20
BEST_TOOL = {"inverse_dynamics": (345, 296), "inertia_matrix": (273, 189)}
"""OpenSYMORO on the PUMA 560, all parameters symbolic."""


def demo(
    robot: Annotated[str, typer.Argument(help="A catalogue name or a file.")] = "puma560",
) -> None:
    """Load an arm, count its operations, evaluate it and check it against the definition.

    Example: armlet demo
    """
    console = Terminal()
    arm = load(robot)
    console.print(f"{arm!r}")
    console.print(f"numbers from {arm.source}", style="dim")
    console.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("quantity")
    for column in ("all parameters", "minimal", "deviation from definition"):
        table.add_column(column, justify="right")
    names = [name for name in QUANTITIES if hasattr(definition, name)]
    for name in track(names, description="compiling", transient=True, console=console):
        if "frame" in QUANTITIES[name].options and arm.tool is None:
            continue
        rigid = arm if name == "friction_torque" else arm.without_drives()
        every, fewest = (
            trace(rigid, name, constants={"inertia": "symbolic"}, minimal=minimal).count()
            for minimal in (False, True)
        )
        states = random_states(arm, name, STATES)
        off = deviation(arm, name, states, getattr(arm, name)(*states))
        lumps = QUANTITIES[name].minimal
        table.add_row(
            name,
            f"{every.M}M {every.A}A",
            f"{fewest.M}M {fewest.A}A" if lumps else "",
            f"{off:.0e}",
        )
    console.print(table)
    console.print()
    console.print(
        "M multiplications, A additions: symbolic inertia, drives off except for friction. "
        f"Checked at {STATES} random states, drives on.",
        style="dim",
    )
    if robot == "puma560":
        listed = ", ".join(f"{name} {M}M {A}A" for name, (M, A) in BEST_TOOL.items())
        console.print(f"OpenSYMORO, all parameters: {listed}.", style="dim")

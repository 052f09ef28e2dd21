"""armlet demo"""

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from armlet.api import trace
from armlet.dynamics import QUANTITIES, definition
from armlet.models import load

STATES = 20
BEST_TOOL = {"inverse_dynamics": (345, 296), "inertia_matrix": (273, 189)}
"""OpenSYMORO on the PUMA 560, all parameters symbolic."""


def demo(
    robot: Annotated[str, typer.Argument(help="A catalogue name or a file.")] = "puma560",
) -> None:
    """Load an arm, count its operations, evaluate it and check it against the definition.

    Example: armlet demo
    """
    console = Console()
    arm = load(robot)
    console.print(f"{arm!r}", highlight=False)
    console.print(f"numbers from {arm.source}\n", style="dim", highlight=False)
    rng = np.random.default_rng(0)
    state = {name: rng.uniform(-2, 2, (STATES, arm.n)) for name in ("q", "qd", "qdd", "tau")}
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("quantity")
    for column in ("all parameters", "minimal", "off the definition by"):
        table.add_column(column, justify="right")
    for name in track(list(QUANTITIES), description="tracing", transient=True, console=console):
        rigid = arm if name == "friction_torque" else arm.without_drives()
        symbolic = {"inertia": "symbolic"}
        every, fewest = (
            trace(rigid, name, constants=symbolic, minimal=minimal).count()
            for minimal in (False, True)
        )
        given = {argument: state[argument] for argument in QUANTITIES[name].arguments}
        found = getattr(arm, name)(*given.values())
        found = np.stack(found, -1) if isinstance(found, tuple) else found
        expected = [
            getattr(definition, name)(arm, *row) for row in zip(*given.values(), strict=True)
        ]
        size = np.abs(found).max() or 1.0
        off = np.abs(np.array(expected, dtype=float) - found).max() / size
        lumps = QUANTITIES[name].minimal
        table.add_row(
            name,
            f"{every.M}M {every.A}A",
            f"{fewest.M}M {fewest.A}A" if lumps else "",
            f"{off:.0e}",
        )
    console.print(table)
    console.print(
        "\nM multiplications, A additions: symbolic inertia, drives off. "
        f"Checked at {STATES} random states, drives on.",
        style="dim",
        highlight=False,
    )
    if robot == "puma560":
        listed = ", ".join(f"{name} {M}M {A}A" for name, (M, A) in BEST_TOOL.items())
        console.print(f"OpenSYMORO, all parameters: {listed}.", style="dim", highlight=False)

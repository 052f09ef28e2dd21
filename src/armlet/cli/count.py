"""armlet count"""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from armlet.api import trace
from armlet.cli.arm import GeneralArm, RobotName, asked_arm
from armlet.cli.published import show_published
from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.errors import ArmletError, ModelError
from armlet.graph import Count


def count(
    robot: RobotName = None,
    general: GeneralArm = None,
    quantity: Annotated[
        list[str] | None, typer.Option(help="A quantity to count; all by default. Repeatable.")
    ] = None,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Take the inertias as numbers, not as symbols.")
    ] = False,
    drives: Annotated[
        bool, typer.Option("--drives", help="Keep rotor inertias and friction.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Beside every total printed in the literature.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Count the multiplications (M) and additions (A) of each formulation.

    Geometry is taken as numbers and inertias as symbols, the rule of the published tables:
    what is computed from constants alone is free.

    Example: armlet count puma560 --quantity inverse_dynamics

    Example: armlet count --published --quantity inertia_matrix
    """
    if published:
        if robot or general:
            raise ArmletError("--published counts the arms of the literature: name no robot")
        show_published(quantity, as_json)
        return
    arm = asked_arm(robot, general)
    rigid = arm if drives else arm.without_drives()
    constants = {} if numbers else {"inertia": "symbolic"}
    for name in quantity or ():
        if name not in QUANTITIES:
            raise ArmletError(
                f"no quantity is called {name!r}: expected one of {', '.join(QUANTITIES)}"
            )
    console = Console()
    pairs = [(name, entry) for name in quantity or _moving(drives) for entry in FORMULATIONS[name]]
    rows: list[dict[str, Any]] = []
    for name, entry in track(pairs, "counting", transient=True, console=console, disable=as_json):
        try:
            every, fewest = (
                trace(
                    arm if name == "friction_torque" else rigid,
                    name,
                    entry,
                    constants=constants,
                    minimal=minimal,
                ).count()
                for minimal in (False, True)
            )
        except ModelError:  # it does not hold for this robot
            continue
        rows.append({"quantity": name, "formulation": entry, "all": every, "minimal": fewest})
    if as_json:
        print(json.dumps([{**row, **_counts(row)} for row in rows], indent=2))
        return
    title = f"{arm.name}: {'numbers' if numbers else 'symbolic inertia'}"
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("quantity", no_wrap=True)
    table.add_column("formulation", no_wrap=True)
    for column in ("all", "M+A", "minimal", "M+A"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        every, fewest = row["all"], row["minimal"]
        same = every == fewest and not QUANTITIES[row["quantity"]].minimal
        table.add_row(
            row["quantity"],
            row["formulation"],
            _short(every),
            str(every.total),
            "" if same else _short(fewest),
            "" if same else str(fewest.total),
        )
    console.print(table)


def _moving(drives: bool) -> list[str]:
    """The quantities that take operations; friction only where drives are kept."""
    return [name for name in QUANTITIES if drives or name != "friction_torque"]


def _short(count: Count) -> str:
    return f"{count.M}M {count.A}A"


def _counts(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: {"M": row[key].M, "A": row[key].A, **dict(row[key].functions)}
        for key in ("all", "minimal")
    }

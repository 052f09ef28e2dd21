"""The command `armlet robots`."""

from typing import Any

from armlet.api import load
from armlet.cli.options import Json
from armlet.cli.output import Table, Terminal, print_json, styled_text
from armlet.formats.loading import about, catalogue


def robots(as_json: Json = False) -> None:
    """List the arms of the catalogue.

    Example: armlet robots
    """
    arms = {name: load(name) for name in catalogue()}
    rows: list[dict[str, Any]] = [
        {"name": name, "joints": arm._joint_letters, "mass": float(arm.mass), **about(name)}
        for name, arm in arms.items()
    ]
    if as_json:
        print_json(rows)
        return
    table = Table(["name", "joints"], ["mass"], "arm")
    for row in rows:
        table.add_row(row["name"], row["joints"], f"{row['mass']:.2f} kg", row["title"])
    console = Terminal()
    console.print(table)
    console.show(styled_text(("The source of the numbers: armlet info NAME", "dim")))

"""armlet's own format with names of constants in place of numbers."""

from math import radians
from pathlib import Path
from typing import Any

from armlet.errors import ModelError, quoted, shown
from armlet.formats.symbolic import Names, has_symbols, symbolic_arm
from armlet.formats.toml.reading import TOP, Table, parsed
from armlet.robot import RobotModel

NUMBERS = ("dh", "mass", "com", "inertia", "phi")
"""The keys of a body in which names of constants may stand."""
BODY = {"name", "joint", "kind", "parent", *NUMBERS}
KINDS = {"revolute": "R", "continuous": "R", "prismatic": "P"}


def read_symbolic_toml(path: Path) -> RobotModel | None:
    """The arm in a TOML file that has names of constants, or None if it has none.

    It is a serial arm in modified DH frames, without drives, limits, meshes and further frames.
    """
    file = shown(path.name)
    data = parsed(path)
    bodies = data.get("body")
    entries = [x for x in bodies if isinstance(x, dict)] if isinstance(bodies, list) else []
    written = [[entry.get(key) for key in NUMBERS] for entry in entries]
    if not has_symbols([data.get("gravity"), written]):
        return None
    top = Table(data, file, TOP - {"frame", "tool", "keyframe"})
    if top.data.get("angles") not in ("degrees", "radians"):
        raise top.unlike("angles", "'degrees' or 'radians'")
    unit = radians(1) if top.data["angles"] == "degrees" else 1.0
    tables = [
        Table(entry, f"{file}, body {quoted(entry.get('name', k + 1))}", BODY)
        for k, entry in enumerate(top.tables("body"))
    ]
    base = top.text("base", "base")
    links = [table.text("name") for table in tables]
    for table, before in zip(tables, [base, *links], strict=False):
        if table.text("parent", before) != before:
            raise table.unlike("parent", f"{quoted(before)}: a table with names is of a serial arm")
        if table.text("kind", "revolute") not in KINDS:
            raise table.unlike("kind", f"one of {', '.join(KINDS)}")
    return symbolic_arm(
        top.text("name", shown(path.stem)),
        [_in_radians(table, unit) for table in tables],
        top.text("convention"),
        "".join(KINDS[table.text("kind", "revolute")] for table in tables),
        data.get("gravity"),
        [_body(table) for table in tables],
        Names(base, tuple(table.text("joint") for table in tables), tuple(links)),
        [table.where for table in tables],
    )


def _in_radians(table: Table, unit: float) -> Any:
    row = table.data.get("dh")
    if not isinstance(row, list) or len(row) != 4:
        raise table.unlike("dh", "four numbers or names of constants alpha, a, d, theta")
    return [
        unit * x if k in (0, 3) and isinstance(x, int | float) else x for k, x in enumerate(row)
    ]


def _body(table: Table) -> Any:
    """The ten parameters, or mass, centre of mass and inertia; nothing is zero."""
    given = table.data
    if "phi" not in given:
        return given.get("mass", 0), given.get("com", (0, 0, 0)), given.get("inertia", (0,) * 6)
    if both := sorted({"mass", "com", "inertia"} & set(given)):
        raise ModelError(f"{table.where}: phi and {both[0]} are given: expected one of the two")
    return given["phi"]

"""armlet demo"""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armlet.api import Robot, trace
from armlet.cli.arm import Choice, FrameName, takes_robot
from armlet.cli.deviation import deviation, random_states
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal, progress
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError
from armlet.graph import Count
from armlet.motion import Trajectory, simulate
from armlet.plotting import save

STATES = 20
FALL = 2.0
"""How many seconds the arm falls."""
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
    plot: Annotated[
        Path | None,
        typer.Option(help="Where to write the picture; a temporary folder by default."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Load an arm, count its operations, check them against the definition, and let it fall.

    Example: armlet demo
    """
    arm = choice.load(frame)
    names = [name for name in SHOWN if arm.tool or "frame" not in QUANTITIES[name].options]
    rows = {name: _row(arm, name) for name in progress(names, "compiling")}
    fall = simulate(arm, np.zeros(arm.nq), duration=FALL, friction=False)
    picture = _picture(fall, plot)
    if as_json:
        about = {"robot": arm.name, "states": STATES, "quantities": rows, "picture": picture}
        print(json.dumps(about, indent=2))
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
    console.print()
    console.print(_fallen(fall))
    console.print(f"picture: {picture}")


def _fallen(fall: Trajectory) -> str:
    """What happened while the arm fell."""
    kept = np.ptp(fall.energy) / max(np.ptp(fall.kinetic), np.finfo(float).tiny)
    return (
        f"{fall.t[-1]:g} s of free fall from zero angles: the fastest joint reaches "
        f"{np.abs(fall.qd).max():.3g} rad/s or m/s, energy is kept to {kept:.0e} of what is "
        f"exchanged{', ' + fall.ended if fall.ended else ''}."
    )


def _picture(fall: Trajectory, path: Path | None) -> str:
    """Where the plots of the fall are, or why there are none."""
    try:
        figure = fall.plot()
    except ArmletError as error:
        return f"none ({error})"
    path = path or Path(tempfile.mkdtemp(prefix="armlet-")) / "fall.html"
    save(figure, path)
    return str(path)


def _row(arm: Robot, name: str) -> dict[str, Any]:
    """The operations of a quantity as it is compiled, and its deviation from the definition."""
    count = trace(arm, name).count()
    states = random_states(arm, name, STATES)
    found = getattr(arm, name)(*states)
    return {"M": count.M, "A": count.A, "deviation": deviation(arm, name, states, found)}

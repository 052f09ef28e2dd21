"""The command `armlet info`."""

from collections.abc import Sequence
from math import degrees, isinf
from typing import Annotated, Any

import typer
from rich.text import Text

from armlet.cli.options import Json, frames
from armlet.cli.output import Table, Terminal, print_json, styled_text
from armlet.cli.robot_options import Choice, takes_robot
from armlet.errors import quote
from armlet.robot import PHI, RobotModel
from armlet.robot.pose import rpy_of

RPY = ("roll", "pitch", "yaw")
ANGLES = ("gamma", "alpha", "beta", "theta")


@takes_robot()
def info(
    choice: Choice,
    frame: Annotated[
        list[str] | None,
        typer.Option(help="A frame to place on its link. Repeatable.", autocompletion=frames),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a robot's canonical (modified DH) frames, masses, drives, springs and named frames.

    Example: armlet info puma560

    Example: armlet info hand.urdf --mimic lock --frame palm
    """
    arm = choice.load()
    poses = {name: _pose(arm, name) for name in frame or ()}
    if as_json:
        print_json(_data(arm) | ({"poses": poses} if poses else {}))
        return
    console = Terminal()
    console.print(styled_text((arm.name, "bold"), f"  {arm!r}"))
    if arm.source:
        console.print(f"numbers from {arm.source}", style="dim")
    gravity = [x if isinstance(x, str) else round(float(x), 6) + 0.0 for x in arm.gravity]
    console.print(f"gravity {gravity} in base axes")
    if arm.couplings:
        console.print(f"q holds {', '.join(arm.position_names)}; other joints are moved by these")
    springs = arm.springs if arm._has_springs else ()
    drives = ["rotor inertia", "viscous", "Coulomb", "offset"]
    console.show(
        _frames(arm),
        _bodies(arm),
        _jointwise(arm, "drives (SI, joint side)", drives, arm.drives),
        _jointwise(arm, "springs (SI)", ["stiffness", "reference"], springs),
    )
    console.print()
    if not arm.symbols:
        moving, base = float(arm.mass), arm.base_body[0]
        console.print(
            f"mass: {moving:.6g} kg move; base {quote(arm.base_link)} has {base:.6g} kg, is fixed "
            f"and in no quantity; together {moving + base:.6g} kg"
        )
    for note in arm.notes:
        console.print(note)
    console.print(f"frames: {', '.join(arm.frames)}")
    if arm.keyframes:
        console.print(f"keyframes: {', '.join(arm.keyframes)}")
    if poses:
        title = "frames (m, deg; in the link's own frame)"
        table = Table(["frame", "link"], [*"xyz", *RPY], title=title)
        for name, at in poses.items():
            angles = (degrees(x) for x in at["rpy"])
            table.add_row(name, at["link"], *map(_number, at["xyz"]), *map(_number, angles))
        console.show(table)


def _pose(arm: RobotModel, name: str) -> dict[str, Any]:
    """Return a frame's link, and the frame's xyz and rpy in the link's own frame."""
    body, at = arm.frame(name)
    link = (*arm.links, arm.base_link)[body]
    pose = arm.frames[link].pose.inverse() @ at
    xyz, rpy = ([round(float(x), 9) + 0.0 for x in row] for row in (pose.r, rpy_of(pose.R)))
    return {"link": link, "xyz": xyz, "rpy": rpy}


def _data(arm: RobotModel) -> dict[str, Any]:
    return {
        "name": arm.name,
        "source": arm.source,
        "joints": arm._joint_letters,
        "gravity": [x if isinstance(x, str) else float(x) for x in arm.gravity],
        "tool": arm.tool,
        "mass": None if arm.symbols else {"moving": float(arm.mass), "base": arm.base_body[0]},
        "notes": list(arm.notes),
        "frames": list(arm.frames),
        "keyframes": {name: q.tolist() for name, q in arm.keyframes.items()},
        "table": [
            {
                **row,
                "limits": _finite(joint.limits._asdict()),
                "drive": _by_name(arm.drives[at]),
                "spring": _by_name(arm.springs[at]),
            }
            for row, joint, at in zip(arm.dh_table(), arm.joints, arm.v_of, strict=True)
        ],
        "coordinates": [
            {"name": x.name, "kind": x.kind, "limits": _finite(x.limits._asdict())}
            for x in arm.coordinates
        ],
        "couplings": {
            joint.name: {**x._asdict(), "leader": arm.joints[x.leader].name}
            for joint, x in zip(arm.joints, arm.couplings, strict=False)
            if arm.joints[x.leader] != joint
        },
        "phi": dict(zip(arm.links, arm.phi.tolist(), strict=True)),
        "phi_order": list(PHI),
        "gravity_compensation": {
            link: [*x.moment, x.mass] for link, x in zip(arm.links, arm.compensation, strict=True)
        },
    }


def _by_name(constants: Sequence[Any]) -> Any:
    """Return a joint's constants as a dict, or as one dict per velocity if it has several."""
    rows = [x._asdict() for x in constants]
    return rows if rows[1:] else rows[0]


def _finite(limits: dict[str, float]) -> dict[str, float | None]:
    return {key: None if isinf(value) else value for key, value in limits.items()}


def _number(value: float | str) -> Text:
    """Format a number or the name of a symbolic constant; zero becomes a dimmed dot."""
    if isinstance(value, str):
        return styled_text(value)
    return styled_text(("·", "dim") if value == 0 else f"{value:.6g}")


def _frames(arm: RobotModel) -> Table:
    """Return a table of canonical DH parameters; gamma, b and beta appear only if nonzero."""
    rows = arm.dh_table()
    keys = [
        key
        for key in ("gamma", "b", "alpha", "a", "beta", "d", "theta")
        if key not in ("gamma", "b", "beta") or any(row[key] for row in rows)
    ]
    units = [styled_text(f"{key} ", ("deg" if key in ANGLES else "m", "dim")) for key in keys]
    title = "canonical frames (modified DH)"
    shows_entries = bool(arm.couplings) or arm.nq != arm.nb
    moved = ["moved by"] if shows_entries else []
    entries = dict(zip(arm._leaders, arm._slices["nq"], strict=True))
    table = Table(["joint", *moved, "kind", "parent"], [*units, "range"], title=title)
    for i, (joint, row) in enumerate(zip(arm.joints, rows, strict=True)):
        values = []
        for key in keys:
            is_degrees = key in ANGLES and not isinstance(row[key], str)
            values.append(_number(degrees(row[key]) if is_degrees else row[key]))
        how = [arm._coupling_text(i) or _entries(entries[i])] if shows_entries else []
        table.add_row(joint.name, *how, joint.kind, row["parent"], *values, _range(joint))
    return table


def _entries(at: slice) -> str:
    """Return the entries of q at `at` as text: q[2], or q[2:6] if there are several."""
    return f"q[{at.start}:{at.stop}]" if at.stop - at.start > 1 else f"q[{at.start}]"


def _range(joint: Any) -> Text:
    if isinf(joint.limits.lower) and isinf(joint.limits.upper):
        return styled_text(("any", "dim"))
    scale, unit = (1.0, "m") if joint.letter == "P" else (degrees(1.0), "°")
    lower, upper = (x * scale for x in joint.limits[:2])
    return styled_text(f"{lower:.4g} … {upper:.4g} {unit}")


def _bodies(arm: RobotModel) -> Table | None:
    """Return a table of masses and centres of mass, or None if a constant is symbolic."""
    if arm.symbols:
        return None
    columns = ["mass", "x", "y", "z", *(["compensated"] if arm._has_compensation else [])]
    table = Table(["link"], columns, title="bodies (kg, m; file frames)")
    for i, link in enumerate(arm.links):
        m = arm.m[i]
        com = arm.frames[link].pose.inverse().point(arm.c[i] / m) if m else (0, 0, 0)
        held = [_number(arm.compensation[i].mass)] if arm._has_compensation else []
        table.add_row(link, _number(m), *(_number(round(float(x), 9)) for x in com), *held)
    return table


def _jointwise(
    arm: RobotModel, title: str, columns: list[str], rows: Sequence[Sequence[Any]]
) -> Table | None:
    """Return a table with a row of constants per joint velocity, or None if all are zero."""
    if not any(map(any, rows)):
        return None
    table = Table(["joint"], columns, title=title)
    for name, row in zip(arm.uncoupled.velocity_names, rows, strict=True):
        table.add_row(name, *map(_number, row))
    return table

"""Robots from files and tables, and back."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from armlet.errors import ModelError, quoted, shown
from armlet.models.catalogue import about, catalogue
from armlet.models.dh import array, check_convention, checked_row, dh_connection
from armlet.models.file import shown_path, write
from armlet.models.general import general_arm
from armlet.models.mjcf import read_mjcf
from armlet.models.rounding import warn_of_rounded_angles
from armlet.models.symbolic import has_symbols, symbolic_arm
from armlet.models.symbolic_toml import read_symbolic_toml
from armlet.models.ties import lock_tied
from armlet.models.toml import read_toml, toml_text
from armlet.models.urdf import read_urdf, urdf_text
from armlet.models.xml import read_xml
from armlet.robot import TOLERANCE, Description, Link, RobotModel, assembled, described
from armlet.robot.check import check
from armlet.robot.parts import MAX_SIZE
from armlet.scalar import Vector

EARTH = (0.0, 0.0, -9.81)
MAX_TOLERANCE = 0.1


def load(
    robot: str | Path,
    *,
    lock: Mapping[str, float] | None = None,
    lock_mimic: bool = False,
    tool: str | None = None,
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    tolerance: float = TOLERANCE,
) -> RobotModel:
    """The robot from the catalogue or a file; `armlet.load` documents the arguments."""
    _check_tolerance(tolerance)
    lock = _checked_lock(lock)
    if (arm := _symbolic(robot)) is not None:
        if lock or gravity is not None:
            raise ModelError(
                f"robot {quoted(arm.name)} has constants without a value: lock= and gravity= are "
                "not taken; write them in the file"
            )
        return arm
    description = _read(robot)
    if gravity is not None:
        description = _under(description, gravity)
    check(description, strict)
    lock = lock_tied(description, lock, lock_mimic)
    found = assembled(description, lock, tolerance)
    warn_of_rounded_angles(found, description, lock)
    return found if tool is None else found.with_tool(tool)


def _check_tolerance(tolerance: float) -> None:
    if not 0 <= _as_float(tolerance) < MAX_TOLERANCE:
        raise ModelError(
            f"tolerance is {quoted(tolerance)}: expected a number of at least 0 and below "
            f"{MAX_TOLERANCE} (rad)"
        )


def _checked_lock(lock: Mapping[str, float] | None) -> dict[str, float]:
    """The values of joints to lock, by joint name."""
    if lock is not None and not isinstance(lock, Mapping):
        raise ModelError(f"lock is {quoted(lock)}: expected a value for each joint, by its name")
    for name, value in (lock or {}).items():
        if not abs(_as_float(value)) < MAX_SIZE:
            raise ModelError(
                f"joint {quoted(name)} cannot be locked at {quoted(value)}: expected a finite "
                "number"
            )
    return {str(name): float(value) for name, value in (lock or {}).items()}


def _as_float(value: Any) -> float:
    """The value as a float, or NaN if it is not a number."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    except OverflowError:
        return nan


def _read(robot: str | Path) -> Description:
    if not isinstance(robot, str | os.PathLike):
        raise ModelError(
            f"load was given {quoted(robot)}: expected the path of a file or the name of a robot"
        )
    if str(robot) in catalogue():
        return read_toml(catalogue()[str(robot)])
    path = _existing(robot)
    return replace(_read_file(path), folder=os.path.abspath(path.parent))


def _read_file(path: Path) -> Description:
    match path.suffix.lower():
        case ".toml":
            return read_toml(path)
        case ".urdf":
            return read_urdf(path, EARTH)
        case ".xml" | ".mjcf":
            is_urdf = read_xml(path).tag == "robot"
            return read_urdf(path, EARTH) if is_urdf else read_mjcf(path)
        case suffix:
            raise ModelError(
                f"{shown(path.name)}: the ending is {quoted(suffix)}: expected .urdf, .xml or .toml"
            )


def _symbolic(robot: str | Path) -> RobotModel | None:
    """The arm in a TOML file that has names of constants in place of numbers."""
    if not isinstance(robot, str | os.PathLike) or str(robot) in catalogue():
        return None
    is_file = Path(robot).suffix.lower() == ".toml" and os.path.isfile(robot)
    return read_symbolic_toml(Path(robot)) if is_file else None


def _existing(robot: str | Path) -> Path:
    """The path of an existing file; `os.path` also accepts strings that cannot be paths."""
    path = Path(robot)
    if os.path.isfile(path):
        return path
    if os.path.isdir(path):
        raise ModelError(
            f"{shown(path.name or str(path))}: this is a folder: expected a .urdf, .xml or .toml "
            "file"
        )
    if "<" in str(robot):
        raise ModelError(
            "load was given the text of a file: expected its path, or the name of a robot"
        )
    if not path.suffix:
        raise ModelError(
            f"no robot is called {quoted(str(robot))}: expected a file, or one of "
            f"{', '.join(catalogue())}"
        )
    raise ModelError(f"{shown_path(path)}: no such file")


def _under(description: Description, gravity: Sequence[float]) -> Description:
    return replace(description, gravity=_three(gravity))


def _three(gravity: Sequence[float | str]) -> Vector:
    try:
        return array(gravity).reshape(3)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"gravity is {quoted(gravity)}: expected three numbers, in base axes"
        ) from None


def from_dh(
    rows: Sequence[Sequence[float | str]],
    *,
    convention: str,
    joints: str | None = None,
    gravity: Sequence[float | str] = EARTH,
    inertia: Sequence[Any] | None = None,
    name: str = "arm",
) -> RobotModel:
    """A serial arm from DH parameters; `armlet.Robot.from_dh` documents the arguments."""
    check_convention(convention, "from_dh")
    if not isinstance(name, str) or not name:
        raise ModelError(f"name is {quoted(name)}: expected a string, not an empty one")
    rows = _entries(rows, "rows")
    if not rows:
        raise ModelError("the DH table has no rows: expected one per joint")
    letters = "R" * len(rows) if joints is None else joints
    if not isinstance(letters, str) or len(letters) != len(rows) or set(letters) - {"R", "P"}:
        raise ModelError(
            f"joints is {quoted(letters)}: expected {len(rows)} letters R and P, one per row"
        )
    bodies = [(0.0, (0.0, 0.0, 0.0), np.zeros(6))] * len(rows)
    if inertia is not None:
        bodies = _entries(inertia, "inertia")
    if len(bodies) != len(rows):
        raise ModelError(f"inertia has {len(bodies)} entries: expected {len(rows)}, one per row")
    if has_symbols([rows, gravity, bodies]):
        return symbolic_arm(name, rows, convention, letters, gravity, bodies)
    links, connections = [Link("base")], []
    for i, (row, letter, body) in enumerate(zip(rows, letters, bodies, strict=True), start=1):
        subject = f"row {i} of the DH table"
        kind = "prismatic" if letter == "P" else "revolute"
        connections.append(
            dh_connection(
                checked_row(row, subject), convention, kind, f"joint{i}", links[-1].name, f"link{i}"
            )
        )
        links.append(_dh_link(f"link{i}", body, subject))
    description = Description(
        name, tuple(links), tuple(connections), _three(gravity), where=shown(name)
    )
    check(description, strict=False)
    return assembled(description)


def _entries(table: Any, subject: str) -> list[Any]:
    """The entries of a table, one per joint."""
    try:
        return list(table)
    except TypeError:
        raise ModelError(
            f"{subject} is {quoted(table)}: expected a sequence, one entry per joint"
        ) from None


def _dh_link(name: str, body: Any, subject: str) -> Link:
    try:
        mass, com, tensor = body
        I = array(tensor)
        if I.shape == (6,):
            xx, xy, xz, yy, yz, zz = I
            I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Link(name, float(array(mass)), array(com).reshape(3), I.reshape(3, 3))
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"the inertia of {subject} is {quoted(body)}: expected (mass, centre of mass, "
            "inertia), the inertia as 3x3 or as xx xy xz yy yz zz"
        ) from None


def lock(robot: RobotModel, values: Mapping[str, float]) -> RobotModel:
    """The robot with some joints fixed at given values; their bodies merge into the parents."""
    return assembled(described(robot), _checked_lock(values))


def subchain(robot: RobotModel, tip: str) -> RobotModel:
    """The serial arm from the base to a frame, which becomes the tool, without other branches."""
    kept = set(robot.path(robot.frame(tip).body))
    whole = described(robot)
    names = {robot.base_link, *(robot.links[i] for i in kept)}
    names |= {name for name, frame in robot.frames.items() if frame.body in kept}
    links = tuple(link for link in whole.links if link.name in names)
    joints = tuple(joint for joint in whole.joints if joint.child in names)
    return assembled(Description(robot.name, links, joints, whole.gravity, tip, robot.source))


def to_urdf(robot: RobotModel, path: str | Path) -> None:
    """Write the robot as URDF, in the frames of the file it came from.

    URDF has no gravity: one other than (0, 0, -9.81) has to be given again on loading.
    """
    write(Path(path), urdf_text(robot))


def to_toml(robot: RobotModel, path: str | Path) -> None:
    """Write the robot in armlet's own format, in the frames of the file it came from."""
    write(Path(path), toml_text(robot))


__all__ = [
    "about",
    "catalogue",
    "from_dh",
    "general_arm",
    "load",
    "lock",
    "subchain",
    "to_toml",
    "to_urdf",
]

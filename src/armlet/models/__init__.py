"""Robots from files and tables, and back."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import nan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from armlet.errors import ModelError, quoted, shown
from armlet.models.catalogue import about, catalogue
from armlet.models.dh import array, check_convention, checked_row, dh_connection
from armlet.models.file import expanded, shown_path, write
from armlet.models.folders import Folders
from armlet.models.from_models import read_mujoco, read_pinocchio
from armlet.models.general import general_arm
from armlet.models.mesh_paths import with_mesh_paths
from armlet.models.mjcf import read_mjcf
from armlet.models.order import reordered
from armlet.models.rounding import warn_of_rounded_angles
from armlet.models.sdf import read_sdf
from armlet.models.symbolic import has_symbols, symbolic_arm
from armlet.models.symbolic_toml import read_symbolic_toml
from armlet.models.ties import lock_tied
from armlet.models.toml import read_toml, toml_text
from armlet.models.urdf import read_urdf, urdf_text
from armlet.models.xacro import expanded_xacro
from armlet.models.xml import parsed_xml, read_xml
from armlet.robot import TOLERANCE, Description, Link, RobotModel, assembled, described
from armlet.robot.check import check, check_tips
from armlet.robot.description import without_freedoms
from armlet.robot.parts import MAX_SIZE
from armlet.robot.problems import Problems
from armlet.scalar import Vector

EARTH = (0.0, 0.0, -9.81)
MAX_TOLERANCE = 0.1
ENDINGS = (".urdf", ".xacro", ".sdf", ".world", ".xml", ".mjcf", ".toml")
FROM_LOAD = 3
"""How far the call of `armlet.load` or `Robot.from_dh` is from a function here, for warnings."""


def load(
    robot: str | Path,
    *,
    lock: Mapping[str, float] | None = None,
    lock_mimic: bool = False,
    tool: str | None = None,
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    tolerance: float = TOLERANCE,
    order: str | Sequence[str] = "file",
    folders: Sequence[str | Path] = (),
    xacro: Mapping[str, Any] | None = None,
) -> RobotModel:
    """The robot from the catalogue or a file; `armlet.load` documents the arguments."""
    _check_tolerance(tolerance)
    lock = _checked_lock(lock)
    if (arm := _symbolic(robot)) is not None:
        if lock or gravity is not None or order != "file":
            raise ModelError(
                f"robot {quoted(arm.name)} has constants without a value: lock=, gravity= and "
                "order= are not taken; write them in the file"
            )
        return arm
    path = _existing(robot)
    problems = Problems(shown(path.name), strict)
    places = Folders(path.parent, folders)
    description = with_mesh_paths(_read(path, places, xacro, problems), places)
    return _finished(
        description, problems, lock, lock_mimic, tool, gravity, tolerance, order, FROM_LOAD + 1
    )


def from_model(
    read: Callable[[Any, Problems], Description],
    model: Any,
    *,
    name: str,
    lock: Mapping[str, float] | None,
    lock_mimic: bool,
    tool: str | None,
    gravity: Sequence[float] | None,
    strict: bool,
    tolerance: float,
    order: str | Sequence[str],
) -> RobotModel:
    """The robot of another package's model; `armlet.from_mujoco` documents the arguments."""
    _check_tolerance(tolerance)
    lock = _checked_lock(lock)
    problems = Problems(shown(name), strict)
    return _finished(
        read(model, problems), problems, lock, lock_mimic, tool, gravity, tolerance, order,
        FROM_LOAD + 1,
    )  # fmt: skip


def _finished(
    description: Description,
    problems: Problems,
    lock: dict[str, float],
    lock_mimic: bool,
    tool: str | None,
    gravity: Sequence[float] | None,
    tolerance: float,
    order: str | Sequence[str],
    stacklevel: int,
) -> RobotModel:
    """The robot of a description that was read, checked and with the user's choices made."""
    description, lock = without_freedoms(description, lock)
    if gravity is not None:
        description = _under(description, gravity)
    check(description, problems)
    with problems.collected():
        lock = lock_tied(description, lock, lock_mimic)
    problems.settle(stacklevel)
    description = reordered(description, lock, order)
    found = assembled(description, lock, tolerance)
    check_tips(found, problems)
    problems.settle(stacklevel)
    warn_of_rounded_angles(found, description, lock, stacklevel)
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


def _read(
    path: Path, folders: Folders, xacro: Mapping[str, Any] | None, problems: Problems
) -> Description:
    """The description in a file, whose format is known by its ending or its root element."""
    suffix, gravity = path.suffix.lower(), np.array(EARTH)
    if suffix not in ENDINGS:
        raise ModelError(
            f"{shown(path.name)}: the ending is {quoted(path.suffix)}: expected one of "
            f"{', '.join(ENDINGS)}"
        )
    if xacro is not None and suffix != ".xacro":
        raise ModelError(
            f"{shown(path.name)}: xacro= is for files that end in .xacro: leave it out"
        )
    if suffix == ".toml":
        return read_toml(path)
    root = parsed_xml(*expanded_xacro(path, xacro, folders)) if suffix == ".xacro" else None
    root = root or read_xml(path)
    match suffix, root.tag:
        case (".sdf" | ".world", _) | (".xml" | ".mjcf" | ".xacro", "sdf"):
            return read_sdf(root, path, gravity, folders, problems)
        case (".urdf" | ".xacro", _) | (".xml" | ".mjcf", "robot"):
            return read_urdf(root, path, gravity, problems)
        case _:
            return read_mjcf(path)


def _symbolic(robot: str | Path) -> RobotModel | None:
    """The arm in a TOML file that has names of constants in place of numbers."""
    if not isinstance(robot, str | os.PathLike) or str(robot) in catalogue():
        return None
    path = expanded(robot)
    is_file = path.suffix.lower() == ".toml" and os.path.isfile(path)
    return read_symbolic_toml(path) if is_file else None


def _existing(robot: str | Path) -> Path:
    """The file of a robot; `os.path` also accepts strings that cannot be paths."""
    if not isinstance(robot, str | os.PathLike):
        raise ModelError(
            f"load was given {quoted(robot)}: expected the path of a file or the name of a robot"
        )
    if str(robot) in catalogue():
        return catalogue()[str(robot)]
    path = expanded(robot)
    if os.path.isfile(path):
        return path
    if os.path.isdir(path):
        raise ModelError(
            f"{shown(path.name or str(path))}: this is a folder: expected a file that "
            f"ends in one of {', '.join(ENDINGS)}"
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
    problems = Problems(description.where)
    check(description, problems)
    problems.settle(FROM_LOAD)
    found = assembled(description)
    check_tips(found, problems)
    problems.settle(FROM_LOAD)
    return found


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
    write(expanded(path), urdf_text(robot))


def to_toml(robot: RobotModel, path: str | Path) -> None:
    """Write the robot in armlet's own format, in the frames of the file it came from."""
    write(expanded(path), toml_text(robot))


__all__ = [
    "about",
    "catalogue",
    "from_dh",
    "from_model",
    "general_arm",
    "load",
    "lock",
    "read_mujoco",
    "read_pinocchio",
    "subchain",
    "to_toml",
    "to_urdf",
]

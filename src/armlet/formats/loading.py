"""From a file, or a model of another package, to a robot: read, checked, as the user chooses."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from armlet._support.files import expanded, shown_path
from armlet._support.validation import MAX_SIZE
from armlet.description import Description, assembled
from armlet.description.checks import check, check_tips, note_fixed_base
from armlet.description.description import without_freedoms
from armlet.description.mimic import note_contrary_limits, with_ties, without_lost_leaders
from armlet.description.order import reordered
from armlet.description.passive import check_passive, with_passive
from armlet.description.problems import Problems
from armlet.description.rounding import warn_of_rounded_angles
from armlet.errors import ModelError, quoted, shown
from armlet.formats.catalogue import catalogue
from armlet.formats.dh import array
from armlet.formats.folders import Folders
from armlet.formats.mesh_paths import with_mesh_paths
from armlet.formats.mjcf.reading import read_mjcf
from armlet.formats.sdf.reading import read_sdf
from armlet.formats.toml.reading import read_toml
from armlet.formats.toml.symbolic import read_symbolic_toml
from armlet.formats.urdf.reading import read_urdf
from armlet.formats.xacro import expanded_xacro
from armlet.formats.xml import Element, parsed_xml, read_xml
from armlet.robot import TOLERANCE, RobotModel
from armlet.scalar import Vector

EARTH = (0.0, 0.0, -9.81)
MAX_TOLERANCE = 0.1
ENDINGS = (".urdf", ".xacro", ".sdf", ".world", ".xml", ".mjcf", ".toml")
FROM_LOAD = 3
"""How far the call of `armlet.load` or `Robot.from_dh` is from a function here, for warnings."""


@dataclass(frozen=True)
class Choices:
    """What the user chooses about a robot that is read, as `armlet.load` documents it."""

    lock: Mapping[str, float] | None = None
    mimic: str = "couple"
    tool: str | None = None
    gravity: Sequence[float] | None = None
    strict: bool = False
    tolerance: float = TOLERANCE
    passive: str = "read"
    order: str | Sequence[str] = "file"
    locked: dict[str, float] = field(init=False)
    """The values of joints to lock, checked."""

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance)
        check_passive(self.passive)
        object.__setattr__(self, "locked", checked_lock(self.lock))


def load(
    robot: str | Path,
    folders: Sequence[str | Path],
    xacro: Mapping[str, Any] | None,
    choices: Choices,
) -> RobotModel:
    """The robot from the catalogue or a file."""
    if (arm := _symbolic(robot)) is not None:
        if choices.locked or choices.gravity is not None or choices.order != "file":
            raise ModelError(
                f"robot {quoted(arm.name)} has constants without a value: lock=, gravity= and "
                "order= are not taken; write them in the file"
            )
        return arm
    path = _existing(robot)
    problems = Problems(shown(path.name), choices.strict)
    places = Folders(path.parent, folders)
    description = with_mesh_paths(_read(path, places, xacro, problems), places)
    if str(robot) not in catalogue():
        description = replace(description, folder=os.path.abspath(path.parent))
    return _finished(description, problems, choices)


def from_model(
    read: Callable[[Any, Problems], Description], model: Any, name: str, choices: Choices
) -> RobotModel:
    """The robot of another package's model."""
    problems = Problems(shown(name), choices.strict)
    return _finished(read(model, problems), problems, choices)


def _finished(description: Description, problems: Problems, choices: Choices) -> RobotModel:
    """The robot of a description that was read, checked and with the user's choices made."""
    lock, stacklevel = choices.locked, FROM_LOAD + 1
    description = with_passive(description, choices.passive, problems)
    as_read = description
    description, lock = without_freedoms(description, lock)
    if choices.gravity is not None:
        description = replace(description, gravity=three(choices.gravity))
    check(description, problems)
    with problems.collected():
        description = without_lost_leaders(description, problems)
        description, lock = with_ties(description, lock, choices.mimic)
    problems.settle(stacklevel)
    description = reordered(description, lock, choices.order)
    found = assembled(description, lock, choices.tolerance)
    check_tips(found, problems)
    note_contrary_limits(found, problems)
    note_fixed_base(as_read, found, problems)
    problems.settle(stacklevel)
    warn_of_rounded_angles(found, description, lock, stacklevel)
    return found if choices.tool is None else found.with_tool(choices.tool)


def _check_tolerance(tolerance: float) -> None:
    if not 0 <= _as_float(tolerance) < MAX_TOLERANCE:
        raise ModelError(
            f"tolerance is {quoted(tolerance)}: expected a number of at least 0 and below "
            f"{MAX_TOLERANCE} (rad)"
        )


def checked_lock(lock: Mapping[str, float] | None) -> dict[str, float]:
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
    root = None if suffix == ".toml" else read_xml(path)
    is_xacro = suffix == ".xacro" or (root is not None and _is_all_xacro(root))
    if xacro is not None and not is_xacro:
        raise ModelError(f"{shown(path.name)}: xacro= is for files of xacro: leave it out")
    if root is None:
        return read_toml(path)
    if is_xacro:
        root = parsed_xml(*expanded_xacro(path, xacro, folders))
        if root.tag == "mujoco":
            raise ModelError(
                f"{shown(path.name)}: it is MJCF made with xacro: load what xacro makes of it"
            )
    match suffix, root.tag:
        case (".sdf" | ".world", _) | (".xml" | ".mjcf" | ".xacro", "sdf"):
            return read_sdf(root, path, gravity, folders, problems)
        case (".urdf" | ".xacro", _) | (".xml" | ".mjcf", "robot"):
            return read_urdf(root, path, gravity, problems)
        case _:
            return read_mjcf(path, folders, problems)


def _is_all_xacro(root: Element) -> bool:
    """Whether a file has elements of xacro and no link.

    Those that have links are read as they are, like in other readers: files that xacro expanded
    often have some of its elements left.
    """
    return not root.all("link") and any(x.tag.startswith("xacro:") for x in root.children)


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


def three(gravity: Sequence[float | str]) -> Vector:
    try:
        return array(gravity).reshape(3)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"gravity is {quoted(gravity)}: expected three numbers, in base axes"
        ) from None

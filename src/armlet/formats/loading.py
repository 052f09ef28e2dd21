"""Load robots from files and from models of other packages."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from inspect import Parameter, signature
from math import nan
from numbers import Real
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from armlet._support.files import expand_user, shown_path
from armlet._support.validation import MAX_SIZE
from armlet.description import Description, assemble, describe
from armlet.description.checks import check, check_tips, note_fixed_base
from armlet.description.coupling import (
    Mimic,
    apply_mimic,
    drop_lost_leaders,
    note_contrary_limits,
    ties_between,
)
from armlet.description.options import PASSIVE, Passive, apply_passive, fix_unsupported, reorder
from armlet.description.problems import Problems
from armlet.description.rounding import warn_of_rounded_angles
from armlet.errors import ModelError, clip, quote
from armlet.formats.dh import gravity_vector
from armlet.formats.files import Folders, locate_meshes
from armlet.formats.mjcf import read_mjcf
from armlet.formats.sdf import read_sdf
from armlet.formats.toml import read_toml
from armlet.formats.urdf import read_urdf
from armlet.formats.xacro import expand_xacro
from armlet.formats.xml import read_xml
from armlet.robot import TOLERANCE, RobotModel

ENDINGS = (".urdf", ".xacro", ".sdf", ".world", ".xml", ".mjcf", ".toml")
FROM_USER = 5
"""The `stacklevel` at which warnings of `_finish` point to the user's call of `armlet.load`."""

Keywords = ParamSpec("Keywords")
Source = TypeVar("Source")
Options = TypeVar("Options")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """Options for robots from any source; `armlet.load` documents each option."""

    lock: Mapping[str, float] | None = None
    mimic: Mimic = "couple"
    tool: str | None = None
    gravity: Sequence[float] | None = None
    strict: bool = False
    tolerance: float = TOLERANCE
    passive: Passive = "read"
    order: Literal["file", "pinocchio"] | Sequence[str] = "file"

    def __post_init__(self) -> None:
        lock_values(self.lock)
        if not 0 <= _as_float(self.tolerance) < 0.1:
            raise ModelError(
                f"tolerance is {quote(self.tolerance)}: expected a number of at least 0 and below "
                "0.1 (rad)"
            )
        if self.passive not in PASSIVE:
            raise ModelError(f"passive is {quote(self.passive)}: expected 'read' or 'ignore'")


@dataclass(frozen=True, kw_only=True)
class LoadOptions(RobotOptions):
    folders: Sequence[str | Path] = ()
    xacro: Mapping[str, str | float | bool] | None = None


@dataclass(frozen=True, kw_only=True)
class ModelOptions(RobotOptions):
    """Options for a robot from a MuJoCo or Pinocchio model."""

    name: str | None = None


def takes_options(
    options: Callable[Keywords, Options],
) -> Callable[
    [Callable[[Source, Options], Result]], Callable[Concatenate[Source, Keywords], Result]
]:
    """Decorate a `function(source, options)` so that callers pass each option as a keyword."""

    def decorate(
        function: Callable[[Source, Options], Result],
    ) -> Callable[Concatenate[Source, Keywords], Result]:
        @wraps(function)
        def call(source: Source, /, *args: Keywords.args, **kwargs: Keywords.kwargs) -> Result:
            return function(source, options(*args, **kwargs))

        own = signature(function)
        first = next(iter(own.parameters.values())).replace(kind=Parameter.POSITIONAL_ONLY)
        shown = own.replace(parameters=[first, *signature(options).parameters.values()])
        hints = {parameter.name: parameter.annotation for parameter in shown.parameters.values()}
        call.__annotations__ = hints | {"return": own.return_annotation}
        vars(call)["__signature__"] = shown
        return call

    return decorate


def lock_values(lock: Mapping[str, float] | None) -> dict[str, float]:
    """Return joint name -> locked position; refuse positions that are not finite numbers."""
    lock = {} if lock is None else lock
    if not isinstance(lock, Mapping):
        raise ModelError(f"lock is {quote(lock)}: expected a value for each joint, by its name")
    for name, value in lock.items():
        if not abs(_as_float(value)) < MAX_SIZE:
            raise ModelError(
                f"joint {quote(name)} cannot be locked at {quote(value)}: expected a finite number"
            )
    return {str(name): float(value) for name, value in lock.items()}


def _as_float(value: Any) -> float:
    """Return a real number as a float, and NaN for any other value."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    except OverflowError:
        return nan


@cache
def catalogue() -> dict[str, Path]:
    """Return arm name -> file, for the arms in the catalogue."""
    folder = Path(__file__).with_name("catalog")
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def about(name: str) -> dict[str, str]:
    data = tomllib.loads(catalogue()[name].read_text(encoding="utf-8"))
    return {"title": data["title"], "source": data["source"]}


def load(robot: str | Path, options: LoadOptions) -> RobotModel:
    path = _existing(robot)
    problems = Problems(clip(path.name), options.strict)
    folders = Folders(path.parent, options.folders)
    source = _read(path, folders, options, problems)
    if isinstance(source, RobotModel):
        if options.lock or options.gravity is not None or options.order != "file":
            raise ModelError(
                f"robot {quote(source.name)} has constants without a value: lock=, gravity= and "
                "order= are not taken; write them in the file"
            )
        return source
    description = locate_meshes(source, folders)
    if str(robot) not in catalogue():
        description = replace(description, folder=os.path.abspath(path.parent))
    return _finish(description, problems, options)


def from_model(
    read: Callable[[Any, Problems], Description], model: Any, name: str, options: RobotOptions
) -> RobotModel:
    problems = Problems(clip(name), options.strict)
    return _finish(read(model, problems), problems, options)


def lock(robot: RobotModel, values: Mapping[str, float]) -> RobotModel:
    return assemble(describe(robot), lock_values(values))


def subchain(robot: RobotModel, tip: str) -> RobotModel:
    path, whole = robot.path(robot.frame(tip).body), describe(robot)
    names = {robot.base_link, *(robot.links[i] for i in path)}
    names |= {name for name, frame in robot.frames.items() if frame.body in path}
    links = tuple(link for link in whole.links if link.name in names)
    joints = tuple(joint for joint in whole.joints if joint.child in names)
    ties = ties_between(robot, path)
    return assemble(replace(whole, links=links, joints=joints, tool=tip, ties=ties))


def _finish(description: Description, problems: Problems, options: RobotOptions) -> RobotModel:
    """Check a description, apply the user's options, and assemble the robot."""
    description = apply_passive(description, options.passive, problems)
    as_read = description
    description, lock = fix_unsupported(description, lock_values(options.lock))
    if options.gravity is not None:
        description = replace(description, gravity=gravity_vector(options.gravity))
    check(description, problems)
    with problems.collect():
        description = drop_lost_leaders(description, problems)
        description, lock = apply_mimic(description, lock, options.mimic)
    problems.report(FROM_USER)
    description = reorder(description, lock, options.order)
    robot = assemble(description, lock, options.tolerance)
    check_tips(robot, problems)
    note_contrary_limits(robot, problems)
    note_fixed_base(as_read, robot, problems)
    problems.report(FROM_USER)
    warn_of_rounded_angles(robot, description, lock, FROM_USER)
    return robot if options.tool is None else robot.with_tool(options.tool)


def _read(
    path: Path, folders: Folders, options: LoadOptions, problems: Problems
) -> Description | RobotModel:
    """Read a file of any format as a description, or as a robot if it has symbolic constants."""
    suffix = path.suffix.lower()
    if suffix not in ENDINGS:
        raise ModelError(
            f"{clip(path.name)}: the ending is {quote(path.suffix)}: expected one of "
            f"{', '.join(ENDINGS)}"
        )
    root = None if suffix == ".toml" else read_xml(path)
    is_xacro = suffix == ".xacro"
    if root is not None and not root.all("link"):  # expanded files may keep xacro elements
        is_xacro |= any(child.tag.startswith("xacro:") for child in root.children)
    if options.xacro is not None and not is_xacro:
        raise ModelError(f"{clip(path.name)}: xacro= is for files of xacro: leave it out")
    if root is None:
        return read_toml(path)
    if is_xacro:
        root = expand_xacro(path, root, options.xacro, folders)
        if root.tag == "mujoco":
            raise ModelError(
                f"{clip(path.name)}: MJCF that uses xacro: expand it and load the result"
            )
    match suffix, root.tag:
        case (".sdf" | ".world", _) | (".xml" | ".mjcf" | ".xacro", "sdf"):
            return read_sdf(root, path, folders, problems)
        case (".urdf" | ".xacro", _) | (".xml" | ".mjcf", "robot"):
            return read_urdf(root, path, problems)
        case _:
            return read_mjcf(root, path, folders, problems)


def _existing(robot: str | Path) -> Path:
    """Return the file of `robot`, a name in the catalogue or a path; raise if there is none."""
    if not isinstance(robot, str | os.PathLike):
        raise ModelError(
            f"load was given {quote(robot)}: expected the path of a file or the name of a robot"
        )
    if str(robot) in catalogue():
        return catalogue()[str(robot)]
    path = expand_user(robot)
    if os.path.isfile(path):  # os.path also accepts strings that cannot be paths
        return path
    if os.path.isdir(path):
        raise ModelError(
            f"{clip(path.name or str(path))}: this is a folder: expected a file that "
            f"ends in one of {', '.join(ENDINGS)}"
        )
    if "<" in str(robot):
        raise ModelError(
            "load was given the text of a file: expected its path, or the name of a robot"
        )
    if not path.suffix:
        names = ", ".join(catalogue())
        raise ModelError(
            f"no robot is called {quote(str(robot))}: expected a file, or one of {names}"
        )
    raise ModelError(f"{shown_path(path)}: no such file")

"""Reading armlet's own format, in TOML."""

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from math import inf, radians
from pathlib import Path
from typing import Any

import numpy as np

from armlet.algebra import symmetric
from armlet.description import Connection, Description, Link, Tie
from armlet.description.checks import MOVING
from armlet.description.description import Mesh
from armlet.description.keyframes import Keyframes, check_values
from armlet.errors import ModelError, quoted, shown
from armlet.formats.dh import check_angles, check_convention, checked_row, dh_connection
from armlet.formats.file import contents
from armlet.robot import Compensation, Drive, Limits, Pose, Spring, pose
from armlet.scalar import Vector

TOP = {
    "name", "title", "source", "gravity", "angles", "convention", "tool", "base", "body", "frame",
    "keyframe",
}  # fmt: skip
BODY = {
    "name", "joint", "kind", "parent", "dh", "xyz", "rpy", "axis", "point", "mass", "com",
    "inertia", "as_published", "limits", "drive", "spring", "gravity_compensation", "mimic",
    "meshes",
}  # fmt: skip
FRAME = {"name", "parent", "xyz", "rpy", "meshes"}
PLACE = {"xyz", "rpy", "axis", "point"}
"""The keys that place a joint without a DH row."""
MAX_PARTS = 20
"""How many parts a key may have, and how deep arrays and tables may be nested."""
SYNTAX = re.compile(
    r'''
      \#[^\n]*+
    | """(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{0,5}
    | \'\'\'(?:[^']++|'{1,2}(?!'))*+'{0,5}
    | "(?:[^"\\\n]++|\\[^\n])*+"?
    | '[^'\n]*+'?
    | (?P<mark> [][{}.,=\n] )
    ''',
    re.VERBOSE | re.DOTALL,
)
"""Matches whole comments and strings, and the structural characters between them."""
MEANING = {"moment": " x, y, z", "dh": " alpha, a, d, theta", "inertia": " xx, xy, xz, yy, yz, zz"}


class Table:
    """A table of the file, with its name for messages."""

    def __init__(self, data: Mapping[str, Any], where: str, known: set[str]) -> None:
        self.data, self.where = data, where
        unknown = sorted(set(data) - known)
        if unknown:
            raise ModelError(
                f"{where}: unknown key {quoted(unknown[0])}: expected one of "
                f"{', '.join(sorted(known))}"
            )

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str) or not value:
            raise self.unlike(key, "a string")
        return value

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise self.unlike(key, "true or false")
        return value

    def number(self, key: str, default: float | None = None, limit: bool = False) -> float:
        """A finite number; a limit may be infinite."""
        value = self.data.get(key, default)
        if not _is_finite(value) and not (limit and value in (-inf, inf)):
            raise self.unlike(key, "a number or inf" if limit else "a finite number")
        return float(value)

    def numbers(self, key: str, n: int, default: Sequence[float] | None = None) -> Vector:
        value = self.data.get(key, default)
        listed = value if isinstance(value, list | tuple) else ()
        if len(listed) != n or not all(map(_is_finite, listed)):
            raise self.unlike(key, f"{n} finite numbers{MEANING.get(key, '')}")
        return np.array(listed, dtype=float)

    def table(self, key: str, known: set[str]) -> "Table":
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.unlike(key, "a table {…}")
        return Table(value, f"{self.where}, {key}", known)

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
            raise self.unlike(key, f"tables [[{key}]], in double brackets")
        return value

    def unlike(self, key: str, wanted: str) -> ModelError:
        """The error for a key whose value is not as wanted."""
        value = self.data.get(key)
        found = "one table" if isinstance(value, dict) else quoted(value)
        found = found if key in self.data else "missing"
        return ModelError(f"{self.where}: {key} is {found}: expected {wanted}")


def _is_finite(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= sys.float_info.max


def _check_structure(text: str, file: str) -> None:
    """Refuse long dotted keys and deep nesting, on which tomllib is very slow or fails."""
    line, depth, parts = 1, 0, 1
    for match in SYNTAX.finditer(text):
        mark = match["mark"]
        if mark is None:
            line += match[0].count("\n")
        elif mark == ".":
            parts += 1
        else:
            parts = 1
            line += mark == "\n"
            depth += (mark in "[{") - (mark in "]}")
        if parts > MAX_PARTS:
            raise ModelError(
                f"{file}, line {line}: a key of more than {MAX_PARTS} parts: expected fewer"
            )
        if depth > MAX_PARTS:
            raise ModelError(
                f"{file}, line {line}: arrays or tables are nested deeper than {MAX_PARTS} levels: "
                "expected fewer"
            )


def parsed(path: Path) -> dict[str, Any]:
    """The data of a TOML file."""
    file = shown(path.name)
    try:
        text = contents(path).decode("utf-8-sig")
        _check_structure(text, file)
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ModelError(
            f"{file}, line {line}: not valid TOML: the byte {error.object[error.start]:#x} is not "
            "UTF-8: save the file as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{file}: not valid TOML: {shown(str(error))}") from None
    except ValueError:
        raise ModelError(f"{file}: an integer has thousands of digits: expected fewer") from None


def read_toml(path: Path) -> Description:
    """The description in a TOML file."""
    file = shown(path.name)
    top = Table(parsed(path), file, TOP)
    if top.data.get("angles") not in ("degrees", "radians"):
        raise top.unlike("angles", "'degrees' or 'radians'")
    unit = radians(1) if top.data["angles"] == "degrees" else 1.0
    convention = top.text("convention") if "convention" in top.data else None
    if convention is not None:
        check_convention(convention, file)
    base = top.text("base", "base")
    links, joints, ties = [Link(base, where=file)], [], []
    for k, entry in enumerate(top.tables("body")):
        label = f"body {quoted(entry.get('name', k + 1))}"
        body = Table(entry, f"{file}, {label}", BODY)
        joint = _joint(body, convention, unit, links[-1].name)
        links.append(_link(body, unit))
        joints.append(joint)
        ties += _mimic(body, joint, unit)
    for k, entry in enumerate(top.tables("frame")):
        frame = Table(entry, f"{file}, frame {quoted(entry.get('name', k + 1))}", FRAME)
        name = frame.text("name")
        links.append(Link(name, meshes=_meshes(frame, unit), where=frame.where))
        at, parent = _pose(frame, unit), frame.text("parent")
        joints.append(Connection(f"{name}_fixed", "fixed", parent, name, at, where=frame.where))
    return Description(
        name=top.text("name", shown(path.stem)),
        links=tuple(links),
        joints=tuple(joints),
        gravity=top.numbers("gravity", 3),
        tool=top.text("tool") if "tool" in top.data else None,
        source=top.text("source", file),
        where=file,
        ties=tuple(ties),
        keyframes=_keyframes(top, joints, unit),
    )


def _keyframes(top: Table, joints: Sequence[Connection], unit: float) -> Keyframes:
    """The named values of the joints that move; those that are not given are zero."""
    scale = {j.name: 1.0 if j.kind == "prismatic" else unit for j in joints if j.kind in MOVING}
    check_values(len(top.tables("keyframe")), len(scale), top.where)
    found: Keyframes = {}
    for k, entry in enumerate(top.tables("keyframe")):
        where = f"{top.where}, keyframe {quoted(entry.get('name', k + 1))}"
        keyframe = Table(entry, where, {"name", "q"})
        q = keyframe.table("q", set(scale))
        name = keyframe.text("name")
        if name in found:
            raise ModelError(f"{where}: two keyframes are called {quoted(name)}: names must differ")
        found[name] = {joint: x * q.number(joint, 0.0) for joint, x in scale.items()}
    return found


def _mimic(body: Table, joint: Connection, unit: float) -> list[Tie]:
    """The tie of a joint to the one that it mimics, if it does and can move."""
    if "mimic" not in body.data or joint.kind == "fixed":
        return []
    mimic = body.table("mimic", {"joint", "factor", "offset"})
    leader, factor = mimic.text("joint"), mimic.number("factor", 1.0)
    offset = mimic.number("offset", 0.0) * (1.0 if joint.kind == "prismatic" else unit)
    said = f"joint {quoted(joint.name)} mimics joint {quoted(leader)}"
    return [Tie(joint.name, leader, (offset, factor), said, mimic.where)]


def _pose(table: Table, unit: float) -> Pose:
    rpy = unit * table.numbers("rpy", 3, (0.0, 0.0, 0.0))
    check_angles(dict(zip(("roll", "pitch", "yaw"), rpy, strict=True)), f"{table.where}: rpy")
    return pose(table.numbers("xyz", 3, (0.0, 0.0, 0.0)), rpy)


def _joint(body: Table, convention: str | None, unit: float, previous: str) -> Connection:
    name, child = body.text("joint"), body.text("name")
    kind = body.text("kind", "revolute")
    parent = body.text("parent", previous)
    turns = kind != "prismatic"
    _check_place(body, convention)
    if convention is not None:
        row = body.numbers("dh", 4) * [unit, 1, 1, unit]
        connection = dh_connection(
            checked_row(row, f"{body.where}: dh"), convention, kind, name, parent, child
        )
    else:
        connection = Connection(
            name, kind, parent, child,
            pose=_pose(body, unit),
            axis=body.numbers("axis", 3, (0.0, 0.0, 1.0)),
            point=body.numbers("point", 3, (0.0, 0.0, 0.0)),
        )  # fmt: skip
    limits = body.table("limits", set(Limits._fields))
    scale = unit if turns else 1.0
    drive = body.table("drive", set(Drive._fields))
    spring = body.table("spring", set(Spring._fields))
    return Connection(
        **{
            **vars(connection),
            "limits": Limits(
                lower=scale * limits.number("lower", -inf, limit=True),
                upper=scale * limits.number("upper", inf, limit=True),
                velocity=scale * limits.number("velocity", inf, limit=True),
                effort=limits.number("effort", inf, limit=True),
            ),
            "drive": Drive(*(drive.number(key, 0.0) for key in Drive._fields)),
            "spring": Spring(
                spring.number("stiffness", 0.0), scale * spring.number("reference", 0.0)
            ),
            "where": body.where,
        }
    )


def _check_place(body: Table, convention: str | None) -> None:
    """Refuse a DH row without a convention, and a pose in addition to or instead of a row."""
    if convention is None and "dh" in body.data:
        raise ModelError(
            f"{body.where}: dh is given, but the file has no convention: expected convention = "
            "'standard' or 'modified' at the top of the file, or xyz, rpy and axis here"
        )
    given = sorted(PLACE & set(body.data))
    if convention is not None and given:
        raise ModelError(
            f"{body.where}: {given[0]} is given, but the file has the convention "
            f"{quoted(convention)}: expected dh alone, or no convention"
        )


def _link(body: Table, unit: float) -> Link:
    part = body.table("gravity_compensation", set(Compensation._fields))
    return Link(
        name=body.text("name"),
        mass=body.number("mass", 0.0),
        com=body.numbers("com", 3, (0.0, 0.0, 0.0)),
        inertia=symmetric(*body.numbers("inertia", 6, (0.0,) * 6)).astype(float),
        meshes=_meshes(body, unit),
        as_published=body.flag("as_published"),
        where=body.where,
        compensation=Compensation(
            part.number("mass", 0.0), part.numbers("moment", 3, (0.0, 0.0, 0.0))
        ),
    )


def _meshes(table: Table, unit: float) -> tuple[Mesh, ...]:
    meshes = []
    for entry in table.tables("meshes"):
        mesh = Table(entry, f"{table.where}, meshes", {"file", "xyz", "rpy", "scale"})
        scale = tuple(mesh.numbers("scale", 3, (1.0, 1.0, 1.0)).tolist())
        meshes.append(Mesh(mesh.text("file"), _pose(mesh, unit), scale))
    return tuple(meshes)

"""Read and write armlet's own TOML format, with numbers or names of constants."""

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, radians
from pathlib import Path
from typing import Any

import numpy as np

from armlet._support.files import write
from armlet.algebra import symmetric, upper_triangle
from armlet.description import Connection, Description, Link, Mesh, Tie, describe
from armlet.description.coupling import mimic_tie
from armlet.description.description import fixed
from armlet.description.options import is_compensated
from armlet.errors import ModelError, clip, quote
from armlet.formats.dh import (
    check_angles,
    check_convention,
    dh_connection,
    dh_row,
    has_symbols,
    symbolic_arm,
)
from armlet.formats.files import read_bytes
from armlet.robot import Compensation, Drive, Limits, Pose, RobotModel, Spring, pose
from armlet.robot.joints import JOINT_TYPES, joint_kinds
from armlet.robot.pose import TOLERANCE, rpy_of
from armlet.scalar import Vector

PLACE = {"xyz", "rpy", "axis", "point"}
"""Keys that place a joint without a DH row."""
PARAMETERS = {"mass", "com", "inertia"}
SYMBOLIC = {"dh", "phi"} | PARAMETERS
"""Keys of a body whose values may be names of constants."""
SYMBOLIC_TOP = {"name", "title", "source", "gravity", "angles", "convention", "base", "body"}
SYMBOLIC_BODY = {"name", "joint", "kind", "parent"} | SYMBOLIC
TOP = SYMBOLIC_TOP | {"tool", "frame", "keyframe"}
BODY = {"name", "joint", "kind", "parent", "dh", "as_published", "limits", "drive", "spring"}
BODY |= {"gravity_compensation", "mimic", "meshes", "pitch"} | PLACE | PARAMETERS
FRAME = {"name", "parent", "xyz", "rpy", "meshes"}
QUATERNION_TOLERANCE = 1e-6
"""Largest difference of the length of a quaternion from 1."""
MAX_PARTS = 20
"""Maximum number of parts in a dotted key, and maximum nesting of arrays and tables."""
TEXTS = re.compile(
    r'''
      \#[^\n]*+
    | """(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{0,5}
    | \'\'\'(?:[^']++|'{1,2}(?!'))*+'{0,5}
    | "(?:[^"\\\n]++|\\[^\n])*+"?
    | '[^'\n]*+'?
    ''',
    re.VERBOSE | re.DOTALL,
)
"""Matches comments and strings."""
LONG_KEY = re.compile(rf"(?:\A|(?<=[][{{}}.,=\n]))(?:[^][{{}}.,=\n]*+\.){{{MAX_PARTS}}}")
MEANING = {"moment": " x, y, z", "dh": " alpha, a, d, theta", "inertia": " xx, xy, xz, yy, yz, zz"}


class Table:
    """A table of the file; `where` is the table's name in messages."""

    def __init__(self, data: Mapping[str, Any], where: str, keys: set[str]) -> None:
        self.data, self.where = data, where
        unknown = sorted(set(data) - keys)
        if unknown:
            raise ModelError(
                f"{where}: unknown key {quote(unknown[0])}: expected one of "
                f"{', '.join(sorted(keys))}"
            )

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str) or not value:
            raise self.unlike(key, "a string")
        return value

    def number(self, key: str, default: float | None = None, limit: bool = False) -> float:
        """Return a finite number; with `limit`, the number may be infinite."""
        value = self.data.get(key, default)
        if not _is_finite(value) and not (limit and value in (-inf, inf)):
            raise self.unlike(key, "a number or inf" if limit else "a finite number")
        return float(value)

    def numbers(
        self, key: str, n: int, default: Sequence[float] | None = None, meaning: str = ""
    ) -> Vector:
        value = self.data.get(key, default)
        listed = value if isinstance(value, list | tuple) else ()
        if len(listed) != n or not all(map(_is_finite, listed)):
            raise self.unlike(key, f"{n} finite numbers{meaning or MEANING.get(key, '')}")
        return np.array(listed, dtype=float)

    def table(self, key: str, keys: set[str]) -> "Table":
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.unlike(key, "a table {…}")
        return Table(value, f"{self.where}, {key}", keys)

    def tables(self, key: str, keys: set[str]) -> "list[Table]":
        """Return the tables of an array of tables; messages show each table's name or number."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
            raise self.unlike(key, f"tables [[{key}]], in double brackets")
        names = [x.get("name", x.get("file", k + 1)) for k, x in enumerate(value)]
        return [
            Table(x, f"{self.where}, {key} {quote(name)}", keys)
            for x, name in zip(value, names, strict=True)
        ]

    def unit_of_angles(self) -> float:
        """Return the file's unit of angle in radians: pi/180 for degrees."""
        if self.data.get("angles") not in ("degrees", "radians"):
            raise self.unlike("angles", "'degrees' or 'radians'")
        return radians(1) if self.data["angles"] == "degrees" else 1.0

    def unlike(self, key: str, wanted: str) -> ModelError:
        value = self.data.get(key)
        text = "one table" if isinstance(value, dict) else quote(value)
        state = text if key in self.data else "missing"
        return ModelError(f"{self.where}: {key} is {state}: expected {wanted}")


def _is_finite(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= sys.float_info.max


def _check_structure(text: str, file: str) -> None:
    """Refuse long dotted keys and deep nesting, for which tomllib is very slow or fails."""
    plain = TEXTS.sub(lambda match: "\n" * match[0].count("\n"), text)
    key, depth, reason = LONG_KEY.search(plain), 0, f"a key of more than {MAX_PARTS} parts"
    at = key.start() if key else None
    for bracket in re.finditer(r"[][{}]", plain[:at]):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_PARTS:
            at = bracket.start()
            reason = f"arrays or tables are nested deeper than {MAX_PARTS} levels"
            break
    if at is not None:
        line = plain.count("\n", 0, at) + 1
        raise ModelError(f"{file}, line {line}: {reason}: expected fewer")


def _parse(path: Path) -> dict[str, Any]:
    file = clip(path.name)
    try:
        text = read_bytes(path).decode("utf-8-sig")
        _check_structure(text, file)
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ModelError(
            f"{file}, line {line}: not valid TOML: the byte {error.object[error.start]:#x} is not "
            "UTF-8: save the file as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{file}: not valid TOML: {clip(str(error))}") from None
    except ValueError:
        raise ModelError(f"{file}: an integer has thousands of digits: expected fewer") from None


def read_toml(path: Path) -> Description | RobotModel:
    """Read a TOML file into a description, or into a robot if the file has names of constants."""
    file, data = clip(path.name), _parse(path)
    bodies = data.get("body")
    tables = [x for x in bodies if isinstance(x, dict)] if isinstance(bodies, list) else []
    if has_symbols([data.get("gravity"), [x.get(key) for x in tables for key in SYMBOLIC]]):
        return _symbolic_arm(Table(data, file, SYMBOLIC_TOP), clip(path.stem))
    top = Table(data, file, TOP)
    unit = top.unit_of_angles()
    convention = top.text("convention") if "convention" in top.data else None
    if convention is not None:
        check_convention(convention, file)
    base = top.text("base", "base")
    links, joints, ties = [Link(base, where=file)], [], []
    for body in top.tables("body", BODY):
        joint = _joint(body, convention, unit, links[-1].name)
        links.append(_link(body, unit))
        joints.append(joint)
        ties += _mimic(body, joint, unit)
    for frame in top.tables("frame", FRAME):
        name = frame.text("name")
        links.append(Link(name, meshes=_meshes(frame, unit), where=frame.where))
        at, parent = _pose(frame, unit), frame.text("parent")
        joints.append(fixed(name, parent, at, frame.where))
    return Description(
        name=top.text("name", clip(path.stem)),
        links=tuple(links),
        joints=tuple(joints),
        gravity=top.numbers("gravity", 3),
        tool=top.text("tool") if "tool" in top.data else None,
        source=top.text("source", file),
        where=file,
        ties=tuple(ties),
        keyframes=_keyframes(top, joints, unit),
        format="TOML",
    )


def _keyframes(
    top: Table, joints: Sequence[Connection], unit: float
) -> dict[str, dict[str, list[float]]]:
    """Return keyframe name -> joint name -> positions; joints that are left out are neutral."""
    moving = {joint.name: joint.kind for joint in joints if joint.kind in JOINT_TYPES}
    keyframes: dict[str, dict[str, list[float]]] = {}
    for keyframe in top.tables("keyframe", {"name", "q"}):
        q = keyframe.table("q", set(moving))
        name = keyframe.text("name")
        if name in keyframes:
            raise ModelError(
                f"{keyframe.where}: two keyframes are called {quote(name)}: names must differ"
            )
        keyframes[name] = {
            joint: _positions(q, joint, kind, unit) for joint, kind in moving.items()
        }
    return keyframes


def _positions(q: Table, joint: str, kind: str, unit: float) -> list[float]:
    """Return the positions of a joint in a keyframe: one number, or a quaternion of length 1."""
    if JOINT_TYPES[kind].is_vector_space:
        return [(1.0 if kind == "prismatic" else unit) * q.number(joint, 0.0)]
    quaternion = q.numbers(joint, 4, JOINT_TYPES[kind].neutral, " x, y, z, w")
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1) > QUATERNION_TOLERANCE:
        raise q.unlike(joint, "a quaternion x, y, z, w of length 1")
    scale = 1.0 if abs(length - 1) < TOLERANCE else 1 / length
    return [scale * x for x in quaternion.tolist()]


def _mimic(body: Table, joint: Connection, unit: float) -> list[Tie]:
    if "mimic" not in body.data or joint.kind == "fixed":
        return []
    mimic = body.table("mimic", {"joint", "factor", "offset"})
    offset = mimic.number("offset", 0.0) * (1.0 if joint.kind == "prismatic" else unit)
    factor = mimic.number("factor", 1.0)
    return [mimic_tie(joint.name, mimic.text("joint"), factor, offset, mimic.where)]


def _pose(table: Table, unit: float) -> Pose:
    rpy = unit * table.numbers("rpy", 3, (0.0, 0.0, 0.0))
    check_angles(dict(zip(("roll", "pitch", "yaw"), rpy, strict=True)), f"{table.where}: rpy")
    return pose(table.numbers("xyz", 3, (0.0, 0.0, 0.0)), rpy)


def _joint(body: Table, convention: str | None, unit: float, previous: str) -> Connection:
    name, child = body.text("joint"), body.text("name")
    kind, parent = body.text("kind", "revolute"), body.text("parent", previous)
    if convention is not None:
        if place := sorted(PLACE & set(body.data)):
            raise ModelError(
                f"{body.where}: {place[0]} is given, but the file has the convention "
                f"{quote(convention)}: expected dh alone, or no convention"
            )
        if kind in JOINT_TYPES and kind not in joint_kinds("DH"):
            raise ModelError(
                f"{body.where}: joint {quote(name)} is {kind}, but the file has the convention "
                f"{quote(convention)}: expected {', '.join(joint_kinds('DH'))}, or no convention"
            )
        row = dh_row(body.numbers("dh", 4) * [unit, 1, 1, unit], f"{body.where}: dh")
        connection = dh_connection(row, convention, kind, name, parent, child)
    else:
        if "dh" in body.data:
            raise ModelError(
                f"{body.where}: dh is given, but the file has no convention: expected convention = "
                "'standard' or 'modified' at the top of the file, or xyz, rpy and axis here"
            )
        for key in ("axis", "point"):
            if key in body.data and kind in JOINT_TYPES and not JOINT_TYPES[kind].has_axis:
                raise body.unlike(key, f"none, since joint {quote(name)} is {kind}")
        axis = body.numbers("axis", 3, (0.0, 0.0, 1.0))
        point = body.numbers("point", 3, (0.0, 0.0, 0.0))
        connection = Connection(name, kind, parent, child, _pose(body, unit), axis, point)
    has_pitch = kind in JOINT_TYPES and JOINT_TYPES[kind].with_pitch is not None
    if "pitch" in body.data and not has_pitch:
        raise body.unlike("pitch", f"none, since joint {quote(name)} is {kind}")
    scale = 1.0 if kind == "prismatic" else unit
    limits = body.table("limits", set(Limits._fields))
    *motion, effort = (limits.number(*item, limit=True) for item in Limits()._asdict().items())
    drive = body.table("drive", set(Drive._fields))
    spring = body.table("spring", set(Spring._fields))
    return replace(
        connection,
        limits=Limits(*(scale * x for x in motion))._replace(effort=effort),
        drive=Drive(*(drive.number(key, 0.0) for key in Drive._fields)),
        spring=Spring(spring.number("stiffness", 0.0), scale * spring.number("reference", 0.0)),
        where=body.where,
        pitch=body.number("pitch") if has_pitch else 0.0,
    )


def _link(body: Table, unit: float) -> Link:
    lifted = body.table("gravity_compensation", set(Compensation._fields))
    as_published = body.data.get("as_published", False)
    if not isinstance(as_published, bool):
        raise body.unlike("as_published", "true or false")
    return Link(
        name=body.text("name"),
        mass=body.number("mass", 0.0),
        com=body.numbers("com", 3, (0.0, 0.0, 0.0)),
        inertia=symmetric(*body.numbers("inertia", 6, (0.0,) * 6)).astype(float),
        meshes=_meshes(body, unit),
        as_published=as_published,
        where=body.where,
        compensation=Compensation(
            lifted.number("mass", 0.0), lifted.numbers("moment", 3, (0.0, 0.0, 0.0))
        ),
    )


def _meshes(table: Table, unit: float) -> tuple[Mesh, ...]:
    tables = table.tables("meshes", {"file", "xyz", "rpy", "scale"})
    scales = [tuple(mesh.numbers("scale", 3, (1.0, 1.0, 1.0)).tolist()) for mesh in tables]
    poses = [_pose(mesh, unit) for mesh in tables]
    return tuple(map(Mesh, (mesh.text("file") for mesh in tables), poses, scales))


def _symbolic_arm(top: Table, name: str) -> RobotModel:
    """Return the serial arm of a file whose DH rows and inertias have names of constants."""
    unit = top.unit_of_angles()
    tables = top.tables("body", SYMBOLIC_BODY)
    base = top.text("base", "base")
    links = [table.text("name") for table in tables]
    for table, before in zip(tables, [base, *links], strict=False):
        if table.text("parent", before) != before:
            raise table.unlike("parent", f"{quote(before)}: a table with names is of a serial arm")
        if table.text("kind", "revolute") not in joint_kinds("DH"):
            raise table.unlike("kind", f"one of {', '.join(joint_kinds('DH'))}")
    return symbolic_arm(
        top.text("name", name),
        [_in_radians(table, unit) for table in tables],
        top.text("convention"),
        "".join(JOINT_TYPES[table.text("kind", "revolute")].letter for table in tables),
        top.data.get("gravity"),
        [_body(table) for table in tables],
        (base, [table.text("joint") for table in tables], links),
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
    """Return the ten parameters `phi` of a body, or (mass, com, inertia) with zeros by default."""
    data = table.data
    if "phi" not in data:
        return data.get("mass", 0), data.get("com", (0, 0, 0)), data.get("inertia", (0,) * 6)
    if both := sorted(PARAMETERS & set(data)):
        raise ModelError(f"{table.where}: phi and {both[0]} are given: expected one of the two")
    return data["phi"]


def write_toml(robot: RobotModel, path: str | Path) -> None:
    write(path, toml_text(robot))


def toml_text(robot: RobotModel) -> str:
    """Return the robot as TOML text, with poses and axes (not DH rows) and angles in radians."""
    description = describe(robot)
    links = {link.name: link for link in description.links}
    ties = {tie.joint: tie for tie in description.ties}
    top = {
        "name": robot.name,
        "source": robot.source or robot.name,
        "gravity": description.gravity,
        "angles": "radians",
        "base": robot.base_link,
    }
    lines = _entries(top | ({"tool": robot.tool} if robot.tool else {}))
    for joint in description.joints:
        header = "[[frame]]" if joint.kind == "fixed" else "[[body]]"
        table = _joint_table(joint, links[joint.child], ties.get(joint.name))
        lines += ["", header, *_entries(table)]
    for name, q in robot.keyframes.items():
        joints = zip(robot.coordinates, robot._slices["nq"], strict=True)
        values = {_quoted(x.name): q[k] if x.type.nq > 1 else q[k][0] for x, k in joints}
        lines += ["", "[[keyframe]]", *_entries({"name": name, "q": values})]
    return "\n".join([*lines, ""])


def _joint_table(joint: Connection, link: Link, tie: Tie | None) -> dict[str, Any]:
    moves = joint.kind != "fixed"
    table: dict[str, Any] = {"name": link.name}
    if moves:
        table |= {"joint": joint.name, "kind": joint.kind}
    table |= {"parent": joint.parent, "xyz": joint.pose.r, "rpy": rpy_of(joint.pose.R)}
    if moves:
        if JOINT_TYPES[joint.kind].has_axis:
            table |= {"axis": joint.axis} | ({"point": joint.point} if np.any(joint.point) else {})
        table |= {"pitch": joint.pitch} if JOINT_TYPES[joint.kind].with_pitch else {}
        table |= {"mass": link.mass, "com": link.com, "inertia": upper_triangle(link.inertia)}
        for key in ("limits", "drive", "spring"):
            values = getattr(joint, key)
            default = type(values)()._asdict()
            changed = {k: x for k, x in values._asdict().items() if x != default[k]}
            table |= {key: changed} if changed else {}
        if is_compensated(link):
            table["gravity_compensation"] = link.compensation._asdict()
    if tie is not None:
        offset, factor = tie.coefficients
        table["mimic"] = {"joint": tie.leader, "factor": factor, "offset": offset}
    if link.meshes:
        table["meshes"] = [
            {"file": x.file, "xyz": x.pose.r, "rpy": rpy_of(x.pose.R), "scale": x.scale}
            for x in link.meshes
        ]
    return table


def _entries(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in table.items()]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_entries(value))} }}"
    if isinstance(value, list | tuple | np.ndarray):
        return f"[{', '.join(map(_value, value))}]"
    return repr(float(value) + 0.0)  # + 0.0 turns -0.0 into 0.0


def _quoted(text: str) -> str:
    escaped = (c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in text)
    return f'"{"".join(escaped)}"'

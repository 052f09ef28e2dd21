"""armlet's own format: a robot a person can read and write."""

import tomllib
from collections.abc import Mapping, Sequence
from math import inf, isinf, radians
from pathlib import Path
from typing import Any

import numpy as np

from armlet.algebra import mirror, six
from armlet.errors import ModelError
from armlet.models.dh import CONVENTIONS, check_convention, checked_row, dh_connection
from armlet.robot import Connection, Description, Drive, Limits, Link, Robot, described, pose
from armlet.robot.description import Mesh
from armlet.robot.pose import rpy_of
from armlet.scalar import Vector

TOP = {"name", "title", "source", "gravity", "angles", "convention", "tool", "base", "body", "frame"}
BODY = {
    "name", "joint", "kind", "parent", "dh", "xyz", "rpy", "axis", "point", "mass", "com",
    "inertia", "limits", "drive", "meshes",
}  # fmt: skip
FRAME = {"name", "parent", "xyz", "rpy", "meshes"}


class Table:
    """A table of the file, with what to call it in messages."""

    def __init__(self, data: Mapping[str, Any], where: str, known: set[str]) -> None:
        self.data, self.where = data, where
        unknown = sorted(set(data) - known)
        if unknown:
            raise ModelError(
                f"{where}: unknown key {unknown[0]!r}: expected one of {', '.join(sorted(known))}"
            )

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str) or not value:
            raise ModelError(f"{self.where}: {key} is {value!r}: expected a text")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        return float(self.numbers(key, 1, None if default is None else [default])[0])

    def numbers(self, key: str, n: int, default: Sequence[float] | None = None) -> Vector:
        value = self.data.get(key, default)
        listed = value if isinstance(value, list | tuple) else [value]
        if len(listed) != n or not all(_is_number(x) for x in listed):
            wanted = "a number" if n == 1 else f"{n} numbers"
            raise ModelError(f"{self.where}: {key} is {value!r}: expected {wanted}")
        return np.array(listed, dtype=float)

    def table(self, key: str, known: set[str]) -> "Table":
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise ModelError(f"{self.where}: {key} is {value!r}: expected a table {{…}}")
        return Table(value, f"{self.where}, {key}", known)

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
            raise ModelError(f"{self.where}: {key} is {value!r}: expected tables [[{key}]]")
        return value


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def read_toml(path: Path) -> Description:
    """The description in a TOML file."""
    file = path.name
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: not valid TOML: {error}") from None
    top = Table(data, file, TOP)
    if top.data.get("angles") not in ("degrees", "radians"):
        raise ModelError(
            f"{file}: angles is {top.data.get('angles')!r}: expected 'degrees' or 'radians'"
        )
    unit = radians(1) if top.data["angles"] == "degrees" else 1.0
    base = top.text("base", "base")
    links, joints = [Link(base, where=file)], []
    for k, entry in enumerate(top.tables("body")):
        label = f"body {entry.get('name', k + 1)!r}"
        body = Table(entry, f"{file}, {label}", BODY)
        joint = _joint(body, top, unit, links[-1].name)
        links.append(_link(body, unit))
        joints.append(joint)
    for k, entry in enumerate(top.tables("frame")):
        frame = Table(entry, f"{file}, frame {entry.get('name', k + 1)!r}", FRAME)
        name = frame.text("name")
        links.append(Link(name, meshes=_meshes(frame, unit), where=frame.where))
        at = pose(
            frame.numbers("xyz", 3, (0.0, 0.0, 0.0)),
            unit * frame.numbers("rpy", 3, (0.0, 0.0, 0.0)),
        )
        joints.append(
            Connection(f"{name}_fixed", "fixed", frame.text("parent"), name, at, where=frame.where)
        )
    return Description(
        name=top.text("name", path.stem),
        links=tuple(links),
        joints=tuple(joints),
        gravity=top.numbers("gravity", 3),
        tool=top.text("tool") if "tool" in top.data else None,
        source=top.text("source", file),
        where=file,
    )


def _joint(body: Table, top: Table, unit: float, previous: str) -> Connection:
    name, child = body.text("joint"), body.text("name")
    kind = body.text("kind", "revolute")
    parent = body.text("parent", previous)
    turns = kind != "prismatic"
    if ("convention" in top.data) != ("dh" in body.data):
        raise ModelError(
            f"{body.where}: a body has dh = […] where the file says convention = "
            f"{' or '.join(map(repr, CONVENTIONS))}, and xyz, rpy and axis where it does not"
        )
    if "dh" in body.data:
        convention = top.text("convention")
        check_convention(convention, top.where)
        row = body.numbers("dh", 4) * [unit, 1, 1, unit]
        connection = dh_connection(
            checked_row(row, f"{body.where}: dh"), convention, kind, name, parent, child
        )
    else:
        connection = Connection(
            name, kind, parent, child,
            pose=pose(
                body.numbers("xyz", 3, (0.0, 0.0, 0.0)),
                unit * body.numbers("rpy", 3, (0.0, 0.0, 0.0)),
            ),
            axis=body.numbers("axis", 3, (0.0, 0.0, 1.0)),
            point=body.numbers("point", 3, (0.0, 0.0, 0.0)),
        )  # fmt: skip
    limits = body.table("limits", set(Limits._fields))
    scale = unit if turns else 1.0
    drive = body.table("drive", set(Drive._fields))
    return Connection(
        **{
            **vars(connection),
            "limits": Limits(
                lower=scale * limits.number("lower", -inf),
                upper=scale * limits.number("upper", inf),
                velocity=scale * limits.number("velocity", inf),
                effort=limits.number("effort", inf),
            ),
            "drive": Drive(*(drive.number(key, 0.0) for key in Drive._fields)),
            "where": body.where,
        }
    )


def _link(body: Table, unit: float) -> Link:
    return Link(
        name=body.text("name"),
        mass=body.number("mass", 0.0),
        com=body.numbers("com", 3, (0.0, 0.0, 0.0)),
        inertia=mirror(*body.numbers("inertia", 6, (0.0,) * 6)).astype(float),
        meshes=_meshes(body, unit),
        where=body.where,
    )


def _meshes(table: Table, unit: float) -> tuple[Mesh, ...]:
    meshes = []
    for entry in table.tables("meshes"):
        mesh = Table(entry, f"{table.where}, meshes", {"file", "xyz", "rpy", "scale"})
        at = pose(
            mesh.numbers("xyz", 3, (0.0, 0.0, 0.0)),
            unit * mesh.numbers("rpy", 3, (0.0, 0.0, 0.0)),
        )
        scale = tuple(mesh.numbers("scale", 3, (1.0, 1.0, 1.0)).tolist())
        meshes.append(Mesh(mesh.text("file"), at, scale))
    return tuple(meshes)


# ---------------------------------------------------------------------------------- writing


def toml_text(robot: Robot) -> str:
    """The robot in armlet's own format: the file's frames, by pose and axis, in radians."""
    description = described(robot)
    links = {link.name: link for link in description.links}
    lines = [f"name = {_quoted(robot.name)}", f"source = {_quoted(robot.source or robot.name)}"]
    lines += [f"gravity = {_list(description.gravity)}", 'angles = "radians"']
    lines += [f"base = {_quoted(robot.base_link)}"]
    lines += [f"tool = {_quoted(robot.tool)}"] if robot.tool else []
    for joint in description.joints:
        link = links[joint.child]
        frame = joint.kind == "fixed"
        lines += ["", "[[frame]]" if frame else "[[body]]", f"name = {_quoted(link.name)}"]
        if not frame:
            lines += [f"joint = {_quoted(joint.name)}", f'kind = "{joint.kind}"']
        lines += [f"parent = {_quoted(joint.parent)}", f"xyz = {_list(joint.pose.r)}"]
        lines += [f"rpy = {_list(rpy_of(joint.pose.R))}"]
        lines += [] if frame else _body_lines(joint, link)
        lines += [_mesh_line(link)] if link.meshes else []
    return "\n".join([*lines, ""])


def _body_lines(joint: Connection, link: Link) -> list[str]:
    lines = [f"axis = {_list(joint.axis)}"]
    if np.any(joint.point):
        lines.append(f"point = {_list(joint.point)}")
    lines += [f"mass = {_number(link.mass)}", f"com = {_list(link.com)}"]
    lines += [f"inertia = {_list(six(link.inertia))}"]
    for key, values, default in (
        ("limits", joint.limits, Limits()), ("drive", joint.drive, Drive()),
    ):  # fmt: skip
        given = [
            f"{name} = {_number(value)}"
            for (name, value), usual in zip(values._asdict().items(), default, strict=True)
            if value != usual
        ]
        lines += [f"{key} = {{ {', '.join(given)} }}"] if given else []
    return lines


def _mesh_line(link: Link) -> str:
    entries = (
        f"{{ file = {_quoted(mesh.file)}, xyz = {_list(mesh.pose.r)}, "
        f"rpy = {_list(rpy_of(mesh.pose.R))}, scale = {_list(mesh.scale)} }}"
        for mesh in link.meshes
    )
    return f"meshes = [{', '.join(entries)}]"


def _number(x: Any) -> str:
    x = float(x)
    return ("inf" if x > 0 else "-inf") if isinf(x) else repr(x + 0.0)


def _list(values: Any) -> str:
    return f"[{', '.join(_number(x) for x in values)}]"


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = (
        c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in text
    )
    return f'"{"".join(escaped)}"'

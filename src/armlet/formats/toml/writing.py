"""Writing armlet's own format, in TOML."""

from math import isinf
from typing import Any

import numpy as np

from armlet.algebra import upper_triangle
from armlet.description import Connection, Link, Tie, described
from armlet.description.passive import is_compensated
from armlet.robot import Drive, Limits, RobotModel, Spring
from armlet.robot.pose import rpy_of


def toml_text(robot: RobotModel) -> str:
    """The robot in armlet's own format: the file's frames, by pose and axis, in radians."""
    description = described(robot)
    links = {link.name: link for link in description.links}
    ties = {tie.joint: tie for tie in description.ties}
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
        lines += [_mimic_line(ties[joint.name])] if joint.name in ties else []
        lines += [_mesh_line(link)] if link.meshes else []
    for name, q in robot.keyframes.items():
        values = zip(robot.joint_names, q, strict=True)
        given = ", ".join(f"{_quoted(joint)} = {_number(x)}" for joint, x in values)
        lines += ["", "[[keyframe]]", f"name = {_quoted(name)}", f"q = {{ {given} }}"]
    return "\n".join([*lines, ""])


def _body_lines(joint: Connection, link: Link) -> list[str]:
    lines = [f"axis = {_list(joint.axis)}"]
    if np.any(joint.point):
        lines.append(f"point = {_list(joint.point)}")
    lines += [f"mass = {_number(link.mass)}", f"com = {_list(link.com)}"]
    lines += [f"inertia = {_list(upper_triangle(link.inertia))}"]
    for key, values, default in (
        ("limits", joint.limits, Limits()), ("drive", joint.drive, Drive()),
        ("spring", joint.spring, Spring()),
    ):  # fmt: skip
        given = [
            f"{name} = {_number(value)}"
            for (name, value), usual in zip(values._asdict().items(), default, strict=True)
            if value != usual
        ]
        lines += [f"{key} = {{ {', '.join(given)} }}"] if given else []
    if is_compensated(link):
        mass, moment = link.compensation
        given = [f"mass = {_number(mass)}", f"moment = {_list(moment)}"]
        lines.append(f"gravity_compensation = {{ {', '.join(given)} }}")
    return lines


def _mimic_line(tie: Tie) -> str:
    offset, factor = map(_number, tie.coefficients)
    return f"mimic = {{ joint = {_quoted(tie.leader)}, factor = {factor}, offset = {offset} }}"


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
    escaped = (c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in text)
    return f'"{"".join(escaped)}"'

"""Writing URDF files."""

import html
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from armlet.algebra import upper_triangle
from armlet.description import Connection, Description, Link, Tie, described
from armlet.errors import ModelError, quoted
from armlet.formats.limits import UNLIMITED
from armlet.formats.urdf.primitives import SOLIDS, solid_text
from armlet.formats.urdf.reading import ENTRIES
from armlet.robot import Pose, RobotModel
from armlet.robot.pose import rpy_of
from armlet.scalar import Vector

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML cannot represent, even escaped."""


def urdf_text(robot: RobotModel) -> str:
    """The robot as URDF: the file's links and frames, merged bodies as one."""
    description = _on_axes(described(robot))
    _check_characters(description)
    lines = ['<?xml version="1.0"?>', f"<robot name={_quoted(description.name)}>"]
    for link in description.links:
        lines += _link_lines(link)
    ties = {tie.joint: tie for tie in description.ties}
    for joint in description.joints:
        lines += _joint_lines(joint, ties.get(joint.name))
    for joint in description.joints:
        lines += _transmission_lines(joint)
    return "\n".join([*lines, "</robot>", ""])


def _check_characters(description: Description) -> None:
    """Refuse names that could be written but not read back."""
    texts = [("robot", description.name)]
    texts += [("link", link.name) for link in description.links]
    texts += [("joint", joint.name) for joint in description.joints]
    texts += [("mesh", mesh.file) for link in description.links for mesh in link.meshes]
    for kind, text in texts:
        if found := FORBIDDEN.search(text):
            raise ModelError(
                f"{kind} {quoted(text)} cannot be written as URDF: XML has no character "
                f"{quoted(found[0])}; rename it, or write TOML"
            )


def _on_axes(description: Description) -> Description:
    """The description with every joint's axis through its child's origin, as URDF needs it.

    A link whose frame is off the axis gets a new one on it, and its own as a fixed frame.
    """
    links: list[Link] = []
    joints: list[Connection] = []
    off = {j.child: j for j in description.joints if np.abs(j.point).max() > 0}
    for link in description.links:
        if link.name in off:
            shift = off[link.name].point
            links.append(
                replace(link, name=f"{link.name}_axis", com=link.com - shift, meshes=(), solids=())
            )
            links.append(Link(link.name, meshes=link.meshes, solids=link.solids))
        else:
            links.append(link)
    for joint in description.joints:
        if joint.child in off:
            name, there = f"{joint.child}_axis", Pose(np.eye(3), joint.point)
            joints.append(replace(joint, child=name, pose=joint.pose @ there, point=np.zeros(3)))
            joints.append(
                Connection(f"{joint.child}_fixed", "fixed", name, joint.child, there.inverse())
            )
        else:
            joints.append(joint)
    return replace(description, links=tuple(links), joints=tuple(joints))


def _quoted(text: str) -> str:
    """The text as a quoted attribute value that preserves white space."""
    escaped = html.escape(text)
    for character in "\t\n\r":
        escaped = escaped.replace(character, f"&#{ord(character)};")
    return f'"{escaped}"'


def _list(values: Vector | Sequence[float]) -> str:
    return _quoted(" ".join(repr(float(x) + 0.0) for x in values))


def _origin_line(indent: str, at: Pose) -> str:
    return f"{indent}<origin xyz={_list(at.r)} rpy={_list(rpy_of(at.R))}/>"


def _link_lines(link: Link) -> list[str]:
    inside = []
    if link.mass or np.any(link.inertia):
        entries = zip(ENTRIES, upper_triangle(link.inertia), strict=True)
        tensor = " ".join(f'{key}="{float(value)!r}"' for key, value in entries)
        inside += [
            "    <inertial>",
            _origin_line("      ", Pose(np.eye(3), link.com)),
            f'      <mass value="{float(link.mass)!r}"/>',
            f"      <inertia {tensor}/>",
            "    </inertial>",
        ]
    shapes = [
        (mesh.pose, f"<mesh filename={_quoted(mesh.file)} scale={_list(mesh.scale)}/>")
        for mesh in link.meshes
    ]
    shapes += [(solid.pose, solid_text(solid)) for solid in link.solids if solid.kind in SOLIDS]
    for at, shape in shapes:
        inside += [
            "    <visual>",
            _origin_line("      ", at),
            f"      <geometry>{shape}</geometry>",
            "    </visual>",
        ]
    name = _quoted(link.name)
    return [f"  <link name={name}>", *inside, "  </link>"] if inside else [f"  <link name={name}/>"]


def _joint_lines(joint: Connection, tie: Tie | None) -> list[str]:
    lines = [
        f'  <joint name={_quoted(joint.name)} type="{joint.kind}">',
        _origin_line("    ", joint.pose),
        f"    <parent link={_quoted(joint.parent)}/>",
        f"    <child link={_quoted(joint.child)}/>",
    ]
    if joint.kind != "fixed":
        limits = {
            key: float(np.clip(value, -UNLIMITED, UNLIMITED))
            for key, value in joint.limits._asdict().items()
            if joint.kind != "continuous" or key not in ("lower", "upper")
        }
        written = " ".join(f'{key}="{value!r}"' for key, value in limits.items())
        viscous, coulomb = float(joint.drive.viscous), float(joint.drive.coulomb)
        lines += [f"    <axis xyz={_list(joint.axis)}/>", f"    <limit {written}/>"]
        if viscous or coulomb:
            lines.append(f'    <dynamics damping="{viscous!r}" friction="{coulomb!r}"/>')
    if tie is not None:
        offset, factor = tie.coefficients
        how = f'multiplier="{factor!r}" offset="{offset!r}"'
        lines.append(f"    <mimic joint={_quoted(tie.leader)} {how}/>")
    return [*lines, "  </joint>"]


def _transmission_lines(joint: Connection) -> list[str]:
    inertia, offset = float(joint.drive.rotor_inertia), float(joint.drive.offset)
    if not inertia and not offset:
        return []
    return [
        f"  <transmission name={_quoted(joint.name + '_transmission')}>",
        "    <type>transmission_interface/SimpleTransmission</type>",
        f"    <joint name={_quoted(joint.name)}/>",
        f"    <actuator name={_quoted(joint.name + '_drive')}>",
        "      <mechanicalReduction>1</mechanicalReduction>",
        f'      <rotor_inertia value="{inertia!r}"/>',
        f'      <friction_offset value="{offset!r}"/>',
        "    </actuator>",
        "  </transmission>",
    ]

"""Reading and writing URDF files."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import copysign, inf, pi
from pathlib import Path

import numpy as np

from armlet.algebra import symmetric, upper_triangle
from armlet.errors import ModelError, listed, quoted, shown
from armlet.models.urdf_solids import SOLIDS, solid_size, solid_text
from armlet.models.xml import Element, numbers, read_xml
from armlet.robot import (
    HERE,
    Connection,
    Description,
    Drive,
    Limits,
    Link,
    Pose,
    RobotModel,
    Tie,
    described,
    pose,
)
from armlet.robot.description import Mesh, Solid
from armlet.robot.pose import rpy_of
from armlet.scalar import Vector

UNSUPPORTED = {"floating": "six freedoms", "planar": "three freedoms"}
ONCE = {
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
"""The children that an element may have at most one of."""
MAX_ANGLE = 4 * pi
"""Larger angles (rad) are taken for degrees by mistake and refused."""
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML cannot represent, even escaped."""
UNLIMITED = 1e308
"""Written where a joint has no limit, since URDF requires a number."""


def read_urdf(path: Path, gravity: Sequence[float]) -> Description:
    """The description in a URDF file."""
    root = read_xml(path)
    if root.tag != "robot":
        raise ModelError(f"{root.where}: the root element is <{root.tag}>: expected <robot>")
    drives = _rotor_drives(root)
    links = tuple(_link(element) for element in root.all("link"))
    if not links:
        raise ModelError(f"{root.where}: <robot> has no <link>: expected at least one")
    joints = tuple(_joint(element, drives) for element in root.all("joint"))
    return Description(
        name=root.get("name") or shown(path.stem),
        links=links,
        joints=joints,
        gravity=np.array(gravity, dtype=float),
        source=shown(path.name),
        where=shown(path.name),
        ties=tuple(tie for element in root.all("joint") for tie in _mimic(element)),
    )


def _origin(element: Element | None) -> Pose:
    if element is None:
        return HERE
    unknown = sorted(set(element.attributes) - {"xyz", "rpy"})
    if unknown:
        raise ModelError(
            f'{element.where}: <origin> has {unknown[0]}="…": expected xyz and rpy only'
        )
    rpy = element.numbers("rpy", 3, (0.0, 0.0, 0.0))
    if np.abs(rpy).max() > MAX_ANGLE:
        raise ModelError(
            f"{element.where}: <origin {element.said('rpy')}> turns more than twice round: "
            "expected radians (90 degrees are 1.5707963267948966)"
        )
    return pose(element.numbers("xyz", 3, (0.0, 0.0, 0.0)), rpy)


def _refuse_repeats(element: Element) -> None:
    """Refuse repeated children, such as two origins, which are ambiguous."""
    for tag in ONCE[element.tag]:
        found = element.all(tag)
        if len(found) > 1:
            raise ModelError(
                f"{found[1].where}: <{element.tag}> has {len(found)} <{tag}>: expected one"
            )


def _link(element: Element) -> Link:
    _refuse_repeats(element)
    name = element.word("name")
    meshes, solids = tuple(_meshes(element)), tuple(_solids(element))
    inertial = element.first("inertial")
    if inertial is None:
        return Link(name, meshes=meshes, where=element.where, solids=solids)
    _refuse_repeats(inertial)
    subject = f"the <inertial> of link {quoted(name)}"
    mass = inertial.need("mass", subject).number("value")
    tensor = inertial.need("inertia", subject)
    at = _origin(inertial.first("origin"))
    I = symmetric(*(tensor.number(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")))
    I = at.R @ I.astype(float) @ at.R.T
    return Link(name, mass, at.r, I, meshes, element.where, solids=solids)


def _meshes(element: Element) -> list[Mesh]:
    meshes = []
    for visual in element.all("visual"):
        geometry = visual.first("geometry")
        mesh = geometry.first("mesh") if geometry else None
        if mesh is not None and mesh.get("filename"):
            scale = tuple(mesh.numbers("scale", 3, (1.0, 1.0, 1.0)).tolist())
            meshes.append(Mesh(mesh.get("filename"), _origin(visual.first("origin")), scale))
    return meshes


def _solids(element: Element) -> Iterator[Solid]:
    """The visual primitives of a link; faulty ones are left out, since dynamics need none."""
    for visual in element.all("visual"):
        geometry = visual.first("geometry")
        for shape in geometry.children if geometry else ():
            with suppress(ModelError):
                if size := solid_size(shape):
                    yield Solid(shape.tag, size, _origin(visual.first("origin")))


def _joint(element: Element, drives: Mapping[str, Drive]) -> Connection:
    _refuse_repeats(element)
    name = element.word("name")
    kind = element.word("type", "revolute, continuous, prismatic or fixed")
    subject = f"joint {quoted(name)}"
    if kind in UNSUPPORTED:
        raise ModelError(
            f"{element.where}: {subject} is {kind}, with {UNSUPPORTED[kind]}: expected revolute, "
            "continuous, prismatic or fixed"
        )
    axis = element.first("axis")
    return Connection(
        name=name,
        kind=kind,
        parent=element.need("parent", subject).word("link"),
        child=element.need("child", subject).word("link"),
        pose=_origin(element.first("origin")),
        axis=np.array([1.0, 0.0, 0.0]) if axis is None else axis.numbers("xyz", 3),
        limits=_limits(element, kind, subject),
        drive=_drive(element, drives.get(name, Drive())),
        where=element.where,
    )


def _mimic(element: Element) -> list[Tie]:
    """The tie of a joint to the one that it mimics, if it does and can move."""
    mimic = element.first("mimic")
    if mimic is None or element.get("type") == "fixed":
        return []
    name, leader = element.word("name"), mimic.get("joint")
    coefficients = mimic.number("offset", 0.0), mimic.number("multiplier", 1.0)
    said = f"joint {quoted(name)} mimics joint {quoted(leader)}"
    return [Tie(name, leader, coefficients, said, mimic.where)]


def _limits(element: Element, kind: str, subject: str) -> Limits:
    limit = element.first("limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            hint = " (a joint without limits is continuous)" if kind == "revolute" else ""
            raise ModelError(
                f"{element.where}: {subject} is {kind} and has no <limit>: expected one{hint}"
            )
        return Limits()
    read = (
        limit.number("lower", 0.0),
        limit.number("upper", 0.0),
        limit.number("velocity", UNLIMITED),
        limit.number("effort", UNLIMITED),
    )
    limits = Limits(*(x if abs(x) < UNLIMITED else copysign(inf, x) for x in read))
    return limits._replace(lower=-inf, upper=inf) if kind == "continuous" else limits


def _drive(element: Element, drive: Drive) -> Drive:
    dynamics = element.first("dynamics")
    if dynamics is None:
        return drive
    return drive._replace(
        viscous=dynamics.number("damping", 0.0), coulomb=dynamics.number("friction", 0.0)
    )


def _rotor_drives(root: Element) -> dict[str, Drive]:
    """The rotor inertia of each joint's transmission, times the gear ratio squared."""
    names = {joint.get("name"): None for joint in root.all("joint")}
    drives = {}
    for transmission in root.all("transmission"):
        joints = transmission.all("joint")
        actuators = transmission.all("actuator")
        if len(joints) == len(actuators) == 1:
            joint, actuator = joints[0], actuators[0]
            inertia = _value(actuator, "rotor_inertia", "drake:rotor_inertia", "motorInertia")
            ratio = _value(actuator, "mechanicalReduction", "drake:gear_ratio")
            if ratio is None:
                ratio = _value(joint, "mechanicalReduction")
            ratio = 1.0 if ratio is None else ratio
            drive = Drive(
                rotor_inertia=(inertia or 0.0) * ratio * ratio,
                offset=_value(actuator, "friction_offset") or 0.0,
            )
            if joint.word("name") not in names and drive != Drive():
                raise ModelError(
                    f"{joint.where}: the <transmission> has a rotor inertia or friction for joint "
                    f"{quoted(joint.word('name'))}, which does not exist: expected one of "
                    f"{listed(list(names))}"
                )
            drives[joint.word("name")] = drive
    return drives


def _value(element: Element, *tags: str) -> float | None:
    """The number in the first of these children, as its value or as its text."""
    for tag in tags:
        child = element.first(tag)
        if child is not None:
            if "value" in child.attributes:
                return child.number("value")
            subject = f"{child.where}: <{tag}>{shown(child.text)}</{tag}>"
            return float(numbers(child.text, 1, subject)[0])
    return None


# ---------------------------------------------------------------------------------- writing


def urdf_text(robot: RobotModel) -> str:
    """The robot as URDF: the file's links and frames, merged bodies as one."""
    description = _on_axes(described(robot))
    _check_characters(description)
    lines = ['<?xml version="1.0"?>', f"<robot name={_quoted(description.name)}>"]
    for link in description.links:
        lines += _link_lines(link)
    for joint in description.joints:
        lines += _joint_lines(joint)
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
        entries = zip(
            ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), upper_triangle(link.inertia), strict=True
        )
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


def _joint_lines(joint: Connection) -> list[str]:
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

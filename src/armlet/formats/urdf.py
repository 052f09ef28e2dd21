"""Read and write URDF."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import copysign, inf, isnan, nan, pi
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from armlet._support.files import write
from armlet.algebra import symmetric, upper_triangle
from armlet.description import Connection, Description, Link, Mesh, Solid, Tie, describe
from armlet.description.coupling import mimic_tie
from armlet.description.options import warn_of_passive
from armlet.description.problems import Problems
from armlet.errors import ModelError, clip, listing, quote
from armlet.formats.dh import EARTH
from armlet.formats.xml import NUMBER, Element
from armlet.robot import Drive, Limits, Pose, RobotModel, pose
from armlet.robot.joints import joint_kinds
from armlet.robot.pose import rotation_of_quaternion, rpy_of
from armlet.scalar import Matrix

ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
PRODUCTS = ("ixy", "ixz", "iyz")
WORLD = "world"
UNIT_SCALE = (1.0, 1.0, 1.0)
MAX_ANGLE = 4 * pi
"""Larger angles (rad) give a warning: they may be degrees by mistake."""
SOLIDS = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}
"""Attributes of each primitive, with the number of values in each attribute."""
UNLIMITED = 1e308
"""Value that stands for no limit, since URDF requires a number."""
LIMIT = re.compile(rf"{NUMBER.pattern}|[+-]?inf(inity)?", re.IGNORECASE)
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Matches a character that XML cannot represent, even escaped."""


def read_urdf(root: Element, file: Path, problems: Problems) -> Description:
    """Convert a URDF file's elements to a description; add errors and warnings to `problems`."""
    if root.tag != "robot":
        raise root.error(f"the root element is <{clip(root.tag)}>: expected <robot>")
    if not root.all("link"):
        raise root.error("<robot> has no <link>: expected at least one")
    reader, drives = _Reader(problems), _rotor_drives(root, problems)
    links = [reader.link(element) for element in root.all("link")]
    joints = [reader.joint(element, drives) for element in root.all("joint")]
    return Description(
        name=root.get("name") or clip(file.stem),
        links=tuple(reader.with_world(links, joints)),
        joints=tuple(joint for joint in joints if joint),
        gravity=np.array(EARTH),
        source=clip(file.name),
        where=clip(file.name),
        ties=tuple(tie for element in root.all("joint") for tie in _mimic(element)),
        format="URDF",
    )


@dataclass
class _Reader:
    """Read links and joints, and collect their problems."""

    problems: Problems

    def link(self, element: Element) -> Link:
        """Convert an element to a link, without inertia if the inertia cannot be read."""
        link = Link(element.get("name"), where=element.where)
        with self.problems.collect():
            meshes = tuple(self._meshes(element))
            link = replace(link, meshes=meshes, solids=tuple(self._solids(element)))
            self._warn_of_repeated(element, "inertial")
            if inertial := element.first("inertial"):
                link = self._with_inertia(link, inertial)
        return link

    def with_world(self, links: list[Link], joints: Sequence[Connection | None]) -> list[Link]:
        """Add a link "world" if it is the parent of a joint but is not among the links."""
        on_world = [joint for joint in joints if joint and joint.parent == WORLD]
        if not on_world or any(link.name == WORLD for link in links):
            return links
        self.problems.warn(
            f"{on_world[0].where}: joint {quote(on_world[0].name)} has the parent 'world', which "
            "is no link of the file: taken as its base"
        )
        return [Link(WORLD), *links]

    def _with_inertia(self, link: Link, inertial: Element) -> Link:
        self._warn_of_repeated(inertial, "mass", "inertia", "origin")
        mass, tensor = inertial.first("mass"), inertial.first("inertia")
        at = self._origin(inertial)
        m = 0.0 if mass is None else mass.number("value")
        I = np.zeros((3, 3)) if tensor is None else self._tensor(link, tensor)
        if mass is None and tensor is None:
            message = f"the <inertial> of link {quote(link.name)} is empty"
            self._warn(inertial, message, "links have an empty <inertial>", link.name)
        elif tensor is None and m:
            self._warn(
                inertial,
                f"the <inertial> of link {quote(link.name)} has no <inertia>: taken as a point "
                "of its mass",
                "links have a mass but no <inertia>, and are taken as points",
                link.name,
            )
        return replace(link, mass=m, com=at.r, inertia=at.R @ I @ at.R.T)

    def _tensor(self, link: Link, tensor: Element) -> Matrix:
        missing = [key for key in PRODUCTS if key not in tensor.attributes]
        if missing:
            self._warn(
                tensor,
                f"the <inertia> of link {quote(link.name)} has no {', '.join(missing)}: taken as "
                "zero",
                "links have an <inertia> without ixy, ixz or iyz, which are taken as zero",
                link.name,
            )
        entries = [tensor.number(key, 0.0 if key in PRODUCTS else None) for key in ENTRIES]
        return symmetric(*entries).astype(float)

    def _meshes(self, element: Element) -> Iterator[Mesh]:
        for visual in element.all("visual"):
            mesh = visual.child("geometry").child("mesh")
            if not (file := mesh.get("filename")):
                continue
            try:
                scale = tuple(mesh.numbers("scale", None, UNIT_SCALE).tolist())
                at = self._origin(visual)
            except ModelError as error:
                self.problems.warn(
                    f"{error}; the mesh is left out",
                    "meshes have a scale or origin that cannot be read, and are left out",
                    file,
                )
                continue
            if len(scale) != 3:
                self._warn(
                    mesh,
                    f"<mesh {mesh.attribute('scale')}> has {len(scale)} values instead of 3: taken "
                    "as 1 1 1",
                    "meshes have a scale that is not of 3 values, taken as 1 1 1",
                    file,
                )
            yield Mesh(file, at, scale if len(scale) == 3 else UNIT_SCALE)

    def _solids(self, link: Element) -> Iterator[Solid]:
        """Yield the visual primitives of a link; skip invalid primitives without a warning."""
        for visual in link.all("visual"):
            for shape in visual.child("geometry").children:
                with suppress(ModelError):
                    lengths = SOLIDS.get(shape.tag, {}).items()
                    size = [float(x) for key, n in lengths for x in shape.numbers(key, n)]
                    if size and min(size) > 0:
                        yield Solid(shape.tag, tuple(size), self._origin(visual))

    def joint(self, element: Element, drives: Mapping[str, Drive]) -> Connection | None:
        """Convert an element to a joint; return None if the element cannot be read."""
        with self.problems.collect():
            name = element.word("name")
            kind = element.word("type", "revolute, continuous, prismatic or fixed")
            self._warn_of_repeated(element, "parent", "child", "origin")
            joint = Connection(
                name=name,
                kind=kind,
                parent=element.need("parent", f"joint {quote(name)}").word("link"),
                child=element.need("child", f"joint {quote(name)}").word("link"),
                pose=self._origin(element),
                where=element.where,
            )
            if kind == "fixed":
                return joint
            self._warn_of_repeated(element, "axis", "limit", "dynamics")
            axis, dynamics = element.first("axis"), element.child("dynamics")
            if axis is not None and "xyz" not in axis.attributes:
                self._warn(
                    axis,
                    f"the <axis> of joint {quote(name)} has no xyz: taken as 1 0 0",
                    "joints have an <axis> without xyz, taken as 1 0 0",
                    name,
                )
            return replace(
                joint,
                axis=element.child("axis").numbers("xyz", 3, (1.0, 0.0, 0.0)),
                limits=self._limits(element),
                drive=drives.get(name, Drive())._replace(
                    viscous=dynamics.number("damping", 0.0),
                    coulomb=dynamics.number("friction", 0.0),
                ),
            )
        return None

    def _limits(self, joint: Element) -> Limits:
        name, kind, limit = joint.get("name"), joint.get("type"), joint.first("limit")
        if limit is not None:
            texts = {"lower": "0", "upper": "0"} | limit.attributes
            return read_limits(texts, kind, name, limit, self.problems)
        if kind in ("revolute", "prismatic"):
            self._warn(
                joint,
                f"joint {quote(name)} is {kind} and has no <limit>: taken as without limits",
                "revolute or prismatic joints have no <limit>, and are taken as without limits",
                name,
            )
        return Limits()

    def _origin(self, parent: Element) -> Pose:
        element = parent.child("origin")
        unknown = sorted(set(element.attributes) - {"xyz", "rpy", "quat_xyzw"})
        if unknown:
            self._warn(
                element,
                f'<origin> has {clip(unknown[0])}="…", which is not read: expected xyz and rpy',
                "<origin>s have attributes that are not read",
                f"{clip(unknown[0])} (line {element.line})",
            )
        xyz = element.numbers("xyz", 3, (0.0, 0.0, 0.0))
        if "quat_xyzw" in element.attributes:
            x, y, z, w = element.numbers("quat_xyzw", 4)
            return Pose(rotation_of_quaternion(w, x, y, z), xyz)
        rpy = element.numbers("rpy", 3, (0.0, 0.0, 0.0))
        if np.abs(rpy).max() > MAX_ANGLE:
            self._warn(
                element,
                f"<origin {element.attribute('rpy')}> rotates by more than two revolutions: taken "
                "as radians (90 degrees are 1.5707963267948966)",
                "<origin>s rotate by more than two revolutions, and are taken as radians",
                f"{clip(element.get('rpy'))} (line {element.line})",
            )
        return pose(xyz, rpy)

    def _warn_of_repeated(self, element: Element, *tags: str) -> None:
        for tag in tags:
            children = element.all(tag)
            if len(children) > 1:
                self._warn(
                    children[1],
                    f"<{element.tag}> has {len(children)} <{tag}>: the first is taken",
                    f"<{element.tag}>s have more than one <{tag}>, of which the first is taken",
                    f"line {children[1].line}",
                )

    def _warn(self, element: Element, message: str, plural: str, name: str) -> None:
        self.problems.warn(f"{element.where}: {message}", plural, name)


def read_limits(
    texts: Mapping[str, str],
    kind: str,
    joint: str,
    element: Element,
    problems: Problems,
    unlimited: float = UNLIMITED,
) -> Limits:
    """Return a joint's limits; drop invalid limits, swap reversed limits, and warn of both."""
    limits, subject = Limits(), f"{element.where}: joint {quote(joint)}"
    for key in Limits._fields[2 if kind == "continuous" else 0 :]:
        if (text := texts.get(key)) is None:
            continue
        value = float(text) if LIMIT.fullmatch(text.strip()) else nan
        if isnan(value) or (value < 0 and key in ("velocity", "effort")):
            problems.warn(
                f'{subject} has the limit {key}="{clip(text)}": taken as none',
                "limits are not numbers or below zero, and are taken as none",
                f"{key} of {joint}",
            )
        else:
            value = value if abs(value) < unlimited else copysign(inf, value)
            limits = limits._replace(**{key: value})
    lower, upper, *_ = limits
    if lower > upper:
        problems.warn(
            f"{subject} has the limits lower {lower:g}, upper {upper:g}: taken the other way round",
            "joints have a lower limit above the upper one, and are taken the other way round",
            joint,
        )
        limits = limits._replace(lower=upper, upper=lower)
    return limits


def _mimic(element: Element) -> list[Tie]:
    if (mimic := element.first("mimic")) is None or element.get("type") == "fixed":
        return []
    factor, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    return [mimic_tie(element.word("name"), mimic.get("joint"), factor, offset, mimic.where)]


def _rotor_drives(root: Element, problems: Problems) -> dict[str, Drive]:
    """Return joint name -> drive, with the reflected rotor inertia and the friction offset."""
    names = [*dict.fromkeys(joint.get("name") for joint in root.all("joint"))]
    drives = {}
    for transmission in root.all("transmission"):
        joints, actuators = transmission.all("joint"), transmission.all("actuator")
        if len(joints) != 1 or len(actuators) != 1:
            continue
        with problems.collect():
            [joint], [actuator] = joints, actuators
            inertia = actuator.number_of("rotor_inertia", "drake:rotor_inertia", "motorInertia")
            offset = actuator.number_of("friction_offset")
            if inertia:  # without inertia, no ratio is read; Drake's ratio takes precedence
                ratio = joint.number_of("mechanicalReduction", default=1.0)
                tags = "drake:gear_ratio", "mechanicalReduction"
                ratio = actuator.number_of(*tags, default=ratio)
                inertia *= ratio * ratio
            if inertia or offset:
                name = joint.word("name")
                drives[name] = Drive(inertia, offset=offset)
                if name not in names:
                    raise joint.error(
                        "the <transmission> has a rotor inertia or friction for joint "
                        f"{quote(name)}, which does not exist: expected one of {listing(names)}"
                    )
    return drives


def write_urdf(robot: RobotModel, path: str | Path) -> None:
    text = urdf_text(robot)
    warn_of_passive(robot)
    write(path, text)


def urdf_text(robot: RobotModel) -> str:
    """Return the robot as URDF text; frames other than those of bodies become massless links."""
    description = _on_axes(describe(robot))
    _check_kinds(description)
    _check_characters(description)
    root = ElementTree.Element("robot", name=description.name)
    ties = {tie.joint: tie for tie in description.ties}
    for link in description.links:
        _add_link(root, link)
    for joint in description.joints:
        _add_joint(root, joint, ties.get(joint.name))
    for joint in description.joints:
        if joint.drive.rotor_inertia or joint.drive.offset:
            _add_transmission(root, joint)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    return f'<?xml version="1.0"?>\n{text}\n'


def _check_kinds(description: Description) -> None:
    for joint in description.joints:
        if joint.kind not in (*joint_kinds("URDF"), "fixed"):
            raise ModelError(
                f"joint {quote(joint.name)} is {joint.kind}, which URDF cannot hold: write TOML, "
                "to_toml"
            )


def _check_characters(description: Description) -> None:
    texts = [("robot", description.name), *(("joint", x.name) for x in description.joints)]
    for link in description.links:
        texts += [("link", link.name), *(("mesh", mesh.file) for mesh in link.meshes)]
    for kind, text in texts:
        if match := FORBIDDEN.search(text):
            raise ModelError(
                f"{kind} {quote(text)} cannot be written as URDF: XML has no character "
                f"{quote(match[0])}; rename it, or write TOML"
            )


def _on_axes(description: Description) -> Description:
    """Return the description with joint axes through the child links' origins, as URDF requires.

    If a link's origin is not on its joint axis, mass and inertia move to a new link with its origin
    on the axis. The old link becomes massless and is fixed to the new link.
    """
    links: list[Link] = []
    joints: list[Connection] = []
    off = {j.child: j.point for j in description.joints if np.any(j.point)}
    for link in description.links:
        if link.name in off:
            com, own = link.com - off[link.name], f"{link.name}_axis"
            links.append(replace(link, name=own, com=com, meshes=(), solids=()))
            link = Link(link.name, meshes=link.meshes, solids=link.solids)
        links.append(link)
    for joint in description.joints:
        if joint.child in off:
            own, child, there = f"{joint.child}_axis", joint.child, Pose(np.eye(3), joint.point)
            joints.append(replace(joint, child=own, pose=joint.pose @ there, point=np.zeros(3)))
            joint = Connection(f"{child}_fixed", "fixed", own, child, there.inverse())
        joints.append(joint)
    return replace(description, links=tuple(links), joints=tuple(joints))


def _add(parent: ElementTree.Element, tag: str, **attributes: Any) -> ElementTree.Element:
    """Add an element to `parent` and return it; attributes are texts, numbers or lists of these."""
    texts = {
        key: x if isinstance(x, str) else " ".join(repr(float(y) + 0.0) for y in np.atleast_1d(x))
        for key, x in attributes.items()
    }
    return ElementTree.SubElement(parent, tag, texts)


def _add_origin(parent: ElementTree.Element, at: Pose) -> None:
    _add(parent, "origin", xyz=at.r, rpy=rpy_of(at.R))


def _add_link(root: ElementTree.Element, link: Link) -> None:
    element = _add(root, "link", name=link.name)
    if link.mass or np.any(link.inertia):
        inertial = _add(element, "inertial")
        _add_origin(inertial, Pose(np.eye(3), link.com))
        _add(inertial, "mass", value=link.mass)
        tensor = dict(zip(ENTRIES, upper_triangle(link.inertia), strict=True))
        _add(inertial, "inertia", **tensor)
    for mesh in link.meshes:
        _add_visual(element, mesh.pose, "mesh", filename=mesh.file, scale=mesh.scale)
    for solid in link.solids:
        size = iter(solid.size)
        counts = SOLIDS.get(solid.kind, {})
        lengths = {key: [next(size) for _ in range(n)] for key, n in counts.items()}
        if lengths:
            _add_visual(element, solid.pose, solid.kind, **lengths)


def _add_visual(link: ElementTree.Element, at: Pose, shape: str, **attributes: Any) -> None:
    visual = _add(link, "visual")
    _add_origin(visual, at)
    _add(_add(visual, "geometry"), shape, **attributes)


def _add_joint(root: ElementTree.Element, joint: Connection, tie: Tie | None) -> None:
    element = _add(root, "joint", name=joint.name, type=joint.kind)
    _add_origin(element, joint.pose)
    _add(element, "parent", link=joint.parent)
    _add(element, "child", link=joint.child)
    if joint.kind != "fixed":
        limits = joint.limits._asdict()
        if joint.kind == "continuous":
            del limits["lower"], limits["upper"]
        limits = {key: np.clip(x, -UNLIMITED, UNLIMITED) for key, x in limits.items()}
        _add(element, "axis", xyz=joint.axis)
        _add(element, "limit", **limits)
        if joint.drive.viscous or joint.drive.coulomb:
            _add(element, "dynamics", damping=joint.drive.viscous, friction=joint.drive.coulomb)
    if tie is not None:
        offset, factor = tie.coefficients
        _add(element, "mimic", joint=tie.leader, multiplier=factor, offset=offset)


def _add_transmission(root: ElementTree.Element, joint: Connection) -> None:
    transmission = _add(root, "transmission", name=f"{joint.name}_transmission")
    _add(transmission, "type").text = "transmission_interface/SimpleTransmission"
    _add(transmission, "joint", name=joint.name)
    actuator = _add(transmission, "actuator", name=f"{joint.name}_drive")
    _add(actuator, "mechanicalReduction").text = "1"
    _add(actuator, "rotor_inertia", value=joint.drive.rotor_inertia)
    _add(actuator, "friction_offset", value=joint.drive.offset)

"""Reading URDF files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np

from armlet.algebra import symmetric
from armlet.description import Connection, Description, Link, Tie
from armlet.description.description import Mesh
from armlet.description.problems import Problems
from armlet.errors import ModelError, quoted, shown
from armlet.formats.limits import doubt_no_limit, read_limits
from armlet.formats.urdf.primitives import solids
from armlet.formats.urdf.transmissions import rotor_drives
from armlet.formats.xml import Element
from armlet.robot import HERE, Drive, Limits, Pose, pose
from armlet.robot.pose import rotation_of_quaternion
from armlet.scalar import Matrix, Vector

ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
PRODUCTS = ("ixy", "ixz", "iyz")
WORLD = "world"
X_AXIS = (1.0, 0.0, 0.0)
"""The axis of a joint that does not give one."""
MAX_ANGLE = 4 * pi
"""Larger angles (rad) look like degrees by mistake."""


def read_urdf(root: Element, file: Path, gravity: Vector, problems: Problems) -> Description:
    """The description in the elements of a URDF file; joints that cannot be read are left out."""
    if root.tag != "robot":
        raise ModelError(f"{root.where}: the root element is <{root.tag}>: expected <robot>")
    if not root.all("link"):
        raise ModelError(f"{root.where}: <robot> has no <link>: expected at least one")
    reader = _Reader(problems)
    drives = rotor_drives(root, problems)
    links = [reader.link(element) for element in root.all("link")]
    joints = [reader.joint(element, drives) for element in root.all("joint")]
    links = reader.with_world(links, joints)
    return Description(
        name=root.get("name") or shown(file.stem),
        links=tuple(links),
        joints=tuple(joint for joint in joints if joint),
        gravity=gravity,
        source=shown(file.name),
        where=shown(file.name),
        ties=tuple(tie for element in root.all("joint") for tie in _mimic(element)),
    )


class _Reader:
    """Reads elements, and collects what is wrong with them."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def link(self, element: Element) -> Link:
        """The link of an element, without inertia if that cannot be read."""
        link = Link(element.get("name"), where=element.where)
        with self.problems.collected():
            shapes = tuple(self._meshes(element)), tuple(solids(element, self._origin))
            link = replace(link, meshes=shapes[0], solids=shapes[1])
            inertial = self._only(element, "inertial")
            link = link if inertial is None else self._with_inertia(link, inertial)
        return link

    def with_world(self, links: list[Link], joints: Sequence[Connection | None]) -> list[Link]:
        """The links with the world as their base where a joint is on it and no link is called so.

        Drake and Bullet read such files.
        """
        on_world = [joint for joint in joints if joint and joint.parent == WORLD]
        if not on_world or any(link.name == WORLD for link in links):
            return links
        self.problems.doubt(
            f"{on_world[0].where}: joint {quoted(on_world[0].name)} has the parent 'world', which "
            "is no link of the file: taken as its base"
        )
        return [Link(WORLD), *links]

    def _with_inertia(self, link: Link, inertial: Element) -> Link:
        mass, tensor = self._only(inertial, "mass"), self._only(inertial, "inertia")
        at = self._origin(self._only(inertial, "origin"))
        m = 0.0 if mass is None else mass.number("value")
        I = np.zeros((3, 3)) if tensor is None else self._tensor(link, tensor)
        if mass is None and tensor is None:
            self._doubt(inertial, f"the <inertial> of link {quoted(link.name)} is empty",
                        "links have an empty <inertial>", link.name)  # fmt: skip
        elif tensor is None and m:
            self._doubt(
                inertial,
                f"the <inertial> of link {quoted(link.name)} has no <inertia>: taken as a point "
                "of its mass",
                "links have a mass but no <inertia>, and are taken as points",
                link.name,
            )
        return replace(link, mass=m, com=at.r, inertia=at.R @ I @ at.R.T)

    def _tensor(self, link: Link, tensor: Element) -> Matrix:
        missing = [key for key in PRODUCTS if key not in tensor.attributes]
        if missing:
            self._doubt(
                tensor,
                f"the <inertia> of link {quoted(link.name)} has no {', '.join(missing)}: taken as "
                "zero",
                "links have an <inertia> without ixy, ixz or iyz, which are taken as zero",
                link.name,
            )
        entries = [tensor.number(key, 0.0 if key in PRODUCTS else None) for key in ENTRIES]
        return symmetric(*entries).astype(float)

    def _meshes(self, element: Element) -> Iterator[Mesh]:
        for visual in element.all("visual"):
            geometry = visual.first("geometry")
            mesh = geometry.first("mesh") if geometry else None
            if mesh is not None and mesh.get("filename"):
                try:
                    scale = mesh.numbers("scale", None, (1.0, 1.0, 1.0)).tolist()
                    at = self._origin(visual.first("origin"))
                except ModelError as error:
                    self.problems.doubt(
                        f"{error}; the mesh is left out",
                        "meshes have a scale or origin that cannot be read, and are left out",
                        mesh.get("filename"),
                    )
                    continue
                if len(scale) != 3:
                    self._doubt(
                        mesh,
                        f"<mesh {mesh.said('scale')}> has {len(scale)} values instead of 3: taken "
                        "as 1 1 1",
                        "meshes have a scale that is not of 3 values, taken as 1 1 1",
                        mesh.get("filename"),
                    )
                    scale = [1.0, 1.0, 1.0]
                yield Mesh(mesh.get("filename"), at, tuple(scale))

    def joint(self, element: Element, drives: Mapping[str, Drive]) -> Connection | None:
        """The joint of an element, or None if it cannot be read."""
        with self.problems.collected():
            name = element.word("name")
            kind = element.word("type", "revolute, continuous, prismatic or fixed")
            subject = f"joint {quoted(name)}"
            ends = {end: self._only(element, end) for end in ("parent", "child")}
            joint = Connection(
                name=name,
                kind=kind,
                parent=(ends["parent"] or element.need("parent", subject)).word("link"),
                child=(ends["child"] or element.need("child", subject)).word("link"),
                pose=self._origin(self._only(element, "origin")),
                where=element.where,
            )
            if kind == "fixed":
                return joint
            axis, drive = self._only(element, "axis"), drives.get(name, Drive())
            return replace(
                joint,
                axis=np.array(X_AXIS) if axis is None else self._axis(axis, name),
                limits=self._limits(element),
                drive=_drive(self._only(element, "dynamics"), drive),
            )
        return None

    def _limits(self, joint: Element) -> Limits:
        name, kind = joint.get("name"), joint.get("type")
        limit = self._only(joint, "limit")
        if limit is None:
            doubt_no_limit(f"{joint.where}: joint {quoted(name)}", name, kind, self.problems)
            return Limits()
        texts = {key: limit.get(key) for key in Limits._fields if key in limit.attributes}
        texts = {"lower": "0", "upper": "0"} | texts
        if kind == "continuous":
            texts = {key: text for key, text in texts.items() if key in ("velocity", "effort")}
        return read_limits(texts, f"{limit.where}: joint {quoted(name)}", name, self.problems)

    def _axis(self, axis: Element, joint: str) -> Vector:
        if "xyz" not in axis.attributes:
            self._doubt(
                axis,
                f"the <axis> of joint {quoted(joint)} has no xyz: taken as 1 0 0",
                "joints have an <axis> without xyz, taken as 1 0 0",
                joint,
            )
        return axis.numbers("xyz", 3, X_AXIS)

    def _origin(self, element: Element | None) -> Pose:
        if element is None:
            return HERE
        unknown = sorted(set(element.attributes) - {"xyz", "rpy", "quat_xyzw"})
        if unknown:
            self._doubt(
                element,
                f'<origin> has {shown(unknown[0])}="…", which is not read: expected xyz and rpy',
                "<origin>s have attributes that are not read",
                f"{shown(unknown[0])} (line {element.line})",
            )
        xyz = element.numbers("xyz", 3, (0.0, 0.0, 0.0))
        if "quat_xyzw" in element.attributes:
            x, y, z, w = element.numbers("quat_xyzw", 4)
            return Pose(rotation_of_quaternion(w, x, y, z), xyz)
        rpy = element.numbers("rpy", 3, (0.0, 0.0, 0.0))
        if np.abs(rpy).max() > MAX_ANGLE:
            self._doubt(
                element,
                f"<origin {element.said('rpy')}> turns more than twice round: taken as radians "
                "(90 degrees are 1.5707963267948966)",
                "<origin>s turn more than twice round, and are taken as radians",
                f"{shown(element.get('rpy'))} (line {element.line})",
            )
        return pose(xyz, rpy)

    def _only(self, element: Element, tag: str) -> Element | None:
        """The first child with a tag, as other readers take it, with a doubt if there are more."""
        found = element.all(tag)
        if len(found) > 1:
            self._doubt(
                found[1],
                f"<{element.tag}> has {len(found)} <{tag}>: the first is taken",
                f"<{element.tag}>s have more than one <{tag}>, of which the first is taken",
                f"line {found[1].line}",
            )
        return found[0] if found else None

    def _doubt(self, element: Element, message: str, alike: str, name: str) -> None:
        self.problems.doubt(f"{element.where}: {message}", alike, name)


def _mimic(element: Element) -> list[Tie]:
    """The tie of a joint to the one that it mimics, if it does and can move."""
    mimic = element.first("mimic")
    if mimic is None or element.get("type") == "fixed":
        return []
    name, leader = element.word("name"), mimic.get("joint")
    coefficients = mimic.number("offset", 0.0), mimic.number("multiplier", 1.0)
    said = f"joint {quoted(name)} mimics joint {quoted(leader)}"
    return [Tie(name, leader, coefficients, said, mimic.where)]


def _drive(dynamics: Element | None, drive: Drive) -> Drive:
    if dynamics is None:
        return drive
    return drive._replace(
        viscous=dynamics.number("damping", 0.0), coulomb=dynamics.number("friction", 0.0)
    )

"""Reading MJCF files."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from armlet.errors import ModelError, listed, quoted, shown
from armlet.models.mjcf_inertia import (
    NOTHING,
    SIZES,
    Part,
    body_inertia,
    lengths,
    solid_size,
)
from armlet.models.mjcf_refusals import (
    FREEDOMS,
    READ,
    check_attributes,
    check_sections,
    check_tag,
    constraints,
    refuse_nonzero,
)
from armlet.models.mjcf_settings import (
    Compiler,
    Defaults,
    called,
    choice,
    direction,
    first_number,
    placed,
    read_compiler,
    section,
    span,
)
from armlet.models.xml import Element, read_xml
from armlet.robot import HERE, Connection, Description, Drive, Limits, Link, Pose
from armlet.robot.check import check_names
from armlet.robot.description import Mesh, Solid
from armlet.robot.pose import rotation, rotation_of_quaternion
from armlet.scalar import Vector

WORLD = "world"
SHOWN = range(3)
"""The groups of geoms that MuJoCo's viewer shows."""


@np.errstate(all="ignore")  # the description is checked for numbers that are not finite
def read_mjcf(path: Path) -> Description:
    """The description in an MJCF file; the world is its base."""
    root = read_xml(path)
    if root.tag != "mujoco":
        raise ModelError(f"{root.where}: the root element is <{root.tag}>: expected <mujoco>")
    check_sections(root)
    compiler, defaults = read_compiler(root), Defaults(root)
    ties = constraints(root, defaults)
    world = _world(root)
    bodies = list(_bodies(world))
    joints = [joint for body in bodies for joint in _inside(body, "joint")]
    _give_names(bodies, "body")
    _give_names(joints, "joint")
    check_names(((joint.get("name"), joint.where) for joint in joints), "joint")
    tree = _Tree(
        compiler=compiler,
        defaults=defaults,
        meshes=_meshes(root, compiler, defaults),
        motors=_motors(root, compiler, defaults, {joint.get("name") for joint in joints}),
        taken={WORLD, *(body.get("name") for body in bodies)},
    )
    tree.grow(world)
    return Description(
        name=root.get("model") or shown(path.stem),
        links=tuple(_scaled(tree.links, compiler.settotalmass)),
        joints=tuple(tree.joints),
        gravity=_gravity(root),
        tool=tree.tips[0] if len(tree.tips) == 1 else None,
        source=shown(path.name),
        where=shown(path.name),
        ties=tuple(ties),
    )


# ---------------------------------------------------------------------------------- the tree


@dataclass
class _Tree:
    """The links and joints read so far, and related data from other sections of the file."""

    compiler: Compiler
    defaults: Defaults
    meshes: Mapping[str, Mesh]
    motors: Mapping[str, "Motor"]
    taken: set[str]
    """The names of bodies."""
    links: list[Link] = field(default_factory=list)
    joints: list[Connection] = field(default_factory=list)
    tips: list[str] = field(default_factory=list)
    """The moving bodies without children, each by the name of its site if it has one."""

    def grow(
        self, body: Element, parent: str = "", frame: Pose = HERE, moves: bool = False
    ) -> None:
        """Add a body, its joints and all it carries; the frame around it is in the parent."""
        name = body.word("name")
        parts: dict[str, list[Part]] = {tag: [] for tag in READ}
        for part, at in self._opened(body, HERE, self.defaults.known(body, "childclass", "main")):
            parts[part.tag].append((part, at))
        moves = moves or bool(parts["joint"])
        inertia = NOTHING
        if parent:
            refuse_nonzero(body, "gravcomp", "a force against gravity")
            self._join(body, parent, frame, parts["joint"])
            inertia = body_inertia(body, parts["inertial"], parts["geom"], self.compiler, moves)
        shapes = [self._shape(geom, at) for geom, at in parts["geom"]]
        meshes = tuple(mesh for mesh in shapes if mesh)
        solids = tuple(solid for geom, at in parts["geom"] for solid in self._solids(geom, at))
        self.links.append(Link(name, *inertia, meshes=meshes, where=body.where, solids=solids))
        sites = [self._add_site(site, at, name) for site, at in parts["site"] if site.get("name")]
        if moves and not parts["body"]:
            self.tips.append(sites[0] if len(sites) == 1 else name)
        for child, at in parts["body"]:
            self.grow(child, name, at, moves)

    def _opened(self, element: Element, at: Pose, outer: str) -> Iterator[Part]:
        """The elements of a body, defaults applied, with their poses; <frame>s are flattened."""
        for child in element.children:
            check_tag(child)
            part = self.defaults.fill(child, child.tag, outer)
            check_attributes(part)
            if child.tag == "frame":
                inner = self.defaults.known(child, "childclass", outer)
                yield from self._opened(child, at @ placed(child, self.compiler), inner)
            else:
                if child.tag == "body":
                    part.attributes.setdefault("childclass", outer)
                yield part, at

    def _join(self, body: Element, parent: str, frame: Pose, joints: list[Part]) -> None:
        """Add the joints between a body and its parent, massless links between them."""
        name = body.word("name")
        pose = frame @ placed(body, self.compiler)
        if not joints:
            self._fix(name, parent, pose, body.where)
        for k, (joint, at) in enumerate(joints, start=1):
            child = name
            if k < len(joints):
                child = _unlike(self.taken, f"{name}_{joint.word('name')}")
                self.links.append(Link(child, where=joint.where))
            motor = self.motors.get(joint.word("name"), Motor())
            free = _joint(joint, at, motor, self.compiler)
            self.joints.append(replace(free, parent=parent, child=child, pose=pose @ free.pose))
            parent, pose = child, HERE

    def _fix(self, name: str, parent: str, pose: Pose, where: str) -> None:
        self.joints.append(Connection(f"{name}_fixed", "fixed", parent, name, pose, where=where))

    def _add_site(self, site: Element, at: Pose, parent: str) -> str:
        """Add a site as a massless link and return its name, changed if a body has the same."""
        name = site.word("name")
        name = f"{name}_site" if name in self.taken else name
        self.links.append(Link(name, where=site.where))
        self._fix(name, parent, at @ placed(site, self.compiler), site.where)
        return name

    def _shape(self, geom: Element, at: Pose) -> Mesh | None:
        mesh = self.meshes.get(geom.get("mesh"))
        if mesh is None or geom.get("type") != "mesh" or geom.number("group", 0.0) not in SHOWN:
            return None
        return replace(mesh, pose=at @ placed(geom, self.compiler) @ mesh.pose)

    def _solids(self, geom: Element, at: Pose) -> Iterator[Solid]:
        """The primitive that a geom shows; a faulty one is left out, since dynamics need none."""
        kind = geom.get("type") or "sphere"
        with suppress(ModelError):
            shown = kind in SIZES and geom.number("group", 0.0) in SHOWN
            if shown and "mesh" not in geom.attributes:
                size = solid_size(kind, lengths(geom, kind, geom.where))
                yield Solid(kind, size, at @ placed(geom, self.compiler))


def _joint(joint: Element, at: Pose, motor: "Motor", compiler: Compiler) -> Connection:
    """A joint whose links are still to be named; its pose is at zero, relative to that at ref."""
    freedoms = FREEDOMS.get(joint.get("type"))
    if freedoms:
        raise ModelError(
            f"{called(joint)} has {joint.said('type')}, with {freedoms}: expected hinge or slide "
            "joints, of which a body may have several"
        )
    turns = choice(joint, "type", ("hinge", "slide"), "hinge") == "hinge"
    for key, meaning, first in (
        ("stiffness", "a spring", 0),
        ("springdamper", "a spring", 0),
        ("damping", "friction that is not linear", 1),
    ):
        refuse_nonzero(joint, key, meaning, first)
    unit = compiler.unit if turns else 1.0
    axis = direction(at.R @ joint.numbers("axis", 3, (0.0, 0.0, 1.0)), joint, "axis")
    there = Pose(np.eye(3), at.point(joint.numbers("pos", 3, (0.0, 0.0, 0.0))))
    ref = unit * joint.number("ref", 0.0)
    back = Pose(rotation(axis, -ref), np.zeros(3)) if turns else Pose(np.eye(3), -ref * axis)
    low, high = span(joint, "limited", "range", compiler)
    force = max(map(abs, span(joint, "actuatorfrclimited", "actuatorfrcrange", compiler)))
    revolute = "continuous" if low == -inf else "revolute"
    return Connection(
        name=joint.word("name"),
        kind=revolute if turns else "prismatic",
        parent="",
        child="",
        pose=there @ back @ there.inverse(),
        axis=axis,
        point=there.r,
        limits=Limits(unit * low, unit * high, effort=min(force, motor.effort)),
        drive=Drive(
            rotor_inertia=joint.number("armature", 0.0) + motor.rotor_inertia,
            viscous=first_number(joint, "damping", 0.0) + motor.viscous,
            coulomb=joint.number("frictionloss", 0.0),
        ),
        where=joint.where,
        at_start=ref,
    )


# ---------------------------------------------------------------------------------- names


def _world(root: Element) -> Element:
    """The <worldbody> sections as one body with a name."""
    if not root.all("worldbody"):
        raise ModelError(f"{root.where}: <mujoco> has no <worldbody>: expected one")
    world = section(root, "worldbody")
    if world.attributes:
        raise ModelError(
            f'{world.where}: <worldbody> has {min(world.attributes)}="…": expected no attributes'
        )
    for wrong in (*_inside(world, "joint"), *_inside(world, "inertial")):
        raise ModelError(f"{wrong.where}: <{wrong.tag}> in <worldbody>: expected it in a <body>")
    world.attributes["name"] = WORLD
    return world


def _inside(element: Element, tag: str) -> list[Element]:
    """The children with a tag, those in frames too, in the order of the file."""
    found = []
    for child in element.children:
        if child.tag == tag:
            found.append(child)
        elif child.tag == "frame":
            found += _inside(child, tag)
    return found


def _bodies(element: Element) -> Iterator[Element]:
    for body in _inside(element, "body"):
        yield body
        yield from _bodies(body)


def _give_names(elements: list[Element], kind: str) -> None:
    """Give numbered names to the elements without one."""
    taken = {element.get("name") for element in elements}
    for k, element in enumerate(elements, start=1):
        if not element.get("name"):
            element.attributes["name"] = _unlike(taken, f"{kind}{k}")


def _unlike(taken: set[str], name: str) -> str:
    """The name, with a suffix if it is taken; it is then added to those taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


# ---------------------------------------------------------------------------------- elsewhere


class Motor(NamedTuple):
    """The effect of a joint's actuators on it."""

    rotor_inertia: float = 0.0
    viscous: float = 0.0
    effort: float = inf


def _motors(
    root: Element, compiler: Compiler, defaults: Defaults, joints: set[str]
) -> dict[str, Motor]:
    """The effect of actuators on each joint, through their gears."""
    motors: dict[str, Motor] = {}
    for element in section(root, "actuator").children:
        actuator = defaults.fill(element, "actuator")
        name = actuator.get("joint") or actuator.get("jointinparent")
        refuse_nonzero(actuator, "damping", "friction that is not linear", first=1 if name else 0)
        if not name:
            refuse_nonzero(actuator, "armature", "an inertia on no joint")
            continue
        if name not in joints:
            raise ModelError(
                f"{called(actuator)} moves joint {quoted(name)}, which does not exist: expected "
                f"one of {listed(sorted(joints))}"
            )
        gear = abs(first_number(actuator, "gear", 1.0))
        force = max(map(abs, span(actuator, "forcelimited", "forcerange", compiler)))
        if actuator.tag == "motor":
            control = max(map(abs, span(actuator, "ctrllimited", "ctrlrange", compiler)))
            force = min(force, control)
        others = motors.get(name, Motor(effort=0.0))
        motors[name] = Motor(
            others.rotor_inertia + gear * gear * actuator.number("armature", 0.0),
            others.viscous + gear * gear * first_number(actuator, "damping", 0.0),
            others.effort + (gear * force if gear else 0.0),
        )
    return motors


def _meshes(root: Element, compiler: Compiler, defaults: Defaults) -> dict[str, Mesh]:
    """The meshes by name, each with its pose in the frame of a geom that uses it."""
    meshes = {}
    for element in section(root, "asset").all("mesh"):
        asset = defaults.fill(element, "mesh")
        path = PurePath(asset.get("file"))
        if asset.get("file"):
            file = path.name if compiler.strippath else str(path)
            quat = asset.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0))
            R = rotation_of_quaternion(*direction(quat, asset, "refquat"))
            at = Pose(R, asset.numbers("refpos", 3, (0.0, 0.0, 0.0))).inverse()
            scale = tuple(asset.numbers("scale", 3, (1.0, 1.0, 1.0)).tolist())
            name = asset.get("name") or path.stem
            meshes[name] = Mesh(str(PurePath(compiler.meshdir, file)), at, scale)
    return meshes


def _gravity(root: Element) -> Vector:
    option = section(root, "option")
    for key in ("density", "viscosity"):
        refuse_nonzero(option, key, "a fluid around the robot")
    gravity = option.numbers("gravity", 3, (0.0, 0.0, -9.81))
    flags = section(option, "flag")
    off = choice(flags, "gravity", ("enable", "disable"), "enable") == "disable"
    return 0 * gravity if off else gravity


def _scaled(links: list[Link], total: float) -> list[Link]:
    """The links with masses scaled to a total, if it is above zero."""
    mass = sum(link.mass for link in links)
    if total <= 0 or mass <= 0:
        return links
    return [
        replace(link, mass=link.mass * total / mass, inertia=link.inertia * total / mass)
        for link in links
    ]

"""Reading MJCF files."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import numpy as np

from armlet.description import Connection, Description, Link
from armlet.description.checks import check_names
from armlet.description.description import Mesh, Solid
from armlet.description.keyframes import check_values
from armlet.description.problems import Problems
from armlet.errors import ModelError, quoted, shown
from armlet.formats.files import Folders
from armlet.formats.mjcf.actuators import Motor, all_motors, servos
from armlet.formats.mjcf.free import leave_out_free_bodies, leave_out_mocap
from armlet.formats.mjcf.inertia import NOTHING, SIZES, Inertia, body_inertia, lengths, solid_size
from armlet.formats.mjcf.keyframes import completed, keyframes
from armlet.formats.mjcf.meshes import CURE, MissingMesh
from armlet.formats.mjcf.models import Model, read_model
from armlet.formats.mjcf.passive import Passive
from armlet.formats.mjcf.refusals import READ, check_attributes, check_tag, constraints
from armlet.formats.mjcf.scope import Part, Scope, opened
from armlet.formats.mjcf.settings import Compiler, choice, direction, placed, section, span
from armlet.formats.xml import Element
from armlet.robot import HERE, Drive, Limits, Pose
from armlet.robot.pose import rotation
from armlet.scalar import Vector

WORLD = "world"
OTHER_KINDS = {"ball": "ball", "free": "floating"}
"""The types of joint with several freedoms, and the kinds that they are of."""
SHOWN = range(3)
"""The groups of geoms that MuJoCo's viewer shows."""


@np.errstate(all="ignore")  # the description is checked for numbers that are not finite
def read_mjcf(path: Path, folders: Folders, problems: Problems) -> Description:
    """The description in an MJCF file; the world is its base."""
    model = read_model(path, folders)
    root, world = model.root, _world(model)
    bodies = list(_bodies(world))
    _give_names(bodies, "body")
    _read_freejoints(bodies)
    joints = [joint for body in bodies for joint in _inside(body, "joint")]
    _give_names(joints, "joint")
    check_names(((joint.get("name"), joint.where) for joint in joints), "joint")
    poses = keyframes(root, world, model.scope) | model.keyframes
    check_values(len(poses), len(joints), root.where)
    with problems.collected():
        leave_out_free_bodies(model, problems)
        leave_out_mocap(model, problems)
    outside = list(model.outside.sections())
    ties = [tie for part, scope in outside for tie in constraints(part, scope.defaults, problems)]
    passive = Passive.of(root)
    for part, scope in outside:
        passive.read_tendons(part, scope.defaults)
    tree = _Tree(
        motors=all_motors(outside, {joint.get("name") for joint in joints}, passive),
        passive=passive,
        problems=problems,
        taken={WORLD, *(body.get("name") for body in bodies)},
    )
    tree.grow(world, model.scope)
    links = _scaled(tree.links, model.scope.compiler.settotalmass)
    return Description(
        name=root.get("model") or shown(path.stem),
        links=passive.compensated(links, tree.joints),
        joints=tuple(tree.joints),
        gravity=_gravity(root),
        tool=tree.tips[0] if len(tree.tips) == 1 else None,
        source=shown(path.name),
        where=shown(path.name),
        ties=tuple(ties),
        not_modelled=tuple(passive.not_modelled),
        keyframes=completed(poses, tree.joints),
        notes=servos(outside, problems),
    )


# ---------------------------------------------------------------------------------- the tree


@dataclass
class _Tree:
    """The links and joints read so far."""

    motors: Mapping[str, "Motor"]
    passive: Passive
    problems: Problems
    taken: set[str]
    """The names of bodies."""
    links: list[Link] = field(default_factory=list)
    joints: list[Connection] = field(default_factory=list)
    tips: list[str] = field(default_factory=list)
    """The moving bodies without children, each by the name of its site if it has one."""

    def grow(
        self,
        body: Element,
        scope: Scope,
        parent: str = "",
        frame: Pose = HERE,
        moves: bool = False,
    ) -> None:
        """Add a body, its joints and all it carries; the frame around it is in the parent."""
        name = body.word("name")
        parts: dict[str, list[Part]] = {tag: [] for tag in READ}
        for part in opened(body, scope):
            check_tag(part.element)
            check_attributes(part.element)
            parts[part.element.tag].append(part)
        moves = moves or bool(parts["joint"])
        inertia = NOTHING
        if parent:
            self.passive.read_body(body)
            self._join(body, parent, frame @ placed(body, scope.compiler), parts["joint"])
            inertia = self._inertia(body, parts, scope, moves)
        meshes = tuple(mesh for geom in parts["geom"] if (mesh := _shape(geom)))
        solids = tuple(solid for geom in parts["geom"] for solid in _solids(geom))
        self.links.append(Link(name, *inertia, meshes=meshes, where=body.where, solids=solids))
        sites = [self._add_site(site, name) for site in parts["site"] if site.element.get("name")]
        if moves and not parts["body"]:
            self.tips.append(sites[0] if len(sites) == 1 else name)
        for child in parts["body"]:
            self.grow(child.element, child.scope, name, child.at, moves)

    def _inertia(
        self, body: Element, parts: Mapping[str, list[Part]], scope: Scope, moves: bool
    ) -> Inertia:
        """The inertia of a body, none if a mesh that it needs is missing."""
        try:
            return body_inertia(body, parts["inertial"], parts["geom"], scope.compiler, moves)
        except MissingMesh as error:
            said = f"geoms have the mesh of a file that cannot be read and is needed; {CURE}"
            self.problems.error(str(error), said, quoted(error.name))
            return NOTHING

    def _join(self, body: Element, parent: str, pose: Pose, joints: list[Part]) -> None:
        """Add the joints between a body and its parent, massless links between them."""
        name = body.word("name")
        if not joints:
            self._fix(name, parent, pose, body.where)
        for k, (joint, at, scope) in enumerate(joints, start=1):
            child = name
            if k < len(joints):
                child = _unlike(self.taken, f"{name}_{joint.word('name')}")
                self.links.append(Link(child, where=joint.where))
            motor = self.motors.get(joint.word("name"), Motor())
            self._fix(child, parent, pose, joint.where)  # unless the joint can be read
            with self.problems.collected():
                free = _joint(joint, at, motor, scope.compiler, self.passive)
                self.joints[-1] = replace(free, parent=parent, child=child, pose=pose @ free.pose)
            parent, pose = child, HERE

    def _fix(self, name: str, parent: str, pose: Pose, where: str) -> None:
        self.joints.append(Connection(f"{name}_fixed", "fixed", parent, name, pose, where=where))

    def _add_site(self, part: Part, parent: str) -> str:
        """Add a site as a massless link and return its name, changed if a body has the same."""
        site, at, scope = part
        name = site.word("name")
        name = f"{name}_site" if name in self.taken else name
        self.links.append(Link(name, where=site.where))
        self._fix(name, parent, at @ placed(site, scope.compiler), site.where)
        return name


def _shape(part: Part) -> Mesh | None:
    """The mesh of a geom, if it has one that is shown."""
    geom, at, scope = part
    asset = scope.meshes.get(geom.get("mesh"))
    if asset is None or geom.get("type") != "mesh" or geom.number("group", 0.0) not in SHOWN:
        return None
    mesh = asset.shown
    return mesh and replace(mesh, pose=at @ placed(geom, scope.compiler) @ mesh.pose)


def _solids(part: Part) -> Iterator[Solid]:
    """The primitive that a geom shows; a faulty one is left out, since dynamics need none."""
    geom, at, scope = part
    kind = geom.get("type") or "sphere"
    with suppress(ModelError):
        is_shown = kind in SIZES and geom.number("group", 0.0) in SHOWN
        if is_shown and "mesh" not in geom.attributes:
            size = solid_size(kind, lengths(geom, kind, geom.where))
            yield Solid(kind, size, at @ placed(geom, scope.compiler))


def _joint(
    joint: Element, at: Pose, motor: "Motor", compiler: Compiler, passive: Passive
) -> Connection:
    """A joint whose links are still to be named; its pose is at zero, relative to that at ref."""
    if (kind := OTHER_KINDS.get(joint.get("type"))) is not None:
        return Connection(joint.word("name"), kind, "", "", where=joint.where)
    turns = choice(joint, "type", ("hinge", "slide"), "hinge") == "hinge"
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
            viscous=passive.number(joint, "damping") + motor.viscous,
            coulomb=passive.number(joint, "frictionloss"),
        ),
        spring=passive.spring(joint, unit),
        where=joint.where,
        at_start=ref,
    )


# ---------------------------------------------------------------------------------- names


def _world(model: Model) -> Element:
    """The <worldbody> sections as one body with a name."""
    root, world = model.root, model.world
    if not root.all("worldbody"):
        raise ModelError(f"{root.where}: <mujoco> has no <worldbody>: expected one")
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


def _read_freejoints(bodies: Iterable[Element]) -> None:
    """Make each <freejoint> a joint of type free, named by its body if it has no name."""
    for body in bodies:
        for joint in _inside(body, "freejoint"):
            joint.tag = "joint"
            name = joint.get("name") or f"{body.get('name')}_free"
            joint.attributes = {"name": name, "type": "free"}


def _unlike(taken: set[str], name: str) -> str:
    """The name, with a suffix if it is taken; it is then added to those taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


# ---------------------------------------------------------------------------------- elsewhere


def _gravity(root: Element) -> Vector:
    option = section(root, "option")
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

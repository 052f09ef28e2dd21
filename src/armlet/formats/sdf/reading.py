"""Reading SDF files, as Gazebo and Drake have them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import copysign, inf
from pathlib import Path

import numpy as np

from armlet.algebra import symmetric
from armlet.description import Connection, Description, Link, Tie
from armlet.description.description import Mesh
from armlet.description.problems import Problems
from armlet.errors import ModelError, quoted, shown
from armlet.formats.folders import Folders
from armlet.formats.limits import read_limits
from armlet.formats.sdf.frames import (
    ROOTS,
    WORLD,
    Opener,
    Scope,
    is_true,
    number_of,
    raw_pose,
    relative_to,
    text_of,
    version_of,
)
from armlet.formats.xml import Element, numbers
from armlet.robot import HERE, Compensation, Drive, Limits, Pose, Spring
from armlet.scalar import Vector

UNLIMITED = 1e16
"""Limits of this size mean that there is none."""
UNREAD = {
    "drake:joint": "a joint of a kind of its own",
    "drake:linear_bushing_rpy": "a spring",
    "drake:ball_constraint": "a constraint",
}
"""What models may hold that changes their dynamics."""
ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_sdf(
    root: Element, file: Path, gravity: Vector, folders: Folders, problems: Problems
) -> Description:
    """The description in the elements of an SDF file: one model, or a world with models."""
    if root.tag not in ROOTS:
        raise ModelError(f"{root.where}: the root element is <{root.tag}>: expected <sdf>")
    worlds, models = root.all("world"), root.all("model")
    if not worlds and not models:
        raise ModelError(f"{root.where}: <sdf> has no <model> and no <world>: expected one")
    top = worlds[0] if worlds else models[0]
    if len(models) > 1 and not worlds:
        top = Element(WORLD, {"name": WORLD}, root.file, root.line, models)
    alone = [x for x in top.children if x.tag in ("model", "include", "joint", "frame")]
    given = top.first("gravity")
    if given is not None and top.tag == WORLD:
        gravity = numbers(given.text, 3, f"{given.where}: <gravity>{shown(given.text)}</gravity>")
    start = Scope(top, version_of(root), placement=top.get("placement_frame"))
    opener = Opener(folders)
    whole = opener.opened(start, (str(file.resolve()),))
    if top.tag == WORLD and len(alone) == 1 and len(whole.nested) == 1:
        [whole] = whole.nested.values()
        _forget_prefix(whole)
    if not any(x.tag == "link" for scope in whole.all() for x in scope.named.values()):
        for _, error in opener.missing:
            raise error
        raise ModelError(f"{root.where}: no model has a <link>: expected at least one")
    for uri, error in opener.missing:
        problems.doubt(
            f"{error}; the model is left out",
            "models of the world are not found, and are left out",
            uri,
        )
    reader = _Reader(whole, problems)
    try:
        reader.read()
    except RecursionError:
        raise ModelError(f"{root.where}: frames and models are nested too deeply") from None
    return reader.description(whole.element.get("name") or shown(file.stem), gravity, file)


def _forget_prefix(scope: Scope) -> None:
    """Let the only model of a world have names without that of the model."""
    length = len(scope.prefix)
    for inner in scope.all():
        inner.prefix = inner.prefix[length:]


class _Reader:
    """Reads the links and joints of models, and collects what is wrong with them."""

    def __init__(self, whole: Scope, problems: Problems) -> None:
        self.whole = whole
        self.problems = problems
        self.links: list[Link] = []
        self.joints: list[Connection] = []
        self.ties: list[Tie] = []
        self.poses: dict[str, Pose] = {}
        """The pose of each link in the world."""
        self.static: set[str] = set()
        """The links of models that do not move."""
        self.without_inertial: list[Link] = []
        self.weightless: list[Link] = []
        """The links on which gravity does not act."""
        self.base = WORLD
        """The world as a link, by a name that no other link has."""

    def read(self) -> None:
        """Read all models: links first, since joints refer to them in any order."""
        for scope in self.whole.all():
            at = scope.in_world
            for name, element in scope.named.items():
                if element.tag == "link":
                    link = Link(scope.prefix + name, where=element.where)
                    self.poses[link.name] = HERE
                    if scope.static:
                        self.static.add(link.name)
                    with self.problems.collected():
                        self.poses[link.name] = at @ scope.pose_of(name, element)
                        link = self._link(scope, name, element)
                    self.links.append(link)
                    if not is_true(text_of(element, "gravity", "true")):
                        self.weightless.append(link)
        while self.base in self.poses:
            self.base += "_"
        for scope in self.whole.all():
            for name, element in scope.named.items():
                with self.problems.collected():
                    if element.tag == "joint":
                        joint = self._joint(scope, name, element)
                        self.joints.append(replace(joint, kind="fixed") if scope.static else joint)
                    elif element.tag == "frame":
                        self._frame(scope, name, element)
            for element in scope.element.children:
                if element.tag in UNREAD:
                    self.problems.error(
                        f"{element.where}: <{element.tag}> is {UNREAD[element.tag]}, which armlet "
                        "does not read: remove it"
                    )

    def description(self, name: str, gravity: Vector, file: Path) -> Description:
        """What was read as one tree: its base is the world, or else the only link without parent.

        A free base is fixed where the file puts it, as in URDF files.
        """
        children = {joint.child for joint in self.joints}
        roots = [link.name for link in self.links if link.name not in children]
        on_world = any(joint.parent == self.base for joint in self.joints)
        gravity = self._with_weightless(gravity)
        if on_world or len(roots) != 1:
            self.links.insert(0, Link(self.base))
            self.joints += (
                Connection(f"{root}_fixed", "fixed", self.base, root, self.poses[root])
                for root in roots
            )
        else:
            gravity = self.poses[roots[0]].R.T @ np.asarray(gravity, float)
        if not self.problems.errors:
            self._doubt_defaults(roots, on_world, shown(file.name))
        return Description(
            name=name,
            links=tuple(self.links),
            joints=tuple(self.joints),
            gravity=np.array(gravity, dtype=float),
            source=shown(file.name),
            where=shown(file.name),
            ties=tuple(self.ties),
        )

    def _with_weightless(self, gravity: Vector) -> Vector:
        """The gravity, none if it acts on no link; else its effect on some is compensated."""
        names = {link.name for link in self.weightless}
        if names and all(link.name in names or not link.mass for link in self.links):
            return 0 * np.asarray(gravity, float)
        for link in self.weightless:
            self.problems.doubt(
                f"{link.where}: link {quoted(link.name)} has <gravity> false: its weight is "
                "compensated, a passive torque",
                "links have <gravity> false: their weight is compensated, a passive torque",
                link.name,
            )
        self.links = [
            replace(link, compensation=Compensation(link.mass, link.mass * link.com))
            if link.name in names
            else link
            for link in self.links
        ]
        return gravity

    def _doubt_defaults(self, roots: Sequence[str], on_world: bool, where: str) -> None:
        """Doubt what the file leaves out and is not as its author may think."""
        for link in self.without_inertial:
            if link.name not in roots:
                self.problems.doubt(
                    f"{link.where}: link {quoted(link.name)} has no <inertial>: taken as 1 kg with "
                    "unit inertia, which is the default of SDF",
                    "links have no <inertial>, and are taken as 1 kg with unit inertia, which is "
                    "the default of SDF",
                    link.name,
                )
        free = [root for root in roots if root not in self.static]
        for root in free if on_world or len(free) > 1 else ():
            self.problems.doubt(
                f"{where}: link {quoted(root)} is on no joint, free to move: taken as fixed to the "
                "world",
                "links are on no joint, free to move, and are taken as fixed to the world",
                root,
            )

    # ------------------------------------------------------------------ links

    def _link(self, scope: Scope, name: str, element: Element) -> Link:
        full = scope.prefix + name
        link = Link(full, where=element.where, meshes=tuple(self._meshes(scope, name, element)))
        inertial = element.first("inertial")
        if inertial is None:
            self.without_inertial.append(link)
            return replace(link, mass=1.0, inertia=np.eye(3))
        for tag in ("auto", "fluid_added_mass"):
            if inertial.first(tag) is not None or is_true(inertial.get(tag)):
                raise ModelError(
                    f"{inertial.where}: the <inertial> of link {quoted(full)} has {tag}, which "
                    "armlet does not read: expected mass and inertia as numbers"
                )
        at = raw_pose(inertial)
        tensor = inertial.first("inertia")
        entries = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
        if tensor is not None:
            entries = [number_of(tensor, key, x) for key, x in zip(ENTRIES, entries, strict=True)]
        I = symmetric(*entries).astype(float)
        mass = number_of(inertial, "mass", 1.0)
        return replace(link, mass=mass, com=at.r, inertia=at.R @ I @ at.R.T)

    def _meshes(self, scope: Scope, name: str, element: Element) -> Iterator[Mesh]:
        for visual in element.all("visual"):
            geometry = visual.first("geometry")
            mesh = geometry.first("mesh") if geometry else None
            if mesh is not None and text_of(mesh, "uri"):
                at = scope.pose_of(name, visual).inverse() @ scope.placed(visual, name)
                scale = text_of(mesh, "scale") or "1 1 1"
                values = numbers(scale, 3, f"{mesh.where}: <scale>{shown(scale)}</scale>")
                yield Mesh(text_of(mesh, "uri"), at, tuple(values.tolist()))

    def _frame(self, scope: Scope, name: str, element: Element) -> None:
        """Add a frame as a massless link on the one that it is attached to."""
        owner, link = scope.link_of(name, element)
        parent, full = owner.prefix + link, scope.prefix + name
        at = scope.in_world @ scope.pose_of(name, element)
        self.links.append(Link(full, where=element.where))
        self.poses[full] = at
        there = self.poses[parent].inverse() @ at
        self.joints.append(
            Connection(f"{full}_fixed", "fixed", parent, full, there, where=element.where)
        )

    # ------------------------------------------------------------------ joints

    def _joint(self, scope: Scope, name: str, element: Element) -> Connection:
        full = scope.prefix + name
        kind = element.word("type", "revolute, continuous, prismatic or fixed")
        ends = [self._end(scope, element, tag) for tag in ("parent", "child")]
        (parent, parent_at), (child, child_at) = ends
        in_child = raw_pose(element)
        if relative_to(element) or text_of(element, "child") != child:
            in_child = child_at.inverse() @ scope.in_world @ scope.pose_of(name, element)
        joint = Connection(
            name=full,
            kind=kind,
            parent=parent,
            child=child,
            pose=parent_at.inverse() @ child_at,
            where=element.where,
        )
        axis = element.first("axis")
        if kind not in ("revolute", "continuous", "prismatic"):
            return joint
        if axis is None:
            raise ModelError(f"{element.where}: joint {quoted(full)} has no <axis>: expected one")
        self._add_mimic(scope, full, element, axis)
        limits = _limits(axis, f"{axis.where}: joint {quoted(full)}", full, self.problems)
        return replace(
            joint,
            axis=self._axis(scope, name, element, axis, child_at),
            point=in_child.r,
            limits=limits if kind != "continuous" else limits._replace(lower=-inf, upper=inf),
            drive=_drive(element, axis),
            spring=_spring(axis),
        )

    def _end(self, scope: Scope, element: Element, tag: str) -> tuple[str, Pose]:
        """The link at an end of a joint, with its pose in the world."""
        name = text_of(element, tag)
        if not name:
            raise ModelError(
                f"{element.where}: joint {quoted(element.get('name'))} has no <{tag}>: expected one"
            )
        if name == WORLD and name not in scope.named:
            return self.base, HERE
        owner, link = scope.link_of(name, element)
        return owner.prefix + link, self.poses[owner.prefix + link]

    def _axis(
        self, scope: Scope, name: str, element: Element, axis: Element, child_at: Pose
    ) -> Vector:
        """The axis of a joint, in the frame of its child.

        By version 1.4 it is given in the frame of the model; later in that of the joint, unless the
        file says otherwise.
        """
        xyz = axis.first("xyz")
        text = "0 0 1" if xyz is None else xyz.text
        values = numbers(text, 3, f"{axis.where}: <xyz>{shown(text.strip())}</xyz>")
        frame = name if xyz is None else xyz.get("expressed_in") or name
        old = scope.version < (1, 5) or is_true(text_of(axis, "use_parent_model_frame"))
        at = HERE if old else scope.pose_of(frame, xyz or axis)
        return child_at.R.T @ scope.in_world.R @ at.R @ values

    def _add_mimic(self, scope: Scope, name: str, joint: Element, axis: Element) -> None:
        mimic, drakes = axis.first("mimic"), joint.first("drake:mimic")
        if mimic is not None:
            slope = number_of(mimic, "multiplier", 1.0)
            offset = number_of(mimic, "offset", 0.0) - slope * number_of(mimic, "reference", 0.0)
            leader, where = mimic.get("joint"), mimic.where
        elif drakes is not None:
            slope, offset = drakes.number("multiplier", 1.0), drakes.number("offset", 0.0)
            leader, where = drakes.get("joint"), drakes.where
        else:
            return
        leader = scope.prefix + leader
        said = f"joint {quoted(name)} mimics joint {quoted(leader)}"
        self.ties.append(Tie(name, leader, (offset, slope), said, where))


def _limits(axis: Element, subject: str, name: str, problems: Problems) -> Limits:
    """The limits of a joint; negative velocities and efforts mean that there is none."""
    limit = axis.first("limit")
    given = {key: text_of(limit, key) for key in Limits._fields} if limit else {}
    texts = {
        key: text
        for key, text in given.items()
        if text and not (key in ("velocity", "effort") and text.startswith("-"))
    }
    found = read_limits(texts, subject, name, problems)
    return Limits(*(x if abs(x) < UNLIMITED else copysign(inf, x) for x in found))


def _spring(axis: Element) -> Spring:
    """The spring of a joint, from its axis."""
    dynamics = axis.first("dynamics")
    if dynamics is None:
        return Spring()
    stiffness = number_of(dynamics, "spring_stiffness", 0.0)
    return (
        Spring(stiffness, number_of(dynamics, "spring_reference", 0.0)) if stiffness else Spring()
    )


def _drive(joint: Element, axis: Element) -> Drive:
    """Friction of a joint, and the rotor inertia that Drake's elements give it."""
    ratio = number_of(joint, "drake:gear_ratio", 1.0)
    dynamics = axis.first("dynamics") or Element("dynamics", {}, axis.file, axis.line)
    return Drive(
        rotor_inertia=number_of(joint, "drake:rotor_inertia", 0.0) * ratio * ratio,
        viscous=number_of(dynamics, "damping", 0.0),
        coulomb=number_of(dynamics, "friction", 0.0),
    )

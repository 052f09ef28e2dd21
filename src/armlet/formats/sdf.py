"""Read SDF files, with Drake's elements for drives and mimic joints."""

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf, radians
from pathlib import Path

import numpy as np

from armlet._support.lazy import cached_property
from armlet.algebra import symmetric
from armlet.description import Connection, Description, Link, Mesh, Tie
from armlet.description.coupling import mimic_tie
from armlet.description.description import fixed
from armlet.description.problems import Problems
from armlet.errors import ModelError, clip, listing, quote
from armlet.formats.dh import EARTH
from armlet.formats.files import Folders
from armlet.formats.urdf import ENTRIES, WORLD, read_limits
from armlet.formats.xml import Element, read_xml
from armlet.robot import IDENTITY_POSE, Compensation, Drive, Limits, Pose, Spring, pose
from armlet.robot.joints import joint_kinds
from armlet.robot.pose import rotation_of_quaternion
from armlet.scalar import Vector

MODEL = "__model__"
MAX_CHAIN = 100
"""Maximum length of a chain of frames, each relative to the next frame."""
MAX_INCLUDES = 1000
"""Maximum number of models that a file includes, directly or through other models."""
ROOTS = ("sdf", "gazebo")
"""Tags of the root element; SDF 1.2 has <gazebo>."""
ENDINGS = (".sdf", ".world", ".xml")
FRAMES = ("link", "joint", "frame", "model")
"""Tags of elements that other elements can refer to by name."""
UNLIMITED = 1e16
"""A limit of this size or more means that there is no limit."""
UNREAD = ("drake:joint", "drake:linear_bushing_rpy", "drake:ball_constraint")
"""Elements that are refused, since they change the dynamics and armlet does not read them."""


def is_true(text: str) -> bool:
    return text.strip().lower() in ("true", "1")


def relative_to(element: Element) -> str:
    """Return the name of the frame that an element's <pose> is relative to; "" if it names none."""
    place = element.child("pose")
    return place.get("relative_to") or place.get("frame")


def raw_pose(element: Element) -> Pose:
    """Return the <pose> of an element as written, in the frame `relative_to(element)`."""
    place = element.child("pose")
    if not place.text.strip():
        return IDENTITY_POSE
    if place.get("rotation_format", "euler_rpy") == "quat_xyzw":
        values = place.text_numbers(7)
        x, y, z, w = values[3:]
        if not 0 < np.linalg.norm(values[3:]) < inf:
            text = clip(place.text.strip())
            raise place.error(f"<pose>{text}</pose>: expected a quaternion that is not zero")
        return Pose(rotation_of_quaternion(w, x, y, z), values[:3])
    values = place.text_numbers(6)
    rpy = [radians(x) for x in values[3:]] if is_true(place.get("degrees")) else values[3:]
    return pose(values[:3], rpy)


def version_of(root: Element) -> int:
    """Return the minor SDF version of a file, such as 7 for 1.7."""
    match = re.fullmatch(r"\s*1\.(\d{1,3})\s*", root.get("version"))
    if not match:
        raise root.error(f"<sdf {root.attribute('version')}>: expected a version such as 1.7")
    return int(match[1])


@dataclass(eq=False)
class Scope:
    """A model or world: elements by name, and nested models."""

    element: Element
    version: int
    prefix: str = ""
    """Prefix that makes the model's names unique in the world: 'arm::hand::'."""
    parent: "Scope | None" = None
    placement: str = ""
    """Name of the frame that the model's <pose> places; if empty, the model's own frame."""
    named: dict[str, Element] = field(default_factory=dict)
    nested: dict[str, "Scope"] = field(default_factory=dict)
    poses: dict[str, Pose] = field(default_factory=dict)

    @cached_property
    def static(self) -> bool:
        above = self.parent is not None and self.parent.static
        return above or is_true(self.element.text_of("static"))

    @cached_property
    def in_world(self) -> Pose:
        if self.parent is None:
            is_world = self.element.tag == WORLD
            return IDENTITY_POSE if is_world else raw_pose(self.element) @ self._back_to_model()
        return self.parent.in_world @ self.parent.pose_of(self.element.get("name"), self.element)

    def _back_to_model(self) -> Pose:
        """Return the pose of the model's own frame in the frame `placement`."""
        if not self.placement:
            return IDENTITY_POSE
        return self.pose_of(self.placement, self.element).inverse()

    def pose_of(self, name: str, user: Element, chain: tuple[str, ...] = ()) -> Pose:
        """Return the pose of frame `name` in the model; `chain` detects circular references."""
        if name in ("", MODEL) or (name == WORLD and self.element.tag == WORLD):
            return IDENTITY_POSE
        if name == WORLD and name not in self.named:
            return self.in_world.inverse()
        outer, _, inner = name.partition("::")
        if inner and outer in self.nested:
            return self.pose_of(outer, user, chain) @ self.nested[outer].pose_of(inner, user)
        if name in chain:
            path = listing([*chain[chain.index(name) :], name], " -> ")
            raise user.error(f"frames are relative to each other in a circle: {path}")
        if len(chain) >= MAX_CHAIN:
            raise user.error(
                f"more than {MAX_CHAIN} frames are each relative to the next: expected fewer"
            )
        if name not in self.poses:
            element = self._element(name, user)
            defaults = {"joint": element.text_of("child"), "frame": element.get("attached_to")}
            at = self.place(element, defaults.get(element.tag, MODEL), (*chain, name))
            nested = self.nested.get(name)
            self.poses[name] = at if nested is None else at @ nested._back_to_model()
        return self.poses[name]

    def place(self, element: Element, default: str, chain: tuple[str, ...] = ()) -> Pose:
        """Return an element's pose in the model; `default` is the frame if <pose> names none."""
        user = element.first("pose") or element
        return self.pose_of(relative_to(element) or default, user, chain) @ raw_pose(element)

    def link_of(self, name: str, user: Element) -> tuple["Scope", str]:
        """Return the scope and the name of the link to which frame `name` is attached."""
        scope = self
        for _ in range(MAX_CHAIN):
            outer, _, inner = name.partition("::")
            if name in ("", MODEL):
                links = (x for x, element in scope.named.items() if element.tag == "link")
                canonical = scope.element.get("canonical_link")
                name = canonical or next(itertools.chain(links, scope.nested), "")
                if not name:
                    raise user.error("the model has no <link>: expected at least one")
            elif inner and outer in scope.nested:
                scope, name = scope.nested[outer], inner
            elif name in scope.nested:
                scope, name = scope.nested[name], MODEL
            else:
                element = scope._element(name, user)
                if element.tag == "link":
                    return scope, name
                child = element.text_of("child") if element.tag == "joint" else ""
                name = child or element.get("attached_to") or MODEL
        raise user.error(
            f"frame {quote(name)} is attached to no link: the frames it is attached to form a loop "
            "or a very long chain"
        )

    def _element(self, name: str, user: Element) -> Element:
        if name not in self.named:
            raise user.error(
                f"<{user.tag}> refers to {quote(name)}, which does not exist in model "
                f"{quote(self.element.get('name'))}: expected one of {listing(list(self.named))}"
            )
        return self.named[name]


def _name(element: Element, scope: Scope) -> str:
    """Return an element's name; before SDF 1.7, joint X is called X_joint if X is taken."""
    name = element.word("name")
    other = scope.named.get(name)
    if scope.version >= 7 or other is None or element.tag == other.tag:
        return name
    if element.tag == "joint":
        return f"{name}_joint"
    if other.tag == "joint" and f"{name}_joint" not in scope.named:
        scope.named[f"{name}_joint"] = scope.named.pop(name)
    return name


def read_sdf(root: Element, file: Path, folders: Folders, problems: Problems) -> Description:
    """Convert the models of an SDF file, or of its first world, to a description."""
    if root.tag not in ROOTS:
        raise root.error(f"the root element is <{clip(root.tag)}>: expected <sdf>")
    worlds, models = root.all("world"), root.all("model")
    if not worlds and not models:
        raise root.error("<sdf> has no <model> and no <world>: expected one")
    top = worlds[0] if worlds else models[0]
    if len(models) > 1 and not worlds:
        top = Element(WORLD, {"name": WORLD}, root.file, root.line, models)
    alone = [x for x in top.children if x.tag in ("model", "include", "joint", "frame")]
    own = top.first("gravity") if top.tag == WORLD else None
    gravity = np.array(EARTH) if own is None else own.text_numbers(3)
    start = Scope(top, version_of(root), placement=top.get("placement_frame"))
    reader = _Reader(folders, problems)
    try:
        whole, scopes = start, reader.open(start, (file.resolve(),))
        if top.tag == WORLD and len(alone) == 1 and len(whole.nested) == 1:
            whole, *_ = scopes = scopes[1:]
            for inner in scopes:
                inner.prefix = inner.prefix.removeprefix(f"{whole.element.get('name')}::")
        if not any(x.tag == "link" for scope in scopes for x in scope.named.values()):
            if reader.missing:
                raise reader.missing[0]
            raise root.error("no model has a <link>: expected at least one")
        reader.read(scopes)
    except RecursionError:
        raise root.error("frames and models are nested too deeply") from None
    return reader.description(whole.element.get("name") or clip(file.stem), gravity, file)


class _Reader:
    """Open models and their included models, and read links, joints and frames."""

    def __init__(self, folders: Folders, problems: Problems) -> None:
        self.folders, self.problems = folders, problems
        self.includes = 0
        self.missing: list[ModelError] = []
        self.links: list[Link] = []
        self.joints: list[Connection] = []
        self.ties: list[Tie] = []
        self.poses: dict[str, Pose] = {}
        """Link name -> pose in the world."""
        self.static: set[str] = set()
        self.without_inertial: list[Link] = []
        self.weightless: list[Link] = []
        self.base = WORLD
        """Name of the link that stands for the world; no other link has this name."""

    def open(self, scope: Scope, files: tuple[Path, ...]) -> list[Scope]:
        """Fill a scope with elements and nested models; return the scope and all nested scopes."""
        scopes = [scope]
        for child in [*scope.element.children]:
            inside, used = child, files
            version, placement = scope.version, child.get("placement_frame")
            if child.tag == "include":
                uri = child.text_of("uri")
                try:
                    path = self._file(uri, child)
                except ModelError as error:
                    if scope.element.tag != WORLD:
                        raise
                    self.missing.append(error)  # models in a world do not affect each other
                    self.problems.warn(
                        f"{error}; the model is left out",
                        "models of the world are not found, and are left out",
                        uri,
                    )
                    continue
                inside, version = self._include(child, path, files)
                used = (*files, path)
                placement = child.text_of("placement_frame") or placement
            if inside.tag not in FRAMES:
                continue
            name = _name(inside, scope)
            if name in scope.named:
                raise inside.error(
                    f"two elements of a model are called {quote(name)}: names must differ"
                )
            scope.named[name] = inside
            if inside.tag == "model":
                nested = Scope(inside, version, f"{scope.prefix}{name}::", scope, placement)
                scope.nested[name] = nested
                scopes += self.open(nested, used)
        return scopes

    def _include(self, include: Element, path: Path, files: Sequence[Path]) -> tuple[Element, int]:
        """Return the model in an included file, and the file's minor SDF version."""
        self.includes += 1
        if self.includes > MAX_INCLUDES:
            raise include.error(f"more than {MAX_INCLUDES} models are included")
        if is_true(include.get("merge")) or is_true(include.text_of("merge")):
            raise include.error(
                "<include merge> puts the links of a model among those around it, which armlet "
                "does not do: leave out merge, or copy the links"
            )
        if path in files:
            raise include.error(f"{clip(path.name)} includes itself")
        root = read_xml(path)
        models = root.all("model") if root.tag in ROOTS else []
        if len(models) != 1:
            raise include.error(
                f"{clip(path.name)} has {len(models)} <model>: expected an SDF file with one"
            )
        model = models[0]
        model.attributes["name"] = include.text_of("name") or model.get("name")
        for tag in ("pose", "static"):
            if (child := include.first(tag)) is not None:
                model.children = [child, *(x for x in model.children if x.tag != tag)]
        return model, version_of(root)

    def _file(self, uri: str, include: Element) -> Path:
        """Return the file of a URI; for a folder, return the file that its model.config names."""
        if uri.lower().endswith(ENDINGS):
            return self.folders.file(uri, include.where)
        folder, name = uri.rstrip("/"), "model.sdf"
        with suppress(ModelError):
            config = read_xml(self.folders.file(f"{folder}/model.config", include.where))
            name = [name, *(x.text.strip() for x in config.all("sdf"))][-1]
        return self.folders.file(f"{folder}/{name}", include.where)

    def read(self, scopes: Sequence[Scope]) -> None:
        """Read all links, then joints and frames, since a joint may come before its links."""
        named = [(scope, *item) for scope in scopes for item in scope.named.items()]
        for scope, name, element in named:
            if element.tag == "link":
                link = Link(scope.prefix + name, where=element.where)
                self.poses[link.name] = IDENTITY_POSE
                if scope.static:
                    self.static.add(link.name)
                with self.problems.collect():
                    self.poses[link.name] = scope.in_world @ scope.pose_of(name, element)
                    link = self._link(scope, name, element)
                self.links.append(link)
                if not is_true(element.text_of("gravity", "true")):
                    self.weightless.append(link)
        while self.base in self.poses:
            self.base += "_"
        for scope, name, element in named:
            with self.problems.collect():
                if element.tag == "joint":
                    joint = self._joint(scope, name, element)
                    self.joints.append(replace(joint, kind="fixed") if scope.static else joint)
                elif element.tag == "frame":
                    self._frame(scope, name, element)
        for element in (x for scope in scopes for x in scope.element.children if x.tag in UNREAD):
            self.problems.error(
                f"{element.where}: armlet does not read <{element.tag}>, which changes the "
                "dynamics: remove it"
            )

    def description(self, name: str, gravity: Vector, file: Path) -> Description:
        """Return the description; a single root is the base if no joint's parent is the world."""
        children = {joint.child for joint in self.joints}
        roots = [link.name for link in self.links if link.name not in children]
        on_world = any(joint.parent == self.base for joint in self.joints)
        gravity = self._compensate_weightless(gravity)
        if on_world or len(roots) != 1:
            self.links.insert(0, Link(self.base))
            self.joints += (fixed(root, self.base, self.poses[root]) for root in roots)
        else:
            gravity = self.poses[roots[0]].R.T @ gravity
        if not self.problems.errors:
            self._warn_of_defaults(roots, on_world, clip(file.name))
        return Description(
            name=name,
            links=tuple(self.links),
            joints=tuple(self.joints),
            gravity=gravity,
            source=clip(file.name),
            where=clip(file.name),
            ties=tuple(self.ties),
            format="SDF",
        )

    def _compensate_weightless(self, gravity: Vector) -> Vector:
        """Compensate the weight of links with <gravity> false; return `gravity`.

        If no other link has mass, compensate nothing, and return zero gravity.
        """
        names = {link.name for link in self.weightless}
        if names and all(link.name in names or not link.mass for link in self.links):
            return 0 * gravity
        for link in self.weightless:
            self.problems.warn(
                f"{link.where}: link {quote(link.name)} has <gravity> false: its weight is "
                "compensated, a passive torque",
                "links have <gravity> false: their weight is compensated, a passive torque",
                link.name,
            )
        for k, link in enumerate(self.links):
            if link.name in names:
                lifted = Compensation(link.mass, link.mass * link.com)
                self.links[k] = replace(link, compensation=lifted)
        return gravity

    def _warn_of_defaults(self, roots: Sequence[str], on_world: bool, where: str) -> None:
        """Warn of links with SDF's default inertia, and of free links that are taken as fixed."""
        for link in self.without_inertial:
            if link.name not in roots:
                self.problems.warn(
                    f"{link.where}: link {quote(link.name)} has no <inertial>: taken as 1 kg with "
                    "unit inertia, which is the default of SDF",
                    "links have no <inertial>, and are taken as 1 kg with unit inertia, which is "
                    "the default of SDF",
                    link.name,
                )
        free = [root for root in roots if root not in self.static]
        for root in free if on_world or len(free) > 1 else ():
            self.problems.warn(
                f"{where}: link {quote(root)} is on no joint, free to move: taken as fixed to the "
                "world",
                "links are on no joint, free to move, and are taken as fixed to the world",
                root,
            )

    def _link(self, scope: Scope, name: str, element: Element) -> Link:
        full, meshes = scope.prefix + name, self._meshes(scope, name, element)
        link = Link(full, where=element.where, meshes=tuple(meshes))
        inertial = element.first("inertial")
        if inertial is None:
            self.without_inertial.append(link)
            return replace(link, mass=1.0, inertia=np.eye(3))
        for tag in ("auto", "fluid_added_mass"):
            if inertial.first(tag) is not None or is_true(inertial.get(tag)):
                raise inertial.error(
                    f"the <inertial> of link {quote(full)} has {tag}, which armlet does not read: "
                    "expected mass and inertia as numbers"
                )
        at, tensor = raw_pose(inertial), inertial.child("inertia")
        entries = (tensor.number_of(key, default=float(key[1] == key[2])) for key in ENTRIES)
        I = symmetric(*entries).astype(float)
        mass = inertial.number_of("mass", default=1.0)
        return replace(link, mass=mass, com=at.r, inertia=at.R @ I @ at.R.T)

    def _meshes(self, scope: Scope, name: str, element: Element) -> Iterator[Mesh]:
        for visual in element.all("visual"):
            mesh = visual.child("geometry").child("mesh")
            if mesh.text_of("uri"):
                at = scope.pose_of(name, visual).inverse() @ scope.place(visual, name)
                scale = mesh.first("scale") if mesh.text_of("scale") else None
                sizes = (1.0, 1.0, 1.0) if scale is None else scale.text_numbers(3).tolist()
                yield Mesh(mesh.text_of("uri"), at, tuple(sizes))

    def _frame(self, scope: Scope, name: str, element: Element) -> None:
        """Add a frame as a massless link, fixed to the link that the frame is attached to."""
        owner, link = scope.link_of(name, element)
        parent, full = owner.prefix + link, scope.prefix + name
        at = scope.in_world @ scope.pose_of(name, element)
        self.links.append(Link(full, where=element.where))
        self.poses[full] = at
        self.joints.append(fixed(full, parent, self.poses[parent].inverse() @ at, element.where))

    def _joint(self, scope: Scope, name: str, element: Element) -> Connection:
        full = scope.prefix + name
        kind = element.word("type", "revolute, continuous, prismatic or fixed")
        parent, parent_at = self._end(scope, element, "parent")
        child, child_at = self._end(scope, element, "child")
        in_child = raw_pose(element)
        if relative_to(element) or element.text_of("child") != child:
            in_child = child_at.inverse() @ scope.in_world @ scope.pose_of(name, element)
        joint = Connection(
            name=full,
            kind=kind,
            parent=parent,
            child=child,
            pose=parent_at.inverse() @ child_at,
            where=element.where,
        )
        if kind not in joint_kinds("SDF"):
            return joint
        axis = element.need("axis", f"joint {quote(full)}")
        self._add_mimic(scope, full, element, axis)
        dynamics, ratio = axis.child("dynamics"), element.number_of("drake:gear_ratio", default=1.0)
        stiffness = dynamics.number_of("spring_stiffness")
        reference = dynamics.number_of("spring_reference")
        return replace(
            joint,
            axis=self._axis(scope, name, axis, child_at),
            point=in_child.r,
            limits=_limits(axis, kind, full, self.problems),
            drive=Drive(
                rotor_inertia=element.number_of("drake:rotor_inertia") * ratio * ratio,
                viscous=dynamics.number_of("damping"),
                coulomb=dynamics.number_of("friction"),
            ),
            spring=Spring(stiffness, reference) if stiffness else Spring(),
        )

    def _end(self, scope: Scope, element: Element, tag: str) -> tuple[str, Pose]:
        """Return the name and world pose of a joint's parent or child link; `tag` says which."""
        name = element.text_of(tag)
        if not name:
            raise element.error(f"joint {quote(element.get('name'))} has no <{tag}>: expected one")
        if name == WORLD and name not in scope.named:
            return self.base, IDENTITY_POSE
        owner, link = scope.link_of(name, element)
        return owner.prefix + link, self.poses[owner.prefix + link]

    def _axis(self, scope: Scope, name: str, axis: Element, child_at: Pose) -> Vector:
        """Return a joint's axis in the child's frame, whatever frame the file uses."""
        xyz = axis.first("xyz")
        values = np.array([0.0, 0.0, 1.0]) if xyz is None else xyz.text_numbers(3)
        frame = axis.child("xyz").get("expressed_in") or name
        # up to version 1.4, the axis is in the model's frame
        old = scope.version < 5 or is_true(axis.text_of("use_parent_model_frame"))
        at = IDENTITY_POSE if old else scope.pose_of(frame, xyz or axis)
        return child_at.R.T @ scope.in_world.R @ at.R @ values

    def _add_mimic(self, scope: Scope, name: str, joint: Element, axis: Element) -> None:
        if mimic := axis.first("mimic"):
            factor = mimic.number_of("multiplier", default=1.0)
            offset = mimic.number_of("offset") - factor * mimic.number_of("reference")
        elif mimic := joint.first("drake:mimic"):
            factor, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        else:
            return
        if scope.static:
            return
        leader = scope.prefix + mimic.get("joint")
        self.ties.append(mimic_tie(name, leader, factor, offset, mimic.where))


def _limits(axis: Element, kind: str, name: str, problems: Problems) -> Limits:
    """Return the limits of a joint; a negative velocity or effort means no limit."""
    texts = {key: axis.child("limit").text_of(key) for key in Limits._fields}
    none = [key for key in ("velocity", "effort") if texts[key].startswith("-")]
    texts = {key: text for key, text in texts.items() if text and key not in none}
    return read_limits(texts, kind, name, axis, problems, UNLIMITED)

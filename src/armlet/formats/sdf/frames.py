"""The models of an SDF file as scopes of names, and the poses that frames have in them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf, radians
from pathlib import Path

import numpy as np

from armlet._support.lazy import cached_property
from armlet.errors import ModelError, listed, quoted, shown
from armlet.formats.folders import Folders
from armlet.formats.xml import Element, numbers, read_xml
from armlet.robot import HERE, Pose, pose
from armlet.robot.pose import rotation_of_quaternion
from armlet.scalar import Vector

MODEL = "__model__"
WORLD = "world"
MAX_CHAIN = 100
"""How many frames may each be relative to the next, and models be nested in each other."""
MAX_INCLUDES = 1000
"""How many models one file may include, those that included ones include too."""
ROOTS = ("sdf", "gazebo")
"""The root elements; the second is that of version 1.2."""
ENDINGS = (".sdf", ".world", ".xml")
FRAMES = ("link", "joint", "frame", "model")
"""The elements whose names can be referred to."""


@dataclass(eq=False)
class Scope:
    """A model or world: the elements by their names, and the models nested in it."""

    element: Element
    version: tuple[int, ...]
    prefix: str = ""
    """What comes before the names in it to make them unlike those elsewhere: 'arm::hand::'."""
    parent: "Scope | None" = None
    placement: str = ""
    """The frame in it that its pose is that of, if it is not the model's own."""
    named: dict[str, Element] = field(default_factory=dict)
    nested: dict[str, "Scope"] = field(default_factory=dict)
    poses: dict[str, Pose] = field(default_factory=dict)
    """The poses in the frame of this model that are known."""
    asked: list[str] = field(default_factory=list)
    """The names whose poses are being looked for."""

    def all(self) -> Iterator["Scope"]:
        """This model and those nested in it."""
        yield self
        for scope in self.nested.values():
            yield from scope.all()

    @cached_property
    def static(self) -> bool:
        """Whether the model or one around it does not move."""
        own = is_true(text_of(self.element, "static"))
        return own or (self.parent is not None and self.parent.static)

    @cached_property
    def in_world(self) -> Pose:
        """The pose of the model in the world."""
        if self.parent is None:
            is_world = self.element.tag == WORLD
            return HERE if is_world else raw_pose(self.element) @ self._back_to_model()
        return self.parent.in_world @ self.parent.pose_of(self.element.get("name"), self.element)

    def _back_to_model(self) -> Pose:
        """The pose of the model in the frame that is placed, which is its own by default."""
        if not self.placement:
            return HERE
        return self.pose_of(self.placement, self.element).inverse()

    def pose_of(self, name: str, user: Element) -> Pose:
        """The pose of a frame in the model; `user` is the element that names it."""
        if name in ("", MODEL) or (name == WORLD and self.element.tag == WORLD):
            return HERE
        if name == WORLD and name not in self.named:
            return self.in_world.inverse()
        outer, _, inner = name.partition("::")
        if inner and outer in self.nested:
            return self.pose_of(outer, user) @ self.nested[outer].pose_of(inner, user)
        if name not in self.poses:
            self._check_chain(name, user)
            self.asked.append(name)
            try:
                self.poses[name] = self._pose(name, self._element(name, user))
            finally:
                self.asked.pop()
        return self.poses[name]

    def _pose(self, name: str, element: Element) -> Pose:
        at = self.placed(element, self._default(element))
        return at @ self.nested[name]._back_to_model() if name in self.nested else at

    def _default(self, element: Element) -> str:
        """The frame that the pose of an element is relative to if it does not say."""
        if element.tag == "joint":
            return text_of(element, "child")
        return element.get("attached_to") if element.tag == "frame" else MODEL

    def placed(self, element: Element, default: str = MODEL) -> Pose:
        """The pose that an element gives, in the model."""
        given = element.first("pose") or element
        return self.pose_of(relative_to(element) or default, given) @ raw_pose(element)

    def link_of(self, name: str, user: Element) -> tuple["Scope", str]:
        """The link that a frame is attached to, with the model that has it."""
        scope, steps = self, 0
        while True:
            steps += 1
            if steps > MAX_CHAIN:
                raise ModelError(
                    f"{user.where}: frame {quoted(name)} is attached to no link: the frames it is "
                    "attached to form a loop or a very long chain"
                )
            outer, _, inner = name.partition("::")
            if name in ("", MODEL):
                name = scope._canonical(user)
            elif inner and outer in scope.nested:
                scope, name = scope.nested[outer], inner
            elif name in scope.nested:
                scope, name = scope.nested[name], MODEL
            else:
                element = scope._element(name, user)
                if element.tag == "link":
                    return scope, name
                key = text_of(element, "child") if element.tag == "joint" else ""
                name = key or element.get("attached_to") or MODEL

    def _canonical(self, user: Element) -> str:
        """The link that the frame of the model is attached to."""
        named = self.element.get("canonical_link")
        found = named or next((n for n, e in self.named.items() if e.tag == "link"), "")
        found = found or next(iter(self.nested), "")
        if not found:
            raise ModelError(f"{user.where}: the model has no <link>: expected at least one")
        return found

    def _element(self, name: str, user: Element) -> Element:
        if name not in self.named:
            raise ModelError(
                f"{user.where}: <{user.tag}> refers to {quoted(name)}, which does not exist in "
                f"model {quoted(self.element.get('name'))}: expected one of "
                f"{self._names}"
            )
        return self.named[name]

    @cached_property
    def _names(self) -> str:
        """The names in the model, for messages."""
        return listed(list(self.named))

    def _check_chain(self, name: str, user: Element) -> None:
        if name in self.asked:
            chain = [*self.asked[self.asked.index(name) :], name]
            raise ModelError(
                f"{user.where}: frames are relative to each other in a circle: "
                f"{listed(chain, ' -> ')}"
            )
        if len(self.asked) >= MAX_CHAIN:
            raise ModelError(
                f"{user.where}: more than {MAX_CHAIN} frames are each relative to the next: "
                "expected fewer"
            )


# ---------------------------------------------------------------------------------- reading


def text_of(element: Element, tag: str, default: str = "") -> str:
    """The text of a child, without the white space around it."""
    child = element.first(tag)
    return default if child is None else child.text.strip()


def number_of(element: Element, tag: str, default: float) -> float:
    """The number in a child, or the default if there is none."""
    child = element.first(tag)
    if child is None:
        return default
    return float(numbers(child.text, 1, f"{child.where}: <{tag}>{shown(child.text)}</{tag}>")[0])


def is_true(text: str) -> bool:
    return text.strip().lower() in ("true", "1")


def relative_to(element: Element) -> str:
    """The frame that an element says its pose is relative to, or an empty string."""
    given = element.first("pose")
    return "" if given is None else given.get("relative_to") or given.get("frame")


def raw_pose(element: Element) -> Pose:
    """The numbers in the <pose> of an element, relative to whatever it is relative to."""
    given = element.first("pose")
    if given is None or not given.text.strip():
        return HERE
    subject = f"{given.where}: <pose>{shown(given.text.strip())}</pose>"
    if given.get("rotation_format", "euler_rpy") == "quat_xyzw":
        values = numbers(given.text, 7, subject)
        x, y, z, w = _direction(values[3:], subject)
        return Pose(rotation_of_quaternion(w, x, y, z), values[:3])
    values = numbers(given.text, 6, subject)
    rpy = [radians(x) for x in values[3:]] if is_true(given.get("degrees")) else values[3:]
    return pose(values[:3], rpy)


def _direction(quaternion: Vector, subject: str) -> Vector:
    size = np.linalg.norm(quaternion)
    if not 0 < size < inf:
        raise ModelError(f"{subject}: expected a quaternion that is not zero")
    return quaternion / size


def version_of(root: Element) -> tuple[int, ...]:
    """The version of the format that a file is written in."""
    found = re.fullmatch(r"\s*(\d{1,3})\.(\d{1,3})\s*", root.get("version"))
    if not found or int(found[1]) != 1:
        raise ModelError(
            f"{root.where}: <sdf {root.said('version')}>: expected a version such as 1.7"
        )
    return int(found[1]), int(found[2])


class Opener:
    """Opens models and those they include, from folders that are allowed."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.count = 0
        self.missing: list[tuple[str, ModelError]] = []
        """The models that stand in a world and were not found, with what is wrong."""

    def opened(self, scope: Scope, files: tuple[str, ...] = (), depth: int = 0) -> Scope:
        """The scope with its names and nested models, included ones among them."""
        if depth > MAX_CHAIN:
            raise ModelError(f"{scope.element.where}: models are nested more than {MAX_CHAIN} deep")
        for child in [*scope.element.children]:
            inside, used = child, files
            version, placement = scope.version, child.get("placement_frame")
            if child.tag == "include":
                path = self._model_file(child, scope.element.tag == WORLD)
                if path is None:
                    continue
                inside, version, used = self._included(child, path, files)
                placement = text_of(child, "placement_frame") or placement
            if inside.tag not in FRAMES:
                continue
            name = _name(inside, scope)
            if name in scope.named:
                raise ModelError(
                    f"{inside.where}: two elements of a model are called {quoted(name)}: names "
                    "must differ"
                )
            scope.named[name] = inside
            if inside.tag == "model":
                prefix = f"{scope.prefix}{name}::"
                nested = Scope(inside, version, prefix, scope, placement)
                scope.nested[name] = self.opened(nested, used, depth + 1)
        return scope

    def _included(
        self, include: Element, path: Path, files: tuple[str, ...]
    ) -> tuple[Element, tuple[int, ...], tuple[str, ...]]:
        """The model in a file that is included, with the version and the stack of its file."""
        self.count += 1
        if self.count > MAX_INCLUDES:
            raise ModelError(f"{include.where}: more than {MAX_INCLUDES} models are included")
        if is_true(include.get("merge")) or is_true(text_of(include, "merge")):
            raise ModelError(
                f"{include.where}: <include merge> puts the links of a model among those around "
                "it, which armlet does not do: leave out merge, or copy the links"
            )
        if str(path) in files:
            raise ModelError(f"{include.where}: {shown(path.name)} includes itself")
        root = read_xml(path)
        models = root.all("model") if root.tag in ROOTS else []
        if len(models) != 1:
            raise ModelError(
                f"{include.where}: {shown(path.name)} has {len(models)} <model>: expected an SDF "
                "file with one"
            )
        model = models[0]
        if text_of(include, "name"):
            model.attributes["name"] = text_of(include, "name")
        for tag in ("pose", "static"):
            child = include.first(tag)
            if child is not None:
                model.children = [child, *(x for x in model.children if x.tag != tag)]
        return model, version_of(root), (*files, str(path))

    def _model_file(self, include: Element, in_world: bool) -> Path | None:
        """The file of a model that is included.

        None if it is not found and stands in a world: models there do not affect each other.
        """
        uri = text_of(include, "uri")
        try:
            return self._named_file(uri, include)
        except ModelError as error:
            if not in_world:
                raise
            self.missing.append((uri, error))
            return None

    def _named_file(self, uri: str, include: Element) -> Path:
        """The file of a model that is named, or of a folder, whose model.config names it."""
        if uri.lower().endswith(ENDINGS):
            return self.folders.file(uri, include.where)
        folder, name = uri.rstrip("/"), "model.sdf"
        with suppress(ModelError):
            config = read_xml(self.folders.file(f"{folder}/model.config", include.where))
            name = [name, *(x.text.strip() for x in config.all("sdf"))][-1]
        return self.folders.file(f"{folder}/{name}", include.where)


def _name(element: Element, scope: Scope) -> str:
    """The name of an element in its model.

    Before version 1.7 joints had names of their own; one that a link has too is called NAME_joint
    then, as Gazebo does.
    """
    name = element.word("name")
    other = scope.named.get(name)
    if scope.version >= (1, 7) or other is None or element.tag == other.tag:
        return name
    if element.tag == "joint":
        return f"{name}_joint"
    if other.tag == "joint" and f"{name}_joint" not in scope.named:
        scope.named[f"{name}_joint"] = scope.named.pop(name)
    return name

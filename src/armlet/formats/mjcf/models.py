"""MJCF models with what they attach and replicate in its place: one tree of plain elements."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armlet.description.keyframes import Keyframes
from armlet.errors import ModelError, listed, quoted
from armlet.formats.files import Folders
from armlet.formats.mjcf.files import Reader, check_depth, check_height, size
from armlet.formats.mjcf.keyframes import keyframes
from armlet.formats.mjcf.meshes import mesh_assets
from armlet.formats.mjcf.outside import Outside, names, renamed, renamed_entry
from armlet.formats.mjcf.refusals import check_attributes, check_sections
from armlet.formats.mjcf.scope import Attached, Scope
from armlet.formats.mjcf.settings import Defaults, called, placed, read_compiler, section
from armlet.formats.xml import MAX_ELEMENTS, Element
from armlet.scalar import Vector


class Found(NamedTuple):
    """A body or a frame that can be attached, with the settings and the class around it."""

    element: Element
    scope: Scope
    outer: str


@dataclass
class Model:
    """A model while its <attach> and <replicate> are replaced by elements, and afterwards."""

    root: Element
    scope: Scope
    reader: Reader
    others: dict[str, "Model"]
    """The models that can be attached, by name."""
    world: Element
    outside: Outside = field(default_factory=Outside)
    keyframes: Keyframes = field(default_factory=dict)
    complete: dict[tuple[str, str], Found] = field(default_factory=dict)
    """The bodies and frames so far, by tag and name, which may be attached."""

    def grow(self) -> None:
        """Replace all <attach> and <replicate>."""
        self.outside.add_sections(self.root, self.scope)
        self.world.children = self._children(self.world, "main", 1)

    def _children(self, element: Element, outer: str, depth: int) -> list[Element]:
        """The children of a body or a frame, plain ones in place of <attach> and <replicate>."""
        check_depth(element, depth)
        done: list[Element] = []
        for child in element.children:
            if child.tag in ("body", "frame"):
                child.children = self._children(child, child.get("childclass", outer), depth + 1)
                self.complete[child.tag, child.get("name")] = Found(child, self.scope, outer)
                done.append(child)
            elif child.tag == "replicate":
                done += self._replicated(child, outer, depth + 1)
            elif child.tag == "attach":
                done.append(self._attached(child, depth + 1))
            else:
                done.append(child)
        return done

    def _replicated(self, element: Element, outer: str, depth: int) -> list[Element]:
        """Frames with copies of what an element holds, whose names end in a number."""
        check_attributes(element)
        inner = element.get("childclass", outer)
        held = self._children(element, inner, depth)
        count = _count(element)
        self.reader.add(count * (1 + sum(map(size, held))), element)
        offset, euler = (element.numbers(key, 3, (0.0, 0.0, 0.0)) for key in ("offset", "euler"))
        templates = names(held)
        entries = self.outside.within(templates)
        self.outside.drop(templates)
        self.reader.add(count * len(entries), element)
        frames, at = [], np.zeros(3)
        for k in range(count):
            place = {"pos": _text(at), "euler": _text(k * euler), "childclass": inner}
            frame = Element("frame", place, element.file, element.line)
            at = at + placed(frame, self.scope.compiler).R @ offset
            ending = f"{element.get('sep')}{k:0{len(str(count))}}"
            frame.children = [renamed(child, "", ending) for child in held]
            frames.append(frame)
            self._remember(frame, self.scope, inner)
            for entry in entries:
                self.outside.add(renamed_entry(entry, "", ending))
        return frames

    def _attached(self, element: Element, depth: int) -> Element:
        """A frame with a copy of a body, of a frame or of a whole world, under other names."""
        check_attributes(element)
        prefix = element.get("prefix")
        model = self._named(element)
        found = model.found(element)
        values = sum(1 + len(key) for key in model.keyframes.values())
        self.reader.add(1 + size(found.element) + values, element)
        check_height(found.element, depth)
        copies = [renamed(found.element, prefix, "")]
        if found.element is model.world:
            copies = copies[0].children
        held = names([found.element])
        entries = model.outside.within(held)
        self.reader.add(len(entries), element)
        for entry in entries:
            self.outside.add(renamed_entry(entry, prefix, ""))
        joints = {name for kind, name in held if kind == "joint"}
        if model is not self:
            self._keep_keyframes(model, joints, prefix)
        place = {"childclass": found.outer}
        frame = Attached("frame", place, element.file, element.line, copies, "", found.scope)
        self._remember(frame, found.scope, found.outer)
        return frame

    def _keep_keyframes(self, model: "Model", joints: set[str], prefix: str) -> None:
        for key, values in model.keyframes.items():
            kept = {f"{prefix}{name}": x for name, x in values.items() if name in joints}
            self.keyframes[f"{prefix}{key}"] = kept

    def _remember(self, element: Element, scope: Scope, outer: str) -> None:
        """Add the bodies and frames inside an element to those that can be attached."""
        for child in element.children:
            if isinstance(child, Attached) and child.scope is not None:
                self._remember(child, child.scope, child.get("childclass"))
            elif child.tag in ("body", "frame"):
                self.complete[child.tag, child.get("name")] = Found(child, scope, outer)
                self._remember(child, scope, child.get("childclass", outer))

    def _named(self, element: Element) -> "Model":
        """The model that an <attach> names, or this one if it names none."""
        name = element.get("model")
        if not name:
            return self
        if name not in self.others:
            raise ModelError(
                f"{called(element)} has {element.said('model')}, which does not exist: expected "
                f"a <model> in <asset>; it has {listed(list(self.others)) or 'none'}"
            )
        other = self.others[name]
        merged = section(self.root, "compiler").get("conflict") == "merge"
        if merged and section(other.root, "option").attributes:
            raise ModelError(
                f"{called(element)} attaches a model with an <option>, and <compiler> has conflict="
                '"merge": expected "warning", so that the options of this file hold'
            )
        return other

    def found(self, element: Element) -> Found:
        """What an <attach> names in this model: a body, a frame or the whole world."""
        for tag in ("body", "frame"):
            if name := element.get(tag):
                if (tag, name) not in self.complete:
                    raise ModelError(
                        f"{called(element)} has {element.said(tag)}, which does not exist in the "
                        f"model: expected the name of a <{tag}>"
                    )
                return self.complete[tag, name]
        if not element.get("model"):
            raise ModelError(
                f"{called(element)} has no model: expected one, or a body of this model"
            )
        return Found(self.world, self.scope, "main")


def read_model(path: Path, folders: Folders) -> Model:
    """The model in a file, with all that it includes, attaches and replicates."""
    path = Path(os.path.realpath(path.parent), path.name)  # a link lies where it is found
    reader = Reader(folders)
    return _model(reader.main(path), reader, (path,))


def _model(root: Element, reader: Reader, above: tuple[Path, ...]) -> Model:
    if root.tag != "mujoco":
        raise ModelError(f"{root.where}: the root element is <{root.tag}>: expected <mujoco>")
    check_sections(root)
    compiler, defaults = read_compiler(root), Defaults(root)
    meshes = mesh_assets(root, compiler, defaults, above[-1].parent, reader.folders)
    scope = Scope(compiler, defaults, meshes)
    others = _others(root, reader, above)
    model = Model(root, scope, reader, others, section(root, "worldbody"))
    model.grow()
    return model


def _others(root: Element, reader: Reader, above: tuple[Path, ...]) -> dict[str, Model]:
    """The models in <asset> by name, to be attached."""
    models = {}
    for asset in section(root, "asset").all("model"):
        name = asset.word("file", "the name of a file")
        path = reader.folders.find(name, [above[-1].parent], called(asset))
        if path is None:
            raise ModelError(
                f"{called(asset)} names {quoted(name)}, which does not exist: expected a file, "
                "relative to the folder of this one"
            )
        other = reader.attached(path, above, called(asset))
        model = _model(other, reader, (*above, path))
        model.keyframes |= keyframes(other, model.world, model.scope)
        models[asset.get("name") or other.get("model")] = model
    return models


def _count(element: Element) -> int:
    """How often an element is replicated; below zero is never, as in MuJoCo."""
    count = element.number("count")
    if count != round(count) or count > MAX_ELEMENTS:
        raise ModelError(
            f"{called(element)} has {element.said('count')}: expected an integer of at most "
            f"{MAX_ELEMENTS}"
        )
    return max(0, int(count))


def _text(vector: Vector) -> str:
    """Numbers as an attribute, to the last digit."""
    return " ".join(map(repr, vector.tolist()))

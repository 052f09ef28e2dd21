"""Read MJCF files: check the files, compile them with the package mujoco, convert the model."""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import isnan
from pathlib import Path, PurePath
from typing import Any

from armlet._support.optional import require
from armlet.description import Description
from armlet.description.description import Mesh
from armlet.description.problems import Problems
from armlet.errors import ArmletError, ModelError, clip, quote
from armlet.formats.files import MAX_BYTES, MAX_MESH_BYTES, Folders
from armlet.formats.from_mujoco import pose_in_mujoco, read_mujoco
from armlet.formats.xml import MAX_DEPTH, Element, parse_xml

OLDEST = 4
"""Oldest supported version: from MuJoCo 4 on, each element of a spec has compiler settings."""
MAX_ELEMENTS = 20_000
"""Maximum number of elements, including copies; MuJoCo's time grows with the number squared."""
LONG_NAME = 100
"""A copy counts as one more element for every `LONG_NAME` characters added to its name."""
MAX_NESTED = 20
SOFT = ("composite", "flexcomp", "flex")
NAMING = ("contact", "tendon", "equality", "actuator", "sensor")
"""Sections whose elements refer by name to elements of bodies."""
ORDER = {"include": 0, "asset": 0, "worldbody": 2}
"""Section -> rank (1 for others); sections are checked by rank, whatever the file's order."""
SPHERE, HFIELD, MESH, SDF = 2, 1, 7, 8
NEVER, ALWAYS = 0, 1
"""Values of inertiafromgeom; with other values, geoms count only in bodies without <inertial>."""
MEMORY, MEMORY_PER_JOINT = 2**20, 1000
"""Memory (bytes) for a model, and extra memory per joint, whatever size the file requests."""
CURE = 'add the file, give the body an <inertial>, or the geom mass="0"'


def read_mjcf(root: Element, path: Path, folders: Folders, problems: Problems) -> Description:
    """Convert an MJCF file to a description; the base is the world."""
    mujoco = require("mujoco")
    if int(mujoco.__version__.partition(".")[0]) < OLDEST:
        raise ArmletError(f"MuJoCo is {mujoco.__version__}: expected {OLDEST} or newer for MJCF")
    path = Path(os.path.realpath(path.parent), path.name)  # keeps the name of a symbolic link
    files = _Files(path, folders)
    files.add_model(root, path, ())
    if ("worldbody", "") not in files.places:
        raise root.error("<mujoco> has no <worldbody>: expected one")
    try:
        with _silence(mujoco):
            spec = mujoco.MjSpec.from_file(str(path))
            meshes = _Meshes(spec, files)
            meshes.reduce()
            _strip(spec)
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(files.refusal(str(error))) from None
    description = read_mujoco(model, problems, files.places, meshes.shapes_of_geoms(model))
    meshes.refuse_missing(description, problems)
    name = root.get("model") or clip(path.stem)
    return replace(description, name=name, source=clip(path.name))


@contextmanager
def _silence(mujoco: Any) -> Iterator[None]:
    """Silence the warnings that MuJoCo would write to a file in the working folder."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        mujoco.set_mju_user_warning(before)


class _Files:
    """Check the files of a model before MuJoCo reads them: folders, cycles, number of elements."""

    def __init__(self, path: Path, folders: Folders) -> None:
        self.path, self.folders = path, folders
        self.read = [path]
        self.naming = 0
        """Number of elements in `NAMING` sections; copies of a body may copy these elements too."""
        self.places: dict[tuple[str, str], str] = {}
        """(tag or section, name) -> file and line of an element."""
        self.models: dict[tuple[Path, str], Path] = {}
        """(declaring file, model name in this file) -> file of the model to attach."""
        self.sizes: dict[tuple[Path, str], int] = {}
        """(file, name) -> number of elements of a body or frame ("" stands for the whole model)."""

    def add_model(self, root: Element, path: Path, above: tuple[Path, ...]) -> None:
        if root.tag != "mujoco":
            raise root.error(f"the root element is <{root.tag}>: expected <mujoco>")
        self.sizes[path, ""] = self._size(root, path, (*above, path), 1)

    def _size(self, element: Element, model: Path, above: tuple[Path, ...], depth: int) -> int:
        """Count `element`, all elements inside it, and the copies that MuJoCo makes of them."""
        tag, name = element.tag, element.get("name")
        if depth > MAX_DEPTH:
            raise ModelError(f"{_label(element)} is nested deeper than {MAX_DEPTH} elements")
        if tag in SOFT:
            raise ModelError(f"{_label(element)} is not read: expected rigid bodies")
        children = element.children
        if tag == "include" or (tag == "model" and depth > 1):
            other, above = self._open(element, above)
            if tag == "model":
                self.add_model(other, above[-1], above[:-1])
                self.models[model, name or other.get("model")] = above[-1]
                return 1
            children = other.children
        for child in children:
            kind = tag if tag in NAMING else child.tag.removeprefix("free")
            self.places.setdefault((kind, child.get("name")), child.where)
        in_order = sorted(children, key=lambda x: ORDER.get(x.tag, 1))
        size = 1 + sum(self._size(child, model, above, depth + 1) for child in in_order)
        if tag in NAMING:
            self.naming += size
        elif tag == "replicate":
            longer = len(element.get("sep")) // LONG_NAME
            size = max(1, int(element.number("count"))) * (size + self.naming + longer)
        elif tag == "attach":
            source = self.models.get((model, element.get("model")), model)
            inside = element.get("body") or element.get("frame")
            copied = self.sizes.get((source, inside), self.sizes.get((source, ""), 0))
            size += copied * (1 + len(element.get("prefix")) // LONG_NAME)
        if name and tag in ("body", "frame"):
            self.sizes[model, name] = size
        if size > MAX_ELEMENTS:
            raise ModelError(
                f"{_label(element)} brings the model to more than {MAX_ELEMENTS} elements: "
                "expected the description of one robot"
            )
        return size

    def _open(self, element: Element, above: tuple[Path, ...]) -> tuple[Element, tuple[Path, ...]]:
        """Open the file that an element names; return its root and the chain of files to it."""
        subject, name = _label(element), element.word("file", "the name of a file")
        starts = [self.path.parent, above[-1].parent]
        file = self.folders.find(name, starts, subject)
        if file is None:
            raise ModelError(
                f"{subject} names {quote(name)}, which does not exist: expected a file, relative "
                "to the folder of the model"
            )
        if file in above:
            names = " -> ".join(clip(x.name) for x in (*above[above.index(file) :], file))
            raise ModelError(f"{subject} closes a cycle of files: {names}; expected none")
        if len(above) > MAX_NESTED:
            raise ModelError(f"{subject} is in a file that {MAX_NESTED} others lead to")
        self.read.append(file)
        data = self.folders.read(file, "text", MAX_BYTES, subject)
        return parse_xml(data, clip(file.name)), (*above, file)

    def refusal(self, message: str) -> str:
        """Return the message for a MuJoCo error: file, line (if there is only one file), reason."""
        reason, _, element = message.strip().partition("\n")
        line = re.search(r"line ([1-9]\d*)", element) if len(self.read) == 1 else None
        tag, name = re.search("Element '(.+?)'", element), re.search("name '(.+?)'", element)
        subject = f"<{tag[1]}>" if tag else quote(name[1]) if name else "it"
        where = clip(self.path.name) + (f", line {line[1]}" if line else "")
        reason = re.sub("^((XML )?Error: )+", "", reason)
        return f"{where}: MuJoCo refuses {clip(subject)}: {clip(reason, 300)}"


def _label(element: Element) -> str:
    name = f" {quote(element.get('name'))}" if element.get("name") else ""
    return f"{element.where}: <{element.tag}>{name}"


class _Meshes:
    """Meshes of an `MjSpec`; `reduce` removes meshes that no inertia needs."""

    def __init__(self, spec: Any, files: _Files) -> None:
        self.spec, self.files = spec, files
        self.shapes = {mesh.name: self._shape(mesh) for mesh in spec.meshes if mesh.file}
        """Mesh name -> mesh to draw, for meshes that have a file."""
        self.assets: dict[str, bytes] = {}
        self.geoms: list[tuple[Any, Mesh | None]] = []
        """Geoms with a mesh or height field, each with the mesh to draw or None."""
        self.missing: list[tuple[Any, Any, str]] = []
        """(body, geom, mesh name) of each missing mesh that an inertia needs."""

    def _shape(self, mesh: Any) -> Mesh:
        name = PurePath(mesh.file)
        for folder in (path.parent for path in self.files.read):
            if name.is_relative_to(folder) and not os.path.isfile(name):
                name = name.relative_to(folder)  # MuJoCo adds the folder of included files
        name = PurePath(name.name) if self.spec.strippath else name
        file = str(PurePath(mesh.compiler.meshdir, name))
        at = pose_in_mujoco(mesh.refpos, mesh.refquat).inverse()
        return Mesh(file, at, tuple(mesh.scale.tolist()))

    def reduce(self) -> None:
        """Replace geoms by massless spheres if their mesh is missing or affects no inertia."""
        waiting = [(self.spec.worldbody, self.spec.compiler.settotalmass > 0)]
        while waiting:
            body, moves = waiting.pop()
            waiting += [(x, moves or bool(x.joints)) for x in reversed(body.bodies)]
            for geom in body.geoms:
                if geom.meshname or geom.type == HFIELD:
                    self._reduce(geom, body, moves and _has_weight(geom, body))
        for body, _, _ in self.missing:
            body.explicitinertial, body.mass, body.inertia = True, 1.0, [1.0, 1.0, 1.0]
        used = {geom.meshname for geom in self.spec.geoms}
        for mesh in [mesh for mesh in self.spec.meshes if mesh.name not in used]:
            self.spec.delete(mesh)
        self.spec.assets = self.assets

    def _reduce(self, geom: Any, body: Any, is_needed: bool) -> None:
        name = geom.meshname
        self.geoms.append((geom, self.shapes.get(name) if geom.type == MESH else None))
        if is_needed and self._read(name):
            return
        if is_needed:
            self.missing.append((body, geom, name))
        geom.meshname, geom.hfieldname, geom.mass, geom.size = "", "", 0.0, [1.0, 1.0, 1.0]
        if geom.type in (MESH, SDF, HFIELD):
            geom.type = SPHERE

    def _read(self, name: str) -> bool:
        """Read the file of a mesh, if the mesh has a file; return False if the file is missing."""
        if name not in self.shapes or self.spec.mesh(name).file in self.assets:
            return True
        subject, file = f"{clip(self.files.path.name)}: <mesh>", self.shapes[name].file
        starts = [path.parent for path in self.files.read]
        if (path := self.files.folders.find(file, starts, subject)) is not None:
            key = f"{len(self.assets)}_{path.name}"
            self.assets[key] = self.files.folders.read(path, "mesh", MAX_MESH_BYTES, subject)
            self.spec.mesh(name).file = key
        return path is not None

    def shapes_of_geoms(self, model: Any) -> dict[int, Mesh | None]:
        """Return geom index -> mesh to draw, or None; its pose is in the compiled geom's frame."""
        shapes = {}
        for geom, shape in self.geoms:
            k = model.geom_dataid[geom.id]
            if shape is not None and k >= 0:
                moved = pose_in_mujoco(model.mesh_pos[k], model.mesh_quat[k])
                shape = replace(shape, pose=moved.inverse() @ shape.pose)
            shapes[geom.id] = shape
        return shapes

    def refuse_missing(self, description: Description, problems: Problems) -> None:
        """Add an error for each missing mesh that the inertia of a link needs."""
        links = {link.name: link.where for link in description.links}
        for body, geom, mesh in self.missing:
            name = body.name or f"body{body.id}"
            called = f"geom {quote(geom.name)}" if geom.name else "a geom"
            if name in links:
                problems.error(
                    f"{links[name]}: {called} of body {quote(name)} has the mesh {quote(mesh)}, "
                    f"and the file {quote(self.shapes[mesh].file)} does not exist: its inertia is "
                    f"needed; {CURE}",
                    f"geoms have the mesh of a file that does not exist and is needed; {CURE}",
                    quote(mesh),
                )


def _has_weight(geom: Any, body: Any) -> bool:
    """Return whether a geom contributes to the inertia of its body."""
    rule, (low, high) = int(body.compiler.inertiafromgeom), body.compiler.inertiagrouprange
    if rule == NEVER or (rule != ALWAYS and body.explicitinertial) or geom.type == HFIELD:
        return False
    weight = geom.density if isnan(geom.mass) else geom.mass
    return bool(low <= geom.group <= high and weight != 0)


def _strip(spec: Any) -> None:
    """Delete textures, height fields and skins, which do not affect the dynamics.

    Also switch off options by which MuJoCo would merge, discard or realign elements, or compute the
    length ranges of actuators. Replace the memory size that the file requests.
    """
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for element in [*spec.textures, *spec.hfields, *spec.skins]:
        spec.delete(element)
    for joint in spec.joints:
        joint.align = 0
    spec.compiler.fusestatic = spec.compiler.discardvisual = spec.compiler.alignfree = False
    spec.compiler.LRopt.mode = 0
    spec.memory = MEMORY + MEMORY_PER_JOINT * len(spec.joints)

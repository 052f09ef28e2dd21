"""Shapes that a robot's file names: primitives, and meshes that are looked for and read."""

import io
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from armlet._support.optional import needed
from armlet.description.description import Mesh
from armlet.errors import DataWarning, quoted
from armlet.robot import Frame, RobotModel
from armlet.view.scene import Part
from armlet.view.surfaces import Surface, solid

ENDINGS = (".stl", ".obj", ".ply", ".glb", ".dae")
SHARP = 0.5
"""Edges between faces at a larger angle (rad) are not shaded as round."""


def file_parts(robot: RobotModel, folders: Sequence[str | Path]) -> tuple[list[Part], list[int]]:
    """The shapes of a robot's file that are found, and the bodies of those that are not.

    Files are read only below the folder of the robot's file, the ROS package that this folder is
    in, and the folders given.
    """
    roots = _roots(robot, folders)
    surfaces: dict[Path, Surface] = {}
    parts, missing, reasons = [], [], []
    for name, solids in robot.solids.items():
        body, at = _fixed(robot, name)
        parts += [Part(body, solid(x.kind, x.size).moved(at @ x.pose)) for x in solids]
    for name, meshes in robot.meshes.items():
        body, at = _fixed(robot, name)
        for mesh in meshes:
            try:
                path = located(mesh, robot.folder, roots)
                if path not in surfaces:
                    surfaces[path] = _read(path)
            except OSError as error:
                missing.append(body)
                reasons.append(str(error))
            else:
                parts.append(Part(body, surfaces[path].moved(at @ mesh.pose, mesh.scale)))
    if reasons:
        total = sum(map(len, robot.meshes.values()))
        warnings.warn(
            f"{len(reasons)} of {total} meshes of robot {quoted(robot.name)} are not shown: "
            f"{reasons[0]}",
            DataWarning,
            stacklevel=4,
        )
    return parts, missing


def _fixed(robot: RobotModel, link: str) -> Frame:
    return robot.frames[link]


def _roots(robot: RobotModel, folders: Sequence[str | Path]) -> list[Path]:
    """The folders below which files may be read."""
    own = [Path(robot.folder).resolve()] if robot.folder else []
    packages = [x for folder in own for x in folder.parents if (x / "package.xml").is_file()][:1]
    return [*own, *packages, *(Path(x).resolve() for x in folders)]


def located(mesh: Mesh, folder: str, roots: Sequence[Path]) -> Path:
    """The file of a mesh; OSError says where it was looked for."""
    for path in _candidates(mesh.file, folder, roots):
        found = path.resolve()
        if found.is_file() and any(found.is_relative_to(root) for root in roots):
            if found.suffix.lower() not in ENDINGS:
                raise OSError(f"{found.name} is none of {', '.join(ENDINGS)}")
            return found
    places = ", ".join(str(root) for root in roots) or "no folder, since the robot is from none"
    raise OSError(f"{mesh.file} was looked for in {places}; name others by folders=[…]")


def _candidates(file: str, folder: str, roots: Sequence[Path]) -> Iterator[Path]:
    """Where a mesh may be: beside the robot's file, or in a ROS package of the given name."""
    for scheme in ("package://", "model://"):
        if file.startswith(scheme):
            package, _, rest = unquote(file.removeprefix(scheme)).partition("/")
            for root in roots:
                yield root / package / rest
                if root.name == package:
                    yield root / rest
            return
    name = unquote(file.removeprefix("file://")) if file.startswith("file://") else file
    if folder:
        yield Path(folder, name)
    yield from (root / name for root in roots)


def _read(path: Path) -> Surface:
    trimesh = needed("trimesh")
    try:
        # From memory: a file that is read cannot have others be read.
        data = io.BytesIO(path.read_bytes())
        mesh: Any = trimesh.load_scene(data, file_type=path.suffix[1:].lower()).to_mesh()
        if not len(mesh.faces):
            raise ValueError("it has no faces")
        mesh = trimesh.graph.smooth_shade(mesh, angle=SHARP)
    except Exception as error:  # whatever a reader of a damaged file raises
        reason = f"{type(error).__name__}: {error}"
        raise OSError(f"{path.name} cannot be read ({reason})") from None
    return Surface(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64))

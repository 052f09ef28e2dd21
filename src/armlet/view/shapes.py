"""Shapes of bodies as triangles: primitives, and the shapes that a robot's file names."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.optional import require
from armlet.description import Mesh
from armlet.errors import DataWarning, quote
from armlet.robot import Pose, RobotModel

NEUTRAL = "#d5dae1"
"""The colour of links; joints have those of the plots."""
AROUND = 32
"""Corners of a circle."""
ENDINGS = (".stl", ".obj", ".ply", ".glb", ".dae")
SHARP = 0.5
"""Edges between faces at a larger angle (rad) are not shaded as round."""
Array = NDArray[np.float64]


class Shape(NamedTuple):
    """A mesh of trimesh fixed on a body, in the body's canonical frame."""

    body: int
    mesh: Any
    colour: str = NEUTRAL


def place(mesh: Any, at: Pose, scale: ArrayLike = 1.0) -> Any:
    """A mesh scaled along its axes, then moved; a mirrored one still faces outwards."""
    transform = np.eye(4)
    transform[:3, :3] = np.asarray(at.R, float) * np.broadcast_to(np.asarray(scale, float), 3)
    transform[:3, 3] = at.r
    return mesh.copy().apply_transform(transform)


def solid(kind: str, size: ArrayLike) -> Any:
    """The mesh of a primitive about its centre, with its axis along z.

    The size is that of `armlet.robot.Solid`: sides of a box, radius of a sphere, radius and
    length of a cylinder or, without its round ends, of a capsule, half axes of an ellipsoid.
    """
    create = require("trimesh").creation
    size = np.atleast_1d(np.asarray(size, float))
    match kind:
        case "box":
            return _shade(create.box(size))
        case "sphere" | "ellipsoid":
            return create.icosphere(subdivisions=3).apply_scale(np.broadcast_to(size, 3))
        case "cylinder":
            return _shade(create.cylinder(radius=size[0], height=size[1], sections=AROUND))
        case "capsule":
            return create.capsule(radius=size[0], height=size[1], count=[AROUND // 2, AROUND])
    raise ValueError(f"no solid is called {kind!r}")


def _shade(mesh: Any) -> Any:
    """A mesh with corners of their own for faces that meet at a sharp edge."""
    return require("trimesh").graph.smooth_shade(mesh, angle=SHARP)


def between(start: Array, end: Array, radius: float) -> Any:
    """A capsule whose axis goes from one point to another."""
    length = float(np.linalg.norm(end - start))
    at = Pose(z_along(end - start), (start + end) / 2)
    return place(solid("capsule", (radius, length)), at)


def z_along(direction: Array) -> Array:
    """A rotation whose third column has this direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


# ---------------------------------------------------------------------------------- files


def file_shapes(robot: RobotModel, folders: Sequence[str | Path]) -> tuple[list[Shape], list[int]]:
    """The shapes of a robot's file, and the bodies of those whose meshes cannot be read.

    Files are read only below the folder of the robot's file, the ROS package that this folder is
    in, and the folders given.
    """
    roots = _roots(robot, folders)
    read = cache(_read)
    shapes, missing, reasons = [], [], []
    for name, solids in robot.solids.items():
        body, at = robot.frames[name]
        shapes += [Shape(body, place(solid(x.kind, x.size), at @ x.pose)) for x in solids]
    for name, meshes in robot.meshes.items():
        body, at = robot.frames[name]
        for mesh in meshes:
            try:
                triangles = read(mesh_path(mesh, robot.folder, roots))
            except OSError as error:
                missing.append(body)
                reasons.append(str(error))
            else:
                shapes.append(Shape(body, place(triangles, at @ mesh.pose, mesh.scale)))
    if reasons:
        total = sum(map(len, robot.meshes.values()))
        warnings.warn(
            f"{len(reasons)} of {total} meshes of robot {quote(robot.name)} are not shown: "
            f"{reasons[0]}",
            DataWarning,
            stacklevel=4,
        )
    return shapes, missing


def _roots(robot: RobotModel, folders: Sequence[str | Path]) -> list[Path]:
    """The folders below which files may be read."""
    own = [Path(robot.folder).resolve()] if robot.folder else []
    packages = [x for folder in own for x in folder.parents if (x / "package.xml").is_file()][:1]
    return [*own, *packages, *(Path(x).resolve() for x in folders)]


def mesh_path(mesh: Mesh, folder: str, roots: Sequence[Path]) -> Path:
    """The file of a mesh; OSError says where it was looked for."""
    for path in _candidates(mesh.file, folder, roots):
        file = path.resolve()
        if file.is_file() and any(file.is_relative_to(root) for root in roots):
            if file.suffix.lower() not in ENDINGS:
                raise OSError(f"{file.name} is none of {', '.join(ENDINGS)}")
            return file
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


def _read(path: Path) -> Any:
    trimesh = require("trimesh")
    try:
        # From memory: a file that is read cannot have others be read.
        data = io.BytesIO(path.read_bytes())
        mesh = trimesh.load_scene(data, file_type=path.suffix[1:].lower()).to_mesh()
        if not len(mesh.faces):
            raise ValueError("it has no faces")
        return _shade(mesh)
    except Exception as error:  # whatever a reader of a damaged file raises
        reason = f"{type(error).__name__}: {error}"
        raise OSError(f"{path.name} cannot be read ({reason})") from None

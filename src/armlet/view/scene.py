"""Scene of a robot: shapes that are fixed to bodies, and poses of the bodies."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.optional import require
from armlet.algebra import point_inertia
from armlet.description import Mesh
from armlet.errors import DataWarning, quote
from armlet.plotting import COLOURS
from armlet.robot import BASE, IDENTITY_POSE, Joint, Pose, RobotModel
from armlet.robot.displacement import Displacement

ALARM = "#b00020"
"""Colour of torques beyond their limit, and of bodies with impossible inertia."""
DENSITY = 2700.0
"""Density in kg/m³ (aluminium) of the ball that is drawn for a payload."""
RADIUS = 0.03
"""Radius of a drawn link, relative to the reach of the arm."""
NEUTRAL = "#d5dae1"
"""Colour of links; joints are drawn in `COLOURS`."""
AROUND = 32
"""Number of corners of a polygon that approximates a circle."""
SHARP = 0.5
"""If two faces meet at more than this angle (rad), their common edge is shaded as sharp."""
ENDINGS = (".stl", ".obj", ".ply", ".glb", ".dae")
SCHEMES = ("package", "model", "file")
Array = NDArray[np.float64]


class Shape(NamedTuple):
    """A trimesh mesh fixed to a body, in the canonical frame of the body."""

    body: int
    mesh: Any
    colour: str = NEUTRAL


class Scene(NamedTuple):
    """Shapes and frames of a robot, in the canonical frames of its bodies; body -1 is the base."""

    shapes: tuple[Shape, ...]
    """Links and joints: shapes of the robot's file, or capsules and cylinders."""
    com: tuple[Shape, ...]
    """A ball at the centre of mass of each body that has mass."""
    inertia: tuple[Shape, ...]
    """Ellipsoids of uniform density with the mass and inertia of the bodies."""
    frames: Mapping[str, tuple[int, Pose]]
    """Name of a joint or the tool -> its frame, as (body, pose in the body's frame)."""
    reach: float
    """Length of the longest path from the base to a joint or frame, in m."""
    up: Array
    """Unit vector against gravity, in base axes."""


def scene(robot: RobotModel, drawn: Sequence[Shape] = (), missing: Sequence[int] = ()) -> Scene:
    """Build the scene of a robot from the results `drawn` and `missing` of `file_shapes`.

    Bodies in `missing` without a shape in `drawn` are drawn as capsules between joints. If `drawn`
    is empty, all bodies are drawn as capsules.
    """
    robot._require_values("a view")
    length = reach(robot)
    bodies = set(range(-1, robot.nb)) if not drawn else set(missing) - {x.body for x in drawn}
    skeleton = [shape for i in sorted(bodies) for shape in _capsules(robot, i, RADIUS * length)]
    frames = {joint.name: (i, IDENTITY_POSE) for i, joint in enumerate(robot.joints)}
    if robot.tool is not None:
        frames[robot.tool] = robot.frame()
    massive = [_ball_and_ellipsoid(robot, i, length) for i in range(robot.nb) if robot.m[i] > 0]
    g = np.asarray(robot.gravity, float)
    up = -g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])
    balls, ellipsoids = (tuple(x[k] for x in massive) for k in range(2))
    return Scene((*drawn, *skeleton), balls, ellipsoids, frames, length, up)


def body_poses(robot: RobotModel, q: ArrayLike) -> list[Pose]:
    """Return the poses of all bodies, then that of the base, in the file's base frame."""
    base = robot.frames[robot.base_link].pose.inverse()
    poses = [IDENTITY_POSE] * robot.nb + [base]
    for i, X in enumerate(robot.displacements(robot.joint_positions(np.asarray(q, float)))):
        poses[i] = poses[robot.parent[i]] @ _pose(X)
    return poses


def _pose(X: Displacement) -> Pose:
    return Pose(X.rotation().astype(float), X.origin().astype(float))


def reach(robot: RobotModel) -> float:
    """Return the length (m) of the longest path from the base, with prismatic joints extended."""
    along = [0.0] * robot.nb + [float(np.linalg.norm(robot.frames[robot.base_link].pose.r))]
    for i, p in robot.base_to_tips():
        row = robot.dh[i]
        lengths = sum(abs(float(x)) for x in (row.a, row.b, row.d))
        along[i] = along[p] + lengths
        if robot.joints[i].type.translates:
            ends = (abs(x) for x in robot.joints[i].limits[:2] if math.isfinite(x))
            along[i] += max(ends, default=0.0) * sum(abs(float(v[2])) for _, v in robot.twists[i])
    tips = [along[i] + float(np.linalg.norm(at.r)) for i, at in robot.frames.values() if i != BASE]
    return max(along + tips) or 1.0


# ---------------------------------------------------------------------------------- capsules


def links(robot: RobotModel, i: int) -> list[tuple[Array, Array]]:
    """Return line segments (start, end) from the joint of body `i` to child joints and the tool.

    The lines follow the DH parameters: along the common normal of two axes, then along the next
    axis. The lines of the base start at the origin of the file's base frame.
    """
    start = np.zeros(3) if i != BASE else np.asarray(robot.frames[robot.base_link].pose.r, float)
    lines = []
    for j, p in robot.base_to_tips():
        if p == i:
            foot = _pose(robot._mounts[j]).r
            lines.append((start, foot))
            if robot.joints[j].type.rotates:
                lines.append((foot, _origin(robot, j)))
    tool = robot.frame() if robot.tool is not None else None
    if tool is not None and tool.body == i != BASE:
        lines.append((start, np.asarray(tool.pose.r, float)))
    return lines


def rails(robot: RobotModel, i: int) -> list[tuple[Array, Array]]:
    """Return line segments (start, end) along the range of each prismatic joint on body `i`."""
    lines = []
    for j, p in robot.base_to_tips():
        if p == i and robot.joints[j].type.translates:
            lower, upper = joint_range(robot, robot.joints[j])
            axis = _pose(robot._mounts[j]).R @ sum(v for _, v in robot.twists[j]).astype(float)
            at = _origin(robot, j)
            lines.append((at + lower * axis, at + upper * axis))
    return lines


def joint_range(robot: RobotModel, joint: Joint) -> tuple[float, float]:
    """Return the limits of a joint; missing limits are ±π (rotations) or ± the reach."""
    free = math.pi if joint.type.rotates else reach(robot)
    lower, upper = (float(x) for x in joint.limits[:2])
    lower = lower if math.isfinite(lower) else min(-free, upper)
    return lower, upper if math.isfinite(upper) else max(free, lower)


def slider_ranges(robot: RobotModel) -> list[tuple[float, float]]:
    """Return the ranges of displacements from the neutral positions, one per entry of qd."""
    return [joint_range(robot, joint) for joint in robot.coordinates for _ in joint.type.twists]


def _origin(robot: RobotModel, j: int) -> Array:
    """Return the origin of joint `j` at its neutral position, in the frame of its parent body."""
    return np.asarray(_pose(robot._at_zero[j]).r)


def _capsules(robot: RobotModel, i: int, radius: float) -> list[Shape]:
    """Return the shapes of body `i`: capsules along `links` and `rails`, and the joint's shape."""
    solids = [(line, radius) for line in links(robot, i)]
    solids += [(line, 0.5 * radius) for line in rails(robot, i)]
    shapes = [
        Shape(i, between(*line, r))
        for line, r in solids
        if np.linalg.norm(line[1] - line[0]) > 1e-6 * radius
    ]
    if i == BASE:
        plate = solid("cylinder", (2.4 * radius, 0.8 * radius))
        above = Pose(np.eye(3), np.array([0, 0, 0.4 * radius]))
        at = robot.frames[robot.base_link].pose @ above
        return [*shapes, Shape(i, place(plate, at))]
    colour = COLOURS[i % len(COLOURS)]
    joint = robot.joints[i].type
    drum = (
        ("cylinder", (1.3 * radius, 3.2 * radius)) if joint.rotates else ("box", [2.6 * radius] * 3)
    )
    return [*shapes, Shape(i, solid(*drum if joint.has_axis else ("sphere", 2 * radius)), colour)]


# ---------------------------------------------------------------------------------- bodies


def principal(robot: RobotModel, i: int) -> tuple[Array, Array, Array]:
    """Return a body's centre of mass, and squared semi-axes and axes of its inertia ellipsoid.

    The ellipsoid has uniform density, and the mass m and inertia of body `i`. Its semi-axes a, b, c
    follow from the principal moments m (b² + c²) / 5, m (c² + a²) / 5 and m (a² + b²) / 5. If a
    squared semi-axis is negative, no body can have this inertia.
    """
    m = float(robot.m[i])
    com = np.asarray(robot.c[i], float) / m
    about_com = np.asarray(robot.J[i], float) - np.asarray(point_inertia(m, com), float)
    moments, axes = np.linalg.eigh(about_com)
    return com, 2.5 / m * (moments.sum() - 2 * moments), axes * np.sign(np.linalg.det(axes))


def _ball_and_ellipsoid(robot: RobotModel, i: int, length: float) -> tuple[Shape, Shape]:
    com, squares, axes = principal(robot, i)
    colour = COLOURS[i % len(COLOURS)]
    ball = place(solid("sphere", 0.6 * RADIUS * length), Pose(np.eye(3), com))
    thin = 0.002 * length
    ellipsoid = solid("ellipsoid", np.sqrt(np.maximum(squares, thin**2)))
    exists = squares.min() >= -1e-9 * np.abs(squares).max()
    placed = place(ellipsoid, Pose(axes, com))
    return Shape(i, ball, colour), Shape(i, placed, colour if exists else ALARM)


def payload(robot: RobotModel, mass: float, offset: ArrayLike) -> Shape:
    """Return the shape of a payload: an aluminium ball at `offset` in the tool's frame."""
    body, at = robot.frame()
    radius = (3 * mass / (4 * math.pi * DENSITY)) ** (1 / 3)
    centre = at.point(np.asarray(offset, float))
    return Shape(body, place(solid("sphere", radius), Pose(np.eye(3), centre)), "#333333")


def camera(scene: Scene) -> tuple[Array, Array]:
    """Return position and target of a camera that sees the arm from the side and above."""
    R = z_along(scene.up)
    return scene.reach * R @ np.array([0.9, 1.3, 0.75]), scene.reach * R @ np.array([0, 0.25, 0.36])


# ---------------------------------------------------------------------------------- meshes


def place(mesh: Any, at: Pose, scale: ArrayLike = 1.0) -> Any:
    """Return a copy of a mesh, scaled along its own axes and then moved to the pose `at`."""
    transform = np.eye(4)
    transform[:3, :3] = np.asarray(at.R, float) * np.broadcast_to(np.asarray(scale, float), 3)
    transform[:3, 3] = at.r
    return mesh.copy().apply_transform(transform)


def solid(kind: str, size: ArrayLike) -> Any:
    """Return the mesh of a `description.Solid`, centred at the origin and with its axis along z."""
    create = require("trimesh").creation
    size = np.atleast_1d(np.asarray(size, float))
    if kind == "box":
        return _shade(create.box(size))
    if kind == "cylinder":
        return _shade(create.cylinder(radius=size[0], height=size[1], sections=AROUND))
    if kind == "capsule":
        return create.capsule(radius=size[0], height=size[1], count=[AROUND // 2, AROUND])
    return create.icosphere(subdivisions=3).apply_scale(np.broadcast_to(size, 3))


def _shade(mesh: Any) -> Any:
    """Split the vertices of a mesh at sharp edges, so that the edges do not look round."""
    return require("trimesh").graph.smooth_shade(mesh, angle=SHARP)


def between(start: Array, end: Array, radius: float) -> Any:
    """Return a capsule whose axis goes from point `start` to point `end`."""
    length = float(np.linalg.norm(end - start))
    at = Pose(z_along(end - start), (start + end) / 2)
    return place(solid("capsule", (radius, length)), at)


def z_along(direction: Array) -> Array:
    """Return a rotation matrix whose third column points along `direction`."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


# ---------------------------------------------------------------------------------- files


def file_shapes(robot: RobotModel, folders: Sequence[str | Path]) -> tuple[list[Shape], list[int]]:
    """Return the shapes in a robot's file, and the bodies with a mesh that cannot be read.

    Meshes are read only from these folders and their subfolders: the folder of the robot's file,
    the ROS package that contains it, and `folders`.
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
    own = [Path(robot.folder).resolve()] if robot.folder else []
    packages = [x for folder in own for x in folder.parents if (x / "package.xml").is_file()][:1]
    return [*own, *packages, *(Path(x).resolve() for x in folders)]


def mesh_path(mesh: Mesh, folder: str, roots: Sequence[Path]) -> Path:
    """Return the path of a mesh file, or raise an OSError that names the folders searched."""
    for path in _candidates(mesh.file, folder, roots):
        file = path.resolve()
        if file.is_file() and any(file.is_relative_to(root) for root in roots):
            if file.suffix.lower() not in ENDINGS:
                raise OSError(f"{file.name} is none of {', '.join(ENDINGS)}")
            return file
    places = ", ".join(str(root) for root in roots) or "no folder, since the robot is from none"
    raise OSError(f"{mesh.file} was looked for in {places}; name others by folders=[…]")


def _candidates(file: str, folder: str, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the possible paths of a mesh: relative to `folder` and `roots`, or in a ROS package."""
    scheme, is_url, rest = file.partition("://")
    name = unquote(rest) if is_url and scheme in SCHEMES else file
    if scheme in ("package", "model") and is_url:
        package, _, rest = name.partition("/")
        for root in roots:
            yield root / package / rest
            if root.name == package:
                yield root / rest
        return
    if folder:
        yield Path(folder, name)
    yield from (root / name for root in roots)


def _read(path: Path) -> Any:
    trimesh = require("trimesh")
    try:
        # Read from memory, so that a mesh file cannot make trimesh read other files.
        data = io.BytesIO(path.read_bytes())
        mesh = trimesh.load_scene(data, file_type=path.suffix[1:].lower()).to_mesh()
        if not len(mesh.faces):
            raise ValueError("it has no faces")
        return _shade(mesh)
    except Exception as error:  # a damaged file can raise any exception
        reason = f"{type(error).__name__}: {error}"
        raise OSError(f"{path.name} cannot be read ({reason})") from None

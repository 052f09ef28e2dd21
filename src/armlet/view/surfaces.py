"""Surfaces of solids as triangles: boxes, balls, cylinders and capsules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.robot.pose import Pose

AROUND = 32
"""Corners of a circle."""
Array = NDArray[np.float64]


class Surface(NamedTuple):
    """Triangles: vertices of shape (k, 3), and three of them, by index, per face."""

    vertices: Array
    faces: NDArray[np.int64]

    def moved(self, at: Pose, scale: ArrayLike = 1.0) -> Surface:
        """The surface scaled along its axes, then moved; a mirrored one is turned inside out."""
        factors = np.broadcast_to(np.asarray(scale, float), 3)
        faces = self.faces[:, ::-1] if np.prod(factors) < 0 else self.faces
        return Surface(self.vertices * factors @ at.R.T + at.r, faces)


def solid(kind: str, size: ArrayLike) -> Surface:
    """The surface of a primitive about its centre, with its axis along z.

    The size is that of `armlet.robot.Solid`: sides of a box, radius of a sphere, radius and
    length of a cylinder or, without its round ends, of a capsule, half axes of an ellipsoid.
    """
    size = np.atleast_1d(np.asarray(size, float))
    match kind:
        case "box":
            return _box(size)
        case "sphere" | "ellipsoid":
            ball = _revolved(_arc(1.0, 0.0))
            return Surface(ball.vertices * size, ball.faces)
        case "cylinder":
            radius, half = size[0], size[1] / 2
            # Corners are written twice, so that the edge is not shaded as round.
            profile = [(0, -half), (radius, -half), (radius, -half), (radius, half)]
            return _revolved(np.array([*profile, (radius, half), (0, half)]))
        case "capsule":
            return _revolved(_arc(size[0], size[1] / 2))
    raise ValueError(f"no solid is called {kind!r}")


def between(start: Array, end: Array, radius: float) -> Surface:
    """A capsule whose axis goes from one point to another."""
    length = float(np.linalg.norm(end - start))
    return solid("capsule", (radius, length)).moved(Pose(z_along(end - start), (start + end) / 2))


def z_along(direction: Array) -> Array:
    """A rotation whose third column has this direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _arc(radius: float, half: float) -> Array:
    """The profile of a capsule: pairs of a distance from the axis and a height, from below."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, AROUND // 2 + 2)
    offset = np.where(angles > 0, half, -half)
    profile = np.stack([radius * np.cos(angles), radius * np.sin(angles) + offset], axis=1)
    profile[[0, -1], 0] = 0
    return profile


def _revolved(profile: Array) -> Surface:
    """The surface of a profile turned about z; its first and last point are on the axis."""
    turn = np.arange(AROUND) * 2 * np.pi / AROUND
    rho, z = profile[:, :1], np.repeat(profile[:, 1:], AROUND, axis=1)
    vertices = np.stack([rho * np.cos(turn), rho * np.sin(turn), z], axis=-1).reshape(-1, 3)
    k, j = np.meshgrid(np.arange(len(profile) - 1), np.arange(AROUND), indexing="ij")
    a, b = k * AROUND + j, k * AROUND + (j + 1) % AROUND
    quads = np.stack([a, b, b + AROUND, a + AROUND], axis=-1).reshape(-1, 4)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    corners = vertices[faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    return Surface(vertices, faces[area > 1e-12 * area.max()])


def _box(sides: Array) -> Surface:
    """A box of six faces with corners of their own, so that edges are not shaded as round."""
    vertices, faces = [], []
    for k in range(3):
        for sign in (-1.0, 1.0):
            i, j = (k + 1) % 3, (k + 2) % 3
            for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = np.zeros(3)
                corner[[i, j, k]] = u, v, sign
                vertices.append(corner * sides / 2)
            first = len(vertices) - 4
            order = (0, 1, 2, 3) if sign > 0 else (3, 2, 1, 0)
            a, b, c, d = (first + x for x in order)
            faces += [(a, b, c), (a, c, d)]
    return Surface(np.array(vertices), np.array(faces))

"""Triangles from mesh files (STL, OBJ, MuJoCo's MSH), and the solids that they bound.

The algorithms are MuJoCo's, so that its models get the masses they have there: vertices are single
precision in the file, and `legacy` counts what a mesh that is not convex folds over more than once.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from math import copysign, sqrt
from typing import NamedTuple

import numpy as np

from armlet.scalar import Matrix, Vector

MAX_FACES = 500_000
"""The most faces of one mesh; three times as many vertices."""
MAX_LAST_LINE = 1000
VERTEX = re.compile(rb"^[ \t]*vertex[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]*\r?$", re.MULTILINE)
SMALL = 1e-15
"""The smallest volume, area or length that counts as one."""
DROPPED = 1e-7
"""The products of inertia, relative to the largest entry, at which MuJoCo 4.0 leaves a mesh; found
by the axes it gives to 500 random meshes."""
MAX_TURNS = 500
FINITE = 2.0**60
"""The largest coordinate of a vertex."""


class MeshError(ValueError):
    """What is wrong with a mesh, to be completed by where it is used."""


class Triangles(NamedTuple):
    """Vertices, one per row, and faces, the indices of three vertices per row."""

    vertices: Matrix
    faces: Matrix


class Solid(NamedTuple):
    """Volume (of a shell its area), centroid, and inertia about it at unit density."""

    volume: float
    com: Vector
    tensor: Matrix


# ---------------------------------------------------------------------------------- files


def read_mesh(data: bytes, ending: str) -> Triangles:
    """The triangles in the bytes of a file with a given ending; vertices may be repeated."""
    reader = READERS.get(ending.lower())
    if reader is None:
        raise MeshError(f"has the ending {ending!r}: expected {', '.join(READERS)}")
    mesh = reader(data)
    return checked_mesh(*mesh)


def checked_mesh(vertices: Matrix, faces: Matrix) -> Triangles:
    """The triangles, whose faces are made by the convex hull if there are none."""
    if len(vertices) < 4:
        raise MeshError(f"has {len(vertices)} vertices: expected four or more")
    _check_count(max(len(faces), len(vertices) // 3))
    vertices = vertices.astype(np.float32).astype(float)
    if not (np.abs(vertices) < FINITE).all():
        raise MeshError("has a vertex that is not finite or too far away")
    if len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices)):
        raise MeshError("has a face whose vertex does not exist")
    return Triangles(vertices, faces if len(faces) else hull(vertices))


def _stl(data: bytes) -> tuple[Matrix, Matrix]:
    """Binary STL, or text if its length does not fit the number of faces that it states."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        _check_count(count)
        faces = np.frombuffer(data, np.uint8, offset=84).reshape(-1, 50)
        return _apart(np.ascontiguousarray(faces[:, 12:48]).view("<f4").reshape(-1, 3))
    if data.lstrip()[:5].lower() != b"solid":
        raise MeshError(
            f"is no STL file: it has {len(data)} bytes, its header states {count} faces"
        )
    _check_count(data.count(b"vertex") // 3)
    corners = VERTEX.findall(data)
    if not corners or len(corners) % 3 or b"endsolid" not in data[-MAX_LAST_LINE:]:
        raise MeshError("is no STL file: it is cut off, or has no faces of three vertices")
    return _apart(_floats(corners))


def _apart(corners: Matrix) -> tuple[Matrix, Matrix]:
    """Faces with three vertices of their own each."""
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _obj(data: bytes) -> tuple[Matrix, Matrix]:
    """The vertices of an OBJ file and the faces of its first object, as MuJoCo reads it."""
    _check_count(max(data.count(b"\nf"), data.count(b"\nv ") // 3))
    lines = [line.split() for line in data.split(b"\n") if line.lstrip()[:1] in b"vfog"]
    vertices = _floats([line[1:4] for line in lines if line[:1] == [b"v"]])
    faces: list[list[int]] = []
    so_far = 0
    for line in lines:
        match line:
            case [b"v", *_]:
                so_far += 1
            case [b"f", *corners]:
                faces += _triangles([_index(corner, so_far) for corner in corners], vertices)
            case [b"o" | b"g", *_] if faces:
                break
    return vertices, np.array(faces, dtype=int).reshape(-1, 3)


def _index(corner: bytes, so_far: int) -> int:
    """The index of a vertex; OBJ counts from one, or backwards from the last one so far."""
    try:
        k = int(corner.split(b"/")[0])
    except ValueError:
        raise MeshError("has a face that is not made of the numbers of vertices") from None
    return k - 1 if k > 0 else so_far + k


def _triangles(corners: list[int], vertices: Matrix) -> list[list[int]]:
    """The triangles of a polygon; a quadrilateral is cut along its shorter diagonal."""
    if len(corners) < 3 or not all(0 <= k < len(vertices) for k in corners):
        raise MeshError("has a face of fewer than three vertices, or one that does not exist")
    if len(corners) == 4:
        a, b, c, d = vertices[corners].astype(np.float32)
        if not np.sum((c - a) ** 2) < np.sum((d - b) ** 2):
            corners = [corners[1], corners[2], corners[3], corners[0]]
    return [[corners[0], *pair] for pair in pairwise(corners[1:])]


def _check_count(faces: int) -> None:
    if faces > MAX_FACES:
        raise MeshError(f"has more than {MAX_FACES} faces: expected the mesh of one body")


def _floats(texts: list[list[bytes]] | list[tuple[bytes, ...]]) -> Matrix:
    try:
        return np.array([[float(x) for x in text] for text in texts], dtype=float).reshape(-1, 3)
    except ValueError:
        raise MeshError("has a vertex that is not three numbers") from None


def _msh(data: bytes) -> tuple[Matrix, Matrix]:
    """MuJoCo's own format: four counts, then vertices, normals, texture and faces."""
    if len(data) < 16:
        raise MeshError("is no MSH file: it is shorter than its header")
    nvertex, nnormal, ntexture, nface = np.frombuffer(data, "<i4", 4).tolist()
    counts = 16 + 12 * (nvertex + nnormal + nface) + 8 * ntexture
    if min(nvertex, nnormal, ntexture, nface) < 0 or len(data) != counts:
        raise MeshError("is no MSH file: its length is not what its header states")
    vertices = np.frombuffer(data, "<f4", 3 * nvertex, offset=16).reshape(-1, 3)
    faces = np.frombuffer(data, "<i4", 3 * nface, offset=len(data) - 12 * nface).reshape(-1, 3)
    return vertices, faces.astype(int)


READERS: dict[str, Callable[[bytes], tuple[Matrix, Matrix]]] = {
    ".stl": _stl,
    ".obj": _obj,
    ".msh": _msh,
}

# ---------------------------------------------------------------------------------- solids


def hull(vertices: Matrix, most: int = -1) -> Matrix:
    """The faces of the convex hull, outwards, with at most so many vertices if that is given."""
    from scipy.spatial import ConvexHull, QhullError  # which takes as long to load as all of armlet

    if most != -1 and not 4 <= most <= MAX_FACES:
        raise MeshError(f"has maxhullvert {most}: expected at least 4")
    options = "Qt" if most == -1 else f"Qt Q9 TA{most - 4}"
    try:
        found = ConvexHull(vertices, qhull_options=options)
    except (QhullError, ValueError):
        raise MeshError("has its vertices in a plane: expected a solid") from None
    D, E, F = (vertices[found.simplices[:, k]] for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(E - D, F - D), found.equations[:, :3]) < 0
    faces: Matrix = np.where(inwards[:, None], found.simplices[:, ::-1], found.simplices)
    return faces


def solid(mesh: Triangles, kind: str) -> Solid:
    """The solid that a mesh bounds, by MuJoCo's `inertia` (convex, exact, legacy, shell).

    A convex one is given with the faces of its hull.
    """
    if kind == "exact":
        _check_orientation(mesh)
    areas, normals, centres = _faces(mesh)
    area = areas.sum()
    if area < SMALL:
        raise MeshError("has no area: expected a solid")
    com: Vector = areas @ centres / area
    if kind != "shell":
        volumes = _cones(areas, normals, centres - com, kind)
        if volumes.sum() < SMALL:
            raise MeshError(
                f"has a volume of {volumes.sum():.3g}: expected one above zero, bounded by faces "
                "that are oriented outwards"
            )
        com = volumes @ (0.75 * centres + 0.25 * com) / volumes.sum()
    weights = areas if kind == "shell" else _cones(areas, normals, centres - com, kind)
    corners = (mesh.vertices - com)[mesh.faces]
    together = corners.sum(axis=1)
    products = np.einsum("i,ija,ijb->ab", weights, corners, corners)
    products += np.einsum("i,ia,ib->ab", weights, together, together)
    products /= 12 if kind == "shell" else 20
    return Solid(float(weights.sum()), com, np.trace(products) * np.eye(3) - products)


def principal(tensor: Matrix) -> tuple[Vector, Matrix]:
    """The moments of a solid, and the axes that MuJoCo gives it, as the columns of a rotation.

    MuJoCo turns a mesh by Jacobi's iteration and drops the products of inertia that are left: its
    axes are part of the model, so they are found in the same steps.
    """
    axes = np.eye(3)
    for _ in range(MAX_TURNS):
        D = axes.T @ tensor @ axes
        i, j = max(((1, 2), (0, 2), (0, 1)), key=lambda pair: abs(D[pair]))
        if abs(D[i, j]) <= DROPPED * np.abs(tensor).max():
            break
        tau = (D[j, j] - D[i, i]) / (2 * D[i, j])
        t = copysign(1, tau) / (abs(tau) + sqrt(1 + tau * tau))
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = c = 1 / sqrt(1 + t * t)
        turn[i, j], turn[j, i] = t * c, -t * c
        axes = axes @ turn
    moments = np.diag(axes.T @ tensor @ axes)
    order = np.argsort(-moments, kind="stable")
    axes = axes[:, order]
    axes[:, 2] *= np.linalg.det(axes)
    return moments[order], axes


def _faces(mesh: Triangles) -> tuple[Vector, Matrix, Matrix]:
    """Area, unit normal and centre of each face."""
    D, E, F = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normals = np.cross(E - D, F - D)
    lengths = np.linalg.norm(normals, axis=1)
    lengths[lengths < SMALL] = 0
    return lengths / 2, normals / np.where(lengths > 0, lengths, 1)[:, None], (D + E + F) / 3


def _cones(areas: Vector, normals: Matrix, centres: Matrix, kind: str) -> Vector:
    """The volumes between the faces and the origin."""
    volumes: Vector = np.einsum("ij,ij->i", centres, normals) * areas / 3
    return np.abs(volumes) if kind == "legacy" else volumes


def _check_orientation(mesh: Triangles) -> None:
    """Refuse two faces that pass along one edge in the same direction."""
    _, alike = np.unique(mesh.vertices, axis=0, return_inverse=True)
    faces = alike.reshape(-1)[mesh.faces]
    edges = np.vstack([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    if len(np.unique(edges, axis=0)) < len(edges):
        raise MeshError(
            'has faces that are not oriented alike, and inertia="exact": expected a closed surface'
        )

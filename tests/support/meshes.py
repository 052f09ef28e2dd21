"""Meshes to test on, and writers of their files."""

import struct

import numpy as np
from scipy.spatial import ConvexHull

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def single(vertices):
    """Round vertices to single precision, as a binary file does."""
    return np.asarray(vertices, np.float32).astype(float)


def random_hull(seed, n=30):
    """The convex hull of random points as a mesh, with faces oriented outwards."""
    vertices = np.random.default_rng(seed).normal(size=(n, 3)) + 1
    kept = vertices[ConvexHull(vertices).vertices]
    hull = ConvexHull(kept)
    A, B, C = (kept[hull.simplices[:, k]] for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(B - A, C - A), hull.equations[:, :3]) < 0
    return single(kept), np.where(inwards[:, None], hull.simplices[:, ::-1], hull.simplices)


def star(seed):
    """A closed mesh that is not convex: a hull with every other corner pulled inwards."""
    vertices, faces = random_hull(seed)
    middle = vertices.mean(axis=0)
    return single(
        np.where(np.arange(len(vertices))[:, None] % 2, vertices, 0.8 * middle + 0.2 * vertices)
    ), faces


def box():
    faces = [[quad[0], quad[k], quad[k + 1]] for quad in QUADS for k in (1, 2)]
    return CORNERS * [0.3, 0.5, 0.7] + [0.1, 0.2, 0.3], np.array(faces)


# ------------------------------------------------------------------ formats


def binary_stl(vertices, faces):
    corners = vertices[faces].reshape(-1, 9).astype("<f4")
    rows = np.zeros((len(faces), 50), np.uint8)
    rows[:, 12:48] = corners.view(np.uint8)
    return b"\0" * 80 + struct.pack("<i", len(faces)) + rows.tobytes()


def ascii_stl(vertices, faces):
    lines = ["solid of text"]
    for face in faces:
        lines += [" facet normal 0 0 0", "  outer loop"]
        lines += ["   vertex " + " ".join(f"{x:.9g}" for x in vertices[k]) for k in face]
        lines += ["  endloop", " endfacet"]
    return "\n".join([*lines, "endsolid", ""]).encode()


def obj(vertices, faces):
    lines = ["# a mesh", "o thing", *("v " + " ".join(f"{x:.9g}" for x in v) for v in vertices)]
    lines += ["f " + " ".join(f"{k + 1}//1" for k in face) for face in faces]
    return "\n".join(lines).encode()


def backwards_obj(vertices, faces):
    lines = ["v " + " ".join(f"{x:.9g}" for x in v) for v in vertices]
    lines += ["f " + " ".join(str(k - len(vertices)) for k in face) for face in faces]
    return "\r\n".join([*lines, "o second", "f 1 2 3"]).encode()


def msh(vertices, faces):
    head = struct.pack("<4i", len(vertices), 0, 0, len(faces))
    return head + vertices.astype("<f4").tobytes() + np.asarray(faces).astype("<i4").tobytes()


WRITERS = {
    "binary.stl": binary_stl,
    "text.stl": ascii_stl,
    "mesh.obj": obj,
    "backwards.obj": backwards_obj,
    "mesh.msh": msh,
}
SHAPES = {
    "tetrahedron": (TETRAHEDRON + 0.3, TRIANGLES),
    "box": box(),
    "hull": random_hull(1),
    "star": star(2),
}

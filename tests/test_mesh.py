"""Inertia from meshes against MuJoCo: every format and convention, and what is refused."""

import struct

import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull
from test_mjcf import assert_agrees

import armlet
from armlet import ModelError
from armlet.formats.mjcf.mesh import MAX_FACES, MeshError, hull, read_mesh

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
KINDS = ("legacy", "convex", "exact", "shell")


def single(vertices):
    """The vertices as a file in single precision has them."""
    return np.asarray(vertices, np.float32).astype(float)


def random_hull(seed, n=30):
    """A convex mesh without its inner points, faces outwards."""
    vertices = np.random.default_rng(seed).normal(size=(n, 3)) + 1
    kept = vertices[ConvexHull(vertices).vertices]
    return single(kept), hull(kept)


def star(seed):
    """A closed mesh that is not convex: every other corner of a hull pulled inwards."""
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


@pytest.fixture
def arm(tmp_path):
    """An arm whose second body is made of a mesh file, as armlet and MuJoCo load it."""

    def write(data, name="mesh.stl", mesh="", geom="", compiler="", theirs=None):
        (tmp_path / name).write_bytes(data)
        path = tmp_path / "arm.xml"
        path.write_text(
            f"""<mujoco><compiler {compiler}/><asset><mesh name="m" file="{name}" {mesh}/></asset>
            <worldbody><body><joint axis="1 2 3"/><geom size=".1" pos=".2 .1 .3"/>
            <body pos=".3 .2 .1" euler="10 20 30"><joint axis="3 1 2"/>
            <geom type="mesh" mesh="m" pos=".1 .2 .3" euler="40 50 60" {geom}/></body></body>
            </worldbody></mujoco>"""
        )
        return path

    return write


def agrees(path):
    assert_agrees(armlet.load(path), mujoco.MjModel.from_xml_path(str(path)))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_format_holds_the_same_triangles(name, shape):
    vertices, faces = SHAPES[shape]
    mesh = read_mesh(WRITERS[name](single(vertices), faces), f".{name.split('.')[1]}")
    np.testing.assert_array_equal(mesh.vertices[mesh.faces], single(vertices)[faces])


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "text.stl"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_of_a_mesh_weighs_as_in_mujoco(arm, name, shape):
    agrees(arm(WRITERS[name](single(SHAPES[shape][0]), SHAPES[shape][1]), name))


PLACED = {
    "as it is": "",
    "mirrored": 'scale="-1 2 .5"',
    "mirrored twice": 'scale="-1 -2 .5"',
    "elsewhere": 'refpos="1 2 3" refquat="1 .2 .3 .4"',
    "elsewhere and mirrored": 'refpos="1 2 3" refquat="1 .2 .3 .4" scale="1 2 -3"',
}


@pytest.mark.parametrize("place", PLACED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_mesh_inertia_is_mujocos(arm, kind, shape, place):
    vertices, faces = SHAPES[shape]
    agrees(arm(binary_stl(single(vertices), faces), mesh=f'inertia="{kind}" {PLACED[place]}'))


GEOMS = {
    "mass": 'mass="3"',
    "density": 'density="50"',
    "group": 'group="4"',
    "sphere": 'type="sphere"',
    "capsule": 'type="capsule" mass="2"',
    "cylinder": 'type="cylinder" fitscale="1.5"',
    "ellipsoid": 'type="ellipsoid"',
    "box": 'type="box"',
}


@pytest.mark.parametrize("compiler", ["", 'fitaabb="true"', 'meshdir="." inertiagrouprange="0 4"'])
@pytest.mark.parametrize("geom", GEOMS)
def test_a_geom_says_what_its_mesh_weighs_and_what_shape_is_fitted(arm, geom, compiler):
    path = arm(binary_stl(*random_hull(3)), geom="GEOM", compiler=compiler)
    text = path.read_text()
    path.write_text(
        text.replace(
            'type="mesh" mesh="m"', 'mesh="m"' if "type" in GEOMS[geom] else 'type="mesh" mesh="m"'
        ).replace("GEOM", GEOMS[geom])
    )
    agrees(path)


@pytest.mark.parametrize("most", [4, 6, 10])
def test_a_hull_may_have_few_vertices(arm, most):
    agrees(arm(binary_stl(*random_hull(4)), mesh=f'inertia="convex" maxhullvert="{most}"'))


@pytest.mark.parametrize("size", [1, 0.03, 0.005])
@pytest.mark.parametrize("seed", range(10))
def test_bodies_of_several_meshes_of_any_size_agree(tmp_path, seed, size):
    rng = np.random.default_rng(seed)
    assets, geoms = "", ["", ""]
    for k in range(6):
        (tmp_path / f"m{k}.stl").write_bytes(binary_stl(*random_hull(100 * seed + k, 12)))
        x, y, z = size * rng.normal(size=3)
        a, b, c = 60 * rng.normal(size=3)
        scale = f"{size} {size} {-size if k % 2 else size}"
        assets += f'<mesh file="m{k}.stl" scale="{scale}" inertia="{KINDS[k % 4]}"/>'
        geoms[k % 2] += f'<geom type="mesh" mesh="m{k}" pos="{x} {y} {z}" euler="{a} {b} {c}"/>'
    path = tmp_path / "arm.xml"
    path.write_text(
        f"""<mujoco><asset>{assets}</asset><worldbody><body><joint axis="1 2 3"/>{geoms[0]}
        <body pos="{size} 0 0"><joint axis="0 1 0"/>{geoms[1]}</body></body></worldbody></mujoco>"""
    )
    agrees(path)


@pytest.mark.parametrize("faces", ["", 'face="0 2 1 0 1 3 0 3 2 1 2 3"'])
def test_vertices_may_be_in_the_file_of_the_model(arm, faces):
    path = arm(b"")
    vertices = 'vertex="0 0 0 1.1 0 0 0 1.2 0 0 0 1.3"'
    path.write_text(path.read_text().replace('file="mesh.stl"', f"{vertices} {faces}"))
    agrees(path)


def test_exactmeshinertia_of_old_files_means_exact(arm):
    data = binary_stl(*star(2))
    new = armlet.load(arm(data, mesh='inertia="exact"'))
    old = armlet.load(arm(data, compiler='exactmeshinertia="true"'))
    assert old.phi.tolist() == new.phi.tolist()
    assert armlet.load(arm(data)).phi.tolist() != new.phi.tolist()


@pytest.mark.parametrize(("compiler", "file"), [
    ('meshdir="parts"', "mesh.stl"), ('assetdir="parts"', "mesh.stl"),
    ('meshdir="parts" assetdir="none"', "mesh.stl"), ("", "parts/mesh.stl"),
    ('meshdir="parts" strippath="true"', "/home/nobody/mesh.stl"),
])  # fmt: skip
def test_meshes_are_found_where_mujoco_finds_them(arm, tmp_path, compiler, file):
    (tmp_path / "parts").mkdir()
    path = arm(binary_stl(*random_hull(5)), "parts/mesh.stl", compiler=compiler)
    path.write_text(path.read_text().replace('file="parts/mesh.stl"', f'file="{file}"'))
    agrees(path)


# ------------------------------------------------------------------ what is refused


def refusal(path):
    with pytest.raises(ModelError) as raised:
        armlet.load(path)
    return str(raised.value)


def test_a_missing_mesh_is_named_with_its_geom_only_if_it_is_needed(arm, tmp_path):
    path = arm(b"", geom='name="cover"')
    (tmp_path / "mesh.stl").unlink()
    message = refusal(path)
    assert "geom 'cover' of body 'body2' has the mesh 'm'" in message
    assert "the file 'mesh.stl', which does not exist" in message
    text = path.read_text()
    path.write_text(text.replace('name="cover"', 'mass="0"'))
    with pytest.warns(armlet.ModelWarning, match="1 joint moves a link without mass"):
        armlet.load(path)
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    path.write_text(text.replace("<geom type", f"{inertial}<geom type"))
    assert armlet.load(path).m[1] == 1


@pytest.mark.parametrize("name", WRITERS)
def test_a_mesh_that_is_cut_off_is_refused(name):
    data = WRITERS[name](*random_hull(6))
    ending = f".{name.split('.')[1]}"
    cuts = range(0, len(data) - 1, 7) if "stl" in name or "msh" in name else (0, 1, 40, 100)
    for cut in cuts:
        with pytest.raises(MeshError):
            read_mesh(data[:cut], ending)


# fmt: off
BAD = {
    "no format": (b"ply", "mesh.ply", "has the ending '.ply': expected .stl, .obj, .msh"),
    "few vertices": (obj(TETRAHEDRON[:3], []), "mesh.obj", "has 3 vertices"),
    "flat": (obj(CORNERS[:4], []), "mesh.obj", "has its vertices in a plane"),
    "no number": (b"v a b c\n" * 4, "mesh.obj", "a vertex that is not three numbers"),
    "not finite": (b"v 0 0 nan\n" * 4 + b"f 1 2 3\n", "mesh.obj", "a vertex that is not finite"),
    "two coordinates": (b"v 0 0\n" * 5, "mesh.obj", "a vertex that is not three numbers"),
    "face of letters": (obj(TETRAHEDRON, []) + b"\nf a b c", "mesh.obj", "not made of the numbers"),
    "face of no vertex": (obj(TETRAHEDRON, [[0, 1, 9]]), "mesh.obj", "one that does not exist"),
    "face before all": (b"f -1 -2 -3\n" + obj(TETRAHEDRON, []), "mesh.obj", "does not exist"),
    "inside out": (binary_stl(TETRAHEDRON, TRIANGLES[:, ::-1]), "mesh.stl", "a volume of -0.167"),
    "no area": (binary_stl(TETRAHEDRON * 0, TRIANGLES), "mesh.stl", "has no area"),
    "not oriented alike": (binary_stl(TETRAHEDRON, [*TRIANGLES[:3], [1, 3, 2]]), "mesh.stl",
                           "faces that are not oriented alike"),
    "not a header": (struct.pack("<4i", -1, 0, 0, 0), "mesh.msh", "is no MSH file"),
}
# fmt: on


@pytest.mark.parametrize("case", BAD)
def test_a_mesh_that_bounds_nothing_is_refused_with_a_reason(arm, case):
    data, name, reason = BAD[case]
    assert reason in refusal(arm(data, name, mesh='inertia="exact"'))


# fmt: off
BOMBS = {
    "binary.stl": b"\0" * 80 + struct.pack("<i", MAX_FACES + 1) + b"\0" * 50 * (MAX_FACES + 1),
    "text.stl": b"solid\n" + b"vertex 0 0 0\n" * (3 * MAX_FACES + 3) + b"endsolid",
    "vertices.obj": b"v 0 0 0\n" * (3 * MAX_FACES + 9),
    "faces.obj": b"v 0 0 0\n" * 4 + b"f 1 2 3\n" * (MAX_FACES + 2),
    "mesh.msh": struct.pack("<4i", 4, 0, 0, 4_000_000) + bytes(48 * 1_000_001),
}
# fmt: on


@pytest.mark.parametrize("name", BOMBS)
def test_a_mesh_of_too_many_faces_is_refused_at_once(name):
    with pytest.raises(MeshError, match=f"more than {MAX_FACES} faces"):
        read_mesh(BOMBS[name], f".{name.split('.')[1]}")


def test_a_mesh_of_too_many_bytes_is_not_read(arm, tmp_path):
    path = arm(b"")
    with (tmp_path / "mesh.stl").open("wb") as file:
        file.truncate(2**40)  # a file with a hole: a terabyte that takes no place
    assert "with more than the 67108864 bytes that are left for a mesh" in refusal(path)


def test_all_meshes_together_are_bounded(tmp_path):
    for k in range(9):
        with (tmp_path / f"m{k}.obj").open("wb") as file:
            file.write(obj(TETRAHEDRON, TRIANGLES) + b"\n")
            file.truncate(60 * 2**20)
    meshes = "".join(f'<mesh name="m{k}" file="m{k}.obj"/>' for k in range(9))
    geoms = "".join(f'<geom type="mesh" mesh="m{k}"/>' for k in range(9))
    path = tmp_path / "arm.xml"
    path.write_text(
        f"<mujoco><asset>{meshes}</asset><worldbody><body><joint/>{geoms}</body></worldbody></mujoco>"
    )
    assert "'m8.obj', with more than the 33554432 bytes that are left" in refusal(path)

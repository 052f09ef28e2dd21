"""Bodies whose inertia comes from meshes weigh as in MuJoCo; missing files are named."""

import mujoco
import numpy as np
import pytest
from support.meshes import (
    SHAPES,
    TETRAHEDRON,
    TRIANGLES,
    WRITERS,
    binary_stl,
    obj,
    random_hull,
    single,
)
from support.mjcf import assert_agrees

import armlet
from armlet import ModelError

KINDS = ("legacy", "convex", "exact", "shell")


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


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "text.stl"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_of_a_mesh_weighs_as_in_mujoco(arm, name, shape):
    agrees(arm(WRITERS[name](single(SHAPES[shape][0]), SHAPES[shape][1]), name))


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


@pytest.mark.parametrize(
    ("compiler", "file"),
    [
        ('meshdir="parts"', "mesh.stl"),
        ('assetdir="parts"', "mesh.stl"),
        ('meshdir="parts" assetdir="none"', "mesh.stl"),
        ("", "parts/mesh.stl"),
        ('meshdir="parts" strippath="true"', "/home/nobody/mesh.stl"),
    ],
)
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
    assert "the file 'mesh.stl' does not exist" in message
    text = path.read_text()
    path.write_text(text.replace('name="cover"', 'mass="0"'))
    assert "mass and inertia of moving bodies must be larger" in refusal(path)
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    path.write_text(text.replace("<geom type", f"{inertial}<geom type"))
    assert armlet.load(path).m[1] == 1


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


def test_a_mesh_is_drawn_where_it_is_whether_or_not_it_gives_the_inertia(arm):
    place = 'refpos="1 2 3" refquat="1 .2 .3 .4" scale="2 1 -1"'
    path = arm(binary_stl(*random_hull(7)), mesh=place)
    (by_mesh,) = armlet.load(path).meshes["body2"]
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    path.write_text(path.read_text().replace("<geom type", f"{inertial}<geom type"))
    (by_hand,) = armlet.load(path).meshes["body2"]
    assert by_mesh.file == by_hand.file == "mesh.stl"
    assert by_mesh.scale == by_hand.scale == (2, 1, -1)
    np.testing.assert_allclose(by_mesh.pose.r, by_hand.pose.r, atol=1e-12)
    np.testing.assert_allclose(by_mesh.pose.R, by_hand.pose.R, atol=1e-12)

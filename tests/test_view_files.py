"""Shapes of robots' files: primitives, and where meshes are looked for."""

import struct

import numpy as np
import pytest

import armlet
from armlet.description import Mesh
from armlet.view.scene import _roots, file_shapes, mesh_path, scene

pytest.importorskip("trimesh", reason="trimesh is not installed: it is in the dev extra")
ARM = """<robot name="arm">
<link name="base"><visual><geometry><cylinder radius="0.1" length="0.2"/></geometry></visual></link>
<link name="upper">
  <inertial><origin xyz="0 0 0.2"/><mass value="2"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><origin xyz="0 0 0.1"/>
    <geometry><mesh filename="{file}" scale="2 2 -2"/></geometry></visual>
  <visual><origin xyz="0 0 0.3" rpy="0 1.5707963267948966 0"/>
    <geometry><box size="0.1 0.2 0.3"/></geometry></visual>
  <visual><geometry><sphere radius="-1"/></geometry></visual>
  <visual><origin rpy="0 0"/><geometry><capsule radius="1" length="1"/></geometry></visual>
</link>
<joint name="shoulder" type="revolute"><origin xyz="0 0 0.5"/>
  <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="40" velocity="2"/></joint>
</robot>"""


def stl(path, side=0.1):
    """A tetrahedron as a binary STL file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    o, x, y, z = np.vstack([np.zeros(3), side * np.eye(3)])
    faces = [(o, y, x), (o, x, z), (o, z, y), (x, y, z)]
    data = b"".join(struct.pack("<12fH", 0, 0, 0, *np.ravel(face), 0) for face in faces)
    path.write_bytes(bytes(80) + struct.pack("<I", 4) + data)


def urdf(path, file):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ARM.format(file=file))
    return armlet.load(path)


def find(robot, *folders):
    return mesh_path(robot.meshes["upper"][0], robot.folder, _roots(robot, folders))


@pytest.mark.parametrize(
    "file",
    [
        "package://arm_description/meshes/upper.stl",
        "package://arm%5Fdescription/meshes/upper.stl",
        "../meshes/upper.stl",
    ],
)
def test_a_mesh_is_found_in_the_ros_package_of_the_file(tmp_path, file):
    package = tmp_path / "arm_description"
    stl(package / "meshes" / "upper.stl")
    robot = urdf(package / "urdf" / "arm.urdf", file)
    with pytest.raises(OSError, match="was looked for in"):
        find(robot)  # the folder above is not a package yet
    (package / "package.xml").write_text("<package/>")
    assert find(robot) == (package / "meshes" / "upper.stl").resolve()


def test_a_mesh_is_found_beside_the_file_and_in_folders_that_are_named(tmp_path):
    robot = urdf(tmp_path / "arm.urdf", "upper.stl")
    stl(tmp_path / "parts" / "upper.stl", 0.2)
    assert find(robot, tmp_path / "parts").parent.name == "parts"
    stl(tmp_path / "upper.stl")
    assert find(robot, tmp_path / "parts").parent == tmp_path.resolve()
    other = urdf(tmp_path / "urdf" / "arm.urdf", "package://parts/upper.stl")
    assert find(other, tmp_path / "parts").parent.name == "parts"
    assert find(other, tmp_path).parent.name == "parts"


def test_no_file_is_read_outside_the_folders(tmp_path):
    stl(tmp_path / "secret" / "upper.stl")
    inside = tmp_path / "robot"
    inside.mkdir()
    (inside / "link.stl").symlink_to(tmp_path / "secret" / "upper.stl")
    outside = tmp_path / "secret" / "upper.stl"
    for file in ("../secret/upper.stl", str(outside), f"file://{outside}", "link.stl"):
        with pytest.raises(OSError, match="was looked for in"):
            find(urdf(inside / "arm.urdf", file))
        assert find(urdf(inside / "arm.urdf", file), tmp_path / "secret") == outside.resolve()


def test_a_file_of_another_kind_is_not_read(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(OSError, match=r"notes.txt is none of .stl, .obj"):
        find(urdf(tmp_path / "arm.urdf", "notes.txt"))


def test_a_mesh_is_scaled_and_placed_and_faces_outwards(tmp_path):
    stl(tmp_path / "upper.stl")
    robot = urdf(tmp_path / "arm.urdf", "upper.stl")
    shapes, missing = file_shapes(robot, ())
    assert not missing
    mesh = shapes[-1].mesh
    body, at = robot.frames["upper"]
    own = (mesh.vertices - at.r) @ at.R
    np.testing.assert_allclose(own.max(axis=0), [0.2, 0.2, 0.1], atol=1e-7)
    np.testing.assert_allclose(own.min(axis=0), [0, 0, -0.1], atol=1e-7)
    assert np.linalg.det(mesh.vertices[mesh.faces]).sum() / 6 == pytest.approx(0.2**3 / 6)
    assert shapes[-1].body == body


def test_primitives_are_drawn_and_faulty_ones_left_out(tmp_path):
    robot = urdf(tmp_path / "arm.urdf", "nowhere.stl")
    assert {name: [x.kind for x in found] for name, found in robot.solids.items()} == {
        "base": ["cylinder"],
        "upper": ["box"],
    }
    with pytest.warns(armlet.DataWarning, match="1 of 1 meshes of robot 'arm' are not shown: nowh"):
        shapes, missing = file_shapes(robot, ())
    base, box = shapes
    np.testing.assert_allclose(np.ptp(base.mesh.vertices, axis=0), [0.2, 0.2, 0.2], atol=1e-9)
    body, at = robot.frames["upper"]
    own = (box.mesh.vertices - at.r) @ at.R
    np.testing.assert_allclose(np.ptp(own, axis=0), [0.3, 0.2, 0.1], atol=1e-9)
    np.testing.assert_allclose((own.max(axis=0) + own.min(axis=0)) / 2, [0, 0, 0.3], atol=1e-9)
    assert (missing, box.body) == ([body], body)


def test_primitives_are_written_and_read_again(tmp_path):
    first = urdf(tmp_path / "arm.urdf", "upper.stl")
    first.to_urdf(tmp_path / "again.urdf")
    again = armlet.load(tmp_path / "again.urdf")
    for name, solids in first.solids.items():
        for a, b in zip(solids, again.solids[name], strict=True):
            assert (a.kind, a.size) == (b.kind, b.size)
            np.testing.assert_allclose(a.pose.R, b.pose.R, atol=1e-12)
            np.testing.assert_allclose(a.pose.r, b.pose.r, atol=1e-12)


def test_bodies_whose_meshes_are_missing_are_drawn_as_capsules(tmp_path):
    text = ARM.format(file="nowhere.stl").replace('<box size="0.1 0.2 0.3"/>', "<box/>")
    (tmp_path / "arm.urdf").write_text(text)
    robot = armlet.load(tmp_path / "arm.urdf")
    with pytest.warns(armlet.DataWarning, match="not shown"):
        drawn = scene(robot, *file_shapes(robot, ()))
    assert {shape.body for shape in drawn.shapes} == {-1, 0}


def test_a_damaged_mesh_is_named(tmp_path):
    (tmp_path / "upper.stl").write_bytes(b"not a mesh at all")
    robot = urdf(tmp_path / "arm.urdf", "upper.stl")
    with pytest.warns(armlet.DataWarning, match=r"upper.stl cannot be read \("):
        file_shapes(robot, ())


def test_where_a_file_is_does_not_make_another_robot(tmp_path):
    stl(tmp_path / "a" / "upper.stl")
    first = urdf(tmp_path / "a" / "arm.urdf", "upper.stl")
    second = urdf(tmp_path / "b" / "arm.urdf", "upper.stl")
    assert first.folder != second.folder
    assert first == second
    assert hash(first) == hash(second)
    assert first.with_gravity([0, 0, 0]).folder == first.folder
    assert first.lock({"shoulder": 0.1}).folder == first.folder


def test_a_robot_from_no_file_has_no_folder_to_look_in():
    with pytest.raises(OSError, match="no folder, since the robot is from none"):
        mesh_path(Mesh("upper.stl"), "", [])


MUJOCO = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="j"/>
<geom type="box" size="0.1 0.2 0.3" pos="0 0 0.5"/>
<geom type="capsule" size="0.1" fromto="0 0 0 1 0 0"/>
<geom type="cylinder" size="0.1 0.5" group="3"/>
<geom size="0.25"/></body></worldbody></mujoco>"""


def test_geoms_of_mjcf_that_are_shown_are_drawn(tmp_path):
    (tmp_path / "arm.xml").write_text(MUJOCO)
    robot = armlet.load(tmp_path / "arm.xml")
    found = {solid.kind: solid for solid in robot.solids["a"]}
    assert {kind: solid.size for kind, solid in found.items()} == {
        "box": (0.2, 0.4, 0.6),
        "capsule": (0.1, 1.0),
        "sphere": (0.25,),
    }
    np.testing.assert_allclose(found["box"].pose.r, [0, 0, 0.5])
    np.testing.assert_allclose(found["capsule"].pose.r, [0.5, 0, 0])
    np.testing.assert_allclose(np.abs(found["capsule"].pose.R[:, 2]), [1, 0, 0], atol=1e-12)

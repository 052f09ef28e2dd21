"""Files in and out: what is written reads back as the same robot."""

import errno
import inspect
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import fields, replace

import numpy as np
import pytest
from support.robots import MIMIC, WRITERS, deviation, random_robot, states, value

import armlet
from armlet.cli.robot_options import OPTIONS
from armlet.description import Mesh
from armlet.formats.loading import LoadOptions, ModelOptions
from armlet.robot import Drive, Spring
from armlet.robot.pose import axis_rotation, rotation_of_quaternion, rpy_of


def assert_same(found, robot, tolerance=1e-12):
    q, qd, qdd = states(robot)
    assert found.joint_names == robot.joint_names
    assert found.links == robot.links
    assert set(found.frames) == set(robot.frames)
    for a, b in zip(found.joints, robot.joints, strict=True):
        assert a.kind == b.kind
        assert tuple(a.limits) == pytest.approx(tuple(b.limits))
    np.testing.assert_allclose(np.array(found.drives), np.array(robot.drives), rtol=1e-15)
    assert (
        deviation(
            value(found, "inverse_dynamics", q, qd, qdd),
            value(robot, "inverse_dynamics", q, qd, qdd),
        )
        < tolerance
    )
    assert (
        deviation(value(found, "inertia_matrix", q), value(robot, "inertia_matrix", q)) < tolerance
    )
    for frame in robot.frames:
        expected = value(robot, "forward_kinematics", q, frame=frame)
        assert deviation(value(found, "forward_kinematics", q, frame=frame), expected) < tolerance


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("seed", range(15))
@pytest.mark.filterwarnings("ignore:.*like a robot on legs")  # bases with two branches
def test_a_robot_written_reads_back_the_same(tmp_path, seed, ending):
    robot, _ = random_robot(tmp_path, seed, 3 + seed, drives=True)
    path = tmp_path / f"again.{ending}"
    WRITERS[ending](robot, path)
    assert_same(armlet.load(path), robot)


@pytest.mark.parametrize("name", armlet.catalogue())
def test_a_catalogue_arm_in_toml_reads_back_the_same(arms, tmp_path, name):
    robot = arms[name]
    robot.to_toml(tmp_path / "again.toml")
    doubtful = name == "puma560"
    with pytest.warns(armlet.ModelWarning) if doubtful else nullcontext():
        found = armlet.load(tmp_path / "again.toml")
    assert_same(found, robot)
    assert found.tool == robot.tool
    assert tuple(found.gravity) == pytest.approx(tuple(robot.gravity))


@pytest.mark.parametrize("name", ["stanford", "ur5e", "scara"])
def test_a_frame_off_its_axis_is_kept_in_urdf(arms, tmp_path, name):
    """Frames of the standard convention are not on their own joint's axis, as URDF wants."""
    robot = arms[name]
    robot.to_urdf(tmp_path / "again.urdf")
    found = armlet.load(tmp_path / "again.urdf")
    q, qd, qdd = states(robot)
    assert (
        deviation(
            value(found, "inverse_dynamics", q, qd, qdd),
            value(robot, "inverse_dynamics", q, qd, qdd),
        )
        < 1e-12
    )
    for frame in robot.frames:
        expected = value(robot, "forward_kinematics", q, frame=frame)
        assert deviation(value(found, "forward_kinematics", q, frame=frame), expected) < 1e-12


def random_tables(seed):
    """One arm of six joints in both conventions, with the same bodies."""
    rng = np.random.default_rng(seed)
    alpha, theta = rng.uniform(-3, 3, (2, 6))
    a, d = rng.uniform(-1, 1, (2, 6))
    letters = "".join(rng.choice(["R", "R", "P"], 6))
    standard = list(zip(alpha, a, d, theta, strict=True))
    modified = list(zip([0, *alpha[:-1]], [0, *a[:-1]], d, theta, strict=True))
    points, masses = rng.normal(size=(6, 5, 3)), rng.uniform(0.5, 2, (6, 5))
    bodies_modified, bodies_standard = [], []
    for i in range(6):
        m = masses[i].sum()
        com = masses[i] @ points[i] / m
        r = points[i] - com
        I = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(masses[i], r, strict=True))
        R = axis_rotation(0, alpha[i])
        bodies_modified.append((m, com, I))
        bodies_standard.append((m, R.T @ (com - [a[i], 0, 0]), R.T @ I @ R))
    return letters, (modified, bodies_modified), (standard, bodies_standard)


@pytest.mark.parametrize("seed", range(10))
def test_both_conventions_of_one_arm_agree(seed):
    letters, modified, standard = random_tables(seed)
    first, second = (
        armlet.Robot.from_dh(rows, convention=word, joints=letters, inertia=bodies)
        for word, (rows, bodies) in (("modified", modified), ("standard", standard))
    )
    q, qd, qdd = states(first)
    tau = value(first, "inverse_dynamics", q, qd, qdd)
    assert deviation(value(second, "inverse_dynamics", q, qd, qdd), tau) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_a_table_places_its_frames_by_the_convention(seed):
    letters, (rows, _), (standard_rows, _) = random_tables(seed)
    q = np.random.default_rng(seed).normal(size=6)

    def about(axis, angle, slide):
        T = np.eye(4)
        T[:3, :3] = axis_rotation(axis, angle)
        T[axis, 3] = slide
        return T

    for word, table in (("modified", rows), ("standard", standard_rows)):
        T = np.eye(4)
        for (alpha, a, d, theta), letter, x in zip(table, letters, q, strict=True):
            turned, slid = (0, x) if letter == "P" else (x, 0)
            about_x, about_z = about(0, alpha, a), about(2, theta + turned, d + slid)
            T = T @ (about_x @ about_z if word == "modified" else about_z @ about_x)
        arm = armlet.Robot.from_dh(table, convention=word, joints=letters)
        assert deviation(value(arm, "forward_kinematics", q), T) < 1e-12


def test_meshes_are_kept_as_names(tmp_path):
    geometry = '<geometry><mesh filename="package://arm/a.stl"/></geometry>'
    mesh = f'<visual><origin xyz="0 0 1"/>{geometry}</visual>'
    path = random_robot(tmp_path, 3, 3)[1]
    path.write_text(path.read_text().replace('<link name="link1">', f'<link name="link1">{mesh}'))
    first = armlet.load(path)
    assert first.meshes["link1"][0].file == "package://arm/a.stl"
    for ending, write in WRITERS.items():
        write(first, tmp_path / f"again.{ending}")
        again = armlet.load(tmp_path / f"again.{ending}").meshes["link1"][0]
        assert again.file == "package://arm/a.stl"
        np.testing.assert_allclose(again.pose.r, (0, 0, 1), atol=1e-15)


def test_keyframes_are_in_the_unit_of_the_file_and_zero_where_not_given(tmp_path):
    body = '[[body]]\nname = "{0}_link"\njoint = "{0}"\nkind = "{1}"\nmass = 1.0\n'
    joints = (("a", "continuous"), ("b", "prismatic"), ("c", "revolute"))
    path = tmp_path / "arm.toml"
    path.write_text(
        'angles = "degrees"\ngravity = [0, 0, 0]\n'
        + "".join(body.format(*joint) for joint in joints)
        + '[[keyframe]]\nname = "home"\nq = { a = 90, b = 0.5 }\n'
    )
    robot = armlet.load(path)
    assert robot.keyframes["home"].tolist() == [np.pi / 2, 0.5, 0]


BALL = """
name = "arm"
gravity = [0, 0, -9.81]
angles = "degrees"

[[body]]
name = "upper"
joint = "shoulder"
kind = "ball"
xyz = [0, 0, 0.3]
rpy = [10, 20, 30]
mass = 2
com = [0.2, 0.1, 0]
inertia = [0.01, 0, 0, 0.03, 0, 0.03]
limits = { velocity = 90, effort = 50 }
drive = { rotor_inertia = 0.1, viscous = 0.2, coulomb = 0.3 }
spring = { stiffness = 5 }

[[body]]
name = "lower"
joint = "elbow"
kind = "revolute"
xyz = [0.4, 0, 0]
axis = [0, 1, 0]
mass = 1
com = [0.1, 0, 0]
inertia = [0.005, 0, 0, 0.01, 0, 0.01]

[[frame]]
name = "hand"
parent = "lower"
xyz = [0.2, 0, 0]

[[keyframe]]
name = "home"
q = { shoulder = [0.6, 0, 0, 0.8], elbow = 90 }

[[keyframe]]
name = "rounded"
q = { shoulder = [0, 0, 0.3826834, 0.9238795] }

[[keyframe]]
name = "straight"
q = {}
"""


@pytest.fixture
def with_ball(tmp_path):
    path = tmp_path / "ball.toml"
    path.write_text(BALL)
    return armlet.load(path)


def test_limits_and_drive_of_a_ball_joint_apply_to_each_axis(with_ball):
    assert (with_ball.nq, with_ball.nv) == (5, 4)
    np.testing.assert_allclose(with_ball.velocity_limit, [np.pi / 2] * 3 + [np.inf])
    np.testing.assert_allclose(with_ball.effort_limit, [50] * 3 + [np.inf])
    assert with_ball.drives[:3] == (Drive(0.1, 0.2, 0.3),) * 3
    assert with_ball.springs[:3] == (Spring(5),) * 3
    assert not np.isfinite(with_ball.lower).any()


def test_keyframes_have_a_quaternion_of_length_1_for_each_ball_joint(with_ball):
    home, rounded, straight = with_ball.keyframes.values()
    np.testing.assert_array_equal(home, [0.6, 0, 0, 0.8, np.pi / 2])
    np.testing.assert_allclose(rounded, [0, 0, 0.3826834, 0.9238795, 0], atol=1e-7)
    assert abs(np.linalg.norm(rounded[:4]) - 1) < 1e-15
    np.testing.assert_array_equal(straight, with_ball.neutral)


def test_a_robot_with_a_ball_joint_is_the_same_after_it_was_written_as_toml(with_ball, tmp_path):
    with_ball.to_toml(tmp_path / "again.toml")
    text = (tmp_path / "again.toml").read_text()
    again = armlet.load(tmp_path / "again.toml")
    assert text.count("axis =") == 1
    for name, q in with_ball.keyframes.items():
        assert again.keyframes[name].tolist() == q.tolist()
    assert again.coordinates == with_ball.coordinates
    assert (again.drives, again.springs) == (with_ball.drives, with_ball.springs)
    np.testing.assert_allclose(again.phi, with_ball.phi, atol=1e-15)
    np.testing.assert_allclose(again.dh, with_ball.dh, atol=1e-15)
    (tmp_path / "upright.toml").write_text(BALL.replace("rpy = [10, 20, 30]", ""))
    robot = armlet.load(tmp_path / "upright.toml")
    robot.to_toml(tmp_path / "again.toml")
    assert replace(armlet.load(tmp_path / "again.toml"), source=robot.source) == robot


def test_a_robot_with_a_ball_joint_cannot_be_written_as_urdf(with_ball, tmp_path):
    with pytest.raises(
        armlet.ModelError, match=r"^joint 'shoulder' is ball, which URDF cannot hold"
    ):
        with_ball.to_urdf(tmp_path / "arm.urdf")
    assert not (tmp_path / "arm.urdf").exists()


def test_a_ball_joint_is_locked_in_its_neutral_pose_only(with_ball, tmp_path):
    for fixed in (
        with_ball.lock({"shoulder": 0}),
        armlet.load(tmp_path / "ball.toml", lock={"shoulder": 0.0}),
    ):
        assert fixed.joint_names == ("elbow",)
        assert fixed.keyframes["home"].tolist() == [np.pi / 2]
        expected = value(with_ball, "forward_kinematics", [0, 0, 0, 1, 0.5], frame="hand")
        np.testing.assert_allclose(
            value(fixed, "forward_kinematics", [0.5], frame="hand"), expected, atol=1e-14
        )
    with pytest.raises(armlet.ModelError, match=r"^joint 'shoulder' is ball and cannot be locked"):
        with_ball.lock({"shoulder": 0.5})
    with pytest.raises(armlet.ModelError, match=r"at 0\.5: expected 0, its neutral pose"):
        armlet.load(tmp_path / "ball.toml", lock={"shoulder": 0.5})


def test_drives_that_differ_among_the_axes_of_a_ball_joint_are_in_no_file(with_ball, tmp_path):
    robot = with_ball.with_drives(viscous=[1, 2, 3, 4])
    with pytest.raises(armlet.ModelError, match=r"^joint 'shoulder' has drives that differ from"):
        robot.to_toml(tmp_path / "arm.toml")


def test_joints_may_be_coupled_beside_a_ball_joint(tmp_path):
    path = tmp_path / "coupled.toml"
    wrist = '[[body]]\nname = "tip"\njoint = "wrist"\nmass = 1\ninertia = [1, 0, 0, 1, 0, 1]\n'
    mimic = 'mimic = { joint = "elbow", factor = -2, offset = 10 }\n'
    path.write_text(BALL.replace("[[frame]]", f"{wrist}{mimic}[[frame]]"))
    robot = armlet.load(path)
    q = [0.6, 0, 0, 0.8, 0.5]
    moved = [*q, np.radians(10) - 1]
    np.testing.assert_allclose(robot.joint_positions(q), moved, atol=1e-15)
    assert robot._joint_velocities([1, 2, 3, 4]).tolist() == [1, 2, 3, 4, -8]
    Gamma = robot._joint_velocities(np.eye(4)).T
    H = value(robot.uncoupled, "inertia_matrix", moved)
    np.testing.assert_allclose(value(robot, "inertia_matrix", q), Gamma.T @ H @ Gamma, atol=1e-13)
    robot.to_toml(tmp_path / "again.toml")
    again = armlet.load(tmp_path / "again.toml").keyframes["home"]
    np.testing.assert_allclose(again, robot.keyframes["home"], atol=1e-15)


@pytest.mark.parametrize("mimic", ["couple", "free", "lock"])
def test_a_mimic_joint_is_coupled_freed_or_locked(tmp_path, mimic):
    path = tmp_path / "gripper.urdf"
    path.write_text(MIMIC)
    arm = armlet.load(path, mimic=mimic)
    assert arm.joint_names == {"free": ("open", "follow")}.get(mimic, ("open",))
    assert arm.nb == {"lock": 1}.get(mimic, 2)
    with pytest.raises(armlet.ModelError, match="mimic is 'ignore': expected one of couple, free"):
        armlet.load(path, mimic="ignore")


def test_drake_rotor_data_are_reflected_to_the_joint(tmp_path):
    robot, path = random_robot(tmp_path, 3, 2)
    path.write_text(
        path.read_text().replace(
            "</robot>",
            '<transmission name="t"><joint name="joint0"/><actuator name="a">'
            '<drake:rotor_inertia value="0.002"/><drake:gear_ratio value="50"/>'
            "</actuator></transmission></robot>",
        )
    )
    assert armlet.load(path).drives[0].rotor_inertia == pytest.approx(5.0)
    assert robot.drives[0].rotor_inertia == 0


@pytest.mark.parametrize("name", ["<&\"'>", "joint [red]", 'x"); system("x', "mit Ümlaut\n"])
def test_any_name_survives(tmp_path, name):
    arm = armlet.load("planar2r")
    joints = (arm.joints[0]._replace(name=name), arm.joints[1])
    renamed = replace(arm, joints=joints)
    for ending, write in WRITERS.items():
        write(renamed, tmp_path / f"a.{ending}")
        assert armlet.load(tmp_path / f"a.{ending}").joint_names[0] == name


@pytest.mark.parametrize("kind", ["robot", "link", "joint", "mesh"])
@pytest.mark.parametrize("character", ["\0", "\x1b", "\ufffe", "\ud800"])
def test_a_name_that_xml_cannot_hold_is_refused_before_the_file_is_touched(
    tmp_path, kind, character
):
    arm = armlet.load("planar2r")
    name = f"a{character}b"
    first = arm.joints[0]._replace(name=name)
    changes = {
        "robot": {"name": name},
        "joint": {"joints": (first, arm.joints[1])},
        "link": {
            "links": (name, arm.links[1]),
            "frames": {name if key == "link1" else key: f for key, f in arm.frames.items()},
        },
        "mesh": {"meshes": {"link1": (Mesh(name),)}},
    }
    path = tmp_path / "arm.urdf"
    path.write_text("mine")
    with pytest.raises(armlet.ModelError) as raised:
        replace(arm, **changes[kind]).to_urdf(path)
    assert str(raised.value) == (
        f"{kind} {name!r} cannot be written as URDF: XML has no character {character!r}; rename "
        "it, or write TOML"
    )
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["\0", "\x1b[31m", "\x7f", "\x85", "\u202e", "\ufffe", '"\\"'])
def test_every_character_survives_in_toml(tmp_path, name):
    arm = armlet.load("planar2r")
    renamed = replace(arm, name=name, source=name)
    renamed.to_toml(tmp_path / "a.toml")
    assert armlet.load(tmp_path / "a.toml").name == name


def test_half_a_character_is_refused_before_the_file_is_touched(tmp_path):
    arm = armlet.load("planar2r")
    path = tmp_path / "arm.toml"
    path.write_text("mine")
    with pytest.raises(armlet.ArmletError, match=r"UTF-8 has no character '\\ud800'"):
        replace(arm, name="\ud800").to_toml(path)
    assert path.read_text() == "mine"


# ------------------------------------------------------------------ writing


def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_stays_whole_when_the_disk_is_full(tmp_path, monkeypatch):
    path = tmp_path / "arm.toml"
    path.write_text("mine")
    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(armlet.ArmletError, match=r"arm\.toml: cannot be written: No space left"):
        armlet.load("planar2r").to_toml(path)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "arm.toml", tmp_path / "link.toml"
    path.write_text("mine")
    path.chmod(0o640)
    link.symlink_to(path)
    armlet.load("planar2r").to_toml(link)
    assert link.is_symlink()
    assert armlet.load(path).nq == 2
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    armlet.load("planar2r").to_toml(tmp_path / "arm.toml")
    assert (tmp_path / "arm.toml").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        text = pool.submit(path.read_text)
        armlet.load("planar2r").to_toml(path)
        assert 'name = "planar2r"' in text.result()
    assert path.is_fifo()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/dev/full", "No space left on device"),
        ("/nowhere/arm.toml", "/nowhere is no folder"),
        ("/", "this is a folder"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_that_takes_no_file_is_reported(path, reason):
    with pytest.raises(armlet.ArmletError) as raised:
        armlet.load("planar2r").to_toml(path)
    assert str(raised.value) == f"{path}: cannot be written: {reason}"


def test_roll_pitch_yaw_and_quaternions_give_the_rotation_back():
    rng = np.random.default_rng(0)
    for _ in range(200):
        R = (
            axis_rotation(2, rng.uniform(-3, 3))
            @ axis_rotation(1, rng.uniform(-2, 2))
            @ axis_rotation(0, rng.uniform(-3, 3))
        )
        roll, pitch, yaw = rpy_of(R)
        np.testing.assert_allclose(
            axis_rotation(2, yaw) @ axis_rotation(1, pitch) @ axis_rotation(0, roll), R, atol=1e-14
        )
    for pitch in (np.pi / 2, -np.pi / 2):
        R = axis_rotation(2, 0.4) @ axis_rotation(1, pitch) @ axis_rotation(0, 0.7)
        roll, p, yaw = rpy_of(R)
        np.testing.assert_allclose(
            axis_rotation(2, yaw) @ axis_rotation(1, p) @ axis_rotation(0, roll), R, atol=1e-14
        )
    half = np.sqrt(0.5)
    np.testing.assert_array_equal(
        rotation_of_quaternion(half, half, 0, 0), axis_rotation(0, np.pi / 2)
    )


# ------------------------------------------------------------------ options


def test_options_of_loading_are_keywords_with_their_defaults():
    for function, options in (
        (armlet.load, LoadOptions),
        (armlet.from_mujoco, ModelOptions),
        (armlet.from_pinocchio, ModelOptions),
    ):
        _, *parameters = inspect.signature(function).parameters.values()
        assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
        defaults = {parameter.name: parameter.default for parameter in parameters}
        assert defaults == {field.name: field.default for field in fields(options)}
        assert all(re.search(rf"\b{name}\b", inspect.getdoc(function)) for name in defaults)
    with pytest.raises(TypeError, match="unexpected keyword argument 'mimc'"):
        armlet.load("planar2r", mimc="free")


def test_the_command_line_has_options_of_loading():
    names = {field.name for field in fields(LoadOptions)}
    assert names - OPTIONS.keys() == {"strict"}
    assert not OPTIONS.keys() - names

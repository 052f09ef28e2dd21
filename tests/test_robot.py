"""The robot: canonical frames, the ways to walk it, and robots made of robots."""

import copy
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from support.robots import deviation, random_robot, random_urdf, states, value

import armlet
from armlet.robot import Joint, Limits, Pose
from armlet.robot.frames import main_children
from armlet.scalar import quarter_turns


def test_published_tables_come_out_as_they_are(arms):
    """The Panda's modified table is canonical but for the base, which goes to the first axis."""
    quarter = np.pi / 2
    rows = np.array([row[2:6] for row in arms["panda"].dh])
    expected = [
        (0, 0, 0, 0),
        (-quarter, 0, 0, 0),
        (quarter, 0, 0.316, 0),
        (quarter, 0.0825, 0, 0),
        (-quarter, -0.0825, 0.384, 0),
        (quarter, 0, 0, 0),
        (quarter, 0.088, 0, 0),
    ]
    np.testing.assert_array_equal(rows, expected)


def test_offsets_of_parallel_axes_are_merged_into_the_last(arms):
    """Axes 2, 3 and 4 of the UR5e are parallel, axes 2 and 3 of the PUMA are."""
    assert [row.d for row in arms["ur5e"].dh[:4]] == [0, 0, 0, pytest.approx(0.1333)]
    assert [row.d for row in arms["puma560"].dh[:3]] == [0, 0, pytest.approx(0.15005)]
    assert all(row.d == 0 for row in arms["scara"].dh)


@pytest.mark.parametrize("name", armlet.catalogue())
def test_every_twist_of_a_catalogue_arm_is_exact(arms, name):
    for row in arms[name].dh:
        assert row.gamma == row.b == 0
        assert quarter_turns(row.alpha) is not None
        assert quarter_turns(row.theta) is not None or name == "z1"  # its elbow is bent


def test_angles_within_the_tolerance_are_exact(tmp_path):
    path = tmp_path / "rounded.urdf"
    path.write_text(
        '<robot name="rounded"><link name="base"/>'
        + "".join(
            f'<link name="l{i}"/><joint name="j{i}" type="continuous">'
            f'<parent link="{parent}"/><child link="l{i}"/><axis xyz="0 0 1"/>'
            f'<origin xyz="0.1 0 0" rpy="1.5708 0 0"/></joint>'
            for i, parent in enumerate(("base", "l0"))
        )
        + "</robot>"
    )
    message = r"1 angle is up to 3.7e-06 rad .* has 2 geometric constants .* instead of 1.*=1e-05"
    with pytest.warns(armlet.ModelWarning, match=message):
        assert armlet.load(path).dh[1].alpha != np.pi / 2
    assert armlet.load(path, tolerance=1e-5).dh[1].alpha == np.pi / 2


@pytest.mark.parametrize("seed", range(8))
def test_only_branches_need_the_extra_parameters(tmp_path, seed):
    robot, _ = random_robot(tmp_path, seed, 12)
    main = main_children(robot.parent)
    for i, (p, row) in enumerate(zip(robot.parent, robot.dh, strict=True)):
        if main[p] == i:
            assert row.gamma == row.b == 0


@pytest.mark.parametrize("seed", range(8))
def test_axes_along_coordinate_axes_give_quarter_turns_only(tmp_path, seed):
    path = tmp_path / "special.urdf"
    path.write_text(random_urdf(seed, 8, special=1.0))
    for row in armlet.load(path).dh:
        assert quarter_turns(row.alpha) is not None


@pytest.mark.parametrize("seed", range(6))
def test_payloads_are_bodies_on_the_tool(tmp_path, seed):
    robot, _ = random_robot(tmp_path, seed, 5)
    rng = np.random.default_rng(seed)
    mass, com, A = 1.3, rng.normal(size=3), rng.normal(size=(3, 3))
    inertia = A @ A.T
    loaded = robot.with_payload(mass, com, inertia)
    q, qd, _ = states(robot)
    T = value(robot, "forward_kinematics", q)
    Jq = value(robot, "jacobian", q)
    point = T[:, :3, 3] + np.einsum("kij,j->ki", T[:, :3, :3], com)
    arm = point - T[:, :3, 3]
    w = np.einsum("kij,kj->ki", Jq[:, :3], qd)
    v = np.einsum("kij,kj->ki", Jq[:, 3:], qd) + np.cross(w, arm)
    in_tool = np.einsum("kji,kj->ki", T[:, :3, :3], w)
    added = mass * (v * v).sum(-1) / 2 + np.einsum("ki,ij,kj->k", in_tool, inertia, in_tool) / 2
    kinetic = value(loaded, "energy", q, qd)[0] - value(robot, "energy", q, qd)[0]
    potential = value(loaded, "energy", q, qd)[1] - value(robot, "energy", q, qd)[1]
    assert deviation(kinetic, added) < 1e-11
    assert deviation(potential, -mass * point @ np.asarray(robot.gravity, float)) < 1e-11


@pytest.mark.parametrize("seed", range(6))
def test_a_locked_joint_takes_no_part(tmp_path, seed):
    robot, path = random_robot(tmp_path, seed, 6)
    values = {"joint2": 0.7, "joint4": -0.4}
    free = [i for i, name in enumerate(robot.joint_names) if name not in values]
    q, qd, qdd = states(robot)
    for name, angle in values.items():
        i = robot.joint_names.index(name)
        q[:, i], qd[:, i], qdd[:, i] = angle, 0, 0
    expected = value(robot, "inverse_dynamics", q, qd, qdd)[:, free]
    for locked in (robot.lock(values), armlet.load(path, lock=values).with_tool("tool")):
        assert locked.joint_names == tuple(robot.joint_names[i] for i in free)
        found = value(locked, "inverse_dynamics", q[:, free], qd[:, free], qdd[:, free])
        assert deviation(found, expected) < 1e-11
        assert (
            deviation(
                value(locked, "forward_kinematics", q[:, free]),
                value(robot, "forward_kinematics", q),
            )
            < 1e-12
        )


@pytest.mark.parametrize("seed", range(6))
def test_a_subchain_is_the_arm_to_its_tip(tmp_path, seed):
    robot, _ = random_robot(tmp_path, seed, 8)
    chain = robot.subchain("link4")
    path = robot.path(robot.frame("link4").body)
    q = states(robot)[0]
    assert chain._is_serial
    assert chain.tool == "link4"
    assert chain.joint_names == tuple(robot.joint_names[i] for i in path)
    expected = value(robot, "forward_kinematics", q, frame="link4")
    assert deviation(value(chain, "forward_kinematics", q[:, path]), expected) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_gravity_is_given_in_the_axes_of_the_file(tmp_path, seed):
    robot, _ = random_robot(tmp_path, seed, 4)
    np.testing.assert_allclose(np.asarray(robot.gravity, float), (0, 0, -9.81), atol=1e-12)
    up, side = robot.with_gravity((0, 0, 9.81)), robot.with_gravity((1.0, 2.0, 3.0))
    q = states(robot)[0]
    assert deviation(value(up, "gravity_torque", q), -value(robot, "gravity_torque", q)) < 1e-12
    np.testing.assert_allclose(np.asarray(side.gravity, float), (1, 2, 3), atol=1e-12)


def test_inertial_parameters_go_in_as_they_come_out(arms):
    robot = arms["panda"]
    q, qd, qdd = states(robot)
    same, twice = robot.with_inertia(robot.phi), robot.with_inertia(2 * robot.phi.ravel())
    tau = value(robot, "inverse_dynamics", q, qd, qdd)
    np.testing.assert_array_equal(value(same, "inverse_dynamics", q, qd, qdd), tau)
    assert deviation(value(twice, "inverse_dynamics", q, qd, qdd), 2 * tau) < 1e-13


def test_walks_visit_every_body_once(tmp_path):
    robot, _ = random_robot(tmp_path, 5, 20)
    assert [i for i, _ in robot.base_to_tips()] == list(range(20))
    assert [*robot.tips_to_base()] == [*robot.base_to_tips()][::-1]
    for i, p in robot.base_to_tips():
        assert p < i
        assert [*robot.path(p), i] == robot.path(i)


def test_a_robot_cannot_be_changed(arms):
    with pytest.raises(AttributeError):
        arms["panda"].name = "other"


def test_poses_compose_and_invert():
    a = Pose(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([1.0, 2, 3]))
    there_and_back = a @ a.inverse()
    np.testing.assert_array_equal(there_and_back.R, np.eye(3))
    np.testing.assert_array_equal(there_and_back.r, np.zeros(3))


def test_a_model_without_masses_has_kinematics_and_no_dynamics():
    arm = armlet.Robot.from_dh([(0, 0, 0, 0), (0, 1, 0, 0)], convention="modified")
    assert arm.forward_kinematics([0.0, 0.0])[0, 3] == 1
    for quantity in ("inverse_dynamics", "inertia_matrix", "bias", "gravity_torque", "energy"):
        with pytest.raises(armlet.ModelError, match=r"'arm' has no masses"):
            armlet.trace(arm, quantity)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.inverse_dynamics([0] * 7, [0] * 7), "missing .* argument: 'qdd'"),
        (lambda r: r.bias([0] * 6, [0] * 7), r"q has shape \(6,\): expected \(..., 7\)"),
        (lambda r: r.bias(np.zeros((2, 7)), [0] * 7), r"qd has leading axes \(\), q has \(2,\)"),
        (lambda r: r.bias(["a"] * 7, [0] * 7), "q is not an array of numbers"),
        (lambda r: r.bias(0.0, 0.0), r"q has shape \(\): expected"),
        (lambda r: r.jacobian([0] * 7, "nose"), "has no frame 'nose': name one of base"),
        (lambda r: r.with_inertia(np.zeros(3)), r"phi has shape \(3,\): expected \(7, 10\)"),
        (lambda r: r.with_gravity((0, 0)), "gravity has shape"),
        (lambda r: r.with_payload(1, (0, 0)), "com has shape .*: expected three coordinates"),
        (lambda r: r.with_payload(1, (0, 0, 0), frame="base"), "on the base"),
        (lambda r: r.with_payload(-2, (0, 0, 0)), "the payload's mass is -2"),
        (lambda r: r.lock(dict.fromkeys(r.joint_names, 0)).bias([], []), "no moving joint"),
        (lambda r: r.to_urdf("/nowhere/arm.urdf"), "/nowhere/arm.urdf: cannot be written"),
        (
            lambda r: r.lock({"elbow": 0}),
            "no moving joint is called 'elbow': expected one of joint1",
        ),
        (lambda r: r.lock({"joint1": np.nan}), "cannot be locked at nan"),
        (lambda r: armlet.trace(r, "torque"), "quantity is 'torque': expected one of"),
        (lambda r: armlet.trace(r, "bias", "magic"), "formulation of bias is 'magic'"),
        (lambda r: armlet.trace(r, "bias", wrench=True), "bias does not take wrench="),
        (lambda r: armlet.trace(r, "bias", constants={"mass": "fixed"}), "group of constants is"),
        (lambda r: armlet.trace(r, "bias", constants={"inertia": "free"}), "kind of constant is"),
    ],
)
def test_errors_of_bad_calls_say_what_is_wrong(arms, call, message):
    with pytest.raises((armlet.ArmletError, TypeError), match=message):
        call(arms["panda"])


def test_nan_in_gives_nan_out(arms):
    robot = arms["panda"]
    q = np.zeros((2, 7))
    q[1, 3] = np.nan
    tau = value(robot, "gravity_torque", q)
    assert np.isfinite(tau[0]).all()
    assert np.isnan(tau[1]).any()


def test_the_general_arm_can_be_counted_but_not_evaluated():
    arm = armlet.general_arm("RPR")
    assert armlet.trace(arm, "inverse_dynamics").count().total > 0
    with pytest.raises(armlet.ModelError, match="constants without a value"):
        arm.gravity_torque([0, 0, 0])
    with pytest.raises(armlet.ModelError, match="expected letters R and P"):
        armlet.general_arm("RXR")


# ------------------------------------------------------------------ nothing can be written to


def test_a_robot_cannot_be_written_to(arms):
    robot = arms["panda"]
    frame = robot.frames[robot.tool].pose
    for array in (robot.phi, robot.g, robot.c[0], robot.J[0], frame.R, frame.r):
        with pytest.raises(ValueError, match="read-only"):
            array *= 3
    for mapping in (robot.frames, robot.meshes):
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["other"] = None


def test_arrays_given_to_a_robot_stay_the_caller_s(arms):
    phi, gravity = arms["planar2r"].phi.copy(), np.array([0.0, -9.81, 0.0])
    robot = arms["planar2r"].with_inertia(phi).with_gravity(gravity)
    phi *= 3
    gravity *= 3
    np.testing.assert_array_equal(robot.phi, arms["planar2r"].phi)
    np.testing.assert_array_equal(robot.gravity, [0.0, -9.81, 0.0])


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_are_as_read_only_as_the_robot(arms, copied):
    robot = copied(arms["panda"])
    assert not robot.g.flags.writeable
    assert not robot.phi.flags.writeable
    assert robot.frames.keys() == arms["panda"].frames.keys()
    with pytest.raises(TypeError):
        robot.frames["other"] = None


NAN, INF = float("nan"), float("inf")
REFUSED = {
    "gravity has the entry nan": lambda robot: robot.with_gravity([0, 0, NAN]),
    "gravity has the entry 'down'": lambda robot: robot.with_gravity([0, 0, "down"]),
    "gravity has shape (2,)": lambda robot: robot.with_gravity([0, 0]),
    "phi has the entry inf": lambda robot: robot.with_inertia(np.full((2, 10), INF)),
    "phi has shape (2,)": lambda robot: robot.with_inertia([[1, 2], [3]]),
    "the payload's mass has the entry nan": lambda robot: robot.with_payload(NAN, [0, 0, 0]),
    "the payload's mass has shape (2,)": lambda robot: robot.with_payload([1, 2], [0, 0, 0]),
    "the payload's com has the entry -inf": lambda robot: robot.with_payload(1, [0, -INF, 0]),
    "the payload's com has shape ()": lambda robot: robot.with_payload(1, 0.1),
    "the payload's inertia has the entry nan": lambda robot: robot.with_payload(
        1, [0, 0, 0], [NAN] * 6
    ),
    "the payload's inertia has shape (2, 3)": lambda robot: robot.with_payload(
        1, [0, 0, 0], np.zeros((2, 3))
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_numbers_that_no_robot_has_are_refused(arms, message):
    with pytest.raises(armlet.DataError, match=re.escape(message)):
        REFUSED[message](arms["planar2r"])


# ------------------------------------------------------------------ limits and positions


def test_limits_are_arrays_in_the_order_of_the_state():
    robot = armlet.load("panda")
    limits = np.array([joint.limits for joint in robot.coordinates])
    arrays = robot.lower, robot.upper, robot.velocity_limit, robot.effort_limit
    np.testing.assert_array_equal(np.transpose(arrays), limits)
    assert robot.neutral.tolist() == [0.0] * robot.nq
    assert not any(x.flags.writeable for x in (*arrays, robot.neutral))


def test_random_configurations_are_within_the_limits():
    rows = [
        Joint("both", "revolute", Limits(1.0, 2.0)),
        Joint("none", "continuous"),
        Joint("above", "prismatic", Limits(upper=-3.0)),
        Joint("below", "prismatic", Limits(lower=0.5)),
    ]
    robot = replace(armlet.general_arm("RRPP"), joints=tuple(rows))
    q = robot.random_configuration(np.random.default_rng(0), (50, 20))
    assert q.shape == (50, 20, 4)
    ends = [[1, 2], [-np.pi, np.pi], [-5, -3], [0.5, 2.5]]
    for x, (lower, upper) in zip(np.moveaxis(q, -1, 0), ends, strict=True):
        assert lower <= x.min() <= x.max() <= upper
        assert np.ptp(x) > 0.9 * (upper - lower)
    assert robot.random_configuration().shape == (4,)
    assert robot.random_configuration(size=3).shape == (3, 4)
    np.testing.assert_array_equal(robot.random_configuration(7), robot.random_configuration(7))

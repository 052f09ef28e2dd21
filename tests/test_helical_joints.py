"""Helical joints: the screw that they are, their files, and how they save operations."""

from dataclasses import replace
from math import pi

import numpy as np
import pinocchio as pin
import pytest
from support.robots import deviation, value
from support.spherical import STRAIGHT, body_of, joined

import armlet
from armlet.api import Robot
from armlet.codegen.project import Function
from armlet.dynamics import FORMULATIONS, QUANTITIES, definition
from armlet.dynamics.parallel_axes import parallel_axes
from armlet.fmu import function_block
from armlet.minimal import lump
from armlet.robot import DHRow, Limits
from armlet.search.request import make_request
from armlet.testing import random_robot
from armlet.view.scene import rails, reach

PITCH = 0.02
QUANTITIES_OF_LUMPS = "inverse_dynamics", "inertia_matrix", "bias", "gravity_torque"
WALKING = [
    (quantity, name)
    for quantity, entries in FORMULATIONS.items()
    for name, entry in entries.items()
    if entry.walks_twists and hasattr(definition, quantity)
]
ONLY_FOR_OTHERS = [
    (quantity, name)
    for quantity, entries in FORMULATIONS.items()
    for name, entry in entries.items()
    if "H" not in entry.letters and not quantity.startswith("cartesian")
]


def with_pitch(robot, *pitches):
    joints = zip(robot.joints, pitches, strict=True)
    return replace(robot, joints=tuple(x._replace(pitch=pitch) for x, pitch in joints))


def flat(result):
    outputs = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(y, dtype=float)) for y in outputs])


def state(robot, quantity, seed=0):
    rng = np.random.default_rng(seed)
    values = {x: rng.uniform(-2, 2, robot.nv) for x in ("qd", "qdd", "tau")}
    values["q"] = robot.random_configuration(rng)
    return [values[x] for x in QUANTITIES[quantity].arguments]


# ------------------------------------------------------------------ mechanics


def test_a_nut_on_an_upright_screw_falls_as_its_pitch_has_it():
    """With the mass on the axis: (J + m p²) q̈ = τ - m g p."""
    m, J, p, g = 2.0, 0.05, 0.3, 9.81
    nut = with_pitch(joined("H", (STRAIGHT,), (body_of(m, (0, 0, 0), (1, 1, J)),)), p)
    for q in (0.0, 1.7):
        falls = (0.4 - m * g * p) / (J + m * p * p)
        assert nut.forward_dynamics([q], [0.8], [0.4]) == pytest.approx(falls)
        pose = nut.forward_kinematics([q])
        assert pose[2, 3] == pytest.approx(0.3 + p * q)
        np.testing.assert_allclose(pose[:2, 0], [np.cos(q), np.sin(q)], atol=1e-15)
    assert nut.jacobian([0.5])[:, 0].tolist() == [0, 0, 1, 0, 0, p]


def test_without_pitch_it_is_a_revolute_joint():
    screws = with_pitch(random_robot(0, 4, "RH"), 0, 0, 0, 0)
    hinges = replace(screws, joints=tuple(x._replace(kind="revolute") for x in screws.joints))
    for quantity in ("inverse_dynamics", "inertia_matrix", "energy", "jacobian"):
        name, arguments = next(iter(FORMULATIONS[quantity])), state(screws, quantity)
        programs = [armlet.trace(x, quantity, name) for x in (screws, hinges)]
        assert programs[0].count() == programs[1].count()
        one, other = (flat(x.function(np)(*arguments)) for x in programs)
        np.testing.assert_array_equal(one, other)


def test_a_swinging_screw_keeps_its_energy():
    robot = Robot.of(random_robot(3, 3, "HRH"))
    run = armlet.simulate(robot, [0.5, -0.3, 1.0], duration=1.0, dt=1e-3, method="rk4")
    kinetic, potential = robot.energy(run.q, run.qd)
    assert np.ptp(kinetic + potential) < 1e-3 * np.ptp(kinetic)


@pytest.mark.parametrize(("quantity", "name"), ONLY_FOR_OTHERS)
def test_what_holds_for_revolute_and_prismatic_joints_alone_says_so(quantity, name):
    with pytest.raises(armlet.ModelError, match=f"formulation '{name}' holds for"):
        armlet.trace(random_robot(0, 3, "RH"), quantity, name)


# ------------------------------------------------------------------ parallel axes, lumped inertia


def on_parallel_axes(letters, seed, flips=(0, pi), first=0.7):
    """A robot of random bodies whose axes are all parallel or opposite, at an angle to gravity."""
    robot = random_robot(seed, len(letters), letters)
    rng = np.random.default_rng(seed)
    rows = [
        DHRow(0.0, 0.0, float(rng.choice(flips)) if i else first, *rng.uniform(-1, 1, 3).tolist())
        for i in range(len(letters))
    ]
    return Robot.of(replace(robot, dh=tuple(rows)))


PARALLEL = ["HH", "RH", "HR", "RHR", "HRHP", "PHRH", "HHH"]


@pytest.mark.parametrize("letters", PARALLEL)
def test_helical_joints_continue_runs_of_parallel_axes(letters):
    robot = on_parallel_axes(letters, 0)
    assert parallel_axes(robot, np.zeros(robot.nq)).start == [0] * len(letters)


@pytest.mark.parametrize("letters", PARALLEL)
@pytest.mark.parametrize("turned", [False, True], ids=["parallel", "last axis turned"])
def test_robots_on_parallel_axes_agree_with_the_definition(letters, turned):
    for seed in range(2):
        robot = on_parallel_axes(letters, seed)
        if turned:
            robot = replace(robot, dh=(*robot.dh[:-1], robot.dh[-1]._replace(alpha=0.4)))
        for quantity, name in WALKING:
            if name == "walker_orin_cg":  # iterates
                continue
            arguments = state(robot, quantity, seed)
            exact, limit = flat(getattr(definition, quantity)(robot, *arguments)), 1e-11
            if QUANTITIES[quantity].inverts:
                H = definition.inertia_matrix(robot, arguments[0]).astype(float)
                limit *= np.linalg.cond(H)
            for minimal in (False, True):
                program = armlet.trace(robot, quantity, name, minimal=minimal)
                assert deviation(flat(program.function(np)(*arguments)), exact) < limit, name


@pytest.mark.parametrize("letters", [*PARALLEL, "RPH", "H", "BH", "PPH"])
@pytest.mark.parametrize("first", [0, 0.7, pi / 2])
def test_lumped_bodies_on_helical_joints_have_the_same_torques(letters, first):
    for seed in range(3):
        parallel = on_parallel_axes(letters, seed, first=first)
        for robot in (parallel, random_robot(seed, len(letters), letters)):
            for quantity in QUANTITIES_OF_LUMPS:
                arguments = state(robot, quantity, seed)
                whole, lumped = (
                    flat(getattr(definition, quantity)(x, *arguments)) for x in (robot, lump(robot))
                )
                assert deviation(lumped, whole) < 1e-12, quantity


def test_what_is_lumped_at_a_helical_joint_neither_its_rotation_nor_its_translation_shows():
    """A screw's rotation and translation commute, so what does not change under it changes under
    neither: the inertia that is symmetric about the axis, and on parallel axes the moment along it.
    """
    for robot, straight in ((on_parallel_axes("RH", 0), True), (random_robot(1, 4, "RRRH"), False)):
        (m, c, J), lumped = robot.bodies[-1], lump(robot).bodies[-1]
        assert lumped[0] == m
        assert lumped[1].tolist() == [c[0], c[1], 0 if straight else c[2]]
        np.testing.assert_allclose(
            np.diag(lumped[2]).astype(float), [J[0, 0] - J[1, 1], 0, J[2, 2]]
        )


# ------------------------------------------------------------------ programs and parameters


def test_robots_that_differ_in_a_pitch_alone_share_no_program():
    robot = Robot.of(random_robot(0, 3, "HRH"))
    other = with_pitch(robot, 0.2, 0, 0.1)
    assert robot != other
    q = [0.3, 0.4, 0.5]
    one, two = (make_request(x, "bias", {}, True, {}).identity for x in (robot, other))
    assert repr(one) != repr(two)
    for arm in (robot, other, robot):
        exact = definition.gravity_torque(arm, q)
        found = armlet.cheapest(arm, "gravity_torque").program.function(np)(q)
        assert deviation(found, exact) < 1e-12
        assert deviation(arm.gravity_torque(q), exact) < 1e-12


def test_minimal_parameters_fit_robots_of_the_same_pitches_only():
    robot = Robot.of(random_robot(0, 3, "RH"))
    other = with_pitch(robot, 0, 0.2, 0)
    found = armlet.minimal_parameters(robot)
    assert found.kind == "rank"
    assert found.fits(robot)
    assert not found.fits(other)
    with pytest.raises(armlet.ArmletError, match="in other frames"):
        other.regressor([0, 0, 0], [0, 0, 0], [0, 0, 0], parameters=found)


# ------------------------------------------------------------------ files and models

TEXT = """
name = "press"
gravity = [0, 0, -9.81]
angles = "degrees"

[[body]]
name = "arm"
joint = "hinge"
kind = "revolute"
axis = [0, 1, 0]
mass = 1
com = [0.1, 0, 0]
inertia = [0.005, 0, 0, 0.01, 0, 0.01]

[[body]]
name = "nut"
joint = "screw"
kind = "helical"
xyz = [0.3, 0, 0.1]
rpy = [10, 20, 30]
axis = [0, 0.6, 0.8]
point = [0.01, 0.02, 0]
pitch = 0.02
mass = 2
com = [0.1, 0.1, 0]
inertia = [0.01, 0, 0, 0.03, 0, 0.03]
limits = { lower = -360, upper = 720, velocity = 90, effort = 50 }

[[keyframe]]
name = "home"
q = { screw = 90 }
"""


@pytest.fixture
def press(tmp_path):
    (tmp_path / "press.toml").write_text(TEXT)
    return armlet.load(tmp_path / "press.toml")


def test_angles_of_a_helical_joint_are_in_the_unit_of_the_file_and_its_pitch_is_per_radian(press):
    assert press._joint_letters == "RH"
    assert press.joints[1].pitch == PITCH
    np.testing.assert_allclose([press.lower[1], press.upper[1]], [-2 * pi, 4 * pi])
    np.testing.assert_allclose(press.keyframes["home"], [0, pi / 2])
    ahead, here = (value(press, "forward_kinematics", [0, x], frame="nut") for x in (2 * pi, 0))
    axis = here[:3, :3] @ [0, 0.6, 0.8]
    np.testing.assert_allclose(ahead[:3, :3], here[:3, :3], atol=1e-14)
    np.testing.assert_allclose(ahead[:3, 3] - here[:3, 3], 2 * pi * PITCH * axis, atol=1e-14)


def test_a_robot_with_a_helical_joint_is_the_same_after_it_was_written_as_toml(press, tmp_path):
    press.to_toml(tmp_path / "again.toml")
    again = armlet.load(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text().count("pitch = ") == 1
    assert again.coordinates == press.coordinates
    np.testing.assert_allclose(again.phi, press.phi, atol=1e-14)
    np.testing.assert_allclose(again.dh, press.dh, atol=1e-14)


def test_a_robot_with_a_helical_joint_cannot_be_written_as_urdf(press, tmp_path):
    with pytest.raises(armlet.ModelError, match=r"^joint 'screw' is helical, which URDF cannot"):
        press.to_urdf(tmp_path / "arm.urdf")


def test_a_helical_joint_is_locked_where_it_would_be(press, tmp_path):
    for angle in (-0.4, 0.0, 9.0):
        for fixed in (
            press.lock({"screw": angle}),
            armlet.load(tmp_path / "press.toml", lock={"screw": angle}),
        ):
            assert fixed.joint_names == ("hinge",)
            expected = value(press, "forward_kinematics", [0.3, angle], frame="nut")
            found = value(fixed, "forward_kinematics", [0.3], frame="nut")
            np.testing.assert_allclose(found, expected, atol=1e-14)


def test_a_helical_joint_may_follow_another_joint(press, tmp_path):
    mimic = 'mimic = { joint = "hinge", factor = 3, offset = 10 }\n'
    (tmp_path / "press.toml").write_text(
        TEXT.replace("pitch =", f"{mimic}pitch =").split("[[key")[0]
    )
    robot, q = armlet.load(tmp_path / "press.toml"), [0.3]
    np.testing.assert_allclose(robot.joint_positions(q), [0.3, 0.9 + np.radians(10)])
    for quantity in ("inverse_dynamics", "inertia_matrix", "bias", "energy"):
        arguments = state(robot, quantity)
        exact = flat(getattr(definition, quantity)(robot, *arguments))
        assert deviation(flat(value(robot, quantity, *arguments)), exact) < 1e-12


@pytest.mark.parametrize("pitch", [0.1, -0.1, 0.0])
def test_a_helical_joint_of_pinocchio_is_read_with_its_limits_and_drive(pitch):
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelHY(pitch), pin.SE3.Identity(), "screw")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(2.0, 0.1), pin.SE3.Random())
    model.lowerPositionLimit[:], model.upperPositionLimit[:] = -1, 20
    model.armature[:] = 0.5
    robot = armlet.from_pinocchio(model)
    screw = robot.joints[0]
    assert (screw.kind, screw.pitch) == (("helical" if pitch else "revolute"), pitch)
    assert screw.limits[:2] == (-1, 20)
    assert robot.drives[0].rotor_inertia == 0.5


# ------------------------------------------------------------------ units and drawings


def test_positions_are_angles_and_torques_are_torques(press):
    program = armlet.trace(press, "inverse_dynamics")
    block = function_block(press, [Function(program, "torques", "")])
    units = {x.name: x.units for x in block.variables}
    assert units["q"] == ("rad", "rad")
    assert units["inverse_dynamics"] == ("N.m", "N.m")


def test_logs_of_helical_joints_have_angles(press):
    t = np.arange(200) / 100
    q = np.column_stack([np.sin(t), np.cos(t)])
    log = armlet.Log.read({"t": t, "q": np.degrees(q), "tau": 0 * q}, press, units={"q": "deg"})
    np.testing.assert_allclose(log.q, q, atol=1e-12)


def test_a_helical_joint_is_drawn_with_its_travel(press):
    ((start, end),) = rails(press, 0)
    assert np.linalg.norm(end - start) == pytest.approx(6 * pi * PITCH)
    still = replace(press, joints=(press.joints[0], press.joints[1]._replace(limits=Limits())))
    assert reach(press) - reach(still) == pytest.approx(4 * pi * PITCH)

"""Robots from the models of MuJoCo and Pinocchio compute what those packages do."""

import subprocess
import sys
import warnings
from dataclasses import fields

import numpy as np
import pytest
from support.mjcf import Writer
from support.peers import Mujoco, Pinocchio
from support.robots import random_urdf

import armlet
from armlet import ModelError
from armlet.dynamics import FORMULATIONS
from armlet.formats.urdf import urdf_text

mujoco = pytest.importorskip("mujoco")
pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-10


def value(robot, quantity, *state, formulation=None, **options):
    """A quantity by one formulation, evaluated without compiling it."""
    table = FORMULATIONS[quantity]
    function = table[formulation or next(iter(table))].function
    return np.asarray(function(robot, *state, **options), float)


def close(found, expected):
    size = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * size)


def states(robot, seed):
    return np.random.default_rng(seed).uniform(-1, 1, (3, robot.nv))


def agrees(robot, peer, seed, rotors=None):
    """Compare inertia matrix, inverse dynamics and gravity torques with another engine."""
    q, qd, qdd = states(robot, seed)
    close(value(robot, "inertia_matrix", q), peer.inertia_matrix(q))
    extra = 0 if rotors is None else rotors * qdd
    close(value(robot, "inverse_dynamics", q, qd, qdd), peer.inverse_dynamics(q, qd, qdd) + extra)
    close(value(robot, "gravity_torque", q), peer.gravity_torque(q))


# ---------------------------------------------------------------------------------- Pinocchio


@pytest.mark.parametrize("seed", range(40))
def test_random_trees_of_pinocchio_agree_with_it(seed):
    text = random_urdf(seed, 2 + seed % 7)
    model = pin.buildModelFromXML(text)
    rng = np.random.default_rng(seed)
    model.armature[:] = rng.uniform(0, 1, model.nv)
    model.gravity.linear[:] = rng.uniform(-9, 9, 3)
    robot = armlet.from_pinocchio(model)
    assert robot.joint_names == tuple(model.names)[1:]
    peer = Pinocchio(text, robot.joint_names, model.gravity.linear)
    peer.model.armature[:] = model.armature
    agrees(robot, peer, seed)
    q = states(robot, seed)[0]
    for frame in robot.frames:
        if model.existFrame(frame, pin.BODY):
            ours = value(robot, "forward_kinematics", q, formulation="rows", frame=frame)
            close(ours, peer.forward_kinematics(q, frame))


@pytest.mark.parametrize("name", armlet.catalogue())
def test_the_catalogue_is_the_same_through_pinocchio(name):
    robot = armlet.load(name)
    model = pin.buildModelFromXML(urdf_text(robot))
    model.gravity.linear[:] = np.asarray(robot.gravity, float)
    model.rotorInertia[:] = [float(drive.rotor_inertia) / 9 for drive in robot.drives]
    model.rotorGearRatio[:] = 3.0
    with warnings.catch_warnings():  # of an inertia that is as published
        warnings.simplefilter("ignore", armlet.ModelWarning)
        again = armlet.from_pinocchio(model)
    q, qd, qdd = states(robot, 1)
    torques = [value(x, "inverse_dynamics", q, qd, qdd) for x in (again, robot)]
    close(*torques)
    close(*[value(x, "friction_torque", qd) for x in (again, _without_offsets(robot))])
    limits = [x.limits for x in robot.joints if x.kind != "continuous"]
    assert [x.limits for x in again.joints if x.kind != "continuous"] == limits


def _without_offsets(robot):
    drives = [drive._replace(offset=0.0) for drive in robot.drives]
    given = {f.name: getattr(robot, f.name) for f in fields(robot) if f.init}
    return armlet.Robot(**given | {"drives": tuple(drives)})


@pytest.mark.parametrize(
    ("joint", "said"),
    [
        ("JointModelFreeFlyer", "joint 'odd' is floating, with six freedoms"),
        ("JointModelSphericalZYX", "joint 'odd' is spherical, with three freedoms"),
        ("JointModelPlanar", "joint 'odd' is planar, with three freedoms"),
        ("JointModelTranslation", "joint 'odd' is of kind 'JointModelTranslation': expected"),
    ],
)
def test_other_joints_of_pinocchio_are_refused_by_name(joint, said):
    model = pin.buildModelFromXML(random_urdf(1, 2))
    model.addJoint(model.njoints - 1, getattr(pin, joint)(), pin.SE3.Identity(), "odd")
    with pytest.raises(ModelError) as raised:
        armlet.from_pinocchio(model, name="arm")
    assert str(raised.value).startswith(f"arm: {said}")


@pytest.mark.parametrize(
    "name", ["velocityLimit", "effortLimit", "armature", "damping", "upperDryFrictionLimit"]
)
def test_limits_and_drives_of_spherical_joints_of_pinocchio_are_those_of_each_axis(name):
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "hip")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(2.0, 0.1), pin.SE3.Identity())
    getattr(model, name)[:] = 0.5
    model.lowerPositionLimit[:], model.upperPositionLimit[:] = -1.01, 1.01
    robot = armlet.from_pinocchio(model)
    limits, drive = robot.joints[0].limits, robot.drives[0]
    assert robot.drives == (drive,) * 3
    values = limits.velocity, limits.effort, drive.rotor_inertia, drive.viscous, drive.coulomb
    assert values.count(0.5) == 1
    getattr(model, name)[1] = 0.6
    with pytest.raises(ModelError, match=r"^joint 'hip' has limits or a drive that differ from"):
        armlet.from_pinocchio(model)


def test_position_limits_of_spherical_joints_of_pinocchio_are_refused():
    model = pin.Model()
    model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "hip")
    model.lowerPositionLimit[3] = 0.8
    with pytest.raises(ModelError, match="joint 'hip' is ball and has the position limits lower 0"):
        armlet.from_pinocchio(model)


def test_a_free_root_of_pinocchio_may_be_fixed():
    text = random_urdf(3, 4)
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    robot = armlet.from_pinocchio(model, lock={"root_joint": 0})
    fixed = armlet.from_pinocchio(pin.buildModelFromXML(text))
    q, qd, qdd = states(fixed, 3)
    close(*[value(x, "inverse_dynamics", q, qd, qdd) for x in (robot, fixed)])


# ---------------------------------------------------------------------------------- MuJoCo


@pytest.mark.parametrize("seed", range(40))
def test_random_models_of_mujoco_agree_with_it(seed):
    text = Writer(seed).text()
    model = mujoco.MjModel.from_xml_string(text)
    robot = armlet.from_mujoco(model, mimic="lock")
    peer = Mujoco(text, robot.joint_names, robot.gravity)
    if robot.nv != model.nv:
        pytest.skip("joints that follow others are locked")
    H = peer.inertia_matrix(q := states(robot, seed)[0])
    rotors = np.array([float(drive.rotor_inertia) for drive in robot.drives])
    close(value(robot, "inertia_matrix", q), H)
    close(value(robot, "gravity_torque", q), peer.gravity_torque(q))
    agrees(robot.without_drives(), _without_rotors(peer, rotors), seed)


def _without_rotors(peer, rotors):
    """MuJoCo's inertia matrix has armature; its recursive Newton-Euler has not."""
    whole = peer.inertia_matrix
    peer.inertia_matrix = lambda q: whole(q) - np.diag(rotors)
    return peer


@pytest.mark.parametrize("seed", range(20))
def test_a_model_of_mujoco_is_the_robot_of_its_file(tmp_path, seed):
    text = Writer(seed).text()
    path = tmp_path / "arm.xml"
    path.write_text(text, encoding="utf-8")
    robot = armlet.load(path, mimic="lock")
    again = armlet.from_mujoco(mujoco.MjModel.from_xml_string(text), mimic="lock")
    q, qd, qdd = states(robot, seed)
    assert robot.joint_names == again.joint_names
    close(*[value(x, "inverse_dynamics", q, qd, qdd) for x in (again, robot)])
    close(*[value(x, "passive_torque", q, qd) for x in (again, robot)])


@pytest.mark.parametrize("name", armlet.catalogue())
def test_the_catalogue_is_the_same_through_mujoco(name):
    robot = armlet.load(name).without_drives()
    text = urdf_text(robot)
    compiler = '<mujoco><compiler fusestatic="false" discardvisual="true" balanceinertia="false"/>'
    text = text.replace("<link name=", f"{compiler}</mujoco><link name=", 1)
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError as refusal:
        pytest.skip(str(refusal)[:80])
    again = armlet.from_mujoco(model, gravity=robot.gravity)
    q, qd, qdd = states(robot, 2)
    close(*[value(x, "inverse_dynamics", q, qd, qdd) for x in (again, robot)])


BODY = '<body name="b">{}<geom size="0.1"/></body>'
HINGE = '<joint name="h"/>'


@pytest.mark.parametrize(
    ("inside", "rest", "said"),
    [
        ('<freejoint name="f"/>', "", "arm: joint 'f' is floating, with six freedoms"),
        ('<joint name="f" type="ball"/>', "", "arm: joint 'f' is ball, with three freedoms"),
        (
            '<joint name="h" stiffness="3 1"/>',
            "",
            "arm: joint 'h' has a spring that is not linear (jnt_stiffnesspoly",
        ),
        (HINGE, '<option density="1.2"/>', "arm: density 1.2, a fluid around the robot"),
        (
            HINGE,
            '<equality><weld name="w" body1="b"/></equality>',
            "arm: equality 'w' closes a loop: expected a tree",
        ),
    ],
)
def test_what_is_not_read_of_mujoco_is_refused_by_name(inside, rest, said):
    text = f"<mujoco>{rest}<worldbody>{BODY.format(inside)}</worldbody></mujoco>"
    with pytest.raises(ModelError) as raised:
        armlet.from_mujoco(mujoco.MjModel.from_xml_string(text), name="arm")
    assert str(raised.value).startswith(said)


def test_a_free_body_of_mujoco_may_be_fixed():
    inner = '<freejoint name="f"/><body><joint name="h"/><geom size="0.1" pos="1 0 0"/></body>'
    text = f"<mujoco><worldbody>{BODY.format(inner)}</worldbody></mujoco>"
    robot = armlet.from_mujoco(mujoco.MjModel.from_xml_string(text), lock={"f": 0})
    assert robot.joint_names == ("h",)


def test_control_laws_of_mujoco_are_noted():
    arm = f"<worldbody>{BODY.format(HINGE)}</worldbody>"
    text = f'<mujoco>{arm}<actuator><position joint="h"/></actuator></mujoco>'
    (note,) = armlet.from_mujoco(mujoco.MjModel.from_xml_string(text)).notes
    assert note.startswith("of 1 actuators on joints with a control law, torque limits, armature")


def test_gravity_that_is_off_is_none():
    text = (
        f'<mujoco><option><flag gravity="disable"/></option><worldbody>{BODY}</worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(text.format(HINGE))
    assert not np.any(armlet.from_mujoco(model).gravity)


# ---------------------------------------------------------------------------------- either


@pytest.mark.parametrize("function", [armlet.from_mujoco, armlet.from_pinocchio])
def test_what_is_no_model_is_refused(function):
    with pytest.raises(ModelError, match=r"was given 3: expected a \w+\.(Mj)?Model"):
        function(3)


def test_the_options_of_load_are_taken():
    model = pin.buildModelFromXML(random_urdf(2, 3))
    names = tuple(model.names)[1:]
    robot = armlet.from_pinocchio(model, lock={names[-1]: 0.1}, gravity=(0, 0, 1), name="arm")
    assert robot.joint_names == names[:-1]
    assert robot.name == "arm"
    close(np.asarray(robot.gravity, float), np.array([0, 0, 1]))


def test_armlet_imports_neither_package():
    code = "import armlet, sys; assert not {'mujoco', 'pinocchio', 'xacro'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_joint_of_one_part_is_where_its_model_puts_it():
    model, at = pin.Model(), pin.SE3(pin.exp3(np.array([0.3, 0, 0])), np.array([0.1, 0.2, 0.3]))
    composite = pin.JointModelComposite(pin.JointModelRZ(), at)
    joint = model.addJoint(0, composite, pin.SE3.Random(), "joint")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(2.0, 0.1), pin.SE3.Random())
    robot, state = armlet.from_pinocchio(model), np.array([[0.4], [0.5], [-0.6]])
    expected = pin.rnea(model, model.createData(), *state)
    np.testing.assert_allclose(robot.inverse_dynamics(*state), expected, atol=1e-12)

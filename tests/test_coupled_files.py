"""Coupled joints in files, in robots made from others, in simulations, controllers and C."""

import copy
import pickle
import re
import subprocess
from itertools import pairwise

import mujoco
import numpy as np
import pytest
from support.commands import run as armlet_run
from support.compilers import needs
from support.coupled import GRIPPER, by_hand, compare_with_pinocchio, loaded
from support.peers import Mujoco
from support.robots import WRITERS, coupled_urdf, deviation, states, value
from support.stored import ROBOTS, stored

import armlet
from armlet.description import Connection, Tie
from armlet.description.coupling import resolve_ties
from armlet.robot import Coupling, Limits
from armlet.simulation.forces import Friction, friction_damping, friction_torque

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*no range to move in:armlet.ModelWarning"),
    pytest.mark.filterwarnings("ignore:.*triangle inequality:armlet.ModelWarning"),
    pytest.mark.filterwarnings("ignore:.*from a quarter turn:armlet.ModelWarning"),
]


@pytest.fixture
def gripper(tmp_path):
    return loaded(tmp_path, GRIPPER)


@pytest.fixture
def tied(tmp_path):
    text, mimics = coupled_urdf(4, 8, drives=True)
    return loaded(tmp_path, text).with_tool("tool"), mimics


# ------------------------------------------------------------------ what a robot holds


def test_q_holds_the_joints_that_lead(gripper):
    assert gripper.joint_names == ("open",)
    assert [joint.name for joint in gripper.joints] == ["follow", "open"]
    assert (gripper.nq, gripper.nv, gripper.nb) == (1, 1, 2)
    assert gripper.couplings == (Coupling(1, 1, 0), Coupling(1, 1, 0))
    assert "2 joints PP moved by 1 coordinate," in repr(gripper)
    assert gripper.joint_positions([[0.01], [0.02]]).tolist() == [[0.01, 0.01], [0.02, 0.02]]
    assert gripper.uncoupled.joint_names == ("follow", "open")
    assert gripper.uncoupled.uncoupled is gripper.uncoupled


def test_a_coordinate_keeps_within_the_limits_of_all_its_joints(gripper, tmp_path):
    assert gripper.coordinates[0].limits == Limits(0.0, 0.03, 0.2, 20.0)
    faster = GRIPPER.replace(
        '<mimic joint="open"/>', '<mimic joint="open" multiplier="-2" offset="0.04"/>'
    )
    found = loaded(tmp_path, faster).coordinates[0].limits
    np.testing.assert_allclose(found, (0.005, 0.02, 0.1, 20.0))


def test_limits_that_no_motion_meets_are_left_out_with_a_warning(tmp_path):
    contrary = GRIPPER.replace('<mimic joint="open"/>', '<mimic joint="open" offset="1"/>')
    with pytest.warns(armlet.ModelWarning, match="limits of 'follow' leave joint 'open'"):
        robot = loaded(tmp_path, contrary)
    assert robot.coordinates[0].limits[:2] == (-0.01, 0.04)


def test_coupled_robots_are_data(tied):
    robot, _ = tied
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot), robot.with_tool("tool")):
        assert other == robot
        assert hash(other) == hash(robot)
    assert robot != robot.uncoupled
    assert robot.with_inertia(2 * robot.phi).couplings == robot.couplings
    assert robot.without_drives().nv == robot.nv


def test_programs_of_robots_that_differ_in_a_coupling_are_not_mixed_up(tmp_path):
    slow, fast = (
        loaded(
            tmp_path,
            GRIPPER.replace('<mimic joint="open"/>', f'<mimic joint="open" multiplier="{x}"/>'),
        )
        for x in (1, 3)
    )
    assert slow.inertia_matrix([0.01]).item() == pytest.approx(0.3)
    assert fast.inertia_matrix([0.01]).item() == pytest.approx(0.1 + 9 * 0.2)


# ------------------------------------------------------------------ robots made from others


@pytest.mark.parametrize("ending", WRITERS)
def test_couplings_survive_a_file(tied, tmp_path, ending):
    robot, _ = tied
    WRITERS[ending](robot, tmp_path / f"again.{ending}")
    again = armlet.load(tmp_path / f"again.{ending}").with_tool("tool")
    assert again.joint_names == robot.joint_names
    np.testing.assert_allclose(np.array(again.couplings, float), np.array(robot.couplings, float))
    q, qd, qdd = states(robot)
    before, after = (value(x, "inverse_dynamics", q, qd, qdd) for x in (robot, again))
    assert deviation(after, before) < 1e-9


def test_a_locked_joint_holds_those_that_are_coupled_with_it(tied):
    robot, mimics = tied
    name = next(iter(mimics))
    at = robot.joint_positions(np.full(robot.nq, 0.3))
    i = [joint.name for joint in robot.joints].index(name)
    leader = robot.joints[robot.couplings[i].leader].name
    by_follower, by_leader = robot.lock({name: at[i]}), robot.lock({leader: 0.3})
    assert leader not in by_follower.joint_names
    assert by_follower.joint_names == by_leader.joint_names
    q = np.full(by_leader.nq, 0.3)
    expected = value(robot, "gravity_torque", np.full(robot.nq, 0.3))
    rest = [robot.joint_names.index(name) for name in by_leader.joint_names]
    for found in (by_follower, by_leader):
        assert deviation(value(found, "gravity_torque", q), expected[rest]) < 1e-9


def test_a_part_of_a_coupled_robot_moves_as_it_did(tmp_path):
    """Also where the joint that leads is not a part of it."""
    text = "\n".join(
        f'<link name="l{k}"><inertial><mass value="1"/><origin xyz="0.1 0.2 0"/><inertia ixx="1" '
        f'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{k}" '
        f'type="continuous"><parent link="{parent}"/><child link="l{k}"/><origin xyz="0 0.3 0"/>'
        f'<axis xyz="1 0 0"/>{mimic}</joint>'
        for k, (parent, mimic) in enumerate(
            [
                ("base", ""),
                ("base", '<mimic joint="j0" multiplier="2" offset="0.1"/>'),
                ("l1", '<mimic joint="j0" multiplier="-1"/>'),
            ]
        )
    )
    robot = loaded(tmp_path, f'<robot name="r"><link name="base"/>{text}</robot>')
    part = robot.subchain("l2")
    assert part.joint_names == ("j1",)
    q = 0.4
    np.testing.assert_allclose(part.joint_positions([2 * q + 0.1]), robot.joint_positions([q])[1:])
    there = value(part, "forward_kinematics", [2 * q + 0.1], frame="l2")
    assert deviation(there, value(robot, "forward_kinematics", [q], frame="l2")) < 1e-12


# ------------------------------------------------------------------ files


def test_a_fixed_joint_that_mimics_another_is_fixed(tmp_path):
    fixed = GRIPPER.replace('"follow" type="prismatic"', '"follow" type="fixed"')
    robot = loaded(tmp_path, fixed)
    assert robot.joint_names == ("open",)
    assert robot.couplings == ()


def test_a_joint_that_mimics_a_fixed_one_is_locked_at_its_offset(tmp_path):
    held = GRIPPER.replace('"open" type="prismatic"', '"open" type="fixed"').replace(
        '<mimic joint="open"/>', '<mimic joint="open" multiplier="2" offset="0.02"/>'
    )
    robot = loaded(tmp_path, held)
    assert robot.nq == 0
    assert robot.frames["right"].pose.r.astype(float).tolist() == [0, -0.02, 0]
    still = GRIPPER.replace(
        '<mimic joint="open"/>', '<mimic joint="open" multiplier="0" offset="0.02"/>'
    )
    assert loaded(tmp_path, still).joint_names == ("open",)
    assert loaded(tmp_path, still).couplings == ()


def test_a_mimic_of_no_joint_is_free_with_a_warning(tmp_path):
    lost = GRIPPER.replace('<mimic joint="open"/>', '<mimic joint="close"/>')
    with pytest.warns(armlet.ModelWarning, match="'follow' mimics joint 'close': no joint is"):
        assert loaded(tmp_path, lost).joint_names == ("follow", "open")
    with pytest.raises(armlet.ModelError, match="no joint is called 'close': expected one of"):
        loaded(tmp_path, lost, strict=True)


def test_a_chain_of_fifty_thousand_mimics_is_read_in_linear_time(tmp_path):
    names = [f"j{k}" for k in range(50_000)]
    ties = [Tie(b, a, (0.0, 1.0), "", "file") for a, b in pairwise(names)]
    joints = [Connection(name, "revolute", "a", "b") for name in names]
    for each in (ties, ties[::-1]):
        _, found = resolve_ties(each, joints, {})
        assert len(found) == 49_999
        assert {x.leader for x in found.values()} == {"j0"}


TIED = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="a"><joint name="a" axis="0 1 0" ref="0.2"/>{box}
    <body name="b" pos="0 0 0.3"><joint name="b" axis="1 0 0" ref="-0.1"/>{box}
      <body name="c" pos="0.2 0 0"><joint name="c" type="slide" axis="0 1 1" ref="0.3"/>{box}
        <body name="d" pos="0.2 0 0"><joint name="d" axis="0 1 1"/>{box}</body>
      </body></body></body></worldbody>
  <equality>{ties}</equality></mujoco>"""
BOX = '<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0" mass="2"/>'


@pytest.mark.parametrize(
    ("ties", "leading"),
    {
        '<joint joint1="b" joint2="a" polycoef="0.3 -2"/>': "acd",
        '<joint joint1="b" joint2="a"/><joint joint1="b" joint2="d" polycoef="0.1 0.5"/>': "ac",
        '<joint joint1="a" joint2="c" polycoef="0 4 0"/><joint joint1="d" polycoef=".4"/>': "bc",
        '<joint joint1="a" joint2="b" active="false"/>': "abcd",
    }.items(),
)
def test_equalities_of_joints_are_met_as_mujoco_means_them(tmp_path, ties, leading):
    text = TIED.format(box=BOX, ties=ties)
    robot = loaded(tmp_path, text)
    assert "".join(robot.joint_names) == leading
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for q, qd, qdd in zip(*states(robot), strict=True):
        free = armlet.load(tmp_path / "robot.xml", mimic="free")
        full = dict(
            zip((joint.name for joint in robot.joints), robot.joint_positions(q), strict=True)
        )
        data.qpos[:] = [full.get(name, 0.4) for name in free.joint_names]
        mujoco.mj_forward(model, data)
        assert np.abs(data.efc_pos[: data.ne]).max(initial=0) < 1e-12
        H = np.zeros((4, 4))
        mujoco.mj_fullM(model, data, H)
        K = np.zeros((4, robot.nv))
        rows = [free.joint_names.index(joint.name) for joint in robot.joints]
        K[rows] = robot._joint_velocities(np.eye(robot.nv)).T
        assert deviation(value(robot, "inertia_matrix", q), K.T @ H @ K) < 1e-10
        for name, rate in (("qvel", qd), ("qacc", qdd)):
            getattr(data, name)[:] = K @ rate
        mujoco.mj_comVel(model, data)
        tau = np.zeros(4)
        mujoco.mj_rne(model, data, 1, tau)
        assert deviation(value(robot, "inverse_dynamics", q, qd, qdd), K.T @ tau) < 1e-10


# ------------------------------------------------------------------ what is built on robots


def test_friction_and_stops_of_a_simulation_are_those_of_all_joints(tied):
    """Kᵀ f(K q̇) with the friction f of the joints, and stops at the limits of the coordinates."""
    robot, _ = tied
    model, K = Friction(), robot._joint_velocities(np.eye(robot.nv)).T
    qd = np.random.default_rng(0).uniform(-0.02, 0.02, robot.nv)

    def both(qd):
        return friction_torque(model, robot, qd), friction_damping(model, robot, qd, qd, 0.5)

    found, slope = armlet.function(robot, qd=robot.nv)(both)(qd)
    each = np.array(
        [
            x.viscous * v + x.coulomb * np.tanh(v / 1e-2) + x.offset
            for x, v in zip(robot.drives, K @ qd, strict=True)
        ]
    )
    assert deviation(found, K.T @ each) < 1e-9
    steps = 1e-7 * np.eye(robot.nv)
    ends = [armlet.function(robot, qd=robot.nv)(both)(qd + sign * steps)[0] for sign in (1, -1)]
    assert deviation(slope, np.diag(ends[0] - ends[1]) / 2e-7) < 1e-5


def test_a_simulated_gripper_moves_all_its_fingers_and_keeps_its_energy(tmp_path):
    text, _ = coupled_urdf(4, 5)
    robot = loaded(tmp_path, text)
    q0 = np.full(robot.nq, 0.3)
    plant = armlet.Plant(robot, friction=False)
    run = armlet.simulate(plant, q0, duration=0.3, dt=1e-3, method="rk4")
    assert run.joints == robot.joint_names
    energy = run.kinetic + run.potential
    assert np.ptp(energy) < 1e-6 * np.ptp(run.potential)
    steps = armlet.rollout(plant, q0[None], dt=1e-3, steps=300, method="rk4")
    assert deviation(steps.q[-1, 0], run.q[-1]) < 1e-6


def test_a_controller_of_a_coupled_robot_holds_its_posture(gripper):
    hold = armlet.controllers.pd_with_gravity(gripper, stiffness=100.0, damping=10.0)
    run = armlet.simulate(
        gripper,
        [0.0],
        duration=2.0,
        dt=1e-3,
        method="rk4",
        torque=hold,
        arguments={"target": [0.02]},
    )
    assert run.q[-1] == pytest.approx([0.02], abs=1e-4)


@pytest.mark.filterwarnings("ignore::armlet.DataWarning")
def test_parameters_of_a_coupled_robot_are_identified(tied):
    robot, _ = tied
    rng = np.random.default_rng(0)
    t = np.arange(0, 8, 1e-3)
    parts = [(w, w * t[:, None]) for w in rng.uniform(2, 6, (3, robot.nv))]
    q = 0.3 * sum(np.sin(x) for _, x in parts)
    qd = 0.3 * sum(w * np.cos(x) for w, x in parts)
    qdd = -0.3 * sum(w**2 * np.sin(x) for w, x in parts)
    tau = robot.inverse_dynamics(q, qd, qdd) + robot.friction_torque(qd)
    log = armlet.Log.read({"t": t, "q": q, "qd": qd, "tau": tau}, robot)
    assert log.joints == robot.joint_names
    for friction in (True, ["viscous", "coulomb", "offset"]):
        model = armlet.TorqueModel(rotors=True, friction=friction)
        found = armlet.identify(robot, log, model=model, physical=False)
        assert found.fits["least squares"].whole < 1
        state = states(robot, 5)
        other = found.robot.inverse_dynamics(*state) + found.robot.friction_torque(state[1])
        expected = robot.inverse_dynamics(*state) + robot.friction_torque(state[1])
        assert deviation(other, expected) < 0.02


@needs("gcc")
def test_generated_c_of_coupled_joints_meets_its_reference_values(tmp_path):
    (tmp_path / "arm.urdf").write_text(coupled_urdf(4, 4, drives=True)[0])
    wanted = ("-f", "inverse_dynamics", "-f", "friction_torque", "-f", "forward_dynamics")
    made = armlet_run("generate", tmp_path / "arm.urdf", *wanted, "--out", tmp_path / "c")
    assert made.returncode == 0, made.stderr
    sources = sorted((tmp_path / "c").glob("*.c"))
    subprocess.run(["gcc", *sources, "-o", tmp_path / "test", "-lm"], check=True)
    output = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=True).stdout
    assert output.count("passed") == 3


# ------------------------------------------------------------------ the Panda with its hand


@stored
@pytest.mark.parametrize("name", ["fer", "fr3"])
def test_the_panda_with_its_hand_agrees_with_pinocchio(name):
    path = ROBOTS / "franka_description" / f"{name}.urdf"
    robot = armlet.load(path)
    assert (robot.nv, robot.nb) == (8, 9)
    compare_with_pinocchio(robot, path.read_text(), f"{name}_hand_tcp")


@stored
def test_the_panda_with_its_hand_agrees_with_mujoco_by_projection():
    path = ROBOTS / "mujoco_menagerie" / "franka_emika_panda" / "panda.xml"
    with pytest.warns(armlet.ModelWarning, match="1 on a tendon"):
        robot = armlet.load(path)
    text = re.sub(r"<asset>.*?</asset>|<geom[^>]*/>", "", path.read_text(), flags=re.DOTALL)
    free = Mujoco(text, [joint.name for joint in robot.joints], robot.gravity)
    K, b = by_hand(robot, {"finger_joint1": ("finger_joint2", 1.0, 0.0)})
    q, qd, qdd = states(robot)
    H = value(robot, "inertia_matrix", q)  # with the armature, which mj_rne leaves out
    tau = value(robot.without_drives(), "inverse_dynamics", q, qd, qdd)
    for k in range(len(q)):
        full = K @ q[k] + b, K @ qd[k], K @ qdd[k]
        assert deviation(tau[k], K.T @ free.inverse_dynamics(*full)) < 1e-10
        assert deviation(H[k], K.T @ free.inertia_matrix(full[0]) @ K) < 1e-10


@stored
@pytest.mark.parametrize(
    "file", ["franka_description/fer.urdf", "mujoco_menagerie/franka_emika_panda/panda.xml"]
)
@pytest.mark.filterwarnings("ignore:.*actuators, 1 on a tendon:armlet.ModelWarning")
def test_the_panda_with_its_hand_works_from_its_file_to_c(tmp_path, file):
    robot = armlet.load(ROBOTS / file)
    q = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.5, 0.7, 0.02])
    qd, qdd = np.zeros(8), np.ones(8)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert deviation(robot.forward_dynamics(q, qd, tau), qdd) < 1e-9
    run = armlet.simulate(robot, q, duration=0.05, dt=1e-3)
    assert run.q.shape[1] == 8
    output = armlet_run("info", ROBOTS / file)
    assert "moved by" in output.stdout
    made = armlet_run("generate", ROBOTS / file, "-f", "inverse_dynamics", "--out", tmp_path / "c")
    assert made.returncode == 0, made.stderr
    assert "moved by" in (tmp_path / "c" / "README.md").read_text()

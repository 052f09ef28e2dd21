"""Passive forces: springs, damping, friction, gravity compensation, against MuJoCo."""

import re
import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from support.datasets import ROBOTS
from support.mjcf import BOX, TIP, TURN, Writer, model
from support.robots import random_robot, states, value

import armlet
from armlet.dynamics import definition
from armlet.robot import Compensation, Spring

TOLERANCE = 1e-9
PENDULUM = (
    '<body name="rod"><joint name="hinge" axis="0 1 0" {}/>'
    '<inertial pos="0 0 -1" mass="2" diaginertia=".1 .1 .1"/></body>'
)
MENAGERIE = {
    "agilex_piper/piper.xml": ["joint7", "joint8"],
    "arx_l5/arx_l5.xml": ["joint7", "joint8"],
    "i2rt_yam/yam.xml": ["left_finger", "right_finger"],
    "trossen_wxai/trossen_ai_bimanual.xml": [],
}
"""Arms with springs or gravity compensation, each with the joints that mimic each other."""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load an MJCF text."""
    monkeypatch.chdir(tmp_path)  # where MuJoCo writes its warnings

    def from_text(text, **options):
        path = tmp_path / "arm.xml"
        path.write_text(text)
        return armlet.load(path, **options)

    return from_text


def peer(text, robot):
    """MuJoCo's model of a text, without constraints, and where it has the joints of a robot."""
    m = mujoco.MjModel.from_xml_string(text)
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    joints = [m.joint(k).name or f"joint{k + 1}" for k in range(m.njnt)]
    return m, mujoco.MjData(m), [joints.index(name) for name in robot.joint_names]


def assert_agrees(robot, text, seed=0):
    """The passive torque is against MuJoCo's passive force, and motors give what MuJoCo's would."""
    m, d, index = peer(text, robot)
    d.qpos[index], d.qvel[index], d.qacc[index] = q, qd, qdd = np.random.default_rng(seed).normal(
        size=(3, robot.nv)
    )
    mujoco.mj_inverse(m, d)
    found = value(robot, "passive_torque", q, qd)
    coulomb = np.array([drive.coulomb for drive in robot.drives]) * np.sign(qd)
    motors = value(robot, "inverse_dynamics", q, qd, qdd) + found - coulomb
    for ours, theirs in (
        (found - coulomb, -d.qfrc_passive[index]),
        (motors, d.qfrc_inverse[index]),
    ):
        assert np.linalg.norm(ours - theirs) <= TOLERANCE * max(np.linalg.norm(theirs), 1)


# ------------------------------------------------------------------ files


def with_passive_forces(text, seed):
    """A random model with springs, dampers and friction at joints, and lighter bodies."""
    rng = np.random.default_rng(seed)

    def joint(_):
        a = rng.normal(size=4).tolist()
        spring = f'stiffness="{abs(a[0])!r}" springref="{a[1]!r}"' if rng.random() < 0.7 else ""
        friction = f'damping="{abs(a[2])!r}" frictionloss="{abs(a[3])!r}"'
        return f"<joint {spring} {friction if rng.random() < 0.7 else ''} name="

    def body(_):
        share = float(rng.uniform(0, 2))
        return f'<body gravcomp="{share!r}" name=' if rng.random() < 0.7 else "<body name="

    return re.sub("<body name=", body, re.sub("<joint name=", joint, text))


@pytest.mark.parametrize("seed", range(40))
def test_random_models_have_the_passive_forces_of_mujoco(load, seed):
    text = with_passive_forces(Writer(seed).text(), seed)
    robot = load(text)
    assert_agrees(robot, text, seed)


SPRING = 'name="j" stiffness="3" springref="20" damping=".5" frictionloss="2"'
SPRUNG = f'<body gravcomp=".5"><joint axis="3 2 1" {SPRING}/>{BOX}</body>'
RULES = {
    "springref is an angle in degrees": model(SPRUNG),
    "springref is an angle in radians": model(SPRUNG, '<compiler angle="radian"/>'),
    "springref of a slide is a length": model(SPRUNG.replace("<joint ", '<joint type="slide" ')),
    "ref does not shift springref": model(SPRUNG.replace("<joint ", '<joint ref="30" ')),
    "classes have springs": model(
        f'<body childclass="a"><joint axis="3 2 1" stiffness="2"/>{BOX}</body>',
        '<default><default class="a"><joint springref="9" damping="1"/></default></default>',
    ),
    "merged bodies are compensated by different shares": model(
        f'<body gravcomp=".3">{TURN}{BOX}<body pos="1 2 3" euler="10 20 30" gravcomp="1.2">{BOX}'
        f'<body pos="0 0 1">{BOX}</body>{TIP}</body></body>'
    ),
    "bodies on the base need no compensation": model(
        f'<body gravcomp="1">{BOX}<body>{TURN}{BOX}</body></body>'
    ),
    "settotalmass scales what is compensated": model(SPRUNG, '<compiler settotalmass="9"/>'),
    "gravity may be off": model(SPRUNG, '<option><flag gravity="disable"/></option>'),
    "springs may be off": model(SPRUNG, '<option><flag spring="disable"/></option>'),
    "dampers may be off": model(
        SPRUNG,
        '<option><flag damper="disable"/></option><actuator><motor joint="j" damping="1"/>'
        "</actuator>",
    ),
    "springs and dampers off are all": model(
        SPRUNG, '<option density="3"><flag spring="disable" damper="disable"/></option>'
    ),
    "actuators damp through their gears": model(
        SPRUNG, '<actuator><motor joint="j" gear="3" damping=".2"/></actuator>'
    ),
    "compensation by all actuators is in their torques": model(
        f'<body gravcomp=".5"><joint actuatorgravcomp="true"/>{BOX}'
        f'<body gravcomp="1" pos="1 0 0"><joint axis="0 1 0" actuatorgravcomp="true"/>{BOX}</body>'
        "</body>",
        '<option gravity="1 2 3"/>',
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_this_holds_as_in_mujoco(load, rule):
    if "actuators is in" in rule:  # which MuJoCo's inverse dynamics does not add
        robot = load(RULES[rule])
        assert not robot._has_compensation
        m, d, _ = peer(RULES[rule], robot)
        mujoco.mj_forward(m, d)
        assert np.any(d.qfrc_gravcomp)
        assert not np.any(d.qfrc_passive)
    else:
        assert_agrees(load(RULES[rule]), RULES[rule])


def test_frictionloss_is_coulomb_friction(load):
    """MuJoCo makes it a constraint, which does not enter its passive forces."""
    robot = load(model(PENDULUM.format('frictionloss="3"')))
    assert robot.passive_torque([0.2], [0.5]) == 3
    assert robot.passive_torque([0.2], [-0.5]) == -3


def test_without_springs_and_dampers_there_are_no_passive_forces(load):
    robot = load(model(SPRUNG, '<option><flag spring="disable" damper="disable"/></option>'))
    assert robot.springs == (Spring(),)
    assert not robot._has_compensation
    assert robot.drives[0] == (0, 0, 2, 0)


def test_a_spring_by_its_time_constant_is_the_one_that_mujoco_makes_of_it(load):
    text = model(PENDULUM.format('springdamper="0.5 0.9"'))
    robot, m = load(text), mujoco.MjModel.from_xml_string(text)
    assert robot.springs[0].stiffness == m.jnt_stiffness[0] > 0
    assert robot.drives[0].viscous == m.dof_damping[0] > 0


NOT_MODELLED = {
    "fluid": (model(SPRUNG, '<option density="1.2" viscosity="1e-5" wind="1 0 0"/>'), "density"),
    "tendon": (
        model(
            SPRUNG,
            '<tendon><fixed name="t" damping="2"><joint joint="j" coef="1"/></fixed></tendon>',
        ),
        "along it",
    ),
    "cubic": (model(SPRUNG.replace('"3"', '"3 0 1"')), "not linear"),
    "yield": (model(SPRUNG.replace("stiffness", 'springyield="1" stiffness')), "yields"),
    "actuators of some": (
        model(
            f'<body>{TURN}{BOX}<body gravcomp="1"><joint name="k" actuatorgravcomp="true"/>{BOX}'
            "</body></body>"
        ),
        "by the actuators of some joints only",
    ),
}


@pytest.mark.parametrize("name", NOT_MODELLED)
def test_what_is_not_modelled_is_refused_or_left_out(load, name):
    text, statement = NOT_MODELLED[name]
    with pytest.raises(armlet.ModelError, match=statement) as raised:
        load(text)
    assert 'passive="ignore" (on the command line --passive ignore)' in str(raised.value)
    with pytest.warns(armlet.ModelWarning, match="left out as passive='ignore' says"):
        robot = load(text, passive="ignore")
    without = re.sub("<tendon.*tendon>|<option.*?/>", "", text)
    assert robot == load(re.sub(r' (gravcomp|stiffness|spring\w*)="[^"]*"', "", without))


def test_all_that_is_not_modelled_is_said_at_once(load):
    tendon = (
        '<tendon><fixed name="cable" stiffness="2"><joint joint="j" coef="1"/></fixed></tendon>'
    )
    text = model(SPRUNG, f'<option density="2"/>{tendon}')
    with pytest.raises(armlet.ModelError) as raised:
        load(text)
    assert "density 2, a fluid around the robot" in str(raised.value)
    assert "tendon 'cable' has a force along it (tendon_stiffness 2.0)" in str(raised.value)
    with pytest.warns(armlet.ModelWarning) as warned:
        load(text, passive="ignore")
    (warning,) = warned
    assert str(warning.message) == (
        "arm.xml: left out as passive='ignore' says: springs of joints 'j'; gravity compensation "
        "of links 'body1'; forces of a fluid: density; forces along tendon 'cable'"
    )
    assert warning.filename == __file__


def test_nothing_is_said_where_nothing_is_left_out(load):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = load(model(PENDULUM.format('damping="2" frictionloss="3"')), passive="ignore")
    assert robot.drives[0] == (0, 2, 3, 0)


def test_another_choice_of_passive_forces_is_refused(load):
    with pytest.raises(armlet.ModelError, match="passive is 'off': expected 'read' or 'ignore'"):
        load(model(SPRUNG), passive="off")


@pytest.mark.parametrize("seed", range(5))
def test_toml_keeps_springs_and_compensation(load, tmp_path, seed):
    robot = load(with_passive_forces(Writer(seed).text(), seed))
    robot.to_toml(tmp_path / "arm.toml")
    again = armlet.load(tmp_path / "arm.toml")
    assert again.springs == robot.springs
    q, qd, _ = states(robot)
    expected = value(robot, "passive_torque", q, qd)
    np.testing.assert_allclose(value(again, "passive_torque", q, qd), expected, atol=1e-9)


def test_toml_has_references_in_its_unit_of_angle(tmp_path):
    (tmp_path / "arm.toml").write_text(
        'gravity = [0, 0, -10]\nangles = "degrees"\n[[body]]\nname = "rod"\njoint = "hinge"\n'
        "axis = [0, 1, 0]\nmass = 2\ncom = [1, 0, 0]\nspring = { stiffness = 5, reference = 90 }\n"
        "inertia = [0.1, 0, 0, 0.1, 0, 0.1]\n"
        "gravity_compensation = { mass = 1.0, moment = [1.0, 0, 0] }\n"
    )
    robot = armlet.load(tmp_path / "arm.toml")
    assert robot.springs == (Spring(5.0, np.pi / 2),)
    np.testing.assert_allclose(robot.passive_torque([0], [0]), [-5 * np.pi / 2 + 10])
    np.testing.assert_allclose(robot.gravity_torque([0]), [-20])


def test_urdf_cannot_hold_springs_and_says_so(load, tmp_path):
    robot = load(model(SPRUNG))
    with pytest.warns(armlet.ModelWarning) as warned:
        robot.to_urdf(tmp_path / "arm.urdf")
    (warning,) = warned
    assert str(warning.message) == (
        "URDF cannot hold the springs of joints 'j' and the gravity compensation of robot 'arm', "
        "which are left out: write TOML, to_toml, to keep them"
    )
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replace(robot, springs=(), compensation=()).to_urdf(tmp_path / "arm.urdf")


def test_a_locked_joint_leaves_the_compensation_of_its_link(load):
    tip = TIP.replace("<body", '<body gravcomp="2"')
    text = model(f'<body gravcomp=".5">{TURN}{BOX}{tip}</body>')
    robot, locked = load(text), load(text).lock({"tip": 0.3})
    both = robot.passive_torque([0.2, 0.3], [0, 0])
    np.testing.assert_allclose(locked.passive_torque([0.2], [0]), both[:1])


@pytest.mark.skipif(ROBOTS is None, reason="robot files are not beside the checkout")
@pytest.mark.parametrize(("file", "fingers"), MENAGERIE.items())
def test_arms_of_the_menagerie_have_the_passive_forces_of_mujoco(file, fingers):
    """Fingers that mimic each other are locked; meshes are not needed, as bodies have inertials."""
    path = ROBOTS / "mujoco_menagerie" / file
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rounded angles
        robot = armlet.load(path, lock=dict.fromkeys(fingers, 0.0))
    text = re.sub(r'<geom [^>]*mesh="[^>]*/>| material="[^"]*"', "", path.read_text())
    for section in ("asset", "keyframe", "contact", "visual"):
        text = re.sub(rf"<{section}>.*?</{section}>", "", text, flags=re.DOTALL)
    assert_agrees(robot, text)
    assert robot._has_compensation or any(spring.stiffness for spring in robot.springs)


# ------------------------------------------------------------------ the quantity


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_definition_of_a_written_file(load, seed):
    robot = load(with_passive_forces(Writer(seed).text(), seed))
    q, qd, _ = states(robot, count=3)
    expected = [definition.passive_torque(robot, *x) for x in zip(q, qd, strict=True)]
    np.testing.assert_allclose(
        value(robot, "passive_torque", q, qd), np.array(expected, float), rtol=1e-9, atol=1e-9
    )


def test_other_quantities_do_not_include_it(load):
    text = model(SPRUNG)
    robot, bare = load(text), load(re.sub('(stiffness|gravcomp)="[^"]*"', "", text))
    q, qd, qdd = states(robot)
    for name, state in (
        ("inverse_dynamics", (q, qd, qdd)),
        ("gravity_torque", (q,)),
        ("energy", (q, qd)),
        ("friction_torque", (qd,)),
    ):
        np.testing.assert_array_equal(value(robot, name, *state), value(bare, name, *state))


def test_with_full_compensation_the_arm_floats():
    robot = armlet.load("panda").without_drives()
    parts = tuple(Compensation(m, c) for m, c in zip(robot.m, robot.c, strict=True))
    floating = replace(robot, compensation=parts)
    q = states(robot)[0]
    held = floating.gravity_torque(q) + floating.passive_torque(q, 0 * q)
    assert np.abs(held).max() < 1e-12
    moved = floating.with_gravity([3, 2, 1])
    held = moved.gravity_torque(q) + moved.passive_torque(q, 0 * q)
    assert np.abs(held).max() < 1e-12


def test_compensation_is_as_cheap_as_gravity_torques():
    robot = armlet.load("panda").without_drives()
    parts = tuple(Compensation(m, c) for m, c in zip(robot.m, robot.c, strict=True))
    floating = replace(robot, compensation=parts)
    spent = armlet.cheapest(floating, "passive_torque").program.count().total
    assert spent <= armlet.cheapest(robot, "gravity_torque").program.count().total


def test_its_derivatives_are_stiffness_and_damping(load):
    robot = load(model(PENDULUM.format('stiffness="4" springref="30" damping="0.5"')))
    by_q = armlet.trace(robot, "passive_torque").derivative("q").function()
    by_qd = armlet.trace(robot, "passive_torque").derivative("qd").function()
    assert by_q([0.3], [0.2]) == 4
    assert by_qd([0.3], [0.2]) == 0.5


def test_springs_may_be_given_at_run_time(load):
    robot = load(model(PENDULUM.format('stiffness="4" springref="30" damping="0.5"')))
    kernel = armlet.compile(robot, "passive_torque", constants={"drive": "argument"})
    assert list(robot.constants("drive")) == ["viscous1", "stiffness1", "reference1"]
    assert kernel([0.3], [0.2], [1.0, 10.0, 0.1]) == pytest.approx(0.2 + 10 * 0.2)


def test_a_robot_with_another_spring_is_another_robot(load):
    one, two = (load(model(PENDULUM.format(f'stiffness="{k}"'))) for k in (1, 2))
    assert one != two
    assert two.passive_torque([1], [0]) == 2 * one.passive_torque([1], [0])


# ------------------------------------------------------------------ in motion


def test_a_pendulum_on_a_spring_has_its_period(load):
    """Small swings about the bottom: ω² = (k + m g l) / (I + m l²)."""
    robot = load(model(PENDULUM.format('stiffness="30"')))
    period = 2 * np.pi / np.sqrt((30 + 2 * 9.81) / (2 + 0.1))
    run = armlet.simulate(robot, [1e-4], duration=2 * period, dt=period / 100)
    np.testing.assert_allclose(run.q[[100, 200]], 1e-4, rtol=1e-6)
    np.testing.assert_allclose(run.q[[50, 150]], -1e-4, rtol=1e-6)


def energy_of_springs(robot, q):
    stiffness, reference = np.array(robot.springs, float).T
    return (q - reference) ** 2 @ stiffness / 2


def sprung_tree(tmp_path):
    robot, _ = random_robot(tmp_path, 3, 4)
    return replace(robot.without_drives(), springs=(Spring(40.0, 0.3),) * robot.nv)


@pytest.mark.parametrize("method", ["dop853", "rk4", "variational_midpoint"])
def test_energy_with_that_of_springs_is_conserved(tmp_path, method):
    robot = sprung_tree(tmp_path)
    run = armlet.simulate(robot, np.full(robot.nv, 0.1), duration=0.5, dt=1e-3, method=method)
    whole = run.energy + energy_of_springs(robot, run.q)
    assert np.ptp(run.energy) > 1
    assert np.ptp(whole) < (1e-2 if method == "variational_midpoint" else 1e-5) * np.ptp(run.energy)


def test_a_compensated_arm_stays_where_it_is():
    robot = armlet.load("panda").without_drives()
    parts = tuple(Compensation(m, c) for m, c in zip(robot.m, robot.c, strict=True))
    q = states(robot)[0][0]
    run = armlet.simulate(replace(robot, compensation=parts), q, duration=0.2)
    np.testing.assert_allclose(run.q, np.tile(q, (len(run.q), 1)), atol=1e-9)


def test_roll_outs_have_springs_too(tmp_path):
    robot = sprung_tree(tmp_path)
    q = np.full((3, robot.nq), 0.1)
    found = armlet.rollout(robot, q, dt=1e-3, steps=50, method="rk4")
    run = armlet.simulate(robot, q[0], duration=0.05, dt=1e-3, method="rk4")
    np.testing.assert_allclose(found.q[:, 0], run.q[1:], rtol=1e-12)


def test_a_spring_that_gives_energy_is_no_reason_to_warn(load):
    """From rest at the bottom the spring lifts the pendulum: rigid-body energy grows."""
    robot = load(
        model(
            PENDULUM.format('stiffness="30" springref="60"').replace("<body", "<body gravcomp='.5'")
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = armlet.simulate(robot, [0.0], duration=0.4)
    assert run.energy[-1] > run.energy[0] + 1

"""MJCF against MuJoCo itself: random models, and a small one for each rule."""

import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from support.mjcf import BOX, INERTIAL, RULES, TIP, Writer, assert_agrees, model

import armlet


@pytest.fixture
def load(tmp_path):
    """Load an MJCF text."""

    def from_text(text, **options):
        path = tmp_path / "arm.xml"
        path.write_text(text)
        return armlet.load(path, **options)

    return from_text


@pytest.mark.parametrize("seed", range(60))
def test_random_models_agree_with_mujoco(load, seed):
    text = Writer(seed).text()
    assert_agrees(load(text), text, seed)


@pytest.mark.parametrize("rule", RULES)
def test_this_holds_as_in_mujoco(load, rule):
    assert_agrees(load(RULES[rule]), RULES[rule])


# ------------------------------------------------------------------ what MuJoCo has no word for


def test_what_has_no_name_is_numbered(load):
    robot = load(model(f"<body><joint/>{BOX}<body name='body3'/><body><joint/>{BOX}</body></body>"))
    assert robot.joint_names == ("joint1", "joint2")
    assert list(robot.frames) == ["world", "body1", "body3", "body3_"]


def test_joints_of_one_body_have_massless_links_between_them(load):
    joints = '<joint name="x"/><joint name="y" axis="0 1 0"/>'
    robot = load(model(f'<body name="a">{joints}{BOX}</body><body name="a_x"/>'))
    assert robot.links == ("a_x_", "a")
    assert robot.m == (0, 2)


def test_the_model_has_its_name_or_that_of_the_file(load):
    assert load(model(f"<body><joint/>{BOX}</body>")).name == "arm"
    text = model(f"<body><joint/>{BOX}</body>").replace("<mujoco>", '<mujoco model="crane">')
    assert load(text).name == "crane"


@pytest.mark.parametrize(
    ("joint", "compiler", "kind", "ends"),
    [
        ('range="-90 45"', "", "revolute", (-np.pi / 2, np.pi / 4)),
        ('range="-90 45" limited="false"', "", "continuous", (-np.inf, np.inf)),
        ('range="90 -45"', "", "continuous", (-np.inf, np.inf)),
        ('range="-1 2"', 'angle="radian"', "revolute", (-1, 2)),
        ('range="-1 2" type="slide"', "", "prismatic", (-1, 2)),
        (
            'range="-90 45" limited="true"',
            'autolimits="false"',
            "revolute",
            (-np.pi / 2, np.pi / 4),
        ),
        ("", 'autolimits="false"', "continuous", (-np.inf, np.inf)),
    ],
)
def test_limits_are_those_of_mujoco(load, joint, compiler, kind, ends):
    text = model(f"<body><joint {joint}/>{BOX}</body>", f"<compiler {compiler}/>")
    found = load(text).joints[0]
    assert found.kind == kind
    np.testing.assert_allclose(found.limits[:2], ends)
    theirs = mujoco.MjModel.from_xml_string(text)
    assert theirs.jnt_limited[0] == np.isfinite(ends[0])
    if theirs.jnt_limited[0]:
        np.testing.assert_allclose(theirs.jnt_range[0], ends)


def test_joints_and_actuators_add_up_to_the_drive(load):
    robot = load(
        model(
            f'<body><joint name="j" armature="1" damping="2" frictionloss="3"/>{BOX}</body>',
            '<actuator><motor joint="j" gear="10" armature=".1" damping=".2"/></actuator>',
        )
    )
    assert robot.drives[0] == (11, 22, 3, 0)


@pytest.mark.parametrize(
    ("joint", "actuators", "effort"),
    [
        ("", "", np.inf),
        ('actuatorfrcrange="-5 4"', "", 5),
        ("", '<motor joint="j" gear="-10" ctrlrange="-2 2"/>', 20),
        ("", '<motor joint="j" gear="10" ctrlrange="-2 2" forcerange="-1 1"/>', 10),
        ("", '<position joint="j" ctrlrange="-2 2"/>', np.inf),
        ("", '<position joint="j" forcerange="-3 3"/><motor joint="j" ctrlrange="-2 2"/>', 5),
        ('actuatorfrcrange="-5 5"', '<motor joint="j" ctrlrange="-9 9"/>', 5),
    ],
)
def test_the_effort_is_the_most_that_the_actuators_give(load, joint, actuators, effort):
    text = model(
        f'<body><joint name="j" {joint}/>{BOX}</body>', f"<actuator>{actuators}</actuator>"
    )
    assert load(text).joints[0].limits.effort == effort


def test_the_tool_is_the_end_of_the_only_branch(load):
    table = '<body name="table"><site name="corner"/></body>'
    arm = f'<body name="arm"><joint/>{BOX}<site name="side"/><body name="hand">{{}}</body></body>'
    assert load(model(table + arm.format(""))).tool == "hand"
    assert load(model(arm.format('<site name="grasp"/>'))).tool == "grasp"
    assert load(model(arm.format('<site name="left"/><site name="right"/>'))).tool == "hand"
    assert load(model(TIP + arm.format(""))).tool is None


def test_a_site_with_the_name_of_a_body_gets_another(load):
    robot = load(model(f'<body name="a"><joint/>{BOX}<site name="a" pos="0 0 1"/></body>'))
    assert list(robot.frames) == ["world", "a", "a_site"]


def test_settotalmass_scales_all_bodies(load):
    text = model(f"<body><joint/>{BOX}</body><body>{BOX}</body>", '<compiler settotalmass="10"/>')
    light, heavy = load(text.replace('"10"', '"-1"')), load(text)
    assert heavy.m == (5,)
    np.testing.assert_allclose(heavy.phi.astype(float), 2.5 * light.phi.astype(float))


def test_shown_meshes_keep_their_files_and_where_they_are(load):
    geoms = '<geom type="mesh" mesh="cup" pos="1 0 0"/><geom type="mesh" mesh="hull" group="3"/>'
    robot = load(
        model(
            f'<body name="a"><joint/>{INERTIAL}<frame pos="0 1 0">{geoms}</frame></body>',
            '<compiler meshdir="parts"/><default><mesh scale="2 2 2"/></default>'
            '<asset><mesh file="x/cup.stl" refpos="0 0 1"/><mesh file="hull.stl"/></asset>',
        )
    )
    (cup,) = robot.meshes["a"]
    assert cup.file == "parts/x/cup.stl"
    assert cup.scale == (2, 2, 2)
    assert cup.pose.r.tolist() == [1, 1, -1]


def test_meshes_of_bodies_that_do_not_move_need_no_inertia(load):
    base = '<body><geom type="mesh" mesh="base"/>{}</body>'
    robot = load(model(base.format(f"<body><joint/>{BOX}</body>")))
    assert robot.m == (2,)


def test_exact_angles_stay_exact(load):
    spellings = (
        'euler="90 0 0"',
        'quat="1 1 0 0"',
        'quat="0.70710678 0.70710678 0 0"',
        'zaxis="0 -3 0"',
        'axisangle="2 0 0 90"',
        'xyaxes="1 0 0 0 0 2"',
    )
    for spelling in spellings:
        tip = f'<body {spelling}><joint axis="0 1 0"/>{BOX}</body>'
        robot = load(model(f"<body><joint/>{BOX}{tip}</body>"))
        assert robot.dh[1].alpha in (0, np.pi)


def test_numbers_that_overflow_are_refused(load):
    for text in (
        '<geom size="1e200"/>',
        '<geom size=".1" density="1e300" pos="1e200 0 0"/>',
        '<frame pos="1e300 0 0"><frame pos="1e300 0 0"/><geom size="1"/></frame>',
        '<inertial pos="1e300 0 0" mass="1e300" diaginertia="1e308 1e308 1e308"/>',
    ):
        for compiler in ("", '<compiler boundinertia="1" balanceinertia="true"/>'):
            with pytest.raises(armlet.ModelError, match="expected finite numbers"):
                load(model(f"<body><joint/>{text}</body>", compiler))


def test_a_constraint_on_locked_joints_is_met(tmp_path):
    path = Path(__file__).parent / "bad_models" / "mjcf_equality_curved.xml"
    assert armlet.load(path, lock={"elbow": 0.2, "shoulder": 0.2}).nq == 0


def test_actuators_that_are_no_torques_of_joints_are_reported(load):
    arm = f'<body><joint name="a" axis="3 2 1"/>{BOX}<site name="s"/></body>'

    def text(actuators):
        return model(arm, "<actuator>" + actuators + "</actuator>")

    motor, servo = '<motor joint="a" gear="2"/>', '<position joint="a" kp="9"/>'
    assert load(text(motor)).notes == ()
    (note,) = load(text(motor + 2 * servo + '<velocity joint="a"/>')).notes
    assert note.startswith("of 3 actuators on joints with a control law, torque limits")
    with pytest.warns(armlet.ModelWarning, match="on no joint .* 2 on a site") as warned:
        load(text(servo + 2 * '<general site="s"/>'))
    assert len(warned) == 1


# ------------------------------------------------------------------ the package


def test_the_extra_is_named_where_mujoco_is_missing_or_old(load, monkeypatch):
    text = model(f"<body><joint/>{BOX}</body>")
    monkeypatch.setattr(mujoco, "__version__", "3.3.7")
    with pytest.raises(armlet.ArmletError, match=r"MuJoCo is 3\.3\.7: expected 4 or newer"):
        load(text)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(armlet.ArmletError, match=r'pip install "armlet\[mjcf\]"'):
        load(text)


def test_warnings_of_mujoco_are_not_written_to_a_file(load, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(armlet.ModelError, match="expected finite numbers"):
        load(model(f'<body pos="nan 0 0"><joint/>{BOX}</body>'))
    assert [path.name for path in tmp_path.iterdir()] == ["arm.xml"]

"""URDF as people write it: what dynamics do not depend on is a warning, or nothing."""

import json
import time
import warnings
from math import inf

import numpy as np
import pytest
from support.stored import URDF, stored
from typer.testing import CliRunner

import armlet
from armlet import ModelError, ModelWarning
from armlet.cli import app

pinocchio = pytest.importorskip("pinocchio")

REASONS = ("mimic", "which does not exist", "has no <link>", "freedoms")
"""Words of the messages that files may be refused with."""

INERTIAL = (
    '<inertial><origin xyz="0 0.1 0.3"/><mass value="{}"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)
BOB = INERTIAL.format(2)
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
AXIS = '<axis xyz="0 1 0"/>'


def urdf(link=BOB, joint=AXIS + LIMIT, kind="revolute", head="", rest=""):
    """A pendulum whose link and joint hold what is given."""
    return (
        f'{head}<robot name="arm"><link name="base"/><link name="bob">{link}</link>'
        f'<joint name="hinge" type="{kind}"><parent link="base"/><child link="bob"/>{joint}</joint>'
        f"{rest}</robot>"
    )


def loaded(folder, text, **options):
    """The robot in a text, and what is warned of."""
    path = folder / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        robot = armlet.load(path, **options)
    assert all(w.category is ModelWarning for w in warned)
    assert all(w.filename == __file__ for w in warned)
    return robot, [str(w.message) for w in warned]


def refused(folder, text, **options):
    with pytest.raises(ModelError) as raised:
        loaded(folder, text, **options)
    return str(raised.value)


TWO = INERTIAL.format(2) + INERTIAL.format(5)
MESH = '<visual><geometry><mesh filename="a.stl" scale="{}"/></geometry></visual>'
TRANSMISSION = (
    '<transmission name="t"><joint name="hinge"/><actuator name="m">{}'
    "<mechanicalReduction>{}</mechanicalReduction></actuator></transmission>"
)
SECOND = '<?xml version="1.0"?><!-- generated --><?xml version="1.0"?>'
HARMLESS = {
    "axis of a fixed joint without numbers": urdf(joint="<axis/>", kind="fixed"),
    "axis of a fixed joint of letters": urdf(joint='<axis xyz="y"/>', kind="fixed"),
    "limits of a fixed joint reversed": urdf(joint='<limit lower="1" upper="-1"/>', kind="fixed"),
    "mimic of a fixed joint": urdf(joint='<mimic joint="nobody"/>', kind="fixed"),
    "ratio of no rotor": urdf(rest=TRANSMISSION.format("", "n/a")),
    "ratio of no rotor, empty": urdf(rest=TRANSMISSION.format("", "")),
    "declaration after a line": urdf(head='\n<?xml version="1.0"?>'),
    "declaration after a comment": urdf(head='<!-- by hand -->\n<?xml version="1.0"?>'),
    "a second declaration": urdf(head=SECOND),
    "dashes in a comment": urdf(head="<!-- a -- b --><!-- <!-- c -->"),
    "no limit of effort": urdf(joint=AXIS + LIMIT.replace('"3"', '"inf"')),
}
DOUBTFUL = {
    "limits reversed": (
        urdf(joint=AXIS + '<limit lower="2" upper="-1" effort="3" velocity="4"/>'),
        "joint 'hinge' has the limits lower 2, upper -1: taken the other way round",
    ),
    "limit of letters": (
        urdf(joint=AXIS + LIMIT.replace('"3"', '"none"')),
        "joint 'hinge' has the limit effort=\"none\": taken as none",
    ),
    "no limit": (
        urdf(joint=AXIS),
        "joint 'hinge' is revolute and has no <limit>: taken as without limits",
    ),
    "mesh scale of four": (
        urdf(link=INERTIAL.format(2) + MESH.format("1 1 1 1")),
        '<mesh scale="1 1 1 1"> has 4 values instead of 3: taken as 1 1 1',
    ),
    "mesh scale of letters": (
        urdf(link=INERTIAL.format(2) + MESH.format("mm")),
        '<mesh scale="mm">: expected finite numbers separated by spaces; the mesh is left out',
    ),
    "two inertials": (urdf(link=TWO), "<link> has 2 <inertial>: the first is taken"),
    "unknown attribute": (
        urdf(joint='<origin xyz="0 0 0" frame="base"/>' + AXIS + LIMIT),
        '<origin> has frame="…", which is not read: expected xyz and rpy',
    ),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_changes_nothing_is_not_even_warned_of(tmp_path, case):
    robot, warned = loaded(tmp_path, HARMLESS[case])
    assert warned == []
    _agrees_with_pinocchio(robot, HARMLESS[case])


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_dynamics_do_not_depend_on_is_one_warning(tmp_path, case):
    text, message = DOUBTFUL[case]
    robot, warned = loaded(tmp_path, text)
    assert warned == [f"arm.urdf, line 1: {message}"]
    assert refused(tmp_path, text, strict=True) == warned[0]
    _agrees_with_pinocchio(robot, text)


def _agrees_with_pinocchio(robot, text):
    """Compare the inertia matrix with Pinocchio's, where it reads the text."""
    try:
        model = pinocchio.buildModelFromXML(text)
    except ValueError:
        return
    assert robot.nq == model.nq
    if robot.nv:
        H = pinocchio.crba(model, model.createData(), np.zeros(1))
        np.testing.assert_allclose(robot.inertia_matrix([0.0]), H, rtol=1e-12)


def test_reversed_limits_are_swapped_and_odd_ones_are_none(tmp_path):
    robot, _ = loaded(tmp_path, DOUBTFUL["limits reversed"][0])
    assert robot.joints[0].limits == (-1, 2, 4, 3)
    robot, _ = loaded(tmp_path, DOUBTFUL["limit of letters"][0])
    assert robot.joints[0].limits == (-1, 2, 4, inf)
    robot, _ = loaded(tmp_path, DOUBTFUL["no limit"][0])
    assert robot.joints[0].limits == (-inf, inf, inf, inf)


def test_a_quaternion_is_read_as_newer_urdf_has_it(tmp_path):
    turned = '<origin quat_xyzw="0.6 0 0 0.8"/>' + AXIS + LIMIT
    robot, warned = loaded(tmp_path, urdf(joint=turned))
    assert warned == []
    np.testing.assert_allclose(
        robot.forward_kinematics([0.0])[1:3, 1], [0.28, 0.96], rtol=0, atol=1e-12
    )


def test_a_mass_without_inertia_is_a_point(tmp_path):
    text = urdf(link='<inertial><origin xyz="0 0 2"/><mass value="3"/></inertial>')
    robot, [message] = loaded(tmp_path, text)
    assert message.endswith("has no <inertia>: taken as a point of its mass")
    assert robot.inertia_matrix([0.0]).item() == pytest.approx(12)


def test_a_ratio_that_is_no_number_is_refused_where_it_matters(tmp_path):
    text = urdf(rest=TRANSMISSION.format("<rotor_inertia>1e-4</rotor_inertia>", "n/a"))
    assert "<mechanicalReduction>n/a</mechanicalReduction>" in refused(tmp_path, text)


def test_the_gear_ratio_of_drake_comes_before_the_general_one(tmp_path):
    """As the files of its own iiwa have them."""
    drake = '<drake:rotor_inertia value="0.01"/><drake:gear_ratio value="160"/>'
    robot, _ = loaded(tmp_path, urdf(rest=TRANSMISSION.format(drake, 1)))
    assert robot.drives[0].rotor_inertia == pytest.approx(256)


def test_a_world_that_is_no_link_is_the_base(tmp_path):
    text = urdf(
        rest='<joint name="w" type="fixed"><parent link="world"/><child link="base"/></joint>'
    )
    robot, warned = loaded(tmp_path, text)
    assert warned == [
        "arm.urdf, line 1: joint 'w' has the parent 'world', which is no link of the file: taken "
        "as its base"
    ]
    assert robot.joint_names == ("hinge",)
    assert refused(tmp_path, text, strict=True) == warned[0]
    assert (
        loaded(
            tmp_path, text.replace('<link name="base"/>', '<link name="base"/><link name="world"/>')
        )[1]
        == []
    )


def test_many_open_comments_take_no_time(tmp_path):
    start = time.process_time()
    assert "not valid XML" in refused(tmp_path, "<!-- -- -->" + "<!-- " * 1_000_000)
    assert time.process_time() - start < 10


def test_a_declaration_in_another_encoding_after_a_line_is_refused_clearly(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_bytes('\n<?xml version="1.0"?><robot name="a"/>'.encode("utf-16"))
    with pytest.raises(ModelError, match=r"arm\.urdf"):
        armlet.load(path)


def test_a_second_declaration_is_not_xml(tmp_path):
    text = urdf(head='\n<?xml version="1.0"?>' * 2)
    assert "line 3: not valid XML" in refused(tmp_path, text)


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    armlet.load("planar2r").to_urdf("~/arm.urdf")
    armlet.load("planar2r").to_toml("~/arm.toml")
    assert armlet.load("~/arm.urdf").nq == armlet.load("~/arm.toml").nq == 2


# ---------------------------------------------------------------------------------- all at once

SECOND = (
    '<link name="tip">{}</link><joint name="wrist" type="{}"><parent link="bob"/>'
    '<child link="tip"/>{}</joint>'
)


def test_alike_doubts_are_one_warning_that_lists_the_names(tmp_path):
    thin = INERTIAL.format(2).replace('ixx="1"', 'ixx="9"')
    text = urdf(link=thin, rest=SECOND.format(thin, "revolute", AXIS + LIMIT))
    _, warned = loaded(tmp_path, text)
    assert warned == [
        "arm.urdf: 2 links have an inertia that no body can have: the largest principal moment "
        "exceeds the sum of the others: bob (by 78 %), tip (by 78 %)"
    ]


def test_all_that_blocks_a_file_is_said_at_once(tmp_path):
    text = urdf(
        link='<inertial><mass value="heavy"/></inertial>',
        joint='<origin xyz="a b c"/>' + AXIS + LIMIT,
        rest="\n" + SECOND.format(INERTIAL.format(-1), "floating", ""),
    )
    assert refused(tmp_path, text).splitlines() == [
        "arm.urdf: 4 problems:",
        '  line 1: <mass value="heavy">: expected a finite number',
        '  line 1: <origin xyz="a b c">: expected finite numbers separated by spaces',
        "  line 2: link 'tip' has mass -1.0: expected none below zero",
        "  line 2: joint 'wrist' is floating, with six freedoms: expected revolute, continuous, "
        "prismatic, fixed; fix it where it is drawn, lock={'wrist': 0} (on the command line --lock "
        "wrist=0)",
    ]


def test_many_problems_that_are_alike_are_one_line_in_linear_time(tmp_path):
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="base"/><child link="x{k}"/></joint>'
        for k in range(20_000)
    )
    links = "".join(f'<link name="l{k}"/>' for k in range(20_000))
    start = time.process_time()
    message = refused(tmp_path, urdf(rest=links + joints))
    assert time.process_time() - start < 10
    assert message.startswith(
        "arm.urdf: 20000 joints have a parent or a child that does not exist: j0 (child 'x0'), j1"
    )


def test_a_floating_joint_is_fixed_as_the_message_says(tmp_path):
    text = urdf(rest=SECOND.format(INERTIAL.format(1), "floating", '<origin xyz="0 0 1"/>'))
    robot, _ = loaded(tmp_path, text, lock={"wrist": 0})
    assert robot.joint_names == ("hinge",)
    fixed, _ = loaded(tmp_path, text.replace("floating", "fixed"))
    assert robot == fixed
    assert "floating" in refused(tmp_path, text, lock={"wrist": 1})


# ---------------------------------------------------------------------------------- massless tips


def test_a_massless_tip_has_kinematics_and_torques_and_a_warning(tmp_path):
    text = urdf(rest=SECOND.format("", "revolute", '<origin xyz="0 0 1"/>' + AXIS + LIMIT))
    robot, [message] = loaded(tmp_path, text)
    assert "singular" in message
    assert "lock={'wrist': 0} (on the command line --lock wrist=0)" in message
    assert robot.forward_kinematics([0.0, 1.0]).shape == (4, 4)
    H = robot.inertia_matrix([0.3, 1.0])
    np.testing.assert_allclose(H[1], 0, atol=1e-15)
    locked, _ = loaded(tmp_path, text, lock={"wrist": 0})
    np.testing.assert_allclose(H[0, 0], locked.inertia_matrix([0.3]).item())
    with pytest.raises(ModelError, match=r"'wrist' .* can move without moving any inertia"):
        robot.forward_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 0.0])
    assert "singular" in refused(tmp_path, text, strict=True)


# ---------------------------------------------------------------------------------- real files


@stored
@pytest.mark.parametrize("path", URDF, ids=lambda path: path.stem)
def test_a_real_file_loads_or_is_refused_for_one_of_few_reasons(path):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            refusal = "" if armlet.load(path) else "nothing"
        except ModelError as error:
            refusal = str(error)
    assert not refusal or any(reason in refusal for reason in REASONS)
    messages = [str(w.message) for w in warned]
    kinds = [message.split(": ", 1)[1][:30] for message in messages]
    assert len(set(kinds)) == len(kinds), messages


# ------------------------------------------------------------------ bases


def branches(count, base_mass, joints=2, root="base", mount=""):
    """A base with arms of its own kind on it."""
    text = f'<robot name="tree"><link name="{root}">{INERTIAL.format(base_mass)}</link>'
    for k in range(count):
        parent = root
        if mount:
            parent = f"{mount}{k}"
            text += f'<link name="{parent}">{INERTIAL.format(0.1)}</link><joint name="on{k}" '
            text += f'type="fixed"><parent link="{root}"/><child link="{parent}"/></joint>'
        for i in range(joints):
            text += f'<link name="l{k}{i}">{BOB}</link><joint name="j{k}{i}" type="revolute">'
            text += f'<parent link="{parent}"/><child link="l{k}{i}"/>{AXIS}{LIMIT}</joint>'
            parent = f"l{k}{i}"
    return text + "</robot>"


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        (branches(4, 5.0), True),  # a quadruped
        (branches(2, 0.5), True),  # a biped
        (branches(4, 5.0, mount="hip"), True),
        (branches(1, 5.0, 6), False),  # an arm on a heavy base
        (branches(2, 5.0, 6, mount="mount"), False),  # two arms on a table
        (branches(4, 5.0, root="world"), False),
        (branches(4, 0.0), False),
        (branches(4, 0.3).replace('mass value="2"', 'mass value="0.05"'), False),  # a hand
    ],
)
def test_a_base_that_looks_like_a_floating_one_is_a_warning(tmp_path, text, warns):
    robot, warned = loaded(tmp_path, text)
    lines = [line for line in warned if "floating base" in line]
    assert len(lines) == warns
    if warns:
        assert f"has {robot.base_body[0]:.4g} kg" in lines[0]


def test_the_mass_of_the_base_is_reported_beside_that_of_the_moving_bodies(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(branches(1, 5.0, 3))
    robot = armlet.load(path)
    assert (robot.base_body[0], float(robot.mass)) == (5.0, 6.0)
    assert armlet.load(path, lock={"j00": 0}).base_body[0] == 7.0
    output = " ".join(CliRunner().invoke(app, ["info", str(path)]).output.split())
    assert "6 kg move; base 'base' has 5 kg" in output
    assert "together 11 kg" in output
    data = json.loads(CliRunner().invoke(app, ["info", str(path), "--json"]).output)
    assert data["mass"] == {"moving": 6.0, "base": 5.0}


def test_the_inertia_of_the_base_is_written_back(tmp_path):
    """With what is welded or locked to it, about the origin of the base link."""
    path = tmp_path / "arm.urdf"
    path.write_text(branches(1, 5.0, 3))
    locked = armlet.load(path, lock={"j00": 0.3})
    locked.to_urdf(tmp_path / "locked.urdf")
    again = armlet.load(tmp_path / "locked.urdf")
    assert again.base_body[0] == 7.0
    for mine, theirs in zip(again.base_body, locked.base_body, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    full, m = armlet.load(path).base_body, locked.base_body[0]
    assert m > full[0]
    assert np.linalg.norm(locked.base_body[2] - full[2]) > 0.01


@stored
def test_fixed_arms_get_no_warning_of_their_base_and_walking_robots_do():
    """Of the files beside the checkout, by their names."""
    legs = {
        "a1",
        "anymal",
        "b1",
        "bolt",
        "go1",
        "go2",
        "hyq_no_sensors",
        "icub",
        "laikago",
        "quadruped",
        "romeo",
        "simple_humanoid",
        "solo12",
        "talos_full_v2",
    }
    arms = {
        "panda",
        "kinova",
        "ur5_gripper",
        "z1",
        "fr3",
        "wx250s",
        "vx300s",
        "px100",
        "multi_arm",
        "allegro_left_hand",
        "franka_hand",
        "finger_edu",
    }
    for path in URDF:
        if path.stem in legs | arms:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                armlet.load(path)
            says = any("floating base" in str(w.message) for w in warned)
            assert says == (path.stem in legs), path

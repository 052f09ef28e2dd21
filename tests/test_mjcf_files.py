"""MJCF of several files: included, attached, replicated, beside free bodies, and out of reach."""

import os
import time
import warnings

import mujoco
import numpy as np
import pytest
from support.meshes import binary_stl, random_hull
from support.mjcf import BOX, Writer, assert_agrees, model
from typer.testing import CliRunner

import armlet
from armlet import ModelError, ModelWarning
from armlet.cli import app

SECONDS = 10
"""Of processor time, far more than is needed."""

TURN = '<joint name="turn" axis="3 2 1" ref="20" armature=".2"/>'
ARM = f"""<body name="arm" pos=".1 .2 .3" euler="10 20 30">{TURN}{BOX}
<site name="tip" pos="1 0 0"/></body>"""
DRIVE = '<actuator><motor name="drive" joint="turn" gear="3" armature=".1"/></actuator>'


@pytest.fixture
def folder(tmp_path):
    """Write files into a folder; the path of the first."""

    def write(main, **others):
        for name, text in {"main": main, **others}.items():
            path = tmp_path / f"{name.replace('__', '/')}.xml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return tmp_path / "main.xml"

    return write


def agrees(path, left_out=(), **options):
    robot = armlet.load(path, **options)
    assert_agrees(robot, mujoco.MjModel.from_xml_path(str(path)), left_out=left_out)
    return robot


def refusal(path, **options):
    with pytest.raises(ModelError) as raised:
        armlet.load(path, **options)
    return str(raised.value)


def include(name):
    return f'<include file="{name}.xml"/>'


# ------------------------------------------------------------------ include


def test_a_scene_includes_a_robot(folder):
    scene = model('<light pos="0 0 1"/><geom type="plane" size="1 1 1"/>', include("robot"))
    assert agrees(folder(scene, robot=model(ARM, DRIVE))).joint_names == ("turn",)


def test_sections_of_all_files_are_merged_as_in_mujoco(folder):
    main = f"""<mujoco><compiler angle="radian"/>{include("robot")}<default><geom density="300"/>
    </default><worldbody><body euler=".1 .2 .3"><joint axis="1 2 3"/><geom size=".1"/></body>
    </worldbody><option gravity="1 2 3"/></mujoco>"""
    robot = model(ARM, '<compiler angle="degree"/><default><joint armature=".3"/></default>')
    assert agrees(folder(main, robot=robot)).nq == 2


def test_files_are_included_anywhere_and_into_each_other(folder):
    main = model(f'<body><joint axis="1 0 0"/>{BOX}{include("parts/arm")}</body>')
    nested = f'<mujocoinclude><body name="held">{include("shape")}</body></mujocoinclude>'
    agrees(
        folder(
            main,
            parts__arm=f"<mujocoinclude>{ARM}{include('parts/held')}</mujocoinclude>",
            parts__held=nested,
            shape=f"<mujocoinclude>{BOX}</mujocoinclude>",
        )
    )


def test_a_file_is_found_beside_the_one_that_includes_it_too(folder):
    main = model(include("parts/arm"))
    arm = f"<mujocoinclude>{include('box')}</mujocoinclude>"
    agrees(folder(main, parts__arm=arm, parts__box=f"<mujocoinclude>{ARM}</mujocoinclude>"))


def test_a_cycle_of_includes_is_named(folder):
    path = folder(model(ARM, include("a")), a=f"<x>{include('b')}</x>", b=f"<x>{include('a')}</x>")
    assert refusal(path) == (
        "b.xml, line 1: <include> closes a cycle of files: a.xml -> b.xml -> a.xml; expected none"
    )


def test_a_file_is_included_once(folder):
    path = folder(model(include("a") * 2), a="<x><geom/></x>")
    assert "File 'a.xml' already included" in refusal(path)


# ------------------------------------------------------------------ attach

HAND = f"""<mujoco model="hand"><compiler angle="radian" eulerseq="zyx" inertiagrouprange="0 1"/>
<option gravity="0 0 1"/><default><geom density="500"/><default class="finger">
<joint axis="0 1 0" armature=".05"/><geom type="capsule" size=".02 .1"/></default></default>
<worldbody><geom size=".1" pos="0 0 .1"/><frame pos="0 0 .2" euler="0 .3 0">
<body name="palm" pos=".1 0 0" euler=".1 .2 .3"><joint name="wrist" axis="1 1 0"/>{BOX}
<geom size=".3" group="2"/><body name="finger" childclass="finger"><joint name="curl"/>
<geom/><frame name="nail" pos="0 0 .1" zaxis="1 0 1"><body name="tip"><joint name="bend"/><geom/>
</body></frame></body></body></frame></worldbody>
<actuator><motor name="m" joint="wrist" armature=".3"/><motor joint="bend" armature=".4"/>
</actuator>
<equality><connect body1="palm" anchor="0 0 0" active="false"/></equality>
<keyframe><key name="open" qpos="1 2 3"/><key name="shut" qpos="4 5 6"/></keyframe></mujoco>"""
ATTACH = """<mujoco><asset><model name="h" file="hand.xml"/></asset><default><geom density="9"/>
</default><worldbody><body name="arm" euler="10 20 30"><joint name="turn" ref="30" axis="1 2 3"/>
<geom size=".1"/><frame pos=".5 0 0" euler="0 40 0">{}</frame></body></worldbody>
<keyframe><key name="home" qpos="7"/></keyframe></mujoco>"""


@pytest.mark.parametrize(
    ("what", "joints"),
    [
        ('body="palm"', ("turn", "left_wrist", "left_curl", "left_bend")),
        ('body="finger"', ("turn", "left_curl", "left_bend")),
        ('body="tip"', ("turn", "left_bend")),
        ('frame="nail"', ("turn", "left_bend")),
        ("", ("turn", "left_wrist", "left_curl", "left_bend")),
    ],
)
def test_an_attached_model_keeps_its_settings(folder, what, joints):
    path = folder(ATTACH.format(f'<attach model="h" {what} prefix="left_"/>'), hand=HAND)
    robot = agrees(path)
    assert robot.joint_names == joints
    np.testing.assert_allclose(robot.gravity.astype(float), [0, 0, -9.81], atol=1e-14)


def test_a_model_may_be_attached_twice_and_through_another(folder):
    both = "".join(
        f'<attach model="h" body="palm" prefix="{side}_"/>' for side in ("left", "right")
    )
    outer = model(
        '<attach model="a" prefix="x_"/><attach model="a" prefix="y_" body="right_tip"/>',
        '<asset><model name="a" file="main.xml"/></asset>',
    )
    hand = HAND.partition("<keyframe>")[0] + "</mujoco>"  # MuJoCo would attach some keys twice
    path = folder(ATTACH.format(both), hand=hand, outer=outer)
    assert agrees(path).nq == 7
    assert agrees(path.with_name("outer.xml")).joint_names[-1] == "y_right_bend"


def test_a_body_may_be_attached_again_in_its_own_model(folder):
    again = f'<body pos="1 0 0"><joint axis="1 0 0"/><attach body="arm" prefix="b_"/>{BOX}</body>'
    robot = agrees(folder(model(ARM + again, DRIVE)))
    assert robot.joint_names == ("turn", "joint2", "b_turn")
    assert robot.drives[0] == robot.drives[2] != robot.drives[1]


# ------------------------------------------------------------------ replicate


@pytest.mark.parametrize(
    "attributes",
    [
        'count="3" offset="1 0 .5"',
        'count="3" euler="0 0 50" offset=".1 .2 .3"',
        'count="12" euler="7 8 9" offset=".1 0 0" sep="-"',
        'count="1"',
        'count="0"',
    ],
)
def test_replicas_are_where_mujoco_puts_them_under_its_names(folder, attributes):
    text = model(
        f"<body><joint name='first' axis='1 0 0'/>{BOX}</body>"
        f"<replicate {attributes}>{ARM}</replicate>",
        DRIVE,
    )
    path = folder(text)
    robot = agrees(path)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    assert robot.joint_names == (
        "first" if theirs.joint(0).name else "joint1",
        *(theirs.joint(k).name for k in range(1, theirs.njnt)),
    )


def test_replicas_may_be_nested_in_frames_of_other_classes(folder):
    path = folder(
        model(
            f"""<frame pos="1 0 0" childclass="light"><body><joint axis="1 0 0"/>{BOX}
            <replicate count="2" offset="0 0 1" sep="_"><frame euler="10 0 0">
            <replicate count="2" euler="30 0 0" childclass="heavy"><body name="b"><joint name="j"/>
            <geom size=".1" pos="1 0 0"/></body></replicate></frame></replicate></body></frame>""",
            '<compiler eulerseq="zyx"/><default><default class="light"><geom density="10"/>'
            '<default class="heavy"><joint axis="0 1 0" armature=".5"/></default></default>'
            "</default>"
            '<actuator><motor joint="j" gear="2" armature=".3"/></actuator>',
        )
    )
    assert agrees(path).joint_names == ("joint1", "j0_0", "j1_0", "j0_1", "j1_1")


def test_elements_outside_of_bodies_stay_with_what_they_name(folder):
    """Actuators of replicas are added where those of their templates are dropped."""
    body = '<body name="{0}"><joint name="{0}" axis="1 2 0"/>' + BOX + "</body>"
    text = "".join(
        f'<replicate count="2" offset="0 0 {k}">{body.format(f"b{k}_")}</replicate>'
        for k in range(3)
    )
    motors = "".join(f'<motor joint="b{k}_" armature="{k + 1}"/>' for k in range(3))
    robot = agrees(folder(model(text, f"<actuator>{motors}</actuator>")))
    assert [drive.rotor_inertia for drive in robot.drives] == [1, 1, 2, 2, 3, 3]


def test_an_attached_model_may_be_replicated(folder):
    attach = '<attach model="h" body="palm" prefix="p_"/>'
    twice = f'<replicate count="2" offset="0 1 0">{attach}</replicate>'
    robot = agrees(folder(ATTACH.format(twice), hand=HAND))
    assert robot.joint_names[1:] == tuple(
        f"p_{j}{k}" for k in (0, 1) for j in ("wrist", "curl", "bend")
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_models_agree_in_pieces(folder, seed):
    """A random model, included in a scene, and attached to one and replicated."""
    text = Writer(seed).text()
    agrees(folder(f"<mujoco>{include('robot')}</mujoco>", robot=text))
    attach = '<attach model="r" prefix="a_"/>'
    agrees(
        folder(
            f"""<mujoco><compiler angle="radian"/><asset><model name="r" file="robot.xml"/></asset>
            <worldbody><body><joint axis="1 2 3"/>{BOX}<replicate count="2" euler=".1 .2 .3"
            offset=".3 .2 .1">{attach}</replicate></body></worldbody></mujoco>""",
            robot=text,
        )
    )


# ------------------------------------------------------------------ free bodies and roots


def test_free_bodies_beside_a_robot_are_left_out_with_one_warning(folder):
    cube = '<body name="{}"><freejoint name="free_{}"/><geom size=".1"/></body>'
    ball = '<body name="ball"><joint class="loose"/><geom type="mesh" mesh="gone"/></body>'
    path = folder(
        model(
            f'{cube.format("cube", "a")}<frame pos="1 0 0">{ball}</frame>{ARM}',
            '<default><default class="loose"><joint type="free"/></default></default>'
            '<asset><mesh name="gone" file="gone.stl"/></asset>'
            '<equality><weld body1="cube" body2="ball"/></equality>'
            '<actuator><motor joint="free_a"/></actuator>'
            f'<keyframe><key name="k" qpos="{"0 0 0 1 0 0 0 " * 2} 5"/></keyframe>',
        )
    )
    with pytest.warns(ModelWarning) as warned:
        robot = armlet.load(path)
    assert [str(w.message) for w in warned] == [
        "main.xml: left out, since they are on free joints beside a robot with a fixed base: "
        "cube, ball"
    ]
    assert warned[0].filename == __file__
    assert robot.joint_names == ("turn",)
    assert robot.keyframes["k"].tolist() == [5]
    assert not {"cube", "ball"} & set(robot.frames)


def test_a_robot_beside_free_bodies_moves_as_in_mujoco(folder):
    path = folder(model(f'<body name="cube"><freejoint/><geom size=".1"/></body>{ARM}', DRIVE))
    with warnings.catch_warnings(action="ignore"):
        agrees(path, left_out=["cube"])


def test_forces_on_a_body_that_is_left_out_do_not_count(folder):
    lid = f'<body><joint name="lid" stiffness="1 2" damping="1 2"/>{BOX}</body>'
    box = f'<body name="box" gravcomp="-1"><freejoint/>{BOX}{lid}</body>'
    damped = '<position joint="lid" damping="1 2"/>'
    path = folder(model(ARM + box, f"<actuator>{damped}</actuator>"))
    with pytest.warns(ModelWarning, match="left out, since they are on free joints"):
        robot = armlet.load(path)
    assert robot.joint_names == ("turn",)
    assert robot.notes == ()


def test_a_weld_between_a_free_body_and_the_robot_is_refused(folder):
    path = folder(
        model(
            f'<body name="cube"><freejoint/><geom size=".1"/></body>{ARM}',
            '<equality><weld body1="cube" body2="arm"/></equality>',
        )
    )
    assert "equality 1 closes a loop" in refusal(path)


LEG = f'<body name="leg"><joint name="hip"/>{BOX}</body>'
ON_WORLD, LOOSE = f"<body>{BOX}</body>", '<body name="cube"><freejoint/><geom size="1"/></body>'


@pytest.mark.parametrize("beside", ["", ON_WORLD, LOOSE])
def test_a_robot_on_a_free_joint_is_refused_unless_it_is_locked(folder, beside):
    trunk = f'<body name="trunk" pos="1 2 3" euler="10 20 30"><freejoint/>{BOX}{LEG}</body>'
    qpos = "0 0 0 1 0 0 0 5" + " 0 0 0 1 0 0 0" * (beside is LOOSE)
    key = f'<keyframe><key name="k" qpos="{qpos}"/></keyframe>'
    path = folder(model(trunk + beside, key))
    assert "joint 'trunk_free' is floating, with six freedoms" in refusal(path)
    assert "lock={'trunk_free': 0}" in refusal(path)
    with warnings.catch_warnings(action="ignore"):
        robot = armlet.load(path, lock={"trunk_free": 0})
    fixed = folder(model(f'<body pos="1 2 3" euler="10 20 30">{BOX}{LEG}</body>'))
    assert robot.joint_names == ("hip",)
    assert "cube" not in robot.frames
    assert robot.keyframes["k"].tolist() == [5]
    for quantity in ("inertia_matrix", "gravity_torque", "forward_kinematics"):
        found, expected = (getattr(x, quantity)([0.3]) for x in (robot, armlet.load(fixed)))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_bodies_on_free_joints_without_a_robot_stay(folder):
    assert "2 joints are none of revolute" in refusal(
        folder(model(LOOSE + LOOSE.replace("cube", "b")))
    )


def test_a_free_joint_and_missing_meshes_are_said_together(folder):
    asset = '<asset><mesh name="m" file="m.stl"/><mesh name="n" file="n.stl"/></asset>'
    geom = '<geom type="mesh" mesh="{}"/>'
    leg = f"<body><joint/>{geom.format('n')}</body>"
    said = refusal(
        folder(model(f'<body name="trunk"><freejoint/>{geom.format("m")}{leg}</body>', asset))
    ).splitlines()
    assert len(said) == 3
    assert said[1].startswith("  2 geoms have the mesh of a file that does not exist and is needed")
    assert said[1].endswith("'m', 'n'")
    assert "joint 'trunk_free' is floating" in said[2]


def test_a_ball_joint_is_fixed_where_it_is_drawn_by_lock(folder):
    path = folder(model(f'<body pos="1 0 0"><joint name="b" type="ball"/>{BOX}{LEG}</body>'))
    assert armlet.load(path, lock={"b": 0}).joint_names == ("hip",)


def test_an_equality_with_a_joint_of_a_body_that_is_left_out_says_so(folder):
    box = f'<body name="box"><freejoint/>{BOX}<body><joint name="lid"/>{BOX}</body></body>'
    tie = '<equality><joint name="tie" joint1="turn" joint2="lid" active="{}"/></equality>'
    assert (
        "equality 'tie' ties joint 'turn' to 'lid', one of which is left out with its "
        "body, on a free joint beside the robot: remove the equality"
    ) in refusal(folder(model(ARM + box, tie.format("true"))))
    with warnings.catch_warnings(action="ignore"):
        off = armlet.load(folder(model(ARM + box, tie.format("false"))))
    assert off.joint_names == ("turn",)


def test_a_weld_to_a_mocap_body_is_left_out_with_a_warning(folder):
    hand = '<body name="target" mocap="true"><site name="s"/></body>'
    for constraint in ('<weld body1="target" body2="arm"/>', '<connect site1="s" site2="tip"/>'):
        path = folder(model(hand + ARM, f"<equality>{constraint}</equality>"))
        with pytest.warns(ModelWarning, match="holds the robot to a mocap body"):
            assert armlet.load(path).joint_names == ("turn",)


def test_joints_of_an_arm_on_a_mocap_body_stay_tied(folder):
    inner = f'<body><joint name="a"/>{BOX}<body pos="0 0 1"><joint name="b"/>{BOX}</body></body>'
    tie = '<equality><joint joint1="b" joint2="a" polycoef="0 2 0 0 0"/></equality>'
    for base in ('<body name="target">', '<body name="target" mocap="true">'):
        assert armlet.load(folder(model(f"{base}{BOX}{inner}</body>", tie))).nq == 1


def test_several_roots_stand_on_one_base(folder):
    robot = agrees(
        folder(model(f'{ARM}<body><joint name="b"/>{BOX}</body><body pos="1 0 0">{BOX}</body>'))
    )
    assert robot.parent == (-1, -1)


# ------------------------------------------------------------------ keyframes


def test_keyframes_are_named_values_of_q(folder):
    path = folder(
        model(
            f'{ARM}<body><joint name="b"/><joint name="s" type="slide"/>{BOX}</body>',
            '<keyframe><key name="home" qpos="1 2 3"/><key qpos="4 5 6"/><key name="start"/>'
            "</keyframe>",
        )
    )
    robot = armlet.load(path)
    found = {name: q.tolist() for name, q in robot.keyframes.items()}
    assert found == {"home": [1, 2, 3], "key2": [4, 5, 6], "start": [np.pi / 9, 0, 0]}
    m = mujoco.MjModel.from_xml_path(str(path))
    for k, q in enumerate(robot.keyframes.values()):
        np.testing.assert_allclose(q, m.key_qpos[k], atol=1e-15)
    assert robot.lock({"b": 0.0}).keyframes["home"].tolist() == [1, 3]
    assert armlet.load(path, lock={"turn": 0.0}).keyframes["home"].tolist() == [2, 3]
    assert robot.subchain("arm").keyframes["home"].tolist() == [1]
    with pytest.raises(ValueError, match="read-only"):
        robot.keyframes["home"][0] = 0
    robot.to_toml(path.with_suffix(".toml"))
    again = armlet.load(path.with_suffix(".toml"))
    assert {name: q.tolist() for name, q in again.keyframes.items()} == found


def test_keyframes_of_coupled_joints_are_written_and_read(folder):
    path = folder(
        model(
            f'{ARM}<body><joint name="b \u00e4"/>{BOX}</body>',
            '<equality><joint joint1="b \u00e4" joint2="turn" polycoef="0 2"/></equality>'
            '<keyframe><key name="a.b &quot;c&quot;" qpos="1 2"/></keyframe>',
        )
    )
    robot = armlet.load(path)
    robot.to_toml(path.with_suffix(".toml"))
    again = armlet.load(path.with_suffix(".toml"))
    assert list(robot.keyframes) == list(again.keyframes) == ['a.b "c"']
    assert again.keyframes['a.b "c"'].tolist() == robot.keyframes['a.b "c"'].tolist()


def test_keyframes_of_an_attached_model_come_with_it(folder):
    path = folder(ATTACH.format('<attach model="h" prefix="left_" body="finger"/>'), hand=HAND)
    found = {name: q.tolist() for name, q in armlet.load(path).keyframes.items()}
    start = np.pi / 6
    assert found == {"home": [7, 0, 0], "left_open": [start, 2, 3], "left_shut": [start, 5, 6]}


# ------------------------------------------------------------------ out of reach


def test_only_the_folder_of_the_model_and_named_ones_are_read(folder, tmp_path):
    path = folder(model(ARM, include("../x/shared")))
    inner = tmp_path / "inner"
    inner.mkdir()
    path = path.rename(inner / "main.xml")
    outside = tmp_path / "x"
    outside.mkdir()
    (outside / "shared.xml").write_text("<mujocoinclude><option gravity='0 0 -1'/></mujocoinclude>")
    assert "names '../x/shared.xml', which is outside the folder of the model" in refusal(path)
    assert -1.01 < armlet.load(path, folders=[outside]).gravity[2] < -0.99
    assert -1.01 < armlet.load(path, folders=[str(tmp_path)]).gravity[2] < -0.99
    path.write_text(model(ARM, f'<include file="{outside / "shared.xml"}"/>'))
    assert "outside the folder of the model" in refusal(path)
    assert armlet.load(path, folders=[outside]).nq == 1
    os.symlink(outside / "shared.xml", inner / "link.xml")
    path.write_text(model(ARM, include("link")))
    assert "names 'link.xml', which is outside the folder of the model" in refusal(path)
    os.symlink(outside, inner / "folder")
    path.write_text(model(ARM, include("folder/shared")))
    assert "outside the folder of the model" in refusal(path)
    result = CliRunner().invoke(app, ["info", str(path), "--folders", str(outside)])
    assert result.exit_code == 0, result.output


def test_a_model_that_is_a_link_is_read_where_the_link_is(folder, tmp_path):
    path = folder(model(ARM, include("part")), part="<x><option gravity='1 2 3'/></x>")
    there = tmp_path / "there"
    there.mkdir()
    os.symlink(path, there / "main.xml")
    assert "names 'part.xml', which does not exist" in refusal(there / "main.xml")
    (there / "part.xml").write_text("<x><size/></x>")
    agrees(there / "main.xml")


def test_a_mesh_outside_is_not_read(folder, tmp_path):
    (tmp_path / "mesh.stl").write_bytes(binary_stl(*random_hull(1)))
    body = '<body><joint/><geom type="mesh" mesh="mesh"/></body>'
    asset = '<compiler meshdir=".."/><asset><mesh file="mesh.stl"/></asset>'
    path = folder(model(body, asset))
    (tmp_path / "inner").mkdir()
    path = path.rename(tmp_path / "inner" / "main.xml")
    assert "<mesh> names '../mesh.stl', which is outside the folder of the model" in refusal(path)
    agrees(path, folders=[tmp_path])


@pytest.mark.parametrize("folders", ["text", [1], 3, None, ["/nowhere/at/all"]])
def test_folders_are_existing_paths(folder, folders):
    assert refusal(folder(model(ARM)), folders=folders).startswith("folders ")


def test_a_pipe_is_not_waited_for(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe.xml")
    assert "names 'pipe.xml', which does not exist" in refusal(folder(model(ARM, include("pipe"))))


# ------------------------------------------------------------------ bombs

BOMBS = {
    "nested replicas": lambda: {
        "main": model('<replicate count="100">' * 4 + ARM + "</replicate>" * 4)
    },
    "replicas of actuators": lambda: {
        "main": model(
            f'<replicate count="3000">{ARM}</replicate>',
            "<actuator>" + '<motor joint="turn"/>' * 3000 + "</actuator>",
        )
    },
    "models of models": lambda: {
        "main": doubled("m0"),
        **{f"m{k}": doubled(f"m{k + 1}") for k in range(18)},
        "m18": model(ARM),
    },
    "files of files": lambda: {
        "main": model(ARM, include("m0")),
        **{f"m{k}": f"<x>{include(f'm{k + 1}')}</x>" for k in range(40)},
        "m40": "<x><size/></x>",
    },
    "deep files": lambda: {
        "main": model("<body>" * 150 + include("m0") + "</body>" * 150),
        "m0": "<x>" + "<body>" * 150 + "</body>" * 150 + "</x>",
    },
    "long names": lambda: {
        "main": model(f'<replicate count="20000" sep="{"x" * 10**6}">{ARM}</replicate>')
    },
    "keyframes of many models": lambda: {
        "main": '<mujoco><asset><model name="m" file="m0.xml"/></asset><worldbody>'
        + "".join(f'<attach model="m" prefix="p{k}"/>' for k in range(500))
        + "</worldbody></mujoco>",
        "m0": model(
            "".join(f'<body><joint name="j{k}"/></body>' for k in range(400)),
            "<keyframe>"
            + "".join(f'<key name="k{k}" qpos="{"1 " * 400}"/>' for k in range(400))
            + "</keyframe>",
        ),
    },
    "many keyframes": lambda: {
        "main": '<mujoco><asset><model name="m" file="m0.xml"/></asset><worldbody>'
        + "".join(f'<attach model="m" prefix="p{k}"/>' for k in range(5000))
        + "</worldbody></mujoco>",
        "m0": model(ARM, "<keyframe>" + '<key qpos="1"/>' * 5000 + "</keyframe>"),
    },
}


def doubled(name):
    twice = "".join(f'<attach model="m" prefix="{x}"/>' for x in "ab")
    return model(twice, f'<asset><model name="m" file="{name}.xml"/></asset>')


@pytest.mark.parametrize("bomb", BOMBS)
def test_small_files_that_name_each_other_do_not_grow_without_bound(folder, bomb):
    start = time.process_time()
    message = refusal(folder(**BOMBS[bomb]()))
    bounds = ("20000 elements", "deeper than 200", "20 others")
    assert any(bound in message for bound in bounds)
    assert time.process_time() - start < SECONDS

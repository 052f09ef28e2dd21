"""SDF: twins of URDF robots in every style, and each rule of poses by hand."""

import warnings
from math import inf, pi

import numpy as np
import pytest
from support.robots import random_arm, random_urdf
from support.sdf import AXIS, INERTIAL, STYLES, assert_same, sdf_of

import armlet
from armlet import ModelError, ModelWarning
from armlet.formats.sdf import MAX_CHAIN


@pytest.fixture
def load(tmp_path):
    """Loads a text as a file, and returns it with what is warned of."""

    def loaded(text, version="1.8", name="arm.sdf", **options):
        path = tmp_path / name
        text = text if text.startswith("<sdf") else f'<sdf version="{version}">{text}</sdf>'
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            robot = armlet.load(path, **options)
        assert all(w.category is ModelWarning and w.filename == __file__ for w in warned)
        loaded.warned = [str(w.message) for w in warned]
        return robot

    return loaded


def link(name, pose="", rest=INERTIAL):
    return f'<link name="{name}">{pose}{rest}</link>'


def joint(name, parent, child, rest=AXIS, kind="revolute"):
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f"{rest}</joint>"
    )


def model(*parts, name="arm", rest=""):
    return f'<model name="{name}"{rest}>{"".join(parts)}</model>'


def at(numbers, **attributes):
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<pose{written}>{numbers}</pose>"


def places(robot, frame, q=None):
    """Where a frame is with all joints at zero."""
    q = np.zeros(robot.nq) if q is None else np.asarray(q, float)
    return robot.forward_kinematics(q, frame=frame).round(9)


# ---------------------------------------------------------------------------------- twins


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore:.*like a robot on legs")  # bases with two branches
def test_the_twin_of_a_urdf_tree_is_the_same_robot(tmp_path, load, seed, style):
    path = tmp_path / "twin.urdf"
    path.write_text(random_urdf(seed, 6, drives=True), encoding="utf-8")
    robot = armlet.load(path)
    twin = load(sdf_of(robot, style))
    assert_same(robot, twin)
    twin.to_urdf(path)
    assert_same(robot, armlet.load(path))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560"])
def test_the_twin_of_a_catalogued_arm_is_the_same_robot(load, name, style):
    robot = armlet.load(name)
    assert_same(robot, load(sdf_of(robot, style), gravity=robot.gravity))


@pytest.mark.parametrize("seed", range(4))
def test_a_model_put_elsewhere_is_the_same_robot_with_gravity_turned(load, seed):
    robot = armlet.Robot.of(random_arm(seed, 4))
    text = sdf_of(robot, "1.7").replace(
        ">\n<link", ">" + at("1 2 3 0 1.5707963267948966 0") + "<link", 1
    )
    moved = load(text)
    np.testing.assert_allclose(moved.gravity.astype(float), [9.81, 0, 0], atol=1e-12)
    assert_same(robot.with_gravity((9.81, 0, 0)), moved)


# ---------------------------------------------------------------------------------- poses


def test_a_link_is_placed_in_the_model_and_a_joint_in_its_child(load):
    robot = load(
        model(
            link("base"),
            link("rod", at("1 0 0 0 0 0")),
            joint("hinge", "base", "rod", at("0 2 0 0 0 0") + AXIS),
        )
    )
    assert places(robot, "rod")[:3, 3].tolist() == [1, 0, 0]
    assert places(robot, "rod", [pi])[:3, 3].tolist() == [1, 4, 0]


def test_a_link_may_be_relative_to_another_one_to_a_frame_or_a_joint(load):
    robot = load(
        model(
            link("base"),
            link("a", at("1 0 0 0 0 1.5707963267948966")),
            link("b", at("1 0 0 0 0 0", relative_to="a")),
            link("c", at("1 0 0 0 0 0", relative_to="mark")),
            link("d", at("0 0 1 0 0 0", relative_to="to_d")),
            '<frame name="mark" attached_to="b">' + at("0 1 0 0 0 0") + "</frame>",
            joint("to_a", "base", "a"),
            joint("to_b", "a", "b"),
            joint("to_c", "b", "c"),
            joint("to_d", "c", "d", at("0 0 2 0 0 0", relative_to="c") + AXIS),
        )
    )
    assert places(robot, "b")[:3, 3].tolist() == [1, 1, 0]
    assert places(robot, "mark")[:3, 3].tolist() == [0, 1, 0]
    assert places(robot, "c")[:3, 3].tolist() == [0, 2, 0]
    assert places(robot, "d")[:3, 3].tolist() == [0, 2, 3]
    assert places(robot, "mark", [0, pi, 0, 0])[:3, 3].tolist() == [2, 1, 0]  # it moves with b


def test_a_frame_without_attachment_is_on_the_first_or_canonical_link(load):
    parts = (
        link("base"),
        link("rod"),
        '<frame name="mark">' + at("1 0 0 0 0 0") + "</frame>",
        joint("hinge", "base", "rod"),
    )
    assert places(load(model(*parts)), "mark", [pi])[:3, 3].tolist() == [1, 0, 0]
    moving = load(model(*parts, rest=' canonical_link="rod"'))
    assert places(moving, "mark", [pi])[:3, 3].tolist() == [-1, 0, 0]


def test_joints_may_name_frames_and_are_placed_in_the_one_of_the_child(load):
    robot = load(
        model(
            link("base"),
            link("rod"),
            '<frame name="tip" attached_to="base"/>',
            '<frame name="heel" attached_to="rod">' + at("0 2 0 0 0 0") + "</frame>",
            joint("hinge", "tip", "heel"),
        )
    )
    assert robot.links == ("rod",)
    assert places(robot, "rod", [pi])[:3, 3].tolist() == [0, 4, 0]


def test_angles_may_be_degrees_or_quaternions(load):
    turned = model(
        link("base"), link("rod", at("0 0 0 0 0 90", degrees="true")), joint("hinge", "base", "rod")
    )
    expected = places(load(turned), "rod")[0, :3].tolist()
    assert expected == [0, -1, 0]
    quaternion = model(
        link("base"),
        link(
            "rod",
            at("0 0 0 0 0 0.7071067811865476 0.7071067811865476", rotation_format="quat_xyzw"),
        ),
        joint("hinge", "base", "rod"),
    )
    assert places(load(quaternion), "rod")[0, :3].tolist() == expected


@pytest.mark.parametrize(
    ("version", "axis", "moved"),
    [
        ("1.4", "<xyz>1 0 0</xyz>", [0, -1, 0]),
        ("1.5", "<xyz>1 0 0</xyz>", [0, 0, 1]),
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", [0, -1, 0]),
        ("1.7", '<xyz expressed_in="__model__">1 0 0</xyz>', [0, -1, 0]),
        ("1.7", '<xyz expressed_in="rod">1 0 0</xyz>', [0, 0, 1]),
        ("1.7", "<xyz>0 1 0</xyz>", [0, -1, 0]),
    ],
)
def test_an_axis_is_expressed_as_the_version_has_it(load, version, axis, moved):
    """The rod's frame is the model's, turned by a quarter about z; a point at its z moves."""
    rod = link("rod", at("0 0 0 0 0 -1.5707963267948966"))
    tip = '<link name="tip">' + at("0 0 1 0 0 0") + INERTIAL + "</link>"
    hinge = joint("hinge", "base", "rod", f"<axis>{axis}</axis>")
    robot = load(
        model(link("base"), rod, tip, hinge, joint("weld", "rod", "tip", "", "fixed")), version
    )
    if moved == [0, 0, 1]:
        axis_in_base = robot.jacobian(np.zeros(1), frame="rod")[:3, 0].round(9).tolist()
        assert axis_in_base == [0, -1, 0]
    else:
        assert places(robot, "tip", [pi / 2])[:3, 3].tolist() == moved


def test_nested_models_have_scoped_names_and_are_placed_in_the_outer_one(load):
    hand = model(
        link("palm", at("0 0 1 0 0 0")),
        link("finger", at("0 0 2 0 0 0")),
        joint("grip", "palm", "finger"),
        at("1 0 0 0 0 0"),
        name="hand",
    )
    robot = load(
        model(
            link("base"),
            hand,
            joint("wrist", "base", "hand::palm"),
            '<frame name="mark" attached_to="hand::finger"/>',
        )
    )
    assert robot.joint_names == ("wrist", "hand::grip")
    assert places(robot, "hand::palm")[:3, 3].tolist() == [1, 0, 1]
    assert places(robot, "hand::finger")[:3, 3].tolist() == [1, 0, 2]
    assert robot.frames["mark"].body == 1


def test_a_placement_frame_is_what_the_pose_is_of(load):
    hand = model(
        link("palm"),
        '<frame name="grip">' + at("0 0 1 0 0 0") + "</frame>",
        at("0 0 5 0 0 0"),
        name="hand",
        rest=' placement_frame="grip"',
    )
    robot = load(model(link("base"), hand, joint("wrist", "base", "hand::palm")))
    assert places(robot, "hand::grip")[:3, 3].tolist() == [0, 0, 5]
    assert places(robot, "hand::palm")[:3, 3].tolist() == [0, 0, 4]


def test_a_joint_to_the_world_makes_the_world_the_base(load):
    parts = (at("0 0 3 0 0 0"), link("base"), link("rod"), joint("hinge", "base", "rod"))
    robot = load(model(*parts, joint("bolt", "world", "base", "", "fixed")))
    assert robot.base_link == "world"
    assert places(robot, "rod")[:3, 3].tolist() == [0, 0, 3]
    assert load(model(*parts)).base_link == "base"


def test_several_roots_are_fixed_to_the_world_with_a_warning(load):
    robot = load(
        model(
            link("base"),
            link("rod"),
            joint("hinge", "base", "rod"),
            link("box", at("0 0 1 0 0 0")),
            link("ball"),
        )
    )
    assert robot.base_link == "world"
    assert places(robot, "box")[:3, 3].tolist() == [0, 0, 1]
    assert load.warned == [
        "arm.sdf: 3 links are on no joint, free to move, and are taken as fixed to the world: "
        "base, box, ball"
    ]


def test_a_world_has_gravity_and_static_models(load):
    arm = model(link("base"), link("rod"), joint("hinge", "base", "rod"), at("1 0 0 0 0 0"))
    robot = load(f"<world name='w'><gravity>0 0 -1.6</gravity>{arm}</world>")
    assert robot.joint_names == ("hinge",)
    assert robot.gravity.tolist() == [0, 0, -1.6]
    mimic = "<axis><xyz>0 0 1</xyz><mimic joint='never'><multiplier>1</multiplier></mimic></axis>"
    table = model(
        "<static>true</static>",
        link("top"),
        link("leg"),
        link("foot"),
        joint("never", "top", "leg"),
        joint("nor_this", "leg", "foot", mimic),
        name="table",
    )
    robot = load(f"<world name='w'>{arm}{table}</world>")
    assert robot.joint_names == ("arm::hinge",)
    assert load.warned == []
    assert robot.gravity.tolist() == [0, 0, -9.81]


# ---------------------------------------------------------------------------------- other parts


def test_limits_and_friction_are_read_and_large_ones_are_none(load):
    axis = (
        "<axis><xyz>0 0 1</xyz><limit><lower>{}</lower><upper>{}</upper><effort>{}</effort>"
        "<velocity>-1</velocity></limit><dynamics><damping>0.5</damping><friction>0.25</friction>"
        "</dynamics></axis>"
    )
    parts = link("base"), link("rod")
    robot = load(model(*parts, joint("hinge", "base", "rod", axis.format(-1, 2, 3))))
    assert robot.joints[0].limits == (-1, 2, inf, 3)
    assert robot.drives[0][1:3] == (0.5, 0.25)
    robot = load(model(*parts, joint("hinge", "base", "rod", axis.format(-1e16, "1e+16", "inf"))))
    assert robot.joints[0].limits == (-inf, inf, inf, inf)


def test_links_without_inertial_have_the_default_of_the_format(load):
    robot = load(model(link("base"), link("rod", rest=""), joint("hinge", "base", "rod")))
    assert robot.inertia_matrix([0.0]).item() == 1
    assert load.warned == [
        "arm.sdf, line 1: link 'rod' has no <inertial>: taken as 1 kg with unit inertia, which is "
        "the default of SDF"
    ]


def test_mimic_joints_are_tied(load):
    mimic = (
        '<axis><xyz>0 0 1</xyz><mimic joint="one"><multiplier>2</multiplier><offset>0.5</offset>'
        "<reference>0.1</reference></mimic></axis>"
    )
    parts = (
        link("base"),
        link("a"),
        link("b"),
        joint("one", "base", "a"),
        joint("two", "base", "b", mimic),
    )
    robot = load(model(*parts), mimic="lock", lock={"one": 0.6})
    twin = load(model(*parts), lock={"one": 0.6, "two": 1.5})
    assert robot == twin


def test_springs_are_read(load):
    axis = (
        "<axis><xyz>0 0 1</xyz><dynamics><spring_stiffness>3</spring_stiffness>"
        "<spring_reference>0.5</spring_reference></dynamics></axis>"
    )
    robot = load(model(link("base"), link("rod"), joint("hinge", "base", "rod", axis)))
    assert robot.passive_torque([0.7], [0.0]).item() == pytest.approx(3 * 0.2)


REFUSED = {
    "a ball joint": (
        joint("hinge", "base", "rod", "", "ball"),
        "joint 'hinge' is ball, with three freedoms: expected revolute, continuous, prismatic, "
        "fixed; fix it where it is drawn, lock={'hinge': 0} (on the command line --lock hinge=0)",
    ),
    "no axis": (joint("hinge", "base", "rod", ""), "joint 'hinge' has no <axis>: expected one"),
    "an unknown link": (
        joint("hinge", "base", "rodd"),
        "<joint> refers to 'rodd', which does not exist in model 'arm': expected one of base, rod, "
        "hinge",
    ),
    "an unknown frame": (
        '<frame name="a">' + at("0 0 0 0 0 0", relative_to="b") + "</frame>",
        "<pose> refers to 'b', which does not exist in model 'arm': expected one of base, rod, a",
    ),
    "frames in a circle": (
        '<frame name="a">'
        + at("", relative_to="b")
        + '</frame><frame name="b">'
        + at("", relative_to="a")
        + "</frame>",
        "frames are relative to each other in a circle: a -> b -> a",
    ),
    "attached in a circle": (
        '<frame name="a" attached_to="b"/><frame name="b" attached_to="a"/>',
        "frame 'a' is attached to no link: the frames it is attached to form a loop or a very long "
        "chain",
    ),
    "a name twice": (link("rod"), "two elements of a model are called 'rod': names must differ"),
    "five numbers": (
        link("bar", at("1 2 3 4 5")),
        "<pose>1 2 3 4 5</pose> has 5 values: expected 6 numbers",
    ),
    "automatic inertia": (
        link("bar", rest='<inertial auto="true"/>'),
        "the <inertial> of link 'bar' has auto, which armlet does not read: expected mass and "
        "inertia as numbers",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_read_is_refused_by_name(refusal, case):
    part, message = REFUSED[case]
    refused = refusal(model(link("base"), link("rod"), part))
    assert f"line 1: {message}" in refused


def test_a_ball_joint_may_be_fixed(load):
    parts = link("base"), link("rod"), link("end"), joint("hinge", "rod", "end")
    robot = load(model(*parts, joint("knob", "base", "rod", "", "ball")), lock={"knob": 0})
    assert robot.joint_names == ("hinge",)


@pytest.mark.parametrize(
    "text",
    [
        "<mesh/>",
        '<sdf version="2.0"><model name="a"/></sdf>',
        '<sdf version="1.7"/>',
        '<sdf version="1.7"><model name="a"/></sdf>',
    ],
)
def test_what_is_no_model_is_refused(tmp_path, text):
    path = tmp_path / "arm.sdf"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"^arm.sdf"):
        armlet.load(path)


def test_long_chains_of_frames_are_refused(refusal):
    frames = (
        "".join(
            f'<frame name="f{k}">' + at("", relative_to=f"f{k + 1}") + "</frame>"
            for k in range(MAX_CHAIN + 50)
        )
        + f'<frame name="f{MAX_CHAIN + 50}"/>'
    )
    assert "frames are each relative to the next" in refusal(model(link("base"), frames))


# ---------------------------------------------------------------------------------- includes


@pytest.fixture
def hand(tmp_path):
    """A folder of models beside the arm's, with one called hand."""
    folder = tmp_path / "models" / "hand"
    folder.mkdir(parents=True)
    (folder / "model.config").write_text(
        '<model><name>hand</name><sdf version="1.6">hand.sdf</sdf></model>', encoding="utf-8"
    )
    text = model(link("palm"), link("finger"), joint("grip", "palm", "finger"), name="hand")
    (folder / "hand.sdf").write_text(f'<sdf version="1.6">{text}</sdf>', encoding="utf-8")
    return folder


INCLUDE = "<include><uri>{}</uri><name>right</name>" + at("0 0 1 0 0 0") + "</include>"
ARM = model(link("base"), INCLUDE, joint("wrist", "base", "right::palm"))


@pytest.mark.parametrize("uri", ["models/hand", "models/hand/hand.sdf", "model://hand"])
def test_models_are_included_from_the_folders_that_are_allowed(load, hand, uri):
    robot = load(ARM.format(uri), folders=[hand.parent])
    assert robot.joint_names == ("wrist", "right::grip")
    assert places(robot, "right::palm")[:3, 3].tolist() == [0, 0, 1]


def test_models_elsewhere_are_not_included(load, refusal, hand):
    inside = hand / "arm.sdf"
    inside.write_text(f'<sdf version="1.8">{ARM.format("../other/o.sdf")}</sdf>', encoding="utf-8")
    assert "arm.sdf, line 1: model 'hand' is in none of the folders" in refusal(
        ARM.format("model://hand")
    )
    for uri in ("../x.sdf", "/etc/passwd", "file:///etc/passwd.sdf", "models/../../x.sdf"):
        assert "is outside the folders" in refusal(ARM.format(uri))


def test_a_model_that_includes_itself_is_refused(load, refusal):
    assert "arm.sdf includes itself" in refusal(ARM.format("arm.sdf"))


def test_includes_of_includes_are_bounded(tmp_path, refusal):
    for k in range(10):
        parts = "".join(
            f"<include><uri>m{k + 1}.sdf</uri><name>n{i}</name></include>" for i in range(4)
        )
        text = model(link("base"), parts if k < 9 else "", name=f"m{k}")
        (tmp_path / f"m{k}.sdf").write_text(f'<sdf version="1.8">{text}</sdf>', encoding="utf-8")
    assert "more than 1000 models are included" in refusal(ARM.format("m0.sdf"))


# ---------------------------------------------------------------------------------- as people write


def test_a_joint_may_have_the_name_of_a_link_before_version_1_7(load, refusal):
    for parts in (
        [link("a"), link("b"), joint("b", "a", "b")],
        [joint("b", "a", "b"), link("a"), link("b")],
    ):
        assert load(model(*parts), version="1.6").joint_names == ("b_joint",)
        assert "two elements of a model are called 'b'" in refusal(model(*parts), version="1.7")


def test_a_joint_that_gets_another_name_takes_that_of_no_other(load, refusal):
    others = [joint("a_joint", "base", "b"), joint("a", "b", "a")]
    output = refusal(model(*others, link("base"), link("b"), link("a")), version="1.6")
    assert "two elements of a model are called 'a'" in output
    for tag in ("frame", "model"):
        same = f'<{tag} name="b"/>'
        output = refusal(model(link("a"), link("b"), joint("j", "a", "b"), same), version="1.6")
        assert "two elements of a model are called 'b'" in output


def test_a_link_called_world_is_not_the_world(load):
    arm = model(link("world"), link("b"), joint("j", "world", "b"))
    assert load(arm).joint_names == ("j",)
    both = model(link("a"), link("world"), link("b"), joint("j", "world", "b"))
    robot = load(both)
    assert robot.joint_names == ("j",)
    assert robot.base_link == "world_"


def test_the_root_element_of_version_1_2_is_read(load, tmp_path):
    arm = model(link("a"), link("b"), joint("j", "a", "b"))
    path = tmp_path / "old.sdf"
    path.write_text(f'<gazebo version="1.2">{arm}</gazebo>')
    assert armlet.load(path) == load(arm, version="1.4", name="old.sdf")


def test_models_of_a_world_that_are_not_found_are_left_out_with_one_warning(load, refusal):
    arm = model(link("a"), link("b"), joint("j", "a", "b"))
    sun, fuel = (
        f"<include><uri>{uri}</uri></include>"
        for uri in ("model://sun", "https://fuel/x/model.sdf")
    )
    assert load(f"<world name='w'>{sun}{arm}{fuel}</world>").joint_names == ("arm::j",)
    assert load.warned == [
        "arm.sdf: 2 models of the world are not found, and are left out: model://sun, "
        "https://fuel/x/model.sdf"
    ]
    assert "model 'sun' is in none of the folders" in refusal(f"<world name='w'>{sun}</world>")
    assert "model 'sun' is in none of the folders" in refusal(model(link("a"), sun))


def test_gravity_does_not_act_on_links_that_say_so(load):
    off = INERTIAL + "<gravity>false</gravity>"
    moved = at("1 0 0 0 0 0")
    parts = [link("b", moved, off), link("c", moved), joint("j", "a", "b"), joint("k", "b", "c")]
    axes = [part.replace("0 0 1", "0 1 0") for part in parts]
    none = model(
        link("a", rest=off), *(x.replace(INERTIAL + "</link>", off + "</link>") for x in axes)
    )
    assert load(none).gravity.tolist() == [0, 0, 0]
    assert load.warned == []
    robot = load(model(link("a"), *axes))
    assert load.warned == [
        "arm.sdf, line 1: link 'b' has <gravity> false: its weight is compensated, a passive torque"
    ]
    q = np.array([0.3, 0.4])
    weight = robot.gravity_torque(q) + robot.passive_torque(q, 0 * q)
    heavy = load(
        model(link("a"), *(x.replace("<mass>2", "<mass>1e-9") if x is axes[0] else x for x in axes))
    )
    np.testing.assert_allclose(weight, heavy.gravity_torque(q), atol=1e-6)


@pytest.mark.parametrize(
    "uri",
    [
        "model://../secret",
        "model://../secret/model.sdf",
        "model://arm/../../secret",
        "model://./../secret",
        "../secret",
        "../secret/model.sdf",
        "file://FOLDER/secret",
        "FOLDER/secret/model.sdf",
        "model://link",
        "link/model.sdf",
        "model:///secret",
        "model://arm",
        "model://%2e%2e/secret",
        "model://..\\secret",
    ],
)
def test_no_uri_of_a_valid_file_leads_out_of_its_folder(tmp_path, uri):
    """Neither from a model, which is refused, nor from a world, which loads without it."""
    hidden = model(link("x"), link("y"), joint("hidden", "x", "y"), name="secret")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "model.sdf").write_text(f'<sdf version="1.8">{hidden}</sdf>')
    (tmp_path / "secret" / "model.config").write_text("<model><sdf>model.sdf</sdf></model>")
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "arm" / "model.config").write_text("<model><sdf>../secret/model.sdf</sdf></model>")
    include = f"<include><uri>{uri.replace('FOLDER', str(tmp_path))}</uri></include>"
    parts = link("a") + link("b") + joint("j", "a", "b")
    path = tmp_path / "arm" / "arm.sdf"
    path.write_text(f'<sdf version="1.8">{model(parts, include)}</sdf>')
    with pytest.raises(ModelError, match=r"is in none of the folders|outside the folders"):
        armlet.load(path)
    path.write_text(f'<sdf version="1.8"><world name="w">{model(parts)}{include}</world></sdf>')
    with pytest.warns(ModelWarning, match="the model is left out"):
        assert armlet.load(path).joint_names == ("arm::j",)

"""The order of joints: as in the file, as Pinocchio has it, or as named."""

import warnings

import numpy as np
import pytest
from support.commands import run
from support.robots import random_urdf
from support.stored import URDF, stored

import armlet
from armlet import ModelError

pinocchio = pytest.importorskip("pinocchio")


def link(name):
    return f'<link name="{name}"/>'


def joint(name, parent, child, kind="continuous"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        '<axis xyz="0 0 1"/></joint>'
    )


TREE = (
    '<robot name="tree">'
    + "".join(map(link, ("base", "l", "l2", "r", "r2", "plate")))
    + joint("z_left", "plate", "l")
    + joint("z_right", "plate", "r")
    + joint("a_tip", "r", "r2")
    + joint("B_tip", "l", "l2")
    + joint("mount", "base", "plate", "fixed")
    + "</robot>"
)


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / "tree.urdf"
    path.write_text(TREE, encoding="utf-8")
    return path


def test_the_order_of_the_file_is_kept_by_default(tree):
    assert armlet.load(tree).joint_names == ("z_left", "z_right", "a_tip", "B_tip")
    assert armlet.load(tree, order="file") == armlet.load(tree)


def test_joints_are_as_pinocchio_has_them_where_that_is_wanted(tree):
    names = armlet.load(tree, order="pinocchio").joint_names
    assert names == tuple(pinocchio.buildModelFromXML(TREE).names)[1:]
    assert names == ("z_left", "B_tip", "z_right", "a_tip")


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_are_in_pinocchios_order(tmp_path, seed):
    text = random_urdf(seed, 9)
    path = tmp_path / "tree.urdf"
    path.write_text(text, encoding="utf-8")
    robot, model = armlet.load(path, order="pinocchio"), pinocchio.buildModelFromXML(text)
    assert robot.joint_names == tuple(model.names)[1:]


@stored
@pytest.mark.parametrize("path", URDF, ids=lambda path: path.stem)
def test_real_files_are_in_pinocchios_order(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = armlet.load(path, order="pinocchio", mimic="free")
        except ModelError as refusal:
            pytest.skip(str(refusal)[:80])
    assert robot.joint_names == tuple(pinocchio.buildModelFromUrdf(str(path)).names)[1:]


def test_joints_are_in_the_order_in_which_they_are_named(tree):
    names = ("z_right", "z_left", "B_tip", "a_tip")
    robot = armlet.load(tree, order=names)
    assert robot.joint_names == names
    q = np.array([0.1, 0.2, 0.4, 0.8])
    there = dict(zip(names, q, strict=True))
    by_file = armlet.load(tree)
    same = [there[name] for name in by_file.joint_names]
    for frame in ("l2", "r2"):
        np.testing.assert_allclose(
            robot.forward_kinematics(q, frame=frame),
            by_file.forward_kinematics(same, frame=frame),
            atol=1e-15,
        )


def test_locked_joints_are_not_in_the_order(tree):
    robot = armlet.load(tree, lock={"z_left": 0.5}, order=["B_tip", "z_right", "a_tip"])
    assert robot.joint_names == ("B_tip", "z_right", "a_tip")


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["a_tip", "z_right", "z_left", "B_tip"], "order has joint 'a_tip' before joint 'z_right'"),
        (["z_left", "z_right", "a_tip"], "expected 'file', 'pinocchio', or the names of all"),
        (["z_left", "z_right", "a_tip", "a_tip"], "the names of all moving joints: z_left, z_rig"),
        ("ros", "order is 'ros': expected 'file', 'pinocchio'"),
        (3, "order is 3: expected"),
    ],
)
def test_an_order_that_cannot_be_is_refused(tree, order, message):
    with pytest.raises(ModelError) as raised:
        armlet.load(tree, order=order)
    assert message in str(raised.value)


def test_the_command_line_takes_an_order(tree):
    done = run("info", tree, "--order", "pinocchio", "--json")
    assert done.stdout.index("B_tip") < done.stdout.index("z_right")
    done = run("info", tree, "--order", "z_right,z_left,B_tip,a_tip", "--json")
    assert done.stdout.index("z_right") < done.stdout.index("z_left")

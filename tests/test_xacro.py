"""xacro: files are expanded by the package in a child process, bounded in time and size."""

import sys
import time
from importlib.util import find_spec
from xml.dom import minidom

import numpy as np
import pytest
from support.commands import run

import armlet
from armlet import ModelError
from armlet.formats import xacro

needs_xacro = pytest.mark.skipif(find_spec("xacro") is None, reason="xacro is not installed")

ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="n" default="2"/>
  <xacro:arg name="hand" default="false"/>
  <xacro:property name="length" value="${0.4 * cos(radians(0))}"/>
  <xacro:macro name="bar" params="name parent mass:=${1 + 1} *origin">
    <link name="${name}">
      <inertial>
        <mass value="${mass}"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="${mass * length**2 / 12}" iyz="0" izz="0.1"/>
      </inertial>
    </link>
    <joint name="to_${name}" type="continuous">
      <parent link="${parent}"/>
      <child link="${name}"/>
      <xacro:insert_block name="origin"/>
      <axis xyz="0 1 0"/>
    </joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:bar name="upper" parent="base"><origin xyz="0 0 ${length}"/></xacro:bar>
  <xacro:if value="${int('$(arg n)') > 1}">
    <xacro:bar name="lower" parent="upper" mass="3"><origin xyz="0 0 ${length}"/></xacro:bar>
  </xacro:if>
  <xacro:unless value="$(arg hand)"><link name="flange"/>
    <joint name="weld" type="fixed"><parent link="upper"/><child link="flange"/></joint>
  </xacro:unless>
  REST
</robot>
"""


@pytest.fixture
def load(tmp_path):
    def loaded(rest="", **options):
        path = tmp_path / "arm.urdf.xacro"
        path.write_text(ARM.replace("REST", rest), encoding="utf-8")
        return armlet.load(path, **options)

    return loaded


# ---------------------------------------------------------------------------------- expanding


@needs_xacro
def test_macros_properties_and_conditions_are_expanded(load):
    robot = load()
    assert robot.joint_names == ("to_upper", "to_lower")
    assert robot.m == (2.0, 3.0)
    assert float(np.trace(robot.J[1])) == pytest.approx(0.2 + 3 * 0.16 / 12)
    assert "flange" in robot.frames


@needs_xacro
def test_arguments_are_given_on_loading_and_on_the_command_line(load, tmp_path, refusal):
    robot = load(xacro={"n": 1, "hand": True})
    assert robot.joint_names == ("to_upper",)
    assert "flange" not in robot.frames
    done = run("info", tmp_path / "arm.urdf.xacro", "--xacro", "n=1", "--json")
    assert "to_lower" not in done.stdout
    assert refusal(xacro={"m": 1}) == (
        "arm.urdf.xacro: no xacro argument is called 'm': expected one of hand, n"
    )
    assert "expected NAME=VALUE" in run("info", "arm.xacro", "--xacro", "n").stderr


@needs_xacro
def test_files_are_included_from_the_package_and_from_folders_that_are_named(load, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "package.xml").write_text("<package><name>my_parts</name></package>")
    (parts / "hand.xacro").write_text(
        '<robot xmlns:xacro="http://x"><xacro:include filename="sub.xacro"/></robot>'
    )
    (parts / "sub.xacro").write_text('<robot><link name="palm"/></robot>')
    (parts / "numbers.yaml").write_text(
        "half: &half 0.5\nmass: {palm: *half}\nturn: !degrees 90\nlist: [1, 2]"
    )
    weld = '<joint name="w" type="fixed"><parent link="upper"/><child link="palm"/></joint>'
    for name in ("parts/hand.xacro", "$(find my_parts)/hand.xacro"):
        robot = load(f'<xacro:include filename="{name}"/>{weld}', folders=[parts])
        assert "palm" in robot.frames
    rest = (
        '<xacro:property name="all" value="${xacro.load_yaml(\'parts/numbers.yaml\')}"/>'
        '<link name="palm"><inertial><mass value="${all.mass[\'palm\'] * all.list[-1]}"/>'
        '<inertia ixx="${sin(all.turn)}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
        "</link>"
        '<joint name="w" type="continuous"><parent link="upper"/><child link="palm"/></joint>'
    )
    robot = load(rest)
    assert robot.m[-1] == 1.0
    assert float(robot.J[-1][0, 0]) == 1.0
    assert "palm" not in load('<xacro:include filename="none.xacro" optional="true"/>').frames


@needs_xacro
def test_a_file_may_expand_to_sdf(tmp_path):
    path = tmp_path / "arm.sdf.xacro"
    path.write_text(
        '<sdf version="1.7" xmlns:xacro="http://x"><model name="m"><link name="a"/><link name="b"/>'
        "<joint name=\"j\" type=\"${'revol' + 'ute'}\"><parent>a</parent><child>b</child><axis/>"
        "</joint></model></sdf>"
    )
    with pytest.warns(armlet.ModelWarning, match="no <inertial>"):
        assert armlet.load(path).joint_names == ("j",)


@needs_xacro
def test_a_file_that_expands_to_mjcf_says_so(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(
        '<mujoco xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="m" value="1"/>'
        "<worldbody/></mujoco>"
    )
    with pytest.raises(ModelError, match=r"arm.xml: MJCF that uses xacro"):
        armlet.load(path)


@needs_xacro
def test_a_file_that_takes_too_long_is_stopped(refusal, monkeypatch):
    monkeypatch.setattr(xacro, "MAX_SECONDS", 1.0)
    start = time.monotonic()
    message = refusal(
        '<link name="${sum(1 for x in range(10**12))}"/>'.replace("sum", "python.sum")
    )
    assert message == "arm.urdf.xacro: expanding it takes more than 1 s: expected less"
    assert time.monotonic() - start < 10


@needs_xacro
def test_a_file_that_expands_to_too_much_is_refused(refusal, monkeypatch):
    monkeypatch.setattr(xacro, "MAX_BYTES", 100_000)
    assert refusal("<link name=\"${'a' * 10**6}\"/>") == (
        "arm.urdf.xacro: it expands to more than 100000 characters: expected one robot"
    )


@needs_xacro
def test_a_file_that_ends_the_process_says_so(refusal, monkeypatch, tmp_path):
    child = tmp_path / "child.py"
    child.write_text("import os; os._exit(3)")
    monkeypatch.setattr(xacro, "CHILD", child)
    for text in ("1", "1" * 10**6):  # more than a pipe holds
        assert refusal(xacro={"n": text}) == (
            "arm.urdf.xacro: expanding it ended the process of xacro: expected a result"
        )


@needs_xacro
def test_an_error_names_the_file_and_the_macro(refusal, tmp_path):
    (tmp_path / "part.xacro").write_text(
        '<robot xmlns:xacro="http://x"><xacro:macro name="outer"><xacro:bar name="${nobody}" '
        'parent="base"><origin/></xacro:bar></xacro:macro></robot>'
    )
    include = '<xacro:include filename="part.xacro"/>'
    message = refusal(f"{include}<xacro:outer/>")
    assert message.startswith(
        "arm.urdf.xacro, in macro 'bar': xacro cannot expand it: name 'nobody' is not defined"
    )
    (tmp_path / "part.xacro").write_text("<robot><link>\n</robot>")
    assert refusal(include) == (
        "part.xacro: xacro cannot expand it: mismatched tag: line 2, column 2"
    )
    assert "No such file or directory" in refusal('<xacro:include filename="none.xacro"/>')
    endless = '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>'
    assert "in macro 'm': xacro cannot expand it: maximum recursion" in refusal(endless)


@needs_xacro
def test_a_package_that_is_not_found_is_named(refusal):
    message = refusal('<xacro:include filename="$(find gone)/hand.xacro"/>')
    assert message.startswith("arm.urdf.xacro: package 'gone' is in none of the folders ")
    assert "name its folder by folders=[...]" in message


@needs_xacro
@pytest.mark.parametrize("before", ["", "file://"])
def test_meshes_of_a_package_have_its_name(load, tmp_path, before):
    """So that a robot does not depend on where its package was found."""
    package = tmp_path / "my_parts"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>my_parts</name></package>")
    (package / "palm.stl").write_text("solid")
    mesh = f'<mesh filename="{before}$(find my_parts)/palm.stl"/>'
    robot = load(
        f'<link name="palm"><visual><geometry>{mesh}</geometry></visual></link>'
        '<joint name="w" type="fixed"><parent link="upper"/><child link="palm"/></joint>'
    )
    [mesh] = robot.meshes["palm"]
    assert mesh.file == "package://my_parts/palm.stl"
    assert mesh.path == str(package / "palm.stl")


@needs_xacro
def test_what_a_file_prints_is_not_its_result(load):
    rest = '<xacro:property name="p" value="${xacro.message(\'hello\', file=None)}"/>'
    assert load(f"{rest}<!-- ${{p}} -->").joint_names == ("to_upper", "to_lower")


@needs_xacro
def test_arguments_without_a_value_are_all_named_at_once(refusal):
    assert refusal('<link name="$(arg prefix)$(arg model)$(arg n)"/>').endswith(
        "the argument 'prefix' has no value: give it by xacro={'prefix': …, 'model': …} (on the "
        "command line --xacro prefix=… --xacro model=…)"
    )


@needs_xacro
@pytest.mark.parametrize("test", ["n == 2", "not hand", "kind == 'left'", "0.5 > size"])
def test_evaluations_have_arguments_as_numbers_and_truth_values(load, test):
    more = '<xacro:arg name="kind" default="left"/><xacro:arg name="size" default="0.1"/>'
    weld = '<joint name="w" type="fixed"><parent link="base"/><child link="x"/></joint>'
    rest = f'{more}<xacro:if value="$(eval {test})"><link name="x"/>{weld}</xacro:if>'
    assert "x" in load(rest).frames


@needs_xacro
def test_a_file_of_macros_alone_names_them(tmp_path):
    path = tmp_path / "hand.xacro"
    path.write_text(
        '<robot xmlns:xacro="http://x"><xacro:macro name="hand"><link name="a"/></xacro:macro>'
        '<xacro:macro name="finger"/></robot>'
    )
    with pytest.raises(ModelError) as raised:
        armlet.load(path)
    assert str(raised.value) == (
        "hand.xacro: it has no links, only macros (hand, finger): expected a file that includes "
        "this one and calls them"
    )


@needs_xacro
def test_a_file_without_links_of_its_own_is_expanded_whatever_its_ending(tmp_path):
    path = tmp_path / "arm.urdf"
    base = '<xacro:macro name="b"><link name="base"/></xacro:macro><xacro:b/>'
    text = ARM.replace('<link name="base"/>', base).replace("REST", "<!-- two dashes -->")
    path.write_text(text.replace("unless", "if").replace("$(arg hand)", "${1 > 2}"))
    assert armlet.load(path, xacro={"n": 1}).joint_names == ("to_upper",)


def test_what_xacro_left_in_a_urdf_file_is_overlooked(tmp_path):
    armlet.load("planar2r").to_urdf(tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text()
    (tmp_path / "arm.urdf").write_text(text.replace("</robot>", "<xacro:sensor/></robot>"))
    assert armlet.load(tmp_path / "arm.urdf").nq == 2


@needs_xacro
def test_errors_name_the_expanded_file(refusal):
    message = refusal('<link name="x"><inertial><mass value="${\'a\'}"/></inertial></link>')
    assert message.startswith("arm.urdf.xacro (expanded), line")


@needs_xacro
def test_the_package_that_others_use_stays_as_it_is(load):
    written = minidom.Element.writexml
    load()
    assert minidom.Element.writexml is written
    assert "xacro" not in sys.modules


def test_without_the_package_the_message_says_how_to_install_it(refusal, monkeypatch):
    monkeypatch.setattr("armlet.formats.xacro.find_spec", lambda name: None)
    assert refusal().endswith("is not installed: pip install 'armlet[xacro]'")


def test_arguments_of_other_files_are_refused(tmp_path):
    armlet.load("planar2r").to_urdf(tmp_path / "arm.urdf")
    with pytest.raises(ModelError, match="xacro= is for files of xacro"):
        armlet.load(tmp_path / "arm.urdf", xacro={"a": 1})

"""xacro: what real files do is expanded; nothing runs, and nothing outside the folders is read."""

import os
import sys
import time
from importlib.util import find_spec
from xml.dom import minidom

import numpy as np
import pytest
from support.commands import run

import armlet
from armlet import ModelError
from armlet.formats.expressions import SYMBOLS, evaluated

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
    told = run("info", tmp_path / "arm.urdf.xacro", "--xacro", "n=1", "--json")
    assert "to_lower" not in told.stdout
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
    for name in ("parts/hand.xacro", "$(find my_parts)/hand.xacro", "$(dirname)/parts/hand.xacro"):
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
    with pytest.raises(ModelError, match=r"arm.xml: it is MJCF made with xacro"):
        armlet.load(path)


@needs_xacro
def test_an_environment_variable_is_its_default_and_a_hard_pattern_takes_no_time(load):
    weld = '<joint name="w" type="fixed"><parent link="base"/><child link="none"/></joint>'
    assert "none" in load(f'<link name="$(optenv HOME none)"/>{weld}').frames
    start = time.process_time()
    load(f'<xacro:macro name="s" params="{"a=" + "a" * 5000}\'"/>')
    assert time.process_time() - start < 10


@needs_xacro
def test_a_file_that_takes_too_long_is_refused(refusal):
    start = time.process_time()
    said = refusal('<link name="${len(list(range(40000)))}"/>' * 20_000)
    assert said.endswith("takes more than 5 s: expected what a robot needs")
    assert time.process_time() - start < 15


@needs_xacro
def test_arguments_without_a_value_are_all_named_at_once(refusal):
    assert refusal('<link name="$(arg prefix)$(arg model)$(arg n)"/>').endswith(
        "the argument 'prefix' has no value: give it by xacro={'prefix': …, 'model': …} (on the "
        "command line --xacro prefix=… --xacro model=…)"
    )


@needs_xacro
@pytest.mark.parametrize("test", ["n == 2", "not hand", "kind == 'left'", "0.5 > size"])
def test_evaluations_have_arguments_as_numbers_and_truth_values(load, test):
    more = '<xacro:arg name="kind" default="left"/><xacro:arg name="size" default="1e-1"/>'
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
    text = ARM.replace('<link name="base"/>', base).replace("REST", "<!-- two -- dashes -->")
    path.write_text(text.replace("unless", "if").replace("$(arg hand)", "${1 > 2}"))
    assert armlet.load(path, xacro={"n": 1}).joint_names == ("to_upper",)


def test_what_xacro_left_in_a_urdf_file_is_overlooked(tmp_path):
    armlet.load("planar2r").to_urdf(tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text()
    (tmp_path / "arm.urdf").write_text(text.replace("</robot>", "<xacro:sensor/></robot>"))
    assert armlet.load(tmp_path / "arm.urdf").n == 2


@needs_xacro
def test_errors_name_the_expanded_file(refusal):
    said = refusal('<link name="x"><inertial><mass value="${\'a\'}"/></inertial></link>')
    assert said.startswith("arm.urdf.xacro (expanded), line")


@needs_xacro
def test_the_package_that_others_use_stays_as_it_is(load):
    written = minidom.Element.writexml
    load()
    assert minidom.Element.writexml is written
    assert not [name for name in sys.modules if "_armlet_xacro" in name]


def test_without_the_package_the_message_says_how_to_install_it(refusal, monkeypatch):
    monkeypatch.setattr("armlet.formats.xacro.importlib.util.find_spec", lambda name: None)
    assert refusal().endswith("is not installed: pip install 'armlet[xacro]'")


def test_arguments_of_other_files_are_refused(tmp_path):
    armlet.load("planar2r").to_urdf(tmp_path / "arm.urdf")
    with pytest.raises(ModelError, match="xacro= is for files of xacro"):
        armlet.load(tmp_path / "arm.urdf", xacro={"a": 1})


# ---------------------------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 ** 2", 19),
        ("-pi / 2", -1.5707963267948966),
        ("math.radians(180) == pi", True),
        ("'a' + 'b'", "ab"),
        ("x if x > 2 else 0", 3),
        ("not x == 3 or None", None),
        ("0 < x <= 3", True),
        ("d['k'][0] + d.k[1]", 3),
        ("d.get('none', 5)", 5),
        ("'a,b'.split(',')[1].upper()", "B"),
        ("[1, 2, 3][1:]", [2, 3]),
        ("dict(a=1)['a']", 1),
        ("max(1, 2, *[3])", None),
        ("python.len('abc') + python.sum([1, 2])", 6),
        ("'b' in ['a', 'b']", True),
        ("list(range(3))", [0, 1, 2]),
        ("{'a': 1}['a']", 1),
        ("'a-b'.replace('-', '_')", "a_b"),
        ("round(2.567, 1)", 2.6),
    ],
)
def test_expressions_of_robots_have_their_values(text, value):
    names = SYMBOLS | {"x": 3, "d": {"k": [1, 2]}}
    if value is None and "*" in text:
        with pytest.raises(ModelError, match="Starred in an expression"):
            evaluated(text, names, "arm.xacro")
    else:
        assert evaluated(text, names, "arm.xacro") == value


HOSTILE = [
    "__import__('os').system('touch RAN')",
    "open('/etc/passwd').read()",
    "().__class__.__bases__[0].__subclasses__()",
    "''.__class__",
    "str.__class__",
    "str.format('{0.__class__}', 1)",
    "'{0.__class__}'.format(1)",
    "f'{1}'",
    "(lambda: 1)()",
    "[x for x in range(3)]",
    "(x := 3)",
    "eval('1')",
    "exec('1')",
    "os.system('touch RAN')",
    "math.__loader__",
    "math.pi.__class__",
    "python.open('/etc/passwd')",
    "python.type('')",
    "python.vars(math)",
    "len.__self__",
    "xacro.__class__",
    "[].append.__self__",
    "(1).__class__",
    "print('a')",
    "getattr(1, 'real')",
    "'%s' % 1",
    "9 ** 9 ** 9",
    "2 ** 10000",
    "'a' * 10 ** 9",
    "10 ** 9 * 'a'",
    "[0] * 10 ** 9",
    "range(10 ** 9)",
    "list(range(10 ** 9))",
    "1 << 10 ** 9",
    "'a'.join(['b' * 90000] * 90000)",
    "('a' * 90000).replace('a', 'b' * 90000)",
    "'a'.zfill(10 ** 9)",
    "'a'.ljust(10 ** 9)",
    "round(1, 10 ** 9) ** 10 ** 9",
    "(" * 500 + "1" + ")" * 500,
    "-" * 5000 + "1",
    "1" * 9999,
    "1 +",
    "",
    "await x",
    "b'a' * 10",
    "...",
    "**{}",
    "dict(**{'a': 1})",
    "int('9' * 5000)",
    " + ".join(["len(list(range(90000)))"] * 300),
    "1/0",
    "[1][5]",
    "nobody",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_an_expression_may_not_do_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    with pytest.raises(ModelError, match=r"^arm.xacro: \$\{"):
        evaluated(text, SYMBOLS, "arm.xacro")
    assert time.process_time() - start < 5
    assert not os.listdir(tmp_path)


# ---------------------------------------------------------------------------------- attacks


@pytest.fixture
def opened(monkeypatch):
    """The files that are opened and the commands that are run, as Python reports them."""
    seen = []

    def hook(event, args):
        if hook.on and event in ("open", "os.system", "subprocess.Popen", "os.exec", "os.listdir",
                                 "glob.glob", "os.scandir", "socket.connect"):  # fmt: skip
            seen.append((event, str(args[0])))

    hook.on = True
    sys.addaudithook(hook)
    yield seen
    hook.on = False


def multiplied(form):
    """A YAML file whose entries are each many of the one before."""
    rows = ["a0: &a0 {x: 1, y: 2}"]
    rows += [f"a{k}: &a{k} {form.format(', '.join([f'*a{k - 1}'] * 10))}" for k in range(1, 12)]
    return "\n".join(rows)


def property_of(expression):
    return f'<xacro:property name="p" value="${{{expression}}}"/><link name="x${{p}}"/>'


ATTACKS = {
    "import": property_of("__import__('os').system('touch RAN')"),
    "open": property_of("open('/etc/passwd').read()"),
    "classes": property_of("().__class__.__bases__"),
    "yaml of the system": property_of("xacro.load_yaml('/etc/passwd')"),
    "yaml above": property_of("xacro.load_yaml('../secret.yaml')"),
    "yaml, old name": property_of("load_yaml('../secret.yaml')"),
    "yaml that runs": property_of("load_yaml('runs.yaml')"),
    "yaml of aliases": property_of("load_yaml('aliases.yaml')"),
    "yaml of mergers": property_of("load_yaml('merged.yaml')"),
    "yaml of itself": property_of("load_yaml('itself.yaml')"),
    "include of the system": '<xacro:include filename="/etc/passwd"/>',
    "include above": '<xacro:include filename="../secret.xacro"/>',
    "include by expression": "<xacro:include filename=\"${'..' + '/secret.xacro'}\"/>",
    "include by package": '<xacro:include filename="$(find ..)/secret.xacro"/>',
    "include by link": '<xacro:include filename="link.xacro"/>',
    "include of a pattern": '<xacro:include filename="/etc/*"/>',
    "include of itself": '<xacro:include filename="arm.urdf.xacro"/>',
    "include of entities": '<xacro:include filename="entities.xacro"/>',
    "environment": '<link name="$(env HOME)"/>',
    "working folder": '<link name="$(cwd)"/>',
    "anonymous": '<link name="$(anon x)"/>',
    "evaluation": "<link name=\"$(eval __import__('os').system('touch RAN'))\"/>",
    "evaluation of open": "<link name=\"$(eval open('/etc/passwd').read())\"/>",
    "endless macro": '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    "macros of macros": "".join(
        f'<xacro:macro name="m{k}">{f"<xacro:m{k + 1}/>" * 10}</xacro:macro>' for k in range(9)
    ) + '<xacro:macro name="m9"><link name="x"/></xacro:macro><xacro:m0/>',
    "texts of texts": "".join(
        f'<xacro:property name="p{k}" value="{f"${{p{k + 1}}}" * 10}"/>' for k in range(12)
    ) + '<xacro:property name="p12" value="aaaaaaaaaa"/><link name="${p0}"/>',
    "lists of lists": "".join(
        f'<xacro:property name="p{k}" value="${{[{", ".join([f"p{k + 1}"] * 10)}]}}"/>'
        for k in range(12)
    ) + '<xacro:property name="p12" value="1"/><link name="${p0}"/>',
    "property that is itself": '<xacro:property name="p" value="${p}"/><link name="${p}"/>',
    "name that is code": '<xacro:property name="print(1)" value="1"/>',
    "dunder": '<xacro:property name="__builtins__" value="1"/>',
    "macro of globals": '<xacro:call macro="__class__"/>',
    "many dollars": f'<link name="{"$$" * 50_000}"/>',
}  # fmt: skip


@needs_xacro
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_by_name_and_nothing_runs_or_is_read(
    tmp_path, monkeypatch, opened, attack
):
    """Above the file are a secret and files to include; nothing there may be opened."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("secret.xacro", "secret.yaml"):
        (tmp_path / name).write_text('<robot><link name="secret"/></robot>')
    (folder / "link.xacro").symlink_to(tmp_path / "secret.xacro")
    (folder / "runs.yaml").write_text("!!python/object/apply:os.system ['touch RAN']")
    (folder / "aliases.yaml").write_text(multiplied("[{}]"))
    (folder / "merged.yaml").write_text(multiplied("{{<<: [{}]}}"))
    (folder / "itself.yaml").write_text("&a [*a]")
    (folder / "entities.xacro").write_text(
        '<!DOCTYPE r [<!ENTITY e SYSTEM "/etc/passwd">]><robot>&e;</robot>'
    )
    path = folder / "arm.urdf.xacro"
    path.write_text(ARM.replace("REST", ATTACKS[attack]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    opened.clear()
    with pytest.raises(ModelError) as raised:
        armlet.load(path)
    assert time.process_time() - start < 15
    message = str(raised.value)
    assert message.startswith(("arm.urdf.xacro", "entities.xacro"))
    assert len(message) < 3000
    assert all(line.isprintable() for line in message.splitlines())
    assert "root:" not in message
    assert os.environ.get("HOME", "?") not in message.replace(str(tmp_path), "")
    assert not (tmp_path / "RAN").exists()
    assert not (folder / "RAN").exists()
    read = {name for event, name in opened if event == "open" and ".py" not in name}
    others = [x for x in opened if x[0] != "open"]
    assert all(name.startswith(str(folder)) or "site-packages" in name or "/lib/" in name
               for name in read), read  # fmt: skip
    assert all(event in ("os.listdir", "os.scandir") and "/lib/" in name
               for event, name in others), others  # fmt: skip

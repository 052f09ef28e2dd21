"""Files made to hurt: small ones that cost much, texts that are no numbers, endless names."""

import time

import numpy as np
import pytest

import armlet
from armlet import ModelError
from armlet.description import Connection, Description, Link, assemble
from armlet.description.assembly import _parents_first
from armlet.errors import MAX_LISTED, MAX_SHOWN, clip, listing, quote

HEAD = 'gravity = [0, 0, -9.81]\nangles = "radians"\n'
BOX = '<geom type="box" size=".1 .2 .3"/>'
SECONDS = 10
"""Of processor time, far more than is needed: these files took minutes or many gigabytes."""


@pytest.fixture
def load(tmp_path):
    """Load a text as a file of an ending."""

    def from_text(text, ending):
        path = tmp_path / f"arm.{ending}"
        path.write_text(text, encoding="utf-8")
        return armlet.load(path)

    return from_text


@pytest.fixture
def refusal(load):
    """The message that refuses a text."""

    def from_text(text, ending):
        with pytest.raises(ModelError) as raised:
            load(text, ending)
        return str(raised.value)

    return from_text


def robot(text):
    return f'<robot name="arm">{text}</robot>'


def mujoco(bodies, rest=""):
    return f"<mujoco>{rest}<worldbody>{bodies}</worldbody></mujoco>"


def fixed(k, parent, child):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="joint{k}" type="fixed">{ends}</joint>'


def defaults(text):
    return mujoco(f"<body><joint/>{BOX}</body>", f"<default>{text}</default>")


# ------------------------------------------------------------------ small files that cost much


def links(n):
    return "".join(f'<link name="link{k}"/>' for k in range(n))


# fmt: off
COSTLY = {
    "dotted key": ("toml", HEAD + ".".join("a" * 40_000) + " = 1",
        "arm.toml, line 3: a key of more than 20 parts: expected fewer"),
    "dotted key in quotes": ("toml", HEAD + ' . '.join(['"a"', "'a'"] * 20_000) + " = 1",
        "arm.toml, line 3: a key of more than 20 parts: expected fewer"),
    "dotted header": ("toml", HEAD + f"[{'.'.join('a' * 40_000)}]",
        "arm.toml, line 3: a key of more than 20 parts: expected fewer"),
    "5,000 arrays in each other": ("toml", HEAD + "x = " + "[" * 5000 + "]" * 5000,
        "arm.toml, line 3: arrays or tables are nested deeper than 20 levels: expected fewer"),
    "5,000 tables in each other": ("toml", HEAD + "x = " + "{a = " * 5000 + "1" + "}" * 5000,
        "arm.toml, line 3: arrays or tables are nested deeper than 20 levels: expected fewer"),
    "5,000 tables by their key": ("toml", f"name = [{{ {'.'.join('a' * 5000)} = 1 }}]",
        "arm.toml, line 1: a key of more than 20 parts: expected fewer"),
    "integer of 6,000 digits": ("toml", HEAD + "[[body]]\nmass = " + "9" * 6000,
        "arm.toml: an integer has thousands of digits: expected fewer"),
    "hexadecimal name": ("toml", HEAD + "name = 0x" + "f" * 6000,
        "arm.toml: name is a very large int: expected a string"),
    "body with a hexadecimal name": ("toml", HEAD + "[[body]]\nname = 0x" + "f" * 6000,
        "arm.toml, body a very large int: joint is missing: expected a string"),
    "newlines in text": ("urdf", robot("<note>" + "\n" * 1_000_000 + "</note>"),
        "arm.urdf, line 1: <robot> has no <link>: expected at least one"),
    "text between children": ("urdf", robot("<note>" + "x\n<b/>" * 190_000 + "</note>"),
        "arm.urdf, line 1: <robot> has no <link>: expected at least one"),
    "more elements than a robot has": ("urdf", robot("<a/>" * 200_000),
        "arm.urdf, line 1: <a> is one of more than 200000 elements: expected the description of "
        "one robot"),
    "more elements than MuJoCo compiles soon": ("xml",
        mujoco("<body>" + "<joint/>" * 20_000 + f"{BOX}</body>"),
        "arm.xml, line 1: <body> brings the model to more than 20000 elements: expected the "
        "description of one robot"),
}
# fmt: on


@pytest.mark.parametrize("case", COSTLY)
def test_a_file_that_costs_much_is_refused_at_once(refusal, case):
    ending, text, message = COSTLY[case]
    start = time.process_time()
    assert refusal(text, ending) == message
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize(
    ("parent", "loop"),
    [
        (lambda k: k - 1 if k else 59_999, "link0 -> link59999 -> link59998 -> "),
        (lambda k: min(k + 1, 59_999), "link59999 -> link59999;"),
    ],
)
def test_a_loop_of_many_links_is_found_in_linear_time(parent, loop):
    names = [f"link{k}" for k in range(60_000)]
    joints = [Connection(f"joint{k}", "fixed", names[parent(k)], names[k]) for k in range(60_000)]
    whole = Description("arm", tuple(map(Link, names)), tuple(joints), np.zeros(3), where="arm")
    start = time.process_time()
    with pytest.raises(ModelError) as raised:
        assemble(whole)
    assert time.process_time() - start < SECONDS
    message = "arm: every link has a parent, the joints form a loop: "
    assert str(raised.value).startswith(message + loop)
    assert len(str(raised.value)) < 500


# fmt: off
LARGE = {
    "10,000 joints in reverse order": ("urdf",
        robot(links(10_001)
              + "".join(fixed(k, f"link{k}", f"link{k + 1}") for k in reversed(range(10_000)))),
        10_001),
    "15,000 classes": ("xml",
        defaults("".join(f'<default class="c{k}"/>' for k in range(15_000))), 2),
    "bodies as deep as may be": ("xml",
        mujoco(f"<body><joint/>{BOX}" * 190 + "</body>" * 190), 191),
    "frames as deep as may be": ("xml",
        mujoco("<frame>" * 190 + f"<body><joint/>{BOX}</body>" * 100 + "</frame>" * 190), 101),
}
# fmt: on


@pytest.mark.parametrize("case", LARGE)
def test_a_large_file_loads_in_linear_time(load, case):
    ending, text, frames = LARGE[case]
    start = time.process_time()
    assert len(load(text, ending).frames) == frames
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize(
    "line",
    [
        'source = "' + "a." * 100 + '"',
        "source = '" + "a.[{" * 100 + "'",
        'source = """' + 'a."" \\" \n[[{' * 100 + '"""""',
        "source = '''" + "a.'' \n[[{" * 100 + "'''''",
        "# " + "a.[{\"'" * 100,
        'source = "a" # ' + '"""' + "[{." * 100,
        'source = "\\"' + "[" * 100 + '"',
        "[[body]]\nname = 'b'\njoint = 'j'\nmeshes = [ # ]]}\n"
        + '{ file = "a.stl", xyz = [1.0, 2.0, 3.0] }, ' * 100
        + "]",
    ],
)
def test_strings_comments_and_numbers_are_no_structure(load, line):
    assert load(HEAD + line, "toml").name == "arm"


@pytest.mark.parametrize("seed", range(20))
def test_joints_keep_the_order_of_the_file_as_far_as_parents_come_first(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    names = [f"link{k}" for k in range(n + 1)]
    joints = [
        Connection(f"joint{k}", "fixed", names[rng.integers(0, k)], names[k])
        for k in range(1, n + 1)
    ]
    joints = [joints[k] for k in rng.permutation(n)]
    expected, reached, waiting = [], {names[0]}, list(joints)
    while waiting:
        first = next(joint for joint in waiting if joint.parent in reached)
        expected.append(first.name)
        reached.add(first.child)
        waiting.remove(first)
    whole = Description("arm", tuple(map(Link, names)), tuple(joints), np.zeros(3))
    assert [joint.name for joint in _parents_first(whole, joints, names[0])] == expected


# ------------------------------------------------------------------ texts that are no numbers


@pytest.mark.parametrize(
    "text",
    [
        "1_0",
        "٣",
        "1\u00a0",
        "1\u2003",
        "１",
        "0x10",
        "1e",
        "e5",
        ".",
        "+",
        "1e+",
        "--1",
        "nan",
        "inf",
        "1e999",
        "1f",
        "1,0",
        "1.0.0",
        "(1)",
        "0b1",
        "1d5",
    ],
)
def test_only_numbers_of_c_are_numbers(refusal, text):
    tensor = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="{text}"/>{tensor}</inertial>'
    message = refusal(robot(f'<link name="base">{inertial}</link>'), "urdf")
    assert message == f'arm.urdf, line 1: <mass value="{clip(text)}">: expected a finite number'


@pytest.mark.parametrize("text", ["1", "+1.", "-.5e+3", "1E5", "1.e-3", " 1\t", "0" * 6000 + "1"])
def test_every_number_of_c_is_a_number(load, text):
    found = load(mujoco(f'<body><joint armature="{text.replace("-.", ".")}"/>{BOX}</body>'), "xml")
    assert found.drives[0].rotor_inertia == float(text.replace("-.", "."))


# ------------------------------------------------------------------ messages of bounded length

LONG = "\x1b[31mname" * 50_000
SAFE = LONG.replace("\x1b", "~")
MANY = "".join(f'<link name="link{k}"/>' for k in range(5000))
ONE = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/></joint>'
# fmt: off
TALKATIVE = {
    "root": ("urdf", f"<{'r' * 100_000}/>"),
    "tag": ("urdf", robot(f"<{'r' * 100_000}/>")),
    "attribute": ("urdf", robot(f'<link {"r" * 100_000}="1"/>')),
    "unclosed tag": ("urdf", f"<robot><{'r' * 100_000}>"),
    "encoding": ("urdf", f'<?xml version="1.0" encoding="{"r" * 100_000}"?><robot/>'),
    "kind": ("urdf", robot(f'<link name="a"/><link name="b"/>{ONE.format("j", SAFE, "a", "b")}')),
    "parent": ("urdf", robot(MANY + ONE.format("j", "fixed", SAFE, "link0"))),
    "limit": ("urdf", robot(ONE.format(SAFE, "revolute", "a", "b") + '<link name="a"/>')),
    "number": ("urdf", robot('<link name="a"><inertial><mass value="' + "1 " * 9999 + '"/>'
                             "<inertia/></inertial></link>")),
    "angle": ("urdf", robot(f'<link name="a"/><joint name="j" type="fixed"><origin rpy="'
                            f'{"0" * 9999}99 0 0"/></joint>')),
    "mimic": ("urdf", robot(f'<joint name="{SAFE}" type="fixed"><mimic joint="{SAFE}"/></joint>'
                            '<link name="a"/>')),
    "transmission": ("urdf", robot(
        "".join(ONE.format(f"j{k}", "fixed", "a", "b") for k in range(5000))
        + f'<transmission><joint name="{SAFE}"/><actuator><rotor_inertia value="1"/></actuator>'
        "</transmission>")),
    "ratio": ("urdf", robot("<transmission><joint name='j'/><actuator><mechanicalReduction>"
                            f"{SAFE}</mechanicalReduction></actuator></transmission>")),
    "class": ("xml", mujoco(f'<body childclass="{SAFE}"/>', "<default>" + "".join(
        f'<default class="c{k}"/>' for k in range(5000)) + "</default>")),
    "outermost class": ("xml", mujoco("", f'<default class="{SAFE}"/>')),
    "class twice": ("xml", mujoco("", "<default>" + f'<default class="{SAFE}"/>' * 2
                                  + "</default>")),
    "word": ("xml", mujoco(f'<body><joint type="{SAFE}"/></body>')),
    "euler": ("xml", mujoco("", f'<compiler eulerseq="{SAFE}"/>')),
    "coordinate": ("xml", mujoco("", f'<compiler coordinate="{SAFE}"/>')),
    "unknown attribute": ("xml", mujoco(f'<body><joint dampng="{SAFE}" name="{SAFE}"/></body>')),
    "spring": ("xml", mujoco(f'<body><joint stiffness="{"1 " * 9999}"/></body>')),
    "size": ("xml", mujoco(f'<body name="{SAFE}"><joint/><geom size="{"1 " * 9999}"/></body>')),
    "mesh": ("xml", mujoco(f'<body><joint/><geom type="mesh" mesh="{SAFE}"/></body>')),
    "motor": ("xml", mujoco("".join(f'<body><joint name="j{k}"/>{BOX}</body>' for k in range(999)),
                            f'<actuator><motor joint="{SAFE}"/></actuator>')),
    "equality": ("xml", mujoco("", f'<equality><joint joint1="{SAFE}" joint2="{SAFE}"/>'
                               "</equality>")),
    "direction": ("xml", mujoco(f'<body><joint axis="{"0" * 9999} 0 0"/>{BOX}</body>')),
    "section": ("xml", mujoco("", f'<joint name="{SAFE}"/>')),
    "key": ("toml", HEAD + f'"{SAFE}" = 1'),
    "value": ("toml", HEAD + f'convention = "{SAFE}"'),
    "values": ("toml", HEAD.replace("[0,", "[" + "0," * 100_000)),
    "body": ("toml", HEAD + f'[[body]]\nname = "{SAFE}"'),
    "escapes": ("toml", HEAD + f'tool = "{LONG}"'.replace("\x1b", "\\u001b")),
    "syntax": ("toml", HEAD + f'x = {{ "{SAFE}" = 1, "{SAFE}" = 2 }}'),
    "namespace": ("toml", HEAD + f'x."{SAFE}" = {{}}\nx."{SAFE}".a = 1'),
    "frame": ("toml", HEAD + "".join(
        f'[[frame]]\nname = "f{k}"\nparent = "{"g" * 99}"\n' for k in range(999))),
}
# fmt: on


@pytest.mark.parametrize("case", TALKATIVE)
def test_a_message_is_one_short_line_of_printable_characters(refusal, case):
    ending, text = TALKATIVE[case]
    message = refusal(text, ending)
    assert len(message) < 2500
    assert message.isprintable()


def test_what_is_shown_of_a_text_is_cut_in_the_middle():
    text = "a" * 500 + "b" * 500
    assert clip(text) == "a" * (3 * MAX_SHOWN // 4) + "…" + "b" * (MAX_SHOWN // 4)
    assert quote(text) == repr(clip(text))
    assert clip("\x1b[0m\u202e\n") == r"\x1b[0m\u202e\n"
    assert quote("\x1b[0m\u202e\n") == repr("\x1b[0m\u202e\n")
    assert quote(10**5000) == "a very large int"
    names = [f"link{k}" for k in range(5000)]
    assert listing(names) == ", ".join(names[:MAX_LISTED]) + f" and {5000 - MAX_LISTED:,} more"
    assert listing(names[:MAX_LISTED]) == ", ".join(names[:MAX_LISTED])


@pytest.mark.parametrize(
    ("heavy", "message"),
    [
        ("arm", r"far\.urdf.*'arm': its first moment about"),
        ("base", r"far\.urdf: the links fixed to 'base': their first moment about"),
    ],
)
def test_moments_that_are_too_large_are_refused_though_their_factors_are_not(
    heavy, message, tmp_path
):
    """Such a robot could be written, and not loaded again."""
    path = tmp_path / "far.urdf"
    inertial = (
        '<inertial><origin xyz="1e20 0 0"/><mass value="1e30"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(
        f'<link name="{name}">{inertial if name == heavy else ""}</link>'
        for name in ("base", "arm")
    )
    path.write_text(
        f'<robot name="far">{links}<joint name="j" type="continuous"><parent link="base"/>'
        '<child link="arm"/><axis xyz="0 0 1"/></joint></robot>'
    )
    with pytest.raises(armlet.ModelError, match=message):
        armlet.load(path)


@pytest.mark.parametrize("suffix", [".urdf", ".toml"])
def test_a_robot_with_an_empty_name_is_called_after_its_file(arms, tmp_path, suffix):
    path, again = tmp_path / "arm.urdf", tmp_path / f"again{suffix}"
    arms["planar2r"].to_urdf(path)
    path.write_text(path.read_text().replace('name="planar2r"', 'name=""', 1))
    robot = armlet.load(path)
    assert robot.name == "arm"
    getattr(robot, f"to_{suffix[1:]}")(again)
    assert armlet.load(again).name == "arm"


def test_names_of_positions_must_differ_too(tmp_path):
    """A ball joint "hip" has the position "hip.x"."""
    path = tmp_path / "two.toml"
    bodies = (
        f'[[body]]\nname = "{name}{k}"\njoint = "{joint}"\nkind = "{kind}"\nmass = 1.0\n'
        for k, (name, joint, kind) in enumerate(
            [("leg", "hip", "ball"), ("foot", "hip.x", "revolute")]
        )
    )
    path.write_text('name = "two"\nangles = "radians"\ngravity = [0, 0, -9.81]\n' + "".join(bodies))
    with pytest.raises(armlet.ModelError, match=r"two joint positions are called 'hip\.x'"):
        armlet.load(path)

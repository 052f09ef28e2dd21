"""Arms with names of constants in place of numbers, from tables and TOML files."""

import numpy as np
import pytest
from support.compilers import python_of
from support.robots import deviation, states
from typer.testing import CliRunner

import armlet
from armlet.cli import app

VALUES = {"L": 0.4, "D": 0.2, "twist": 0.3, "off": 0.25, "g": -9.81, "M": 2.0, "I": 0.05, "cx": 0.1}
ROWS = [(0, 0, "D", 0), (np.pi / 2, "L", 0, "off"), ("twist", "L", 0.1, 0), (0, 0, 0, -np.pi / 2)]
BODY = ("I", 0, 0, "I", 0, "I", "cx", 0, 0.3, "M")
TOML = """
name = "own"
gravity = [0, 0, "g"]
angles = "degrees"
convention = "modified"

[[body]]
name = "upper"
joint = "shoulder"
dh = [90, 0, 0, 0]
mass = "M"
inertia = ["I", 0, 0, "I", 0, "I"]

[[body]]
name = "lower"
joint = "elbow"
kind = "prismatic"
dh = [90, "L", 0, 30]
phi = ["I", 0, 0, "I", 0, "I", "cx", 0, 0, "M"]
"""


def numeric(x):
    """The same table with values in place of names."""
    if isinstance(x, str):
        return VALUES[x]
    return [numeric(y) for y in x] if isinstance(x, list | tuple) else x


def with_numbers(joints):
    """The arm with numbers, its inertias given about centres of mass."""
    J, c, m = np.diag([0.05] * 3), np.array([0.1, 0, 0.3]), 2.0
    com = c / m
    I = J - m * (com @ com * np.eye(3) - np.outer(com, com))
    return armlet.Robot.from_dh(
        numeric(ROWS), convention="modified", joints=joints, inertia=[(m, com, I)] * 4
    )


@pytest.mark.filterwarnings("ignore::armlet.ModelWarning")
@pytest.mark.parametrize("joints", ["RRRR", "RPRR"])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "inertia_matrix", "jacobian"])
def test_with_values_it_is_the_arm_with_numbers(joints, quantity):
    arm = armlet.Robot.from_dh(
        ROWS, convention="modified", joints=joints, gravity=(0, 0, "g"), inertia=[BODY] * 4
    )
    robot = with_numbers(joints)
    program = armlet.trace(arm, quantity)
    assert set(program.symbols) <= set(VALUES)
    f = python_of(program)
    given = {name: VALUES[name] for name in program.symbols}
    arrays = states(robot, 3)[: len(program.inputs)]
    expected = getattr(robot, quantity)(*arrays)
    found = [f(*state, **given) for state in zip(*arrays, strict=True)]
    assert deviation(np.array(found), expected) < 1e-12


def test_a_symbol_that_stands_twice_is_one():
    arm = armlet.Robot.from_dh(ROWS, convention="modified", inertia=[BODY] * 4)
    assert arm.symbols.count("L") == 1
    assert arm._symbolic["a2"] == arm._symbolic["a3"] == "L"
    assert armlet.trace(arm, "jacobian").symbols.count("L") == 1


def test_minimal_parameters_are_in_the_symbols():
    pytest.importorskip("sympy")
    rows = [(0, 0, 0, 0), (0, "L", 0, 0)]
    arm = armlet.Robot.from_dh(rows, convention="modified", gravity=(0, -9.81, 0))
    found = armlet.minimal_parameters(arm)
    assert found.expressions["cx1*"] == "cx1 + (L) m2"


def test_a_toml_file_may_have_names(tmp_path):
    (tmp_path / "own.toml").write_text(TOML)
    arm = armlet.load(tmp_path / "own.toml")
    assert arm.links == ("upper", "lower")
    assert [joint.name for joint in arm.joints] == ["shoulder", "elbow"]
    assert arm._joint_letters == "RP"
    assert arm._symbolic["a2"] == "L"
    assert arm.dh[0].alpha == np.pi / 2
    program = armlet.trace(arm, "gravity_torque")
    assert set(program.symbols) <= {"M", "g", "cx", "L"}
    numbers = TOML
    for name in ("L", "M", "I", "cx", "g"):
        numbers = numbers.replace(f'"{name}"', str(VALUES[name]))
    start, end = numbers.split("phi = ")
    text = f"{start}mass = 2.0\ncom = [0.05, 0, 0]\ninertia = [0.05, 0, 0, 0.045, 0, 0.045]\n"
    assert end
    (tmp_path / "numbers.toml").write_text(text)
    robot = armlet.load(tmp_path / "numbers.toml")
    f = python_of(program)
    for q in np.random.default_rng(0).uniform(-1, 1, (3, 2)):
        found = f(q, **{name: VALUES[name] for name in program.symbols})
        assert deviation(found, robot.gravity_torque(q)) < 1e-12


def arm(*rows, **options):
    return armlet.Robot.from_dh(rows, **{"convention": "modified", **options})


REFUSED = {
    "standard": (lambda: arm((0, "L", 0, 0), convention="standard"), "expected 'modified'"),
    "a formula": (lambda: arm((0, "L", "2*L", 0)), "expected four numbers or names of constants"),
    "pi": (lambda: arm(("pi", "L", 0, 0)), "expected four numbers or names of constants"),
    "degrees": (lambda: arm((90, "L", 0, 0)), "has alpha = 90 rad"),
    "infinite": (lambda: arm((0, "L", np.inf, 0)), "expected four numbers or names of constants"),
    "the name of another": (lambda: arm((0, "a7", 0, 0)), "the constant a1 is called 'a7'"),
    "a product": (
        lambda: arm((0, 0, 0, 0), inertia=[("m", (1, 0, 0), (1, 0, 0, 1, 0, 1))]),
        "takes products of constants: expected the ten parameters Jxx Jxy",
    ),
    "three gravities": (lambda: arm((0, "L", 0, 0), gravity=(0, "g")), "gravity is"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_symbols_cannot_be_is_refused(case):
    make, message = REFUSED[case]
    with pytest.raises(armlet.ModelError, match=message.replace("*", ".").replace("'", ".")):
        make()


def test_an_arm_of_symbols_without_masses_has_no_torques():
    with pytest.raises(armlet.ModelError, match="has no masses"):
        armlet.trace(arm((0, "L", 0, 0)), "inverse_dynamics")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('joint = "elbow"', 'joint = "elbow"\nlimits = {}', "body 'lower': unknown key 'limits'"),
        ('kind = "prismatic"', 'kind = "planar"', "kind is 'planar': expected one of revolute"),
        ('joint = "elbow"', 'joint = "elbow"\nparent = "base"', "parent is 'base': expected"),
        ("phi =", "mass = 1\nphi =", "phi and mass are given"),
        ('[90, "L", 0, 30]', '[90, "L", 0]', "dh is .*: expected four numbers or names"),
        ('"modified"', '"standard"', "expected 'modified'"),
    ],
)
def test_what_a_toml_file_with_names_cannot_have_is_refused(old, new, message, tmp_path):
    (tmp_path / "own.toml").write_text(TOML.replace(old, new))
    with pytest.raises(armlet.ModelError, match=message):
        armlet.load(tmp_path / "own.toml")


@pytest.mark.parametrize("symbolic", [arm((0, "L", 0, 0)), armlet.general_arm("RP")], ids=str)
def test_what_needs_numbers_says_so(symbolic, tmp_path):
    for make in (
        lambda: symbolic.to_toml(tmp_path / "it.toml"),
        lambda: symbolic.to_urdf(tmp_path / "it.urdf"),
        lambda: symbolic.lock({"joint1": 0}),
        lambda: symbolic.with_payload(1, (0, 0, 0)),
        lambda: symbolic.mass,
        lambda: symbolic.forward_kinematics([0] * symbolic.nq),
    ):
        with pytest.raises(armlet.ModelError, match="has constants without a value"):
            make()
    assert symbolic.gravity.shape == (3,)


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_the_command_shows_names(option, tmp_path):
    (tmp_path / "own.toml").write_text(TOML)
    done = CliRunner().invoke(app, ["info", str(tmp_path / "own.toml"), *option])
    assert done.exit_code == 0
    assert "L" in done.output.split() or '"L"' in done.output


def test_joints_of_an_arm_of_symbols_cannot_be_locked(tmp_path):
    (tmp_path / "own.toml").write_text(TOML)
    with pytest.raises(armlet.ModelError, match="lock=, gravity= and order= are not taken"):
        armlet.load(tmp_path / "own.toml", lock={"elbow": 0})

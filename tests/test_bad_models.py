"""Messages about files and calls that cannot be right."""

import tomllib
from math import inf, nan, pi
from pathlib import Path

import numpy as np
import pytest

import armlet
from armlet import ModelError, ModelWarning, Robot
from armlet.errors import quote

FOLDER = Path(__file__).parent / "bad_models"
EXPECTED = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
DOUBTFUL = [
    "toml_inertia_not_positive.toml",
    "toml_inertia_triangle.toml",
    "toml_inertia_without_mass.toml",
    "toml_massless_tip.toml",
    "toml_spring_negative.toml",
    "toml_viscous_negative.toml",
    "urdf_axis_without_xyz.urdf",
    "urdf_damping_negative.urdf",
    "urdf_inertia_not_positive.urdf",
    "urdf_inertia_off_diagonal.urdf",
    "urdf_inertia_triangle.urdf",
    "urdf_inertia_without_mass.urdf",
    "urdf_inertial_twice.urdf",
    "urdf_limit_nan.urdf",
    "urdf_limit_text.urdf",
    "urdf_lower_above_upper.urdf",
    "urdf_massless_tip.urdf",
    "urdf_missing_inertia.urdf",
    "urdf_missing_mass.urdf",
    "urdf_negative_effort.urdf",
    "urdf_negative_velocity.urdf",
    "urdf_origin_twice.urdf",
    "urdf_parent_twice.urdf",
    "urdf_prismatic_without_limit.urdf",
    "urdf_revolute_without_limit.urdf",
    "urdf_rpy_degrees.urdf",
]
MUJOCO = ": MuJoCo refuses "
ENDINGS = ".urdf, .xacro, .sdf, .world, .xml, .mjcf, .toml"
ROD = (1.0, (0.5, 0, 0), (0.001, 0, 0, 1 / 12, 0, 1 / 12))


def test_the_table_lists_every_file_and_no_other():
    files = {path.name for path in FOLDER.iterdir()} - {"expected.toml"}
    assert files == set(EXPECTED)
    assert len(files) >= 60


@pytest.mark.parametrize("name", EXPECTED)
def test_a_malformed_file_is_refused_with_its_message(name):
    with pytest.raises(ModelError) as raised:
        armlet.load(FOLDER / name, strict=True)
    message, expected = str(raised.value), EXPECTED[name]
    if MUJOCO in expected:  # whose reason is in its own words
        message = message[: len(expected)]
    assert message == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_a_message_starts_with_the_place_and_holds_no_folder(name):
    assert EXPECTED[name].startswith(name)
    assert str(FOLDER) not in EXPECTED[name]


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_doubtful_file_loads_with_a_warning_when_not_strict(name):
    with pytest.warns(ModelWarning) as warned:
        armlet.load(FOLDER / name, tolerance=1e-5)
    assert [str(warning.message) for warning in warned] == [EXPECTED[name]]


# ---------------------------------------------------------------------------------- calls


def from_dh(*rows, **options):
    return Robot.from_dh(rows or [(0, 0, 0, 0)], **{"convention": "modified", **options})


def planar():
    return armlet.load("planar2r")


CONVENTION = (
    "from_dh: the convention is {}: expected 'modified' (Craig: alpha and a come first, the frame "
    "is on the joint's own axis) or 'standard' (theta and d first, the frame is on the next axis)"
)
TURN = ", more than a turn: expected less (a quarter turn is pi/2 rad or 90 degrees)"
INERTIA = (
    "the inertia of row 1 of the DH table is {}: expected (mass, centre of mass, inertia), the "
    "inertia as 3x3 or as xx xy xz yy yz zz"
)
FINITE = ": expected finite numbers below 1e+50 in size"

# fmt: off
CALLS = {
    "wrong convention": (lambda: from_dh(convention="craig"), CONVENTION.format("'craig'")),
    "row of five": (lambda: from_dh((0, 0, 0, 0), (0, 0, 0, 0, 0)),
        "row 2 of the DH table is (0, 0, 0, 0, 0): expected four numbers alpha, a, d, theta"),
    "row of three": (lambda: from_dh((0, 0, 0)),
        "row 1 of the DH table is (0, 0, 0): expected four numbers alpha, a, d, theta"),
    "row that is a number": (lambda: from_dh(1.0),
        "row 1 of the DH table is 1.0: expected four numbers alpha, a, d, theta"),
    "text in a row": (lambda: from_dh(("pi/2", 0, 0, 0)),
        "row 1 of the DH table is ('pi/2', 0, 0, 0): expected four numbers alpha, a, d, theta"),
    "alpha in degrees": (lambda: from_dh((90, 0, 0, 0)),
        "row 1 of the DH table has alpha = 90 rad (5156.62 degrees)" + TURN),
    "theta in degrees": (lambda: from_dh((pi / 2, 0, 0, -180)),
        "row 1 of the DH table has theta = -180 rad (-10313.2 degrees)" + TURN),
    "NaN in a row": (lambda: from_dh((0, nan, 0, 0)),
        "row 1 of the DH table is [0.0, nan, 0.0, 0.0]: expected finite numbers"),
    "infinite alpha": (lambda: from_dh((inf, 0, 0, 0)),
        "row 1 of the DH table is [inf, 0.0, 0.0, 0.0]: expected finite numbers"),
    "huge length": (lambda: from_dh((0, 1e300, 0, 0)),
        "arm: joint 'joint1': its origin is [1e+300, 0.0, 0.0]" + FINITE),
    "wrong letter": (lambda: from_dh((0, 0, 0, 0), (0, 0, 0, 0), joints="RX"),
        "joints is 'RX': expected 2 letters R and P, one per row"),
    "too few letters": (lambda: from_dh((0, 0, 0, 0), (0, 0, 0, 0), joints="R"),
        "joints is 'R': expected 2 letters R and P, one per row"),
    "inertia of three numbers": (lambda: from_dh(inertia=[(1.0, (0, 0, 0), (1, 1, 1))]),
        INERTIA.format("(1.0, (0, 0, 0), (1, 1, 1))")),
    "centre of mass of two": (lambda: from_dh(inertia=[(1.0, (0, 0), (1, 0, 0, 1, 0, 1))]),
        INERTIA.format("(1.0, (0, 0), (1, 0, 0, 1, 0, 1))")),
    "mass alone": (lambda: from_dh(inertia=[1.0]), INERTIA.format("1.0")),
    "inertia of too many bodies": (lambda: from_dh(inertia=[ROD, ROD]),
        "inertia has 2 entries: expected 1, one per row"),
    "inertia not symmetric": (lambda: from_dh(inertia=[(1.0, (0, 0, 0), np.triu(np.ones((3, 3))))]),
        "arm: link 'link1' has the inertia [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]: "
        "expected a symmetric tensor"),
    "mass not finite": (lambda: from_dh(inertia=[(nan, *ROD[1:])]),
        "arm: link 'link1': its mass is nan" + FINITE),
    "negative mass": (lambda: from_dh(inertia=[(-1.0, *ROD[1:])]),
        "arm: link 'link1' has mass -1.0: expected none below zero"),
    "gravity of two": (lambda: from_dh(gravity=(0, -9.81)),
        "gravity is (0, -9.81): expected three numbers, in base axes"),
    "gravity in words": (lambda: armlet.load("planar2r", gravity="moon"),
        "gravity is 'moon': expected three numbers, in base axes"),
    "gravity not finite": (lambda: armlet.load("planar2r", gravity=(0, 0, -inf)),
        "planar2r.toml: gravity is [0.0, 0.0, -inf]" + FINITE),
    "text that is a number in a row": (lambda: from_dh(("1", 0, 0, 0)),
        "row 1 of the DH table is ('1', 0, 0, 0): expected four numbers alpha, a, d, theta"),
    "integer beyond every float": (lambda: from_dh(inertia=[(10**400, *ROD[1:])]),
        INERTIA.format(quote((10**400, *ROD[1:])))),
    "table that is none": (lambda: Robot.from_dh(None, convention="modified"),
        "rows is None: expected a sequence, one entry per joint"),
    "table of no rows": (lambda: Robot.from_dh([], convention="modified"),
        "the DH table has no rows: expected one per joint"),
    "inertia that is none": (lambda: from_dh(inertia=3.0),
        "inertia is 3.0: expected a sequence, one entry per joint"),
    "joints in a list": (lambda: from_dh(joints=["R"]),
        "joints is ['R']: expected 1 letters R and P, one per row"),
    "joints that are none": (lambda: from_dh(joints=1),
        "joints is 1: expected 1 letters R and P, one per row"),
    "convention that is none": (lambda: from_dh(convention=np.zeros(2)),
        CONVENTION.format("array([0., 0.])")),
    "name that is none": (lambda: from_dh(name=3),
        "name is 3: expected a string, not an empty one"),
    "empty name": (lambda: from_dh(name=""), "name is '': expected a string, not an empty one"),
    "gravity in digits": (lambda: from_dh(gravity=("0", "0", "-9.81")),
        "gravity is ('0', '0', '-9.81'): expected three numbers, in base axes"),
    "gravity beyond every float": (lambda: armlet.load("planar2r", gravity=(0, 0, 10**400)),
        f"gravity is {quote((0, 0, 10**400))}: expected three numbers, in base axes"),
    "complex gravity": (lambda: armlet.load("planar2r", gravity=(0, 0, 1j)),
        "gravity is (0, 0, 1j): expected three numbers, in base axes"),
    "general arm of a number": (lambda: armlet.general_arm(6),
        "joints is 6: expected letters R and P, such as 'RRPRRR'"),
    "general arm of a list": (lambda: armlet.general_arm(["R", "P"]),
        "joints is ['R', 'P']: expected letters R and P, such as 'RRPRRR'"),
    "robot that is none": (lambda: armlet.load(None),
        "load was given None: expected the path of a file or the name of a robot"),
    "lock of a list": (lambda: armlet.load("planar2r", lock=["joint1"]),
        "lock is ['joint1']: expected a value for each joint, by its name"),
    "lock at a text": (lambda: armlet.load("planar2r", lock={"joint1": "0"}),
        "joint 'joint1' cannot be locked at '0': expected a finite number"),
    "lock beyond all lengths": (lambda: planar().lock({"joint1": 1e300}),
        "joint 'joint1' cannot be locked at 1e+300: expected a finite number"),
    "wrong letter in the general arm": (lambda: armlet.general_arm("RXR"),
        "joints is 'RXR': expected letters R and P, such as 'RRPRRR'"),
    "general arm of no joints": (lambda: armlet.general_arm(""),
        "joints is '': expected letters R and P, such as 'RRPRRR'"),
    "unknown robot": (lambda: armlet.load("pumma560"),
        "no robot is called 'pumma560': expected a file, or one of "
        + ", ".join(armlet.catalogue())),
    "text of a file": (lambda: armlet.load('<robot name="arm"><link name="base"/></robot>'),
        "load was given the text of a file: expected its path, or the name of a robot"),
    "unknown joint to lock": (lambda: planar().lock({"elbow": 0.0}),
        "lock: no moving joint is called 'elbow': expected one of joint1, joint2"),
    "unknown joint to lock while loading": (lambda: armlet.load("planar2r", lock={"elbow": 0.0}),
        "planar2r.toml: no moving joint is called 'elbow': expected one of joint1, joint2"),
    "fixed joint to lock": (lambda: armlet.load("planar2r", lock={"tip_fixed": 0.0}),
        "planar2r.toml: no moving joint is called 'tip_fixed': expected one of joint1, joint2"),
    "lock at NaN": (lambda: planar().lock({"joint1": nan}),
        "joint 'joint1' cannot be locked at nan: expected a finite number"),
    "unknown tip": (lambda: planar().subchain("hand"),
        "robot 'planar2r' has no frame 'hand': name one of base, link1, link2, tip"),
}
# fmt: on


@pytest.mark.parametrize("case", CALLS)
def test_a_wrong_call_is_refused_with_its_message(case):
    call, message = CALLS[case]
    with pytest.raises(ModelError) as raised:
        call()
    assert str(raised.value) == message


@pytest.mark.parametrize("tolerance", [nan, inf, -1e-9, 0.1, 1, "1e-9", None, 1j, True, [1e-9]])
def test_a_tolerance_is_a_small_number(tolerance):
    with pytest.raises(ModelError) as raised:
        armlet.load("planar2r", tolerance=tolerance)
    expected = "expected a number of at least 0 and below 0.1 (rad)"
    assert str(raised.value) == f"tolerance is {tolerance!r}: {expected}"


@pytest.mark.parametrize("tolerance", [0, 1e-5, np.float32(1e-5), 0.09])
def test_any_small_number_is_a_tolerance(tolerance):
    assert armlet.load("planar2r", tolerance=tolerance).nq == 2


def test_a_dh_table_needs_its_convention():
    with pytest.raises(TypeError, match="convention"):
        Robot.from_dh([(0, 0, 0, 0)])


# ---------------------------------------------------------------------------------- files


def refusal(path):
    with pytest.raises(ModelError) as raised:
        armlet.load(path)
    return str(raised.value)


def test_a_missing_file_is_named_with_its_path(tmp_path):
    assert refusal(tmp_path / "arm.urdf") == f"{tmp_path / 'arm.urdf'}: no such file"
    assert refusal("arm\0.urdf") == r"arm\x00.urdf: no such file"
    assert refusal("a" * 5000 + ".urdf").endswith("a.urdf: no such file")


@pytest.mark.parametrize("name", ["arm.urdf", "arm"])
def test_a_folder_is_no_model(tmp_path, name):
    (tmp_path / name).mkdir()
    expected = f"{name}: this is a folder: expected a file that ends in one of {ENDINGS}"
    assert refusal(tmp_path / name) == expected


@pytest.mark.parametrize(("name", "ending"), [("arm.step", "'.step'"), ("arm", "''")])
def test_a_file_of_another_ending_is_no_model(tmp_path, name, ending):
    (tmp_path / name).write_text("<robot/>")
    expected = f"{name}: the ending is {ending}: expected one of {ENDINGS}"
    assert refusal(tmp_path / name) == expected


@pytest.mark.parametrize("name", ["arm.urdf", "arm.xml", "arm.toml"])
def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch, name):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / name).touch()
    monkeypatch.setattr(Path, "open", denied)
    expected = f"{name}: the file cannot be read: Permission denied; expected one you may read"
    assert refusal(tmp_path / name) == expected


@pytest.mark.parametrize("name", ["arm.urdf", "arm.xml", "arm.toml"])
def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch, name):
    (tmp_path / name).write_bytes(b" " * 11)
    monkeypatch.setattr("armlet.formats.files.MAX_BYTES", 10)
    assert refusal(tmp_path / name) == (
        f"{name}: the file has more than 10 bytes: expected the description of one robot, "
        "without its meshes"
    )


def test_a_byte_order_mark_does_no_harm(tmp_path):
    text = armlet.catalogue()["planar2r"].read_bytes()
    (tmp_path / "arm.toml").write_bytes(b"\xef\xbb\xbf" + text)
    assert armlet.load(tmp_path / "arm.toml").nq == 2

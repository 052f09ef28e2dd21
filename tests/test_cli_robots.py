"""The options of commands that say which robot, how wide output is, and what shells complete."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from support.commands import ARMLET, run
from support.compilers import needs
from support.robots import MIMIC
from typer.testing import CliRunner

import armlet
from armlet.cli import COMMANDS, app
from armlet.cli.robot_options import OPTIONS

HAND = MIMIC.replace(
    "</robot>",
    """<link name="pad"/>
  <joint name="curl" type="revolute">
    <parent link="right"/><child link="pad"/><axis xyz="1 0 0"/><limit lower="0" upper="1"/>
    <mimic joint="follow" multiplier="-2" offset="0.5"/>
  </joint>
</robot>""",
)
WITHOUT_ROBOT = ("robots",)
WITH_ROBOT = [x.__name__ for x in COMMANDS if x.__name__ not in WITHOUT_ROBOT]


@pytest.fixture
def hand(tmp_path):
    path = tmp_path / "hand.urdf"
    path.write_text(HAND)
    return path


def shown(*args):
    done = run(*args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ------------------------------------------------------------------ joints that mimic others


def test_info_says_what_q_holds_and_which_joints_it_moves(hand):
    data = shown("info", hand, "--json")
    assert [x["name"] for x in data["coordinates"]] == ["open"]
    assert data["couplings"]["follow"] == {"leader": "open", "factor": 1, "offset": 0}
    assert data["couplings"]["curl"] == {"leader": "open", "factor": -2, "offset": 0.5}
    text = run("info", hand).stdout
    assert "q holds open" in text
    assert "-2 open + 0.5" in text
    locked = shown("info", hand, "--json", "--mimic", "lock")
    assert locked["couplings"] == {}
    assert [row["joint"] for row in locked["table"]] == ["open"]


def test_all_problems_of_a_file_are_lines_of_one_error(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        HAND.replace('<link name="', '<link name="\x85\U0001f916', 1)
        .replace('type="revolute"', 'type="planar"')
        .replace('type="prismatic"', 'type="ball"'),
        encoding="utf-8",
    )
    done = run("info", path)
    assert done.returncode == 1
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: arm.urdf: ")
    assert first.endswith(" problems:")
    assert rest
    assert all(line.startswith("  ") and line.isprintable() for line in rest)


def test_mimic_joints_are_locked_where_they_follow(hand):
    arm = armlet.load(hand, lock={"open": 0.1}, mimic="lock")
    assert arm.nq == 0
    assert armlet.load(hand, lock={"open": 0.1, "follow": 0.1, "curl": 0.3}) == arm
    assert armlet.load(hand, lock={"open": 0.1}) == arm
    assert armlet.load(hand).lock({"open": 0.1}).frames["pad"].pose.r == pytest.approx(
        arm.frames["pad"].pose.r
    )
    free = armlet.load(hand, mimic="free", lock={"follow": 0, "curl": 0.5})
    assert armlet.load(hand, mimic="lock") == free


def test_tied_joints_of_mjcf_are_locked_where_they_follow(tmp_path):
    body = '<body name="{0}"><joint name="{0}" {1}/><geom size="1" mass="1"/></body>'
    path = tmp_path / "tied.xml"
    path.write_text(
        f"""<mujoco><compiler angle="radian"/><worldbody>
        {body.format("a", 'ref="0.2"')}{body.format("b", 'ref="0.1"')}{body.format("c", "")}
        </worldbody><equality><joint joint1="a" joint2="b" polycoef="0.3 2 1"/></equality></mujoco>
        """
    )
    arm = armlet.load(path, lock={"b": 0.5}, mimic="lock")
    assert arm.joint_names == ("c",)
    a = 0.2 + 0.3 + 2 * 0.4 + 0.4**2
    assert arm == armlet.load(path, lock={"a": a, "b": 0.5})


# ------------------------------------------------------------------ options of a robot


@pytest.mark.parametrize("command", WITH_ROBOT)
def test_every_command_with_a_robot_takes_the_options_of_load(command):
    text = run(command, "--help").stdout
    assert all(f"--{name}" in text for name in OPTIONS)


@pytest.mark.parametrize("command", ["info", "count", "compare", "generate", "demo"])
def test_every_command_with_kinematics_takes_a_frame(command):
    assert "--frame" in run(command, "--help").stdout


def test_joints_are_locked_and_gravity_and_tool_are_set(hand):
    data = shown(
        "info", hand, "--json", "--mimic", "lock", "--tool", "left", "--gravity", "0", "0", "-1.62"
    )
    assert data["joints"] == "P"
    assert data["tool"] == "left"
    assert data["gravity"] == [0, 0, -1.62]
    arm = armlet.load(hand, mimic="lock", tool="left")
    assert arm.tool == "left"


def test_the_tolerance_makes_rounded_angles_exact(tmp_path):
    path = tmp_path / "rounded.toml"
    armlet.load("puma560").to_toml(path)
    turned = re.sub(r"1\.57079632679\d+", "1.5708", path.read_text())
    assert turned != path.read_text()
    path.write_text(turned)
    command = ("count", path, "--quantity", "gravity_torque", "--json")
    rounded, exact = (shown(*command, "--tolerance", x)[0]["all"] for x in ("1e-14", "1e-4"))
    assert exact["M"] < rounded["M"]


def test_springs_are_shown_or_left_out(tmp_path):
    path = tmp_path / "sprung.xml"
    path.write_text(
        """<mujoco><worldbody><body name="rod" gravcomp="0.5"><joint name="hinge" stiffness="7"/>
        <geom size="1" mass="4" pos="1 0 0"/></body></worldbody></mujoco>"""
    )
    text = run("info", path).stdout
    assert re.search(r"springs .*hinge +7 ", text, re.DOTALL)
    assert "compensated" in text
    data = shown("info", path, "--json")
    assert data["table"][0]["spring"] == {"stiffness": 7, "reference": 0}
    assert data["gravity_compensation"]["rod"][-1] == 2
    bare = run("info", path, "--json", "--passive", "ignore")
    assert json.loads(bare.stdout)["table"][0]["spring"]["stiffness"] == 0
    assert "springs of joints 'hinge'; gravity compensation of links 'rod'" in bare.stderr


def test_a_frame_is_counted_and_shown():
    command = ("count", "panda", "--quantity", "jacobian", "--json")
    whole, part = (shown(*command, *x)[-1]["minimal"]["M"] for x in ((), ("--frame", "link3")))
    assert part < whole / 2
    found = shown("info", "panda", "--frame", "flange", "--json")["poses"]["flange"]
    assert found["link"] == "link7"
    assert found["xyz"] == [0, 0, pytest.approx(0.107)]


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("info", "panda", "--lock", "joint3"), "error: --lock 'joint3' is not understood"),
        (("info", "panda", "--lock", "joint3=x"), "error: --lock 'joint3=x' is not understood"),
        (("info", "panda", "--tool", "hand3"), "error: robot 'panda' has no frame 'hand3'"),
        (("count", "--general", "RR", "--tool", "link1"), "error: --tool is for a robot"),
        (("count", "panda", "--frame", "hand3"), "error: robot 'panda' has no frame 'hand3'"),
    ],
)
def test_an_option_that_does_not_fit_is_one_clear_line(args, line):
    done = run(*args)
    assert done.returncode == 1
    assert done.stderr.startswith(line)
    assert len(done.stderr.strip().splitlines()) == 1


# ------------------------------------------------------------------ output


TABLES = [
    "count planar2r --quantity inverse_dynamics",
    "compare planar2r --quantity gravity_torque",
    "info puma560 --frame flange",
    "robots",
    "minimal puma560",
    "demo planar2r --html /dev/null",
]


def numbers(text):
    """The numbers in a text, in their order of size; measured times and lines of words aside."""
    return sorted(re.findall(r"(?<![\w.-])-?\d+\.?\d*(?:e[-+]?\d+)?[MA]?(?![\w.])", text))


@pytest.mark.parametrize("columns", ["20", "80"])
@pytest.mark.parametrize("command", TABLES)
def test_no_number_is_shortened_at_any_width(command, columns):
    narrow = run(*command.split(), env={"COLUMNS": columns})
    assert narrow.returncode == 0, narrow.stderr
    assert "…" not in re.sub(r"\d … -?\d", "", narrow.stdout)
    if not command.startswith(("compare", "demo")):  # whose times differ from run to run
        wide = run(*command.split(), env={"COLUMNS": ""})
        assert numbers(narrow.stdout) == numbers(wide.stdout)


def test_a_pipe_gets_each_row_on_one_line():
    rows = run("count", "puma560", "--quantity", "inertia_matrix", env={"COLUMNS": ""}).stdout
    assert re.search(r"^frames .* origins moved back along the axes of joint3 *$", rows, re.M)


@pytest.mark.parametrize("command", [*TABLES[:-1], "count --published --quantity coriolis_matrix"])
def test_json_is_all_that_is_on_standard_output(command):
    assert isinstance(shown(*command.split(), "--json"), list | dict)


def test_python_m_armlet_is_the_command():
    done = run("info", "panda", "--json", command=(sys.executable, "-m", "armlet"))
    assert done.returncode == 0
    assert json.loads(done.stdout)["name"] == "panda"


# ------------------------------------------------------------------ generated code


def passes_its_test(folder):
    """Whether the C of a folder builds and passes its own test."""
    files = map(str, folder.glob("*.c"))
    subprocess.run(["gcc", *files, "-lm", "-o", folder / "it"], check=True, cwd=folder)
    return subprocess.run([folder / "it"], stdout=subprocess.DEVNULL).returncode == 0


@needs("gcc")
def test_several_quantities_without_a_frame_are_one_function(tmp_path):
    shown("generate", "planar2r", "-f", "terms=inertia_matrix,bias", "-o", tmp_path, "--json")
    assert "planar2r_terms(" in (tmp_path / "planar2r_dynamics.h").read_text()
    assert passes_its_test(tmp_path)


@needs("gcc")
def test_several_frames_are_several_functions(tmp_path):
    made = shown(
        "generate",
        "panda",
        "-f",
        "jacobian",
        "-f",
        "bias",
        "--frame",
        "link4",
        "--frame",
        "flange",
        "-o",
        tmp_path,
        "--json",
    )
    names = [f["name"] for f in made["functions"]]
    assert names == ["jacobian_link4", "jacobian_flange", "bias"]
    assert "panda_jacobian_link4(" in (tmp_path / "panda_dynamics.h").read_text()
    assert passes_its_test(tmp_path)


@needs("gcc")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_inertias_may_be_arguments_of_generated_code(tmp_path, dtype):
    made = shown(
        "generate",
        "planar3r",
        "-f",
        "inverse_dynamics",
        "-f",
        "gravity_torque",
        "-f",
        "jacobian",
        "--argument",
        "inertia",
        "--argument",
        "gravity",
        "--dtype",
        dtype,
        "-o",
        tmp_path,
        "--json",
    )
    inverse, _, kinematics = (list(f["arguments"]) for f in made["functions"])
    assert inverse == ["q", "qd", "qdd", "inertia", "gravity"]
    assert kinematics == ["q"]
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"| 19 | m2 | {armlet.load('planar3r').m[1]!r} |" in page
    assert passes_its_test(tmp_path)


@needs("gcc")
@pytest.mark.parametrize("name", ["inverse_dynamics", "jacobian", "coriolis_matrix"])
def test_the_self_test_fails_if_the_program_is_not_the_quantity(tmp_path, monkeypatch, name):
    rows = [(0.1, 0, 0, 0), (0.2, 1, 0, 0), (0.3, 1, 0, 0)]
    rod = (1.0, (0.5, 0, 0), (0.001, 0, 0, 1 / 12, 0, 1 / 12))
    other = armlet.Robot.from_dh(rows, convention="modified", inertia=[rod] * 3)

    def wrong(arm, *args, **options):
        return armlet.cheapest(other.with_tool("link3"), *args, **options)

    command = ["generate", "planar3r", "-f", name, "-o"]
    CliRunner().invoke(app, [*command, str(tmp_path / "right")])
    assert passes_its_test(tmp_path / "right")
    monkeypatch.setattr(sys.modules["armlet.cli.commands.generate"], "cheapest", wrong)
    CliRunner().invoke(app, [*command, str(tmp_path / "wrong")])
    assert not passes_its_test(tmp_path / "wrong")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("-f bias --frame link1", "error: --frame is for kinematics"),
        ("-f jacobian --argument inertia", "error: --argument inertia: none of the functions"),
        ("-f bias --argument mass", "error: group of constants is 'mass'"),
        ("-f jacobian --frame flange --frame flange", "error: two functions would be called"),
    ],
)
def test_options_that_no_function_takes_are_refused(tmp_path, options, line):
    done = run("generate", "planar2r", *options.split(), "-o", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(line)


# ------------------------------------------------------------------ shells


def completed(line):
    words = line.split(" ")
    environment = {
        "_ARMLET_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    return run(env=environment).stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("armlet inf", ["info"]),
        ("armlet info pu", ["puma560"]),
        ("armlet count panda --quantity inverse_d", ["inverse_dynamics"]),
        ("armlet generate panda -f gravity_t", ["gravity_torque"]),
        ("armlet generate panda -f inverse_dynamics:luh", ["inverse_dynamics:luh_walker_paul"]),
        ("armlet compare panda --frame fl", ["flange"]),
        ("armlet info panda --lock joint7", ["joint7="]),
        ("armlet minimal panda --of gr", ["gravity"]),
    ],
)
def test_the_shell_completes_names(line, expected):
    assert completed(line) == expected


def test_the_shell_completes_files(tmp_path, monkeypatch):
    (tmp_path / "mine.urdf").touch()
    (tmp_path / "mine.txt").touch()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.sdf").touch()
    assert completed("armlet info mi") == ["mine.sdf", "mine.urdf"]


def test_completion_can_be_installed():
    """The shell that starts the command decides; Bash stays its parent only if more follows."""
    done = run(f"{ARMLET} --show-completion; exit", command=("bash", "-c"))
    assert "_ARMLET_COMPLETE" in done.stdout


# ------------------------------------------------------------------ simulate


def test_simulate_writes_the_motion_and_tells_it(tmp_path):
    out = tmp_path / "run.csv"
    done = run("simulate", "planar2r", "--duration", "1", "--q0", "0.1,0.2", "--out", str(out))
    found = armlet.Trajectory.read(out)
    assert (len(found), found.q[0].tolist()) == (1001, [0.1, 0.2])
    assert "planar2r: 1001 rows, 0 to 1 s" in done.stdout
    held = shown("simulate", "planar2r", "--torque", "hold", "--duration", "0.5", "--json")
    assert held["last"]["q"] == pytest.approx([0, 0], abs=1e-9)
    torques = tmp_path / "torques.csv"
    np.savetxt(torques, np.ones((10, 2)), delimiter=",")
    options = ("--duration", "0.1", "--dt", "0.01", "--method", "rk4", "--json")
    pushed = shown("simulate", "planar2r", "--torque", str(torques), *options)
    assert pushed["last"]["tau"] == [1.0, 1.0]


def test_the_default_start_is_within_the_limits():
    panda = armlet.load("panda")
    done = shown("simulate", "panda", "--torque", "hold", "--duration", "0.1", "--json")
    q = np.array(done["last"]["q"])
    assert ((panda.lower < q) & (q < panda.upper)).all()
    middle = (panda.lower[3] + panda.upper[3]) / 2
    np.testing.assert_allclose(q, [0, 0, 0, middle, 0, 0, 0], atol=0.05)


def test_an_arm_is_held_against_springs_and_with_gravity_compensation(tmp_path):
    path = tmp_path / "sprung.toml"
    armlet.load("planar2r").to_toml(path)
    passive = """
spring = { stiffness = 5.0, reference = 0.5 }
gravity_compensation = { mass = 0.7, moment = [0.3, 0.0, 0.0] }
"""
    path.write_text(path.read_text().replace("\n\n[[frame]]", passive + "\n[[frame]]"))
    held = shown("simulate", str(path), "--torque", "hold", "--duration", "0.5", "--json")
    assert held["last"]["q"] == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--q0", "1,2,3"), "--q0 is '1,2,3': expected 2 numbers with commas between"),
        (("--out", "run.txt"), "--out run.txt ends in '.txt': expected .npz, .csv, .parquet"),
        (("--torque", "none"), "--torque is 'none': expected zero, hold, or a .csv or .npy file"),
        (("--method", "euler"), "method is 'euler': expected one of dop853"),
    ],
)
def test_simulate_refuses_what_it_does_not_understand(options, message):
    done = run("simulate", "planar2r", *options)
    assert done.returncode == 1
    assert message in done.stderr

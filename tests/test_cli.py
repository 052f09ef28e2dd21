"""The command line, as a user calls it."""

import inspect
import json
import os
import re
from pathlib import Path

import pytest
from support import hostile
from support.commands import run
from typer.testing import CliRunner

import armlet
from armlet import cli
from armlet.cli import app

COMMANDS = [command.__name__ for command in cli.COMMANDS]


def test_robots_lists_the_catalogue():
    listed = run("robots")
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in armlet.catalogue())
    rows = json.loads(run("robots", "--json").stdout)
    assert [row["name"] for row in rows] == list(armlet.catalogue())
    assert all(row["source"] and row["title"] for row in rows)


def test_compare_says_which_formulation_cannot_be_relied_on():
    """Conjugate gradients end early on arms of six joints, and are right on those of few."""
    result = CliRunner().invoke(app, ["compare", "stanford", "--quantity", "forward_dynamics"])
    text = " ".join(result.output.split())  # whatever the width of the terminal
    assert re.findall(r"(\w+) is off by [^:]*: take another formulation", text) == [
        "walker_orin_cg"
    ]
    few = ["compare", "planar3r", "--quantity", "forward_dynamics"]
    assert "take another formulation" not in CliRunner().invoke(app, few).output
    rows = json.loads(CliRunner().invoke(app, [*few, "--json"]).output)
    assert max(row["deviation"] for row in rows) < 1e-9


def test_info_shows_frames_masses_and_drives():
    shown = run("info", "puma560")
    assert shown.returncode == 0
    for word in ("joint3", "0.4318", "rotor inertia", "Armstrong", "flange", "-225 … 45"):
        assert word in shown.stdout
    data = json.loads(run("info", "stanford", "--json").stdout)
    assert data["joints"] == "RRPRRR"
    assert len(data["phi"]["link1"]) == len(data["phi_order"]) == 10


def _M_A(count):
    return {key: count[key] for key in "MA"}


def test_count_prints_what_trace_counts():
    shown = run("count", "planar3r", "--quantity", "inverse_dynamics", "--json")
    *rows, best = json.loads(shown.stdout)
    assert [row["formulation"] for row in rows] == list(armlet.formulations("inverse_dynamics"))
    arm = armlet.load("planar3r").without_drives()
    for name, row in (("newton_euler", rows[0]["minimal"]), (None, best["minimal"])):
        counted = armlet.trace(arm, "inverse_dynamics", name, constants={"inertia": "symbolic"})
        assert (row["M"], row["A"]) == (counted.count().M, counted.count().A)
    assert best["steps"][0] | {"step": ""} == {"step": "", **_M_A(rows[0]["minimal"])}
    assert best["steps"][-1] | {"step": ""} == {"step": "", **_M_A(best["minimal"])}
    steps = run("count", "puma560", "--quantity", "inertia_matrix").stdout
    assert "origins moved back along the axes of joint3" in " ".join(steps.split())
    assert "lengths in units of 0.4318 m" in " ".join(steps.split())
    refused = run("count", "panda", "--quantity", "cartesian_model")
    assert refused.returncode == 1
    assert "no formulation of cartesian_model holds for robot 'panda'" in refused.stderr
    general = run("count", "--general", "RPR")
    assert general.returncode == 0
    assert "inertia_matrix" in general.stdout


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("info", "nobody"), "error: no robot is called 'nobody'"),
        (("info", "missing.urdf"), "error: missing.urdf: no such file"),
        (("count",), "error: name a robot or give --general RRRRRR, one of the two"),
        (("count", "panda", "--quantity", "power"), "error: quantity is 'power'"),
        (
            ("count", "--published", "--quantity", "energy", "--plot", "x.html"),
            "error: no published total is of energy",
        ),
        (("count", "--general", "RX"), "error: joints is 'RX'"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_one(args, line):
    result = run(*args)
    assert result.returncode == 1
    assert result.stderr.startswith(line)
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


# ------------------------------------------------------------------ names from files


@pytest.mark.parametrize(
    "command",
    [
        ("info",),
        ("info", "--json"),
        ("demo", "--html", "/dev/null"),
        ("count", "--quantity", "bias"),
        ("minimal",),
        ("compare", "--quantity", "gravity_torque"),
        ("generate", "-f", "bias", "-o", "generated"),
        ("bench", "--rounds", "1"),
    ],
    ids=" ".join,
)
def test_a_name_is_neither_markup_nor_a_command_of_the_terminal(tmp_path, command):
    (tmp_path / "arm.toml").write_text(hostile.ARM)
    name, *options = command
    result = run(name, "arm.toml", *options, cwd=tmp_path)
    assert "Traceback" not in result.stderr
    assert result.returncode == 0
    printed = [result.stdout, result.stderr]
    printed += [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()][
        1:
    ]
    for text in printed:
        assert text.replace("\n", "").isprintable()
        assert "☺" not in text
    if name in ("info", "demo", "minimal"):
        assert "[/x] \\" in result.stdout


def test_every_command_prints_on_the_same_terminal():
    folder = Path(armlet.__file__).parent / "cli"
    for path in folder.rglob("*.py"):
        if path.name != "output.py":
            assert not re.search(
                r"rich\.(console|markup)|Text\([^)]", path.read_text(encoding="utf-8")
            ), path.name


def test_a_file_name_that_is_no_utf8_is_reported(tmp_path):
    result = run("info", os.fsdecode(b"\xff\x1b[31m.urdf"), cwd=tmp_path)
    assert result.stderr == "error: \\udcff\\x1b[31m.urdf: no such file\n"


# ------------------------------------------------------------------ output that is not taken


@pytest.mark.parametrize("command", ["info panda", "info panda --json", "robots", "--version"])
def test_a_full_disk_is_one_clear_line(command):
    with open("/dev/full", "w") as full:
        result = run(*command.split(), stdout=full)
    assert result.returncode == 1
    assert result.stderr == "error: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("command", ["info panda", "info panda --json", "robots", "--version"])
def test_a_closed_pipe_ends_a_command_without_a_word(command):
    end, start = os.pipe()
    os.close(end)
    try:
        result = run(*command.split(), stdout=start)
    finally:
        os.close(start)
    assert result.returncode == 1
    assert result.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
@pytest.mark.parametrize(
    "command", ["info puma560", "compare planar2r --quantity gravity_torque", "info --help"]
)
def test_characters_that_the_terminal_does_not_have_are_spelled_out(command, encoding):
    result = run(*command.split(), env={"PYTHONIOENCODING": encoding}, encoding=encoding)
    assert result.returncode == 0, result.stderr
    assert "\\u" not in result.stdout
    assert "\\x" not in result.stdout
    if encoding == "ascii" and command == "info puma560":
        assert "-225 ... 45 deg" in result.stdout
        ends = {len(x) for x in result.stdout.splitlines() if re.match(r"joint\d  rev", x)}
        assert len(ends) == 1


def test_a_name_is_spelled_in_ascii_or_escaped():
    words = "\u03b1\u0394 q\u0307 \u00e9 \u65e5 \u2192 \u2588"
    assert words.encode("ascii", "spell") == rb"alphaDelta qd e \u65e5 -> #"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("view planar2r --html /", "/: cannot be written: this is a folder"),
        ("view planar2r --html /nowhere/x", "/nowhere/x: cannot be written: /nowhere is no"),
        ("simulate planar2r --out /nowhere/x.csv", "/nowhere/x.csv: cannot be written: /nowhere"),
        ("identify planar2r x.csv -o /nowhere/x.urdf", "/nowhere/x.urdf: cannot be written: /now"),
        ("identify planar2r x.csv --report /nowhere/x", "/nowhere/x: cannot be written: /nowhere"),
        ("identify planar2r x.csv --report x.json", "--report x.json ends in '.json'"),
        (
            "generate planar2r -f bias -o /dev/null/x",
            "/dev/null/x: cannot be written: /dev/null is",
        ),
    ],
)
def test_a_path_is_checked_before_the_work(command, line, monkeypatch):
    def worked(*_, **__):
        raise AssertionError("worked before the path was checked")

    name, *args = command.split()
    monkeypatch.setattr("armlet.cli.robot_options.load", worked)
    result = CliRunner().invoke(app, [name, *args])
    assert isinstance(result.exception, armlet.ArmletError)
    assert str(result.exception).startswith(line)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command):
    assert f"Example: armlet {command}" in run(command, "--help").stdout


def test_the_page_lists_all_commands():
    page = Path(__file__).parents[1] / "docs" / "commands.md"
    listed = re.findall(r"^\| `armlet (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(listed) == set(COMMANDS)


def test_a_file_of_commands_is_a_command():
    files = Path(cli.__file__).parent.joinpath("commands").glob("[!_]*.py")
    assert {path.stem for path in files} == set(COMMANDS)


def test_every_command_but_those_of_pictures_prints_data():
    parameters = {x.__name__: inspect.signature(x).parameters for x in cli.COMMANDS}
    assert {x for x, taken in parameters.items() if "as_json" not in taken} == {"demo", "view"}

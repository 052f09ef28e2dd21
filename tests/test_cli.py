"""The command line, as a user calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import armlet

ARMLET = Path(sys.executable).with_name("armlet")


def run(*args):
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(
        [ARMLET, *args], capture_output=True, text=True, timeout=60, env=environment
    )


def test_robots_lists_the_catalogue():
    listed = run("robots")
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in armlet.catalogue())
    rows = json.loads(run("robots", "--json").stdout)
    assert [row["name"] for row in rows] == list(armlet.catalogue())
    assert all(row["source"] and row["title"] for row in rows)


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
    shown = run("count", "panda", "--quantity", "inverse_dynamics", "--json")
    *rows, best = json.loads(shown.stdout)
    assert [row["formulation"] for row in rows] == list(armlet.formulations("inverse_dynamics"))
    arm = armlet.load("panda").without_drives()
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


def test_demo_stays_on_the_definition():
    shown = run("demo", "planar3r")
    assert shown.returncode == 0
    assert "inverse_dynamics" in shown.stdout


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("info", "nobody"), "error: no robot is called 'nobody'"),
        (("info", "missing.urdf"), "error: missing.urdf: no such file"),
        (("count",), "error: name a robot or give --general RRRRRR, one of the two"),
        (("count", "panda", "--quantity", "power"), "error: no quantity is called 'power'"),
        (("count", "--general", "RX"), "error: joints is 'RX'"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_one(args, line):
    told = run(*args)
    assert told.returncode == 1
    assert told.stderr.startswith(line)
    assert len(told.stderr.strip().splitlines()) == 1
    assert told.stdout == ""


@pytest.mark.parametrize("command", ["robots", "info", "count", "demo"])
def test_help_shows_an_example(command):
    assert f"Example: armlet {command}" in run(command, "--help").stdout

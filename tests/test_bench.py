"""The benchmark runs and says what it measured; how fast is not asked here."""

import json

import numpy as np
import pytest
from support.commands import run

import armlet
from armlet.cli.commands.bench import show
from armlet.cli.measure import TIMED
from armlet.cli.terminal import Terminal
from armlet.runtime.timing import native_loop, time_in_turns, vector_operations


@pytest.fixture(scope="module")
def data():
    shown = run("bench", "planar2r", "--peers", "--rounds", "1", "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def test_the_tables_name_quantities_and_rivals(data, capsys):
    show(data, Terminal())
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("inverse_dynamics", "Pinocchio", "MuJoCo"))


def test_every_quantity_is_timed_in_every_way(data):
    assert list(data["quantities"]) == list(TIMED)
    for found in data["quantities"].values():
        assert found["call"]["median"] > 0
        assert found["kernel"]["median"] > 0
        assert set(found["first"]) == {"trace", "one", "rows"}
        for dtype in ("float64", "float32"):
            batch = found["batch"][dtype]
            assert batch["1"]["median"] > 0
            assert batch["2"]["median"] > 0
            assert batch["bound"] > 0


def test_the_rivals_compute_the_same(data):
    assert data["skipped"] == []
    found = data["quantities"]
    assert {"Pinocchio", "MuJoCo"} <= set(found["inverse_dynamics"]["rivals"])
    assert "Pinocchio" in found["inverse_dynamics"]["batch"]["float64"]["1"]["rivals"]
    for name in found.keys() - {"regressor"}:
        assert all(rival["difference"] < 1e-10 for rival in found[name]["rivals"].values())


def test_the_machine_and_the_versions_are_told(data):
    machine = data["machine"]
    assert machine["versions"]["armlet"] == armlet.__version__
    assert machine["clock"] > 1e8
    assert machine["fused"]["float64"] > 1e7


def test_the_bound_counts_the_fused_program():
    robot = armlet.load("planar2r").without_drives()
    kernel = armlet.compile(robot, "gravity_torque")
    program, sines = vector_operations(kernel)
    count = kernel.operations
    assert max(count.M, count.A) <= program <= count.M + count.A
    assert sines > 0


def test_the_native_loop_runs_the_kernel():
    robot = armlet.load("planar2r").without_drives()
    kernel = armlet.compile(robot, "inverse_dynamics")
    states = list(np.random.default_rng(0).uniform(-1, 1, (3, 256, 2)))
    loop = native_loop(kernel, states)
    assert time_in_turns({"loop": loop}, 1)["loop"].median > 0
    _, (found,) = loop.function.kept
    np.testing.assert_array_equal(found, kernel(*states))

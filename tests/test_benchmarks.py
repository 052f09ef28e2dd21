"""The scripts that measure: each can be loaded, says how to run it, and measures what it says."""

import os
import runpy
from pathlib import Path
from unittest.mock import patch

import kernels
import numpy as np
import pytest
import timing
from rich.console import Console
from turns import native_loop, time_in_turns

import armlet

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
PEERS = {"pinocchio", "mujoco", "casadi", "jax", "torch", "symoro", "roboticstoolbox"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_benchmark_can_be_loaded_and_says_how_to_run_it(name):
    try:
        with patch.dict(os.environ):  # some choose a cache of their own
            found = runpy.run_path(str(FOLDER / name), run_name="benchmark")
    except ModuleNotFoundError as error:
        if error.name not in PEERS:
            raise
        pytest.skip(f"needs {error.name}")
    is_script = '__name__ == "__main__"' in (FOLDER / name).read_text(encoding="utf-8")
    usage = f"python benchmarks/{name}" if is_script else "A module of"
    assert usage in found["__doc__"]


def test_benchmarks_use_no_command_line():
    for name in SCRIPTS:
        assert "armlet.cli" not in (FOLDER / name).read_text(encoding="utf-8")


# ------------------------------------------------------------------ kernels.py


@pytest.fixture(scope="module")
def data():
    return kernels.run(armlet.load("planar2r").without_drives(), rounds=1)


def test_the_tables_name_quantities_and_peers(data, capsys):
    kernels.show(data, Console(width=150))
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("inverse_dynamics", "Pinocchio", "MuJoCo"))


def test_every_quantity_is_timed_in_every_way(data):
    assert list(data["quantities"]) == list(timing.QUANTITIES)
    for found in data["quantities"].values():
        assert found["call"]["median"] > 0
        assert found["kernel"]["median"] > 0
        assert set(found["first"]) == {"trace", "one", "rows"}
        for dtype in ("float64", "float32"):
            batch = found["batch"][dtype]
            assert batch["1"]["median"] > 0
            assert batch["2"]["median"] > 0
            assert batch["bound"] > 0


def test_the_peers_compute_the_same(data):
    assert data["skipped"] == []
    found = data["quantities"]
    assert {"Pinocchio", "MuJoCo"} <= set(found["inverse_dynamics"]["peers"])
    assert "Pinocchio" in found["inverse_dynamics"]["batch"]["float64"]["1"]["peers"]
    for name in found.keys() - {"regressor"}:
        assert all(peer["difference"] < 1e-10 for peer in found[name]["peers"].values())


def test_the_machine_and_the_versions_are_in_the_data(data):
    machine = data["machine"]
    assert machine["versions"]["armlet"] == armlet.__version__
    assert machine["clock"] > 1e8
    assert machine["fused"]["float64"] > 1e7


def test_the_bound_counts_the_fused_program():
    robot = armlet.load("planar2r").without_drives()
    kernel = armlet.compile(robot, "gravity_torque")
    program, sines = timing.vector_operations(kernel)
    count = kernel.operations
    assert max(count.M, count.A) <= program <= count.M + count.A
    assert sines > 0


def test_bars_of_times_are_there_only_for_libraries_that_were_timed():
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")

    def spread(median, **more):
        return {"median": median, **more}

    mine = {"1": spread(1e-8, peers={})}
    found = {"call": spread(1e-7), "peers": {}, "batch": {"float64": mine, "rows": 10}}
    beside = {**found, "peers": {"Pinocchio": spread(2e-6)}}
    data = {"robot": "a", "machine": {"cpu": "x"}, "quantities": {"bias": found, "energy": beside}}
    bars = {(bar.name, bar.xaxis): list(bar.x) for bar in kernels.figure(data).data}
    assert bars == {
        ("armlet", "x"): pytest.approx([100, 100]),
        ("armlet", "x2"): pytest.approx([10, 10]),
        ("Pinocchio", "x"): pytest.approx([2000]),
    }


def test_the_native_loop_runs_the_kernel():
    robot = armlet.load("planar2r").without_drives()
    kernel = armlet.compile(robot, "inverse_dynamics")
    states = list(np.random.default_rng(0).uniform(-1, 1, (3, 256, 2)))
    loop = native_loop(kernel, states)
    assert time_in_turns({"loop": loop}, 1)["loop"].median > 0
    _, _, (found,) = loop.function.alive
    np.testing.assert_array_equal(found, kernel(*states))

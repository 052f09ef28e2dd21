"""A slice of every class of `make fuzz`, and that each of them, and the runner, can fail."""

from pathlib import Path

import numpy as np
import pytest
from fuzz.__main__ import main
from fuzz.classes import CLASSES
from fuzz.exact import Tree
from fuzz.loading import ENDINGS, check_load
from fuzz.purposely import computes_for_ever, crashes, fills_the_memory, hangs, passes, raises
from fuzz.runner import run
from fuzz.worker import Class, failure

import armlet
from armlet import Kernel
from armlet.codegen.source.c import TABLE
from armlet.formats import loading
from armlet.formats.urdf import urdf_text
from armlet.graph.rewrite.rules import PASSES
from armlet.graph.trace.elementary import ELEMENTARY
from armlet.identification.logs import units
from armlet.view.server import Access

HURT = Path(__file__).parent / "hurt"
SLICES = {
    "loader_bytes": 200,
    "loader_structure": 40,
    "loader_files": 60,
    "loader_includes": 60,
    "kernels": 300,
    "interrupts": 2,
    "cache": 10,
    "robots": 4,
    "nearly_parallel": 4,
    "functions": 30,
    "simplifier": 40,
    "simulation": 15,
    "c_code": 2,
    "logs": 300,
    "viewer": 20,
}


def test_every_class_has_a_slice():
    assert SLICES.keys() == CLASSES.keys()


@pytest.mark.parametrize("name", SLICES)
def test_a_slice_of_a_class_finds_nothing(name, tmp_path):
    if missing := CLASSES[name].missing():
        pytest.skip(missing)
    result = run(CLASSES[name], tmp_path, trials=SLICES[name])
    assert result.tried == SLICES[name]
    assert result.failures == []


# Put a file that fails into the folder: it is loaded here, and is one to begin with from then on.
@pytest.mark.parametrize("path", sorted(HURT.iterdir()), ids=lambda path: path.name)
def test_a_file_that_once_did_harm_does_none(path, tmp_path):
    assert path.suffix in ENDINGS
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    for seed in range(4):
        check_load(copy, np.random.default_rng(seed))


# ------------------------------------------------------------------ every class can fail


def refusing(error):
    def function(*args, **options):
        raise error

    return function


def upside_down(load):
    return lambda *args, **options: load(*args, **options).with_gravity((0, 0, 9.81))


def a_little_off(function):
    return lambda *args: function(*args) * 1.001


def anywhere(self, name, starts, subject):
    """A file wherever it is."""
    path = starts[0] / name[:200]
    return path if path.suffix and path.is_file() else None


def unchecked(self, name, starts):
    """The paths of a name relative to some folders, wherever they are."""
    return [(start / name).resolve() for start in starts]


# fmt: off
BREAKS = {
    "loader_bytes":     lambda p: p.setattr(loading, "read_toml", refusing(KeyError("name"))),
    "loader_structure": lambda p: p.setattr(loading, "read_mjcf", refusing(IndexError(3))),
    "loader_files": lambda p: p.setattr("armlet.formats.files.Folders.find", anywhere),
    "loader_includes":  lambda p: p.setattr("armlet.formats.files.Folders._inside", unchecked),
    "kernels":    lambda p: p.setattr(Kernel, "evaluate", a_little_off(Kernel.evaluate)),
    "interrupts": lambda p: p.setattr("interrupts.interrupted_run", lambda *_, **__: "lost"),
    "cache":      lambda p: p.setattr("armlet.runtime.cache.save", refusing(OSError("disk full"))),
    "robots":     lambda p: p.setattr(armlet, "load", upside_down(armlet.load)),
    "nearly_parallel":  lambda p: p.setattr(armlet, "load", upside_down(armlet.load)),
    "functions":  lambda p: p.setitem(ELEMENTARY, "tan", ELEMENTARY["arctan"]),
    "simplifier": lambda p: p.setitem(PASSES, "cancel", (lambda x, y: ((x + y) - y, y),)),
    "simulation": lambda p: p.setattr("armlet.simulation.forces.PREFIX", ""),
    "c_code":     lambda p: p.setitem(TABLE, "sub", TABLE["add"]),
    "logs":       lambda p: p.setitem(units.ANGLES, "deg", 1.0),
    "viewer":     lambda p: p.setattr(Access, "is_own_page", lambda *_: True),
}
# fmt: on


def test_every_class_is_broken_once():
    assert BREAKS.keys() == CLASSES.keys()


@pytest.mark.parametrize("name", BREAKS)
def test_a_class_reports_what_is_broken_on_purpose(name, tmp_path, monkeypatch):
    if missing := CLASSES[name].missing():
        pytest.skip(missing)
    BREAKS[name](monkeypatch)
    assert any(failure(CLASSES[name].trial, seed, tmp_path / str(seed)) for seed in range(60))


# ------------------------------------------------------------------ the runner


def reasons(trial, folder, **options):
    tried = Class(trial, "on purpose", **options)
    result = run(tried, folder, trials=2, seed=5, jobs=2)
    assert result.tried == 2
    return [(failure.seed, failure.reason.strip().splitlines()[-1]) for failure in result.failures]


def test_a_crash_a_hang_and_an_exhausted_memory_are_failures(tmp_path):
    assert reasons(passes, tmp_path) == []
    died = "the process: killed by SIGSEGV"
    assert reasons(crashes, tmp_path) == [(5, died), (6, died)]
    for trial in (hangs, computes_for_ever):
        (first, late), (second, _) = reasons(trial, tmp_path, limit=0.5)
        assert (first, second) == (5, 6)
        assert late.startswith("the process: no end after ")
    full = "MemoryError"
    assert reasons(fills_the_memory, tmp_path, memory=2**33) == [(5, full), (6, full)]


def test_the_command_tells_what_failed_and_how_to_see_it_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(CLASSES, "odd", Class(raises, "on purpose"))
    monkeypatch.setitem(CLASSES, "even", Class(passes, "in vain", missing=lambda: "no tool"))
    where = ["--folder", str(tmp_path)]
    assert main(["--only", "odd", "--only", "even", "--trials", "8", "--seed", "100", *where]) == 1
    failed = [seed for seed in range(100, 108) if np.random.default_rng(seed).random() < 0.5]
    output, written = capsys.readouterr().out, (tmp_path / "failed.txt").read_text()
    for text in (output, written):
        assert text.count("ValueError: odd number") == len(failed)
        for seed in failed:
            assert f"--only odd --seed {seed} --trials 1\n" in text
    assert {path.name for path in (tmp_path / "odd").iterdir()} == set(map(str, failed))
    assert "no tool" in output
    assert main(["--only", "odd", "--seed", str(failed[0]), "--trials", "1", *where]) == 1
    fine = next(seed for seed in range(100) if np.random.default_rng(seed).random() >= 0.5)
    assert main(["--only", "odd", "--seed", str(fine), "--trials", "1", *where]) == 0


def test_a_run_ends_when_its_time_is_up(tmp_path):
    result = run(Class(passes, "quick"), tmp_path, seconds=2)
    assert result.tried > 0
    assert result.seconds < 60


def test_the_exact_definition_holds_a_pendulum_up():
    robot = armlet.load("planar2r")
    tree = Tree(urdf_text(robot), robot.joint_names)
    tree.g = tree.g[[0, 2, 1]]
    found = tree.inverse_dynamics([0, 0], [0, 0], [0, 0]).astype(float)
    np.testing.assert_allclose(found, [19.62, 4.905], rtol=1e-15)

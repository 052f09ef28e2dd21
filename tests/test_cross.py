"""Code for other machines than this one: compiled here, and its assembly read."""

import os
import re
import subprocess
import sys
from collections import Counter

import llvmlite.binding as llvm
import numpy as np
import pytest

import armlet
from armlet.codegen.entry.python import entry
from armlet.codegen.llvm.function import Target, modules
from armlet.codegen.llvm.split import many_states_texts, one_state_texts
from armlet.runtime import engine
from armlet.runtime.engine import Cpu, host, in_llvm

AARCH64 = {"linux": "aarch64-unknown-linux-gnu", "macos": "arm64-apple-macosx14.0.0"}
WINDOWS = "x86_64-pc-windows-msvc-elf"  # as llvmlite has it, for code that is run in memory
SCALAR, VECTOR = r"fn?m(?:add|sub)\s+d\d+", r"fml[as](?:\s+v\d+)?\.(\d\w)"


def assembly(triple, target, cpu=""):
    """The code of a Panda's inverse dynamics for one state, and for rows, as assembly."""
    code = armlet.compile(armlet.load("panda"), "inverse_dynamics").code
    (one,) = modules(target, one_state_texts(code, target))
    (many,) = modules(target, many_states_texts(code, target))
    one += entry(code, target.dtype, target.lanes)
    return [in_llvm(printed, text, triple, cpu) for text in (one, many)]


def printed(text, triple, cpu):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    options = {"cpu": cpu, "opt": 3, "jit": True}
    machine = llvm.Target.from_triple(triple).create_target_machine(**options)
    return machine.emit_assembly(engine._parse(text, machine))


def called(text):
    """The functions that are called, of those that are not in the same text."""
    names = set(re.findall(r"\s(?:bl|b|callq?|jmp|movabsq)\s+\$?([A-Za-z_][\w.]*)", text))
    return {name for name in names if f"\n{name}:" not in text}


@pytest.mark.parametrize("system", AARCH64)
@pytest.mark.parametrize(("dtype", "lanes", "shape"), [("float64", 2, "2d"), ("float32", 4, "4s")])
def test_on_aarch64_rows_fill_its_vectors_and_products_are_fused(system, dtype, lanes, shape):
    one, many = assembly(AARCH64[system], Target(dtype, lanes, True))
    fused = Counter(re.findall(VECTOR, many))
    assert fused[shape] > 100
    assert set(fused) <= {shape, "2d"}  # sines of float32 are computed in float64
    if dtype == "float64":
        assert len(re.findall(SCALAR, one)) > 100
    for text in (one, many):
        assert not any(name.strip("_") in ("fma", "fmaf") for name in called(text))


def test_on_windows_the_code_calls_nothing_that_is_not_there():
    one, many = assembly(WINDOWS, Target("float64", 4, True), "haswell")
    assert "vfmadd" in many
    names = {x for x in called(one) | called(many) if not x.startswith(("Py", "armlet_"))}
    assert names <= {"sin", "cos", "__chkstk"}  # of the C library, and of ntdll.dll


@pytest.mark.parametrize(
    ("triple", "features", "target"),
    [
        ("aarch64-unknown-linux-gnu", "+neon,+fp-armv8", Target("float64", 2, True)),
        ("arm64-apple-darwin23", "", Target("float64", 2, True)),
        ("x86_64-unknown-linux-gnu", "+sse4.2,+avx2,+fma", Target("float64", 4, True)),
        ("x86_64-apple-darwin23", "+sse4.2,+avx2,-fma", Target("float64", 4, False)),
        ("x86_64-pc-windows-msvc", "", Target("float64", 2, False)),
    ],
)
def test_the_target_is_what_the_processor_has(monkeypatch, triple, features, target):
    monkeypatch.setattr(engine, "cpu", lambda: Cpu(triple, "", features))
    assert host("float64") == target


def test_a_processor_whose_features_llvm_does_not_know_has_none(monkeypatch):
    def unknown():
        raise RuntimeError("LLVM does not know this processor")

    monkeypatch.setattr(llvm, "get_host_cpu_features", unknown)
    assert engine._start()[2] == ""


NARROW = """
import numpy as np
import armlet
from armlet.runtime.engine import host
robot = armlet.load("panda")
rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1, 1, (3, 20, 7))
np.save("narrow.npy", robot.inverse_dynamics(q, qd, qdd))
one = robot.inverse_dynamics(q[0], qd[0], qdd[0])
np.testing.assert_allclose(one, np.load("narrow.npy")[0], rtol=1e-12, atol=1e-12)
print(host("float64").lanes, host("float64").fuses)
"""


@pytest.mark.parametrize(
    ("name", "target"),
    [("x86-64-v2", "2 False"), ("sandybridge", "2 False"), ("x86-64-v3", "4 True")],
)
def test_code_for_an_older_processor_computes_the_same(name, target, tmp_path):
    """Without AVX, AVX2 and AVX-512, to rounding: a product and a sum are fused or are not."""
    has = set(in_llvm(engine._start)[2].split(","))
    if not has.issuperset(engine.ARCHITECTURES[name].split(",")):
        pytest.skip(f"this processor does not run code for {name}")
    done = subprocess.run(
        [sys.executable, "-c", NARROW],
        cwd=tmp_path,
        env=os.environ | {"ARMLET_CPU": name},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == target, done.stderr
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 20, 7))
    here = armlet.load("panda").inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(np.load(tmp_path / "narrow.npy"), here, rtol=1e-11, atol=1e-11)


def test_a_processor_that_this_one_cannot_stand_for_is_refused(monkeypatch):
    triple = "x86_64-unknown-linux-gnu"
    monkeypatch.setattr(engine, "_start", lambda: Cpu(triple, "nehalem", "+sse4.2,+popcnt,-avx"))
    for name in ("x86-64-v3", "pentium"):
        monkeypatch.setenv("ARMLET_CPU", name)
        with pytest.raises(armlet.CompileError, match=rf"ARMLET_CPU is '{name}'.*\(x86-64-v2\)"):
            engine.cpu.__wrapped__()
    monkeypatch.setenv("ARMLET_CPU", "x86-64-v2")
    assert engine.cpu.__wrapped__() == Cpu(triple, "x86-64-v2", "+sse4.2,+popcnt")


def test_files_have_the_same_encoding_on_every_system(tmp_path):
    script = """
import armlet
run = armlet.simulate(armlet.load("planar2r"), [0, 0], duration=0.1)
run.to_csv("run.csv")
assert armlet.Trajectory.read("run.csv").joints == run.joints
armlet.Log.read("run.csv", armlet.load("planar2r"))
"""
    command = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    done = subprocess.run([*command, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert "EncodingWarning" not in done.stderr, done.stderr

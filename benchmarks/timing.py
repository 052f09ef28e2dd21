"""What the benchmarks share: machine, random states, first calls, and the bound on speed.

A module of the scripts beside it; `turns.py` times calls in turns, on one core.
"""

import ctypes
import os
import platform
import re
import sys
import time
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from turns import TURNS, Timed, time_in_turns

import armlet
from armlet.codegen.llvm.function import many_states, module
from armlet.codegen.llvm.types import BYTES
from armlet.runtime import Kernel
from armlet.runtime.engine import compile_ir, host

QUANTITIES = (
    "inverse_dynamics",
    "inertia_matrix",
    "bias",
    "gravity_torque",
    "forward_dynamics",
    "linearization",
    "regressor",
)
"""The quantities that are timed."""
RANGE = {"q": np.pi, "qd": 2.0, "qdd": 5.0, "tau": 5.0}
DTYPES = ("float64", "float32")
PACKAGES = ("armlet", "llvmlite", "numpy", "pin", "mujoco")


def random_states(quantity, n, count):
    """Random arrays for the arguments of a quantity, from a fixed seed."""
    rng = np.random.default_rng(0)
    return [
        rng.uniform(-RANGE[name], RANGE[name], (count, n))
        for name in armlet.QUANTITIES[quantity].arguments
    ]


def first_call(robot, quantity, rounds):
    """Seconds to trace, to compile for one state, and to compile for rows; without the cache."""
    states = random_states(quantity, robot.nv, max(host("float64").lanes, 2))
    times = []
    with without_cache():
        for _ in range(rounds):
            marks = [time.process_time()]
            kernel = Kernel(armlet.trace(robot, quantity))
            marks.append(time.process_time())
            kernel(*(x[0] for x in states))
            marks.append(time.process_time())
            kernel.evaluate(*states)
            marks.append(time.process_time())
            times.append(np.diff(marks))
    return dict(zip(("trace", "one", "rows"), np.median(times, axis=0).tolist(), strict=True))


@contextmanager
def without_cache():
    """Turn the cache off, so that everything is compiled again."""
    before = os.environ.get("ARMLET_CACHE")
    os.environ["ARMLET_CACHE"] = "off"
    try:
        yield
    finally:
        del os.environ["ARMLET_CACHE"]
        if before is not None:
            os.environ["ARMLET_CACHE"] = before


# ------------------------------------------------------------------ the machine


def machine(rounds):
    """The machine and the versions that the times were measured with, as plain data."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "clock": clock(rounds),
        "lanes": {dtype: host(dtype).lanes for dtype in DTYPES},
        "fused": {dtype: fused_rate(dtype, rounds) for dtype in DTYPES},
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _cpu():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor()
    return f"{name} ({sys.platform})"


def _versions():
    installed = {}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def machine_lines(data):
    """The machine and the versions of `machine`, as lines of text."""
    versions = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    each = data["fused"]["float64"] / data["clock"]
    return [
        f"{data['cpu']}, {data['cores']} cores, {data['clock'] / 1e9:.2f} GHz, "
        f"{each:.2f} multiply-adds of {data['lanes']['float64']} float64 per cycle, "
        f"load {data['load']}",
        versions,
    ]


# ------------------------------------------------------------------ the arithmetic bound

ADDS, CHAINS, UNROLLED = 64, 12, 4
ARITHMETIC = re.compile(
    r"= (?:(?:fadd|fsub|fmul|fdiv)|call) <(\d+) x (double|float)>(?: @llvm\.(?:fma|sqrt)| %| <)"
)
SINES = re.compile(r"call .* @(sincos\.near\.\w+)")


def vector_operations(kernel):
    """The arithmetic of a block of states, in operations on whole registers.

    A fused multiply-add is one. First those of the program, then those of its sines and cosines.
    """
    code, target = kernel.code, kernel.target
    text = module(target, many_states(code, target))
    width = 8 * BYTES[target.element] * target.lanes
    functions = dict(re.findall(r"define .*? @([\w.]+)\(.*?\{\n(.*?)\n\}", text, re.DOTALL))

    def registers(lines):
        bits = {"double": 64, "float": 32}
        found = ARITHMETIC.findall(lines)
        return sum(int(lanes) * bits[element] / width for lanes, element in found)

    sines = sum(registers(functions[name]) for name in SINES.findall(functions["many"]))
    return registers(functions["many"]), sines


def clock(rounds):
    """Clock cycles per second, from a chain of dependent additions of one cycle each."""
    names = ["%a", "%b", *(f"%s{k}" for k in range(ADDS))]
    chain = [f"{names[k + 2]} = add i64 {names[k]}, {names[k + 1]}" for k in range(ADDS)]
    starts = {"%a": (names[-2], "1"), "%b": (names[-1], "1")}
    return _rate(["i64"] * 2, starts, chain, rounds) * ADDS


def fused_rate(dtype, rounds):
    """Fused multiply-adds of whole registers that this machine does in a second, at most."""
    target = host(dtype)
    V = f"<{target.lanes} x {target.element}>"
    one = "<" + ", ".join([f"{target.element} 1.0"] * target.lanes) + ">"
    S = {"double": "f64", "float": "f32"}[target.element]
    last = {f"%c{k}": f"%c{k}" for k in range(CHAINS)}
    steps = []
    for turn in range(UNROLLED):
        for start in last:
            out = f"{start}.{turn}"
            steps.append(
                f"{out} = call {V} @llvm.fma.v{target.lanes}{S}({V} {last[start]}, "
                f"{V} %c0, {V} %c1)"
                if target.fuses
                else f"{out} = fmul {V} {last[start]}, %c0"
            )
        last = {start: f"{start}.{turn}" for start in last}
    starts = {start: (end, one) for start, end in last.items()}
    return _rate([V] * CHAINS, starts, steps, rounds) * len(steps)


def _rate(kinds, starts, steps, rounds):
    """How many times a second a loop with these steps turns; each start is carried over."""
    carried = list(zip(kinds, starts.items(), strict=True))
    phis = (f"{name} = phi {T} [ {x}, %begin ], [ {y}, %turned ]" for T, (name, (y, x)) in carried)
    stores = (f"store {T} {y}, ptr %out, align 8" for T, (_, (y, _)) in carried)
    lines = [
        "define void @loop(ptr noalias %out, i64 %count) #0 {",
        "begin:",
        "br label %turn",
        "turn:",
        "%i = phi i64 [ 0, %begin ], [ %next, %turned ]",
        *phis,
        *steps,
        "br label %turned",
        "turned:",
        "%next = add i64 %i, 1",
        "%last = icmp eq i64 %next, %count",
        "br i1 %last, label %done, label %turn",
        "done:",
        *stores,
        "ret void",
        "}",
    ]
    code = compile_ir(module(host("float64"), "\n".join(lines)), "loop")
    out = np.zeros(16)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.addresses["loop"])
    call = Timed(function, (out.ctypes.data, TURNS), TURNS)
    return 1 / time_in_turns({"loop": call}, rounds)["loop"].median

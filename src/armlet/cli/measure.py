"""The times of a robot's kernels, as plain data."""

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from armlet.api import compile, trace
from armlet.cli.rivals import Rival
from armlet.dynamics import QUANTITIES
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.runtime.engine import host as target
from armlet.runtime.timing import (
    Spread,
    Timed,
    clock,
    fused_rate,
    native_loop,
    time_in_turns,
    vector_operations,
)

TIMED = [
    name
    for name in (
        "inverse_dynamics", "inertia_matrix", "bias", "gravity_torque", "forward_dynamics",
        "linearization", "regressor",
    )
    if name in QUANTITIES
]  # fmt: skip
"""The quantities that are timed."""
ROWS, MEMORY = 100_000, 400_000_000
"""Number of rows of a batch, and its largest size in bytes."""
BUSY = 1.15
"""The ratio of wall time to processor time of one thread above which the machine is busy."""
RANGE = {"q": np.pi, "qd": 2.0, "qdd": 5.0, "tau": 5.0}
DTYPES = ("float64", "float32")
THREADS = (1, 2)
PACKAGES = ("armlet", "llvmlite", "numpy", "pin", "mujoco")


def machine(rounds: int) -> dict[str, Any]:
    """The machine and the versions that the times were measured with."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "clock": clock(rounds),
        "lanes": {dtype: target(dtype).lanes for dtype in DTYPES},
        "fused": {dtype: fused_rate(dtype, rounds) for dtype in DTYPES},
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor()
    return f"{name} ({sys.platform})"


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def measured(
    arm: RobotModel, quantity: str, rounds: int, host: dict[str, Any], rivals: list[Rival]
) -> dict[str, Any]:
    """All times of one quantity in seconds per state, with those of rivals."""
    kernels = {dtype: compile(arm, quantity, dtype=dtype) for dtype in DTYPES}
    program = kernels["float64"].program
    states = random_states(quantity, arm.n, rows(kernels["float64"]))
    count = program.count()
    one = [np.ascontiguousarray(x[0]) for x in states]
    getattr(arm, quantity)(*one)  # from now on the method is the compiled entry
    calls = {"armlet": Timed(getattr(arm, quantity), tuple(one))}
    for rival in rivals:
        if quantity in rival.calls:
            call = rival.calls[quantity]
            calls[rival.name] = Timed(call.func, (*call.args, *one))
    call_times = time_in_turns(calls, rounds)
    alone = native_loop(kernels["float64"], states)
    mine = calls["armlet"].function(*one)
    return {
        "operations": {"M": count.M, "A": count.A, "functions": dict(count.functions)},
        "first": first_call(arm, quantity, min(3, rounds)),
        "call": call_times.pop("armlet")._asdict(),
        "kernel": time_in_turns({"": alone}, rounds)[""]._asdict(),
        "batch": batches(kernels, quantity, states, rounds, rivals, host),
        "rivals": {
            name: spread._asdict() | {"difference": difference(calls[name], mine)}
            for name, spread in call_times.items()
        },
    }


def random_states(quantity: str, n: int, count: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        rng.uniform(-RANGE[name], RANGE[name], (count, n))
        for name in QUANTITIES[quantity].arguments
    ]


def rows(kernel: Kernel) -> int:
    """The number of states in a batch of bounded size."""
    program = kernel.program
    entries = sum(y.size for y in program.outputs) + sum(x.size for x in program.inputs.values())
    return int(min(ROWS, max(1, MEMORY // (8 * entries))))


def first_call(arm: RobotModel, quantity: str, rounds: int) -> dict[str, float]:
    """Seconds to trace, to compile for one state, and to compile for batches."""
    state = random_states(quantity, arm.n, 1)
    times = []
    with without_cache():
        for _ in range(rounds):
            marks = [time.process_time()]
            kernel = Kernel(trace(arm, quantity))
            marks.append(time.process_time())
            kernel(*(x[0] for x in state))
            marks.append(time.process_time())
            kernel(*state)
            marks.append(time.process_time())
            times.append(np.diff(marks))
    return dict(zip(("trace", "one", "rows"), np.median(times, axis=0).tolist(), strict=True))


@contextmanager
def without_cache() -> Iterator[None]:
    """Turn the cache off, so that everything is compiled again."""
    before = os.environ.get("ARMLET_CACHE")
    os.environ["ARMLET_CACHE"] = "off"
    try:
        yield
    finally:
        del os.environ["ARMLET_CACHE"]
        if before is not None:
            os.environ["ARMLET_CACHE"] = before


def batches(
    kernels: dict[str, Kernel],
    quantity: str,
    states: list[Any],
    rounds: int,
    rivals: list[Rival],
    host: dict[str, Any],
) -> dict[str, Any]:
    """Seconds per state of batches with out=, by dtype and threads."""
    found: dict[str, Any] = {"rows": len(states[0])}
    for dtype, kernel in kernels.items():
        given = [x.astype(dtype) for x in states]
        theirs = [rival for rival in rivals if quantity in rival.batches and dtype == "float64"]
        found[dtype] = threaded(kernel, quantity, given, rounds, theirs)
        program, sines = vector_operations(kernel)
        bound = (program + sines) / host["fused"][dtype] / host["lanes"][dtype]
        found[dtype] |= {
            "vector_operations": {"program": program, "sines": sines},
            "bound": bound,
            "share": bound / found[dtype]["1"]["median"],
        }
    return found


def threaded(
    kernel: Kernel, quantity: str, given: list[Any], rounds: int, rivals: list[Rival]
) -> dict[str, Any]:
    """The times of one thread and two, their ratio, and the time to write the results alone.

    On a busy machine, as judged by wall and processor time of one thread, the gain of a second
    thread is not known.
    """
    out = kernel.evaluate(*given)
    count = len(given[0])

    def calls(threads: int) -> dict[str, Timed]:
        mine = partial(kernel.evaluate, out=out, threads=threads)
        theirs = {
            rival.name: Timed(
                partial(rival.batches[quantity], threads=threads),
                (*given, np.empty_like(out)),
                count,
            )
            for rival in rivals
        }
        return {"armlet": Timed(mine, tuple(given), count), **theirs}

    def written() -> None:
        for y in out if isinstance(out, tuple) else (out,):
            y.fill(0)

    one = time_in_turns(calls(1) | {"writing": Timed(written, (), count)}, rounds)
    two = time_in_turns(calls(2) | {"one": calls(1)["armlet"]}, rounds, threads=2)
    writing, alone = one.pop("writing"), two.pop("one")
    undisturbed = alone.median < BUSY * one["armlet"].median
    return {
        **{str(k): _beside(times) for k, times in zip(THREADS, (one, two), strict=True)},
        "two_over_one": alone.median / two["armlet"].median if undisturbed else None,
        "writing": writing._asdict(),
    }


def _beside(times: dict[str, Spread]) -> dict[str, Any]:
    """armlet's time, and those of rivals under a key."""
    theirs = {name: spread._asdict() for name, spread in times.items() if name != "armlet"}
    return times["armlet"]._asdict() | {"rivals": theirs}


def difference(call: Timed, mine: Any) -> float | None:
    """The largest difference of a rival's result from armlet's, relative to the largest entry.

    Regressors are not compared: armlet's is for the minimal parameters, Pinocchio's for all.
    """
    theirs = call.function(*call.arguments)
    if isinstance(theirs, tuple):
        theirs = theirs[::-1]  # Pinocchio's derivatives are by q, qd and qdd
    mine, theirs = np.array(mine), np.array(theirs)
    if mine.shape != theirs.shape:
        return None
    return float(np.abs(mine - theirs).max() / np.abs(mine).max())

"""How long calls take, timed in turns.

A module of the scripts beside it. Everything is timed many times, so that what
disturbs the machine disturbs all alike; medians count, and the quartiles are their spread.
"""

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from statistics import median, quantiles
from time import perf_counter, process_time
from timeit import Timer
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from armlet.codegen.llvm.function import module
from armlet.codegen.llvm.loop import SCALARS, loop_function
from armlet.graph import Loop
from armlet.runtime.cpu import Array
from armlet.runtime.engine import compile_ir
from armlet.runtime.kernel import Kernel

STATES = 256
"""The number of states that a native loop goes through in turn."""
TURNS = 4096
"""The number of turns that one call of a native loop takes."""
ROUND = 0.004
"""The least time of one round of calls, in seconds."""


class Spread(NamedTuple):
    """Seconds: the median of the rounds and their quartiles."""

    median: float
    low: float
    high: float


class Timed(NamedTuple):
    """A call to time, and its number of states."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    states: int = 1
    named: Mapping[str, Any] = MappingProxyType({})

    def timer(self, clock: Callable[[], float]) -> Timer:
        names = [f"x{k}" for k in range(len(self.arguments) + len(self.named))]
        values = dict(zip(names, (*self.arguments, *self.named.values()), strict=True))
        before = [""] * len(self.arguments) + [f"{name}=" for name in self.named]
        words = (key + name for key, name in zip(before, names, strict=True))
        call = f"f({', '.join(words)})"
        return Timer(call, timer=clock, globals={"f": self.function, **values})


def time_in_turns(calls: Mapping[str, Timed], rounds: int, threads: int = 1) -> dict[str, Spread]:
    """The seconds per state of each call, all timed in turns.

    One thread is timed by the processor time that it takes, on one core, so that other processes
    do not count; several by the clock on the wall.
    """
    with one_core() if threads == 1 else nullcontext():
        return _spreads(calls, rounds, process_time if threads == 1 else perf_counter)


def _spreads(
    calls: Mapping[str, Timed], rounds: int, clock: Callable[[], float]
) -> dict[str, Spread]:
    timers = {name: call.timer(clock) for name, call in calls.items()}
    number = {name: _number(timer) for name, timer in timers.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, timer in timers.items():
            timer.timeit(max(1, number[name] // 20))
            spent = timer.timeit(number[name])
            seconds[name].append(spent / number[name] / calls[name].states)
    return {name: _spread(times) for name, times in seconds.items()}


def _number(timer: Timer) -> int:
    """The number of calls that fill a round."""
    timer.timeit(1)
    number = 1
    while (spent := timer.timeit(number)) < ROUND:
        number = max(2 * number, min(100 * number, round(number * ROUND / max(spent, 1e-9))))
    return number


def _spread(times: list[float]) -> Spread:
    if len(times) == 1:
        return Spread(times[0], times[0], times[0])
    low, _, high = quantiles(times, n=4, method="inclusive")
    return Spread(median(times), low, high)


@contextmanager
def one_core() -> Iterator[None]:
    """Stay on one core, where the system lets a process choose."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# ------------------------------------------------------------------ the kernel without Python


def native_loop(kernel: Kernel, arrays: list[Array]) -> Timed:
    """A compiled loop that runs the code for one state on 256 states in turn."""
    outputs = kernel.program.outputs
    loop = Loop(kernel.program, recorded=range(len(outputs)), period=STATES)
    inputs = [np.ascontiguousarray(x[:STATES], kernel.dtype) for x in arrays]
    results = [np.empty((STATES, *output.shape), kernel.dtype) for output in outputs]
    pointers = [array.ctypes.data for array in (*inputs, *results)]
    text = module(kernel.target, loop_function(loop, kernel.code, kernel.target))
    code = compile_ir(text, "loop")
    types = [*[ctypes.c_void_p] * len(pointers), *[ctypes.c_int64] * len(SCALARS)]
    function: Any = ctypes.CFUNCTYPE(None, *types)(code.addresses["loop"])
    function.alive = (code, inputs, results)
    return Timed(function, (*pointers, 1, 0, 1, 0, TURNS, 1), TURNS)

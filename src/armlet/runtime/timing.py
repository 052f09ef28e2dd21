"""How long code takes, and how long its arithmetic alone would.

Everything is timed many times in turns, so that what disturbs the machine disturbs all alike;
medians count, and the quartiles are their spread.
"""

import ctypes
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from statistics import median, quantiles
from time import perf_counter, process_time
from timeit import Timer
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from armlet.codegen.llvm.function import many_states, module
from armlet.codegen.llvm.loop import SCALARS, counted_loop, loop_function
from armlet.graph import Loop
from armlet.runtime.cpu import Array
from armlet.runtime.engine import Code, compiled, host
from armlet.runtime.kernel import Kernel

STATES = 256
"""How many states a native loop goes through in turn."""
TURNS = 4096
"""How many turns one call of a native loop takes."""
ROUND = 0.004
"""How many seconds a round of one contestant lasts, at least."""
ADDS, CHAINS, UNROLLED = 64, 12, 4


class Spread(NamedTuple):
    """Seconds: the median of the rounds and their quartiles."""

    median: float
    low: float
    high: float


class Timed(NamedTuple):
    """A call to time, and for how many states it is."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    states: int = 1
    named: Mapping[str, Any] = MappingProxyType({})

    def timer(self, clock: Callable[[], float]) -> Timer:
        names = [f"x{k}" for k in range(len(self.arguments) + len(self.named))]
        given = dict(zip(names, (*self.arguments, *self.named.values()), strict=True))
        before = [""] * len(self.arguments) + [f"{name}=" for name in self.named]
        words = (key + name for key, name in zip(before, names, strict=True))
        call = f"f({', '.join(words)})"
        return Timer(call, timer=clock, globals={"f": self.function, **given})


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
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, timer in timers.items():
            timer.timeit(max(1, number[name] // 20))
            spent = timer.timeit(number[name])
            found[name].append(spent / number[name] / calls[name].states)
    return {name: _spread(times) for name, times in found.items()}


def _number(timer: Timer) -> int:
    """How many calls fill a round."""
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
    given = [np.ascontiguousarray(x[:STATES], kernel.dtype) for x in arrays]
    results = [np.empty((STATES, *output.shape), kernel.dtype) for output in outputs]
    pointers = [array.ctypes.data for array in (*given, *results)]
    code = compiled(module(kernel.target, loop_function(loop, kernel.code, kernel.target)), "loop")
    function = _function(code, "loop", len(pointers), len(SCALARS))
    function.kept = (given, results)
    return Timed(function, (*pointers, 1, 0, 1, 0, TURNS, 1), TURNS)


def _function(code: Code, name: str, pointers: int, numbers: int = 1) -> Any:
    kinds = [*[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * numbers]
    function: Any = ctypes.CFUNCTYPE(None, *kinds)(code.addresses[name])
    function.code = code
    return function


# ------------------------------------------------------------------ the arithmetic bound

ARITHMETIC = re.compile(
    r"= (?:(?:fadd|fsub|fmul|fdiv)|call) <(\d+) x (double|float)>(?: @llvm\.(?:fma|sqrt)| %| <)"
)
SINES = re.compile(r"call .* @(sincos\.near\.\w+)")


def vector_operations(kernel: Kernel) -> tuple[float, float]:
    """The arithmetic of a block of states, in operations on whole registers.

    A fused multiply-add is one. First those of the program, then those of its sines and cosines.
    """
    code, target = kernel.code, kernel.target
    text = module(target, many_states(code, target))
    width: int = target.width
    functions = dict(re.findall(r"define .*? @([\w.]+)\(.*?\{\n(.*?)\n\}", text, re.DOTALL))

    def registers(lines: str) -> float:
        bits = {"double": 64, "float": 32}
        found = ARITHMETIC.findall(lines)
        return sum(int(lanes) * bits[element] / width for lanes, element in found)

    sines = sum(registers(functions[name]) for name in SINES.findall(functions["many"]))
    return registers(functions["many"]), sines


def clock(rounds: int) -> float:
    """Clock cycles per second, from a chain of dependent additions of one cycle each."""
    names = ["%a", "%b", *(f"%s{k}" for k in range(ADDS))]
    chain = [f"{names[k + 2]} = add i64 {names[k]}, {names[k + 1]}" for k in range(ADDS)]
    starts = {"%a": (names[-2], "1"), "%b": (names[-1], "1")}
    return _rate(["i64"] * 2, starts, chain, rounds) * ADDS


def fused_rate(dtype: str, rounds: int) -> float:
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


def _rate(
    kinds: list[str], starts: Mapping[str, tuple[str, str]], steps: list[str], rounds: int
) -> float:
    """How many times a second a loop with these steps turns; each start is carried over."""
    carried = list(zip(kinds, starts.items(), strict=True))
    phis = (f"{name} = phi {T} [ {x}, %begin ], [ {y}, %turned ]" for T, (name, (y, x)) in carried)
    stores = (f"store {T} {y}, ptr %out, align 8" for T, (_, (y, _)) in carried)
    text = counted_loop(["out"], [*phis, *steps], after=stores)
    code = compiled(module(host("float64"), text), "loop")
    out = np.zeros(16)
    call = Timed(_function(code, "loop", 1), (out.ctypes.data, TURNS), TURNS)
    return 1 / time_in_turns({"loop": call}, rounds)["loop"].median

"""The bound on a kernel's speed: its arithmetic, and how fast this machine can do it."""

import ctypes
import re
from collections.abc import Mapping

import numpy as np

from armlet.codegen.llvm.function import many_states, module
from armlet.codegen.llvm.loop import counted_loop
from armlet.runtime import Kernel
from armlet.runtime.engine import compiled, host
from armlet.runtime.timing import TURNS, Timed, time_in_turns

ADDS, CHAINS, UNROLLED = 64, 12, 4
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
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.addresses["loop"])
    call = Timed(function, (out.ctypes.data, TURNS), TURNS)
    return 1 / time_in_turns({"loop": call}, rounds)["loop"].median

"""A backend that interprets lowered programs and loops with NumPy, and records every execution.

A test puts it in the place of the CPU by the fixture `runs` of tests/test_backend.py.
"""

from typing import NamedTuple

import numpy as np

from armlet.graph.graph import OPERATIONS
from armlet.runtime import cpu

OPERATION = OPERATIONS | {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}
RUNS = []
"""The name of what was run and the number of states or runs, of each execution."""

array, results = cpu.array, cpu.results


class Target(NamedTuple):
    dtype: str


host = Target


def compile(code, target, loop=None):
    return Interpreter(code, target, loop)


def dispatch(*_):
    return False


class Interpreter:
    """What a backend has to do at least: nothing is called without Python."""

    entry_rows, block = 0, 7

    def __init__(self, code, target, loop):
        self.code, self.dtype, self.loop = code, target.dtype, loop

    def connect(self, *_):
        return False

    def run(self, arrays, results, count, threads, *steps):
        """Evaluate all states, or all runs of a loop step by step, and record that it was done."""
        RUNS.append(("program" if self.loop is None else "loop", count))
        inputs = dict(zip(self.code.inputs, arrays, strict=True))
        if self.loop is None:
            for y, value in zip(results, self.values(inputs, self.code.inputs, count), strict=True):
                y[...] = value.reshape(y.shape)
        else:
            self.run_steps(inputs, results, count, *steps)

    def run_steps(self, inputs, results, count, first, number, every):
        loop = self.loop
        described = loop.body.inputs | {
            name: loop.body.inputs[name]._replace(rate="run") for name in loop.carried.values()
        }
        for step in range(first, first + number):
            for stage in range(loop.stages):
                row = {"state": step, "step": step, "stage": stage}
                now = {
                    name: x[row[described[name].rate]] if described[name].rate in row else x
                    for name, x in inputs.items()
                }
                values = self.values(now, described, count)
                inputs |= {name: values[k] for k, name in loop.carried.items()}
            for k, value in enumerate(values):
                y = results[k][step // every] if k in loop.recorded else results[k]
                y[...] = value.reshape(y.shape)

    def values(self, inputs, described, count):
        """One array (count, size) per output; inputs that runs share have a single row."""
        rows = {name: count if x.rate in ("state", "run") else 1 for name, x in described.items()}
        flat = {name: x.reshape(rows[name], -1) for name, x in inputs.items()}
        done = []

        def operand(x):
            return done[x] if isinstance(x, int) else np.dtype(self.dtype).type(x)

        for op, args in self.code.operations:
            if op == "input":
                name, k = args
                done.append(flat[name][:, k])
            else:
                done.append(OPERATION[op](*map(operand, args)))
        every = []
        for output in self.code.outputs:
            value = np.empty((count, len(output.values)), self.dtype)
            for k, y in enumerate(output.values):
                value[:, k] = operand(y)
            every.append(value)
        return every

"""Loops around programs, compiled to machine code for one run or many runs."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from armlet._support.lazy import cached_property
from armlet.codegen.llvm.function import Target, module
from armlet.codegen.llvm.loop import SCALARS, loop_function
from armlet.codegen.lower import Lowered, lower
from armlet.errors import DataError
from armlet.graph import Input, Loop
from armlet.graph.graph import Array
from armlet.graph.signature import Shape
from armlet.runtime.engine import Code, compile_ir, host
from armlet.runtime.python_call import address
from armlet.runtime.threads import parallel_for

BLOCK = 2**23
"""The number of operations between two checks for Ctrl-C."""


class LoopKernel:
    """A loop compiled to machine code: scalar code for few runs, one run per vector lane for many.

    The results of a run are bitwise the same for any number of runs and threads. The dtype of
    `target` replaces `dtype`; the default target is this machine with all features.
    """

    def __init__(self, loop: Loop, dtype: str = "float64", target: Target | None = None) -> None:
        loop.body.check_values()
        self.loop, self._order = _with_separate_records(loop)
        self.target = host(dtype) if target is None else target
        self.dtype = np.dtype(self.target.dtype)
        self._functions: dict[int, tuple[Any, Code]] = {}

    @cached_property
    def code(self) -> Lowered:
        """The operations of the body; operations with the same result in all steps come first."""
        inputs, carried = self.loop.body.inputs, self.loop.carried.values()
        fixed = [name for name, x in inputs.items() if x.rate in ("run", "once")]
        return lower(self.loop.body, [name for name in fixed if name not in carried])

    def shape(self, x: Input, runs: int, steps: int) -> Shape:
        """Return the shape of the array for input x."""
        if x.name in self.loop.carried.values():
            return (runs, *x.shape)
        axes = {"step": (steps,), "run": (runs,), "stage": (self.loop.stages,), "once": ()}
        return (*axes.get(x.rate, (steps, runs)), *x.shape)

    def __call__(
        self,
        *arrays: Any,
        runs: int,
        steps: int,
        every: int = 1,
        threads: int = 1,
        advance: Callable[[float], None] = lambda _: None,
    ) -> tuple[Array, ...]:
        """Run the loop and return its outputs; `every` is the number of steps per recorded row.

        `advance` is called every few milliseconds with the fraction of steps done.
        """
        results = self.empty_results(runs, steps, every)
        for done in self.run_blocks(arrays, results, runs, range(steps), every, threads):
            advance(done / steps)
        return self.outputs(results)

    def empty_results(self, runs: int, steps: int, every: int = 1) -> list[Array]:
        """Allocate the arrays that `run_blocks` writes to."""
        rows = min(-(-steps // every), self.loop.period or steps)
        return [
            np.empty(
                (rows, runs, *y.shape) if k in self.loop.recorded else (runs, *y.shape), self.dtype
            )
            for k, y in enumerate(self.loop.body.outputs)
        ]

    def outputs(self, results: Sequence[Array]) -> tuple[Array, ...]:
        """Return the outputs of the loop, in order, from the arrays written by `run_blocks`."""
        return tuple(results[k] for k in self._order)

    def run_blocks(
        self,
        arrays: Sequence[Any],
        results: list[Array],
        runs: int,
        steps: range,
        every: int = 1,
        threads: int = 1,
    ) -> Iterator[int]:
        """Run the steps in blocks of a few milliseconds; after each, yield the next step's index.

        Each carried value has two arrays. A block reads the array that the previous block wrote,
        and writes to the other one.
        """
        names = [*self.loop.body.inputs]
        inputs = [
            self._array(x, array, runs, steps.stop)
            for x, array in zip(self.loop.body.inputs.values(), arrays, strict=True)
        ]
        if not runs:
            return
        carried = [(place, names.index(name)) for place, name in self.loop.carried.items()]
        for _, k in carried:  # the caller's arrays must not change
            inputs[k] = inputs[k].copy()
        size = max(1, BLOCK // max(1, self.loop.stages * len(self.code.operations)))
        for start in steps[::size]:
            count = min(size, steps.stop - start)
            self._run(inputs, results, runs, (start, count, every), threads)
            yield start + count
            if start + count < steps.stop:
                for place, k in carried:
                    inputs[k], results[place] = results[place], inputs[k]

    def _run(
        self,
        inputs: Sequence[Array],
        results: Sequence[Array],
        runs: int,
        steps: tuple[int, int, int],
        threads: int,
    ) -> None:
        """Run a block of steps for all runs; `steps` is (first step, count, steps per row)."""
        lanes = self.target.lanes if runs >= self.target.lanes else 1
        function, _ = self._function(lanes)
        pointers = [address(array) for array in (*inputs, *results)]

        def rows(begin: int, end: int, _alive: Any = (inputs, results)) -> None:
            function(*pointers, runs, min(begin, end - lanes), end, *steps)

        parallel_for(rows, runs, lanes, threads, grain=lanes)

    def _function(self, lanes: int) -> tuple[Any, Code]:
        """Return a function for `lanes` runs at a time, and its code, which must outlive it."""
        if lanes not in self._functions:
            text = loop_function(self.loop, self.code, self.target, lanes)
            code = compile_ir(module(self.target, text), "loop")
            types = [*[ctypes.c_void_p] * len(self.code.sizes), *[ctypes.c_int64] * len(SCALARS)]
            function = ctypes.CFUNCTYPE(None, *types)(code.addresses["loop"])
            self._functions.setdefault(lanes, (function, code))
        return self._functions[lanes]

    def _array(self, x: Input, value: Any, runs: int, steps: int) -> Array:
        """Convert an input to the kernel's dtype; raise DataError if its shape is wrong."""
        array = np.asarray(value, self.dtype, order="C")
        if self.loop.period is not None and x.rate in ("state", "step"):
            steps = self.loop.period
        expected = self.shape(x, runs, steps)
        if array.shape != expected:
            raise DataError(f"{x.name} has shape {array.shape}: expected {expected}")
        return array


def _with_separate_records(loop: Loop) -> tuple[Loop, list[int]]:
    """Return a loop with two outputs, carried and recorded, for each output of `loop` that is both.

    The second result has, for each output of `loop`, the output's index in the new loop.
    """
    body = loop.body
    both = [k for k in loop.recorded if k in loop.carried]
    more = {k: len(body.outputs) + i for i, k in enumerate(both)}
    outputs = (*body.outputs, *(body.outputs[k] for k in both))
    recorded = [more.get(k, k) for k in loop.recorded]
    larger = replace(body, outputs=outputs, single=False, names=None)
    order = [more.get(k, k) for k in range(len(body.outputs))]
    return replace(loop, body=larger, recorded=recorded), order

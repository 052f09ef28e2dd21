"""Loops around programs, compiled by a backend for one run or many runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from armlet._support.lazy import cached_property
from armlet.codegen.lower import Lowered, lower
from armlet.errors import DataError
from armlet.graph import Input, Loop
from armlet.graph.graph import Array
from armlet.graph.signature import Shape
from armlet.runtime.backend import Executable, Target, load_backend


class LoopKernel:
    """A loop compiled to machine code by a backend.

    The results of a run are bitwise the same for any number of runs and threads. The dtype of
    `target` replaces `dtype`. By default, the target is this machine.
    """

    def __init__(
        self,
        loop: Loop,
        dtype: str = "float64",
        target: Target | None = None,
        backend: str = "cpu",
    ) -> None:
        loop.body.check_values()
        self.loop, self._order = _with_separate_records(loop)
        self.backend = load_backend(backend)
        self.target = self.backend.host(dtype) if target is None else target

    @cached_property
    def code(self) -> Lowered:
        """The operations of the body; operations with the same result in all steps come first."""
        inputs, carried = self.loop.body.inputs, self.loop.carried.values()
        fixed = [name for name, x in inputs.items() if x.rate in ("run", "once")]
        return lower(self.loop.body, [name for name in fixed if name not in carried])

    @cached_property
    def compiled(self) -> Executable:
        return self.backend.compile(self.code, self.target, self.loop)

    def shape(self, x: Input, runs: int, steps: int) -> Shape:
        """Return the shape of the array that a call passes for input x."""
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
        shapes = [
            (rows, runs, *y.shape) if k in self.loop.recorded else (runs, *y.shape)
            for k, y in enumerate(self.loop.body.outputs)
        ]
        return self.backend.results(shapes, self.target.dtype)

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
        """Run the steps in blocks of a few milliseconds; after each block, yield the next step.

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
        size = self.compiled.block
        for start in steps[::size]:
            count = min(size, steps.stop - start)
            self.compiled.run(inputs, results, runs, threads, start, count, every)
            yield start + count
            if start + count < steps.stop:
                for place, k in carried:
                    inputs[k], results[place] = results[place], inputs[k]

    def _array(self, x: Input, value: Any, runs: int, steps: int) -> Array:
        """Convert an input to the kernel's dtype; raise DataError if its shape is wrong."""
        array = self.backend.array(value, self.target.dtype)
        if self.loop.period is not None and x.rate in ("state", "step"):
            steps = self.loop.period
        expected = self.shape(x, runs, steps)
        if array.shape != expected:
            raise DataError(f"{x.name} has shape {array.shape}: expected {expected}")
        return array


def _with_separate_records(loop: Loop) -> tuple[Loop, list[int]]:
    """Return `loop` with two outputs, one carried and one recorded, for each output that is both.

    Also return the new index of each output of `loop`; for two outputs, that of the recorded one.
    """
    body = loop.body
    both = [k for k in loop.recorded if k in loop.carried]
    more = {k: len(body.outputs) + i for i, k in enumerate(both)}
    outputs = (*body.outputs, *(body.outputs[k] for k in both))
    recorded = [more.get(k, k) for k in loop.recorded]
    larger = replace(body, outputs=outputs, single=False, names=None)
    order = [more.get(k, k) for k in range(len(body.outputs))]
    return replace(loop, body=larger, recorded=recorded), order

"""The backend for this processor: machine code by LLVM, on NumPy arrays."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armlet.codegen.entry import entry
from armlet.codegen.llvm import Target, many_states, module, one_state
from armlet.codegen.lower import Lowered
from armlet.errors import DataError
from armlet.graph.inputs import Shape
from armlet.graph.results import result_type
from armlet.runtime.engine import Code, compiled, fast_call, host, reads_arrays
from armlet.runtime.once import made_once
from armlet.runtime.threads import parallel_for

Array = np.ndarray[Any, Any]
BLOCK = 2**22
"""How many operations are done before Ctrl-C is looked for."""


class Native:
    """The backend of this processor."""

    def target(self, dtype: str) -> Target:
        """The widest code that this machine runs."""
        return host(dtype)

    def compile(self, code: Lowered, target: Target) -> "NativeCode":
        """The program for a target, to be compiled when it is needed."""
        return NativeCode(code, target)

    def array(self, x: Any, dtype: str) -> Array:
        """x as a contiguous array; other numbers are converted."""
        array = np.asarray(x)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"its dtype is {array.dtype}")
        return np.require(array, np.dtype(dtype), ["C", "A"])

    def empty(self, shape: Shape, dtype: str) -> Array:
        """An array to write to."""
        return np.empty(shape, dtype)

    def check_out(self, array: Any, shape: Shape, dtype: str, others: Sequence[Array]) -> None:
        """Raise if an array is not one that results of that shape can be written to."""
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            found = getattr(array, "dtype", type(array).__name__)
            raise DataError(f"out is {found}: expected a {dtype} array")
        if array.shape != shape:
            raise DataError(f"out has shape {array.shape}: expected {shape}")
        if not array.flags.carray:
            raise DataError("out is not contiguous, aligned and writeable: expected all three")
        if any(np.may_share_memory(array, x) for x in others):
            raise DataError("out shares memory with another array: expected one of its own")


class NativeCode:
    """A program as machine code: a function for one state, and one for rows of states."""

    def __init__(self, code: Lowered, target: Target) -> None:
        self.code, self.target = code, target

    def entry(self, otherwise: Callable[..., Any], about: str) -> Callable[..., Any]:
        """A compiled function for one state that calls `otherwise` for all other arguments.

        Its docstring may begin with a signature in CPython's format.
        """
        if not reads_arrays():
            return otherwise
        names = None if self.code.single else self.code.names
        held = otherwise if names is None else (otherwise, result_type(names))
        return fast_call(self._one, self.code.name, held, about)

    def run(
        self, arrays: Sequence[Array], results: Sequence[Array], count: int, threads: int
    ) -> None:
        """Compute `count` states, one row each; inputs given once have no rows."""
        lanes = self.target.lanes
        if count < lanes:
            self._run_few(arrays, results, count)
            return
        many, code = self._many
        pointers = [array.__array_interface__["data"][0] for array in (*arrays, *results)]

        def rows(start: int, stop: int, _kept: Any = (arrays, results, code)) -> None:
            many(*pointers, min(start, stop - lanes), stop)

        parallel_for(rows, count, self._block, threads, grain=lanes)

    def _run_few(self, arrays: Sequence[Array], results: Sequence[Array], count: int) -> None:
        """The same for fewer rows than one vector has, filled up with copies of the first."""
        if not count:
            return
        lanes = self.target.lanes
        full = [
            array if x.rate == "once" else _filled(array.reshape(count, *x.shape), lanes)
            for x, array in zip(self.code.inputs.values(), arrays, strict=True)
        ]
        rows = [np.empty((lanes, *output.shape), self.target.dtype) for output in self.code.outputs]
        self.run(full, rows, lanes, 1)
        for result, found in zip(results, rows, strict=True):
            result.reshape(count, *found.shape[1:])[...] = found[:count]

    @made_once
    def _one(self) -> Code:
        """The code for one state."""
        text = module(self.target, one_state(self.code, self.target))
        return compiled(text + entry(self.code, self.target.dtype), "entry")

    @made_once
    def _many(self) -> tuple[Callable[..., None], Code]:
        """The function for rows of states, and its code, which must live as long."""
        code = compiled(module(self.target, many_states(self.code, self.target)), "many")
        kinds = [*[ctypes.c_void_p] * len(self.code.sizes), ctypes.c_int64, ctypes.c_int64]
        return ctypes.CFUNCTYPE(None, *kinds)(code.addresses["many"]), code

    @made_once
    def _block(self) -> int:
        """How many rows are computed in a few milliseconds, whole vectors of them."""
        fits = BLOCK // max(1, len(self.code.operations))
        return max(1, fits // self.target.lanes) * self.target.lanes


def _filled(rows: Array, lanes: int) -> Array:
    """So many rows: those of an array, and its first again."""
    full = np.empty((lanes, *rows.shape[1:]), rows.dtype)
    full[: len(rows)] = rows
    full[len(rows) :] = rows[0]
    return full

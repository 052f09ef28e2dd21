"""Programs compiled for this processor, to be called with NumPy arrays."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armlet._support.lazy import cached_property
from armlet.codegen.entry.python import entry
from armlet.codegen.llvm.function import Target, modules
from armlet.codegen.llvm.split import many_states_texts, one_state_texts
from armlet.codegen.lower import Lowered
from armlet.graph.graph import Array
from armlet.graph.signature import result_type
from armlet.runtime.arrays import ON_A_GPU
from armlet.runtime.engine import Code, compile_ir
from armlet.runtime.python_call import (
    Callee,
    address,
    connect,
    fast_call,
    join,
    reads_arrays,
    share,
)
from armlet.runtime.threads import parallel_for

BLOCK = 2**22
"""The number of operations between two checks for Ctrl-C."""


def as_array(x: Any, dtype: str) -> Array:
    """Return x as a contiguous, aligned array of `dtype`, copied only if necessary."""
    if hasattr(x, "__cuda_array_interface__"):
        raise TypeError(ON_A_GPU)
    array = x if isinstance(x, np.ndarray) else np.asarray(x)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"its dtype is {array.dtype}")
    array = np.asarray(array, dtype, order="C")
    return array if array.flags.aligned else array.copy()


class CompiledProgram:
    """Machine code of a program: one function for a single state, one for batches of states."""

    def __init__(self, code: Lowered, target: Target) -> None:
        self.code, self.target = code, target

    def entry(
        self,
        fallback: Callable[..., Any],
        name: str,
        doc: str = "",
        option: str = "",
        entries: dict[Any, Any] | None = None,
    ) -> Callable[..., Any]:
        """Return a compiled function for a few states; it calls `fallback` for other arguments.

        `doc` may begin with a signature in CPython's format. `option` names an argument after the
        inputs. If its value is a string, the call is passed to `entries[value]`. If its value is
        an array, the call is passed to `entries[True]`, with the array after the inputs.
        """
        if not reads_arrays():
            return fallback
        code = self._one
        callee = self._callee(fallback, option, {} if entries is None else entries)
        return fast_call(code, name, callee, doc)

    def connect(self, kernel: Any, fallback: Callable[..., Any]) -> bool:
        """Make calls of `kernel` run the compiled entry; return False if this is not possible."""
        return reads_arrays() and connect(kernel, self._callee(fallback, "", {}), self._one)

    def _callee(self, fallback: Callable[..., Any], option: str, entries: dict[Any, Any]) -> Callee:
        code = self.code
        results = tuple if code.single or code.names is None else result_type(code.names)
        return Callee.of(fallback, [*code.inputs], option, entries, self._one, results)

    def run(
        self, arrays: Sequence[Array], results: Sequence[Array], count: int, threads: int
    ) -> None:
        """Write the results of `count` states, one per row, to `results`."""
        lanes = self.target.lanes
        if count < lanes:
            self._run_few(arrays, results, count)
            return
        many, code = self._many
        pointers = [address(array) for array in (*arrays, *results)]

        def rows(start: int, stop: int, _alive: Any = (arrays, results, code)) -> None:
            many(*pointers, min(start, stop - lanes), stop)

        parallel_for(rows, count, self._block, threads, grain=lanes)

    def _run_few(self, arrays: Sequence[Array], results: Sequence[Array], count: int) -> None:
        """Compute states one by one, for batches of fewer states than vector lanes."""
        code = self._one
        one = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(self.code.sizes))(
            code.addresses["one"]
        )
        every = [*(x.rate == "state" for x in self.code.inputs.values()), *(True for _ in results)]
        size = np.dtype(self.target.dtype).itemsize
        steps = [n * size * row for n, row in zip(self.code.sizes, every, strict=True)]
        pointers = [address(array) for array in (*arrays, *results)]
        for row in range(count):
            one(*(start + row * step for start, step in zip(pointers, steps, strict=True)))

    @cached_property
    def _one(self) -> Code:
        share(self.target.dtype)
        texts = modules(self.target, one_state_texts(self.code, self.target))
        text = texts[0] + entry(self.code, self.target.dtype, self.target.lanes)
        code = compile_ir(text, "entry", "vectorcall", "one", "many_states", callees=texts[1:])
        if "_many" in vars(self):
            join(code, self._many[1])
        return code

    @cached_property
    def _many(self) -> tuple[Callable[..., None], Code]:
        """The function for batches of states, and its code, which must outlive the function."""
        texts = modules(self.target, many_states_texts(self.code, self.target))
        code = compile_ir(texts[0], "many", callees=texts[1:])
        types = [*[ctypes.c_void_p] * len(self.code.sizes), ctypes.c_int64, ctypes.c_int64]
        if "_one" in vars(self):
            join(self._one, code)
        return ctypes.CFUNCTYPE(None, *types)(code.addresses["many"]), code

    @cached_property
    def _block(self) -> int:
        """The number of states per block (a few milliseconds), a multiple of the vector lanes."""
        fits = BLOCK // max(1, len(self.code.operations))
        return max(1, fits // self.target.lanes) * self.target.lanes

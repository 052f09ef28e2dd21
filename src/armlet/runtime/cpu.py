"""The backend "cpu": LLVM compiles machine code, which one or more threads run on NumPy arrays."""

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armlet._support.lazy import cached_property
from armlet.codegen.entry.objects import SHARED, shared_functions, shared_name
from armlet.codegen.entry.python import dispatcher, entry, most_rows
from armlet.codegen.entry.xla import xla_entry
from armlet.codegen.llvm.function import Target, module, modules
from armlet.codegen.llvm.loop import SCALARS, loop_function
from armlet.codegen.llvm.split import many_states_texts, one_state_texts
from armlet.codegen.lower import Lowered
from armlet.errors import DataError
from armlet.graph import Loop
from armlet.graph.graph import Array
from armlet.graph.signature import Shape, result_type
from armlet.runtime.arrays import ON_A_GPU
from armlet.runtime.backend import Arrays, Entries
from armlet.runtime.engine import Code, add_symbols, compile_ir
from armlet.runtime.engine import host as host
from armlet.runtime.python_call import address, connect
from armlet.runtime.threads import parallel_for

BLOCK, LOOP_BLOCK = 2**22, 2**23
"""The number of operations between two checks for Ctrl-C, in batches and in loops."""


def array(x: Any, dtype: str) -> Array:
    """Return x as a contiguous, aligned array of `dtype`, copied only if necessary."""
    if hasattr(x, "__cuda_array_interface__"):
        raise TypeError(ON_A_GPU)
    given = x if isinstance(x, np.ndarray) else np.asarray(x)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"its dtype is {given.dtype}")
    converted = np.asarray(given, dtype, order="C")
    return converted if converted.flags.aligned else converted.copy()


def results(
    shapes: Sequence[Shape], dtype: str, out: Any = None, inputs: Sequence[Array] = ()
) -> list[Array]:
    """Return the arrays to write results to: the checked arrays of `out`, or new arrays."""
    if out is None:
        return [np.empty(shape, dtype) for shape in shapes]
    arrays = list(out) if isinstance(out, tuple | list) else [out]
    if len(arrays) != len(shapes):
        raise DataError(f"out has {len(arrays)} arrays: expected {len(shapes)}")
    for k, (y, shape) in enumerate(zip(arrays, shapes, strict=True)):
        if not isinstance(y, np.ndarray) or y.dtype != dtype:
            kind = getattr(y, "dtype", type(y).__name__)
            raise DataError(f"out is {kind}: expected a {dtype} array")
        if y.shape != shape:
            raise DataError(f"out has shape {y.shape}: expected {shape}")
        if not y.flags.carray:
            raise DataError("out is not contiguous, aligned and writeable: expected all three")
        if any(np.may_share_memory(y, x) for x in (*inputs, *arrays[:k])):
            raise DataError("out shares memory with another array: expected one of its own")
    return arrays


def compile(code: Lowered, target: Target, loop: Loop | None = None) -> Any:
    """Return machine code of a lowered program, or of a loop with this program as its body."""
    return CompiledProgram(code, target) if loop is None else CompiledLoop(loop, code, target)


# ------------------------------------------------------------------ programs


class CompiledProgram:
    """Machine code of a program: one function for a single state, one for batches of states."""

    def __init__(self, code: Lowered, target: Target) -> None:
        self.code, self.target = code, target

    @property
    def entry_rows(self) -> int:
        """The largest number of states in a call that compiled code accepts from Python."""
        return most_rows(self.code)

    def connect(self, thing: Any, option: str = "", entries: Entries = None) -> bool:
        """Make calls of a `vectorcalled` object run compiled code; return False if impossible.

        Calls with more than `entry_rows` states, or unusual arguments, run `thing._fallback`.
        `option` names a further argument: if a call passes a string, `entries[string]` is called;
        if it passes an array, `entries[True]` is called, with the array after the inputs.
        """
        code, inputs = self.code, [*self.code.inputs]
        results = tuple if code.single or code.names is None else result_type(code.names)
        return connect(thing, self._one, inputs, option, entries, results)

    def xla_function(self, rows: int) -> tuple[str, int]:
        """Return the name and the address of a function for XLA, for calls with `rows` states.

        The name is a digest of the code. The code stays in memory until the process ends.
        """
        text, callees = xla_entry(self.code, self.target, rows >= self.target.lanes)
        name = f"armlet_{hashlib.sha256(''.join([text, *callees]).encode()).hexdigest()[:32]}"
        if name not in CALLED_BY_XLA:
            CALLED_BY_XLA.setdefault(name, compile_ir(text, "xla", callees=callees))
        return name, CALLED_BY_XLA[name].addresses["xla"]

    def run(self, arrays: Arrays, results: Arrays, count: int, threads: int) -> None:
        """Compute `count` states, and write their results to the rows of `results`."""
        lanes = self.target.lanes
        if count < lanes:
            self._run_few(arrays, results, count)
            return
        many, code = self._many
        pointers = [address(array) for array in (*arrays, *results)]

        def rows(start: int, stop: int, _alive: Any = (arrays, results, code)) -> None:
            many(*pointers, min(start, stop - lanes), stop)

        parallel_for(rows, count, self._block, threads, grain=lanes)

    def _run_few(self, arrays: Arrays, results: Arrays, count: int) -> None:
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
        code = compile_ir(text, "vectorcall", "one", "many_states", callees=texts[1:])
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


CALLED_BY_XLA: dict[str, Code] = {}
"""Name -> machine code, which XLA may call until the process ends."""
SHARED_CODE: dict[str, Code] = {}
"""Dtype -> code of the shared functions; `share` has defined their symbols."""
NEVER_FREED: list[Code] = []
"""All code that `share` has compiled, in case two threads compiled it for the same dtype."""


def share(dtype: str) -> None:
    """Compile the functions that all entry points with `dtype` share, and define their symbols."""
    if dtype not in SHARED_CODE:
        names = [shared_name(name, dtype) for name in SHARED]
        code = compile_ir(shared_functions(dtype), *names)
        NEVER_FREED.append(code)
        add_symbols(code.addresses)
        SHARED_CODE[dtype] = code


def join(one: Code, many: Code) -> None:
    """Let the entry point in `one` call `many` for batches of states, and keep `many` alive."""
    one[-1] = many
    ctypes.c_void_p.from_address(one.addresses["many_states"]).value = many.addresses["many"]


def dispatch(thing: Any, inputs: Sequence[str], option: str, entries: Entries) -> bool:
    """Make calls of `thing` run the entry for the value of `option`, or else `thing._fallback`."""
    share("float64")
    return connect(
        thing, compile_ir(dispatcher(len(inputs)), "vectorcall"), inputs, option, entries
    )


# ------------------------------------------------------------------ loops


class CompiledLoop:
    """Machine code of a loop: scalar code for few runs; for many, vectors with one run per lane."""

    def __init__(self, loop: Loop, code: Lowered, target: Target) -> None:
        self.loop, self.code, self.target = loop, code, target
        self._functions: dict[int, tuple[Any, Code]] = {}

    @property
    def block(self) -> int:
        """The number of steps that take a few milliseconds, between two checks for Ctrl-C."""
        return max(1, LOOP_BLOCK // max(1, self.loop.stages * len(self.code.operations)))

    def run(self, arrays: Arrays, results: Arrays, count: int, threads: int, *steps: int) -> None:
        """Compute a block of steps for `count` runs; `Executable.run` explains `steps`."""
        lanes = self.target.lanes if count >= self.target.lanes else 1
        function, _ = self._function(lanes)
        pointers = [address(array) for array in (*arrays, *results)]

        def rows(begin: int, end: int, _alive: Any = (arrays, results)) -> None:
            function(*pointers, count, min(begin, end - lanes), end, *steps)

        parallel_for(rows, count, lanes, threads, grain=lanes)

    def _function(self, lanes: int) -> tuple[Any, Code]:
        """Return a function that computes `lanes` runs, and its code, which must outlive it."""
        if lanes not in self._functions:
            text = loop_function(self.loop, self.code, self.target, lanes)
            code = compile_ir(module(self.target, text), "loop")
            types = [*[ctypes.c_void_p] * len(self.code.sizes), *[ctypes.c_int64] * len(SCALARS)]
            function = ctypes.CFUNCTYPE(None, *types)(code.addresses["loop"])
            self._functions.setdefault(lanes, (function, code))
        return self._functions[lanes]

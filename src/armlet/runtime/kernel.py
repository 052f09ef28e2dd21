"""A kernel: a program compiled for this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.lazy import cached_property
from armlet._support.validation import integer, one_of
from armlet.codegen.entry.python import most_rows
from armlet.codegen.llvm.function import Target
from armlet.codegen.lower import Lowered, lower
from armlet.errors import CompileError, DataError
from armlet.graph import Count, Program
from armlet.graph.signature import Shape, leading_axes, return_value
from armlet.runtime import cpu
from armlet.runtime.arrays import library_of
from armlet.runtime.arrays.traced import Traced, record_program
from armlet.runtime.python_call import vectorcalled

Array = np.ndarray[Any, Any]
"""An array of the backend: a NumPy array for the CPU."""
DTYPES = ("float64", "float32")


class CompiledProgram(Protocol):
    """A lowered program on a backend. Nothing is compiled before it is first needed."""

    def run(self, arrays: Sequence[Any], results: Sequence[Any], count: int, threads: int) -> None:
        """Compute `count` states, one row each; inputs given once have no rows."""

    def entry(
        self,
        fallback: Callable[..., Any],
        name: str,
        doc: str = "",
        option: str = "",
        entries: dict[Any, Any] | None = None,
    ) -> Callable[..., Any]:
        """A fast function for a few states that calls `fallback` for all other arguments.

        `doc` is its docstring. The option, an argument after the inputs, selects one of `entries`.
        A backend without a fast path returns `fallback`.
        """

    def connect(self, kernel: Any, fallback: Callable[..., Any]) -> bool:
        """Make that function what calling a kernel does; False if the backend cannot."""


class Backend(Protocol):
    """The interface of a backend, which is a module: compiling programs, and its arrays."""

    def target(self, dtype: str) -> Any:
        """The default target: all features of this machine."""

    def compile(self, code: Lowered, target: Any) -> CompiledProgram:
        """A program for a target, compiled when it is first needed."""

    def array(self, x: Any, dtype: str) -> Any:
        """x as an array that compiled code can read; TypeError or ValueError if it is none."""

    def empty(self, shape: Shape, dtype: str) -> Any:
        """An array that compiled code can write to."""

    def check_out(self, array: Any, shape: Shape, dtype: str, others: Sequence[Any]) -> None:
        """Raise DataError if results of that shape cannot be written to an array."""


BACKENDS: dict[str, Backend] = {"cpu": cpu}
"""The backends by name."""


@vectorcalled
class Kernel:
    """A program as machine code, called with arrays of one state or a batch.

    It can be pickled, and is compiled again after unpickling.

    Parameters
    ----------
    program : Program
        What it computes; sines of sums of angles are computed from those of the parts.
    dtype : {"float64", "float32"}
        The type of numbers; arrays of other dtypes are converted once.
    target : Target, optional
        What to compile for instead of all features of this machine; sets the dtype.
    backend : {"cpu"}
        What compiles and runs it: LLVM for this processor, on NumPy arrays.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> kernel = armlet.compile(armlet.load("planar2r"), "gravity_torque")
    >>> kernel(np.zeros(2)).round(3).tolist()
    [19.62, 4.905]
    >>> kernel(np.zeros((1000, 2)), threads=2).shape
    (1000, 2)
    """

    __slots__ = ("__dict__", "__weakref__", "callee")

    def __init__(
        self,
        program: Program,
        dtype: str = "float64",
        target: Target | None = None,
        backend: str = "cpu",
    ) -> None:
        one_of(dtype, "dtype", DTYPES, CompileError)
        one_of(backend, "backend", BACKENDS, CompileError)
        program.check_values()
        self.program = program
        self.backend = BACKENDS[backend]
        self.target = self.backend.target(dtype) if target is None else target
        self.dtype = np.dtype(self.target.dtype)
        self._arguments = program, dtype, target, backend
        self._by_rates: dict[frozenset[str], CompiledProgram] = {}

    @cached_property
    def jvp(self) -> Kernel:
        """The kernel of the derivatives along tangents of the inputs; see `Program.jvp`."""
        return Kernel(self.program.jvp(), *self._arguments[1:])

    @cached_property
    def vjp(self) -> Kernel:
        """The kernel of the derivatives of the results times cotangents; see `Program.vjp`."""
        return Kernel(self.program.vjp(), *self._arguments[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        """The data alone: a copy compiles its own code."""
        return Kernel, self._arguments

    def kernel_for(self, dtype: str) -> Kernel:
        """The kernel itself: arrays of other dtypes are converted."""
        return self

    def record(self, arrays: Sequence[ArrayLike]) -> Traced:
        """The results for traced arrays, recorded in their graph."""
        return record_program(self.program, arrays)

    @property
    def operations(self) -> Count:
        """The number of operations."""
        return self.code.count()

    @cached_property
    def code(self) -> Lowered:
        """The operations for one state, in their order."""
        return lower(self.program)

    @cached_property
    def _strict_call(self) -> Callable[..., Any]:
        """The compiled entry for converted arrays: NotImplemented where it cannot take them."""
        return self.compiled().entry(self._refuse, "call")

    def _refuse(self, *_: Any, **__: Any) -> Any:
        return NotImplemented

    def takes_long(self, arrays: Sequence[Any]) -> bool:
        """Whether arrays have more rows than a compiled entry takes."""
        q = arrays[0] if arrays else None
        return isinstance(q, np.ndarray) and q.size > self._most_entries

    @cached_property
    def _most_entries(self) -> int:
        """The number of entries of the first input in the longest batch that an entry takes."""
        size = max((x.size for x in [*self.program.inputs.values()][:1]), default=0)
        return most_rows(self.code) * max(1, size)

    def compiled(self, once: frozenset[str] = frozenset()) -> CompiledProgram:
        """The compiled program for inputs of which some are given once."""
        if once not in self._by_rates:
            code = lower(self.program, once) if once else self.code
            self._by_rates.setdefault(once, self.backend.compile(code, self.target))
        return self._by_rates[once]

    def __call__(
        self,
        *arrays: ArrayLike,
        out: Array | Sequence[Array] | None = None,
        threads: int = 1,
        **named: ArrayLike,
    ) -> Array | Any:
        """The results for one state or many.

        Parameters
        ----------
        *arrays : array_like
            The inputs in order, with any leading axes, all the same. Constants may have none, and
            then apply to all states.
        out : array or tuple of arrays, optional
            Where to write: of the kernel's dtype, contiguous, writeable, not overlapping inputs.
        threads : int
            How many threads share the rows, at most one per core.
        **named : array_like
            Inputs by name, after those in order.

        Returns
        -------
        array or tuple of arrays
            One array per output of the program, of the kernel's dtype, after the leading axes;
            the array alone where there is one output.
        """
        is_short = threads == 1 and not self.takes_long(arrays) and type(self) is Kernel
        if is_short and self.compiled().connect(self, self._convert_and_call):
            connected: Any = self
            return connected(*arrays, out=out, **named)  # calls come here no more
        return self._convert_and_call(*arrays, out=out, threads=threads, **named)

    def _convert_and_call(
        self, *arrays: Any, out: Any = None, threads: int = 1, **named: Any
    ) -> Array | Any:
        """Fallback of the compiled entry, which it tries once more with converted arrays."""
        if named:
            arrays = in_order(self.program, arrays, named)
        if library := library_of(arrays, out):
            return library.evaluate(self, arrays, threads)
        if threads == 1 and not self.takes_long(arrays):
            try:
                arrays = tuple([self.backend.array(x, self.target.dtype) for x in arrays])
            except (TypeError, ValueError):
                return self.evaluate(*arrays, out=out)
            results = self._strict_call(*arrays, out=out)
            if results is not NotImplemented:
                return results
        return self.evaluate(*arrays, out=out, threads=threads)

    def evaluate(self, *arrays: ArrayLike, out: Any = None, threads: int = 1) -> Any:
        """Evaluate the kernel without the compiled entry: long batches, and what it refuses."""
        count = integer(threads, "threads", low=1)
        inputs, leading, once = self._inputs(arrays)
        shapes = [(*leading, *output.shape) for output in self.program.outputs]
        results = self._results(shapes, out, inputs)
        self.compiled(once).run(inputs, results, prod(leading), count)
        return return_value(results, self.program.single, self.program.names)

    def _inputs(self, arrays: Sequence[Any]) -> tuple[list[Array], Shape, frozenset[str]]:
        """The arrays converted, their leading axes, and the names of inputs given once for all."""
        inputs = self.program.inputs
        self.program.check_number(arrays)
        converted = [self.array(name, x) for name, x in zip(inputs, arrays, strict=True)]
        leading, own = leading_axes(inputs.values(), [x.shape for x in converted])
        once = (
            x.name
            for x, axes in zip(inputs.values(), own, strict=True)
            if x.rate == "once" and not axes
        )
        return converted, leading, frozenset(once)

    def array(self, name: str, x: ArrayLike) -> Array:
        """An argument as an array of the backend; DataError with its name if it is none."""
        try:
            array: Array = self.backend.array(x, self.target.dtype)
            return array
        except (TypeError, ValueError) as error:
            raise DataError(f"{name} is not an array of numbers: {error}") from None

    def _results(self, shapes: list[Shape], out: Any, inputs: list[Array]) -> list[Array]:
        """New arrays for the results, or those of `out` if they can be written to."""
        if out is None:
            return [self.backend.empty(shape, self.target.dtype) for shape in shapes]
        results = list(out) if isinstance(out, tuple | list) else [out]
        if len(results) != len(shapes):
            raise DataError(f"out has {len(results)} arrays: expected {len(shapes)}")
        for k, shape in enumerate(shapes):
            others = [*inputs, *results[:k]]
            self.backend.check_out(results[k], shape, self.target.dtype, others)
        return results

    def __repr__(self) -> str:
        arguments = ", ".join(self.program.inputs)
        return f"<Kernel {self.program.name}({arguments}), {self.dtype}: {self.operations}>"


def in_order(program: Program, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """The inputs of a program in order, the last of them given by name."""
    names = list(program.inputs)
    for name in named:
        if name not in names:
            raise TypeError(f"{program.name} got an unexpected keyword argument {name!r}")
        if name in names[: len(arrays)]:
            raise TypeError(f"{program.name} got multiple values for argument {name!r}")
    missing = [name for name in names[len(arrays) :] if name not in named]
    if missing:
        raise TypeError(f"{program.name} missing argument {missing[0]!r}")
    return (*arrays, *(named[name] for name in names[len(arrays) :]))

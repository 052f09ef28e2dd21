"""`Kernel`: a program compiled by a backend, with a compiled entry that Python calls directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.lazy import cached_property
from armlet._support.validation import integer, one_of
from armlet.codegen.lower import Lowered, lower
from armlet.errors import CompileError, DataError
from armlet.graph import Count, Program
from armlet.graph.graph import Array
from armlet.graph.signature import Shape, given_once, leading_axes, return_value
from armlet.runtime.arrays import library_of
from armlet.runtime.arrays.traced import record_program
from armlet.runtime.backend import Executable, Target, load_backend
from armlet.runtime.python_call import Entry, vectorcalled

DTYPES = ("float64", "float32")


@vectorcalled
class Kernel:
    """A program compiled to machine code, called with arrays of one state or a batch.

    A kernel can be pickled; the unpickled kernel is compiled again.

    Parameters
    ----------
    program : Program
        The program to compile. If it has sines or cosines of a, b and a + b, those of a + b are
        computed from those of a and b by the addition theorems.
    dtype : {"float64", "float32"}
        The type of numbers; arrays of other dtypes are converted.
    target : Target, optional
        The target to compile for; its dtype replaces `dtype`. By default, this machine.
    backend : {"cpu"}
        The backend that compiles and runs the program.

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
        program.check_values()
        self.program = program
        self.backend = load_backend(backend)
        self.target = self.backend.host(dtype) if target is None else target
        self.dtype = np.dtype(self.target.dtype)
        self._arguments = program, dtype, target, backend
        self._by_rates: dict[frozenset[str], Executable] = {}

    @cached_property
    def jvp(self) -> Kernel:
        """Kernel of the directional derivatives along input tangents; see `Program.jvp`."""
        return Kernel(self.program.jvp(), *self._arguments[1:])

    @cached_property
    def vjp(self) -> Kernel:
        """Kernel of the vector-Jacobian product for given cotangents; see `Program.vjp`."""
        return Kernel(self.program.vjp(), *self._arguments[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the constructor's arguments: the copy compiles its own code."""
        return Kernel, self._arguments

    def kernel_for(self, dtype: str) -> Kernel:
        """Return the kernel itself for every dtype: arrays are converted to the kernel's dtype."""
        return self

    def record(self, arrays: Sequence[ArrayLike]) -> Array | tuple[Array, ...]:
        """Record the program in the graph of traced arrays, and return the results."""
        return record_program(self.program, arrays)

    @property
    def operations(self) -> Count:
        """The number of operations for one state."""
        return self.code.count()

    @cached_property
    def code(self) -> Lowered:
        """The operations for one state, in the order of execution."""
        return lower(self.program)

    @cached_property
    def _strict_call(self) -> Any:
        """The compiled entry; a call returns NotImplemented if the entry refuses the arguments."""
        entry = Entry(lambda *_, **__: NotImplemented)
        self.compiled().connect(entry)
        return entry

    def takes_long(self, arrays: Sequence[Any]) -> bool:
        """Whether the first array holds more states than the compiled entry accepts."""
        q = arrays[0] if arrays else None
        size = max((x.size for x in [*self.program.inputs.values()][:1]), default=0)
        return isinstance(q, np.ndarray) and q.size > self.compiled().entry_rows * max(1, size)

    def compiled(self, once: frozenset[str] = frozenset()) -> Executable:
        """Return compiled code for calls whose inputs `once` have one value for all states."""
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
        """Compute the results for one state or many.

        Parameters
        ----------
        *arrays : array_like
            The inputs in order, all with the same leading axes. Inputs of rate "once" (constants)
            may also be without leading axes; they then apply to all states.
        out : array or tuple of arrays, optional
            Arrays for the results: of the kernel's dtype, contiguous, writeable, without overlap.
        threads : int
            Number of threads that share the states of a batch, at most one per core.
        **named : array_like
            The remaining inputs, by name.

        Returns
        -------
        array or tuple of arrays
            One array per output of the program, of the kernel's dtype, with the leading axes first;
            the array alone if the program has a single output.
        """
        if threads == 1 and not self.takes_long(arrays):
            self.compiled().connect(self)  # later calls run the compiled entry
        return self._fallback(*arrays, out=out, threads=threads, **named)

    def _fallback(
        self, *arrays: Any, out: Any = None, threads: int = 1, **named: Any
    ) -> Array | Any:
        """Handle a call that the compiled entry refuses: convert arrays, call the entry again."""
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
        """Evaluate the kernel on long batches, or on arguments that the compiled entry refuses."""
        count = integer(threads, "threads", low=1)
        self.program.check_number(arrays)
        inputs = [self.array(name, x) for name, x in zip(self.program.inputs, arrays, strict=True)]
        leading, shapes, once = self.shapes([x.shape for x in inputs])
        results = self.backend.results(shapes, self.target.dtype, out, inputs)
        self.compiled(once).run(inputs, results, prod(leading), count)
        return return_value(results, self.program.single, self.program.names)

    def shapes(self, shapes: Sequence[Shape]) -> tuple[Shape, list[Shape], frozenset[str]]:
        """Return the leading axes and the shapes of the results, for inputs with the given shapes.

        The third item returned is the set of inputs (names) with one value for all states.
        """
        inputs = self.program.inputs.values()
        leading, own = leading_axes(inputs, shapes)
        results = [(*leading, *y.shape) for y in self.program.outputs]
        return leading, results, given_once(inputs, own)

    def array(self, name: str, x: ArrayLike) -> Array:
        """Convert x to an array of the kernel's dtype; raise DataError if x is not numeric."""
        try:
            return self.backend.array(x, self.target.dtype)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name} is not an array of numbers: {error}") from None

    def __repr__(self) -> str:
        arguments = ", ".join(self.program.inputs)
        return f"<Kernel {self.program.name}({arguments}), {self.dtype}: {self.operations}>"


def in_order(program: Program, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a program's arguments in order, from positional and named arguments."""
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

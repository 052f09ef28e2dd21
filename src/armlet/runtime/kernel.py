"""A kernel: a program compiled for this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.lazy import cached_property
from armlet.codegen.entry.entry import most_rows
from armlet.codegen.llvm.function import Target
from armlet.codegen.lower import Lowered, lower
from armlet.errors import CompileError, DataError
from armlet.graph import Count, Program
from armlet.graph.signature import Shape, leading_axes, return_value
from armlet.runtime.arrays.libraries import library_of, refuse_out
from armlet.runtime.backends import BACKENDS, Compiled
from armlet.runtime.python_call import vectorcalled
from armlet.runtime.threads import check_threads

Array = np.ndarray[Any, Any]
"""An array of the backend's library: NumPy's, of the only one there is."""
DTYPES = ("float64", "float32")


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
    backend : {"llvm"}
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
        backend: str = "llvm",
    ) -> None:
        for name, value, known in (("dtype", dtype, DTYPES), ("backend", backend, BACKENDS)):
            if value not in known:
                raise CompileError(f"{name} is {value!r}: expected one of {', '.join(known)}")
        program.check_values()
        self.program = program
        self.backend = BACKENDS[backend]
        self.target = self.backend.target(dtype) if target is None else target
        self.dtype = np.dtype(self.target.dtype)
        self._made_of = program, dtype, target, backend
        self._by_rates: dict[frozenset[str], Compiled] = {}

    @cached_property
    def jvp(self) -> Kernel:
        """The kernel of the derivatives along directions of the inputs; see `Program.jvp`."""
        return Kernel(self.program.jvp(), *self._made_of[1:])

    @cached_property
    def vjp(self) -> Kernel:
        """The kernel of the derivatives of a weighted sum of results; see `Program.vjp`."""
        return Kernel(self.program.vjp(), *self._made_of[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        """The data alone: a copy compiles its own code."""
        return Kernel, self._made_of

    @property
    def operations(self) -> Count:
        """How many multiplications and additions it takes."""
        return self.code.count()

    @cached_property
    def code(self) -> Lowered:
        """The operations that it does for one state, in their order."""
        return lower(self.program)

    @cached_property
    def call(self) -> Callable[..., Any]:
        """The compiled entry point: what calling the kernel does, as a function."""
        return self.entry(self._converted_call)

    @cached_property
    def _strict_call(self) -> Callable[..., Any]:
        """The same for converted arrays: NotImplemented where the other would convert them."""
        return self.entry(self._refuse)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        return NotImplemented

    def entry(
        self,
        otherwise: Callable[..., Any],
        name: str = "call",
        about: str = "",
        option: str = "",
        others: dict[Any, Any] | None = None,
    ) -> Callable[..., Any]:
        """A compiled function for a few states that calls `otherwise` for all other arguments.

        `about` is its docstring, which may begin with a signature in CPython's format. An option,
        an argument after the inputs, selects one of `others`: by its value, or by True if it is an
        array, which is then passed on as well.
        """
        return self._compiled().entry(otherwise, name, about, option, others)

    def takes_long(self, arrays: Sequence[Any]) -> bool:
        """Whether arrays have more rows than a compiled entry takes."""
        q = arrays[0] if arrays else None
        return isinstance(q, np.ndarray) and q.size > self._most_entries

    @cached_property
    def _most_entries(self) -> int:
        """How many entries the first input has in the longest batch that is not long."""
        size = max((x.size for x in [*self.program.inputs.values()][:1]), default=0)
        return most_rows(self.code) * max(1, size)

    def _compiled(self, once: frozenset[str] = frozenset()) -> Compiled:
        """The program for inputs of which some are given once, compiled when it is run."""
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
        if threads == 1 and not self.takes_long(arrays) and type(self) is Kernel:
            self._compiled().connect(self, self._converted_call)  # calls come here no more
        return self._converted_call(*arrays, out=out, threads=threads, **named)

    def _converted_call(
        self, *arrays: Any, out: Any = None, threads: int = 1, **named: Any
    ) -> Array | Any:
        """Fallback of the compiled entry, which it tries once more with converted arrays."""
        if named:
            arrays = self._in_order(arrays, named)
        if library := library_of(arrays):
            refuse_out(out)
            return library.evaluated(self, arrays, threads)
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
        """Fallback for long batches, other array types and invalid input."""
        check_threads(threads)
        given, leading, once = self._inputs(arrays)
        shapes = [(*leading, *output.shape) for output in self.program.outputs]
        results = self._results(shapes, out, given)
        self._compiled(once).run(given, results, prod(leading), int(threads))
        return return_value(results, self.program.single, self.program.names)

    def _in_order(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The inputs in order, the last of them given by name."""
        names = list(self.program.inputs)
        known, called = names[: len(arrays)], self.program.name
        for name in named:
            if name not in names:
                raise TypeError(f"{called} got an unexpected keyword argument {name!r}")
            if name in known:
                raise TypeError(f"{called} got multiple values for argument {name!r}")
        missing = [name for name in names[len(arrays) :] if name not in named]
        if missing:
            raise TypeError(f"{called} missing argument {missing[0]!r}")
        return (*arrays, *(named[name] for name in names[len(arrays) :]))

    def _inputs(self, arrays: Sequence[Any]) -> tuple[list[Array], Shape, frozenset[str]]:
        """The arrays as the backend's, the axes before those of one state, and what has none."""
        inputs = self.program.inputs
        self.program.check_number(arrays)
        given = [self.converted(name, x) for name, x in zip(inputs, arrays, strict=True)]
        leading, own = leading_axes(inputs.values(), [x.shape for x in given])
        once = (
            x.name
            for x, axes in zip(inputs.values(), own, strict=True)
            if x.rate == "once" and not axes
        )
        return given, leading, frozenset(once)

    def converted(self, name: str, x: ArrayLike) -> Array:
        """An argument as an array of the backend's; DataError with its name if it is none."""
        try:
            array: Array = self.backend.array(x, self.target.dtype)
            return array
        except (TypeError, ValueError) as error:
            raise DataError(f"{name} is not an array of numbers: {error}") from None

    def _results(self, shapes: list[Shape], out: Any, given: list[Array]) -> list[Array]:
        if out is None:
            return [self.backend.empty(shape, self.target.dtype) for shape in shapes]
        results = list(out) if isinstance(out, tuple | list) else [out]
        if len(results) != len(shapes):
            raise DataError(f"out has {len(results)} arrays: expected {len(shapes)}")
        for k, shape in enumerate(shapes):
            others = [*given, *results[:k]]
            self.backend.check_out(results[k], shape, self.target.dtype, others)
        return results

    def __repr__(self) -> str:
        arguments = ", ".join(self.program.inputs)
        return f"<Kernel {self.program.name}({arguments}), {self.dtype}: {self.operations}>"

"""A kernel: a program compiled for this machine."""

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from armlet.codegen.entry import entry
from armlet.codegen.llvm import Target, many_states, module, one_state
from armlet.codegen.lower import Lowered, lowered
from armlet.errors import CompileError, DataError
from armlet.graph import Count, Program
from armlet.runtime.engine import Code, compiled, fast_call, host, reads_arrays
from armlet.runtime.threads import parallel_for

Array = np.ndarray[Any, Any]
DTYPES = ("float64", "float32")
BLOCK = 2**22
"""How many operations are done before Ctrl-C is looked for."""


T = TypeVar("T")


class made_once(Generic[T]):
    """A property that is computed when it is first asked for, as functools.cached_property.

    That one holds a lock in Python 3.11, the same for all objects: of threads that compile, one at
    a time would, and a process forked in the meantime would wait for it forever.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        self.func, self.name, self.__doc__ = func, func.__name__, func.__doc__

    def __get__(self, thing: Any, _: type | None = None) -> T:
        found: T = vars(thing).setdefault(self.name, self.func(thing))
        return found


class Kernel:
    """A program as machine code, called with arrays of one state or of many.

    Parameters
    ----------
    program : Program
        What it computes; sines of sums of angles are computed from those of the parts.
    dtype : {"float64", "float32"}
        What it computes in; arrays of other kinds are converted once.
    target : Target, optional
        What to compile for instead of all that this machine has; its dtype is the kernel's.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> kernel = armlet.compile(armlet.load("planar2r"), "gravity_torque")
    >>> kernel(np.zeros(2)).round(3).tolist()
    [19.62, 4.905]
    >>> kernel(np.zeros((1000, 2)), threads=2).shape
    (1000, 2)
    """

    def __init__(
        self, program: Program, dtype: str = "float64", target: Target | None = None
    ) -> None:
        if dtype not in DTYPES:
            raise CompileError(f"dtype is {dtype!r}: expected one of {', '.join(DTYPES)}")
        program.check_values()
        self.program = program
        self.target = host(dtype) if target is None else target
        self.dtype = np.dtype(self.target.dtype)

    @property
    def operations(self) -> Count:
        """How many multiplications and additions it takes."""
        return self.code.count()

    @made_once
    def code(self) -> Lowered:
        """The operations that it does."""
        return lowered(self.program)

    @made_once
    def call(self) -> Callable[..., Any]:
        """The compiled way in: what calling the kernel does, without Python in between."""
        return self.entry(self.evaluate)

    def entry(self, otherwise: Callable[..., Any], about: str = "") -> Callable[..., Any]:
        """A compiled function that runs the kernel on one state's arrays, and else asks another.

        What it is about is its docstring, which may begin with its signature as CPython has it.
        """
        if not reads_arrays():
            return otherwise
        return fast_call(self._one, self.program.name, otherwise, about)

    @made_once
    def _one(self) -> Code:
        """The code for one state."""
        text = module(self.target, one_state(self.code, self.target))
        return compiled(text + entry(self.code, self.dtype.name), "entry")

    @made_once
    def _many(self) -> tuple[Callable[..., None], Code]:
        """The function for rows of states, and its code, which must live as long."""
        one, many = (f(self.code, self.target) for f in (one_state, many_states))
        code = compiled(module(self.target, one, many), "many")
        count = len(self.program.inputs) + len(self.program.outputs)
        kinds = [*[ctypes.c_void_p] * count, ctypes.c_int64, ctypes.c_int64]
        return ctypes.CFUNCTYPE(None, *kinds)(code.addresses["many"]), code

    @made_once
    def _block(self) -> int:
        """How many rows are computed in a few milliseconds, whole vectors of them."""
        fits = BLOCK // max(1, len(self.code.operations))
        return max(1, fits // self.target.lanes) * self.target.lanes

    def __reduce__(self) -> tuple[type["Kernel"], tuple[Program, str, Target]]:
        """The data alone: a copy compiles its own code."""
        return Kernel, (self.program, self.dtype.name, self.target)

    def __call__(
        self, *arrays: ArrayLike, out: Array | Sequence[Array] | None = None, threads: int = 1
    ) -> Array | Any:
        """The results for one state or many.

        Parameters
        ----------
        *arrays : array_like
            The inputs in order, with any leading axes, all the same.
        out : array or tuple of arrays, optional
            Where to write: of the kernel's dtype, contiguous, writeable, apart from the inputs.
        threads : int
            How many threads share the rows, at most one per core.

        Returns
        -------
        array or tuple of arrays
            One array per output of the program, of the kernel's dtype, after the leading axes;
            the array alone where there is one output.
        """
        if out is None and threads == 1:
            return self.call(*arrays)
        return self.evaluate(*arrays, out=out, threads=threads)

    def evaluate(self, *arrays: ArrayLike, out: Any = None, threads: int = 1) -> Any:
        """What the compiled entry does not take: batches, other kinds of array, bad ones."""
        if not isinstance(threads, int | np.integer) or threads < 1:
            raise DataError(f"threads is {threads!r}: expected a whole number, 1 or more")
        given, leading = self._inputs(arrays)
        shapes = [(*leading, *output.shape) for output in self.program.outputs]
        results = self._results(shapes, out, given)
        self._run([*given, *results], prod(leading), threads)
        return results[0] if self.program.single else tuple(results)

    def _inputs(self, arrays: Sequence[Any]) -> tuple[list[Array], tuple[int, ...]]:
        names = list(self.program.inputs)
        if len(arrays) != len(names):
            raise DataError(
                f"{self.program.name} takes {len(names)} arrays ({', '.join(names)}), "
                f"got {len(arrays)}"
            )
        given = [self._converted(name, x) for name, x in zip(names, arrays, strict=True)]
        leading = [
            _leading(name, array, shape)
            for (name, shape), array in zip(self.program.inputs.items(), given, strict=True)
        ]
        first = leading[0] if leading else ()
        for name, axes in zip(names, leading, strict=True):
            if axes != first:
                raise DataError(
                    f"{name} has leading axes {axes}, {names[0]} has {first}: all arrays must "
                    "have the same"
                )
        return given, first

    def _converted(self, name: str, x: Any) -> Array:
        try:
            array = np.asarray(x)
            if array.dtype.kind not in "biuf":
                raise TypeError(f"its dtype is {array.dtype}")
            return np.require(array, self.dtype, ["C", "A"])
        except (TypeError, ValueError) as error:
            raise DataError(f"{name} is not an array of numbers: {error}") from None

    def _results(self, shapes: list[tuple[int, ...]], out: Any, given: list[Array]) -> list[Array]:
        if out is None:
            return [np.empty(shape, self.dtype) for shape in shapes]
        results = list(out) if isinstance(out, tuple | list) else [out]
        if len(results) != len(shapes):
            raise DataError(f"out has {len(results)} arrays: expected {len(shapes)}")
        for k, shape in enumerate(shapes):
            self._check_out(results[k], shape, [*given, *results[:k]])
        return results

    def _check_out(self, array: Any, shape: tuple[int, ...], others: list[Array]) -> None:
        if not isinstance(array, np.ndarray) or array.dtype != self.dtype:
            found = getattr(array, "dtype", type(array).__name__)
            raise DataError(f"out is {found}: expected a {self.dtype} array")
        if array.shape != shape:
            raise DataError(f"out has shape {array.shape}: expected {shape}")
        if not array.flags.carray:
            raise DataError("out is not contiguous, aligned and writeable: expected all three")
        if any(np.may_share_memory(array, x) for x in others):
            raise DataError("out shares memory with another array: expected one of its own")

    def _run(self, arrays: list[Array], count: int, threads: int) -> None:
        many, code = self._many
        pointers = [array.__array_interface__["data"][0] for array in arrays]

        def rows(start: int, stop: int, _kept: Any = (arrays, code)) -> None:
            many(*pointers, start, stop)

        parallel_for(rows, count, self._block, threads)

    def __repr__(self) -> str:
        arguments = ", ".join(self.program.inputs)
        return f"<Kernel {self.program.name}({arguments}), {self.dtype}: {self.operations}>"


def _leading(name: str, array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of an array before those of one state."""
    split = array.ndim - len(shape)
    if split < 0 or array.shape[split:] != shape:
        raise DataError(
            f"{name} has shape {array.shape}: expected ({', '.join(map(str, ('...', *shape)))})"
        )
    return tuple(array.shape[:split])

"""Evaluation of programs on arrays of libraries other than NumPy.

The table `armlet.libraries.LIBRARIES` maps the package of an array's type to a module of this
folder. The module's function `evaluate(computation, arrays, threads)` returns arrays of the same
library.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from armlet.errors import DataError
from armlet.graph import Program
from armlet.graph.signature import Input, Shape, leading_axes
from armlet.libraries import LIBRARIES, is_nested, package_of

ON_A_GPU = "it is on a GPU, where armlet does not compute yet: copy it to the CPU first"


class Computation(Protocol):
    """Interface of computations: a robot's quantity, a user function or a kernel."""

    @property
    def program(self) -> Program:
        """The program of the computation."""

    def kernel_for(self, dtype: str) -> Any:
        """Return the computation's kernel for float64 or float32."""

    def record(self, arrays: Sequence[Any]) -> Any:
        """Record the computation in the graph of the traced `arrays`, and return the results."""


def library_of(arrays: Iterable[Any], out: Any = None) -> ModuleType | None:
    """Return the module that evaluates programs on the arrays; None for NumPy and numbers.

    For a list, its entries decide. Raises DataError if `out` is passed with non-NumPy arrays.
    """
    for x in arrays:
        if type(x) is np.ndarray and x.dtype != object:
            continue
        if name := package_of(x, LIBRARIES):
            if out is not None:
                raise DataError(
                    "out is given with arrays of another library: expected NumPy arrays"
                )
            return import_module(f"{__name__}.{LIBRARIES[name].evaluation}")
    return None


def unnested(arrays: Iterable[Any]) -> Iterator[Any]:
    """Yield the arrays, with nested lists, tuples and object arrays replaced by their entries."""
    for x in arrays:
        if is_nested(x):
            yield from unnested(x)
        else:
            yield x


def broadcast_mapped(
    inputs: Collection[Input],
    arrays: Sequence[Any],
    mapped: Sequence[bool],
    size: int,
    broadcast: Callable[[Any, Shape], Any],
) -> list[Any]:
    """Broadcast arrays to the same leading axes, with the axis mapped by `vmap` as first axis.

    Mapped arrays already have this axis. Inputs of rate "once" without leading axes are unchanged.
    """
    shapes = [tuple(x.shape)[first:] for x, first in zip(arrays, mapped, strict=True)]
    leading, own = leading_axes(inputs, shapes)
    full = []
    for argument, x, first, axes in zip(inputs, arrays, mapped, own, strict=True):
        if argument.rate == "once" and not first and not axes:
            full.append(x)
            continue
        ones = (1,) * (len(leading) - len(axes))
        reshaped = x.reshape((size if first else 1, *ones, *axes, *argument.shape))
        full.append(broadcast(reshaped, (size, *leading, *argument.shape)))
    return full


def extra_axes(shape: Shape, derivative: Shape) -> tuple[int, ...]:
    """Return the leading axes that a derivative has and its input lacks: sum over these axes."""
    return tuple(range(len(derivative) - len(shape)))

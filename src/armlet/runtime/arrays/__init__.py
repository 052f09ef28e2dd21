"""Evaluation of programs on arrays: kernels for NumPy, one module for each other library.

The table `armlet.libraries.LIBRARIES` maps the package of an array's type to a module of this
folder. Each module has a function `evaluate(computation, arrays, threads)`, which returns arrays of
the same library.
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
    """A computation to evaluate: a quantity of a robot, a user function or a kernel."""

    @property
    def program(self) -> Program:
        """The program of the computation."""

    def kernel_for(self, dtype: str) -> Any:
        """The kernel of the computation in float64 or float32."""

    def record(self, arrays: Sequence[Any]) -> Any:
        """The results for traced arrays, recorded in their graph."""


def library_of(arrays: Iterable[Any], out: Any = None) -> ModuleType | None:
    """The module for the library of the arrays, or of their entries; None for NumPy and numbers.

    Raises DataError if `out` is given with arrays of another library than NumPy.
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
    """The arrays, with nested lists and tuples replaced by their entries."""
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
    """Broadcast arrays to the same leading axes, the first of which is the mapped axis.

    Mapped arrays already begin with this axis. Other inputs shared by all states stay as they are.
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
    """The leading axes of a derivative to sum over, if its input is shared by all states."""
    return tuple(range(len(derivative) - len(shape)))

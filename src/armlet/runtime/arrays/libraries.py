"""The libraries whose arrays run kernels beside NumPy's, and what their modules have in common.

Each module has `dtype_of(arrays)`, the dtype of the kernel that arrays are for, and
`evaluated(kernel, arrays, threads)`, its results as arrays of the library. Derivatives are those of
the programs `Program.jvp` and `Program.vjp`, compiled as kernels too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from armlet.errors import DataError
from armlet.graph.signature import Input, Shape, leading_axes
from armlet.scalar import is_nested, package_of

MODULES = {
    "torch": "armlet.runtime.arrays.torch",
    "jax": "armlet.runtime.arrays.jax",
    "jaxlib": "armlet.runtime.arrays.jax",
}
"""How arrays are evaluated, by the package of their type."""
ON_A_GPU = "it is on a GPU, where armlet does not compute yet: copy it to the CPU first"


class Library(Protocol):
    """What a module above has."""

    def dtype_of(self, arrays: Sequence[Any]) -> str:
        """The dtype of the kernel that arrays are for: float64 or float32."""

    def evaluated(self, kernel: Any, arrays: Sequence[Any], threads: int) -> Any:
        """The results of a kernel as arrays of the library."""


def library_of(arrays: Iterable[Any]) -> Library | None:
    """The module for the first array of another library than NumPy, or of such entries, or None."""
    for x in arrays:
        if type(x) is np.ndarray and x.dtype != object:
            continue
        if name := package_of(x, MODULES):
            module: Any = import_module(MODULES[name])
            return module  # type: ignore[no-any-return]
    return None


def unnested(arrays: Iterable[Any]) -> Iterator[Any]:
    """Arrays, and in place of those that are nested what they hold."""
    for x in arrays:
        if is_nested(x):
            yield from unnested(x)
        else:
            yield x


def refuse_out(out: Any) -> None:
    """Raise if there is an array to write to, which only NumPy's calls have."""
    if out is not None:
        raise DataError("out is given with arrays of another library: expected NumPy arrays")


def spread(
    inputs: Iterable[Input],
    arrays: Sequence[Any],
    mapped: Sequence[bool],
    size: int,
    broadcast: Callable[[Any, Shape], Any],
) -> list[Any]:
    """Arrays with the same leading axes, of which the first is a new one of this size.

    Those that are mapped have it as their first axis. What is given once and not mapped stays.
    """
    inputs = list(inputs)
    shapes = [tuple(x.shape)[first:] for x, first in zip(arrays, mapped, strict=True)]
    leading, own = leading_axes(inputs, shapes)
    found = []
    for given, x, first, axes in zip(inputs, arrays, mapped, own, strict=True):
        if given.rate == "once" and not first and not axes:
            found.append(x)
            continue
        ones = (1,) * (len(leading) - len(axes))
        full = x.reshape((size if first else 1, *ones, *axes, *given.shape))
        found.append(broadcast(full, (size, *leading, *given.shape)))
    return found


def extra_axes(shape: Shape, found: Shape) -> tuple[int, ...]:
    """The axes that a derivative has before those of an input given once, to be summed over."""
    return tuple(range(len(found) - len(shape)))

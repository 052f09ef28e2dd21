"""The table of the array and scalar libraries that armlet computes with.

To support another library, add a line that names its functions and the module of
`armlet.runtime.arrays` that evaluates programs on its arrays.
"""

import importlib
from collections.abc import Collection
from itertools import chain
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Library(NamedTuple):
    """The modules by which armlet computes with an array or scalar library."""

    functions: str
    """The module with the library's functions, such as `sin`."""
    evaluation: str
    """The module of `armlet.runtime.arrays` that evaluates programs on the library's arrays."""


LIBRARIES = {
    "jax": Library("jax.numpy", "jax"),
    "jaxlib": Library("jax.numpy", "jax"),
    "torch": Library("torch", "torch"),
    "casadi": Library("casadi", "expressions"),
    "sympy": Library("sympy", "expressions"),
    "mpmath": Library("mpmath", "expressions"),
    "armlet": Library("numpy", "traced"),
}
"""The libraries by the package that defines their types; NumPy handles all other types."""

NUMBERS = {int, float, np.float64}


def namespace(x: Any) -> ModuleType:
    """The module whose functions accept x."""
    library = LIBRARIES.get(package(x))
    return importlib.import_module(library.functions if library else "numpy")


def package(x: Any) -> str:
    """The top-level package that defines the type of x."""
    return type(x).__module__.partition(".")[0]


def package_of(x: Any, known: Collection[str]) -> str | None:
    """The package in `known` that defines a type (or base type) of x or of an entry, else None."""
    level = [x]
    while level:
        found = dict.fromkeys(map(type, level))
        for cls in (cls for kind in found for cls in kind.__mro__):
            if (name := cls.__module__.partition(".")[0]) in known:
                return name
        inner = () if found.keys() <= NUMBERS else filter(is_nested, level)
        level = [*chain.from_iterable(y.flat if isinstance(y, np.ndarray) else y for y in inner)]
    return None


def is_nested(x: Any) -> bool:
    """Whether x is a list, a tuple or an object array, whose entries may be arrays of any kind."""
    return isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype == object)

"""Table of the array and scalar libraries that armlet computes with.

To support another library, add a line to `LIBRARIES`. If no module of `armlet.runtime.arrays` fits,
add a module with a function `evaluate` to that package; CONTRIBUTING.md has the details.
"""

import importlib
from collections.abc import Collection
from itertools import chain
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Library(NamedTuple):
    """The modules that compute with the arrays or scalars of a library."""

    functions: str
    """Module with the functions `sin`, `cos`, `sqrt`, `sign`, `exp`, `log`, `tanh`, `floor`,
    `where` and `atan2` or `arctan2`; for arrays also `asarray`, `zeros`, `zeros_like`, `stack` and
    `linalg.solve`. `armlet.scalar` handles the libraries without `where`."""
    evaluation: str
    """Module of `armlet.runtime.arrays` that evaluates programs on the library's arrays."""


LIBRARIES = {
    "jax": Library("jax.numpy", "jax"),
    "jaxlib": Library("jax.numpy", "jax"),
    "torch": Library("torch", "torch"),
    "casadi": Library("casadi", "expressions"),
    "sympy": Library("sympy", "expressions"),
    "mpmath": Library("mpmath", "expressions"),
    "armlet": Library("numpy", "traced"),
}
"""Package that defines a type -> library of the type; NumPy handles all other types."""

NUMBERS = {int, float, np.float64}


def namespace(x: Any) -> ModuleType:
    """Return the module whose functions accept x."""
    library = LIBRARIES.get(package(x))
    return importlib.import_module(library.functions if library else "numpy")


def package(x: Any) -> str:
    """Return the top-level package that defines the type of x."""
    return type(x).__module__.partition(".")[0]


def package_of(x: Any, supported: Collection[str]) -> str | None:
    """Return the package in `supported` that defines the type, or a base type, of x or an entry."""
    level = [x]
    while level:
        types = dict.fromkeys(map(type, level))
        for cls in (cls for kind in types for cls in kind.__mro__):
            if (name := cls.__module__.partition(".")[0]) in supported:
                return name
        inner = () if types.keys() <= NUMBERS else filter(is_nested, level)
        level = [*chain.from_iterable(y.flat if isinstance(y, np.ndarray) else y for y in inner)]
    return None


def is_nested(x: Any) -> bool:
    """Whether x is a list, a tuple or an object array, all of which may contain arrays."""
    return isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype == object)

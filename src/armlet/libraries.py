"""The libraries of arrays and scalars that armlet computes with: one table.

To add one is to add a line here, and to name the module of `armlet.runtime.arrays` that evaluates
programs on its arrays.
"""

import importlib
from collections.abc import Collection
from itertools import chain
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Library(NamedTuple):
    """What armlet knows of a library of arrays or scalars."""

    functions: str
    """The module with its functions, such as sin."""
    evaluation: str
    """The module of `armlet.runtime.arrays` that evaluates programs on its arrays."""


LIBRARIES = {
    "jax": Library("jax.numpy", "jax"),
    "jaxlib": Library("jax.numpy", "jax"),
    "torch": Library("torch", "torch"),
    "casadi": Library("casadi", "expressions"),
    "sympy": Library("sympy", "expressions"),
    "mpmath": Library("mpmath", "expressions"),
    "armlet": Library("numpy", "traced"),
}
"""The libraries by the package that their types are of; NumPy for all others."""

NUMBERS = {int, float, np.float64}


def namespace(x: Any) -> ModuleType:
    """The module whose functions accept x."""
    library = LIBRARIES.get(package(x))
    return importlib.import_module(library.functions if library else "numpy")


def package(x: Any) -> str:
    """The package that the type of x is of."""
    return type(x).__module__.partition(".")[0]


def package_of(x: Any, known: Collection[str]) -> str | None:
    """The first of some packages that x, one of its entries, or a base class of these is from."""
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
    """Whether x is a list, a tuple or an array of objects, which may be arrays of any kind."""
    return isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype == object)

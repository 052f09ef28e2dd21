"""Functions of one scalar of any kind.

Formulations use only `+ - * /` and these functions, so the same code gives floats from floats, a
program from traced scalars, formulas from SymPy symbols and fifty digits from mpmath.
"""

import importlib
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

Scalar = Any
Vector = Any
Matrix = Any
"""A scalar of any type, and arrays of them: aliases that document shapes, which tests check."""

NAMESPACES = {"mpmath": "mpmath", "sympy": "sympy", "jax": "jax.numpy", "jaxlib": "jax.numpy"}
"""The module with the functions of a scalar, by the package of its type; NumPy for all others."""

QUARTER = math.pi / 2
QUARTER_TURNS = ((1, 0), (0, 1), (-1, 0), (0, -1))


def namespace(x: Scalar) -> ModuleType:
    """The module whose functions accept x."""
    package = type(x).__module__.partition(".")[0]
    return importlib.import_module(NAMESPACES.get(package, "numpy"))


def _function(name: str) -> Callable[[Scalar], Scalar]:
    def apply(x: Scalar) -> Scalar:
        own = getattr(x, name, None)
        return own() if own is not None else getattr(namespace(x), name)(x)

    apply.__name__ = name
    apply.__doc__ = f"The {name} of any scalar: its own method, or the function of its package."
    return apply


sin = _function("sin")
cos = _function("cos")
sqrt = _function("sqrt")
sign = _function("sign")


def quarter_turns(angle: Scalar) -> int | None:
    """The number of quarter turns in an angle, or None if it is not an exact multiple."""
    if isinstance(angle, complex):
        return None
    try:
        k = round(float(angle) / QUARTER)
    except (TypeError, ValueError, OverflowError):  # not a number, or not a finite one
        return None
    return k if angle == k * QUARTER else None


def cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of a constant angle, exactly 0 or ±1 at quarter turns."""
    k = quarter_turns(angle)
    return (cos(angle), sin(angle)) if k is None else QUARTER_TURNS[k % 4]


DERIVATIVES: dict[type, Callable[[Sequence[Scalar], Sequence[Scalar], str], Matrix]] = {}
"""The function that differentiates scalars of a type that records its operations: ∂y/∂x."""


def derivatives(y: Sequence[Scalar], x: Sequence[Scalar], mode: str) -> Matrix:
    """The matrix ∂y/∂x of scalars that record their operations, as traced ones do."""
    kind = type(x[0])
    if kind not in DERIVATIVES:
        raise TypeError(f"{kind.__name__} scalars do not record their operations: trace first")
    return DERIVATIVES[kind](y, x, mode)


def is_zero(x: Scalar) -> bool:
    """Whether x is a plain number equal to zero; False for symbols and traced scalars."""
    return isinstance(x, int | float | np.number) and x == 0


class Symbol(str):
    """The name of a constant without a value: it can be traced, counted and printed."""

    __slots__ = ()

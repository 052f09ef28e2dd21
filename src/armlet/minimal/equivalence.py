"""Equivalence of minimal sets."""

from typing import Any

import numpy as np

from armlet.errors import DataError
from armlet.minimal.parameters import MinimalParameters

TOLERANCE = 1e-8


def equivalence(a: MinimalParameters[Any], b: MinimalParameters[Any]) -> np.ndarray[Any, Any]:
    """The nonsingular matrix A between two minimal sets of a robot, φ'(b) = A φ'(a).

    Lin 1994, Corollary 6: two sets of one size are both minimal if and only if there is one.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("stanford")
    >>> a, b = (armlet.minimal_parameters(robot, kind=k) for k in ("lin", "khalil_gautier"))
    >>> A = armlet.equivalence(a, b)
    >>> bool(abs(A @ a.values - b.values).max() < 1e-12)
    True
    """
    if a.standard != b.standard:
        raise DataError(
            f"{a!r} and {b!r} are sets of different standard parameters: make both of one robot, "
            "with the same rotors and friction"
        )
    if a.of != b.of:
        raise DataError(f"{a!r} and {b!r} are of {a.of} and of {b.of}: make both of one of them")
    if len(a) != len(b):
        raise DataError(f"{a!r} and {b!r} differ in size, so one of them is not minimal")
    M = np.asarray(b.Lam @ a.back, dtype=float)
    left = np.abs(M @ a.Lam - b.Lam).max(axis=1, initial=0)
    scale = np.abs(b.Lam).max(axis=1, initial=1)
    if (left > TOLERANCE * scale).any():
        name = b.names[int(np.argmax(left / scale))]
        raise DataError(f"{name} of {b!r} is no combination of {a!r}: they are not equivalent")
    return M

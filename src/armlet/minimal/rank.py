"""Minimal parameters from the rank of a regressor at measured or random states."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from armlet.minimal.parameters import MinimalParameters, Model

TOLERANCE = 1e-9
"""Singular values and pivots below this, relative to the largest, count as zero."""

Array = np.ndarray[Any, Any]


def rank(Y: Array, tolerance: float = TOLERANCE) -> int:
    """Return the numerical rank of Y, after its columns are scaled to length one."""
    singular = np.linalg.svd(scale_columns(Y)[0], compute_uv=False)
    return int((singular > tolerance * singular.max(initial=0)).sum())


def independent(Y: Array, tolerance: float = TOLERANCE) -> tuple[Array, Array]:
    """Return indices of independent columns of Y, and Λ such that Y = Y[:, indices] Λ.

    The columns of Y are scaled to length one. A QR decomposition with pivoting (Gautier 1991),

        Y P = Q (R₁ R₂),   Y = Y₁ (1, R₁⁻¹ R₂) Pᵀ

    then separates the independent columns Y₁. Columns whose pivots are below `tolerance`, relative
    to the first pivot, count as dependent.
    """
    from scipy.linalg import qr, solve_triangular  # slow to import, and rarely needed

    unit, lengths = scale_columns(Y)
    R, pivots = qr(unit, mode="r", pivoting=True)
    sizes = np.abs(np.diag(R))
    k = int((sizes > tolerance * sizes.max(initial=0)).sum())
    order = np.argsort(pivots[:k])
    Lam = np.zeros((k, Y.shape[1]))
    Lam[:, pivots[:k]] = np.eye(k)
    Lam[:, pivots[k:]] = solve_triangular(R[:k, :k], R[:k, k:])
    Lam[np.abs(Lam) < tolerance] = 0
    columns = pivots[:k]
    Lam = Lam * lengths / lengths[columns][:, None]
    return columns[order], Lam[order]


def by_rank(
    robot: Model, Y: Array, standard: tuple[str, ...], zero: Sequence[str] = (), of: str = "torques"
) -> MinimalParameters[Model]:
    """Return the minimal set from a regressor Y; the parameters in `zero` are taken to be zero."""
    shown = Y.copy()
    shown[:, [standard.index(name) for name in zero]] = 0
    columns, Lam = independent(shown)
    names = tuple(
        standard[k] + ("*" if np.count_nonzero(row) > 1 else "")
        for k, row in zip(columns, Lam, strict=True)
    )
    back = np.eye(len(standard))[:, columns]
    return MinimalParameters(robot, "rank", names, standard, Lam, back, of)


def scale_columns(Y: Array) -> tuple[Array, Array]:
    """Scale the nonzero columns of Y to length one; return the scaled Y and the lengths."""
    lengths = np.linalg.norm(Y, axis=0)
    lengths = np.where(lengths > TOLERANCE * lengths.max(initial=0), lengths, np.inf)
    return Y / lengths, np.where(np.isinf(lengths), 1, lengths)

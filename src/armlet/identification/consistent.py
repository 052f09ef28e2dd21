"""Parameters that bodies can have: least squares under linear matrix inequalities.

A body with positive density everywhere has a positive definite pseudo-inertia

    P = (Σ c; cᵀ m),   Σ = tr(J)/2 1 - J,

with the inertia J about the frame's origin, the first moment c and the mass m, and every positive
definite P belongs to such a body (Wensing, Kim, Slotine 2018).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armlet.errors import ArmletError, DataError
from armlet.extras import needed
from armlet.identification.centres import Box
from armlet.identification.factors import Array

LEAST = 1e-4
"""Pseudo-inertias are at least this share of the prior's."""
NONNEGATIVE = ("rotor_inertia", "viscous", "coulomb")
"""What a drive has at least none of."""


def pseudo_inertia(phi: Any) -> Any:
    """The 4 x 4 matrix of ten parameters Jxx Jxy Jxz Jyy Jyz Jzz cx cy cz m, as nested lists."""
    xx, xy, xz, yy, yz, zz, cx, cy, cz, m = (phi[k] for k in range(10))
    return [
        [(yy + zz - xx) / 2, -xy, -xz, cx],
        [-xy, (xx + zz - yy) / 2, -yz, cy],
        [-xz, -yz, (xx + yy - zz) / 2, cz],
        [cx, cy, cz, m],
    ]


def is_consistent(phi: Array) -> bool:
    """Whether every body of these parameters, (nb, 10), has a positive definite pseudo-inertia."""
    return all(np.linalg.eigvalsh(np.array(pseudo_inertia(body)))[0] > 0 for body in phi)


RADIUS = 0.1
"""The radius in m of the balls that stand for bodies of which nothing is known."""


def likely_bodies(phi: Array) -> Array:
    """Bodies to begin with, (nb, 10): those given where they are physical, and balls elsewhere.

    A ball has the mean mass of the physical bodies, or 1 kg.
    """
    known = np.array([is_consistent(body[None]) for body in phi])
    mass = float(phi[known, 9].mean()) if known.any() else 1.0
    J = 0.4 * mass * RADIUS**2
    ball = np.array([J, 0, 0, J, 0, J, 0, 0, 0, mass])
    return np.where(known[:, None], phi, ball)


def consistent(
    R: Array,
    Lam: Array,
    names: Sequence[str],
    prior: Array,
    strength: float,
    kind: str,
    most: Mapping[str, float] | None = None,
    boxes: Sequence[Box] = (),
) -> Array:
    """The standard parameters of least squares among those that bodies and drives can have.

    Parameters
    ----------
    R : array
        A triangular factor of (W | τ), in units of the noise.
    Lam : array
        What the columns of W are multiplied by, as a matrix times the standard parameters.
    names : sequence of str
        The standard parameters: ten per body, and others.
    prior : array of shape (nb, 10)
        Bodies that are likely: what the rows do not determine is as there.
    strength : float
        How much the distance from the prior counts, in squares of the noise.
    kind : {"entropic", "euclidean"}
        How that distance is measured: by tr(P P₀⁻¹) - log det P, which does not depend on frames
        and units, or by squares of differences of P in those of P₀.
    most : mapping of str to float, optional
        Upper bounds of standard parameters, by name.
    boxes : sequence of Box
        Where centres of mass are.
    """
    cp = needed("cvxpy")
    bodies = len(prior)
    scale = np.abs(prior).max(axis=1, keepdims=True) * np.ones((bodies, 10))
    others = len(names) - 10 * bodies
    unit = np.concatenate([scale.ravel(), np.ones(others)])
    s = cp.Variable(len(names))  # in units of the prior
    A = R[:, :-1] @ Lam * unit
    size = np.linalg.norm(R[:, -1])
    fit = cp.sum_squares((A @ s - R[:, -1]) / size)
    distance: Any = 0
    limits = [s[k] >= 0 for k, name in enumerate(names) if name.rstrip("0123456789") in NONNEGATIVE]
    most = most or {}
    limits += [s[k] * unit[k] <= most[name] for k, name in enumerate(names) if name in most]
    for i, R_box, origin, lower, upper in boxes:
        c, m = s[10 * i + 6 : 10 * i + 9], s[10 * i + 9]
        moment = R_box.T @ (cp.multiply(unit[10 * i + 6 : 10 * i + 9], c))
        mass = unit[10 * i + 9] * m
        limits += [
            moment >= (lower + R_box.T @ origin) * mass,
            moment <= (upper + R_box.T @ origin) * mass,
        ]
    for i, likely in enumerate(prior):
        root = np.linalg.inv(np.linalg.cholesky(np.array(pseudo_inertia(likely))))
        body = [s[10 * i + k] * unit[10 * i + k] for k in range(10)]
        P = root @ cp.bmat(pseudo_inertia(body)) @ root.T  # the unit matrix at the prior
        P = (P + P.T) / 2
        limits.append(P >> LEAST * np.eye(4))
        if kind == "entropic":
            distance += cp.trace(P) - cp.log_det(P)
        else:
            distance += cp.sum_squares(P - np.eye(4))
    problem = cp.Problem(cp.Minimize(fit + strength / size**2 * distance), limits)
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        raise ArmletError(f"no consistent parameters were found: {error}") from None
    if s.value is None:
        raise DataError(
            f"no consistent parameters fit these bounds ({problem.status}): expected wider ones"
        )
    found: Array = np.asarray(s.value) * unit
    return found

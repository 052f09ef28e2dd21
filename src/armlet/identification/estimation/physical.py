"""Parameters that bodies can have: least squares under linear matrix inequalities.

A body with positive density everywhere has a positive definite pseudo-inertia

    P = (Σ c; cᵀ m),   Σ = tr(J)/2 1 - J,

with the inertia J about the frame's origin, the first moment c and the mass m, and every positive
definite P belongs to such a body (Wensing, Kim, Slotine 2018).

Of a prior P₀ = L Lᵀ, the unknowns y of a body are the ten entries of L⁻¹ (P - P₀) L⁻ᵀ: zero at the
prior, of order 1 for another body of its size. With the singular values A = U S Vᵀ of the rows in
these unknowns, those directions of Vᵀ y that the rows determine better than the prior does (S > 1)
are replaced by their residuals S Vᵀ y - Uᵀ b, and the others stay. All numbers that the solver sees
are then of order 1, whether the noise is large or almost zero: the rows decide what they determine,
and the prior alone decides the rest.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from armlet._support.optional import needed
from armlet.api import Robot
from armlet.errors import ArmletError, DataError, quoted
from armlet.identification.estimation.com_bounds import Box
from armlet.identification.estimation.factors import Array

Distance = Literal["entropic", "euclidean"]
DISTANCES: tuple[Distance, ...] = get_args(Distance)
EXAMPLE = '{"m7": 1.5}'
LEAST = 1e-4
"""Pseudo-inertias are at least this share of the prior's."""
NONNEGATIVE = ("rotor_inertia", "viscous", "coulomb")
"""What a drive has at least none of."""
LARGEST = 1e6
"""How much more accurately than the prior the rows can determine an unknown, for the solver."""
ENOUGH = {"reduced_tol_gap_abs": 1e-6, "reduced_tol_gap_rel": 1e-6, "reduced_tol_feas": 1e-7}
"""How accurate a solution must be where the solver gets no further: bodies are to within 1 %."""
FAINT = 1e-6
"""How much the squares of parameters of drives count, to be zero where nothing determines them."""
ENTRIES = np.triu_indices(4)
ROOTS = np.where(ENTRIES[0] == ENTRIES[1], 1.0, np.sqrt(2.0))
"""The ten entries of a symmetric matrix, and what makes squares of them add up to those of all."""


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


@dataclass(frozen=True, eq=False)
class Prior:
    """What bodies are likely to be.

    Attributes
    ----------
    bodies : array of shape (nb, 10)
        Physical bodies.
    kind : {"entropic", "euclidean"}
        How the distance from them is measured: by tr(P P₀⁻¹) - log det P, which does not depend on
        frames and units, or by squares of differences of P in units of P₀.
    strength : float
        How much that distance counts, in squares of the noise.
    most : mapping of str to float
        Upper bounds of standard parameters, by name.
    boxes : sequence of Box
        Where centres of mass are.
    """

    bodies: Array
    kind: Distance = "entropic"
    strength: float = 1.0
    most: Mapping[str, float] = field(default_factory=dict)
    boxes: Sequence[Box] = ()


def check_distance(kind: str, strength: float) -> None:
    """Raise where a distance from the prior, or how much it counts, makes no sense."""
    if kind not in DISTANCES:
        raise DataError(f"prior is {quoted(kind)}: expected {' or '.join(DISTANCES)}")
    if not (_is_number(strength) and 0 < strength < np.inf):
        raise DataError(f"strength is {quoted(strength)}: expected a finite number above 0")


def checked_bounds(most: Mapping[str, float], names: Sequence[str]) -> Mapping[str, float]:
    """Upper bounds of standard parameters, if that is what they are."""
    if not isinstance(most, Mapping):
        raise DataError(f"most is {quoted(most)}: expected bounds by name, as in {EXAMPLE}")
    for name, bound in most.items():
        if name not in names:
            near = get_close_matches(str(name), names, n=1) or [names[9]]
            raise DataError(
                f"most has a bound of {quoted(name)}: expected a standard parameter, such as "
                f"{near[0]!r}"
            )
        if not _is_number(bound) or np.isnan(bound):
            raise DataError(f"most has {quoted(bound)} for {name!r}: expected a number")
    return most


def checked_bodies(bodies: ArrayLike, robot: Robot) -> Array:
    """The likely bodies of a robot, physical ones or zeros, with balls for those that are zero."""
    try:
        phi = np.asarray(bodies, dtype=float)
    except (TypeError, ValueError):
        phi = np.empty(0)
    if phi.shape != (robot.nb, 10) or not np.isfinite(phi).all():
        raise DataError(
            f"bodies is {quoted(bodies)}: expected finite numbers of shape ({robot.nb}, 10), as in "
            "robot.phi"
        )
    for joint, body in zip(robot.joints, phi, strict=True):
        if body.any() and not is_consistent(body[None]):
            raise DataError(
                f"the body of joint {quoted(joint.name)} in bodies= is not physical: expected Jxx "
                "Jxy Jxz Jyy Jyz Jzz about the origin of its frame, mass times centre of mass, and "
                "mass, as in robot.phi; or zeros for one that is unknown"
            )
    return likely_bodies(phi)


def _is_number(x: object) -> bool:
    return isinstance(x, int | float | np.number) and not isinstance(x, bool)


class Unknowns(NamedTuple):
    """Standard parameters as `prior + T y`, with unknowns y of order 1."""

    prior: Array
    T: Array

    @classmethod
    def of(cls, prior: Array, A: Array) -> "Unknowns":
        """Those of bodies near a prior, and of drives whose torques are as large.

        The columns of A are torques of standard parameters that are 1.
        """
        count = prior.size
        T = np.zeros((A.shape[1], A.shape[1]))
        for i, body in enumerate(prior):
            own = slice(10 * i, 10 * i + 10)
            root = np.linalg.inv(np.linalg.cholesky(np.array(pseudo_inertia(body))))
            entries = [root @ np.array(pseudo_inertia(x)) @ root.T for x in np.eye(10)]
            T[own, own] = np.linalg.inv(np.array([ROOTS * P[ENTRIES] for P in entries]).T)
        size = np.linalg.norm(A[:, count:], axis=0)
        whole = np.linalg.norm(A[:, :count] @ T[:count, :count], 2)
        T[count:, count:] = np.diag(np.where(size > 0, whole / np.where(size > 0, size, 1), 1.0))
        return cls(np.concatenate([prior.ravel(), np.zeros(len(T) - count)]), T)


def consistent(R: Array, Lam: Array, names: Sequence[str], prior: Prior) -> Array:
    """The standard parameters of least squares among those that bodies and drives can have.

    Parameters
    ----------
    R : array
        A triangular factor of (W | τ), in units of the noise.
    Lam : array
        What the columns of W are multiplied by, as a matrix times the standard parameters.
    names : sequence of str
        The standard parameters: ten per body, and others.
    prior : Prior
        What bodies are likely to be: what the rows do not determine is as there.
    """
    cp = needed("cvxpy")
    A = R[:, :-1] @ Lam / np.sqrt(prior.strength)
    unknowns = Unknowns.of(prior.bodies, A)
    b = R[:, -1] / np.sqrt(prior.strength) - A @ unknowns.prior
    U, S, Vt = np.linalg.svd(A @ unknowns.T)
    c = np.zeros(len(Vt))
    c[: len(S)] = U.T[: len(S)] @ b
    S = np.pad(S, (0, len(Vt) - len(S)))
    # Where no bodies meet the torques to within so little noise, the noise is larger than that.
    for scale in max(1.0, S[0] / LARGEST) * 10.0 ** np.arange(7):
        size, target = S / scale, c / scale
        determined = size > 1
        w = cp.Variable(len(Vt))
        y = (Vt.T / np.where(determined, size, 1)) @ (w + np.where(determined, target, 0))
        residuals = cp.multiply(np.where(determined, 1, size), w) - np.where(determined, 0, target)
        limits = _limits(cp, unknowns.prior + unknowns.T @ y, names, prior)
        distance = FAINT * cp.sum_squares(y[prior.bodies.size :])
        for i in range(len(prior.bodies)):
            P = np.eye(4) + _matrix(cp, y[10 * i : 10 * i + 10])
            limits.append(P >> LEAST * np.eye(4))
            if prior.kind == "entropic":
                distance += cp.trace(P) - cp.log_det(P)
            else:
                distance += cp.sum_squares(P - np.eye(4))
        problem = cp.Problem(cp.Minimize(cp.sum_squares(residuals) + distance), limits)
        status = _solve(cp, problem)
        if status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):  # the latter to within ENOUGH
            found: Array = unknowns.prior + unknowns.T @ y.value
            return found
    if cp.INFEASIBLE in status:  # infeasible, or infeasible_inaccurate
        raise DataError("no physical bodies are within these bounds: expected wider ones")
    raise ArmletError(
        f"no physical bodies were found: the solver ends with {status!r}. Expected logs that are "
        "more like the robot, or consistent=False"
    )


def _matrix(cp: Any, entries: Any) -> Any:
    """The symmetric matrix of ten entries, those off the diagonal times √2."""
    E = np.zeros((4, 4, 10))
    E[(*ENTRIES, np.arange(10))] = 1 / ROOTS
    E[(*ENTRIES[::-1], np.arange(10))] = 1 / ROOTS
    return cp.reshape(E.reshape(16, 10) @ entries, (4, 4), order="C")


def _limits(cp: Any, s: Any, names: Sequence[str], prior: Prior) -> list[Any]:
    """What standard parameters must be besides physical."""
    most = prior.most
    limits = [s[k] >= 0 for k, name in enumerate(names) if name.rstrip("0123456789") in NONNEGATIVE]
    limits += [s[k] <= most[name] for k, name in enumerate(names) if name in most]
    for i, R_box, origin, lower, upper in prior.boxes:
        moment, mass = R_box.T @ s[10 * i + 6 : 10 * i + 9], s[10 * i + 9]
        for sign, corner in ((1, upper), (-1, -lower)):
            finite = np.isfinite(corner)
            beyond = (
                sign * (moment - (R_box.T @ origin) * mass) - np.where(finite, corner, 0) * mass
            )
            if finite.any():
                limits.append(beyond[finite] / prior.bodies[i, 9] <= 0)
    return limits


def _solve(cp: Any, problem: Any) -> str:
    """Solve a problem, and return the status of its solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a solution that is just accurate enough
        try:
            problem.solve(solver=cp.CLARABEL, **ENOUGH)
        except cp.error.SolverError as error:
            return str(error)
    return str(problem.status)

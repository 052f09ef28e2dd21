"""Physically consistent parameters: least squares under linear matrix inequalities.

A body with positive density everywhere has a positive definite pseudo-inertia

    P = (Σ c; cᵀ m),   Σ = tr(J)/2 I - J,

with the inertia J about the frame's origin, the first moment c, the mass m and the identity I.
Conversely, every positive definite P belongs to such a body (Wensing, Kim, Slotine 2018).

With a prior P₀ = L Lᵀ, the unknowns y of a body are the ten entries of L⁻¹ (P - P₀) L⁻ᵀ. They are
zero for the prior, and of order 1 for a body of similar size. The torque equations, divided by the
noise, are A y = b, with the singular value decomposition A = U S Vᵀ. The solver's unknowns are the
entries of Vᵀ y for singular values up to 1, and the entries of S Vᵀ y - Uᵀ b for larger singular
values. All are of order 1, however small the noise is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from armlet._support import validation
from armlet._support.optional import require
from armlet.api import Robot
from armlet.errors import ArmletError, DataError, ModelError, listing, quote
from armlet.identification.estimation.estimators import Array
from armlet.robot.components import BASE

Distance = Literal["entropic", "euclidean"]
DISTANCES: tuple[Distance, ...] = get_args(Distance)
Boxes = float | Mapping[str, tuple[ArrayLike, ArrayLike]]
LEAST = 1e-4
"""The lower bound on the eigenvalues of P P₀⁻¹, with P and P₀ as in the module's docstring."""
NONNEGATIVE = re.compile(r"(rotor_inertia|viscous|coulomb)\d+")
"""The names of drive parameters that must not be negative."""
LARGEST = 1e6
"""If a singular value of the torque equations exceeds this, all equations are scaled down."""
ENOUGH = {"reduced_tol_gap_abs": 1e-6, "reduced_tol_gap_rel": 1e-6, "reduced_tol_feas": 1e-7}
"""If the solver stalls, a solution within these reduced tolerances is accepted."""
FAINT = 1e-6
"""The weight of squared drive parameters in the cost; it makes undetermined parameters zero."""
ENTRIES = np.triu_indices(4)
ROOTS = np.where(ENTRIES[0] == ENTRIES[1], 1.0, np.sqrt(2.0))
"""Factors of `ENTRIES`, the upper triangle of a 4 x 4 matrix: √2 for entries that occur twice."""


def pseudo_inertia(phi: Any) -> Any:
    """Return a body's pseudo-inertia as nested lists; phi is Jxx Jxy Jxz Jyy Jyz Jzz cx cy cz m."""
    xx, xy, xz, yy, yz, zz, cx, cy, cz, m = (phi[k] for k in range(10))
    return [
        [(yy + zz - xx) / 2, -xy, -xz, cx],
        [-xy, (xx + zz - yy) / 2, -yz, cy],
        [-xz, -yz, (xx + yy - zz) / 2, cz],
        [cx, cy, cz, m],
    ]


def is_consistent(phi: Array) -> bool:
    """Return whether every body in phi (nb, 10) has a positive definite pseudo-inertia."""
    return all(np.linalg.eigvalsh(np.array(pseudo_inertia(body)))[0] > 0 for body in phi)


RADIUS = 0.1
"""The radius, in m, of the ball that replaces an unknown body."""
THIN = 1e-4
"""The least ratio of smallest to largest value of `_spread`: a rod 100 times as long as wide."""
BORDER = 1e-9
"""The tolerance for principal values that rounding makes negative, relative to entries of Σ."""


def _spread(body: Array) -> tuple[Array, Array, bool]:
    """Return principal values and axes of ∫ r rᵀ dm about com, and whether the body is physical."""
    P = np.array(pseudo_inertia(body))
    values, axes = np.linalg.eigh(P[:3, :3] - np.outer(P[:3, 3], P[:3, 3]) / (P[3, 3] or 1.0))
    return values, axes, bool(P[3, 3] > 0 and values[0] >= -BORDER * np.abs(P[:3, :3]).max())


def likely_bodies(phi: Array) -> Array:
    """Return physical bodies, not too thin, with the masses and centres of mass of phi.

    Principal values of ∫ r rᵀ dm that are too small are raised. A body without mass becomes a ball
    with the mean mass of the others, or with 1 kg if no body has mass.
    """
    heavy = phi[:, 9] > 0
    mass = float(phi[heavy, 9].mean()) if heavy.any() else 1.0
    likely = np.where(heavy[:, None], phi, mass * np.eye(10)[9])
    for body in likely:
        values, axes, _ = _spread(body)
        c, m, most = body[6:9], body[9], values[-1]
        if not values[0] >= THIN * most > 0:
            is_point = most <= BORDER * (c @ c) / m
            values = np.maximum(values, 0.2 * m * RADIUS**2 if is_point else THIN * most)
            S = axes * values @ axes.T + np.outer(c, c) / m
            body[:6] = (np.trace(S) * np.eye(3) - S)[np.triu_indices(3)]
    return likely


@dataclass(frozen=True, eq=False)
class Physical:
    """Options for physically consistent bodies: the prior, and bounds on parameters.

    Attributes
    ----------
    prior : {"entropic", "euclidean"}
        The distance from likely bodies, which fixes parameters that data do not determine. It is
        Σ (λ - log λ) ("entropic") or Σ (λ - 1)² ("euclidean") over the eigenvalues λ of P P₀⁻¹, for
        the pseudo-inertias P of a body and P₀ of its likely body; frames and units do not matter.
    strength : float
        The weight of this distance relative to the sum of (residual / noise)².
    bodies : array_like of shape (nb, 10), optional
        Likely bodies as in `robot.phi`, from CAD for instance, with a row of zeros for an unknown
        body; by default the bodies of the robot.
    bounds : mapping of str to float, optional
        Upper bounds on standard parameters, such as {"m7": 1.5}.
    boxes : float or mapping of str to pairs, optional
        Boxes that contain the centres of mass. For some bodies: a mapping from a frame of the body
        to the lower and upper corner of its box, in frame coordinates, such as
        {"link2": ((-0.1, -0.4, -0.1), (0.1, 0, 0.1))}. For all bodies: a margin in m, by which
        the box of a body extends beyond the origins of the body's joints and frames.
    """

    prior: Distance = "entropic"
    strength: float = 1.0
    bodies: ArrayLike | None = None
    bounds: Mapping[str, float] | None = None
    boxes: Boxes | None = None

    def __post_init__(self) -> None:
        validation.one_of(self.prior, "prior", DISTANCES)
        validation.number(self.strength, "strength", above=0)

    def of_robot(self, robot: Robot, names: Sequence[str]) -> Prior:
        """Check the options for a robot, and return them with all defaults filled in.

        `names` are the standard parameters of the robot, which `bounds` may limit.
        """
        bodies = robot.phi.astype(float)
        if self.bodies is not None:
            bodies = _check_bodies(self.bodies, robot)
        bounds: Mapping[str, float] = {} if self.bounds is None else self.bounds
        if not isinstance(bounds, Mapping):
            expected = 'numbers by name, as in {"m7": 1.5}'
            raise DataError(f"bounds is {quote(bounds)}: expected {expected}")
        for name, bound in bounds.items():
            if name not in names:
                near = get_close_matches(str(name), names, n=1) or [names[9]]
                raise DataError(
                    f"bounds has a bound of {quote(name)}: expected a standard parameter, such as "
                    f"{near[0]!r}"
                )
            validation.number(bound, f"the bound of {name!r}")
        boxes = [] if self.boxes is None else com_boxes(robot, self.boxes)
        odd = [quote(x) for x, b in zip(robot.links, bodies, strict=True) if not _spread(b)[2]]
        note = (
            f"the bodies of links {listing(odd)} are not physical: the nearest ones that are, or "
            "balls where there is no mass, are taken as likely"
        )
        options = self.prior, self.strength, bounds, boxes
        return Prior(likely_bodies(bodies), *options, (note,) if odd else ())


class Box(NamedTuple):
    """The box around a body's centre of mass, in the frame (R, r): lower ≤ Rᵀ(com - r) ≤ upper."""

    body: int
    R: Array
    r: Array
    lower: Array
    upper: Array


class Prior(NamedTuple):
    """The options of `Physical` for one robot; each row of `bodies` (nb, 10) is a physical body."""

    bodies: Array
    distance: Distance = "entropic"
    strength: float = 1.0
    bounds: Mapping[str, float] = {}
    boxes: Sequence[Box] = ()
    notes: tuple[str, ...] = ()


def _check_bodies(bodies: ArrayLike, robot: Robot) -> Array:
    """Return bodies as an array; raise unless each body is physical or all zeros."""
    phi = validation.array(bodies, "bodies", (robot.nb, 10))
    for joint, body in zip(robot.joints, phi, strict=True):
        if body.any() and not _spread(body)[2]:
            raise DataError(
                f"the body of joint {quote(joint.name)} in bodies= is not physical: expected Jxx "
                "Jxy Jxz Jyy Jyz Jzz about the origin of its frame, mass times centre of mass, and "
                "mass, as in robot.phi; or zeros for one that is unknown"
            )
    return phi


def com_boxes(robot: Robot, boxes: Boxes) -> list[Box]:
    """Return the boxes that contain the centres of mass, from the `boxes` of `Physical`."""
    if isinstance(boxes, Mapping):
        return [_box(robot, name, corners) for name, corners in boxes.items()]
    margin = validation.number(boxes, "boxes", "a margin in m, or boxes by frame", low=0)
    points: list[list[Array]] = [[np.zeros(3)] for _ in range(robot.nb)]
    for parent, mount in zip(robot.parent, robot._at_zero, strict=True):
        if parent != BASE:
            points[parent].append(np.asarray(mount.origin(), dtype=float))
    for body, pose in robot.frames.values():
        if body != BASE:
            points[body].append(np.asarray(pose.r, dtype=float))
    return [
        Box(i, np.eye(3), np.zeros(3), np.min(own, axis=0) - margin, np.max(own, axis=0) + margin)
        for i, own in enumerate(points)
    ]


def _box(robot: Robot, name: str, corners: tuple[ArrayLike, ArrayLike]) -> Box:
    body, pose = robot.frame(name)
    if body == BASE:
        raise ModelError(f"frame {quote(name)} is on the base, which has no centre to be found")
    expected = "two corners of three coordinates each, the lower ones first"
    subject = f"the box of {quote(name)}"
    low, high = validation.array(corners, subject, (2, 3), expected=expected, finite=False)
    if not (low <= high).all():
        raise DataError(f"{subject} is {quote(corners)}: expected {expected}")
    return Box(body, np.asarray(pose.R, dtype=float), np.asarray(pose.r, dtype=float), low, high)


def _scale(prior: Array, A: Array) -> Array:
    """Return the matrix T such that standard parameters are `prior + T y`, with y of order 1.

    The columns of A are torques for unit parameters. In A T, the column of each drive parameter
    has the norm of the bodies' columns (their spectral norm). The prior of drive parameters is 0.
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
    return T


def physical_parameters(R: Array, Lam: Array, names: Sequence[str], prior: Prior) -> Array:
    """Return the standard parameters of physical bodies that best fit the torques and the prior.

    `R` is (W | τ) divided by the noise, or a triangular factor of it, with torques τ = W Lam φ. The
    standard parameters φ have the names `names`: ten per body, then all others.
    """
    cp = require("cvxpy")
    A = R[:, :-1] @ Lam / np.sqrt(prior.strength)
    T, likely = _scale(prior.bodies, A), np.zeros(A.shape[1])
    likely[: prior.bodies.size] = prior.bodies.ravel()
    U, S, Vt = np.linalg.svd(A @ T)
    c = np.zeros(len(Vt))
    c[: len(S)] = U.T[: len(S)] @ (R[:, -1] / np.sqrt(prior.strength) - A @ likely)
    S = np.pad(S, (0, len(Vt) - len(S)))
    # The noise may be too small for any physical body: on failure, retry with ten times the noise.
    ends = []
    for scale in max(1.0, S[0] / LARGEST) * 10.0 ** np.arange(7):
        size, target = S / scale, c / scale
        determined = size > 1
        w = cp.Variable(len(Vt))
        y = (Vt.T / np.where(determined, size, 1)) @ (w + np.where(determined, target, 0))
        residuals = cp.multiply(np.where(determined, 1, size), w) - np.where(determined, 0, target)
        standard = likely + T @ y
        limits = _limits(standard, names, prior)
        distance = FAINT * cp.sum_squares(y[prior.bodies.size :])
        for i in range(len(prior.bodies)):
            P = np.eye(4) + _matrix(cp, y[10 * i : 10 * i + 10])
            limits.append(P >> LEAST * np.eye(4))
            if prior.distance == "entropic":
                distance += cp.trace(P) - cp.log_det(P)
            else:
                distance += cp.sum_squares(P - np.eye(4))
        problem = cp.Problem(cp.Minimize(cp.sum_squares(residuals) + distance), limits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about inaccurate solutions
            try:
                problem.solve(solver=cp.CLARABEL, **ENOUGH)
                status = str(problem.status)
            except cp.error.SolverError as error:
                status = str(error)
        if status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):  # inaccurate: within ENOUGH
            least = [0.0 if NONNEGATIVE.fullmatch(name) else -np.inf for name in names]
            return np.asarray(np.maximum(standard.value, least))
        ends.append(status)
    if any(cp.INFEASIBLE in end for end in ends):  # infeasible, or infeasible_inaccurate
        raise DataError("no physical bodies are within these bounds: expected wider ones")
    raise ArmletError(
        f"no physical bodies were found: the solver ends with {ends[-1]!r}. Expected logs that are "
        "more like the robot, or physical=False"
    )


def _matrix(cp: Any, entries: Any) -> Any:
    """Return the symmetric 4 x 4 matrix with ten `entries`, dividing off-diagonal ones by √2."""
    E = np.zeros((4, 4, 10))
    E[(*ENTRIES, np.arange(10))] = 1 / ROOTS
    E[(*ENTRIES[::-1], np.arange(10))] = 1 / ROOTS
    return cp.reshape(E.reshape(16, 10) @ entries, (4, 4), order="C")


def _limits(s: Any, names: Sequence[str], prior: Prior) -> list[Any]:
    """Return constraints on standard parameters s: signs of drive parameters, bounds and boxes."""
    limits = [s[k] >= 0 for k, name in enumerate(names) if NONNEGATIVE.fullmatch(name)]
    limits += [s[k] <= prior.bounds[x] for k, x in enumerate(names) if x in prior.bounds]
    for i, R_box, origin, lower, upper in prior.boxes:
        moment, mass = R_box.T @ s[10 * i + 6 : 10 * i + 9], s[10 * i + 9]
        inside = moment - (R_box.T @ origin) * mass
        for sign, corner in ((1, upper), (-1, -lower)):
            if (finite := np.isfinite(corner)).any():
                beyond = sign * inside - np.where(finite, corner, 0) * mass
                limits.append(beyond[finite] / prior.bodies[i, 9] <= 0)
    return limits

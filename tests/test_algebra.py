"""The identities of Balafoutis and Patel (1991), chapters 3 and 4, under the book's numbers.

Those that are polynomials are checked in exact fractions, where two sides are equal or they are
not; those with a time derivative, in forty digits, on a body of point masses that moves.
"""

from fractions import Fraction
from functools import cached_property

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tensors import (
    angle_cosine,
    commutator,
    dual,
    inertia_of_euler,
    inertia_rate,
    invariants,
    norm,
    projection,
    skew_part,
    symmetric_part,
    vect,
    wedge,
)

from armlet import algebra
from armlet.algebra import (
    IDENTITY,
    ZERO,
    angular_acceleration_tensor,
    changed_basis,
    cross,
    double_dot,
    euler,
    euler_moment,
    outer,
    point_inertia,
    skew,
    symmetric,
    trace_of,
    upper_triangle,
    vector,
)
from armlet.graph import trace_function

# ------------------------------------------------------------------ random vectors and tensors


def rotation(p, x, y, z):
    """The rotation of a quaternion that need not be a unit: rational in its entries."""
    e = vector(x, y, z)
    s = p * p + e @ e
    return IDENTITY + 2 * (p * skew(e) + skew(e) @ skew(e)) / s


@st.composite
def cases(draw, numbers, positive):
    """Vectors u v w a b, a scalar k, a tensor T, a symmetric S, a rotation R, four masses m."""

    def draws(size, of=numbers):
        return np.array(draw(st.lists(of, min_size=size, max_size=size)), dtype=object)

    return {
        **dict(zip("uvwab", draws(15).reshape(5, 3), strict=True)),
        "k": draw(numbers),
        "T": draws(9).reshape(3, 3),
        "S": symmetric(*draws(6)),
        "R": rotation(draw(positive), *draws(3)),
        "m": draws(4, positive),
    }


FRACTIONS = cases(st.integers(-99, 99).map(Fraction), st.integers(1, 99).map(Fraction))
FLOATS = cases(st.floats(-1, 1), st.floats(0.5, 1))

# ------------------------------------------------------------------ what the sides are made of

EPS = np.array([[[e @ cross(f, g) for g in IDENTITY] for f in IDENTITY] for e in IDENTITY])
"""The permutation symbol, from the cross product of the axes."""


def determinant(T):
    return np.einsum("ijk,i,j,k", EPS, *T)


def from_traces(T):
    """The invariants of T by the traces of its powers."""
    F1, F2, F3 = trace_of(T), trace_of(T @ T), trace_of(T @ T @ T)
    return F1, (F1**2 - F2) / 2, (2 * F3 + F1**3 - 3 * F1 * F2) / 6


class Body:
    """Four point masses, each at its place: what the theorems say of integrals, as sums."""

    def __init__(self, masses, places):
        self.points = list(zip(masses, places, strict=True))
        self.m = sum(masses)
        self.com = sum(m * r for m, r in self.points) / self.m

    @property
    def inertia(self):
        return sum(m * ((r @ r) * IDENTITY - outer(r, r)) for m, r in self.points)

    @property
    def euler(self):
        return sum(m * outer(r, r) for m, r in self.points)

    @property
    def at_com(self):
        """The same body seen from its centre of mass."""
        return Body([m for m, _ in self.points], [r - self.com for _, r in self.points])


def body(m, u, v, w, a):
    return Body(m, [u, v, w, a])


def euler_by_entries(I):
    """4.3.13."""
    J11, J22, J33 = (I[j, j] + I[k, k] - I[i, i] for i, j, k in algebra.CYCLES)
    return symmetric(J11 / 2, -I[0, 1], -I[0, 2], J22 / 2, -I[1, 2], J33 / 2)


def inertia_by_entries(J):
    """4.3.14."""
    I11, I22, I33 = (J[j, j] + J[k, k] for _, j, k in algebra.CYCLES)
    return symmetric(I11, -J[0, 1], -J[0, 2], I22, -J[1, 2], I33)


def moment_by_entries(Om, J):
    """The 15M form: J is the Euler tensor."""
    return vector(
        *(
            Om[k, i] * J[i, j]
            + Om[k, j] * J[j, j]
            + (Om[k, k] - Om[j, j]) * J[j, k]
            - Om[j, i] * J[i, k]
            - Om[j, k] * J[k, k]
            for i, j, k in algebra.CYCLES
        )
    )


# ------------------------------------------------------------------ the identities
# Each is a function of what it is about, and returns two sides or more, all equal.

# fmt: off
OPERATIONS = {
    "zero and identity": lambda v, T, **_: (v, v + ZERO, IDENTITY @ v),
    "tensor product": lambda u, v, w, **_: (outer(u, v) @ w, u * (v @ w)),
    "tensor product, transposed": lambda u, v, **_: (outer(u, v).T, outer(v, u)),
    "wedge": lambda u, v, w, **_: (wedge(u, v) @ w, u * (v @ w) - v * (u @ w), -wedge(v, u) @ w),
    "left dot": lambda v, T, **_: (v @ T, T.T @ v),
    "double dot": lambda S, T, **_: (double_dot(T, S), trace_of(T @ S), double_dot(S, T)),
    "double dot, by entries": lambda T, R, **_: (double_dot(T, R), np.einsum("ij,ji", T, R)),
    "double dot of products": lambda u, v, a, b, **_: (
        double_dot(outer(u, v), outer(a, b)), (v @ a) * (u @ b)),
    "contraction": lambda u, v, **_: (trace_of(outer(u, v)), u @ v),
    "symmetric of upper triangle": lambda S, **_: (symmetric(*upper_triangle(S)), S, S.T),
    "R is orthogonal": lambda R, **_: (R @ R.T, R.T @ R, IDENTITY),
    "change of basis": lambda u, v, R, **_: (
        changed_basis(outer(u, v), R), outer(R @ u, R @ v)),
    "change of basis of a skew tensor": lambda u, R, **_: (
        changed_basis(skew(u), R), skew(R @ u)),
    "change of basis, undone": lambda T, R, **_: (changed_basis(changed_basis(T, R), R.T), T),
    "change of basis, invariants": lambda T, R, **_: (
        invariants(changed_basis(T, R)), invariants(T)),
    "change of basis, vector invariant": lambda T, R, **_: (
        vect(changed_basis(T, R)), R @ vect(T)),
    "Cartesian decomposition": lambda T, **_: (symmetric_part(T) + skew_part(T), T),
    "symmetric part": lambda T, **_: (symmetric_part(T), symmetric_part(T).T),
    "skew part": lambda T, **_: (skew_part(T), -skew_part(T).T, skew(vect(T))),
    "symmetric and skew parts are orthogonal": lambda T, R, **_: (
        double_dot(symmetric_part(T), skew_part(R)), 0),
    "projection": lambda v, R, **_: (
        projection(R[0]) @ v, R[0] * (R[0] @ v), projection(R[0]) @ projection(R[0]) @ v),
    "projection on the plane": lambda v, R, **_: (
        (IDENTITY - projection(R[0])) @ v, R[1] * (R[1] @ v) + R[2] * (R[2] @ v)),
    "projections add up": lambda R, **_: (sum(map(projection, R)), IDENTITY),
    "projections are orthogonal": lambda R, **_: (
        [double_dot(projection(e), projection(f)) for e in R for f in R], IDENTITY.ravel()),
    "invariants": lambda T, **_: (
        invariants(T),
        (trace_of(T), from_traces(T)[1], determinant(T), double_dot(T, T.T))),
    "invariants by traces": lambda S, **_: (invariants(S)[:3], from_traces(S)),
    "invariants of a tensor that is not symmetric": lambda T, **_: (
        invariants(T)[:3], from_traces(T)),
    "eps-delta": lambda **_: (
        np.einsum("ijk,rsk->ijrs", EPS, EPS),
        np.einsum("ir,js->ijrs", IDENTITY, IDENTITY)
        - np.einsum("is,jr->ijrs", IDENTITY, IDENTITY)),
    "eps-delta, contracted": lambda **_: (np.einsum("ijk,rjk->ir", EPS, EPS), 2 * IDENTITY),
    "eps is isotropic": lambda R, **_: (np.einsum("ia,jb,kc,abc->ijk", R, R, R, EPS), EPS),
    "eps gives the cross product": lambda u, v, **_: (
        cross(u, v), np.einsum("ijk,j,k->i", EPS, u, v)),
    "vect by indices": lambda T, **_: (vect(T), np.einsum("ijk,kj->i", EPS, T) / 2),
    "dual by indices": lambda u, **_: (skew(u), np.einsum("ijk,i->kj", EPS, u)),
    "dual undoes skew": lambda u, **_: (dual(skew(u)), vect(skew(u)), u),
}
"""1.1: the operations of sections 3.2 and 3.3."""

IDENTITIES = {
    "3.4.1": lambda u, v, **_: (cross(u, v), skew(u) @ v),
    "3.4.2-3": lambda k, u, v, **_: (skew(k * u + v), k * skew(u) + skew(v)),
    "3.4.4": lambda u, **_: (skew(u) @ u, ZERO),
    "3.4.5, parallel": lambda k, u, **_: (skew(u) @ (k * u), ZERO),
    "3.4.5, only parallel": lambda u, v, **_: (  # zero only where Cauchy and Schwarz are equal
        (skew(u) @ v) @ (skew(u) @ v), (u @ u) * (v @ v) - (u @ v) ** 2),
    "3.4.6": lambda u, v, **_: (skew(u) @ v, -skew(v) @ u),
    "3.4.7": lambda u, v, **_: (v @ skew(u), -skew(u) @ v),
    "3.4.8": lambda u, v, **_: (v @ skew(u), skew(v) @ u),
    "3.4.9": lambda u, v, a, b, **_: (cross(a, u) @ cross(v, b), a @ skew(u) @ skew(v) @ b),
    "3.4.10": lambda u, v, **_: (skew(u) @ skew(v), outer(v, u) - (u @ v) * IDENTITY),
    "3.4.14": lambda u, v, **_: (outer(v, u), skew(u) @ skew(v) + (u @ v) * IDENTITY),
    "3.4.15": lambda u, v, **_: (double_dot(skew(u), skew(v)), -2 * (u @ v)),
    "3.4.16": lambda u, v, **_: (u @ v, -trace_of(skew(u) @ skew(v)) / 2),
    "3.4.17": lambda u, S, **_: (double_dot(S, skew(u)), 0),
    "3.4.18": lambda u, v, **_: (around(u, v), -(u @ u) * skew(v) - (u @ v) * skew(u)),
    "3.4.19": lambda u, v, **_: (
        skew(u) @ skew(v) @ skew(u), -(u @ v) * skew(u),
        around(u, v) - trace_of(skew(u) @ skew(u)) * skew(v) / 2),
    "3.4.20": lambda u, v, **_: (
        commutator(square(v), square(u)), (u @ v) * commutator(skew(u), skew(v))),
    "3.4.22": lambda u, w, **_: (around(u, cross(u, w)), -(u @ u) * skew(cross(u, w))),
    "3.4.23": lambda u, w, **_: (skew(u) @ skew(cross(u, w)) @ skew(u), 0 * IDENTITY),
    "3.4.24": lambda u, w, **_: (commutator(square(u), square(cross(u, w))), 0 * IDENTITY),
    "3.4.25": lambda u, **_: (skew(u) @ skew(u) @ skew(u), -(u @ u) * skew(u)),
    "3.4.26": lambda u, v, **_: (
        skew(skew(u) @ v), outer(v, u) - outer(u, v), commutator(skew(u), skew(v)), wedge(v, u)),
    "3.4.29": lambda u, v, **_: (cross(u, v), dual(commutator(skew(u), skew(v)))),
    "3.4.30": lambda u, v, **_: (cross(u, v), dual(wedge(v, u))),
    "3.4.31": lambda T, **_: (vect(T.T), -vect(T)),
    "3.4.32": lambda u, v, **_: (cross(u, v), -2 * vect(outer(u, v))),
    "3.4.33": lambda u, v, **_: (cross(u, v), 2 * vect(skew(u) @ skew(v))),
    "3.4.34": lambda u, v, w, **_: (
        skew(skew(w) @ skew(u) @ v), skew(u) * (w @ v) - skew(v) * (w @ u)),
    "3.4.35": lambda u, v, **_: (
        skew(square(u) @ v), -around(u, v) + trace_of(square(u)) * skew(v)),
    "3.4.36": lambda v, S, **_: (
        skew(S @ v), -(S @ skew(v) + skew(v) @ S) + trace_of(S) * skew(v)),
    "C.11": lambda v, T, **_: (
        skew(T @ v), trace_of(T) * skew(v) - T.T @ skew(v) - skew(v) @ T),
    "3.4.38": lambda a, R, **_: (  # the columns of R are eigenvectors, a the eigenvalues
        R * a @ R.T, sum(l * square(x) for l, x in zip(a, R.T, strict=True)) + sum(a) * IDENTITY),
    "3.4.39": lambda u, v, S, **_: (u @ S @ v, -trace_of(skew(u) @ euler(S) @ skew(v))),
}
"""1.2: the identities of section 3.4, and C.11."""

BODIES = {
    "4.2.22": lambda u, v, w, **_: (  # ω̇ = v
        angular_acceleration_tensor(w, v) @ u, cross(v, u) + cross(w, cross(w, u))),
    "vect and trace of Omega": lambda v, w, **_: (
        [*vect(angular_acceleration_tensor(w, v)), trace_of(angular_acceleration_tensor(w, v))],
        [*v, -2 * (w @ w)]),
    "4.3.6": lambda m, u, v, w, a, **_: (
        euler(body(m, u, v, w, a).inertia), body(m, u, v, w, a).euler),
    "4.3.7": lambda m, u, v, w, a, **_: (
        inertia_of_euler(body(m, u, v, w, a).euler), body(m, u, v, w, a).inertia),
    "4.3.6-7 undo each other": lambda S, **_: (
        S, euler(inertia_of_euler(S)), inertia_of_euler(euler(S))),
    "Th 4.3 = 4.3.9": lambda m, u, v, w, a, **_: parallel_axes(body(m, u, v, w, a)),
    "4.3.9, of a point": lambda k, u, **_: (
        point_inertia(k, u), -k * square(u), k * ((u @ u) * IDENTITY - outer(u, u))),
    "Th 4.3 = 4.3.10": lambda m, u, v, w, a, **_: parallel_euler(body(m, u, v, w, a)),
    "4.3.13": lambda S, **_: (euler(S), euler_by_entries(S)),
    "4.3.14": lambda S, **_: (inertia_of_euler(S), inertia_by_entries(S)),
    "4.3.15": lambda m, u, v, w, a, R, **_: (
        body(m, R @ u, R @ v, R @ w, R @ a).inertia,
        changed_basis(body(m, u, v, w, a).inertia, R)),
    "4.3.17, in other axes": lambda w, S, R, **_: (
        changed_basis(inertia_rate(w, S), R), inertia_rate(R @ w, changed_basis(S, R))),
    "4.3.18": lambda w, S, **_: (inertia_rate(w, euler(S)), -inertia_rate(w, S)),
    "4.3.26": lambda w, S, **_: (S @ w, -euler(S) @ w + trace_of(euler(S)) * w),
    "Th 4.4 = 4.3.28, 4.3.30": lambda w, S, **_: (
        skew(S @ w), (skew(w) @ S).T - skew(w) @ S + trace_of(S) * skew(w),
        euler(S) @ skew(w) - (euler(S) @ skew(w)).T, euler(S) @ skew(w) + skew(w) @ euler(S)),
    "4.3.29": lambda S, **_: (trace_of(inertia_of_euler(S)), 2 * trace_of(S)),
    "4.3.35, 4.3.38": lambda v, w, S, **_: (
        euler_moment(w, v, S), S @ v + cross(w, S @ w),
        -(euler(S) @ v + skew(w) @ euler(S) @ w) + trace_of(euler(S)) * v),
    "4.3.37": lambda k, u, v, w, **_: (
        k * cross(u, angular_acceleration_tensor(w, v) @ u),
        -k * (square(u) @ v + skew(u) @ skew(w) @ skew(u) @ w),
        euler_moment(w, v, point_inertia(k, u))),
    "Th 4.5 = 4.3.41, 4.3.42": lambda v, w, S, **_: tensor_euler(w, v, S),
    "15M form": lambda v, w, S, **_: (
        euler_moment(w, v, S), moment_by_entries(angular_acceleration_tensor(w, v), euler(S))),
}
"""1.3: the results of chapter 4 that hold at one instant."""
# fmt: on


def square(u):
    return skew(u) @ skew(u)


def around(u, v):
    """ṽ ũ ũ + ũ ũ ṽ."""
    return skew(v) @ square(u) + square(u) @ skew(v)


def parallel_axes(body):
    sum_of_points = sum(point_inertia(m, r) for m, r in body.points)
    return body.inertia, body.at_com.inertia + point_inertia(body.m, body.com), sum_of_points


def parallel_euler(body):
    return body.euler, body.at_com.euler + body.m * outer(body.com, body.com)


def tensor_euler(w, wd, I):
    Omega, J = angular_acceleration_tensor(w, wd), euler(I)
    return (
        skew(euler_moment(w, wd, I)),
        (Omega @ I).T - Omega @ I + trace_of(I) * skew(wd),
        Omega @ J - (Omega @ J).T,
    )


TABLE = OPERATIONS | IDENTITIES | BODIES
every_identity = pytest.mark.parametrize("identity", TABLE.values(), ids=TABLE)


@every_identity
@settings(max_examples=15, deadline=None)
@given(case=FRACTIONS)
def test_the_sides_are_equal_exactly(identity, case):
    left, *others = (np.asarray(side, dtype=object) for side in identity(**case))
    assert all(isinstance(entry, int | Fraction) for side in (left, *others) for entry in side.flat)
    for other in others:
        assert np.array_equal(left, other)


@every_identity
@settings(max_examples=5, deadline=None)
@given(case=FLOATS)
def test_the_sides_are_equal_in_floats(identity, case):
    case = {name: np.array(value, dtype=float) for name, value in case.items()}
    left, *others = (np.array(side, dtype=float) for side in identity(**case))
    for other in others:
        np.testing.assert_allclose(left, other, rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------ roots: norm, angle, spectrum


@settings(max_examples=50, deadline=None)
@given(FLOATS)
def test_norm_and_angle_are_those_of_nine_dimensions(case):
    u, T, S = (np.array(case[name], dtype=float) for name in "uTS")
    T += 2 * np.eye(3)
    S += 3 * np.eye(3)
    assert norm(T) == pytest.approx(np.linalg.norm(T.ravel()))
    assert norm(u) == pytest.approx(np.linalg.norm(u))
    assert norm(T) == pytest.approx(np.sqrt(double_dot(T, T.T)))
    assert norm(skew(u)) == pytest.approx(np.sqrt(2) * norm(u))
    assert angle_cosine(T, S) == pytest.approx(T.ravel() @ S.ravel() / (norm(T) * norm(S)))
    assert angle_cosine(T, -2 * T) == pytest.approx(-1)
    assert angle_cosine(symmetric_part(T), skew(np.add(u, [2, 0, 0]))) == pytest.approx(0)


@settings(max_examples=50, deadline=None)
@given(FLOATS)
def test_a_symmetric_tensor_is_the_sum_of_its_projections(case):
    S = np.array(case["S"], dtype=float)
    values, vectors = np.linalg.eigh(S)
    spectral = sum(l * projection(e) for l, e in zip(values, vectors.T, strict=True))
    np.testing.assert_allclose(spectral.astype(float), S, atol=1e-12)
    crossed = sum(l * square(e) for l, e in zip(values, vectors.T, strict=True))
    np.testing.assert_allclose((crossed + trace_of(S) * IDENTITY).astype(float), S, atol=1e-12)
    elementary = (values.sum(), values @ np.roll(values, 1), values.prod(), values @ values)
    np.testing.assert_allclose(invariants(S), elementary, atol=1e-12)


def test_symmetric_tensors_have_six_dimensions_and_skew_ones_three():
    units = np.eye(9).reshape(9, 3, 3)
    symmetric, skewed = (
        np.array([part(unit).ravel() for unit in units]) for part in (symmetric_part, skew_part)
    )
    assert np.linalg.matrix_rank(symmetric) == 6
    assert np.linalg.matrix_rank(skewed) == 3
    assert not np.any(symmetric @ skewed.T)


def test_a_product_of_vectors_has_rank_one_and_a_skew_tensor_two():
    u, v = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.0, 5.0])
    assert np.linalg.matrix_rank(outer(u, v)) == 1
    assert np.linalg.matrix_rank(skew(u).astype(float)) == 2


@pytest.mark.parametrize("name", ["ZERO", "X_AXIS", "Y_AXIS", "Z_AXIS", "IDENTITY"])
def test_constants_cannot_be_written(name):
    constant = getattr(algebra, name)
    assert all(type(entry) is int for entry in constant.flat)
    with pytest.raises(ValueError, match="read-only"):
        constant[0] = 7


# ------------------------------------------------------------------ derivatives in time


def givens(n, i, j, angle):
    """The turn of n axes by an angle from axis i to axis j."""
    Q = np.array([[mpmath.mpf(row == column) for column in range(n)] for row in range(n)])
    Q[i, i] = Q[j, j] = mpmath.cos(angle)
    Q[j, i] = mpmath.sin(angle)
    Q[i, j] = -Q[j, i]
    return Q


def polynomial(coefficients):
    return lambda t: sum(c * t**power for power, c in enumerate(coefficients))


def turning(n, angles):
    """An orthogonal tensor of time: turns in every plane, by angles polynomial in time."""
    planes = [(i, j) for j in range(n) for i in range(j)]

    def Q(t):
        turns = (givens(n, i, j, angle(t)) for (i, j), angle in zip(planes, angles, strict=True))
        return np.linalg.multi_dot([np.eye(n, dtype=int).astype(object), *turns])

    return Q


def rate(f, order=1):
    """The derivative of a function of time, to all digits."""
    return lambda t: mpmath.diff(f, t, order)


def same(left, right):
    return all(abs(x - y) < 1e-25 for x, y in zip(np.ravel(left), np.ravel(right), strict=True))


class Motion:
    """A body of point masses that turns by R(t) about a point of it, which moves along s(t)."""

    def __init__(self, case, angles, path, t):
        self.R = turning(3, angles)
        self.s = lambda t: np.array([p(t) for p in path], dtype=object)
        self.m, self.places, self.t = case["m"], [case[name] for name in "uvwa"], t
        self.p = self.places[0]
        self.body = self.turned(t)

    def at(self, f, order=0):
        """What a function of time, or a derivative of it, is now."""
        return rate(f, order)(self.t) if order else f(self.t)

    def angular_velocity(self, t):
        return dual(rate(self.R)(t) @ self.R(t).T)

    @cached_property
    def w(self):
        return self.at(self.angular_velocity)

    @cached_property
    def wd(self):
        return self.at(self.angular_velocity, 1)

    @cached_property
    def Omega(self):
        return angular_acceleration_tensor(self.w, self.wd)

    def arm(self, r):
        """From s to the point r of the body."""
        return lambda t: self.R(t) @ r

    def place(self, r):
        """From the origin to the point r of the body."""
        return lambda t: self.s(t) + self.R(t) @ r

    def turned(self, t):
        """The body about s, in fixed axes."""
        return Body(self.m, [self.R(t) @ r for r in self.places])

    def inertia(self, t):
        return self.turned(t).inertia

    def centre(self, t):
        return self.s(t) + self.turned(t).com

    def momentum(self, about):
        """The angular momentum about a place that may move, for velocities relative to it."""

        def L(t):
            arms = [lambda t, r=r: self.place(r)(t) - about(t) for r in self.places]
            return sum(m * cross(arm(t), rate(arm)(t)) for m, arm in zip(self.m, arms, strict=True))

        return L


def origin(t):
    return ZERO


def momentum_of_a_free_body(motion):
    """About the origin, of a body that turns about s, which moves; r_c is seen from s."""
    s, sd, w, body = motion.at(motion.s), motion.at(motion.s, 1), motion.w, motion.body
    r, m = body.com, body.m
    return motion.at(motion.momentum(origin)), (
        m * cross(s, sd + cross(w, r)) + m * cross(r, sd) + body.inertia @ w
    )


def momentum_by_the_centre(motion):
    """L_o = L_c + r_c × ṙ_c m, which holds of a free body too."""
    r, rd = motion.at(motion.centre), motion.at(motion.centre, 1)
    return motion.at(motion.momentum(origin)), (
        motion.at(motion.momentum(motion.centre)) + motion.body.m * cross(r, rd)
    )


def moment_by_the_centre(motion):
    """M_o = M_c + r_c × F_c, with M_c by Euler and F_c by Newton."""
    r, rdd = motion.at(motion.centre), motion.at(motion.centre, 2)
    return motion.at(motion.momentum(origin), 1), (
        euler_moment(motion.w, motion.wd, motion.body.at_com.inertia)
        + cross(r, motion.body.m * rdd)
    )


# fmt: off
MOTIONS = {
    "Th 4.1": lambda x: (x.at(x.R, 1) @ x.at(x.R).T, skew(x.w)),
    "Th 4.2": lambda x: (x.at(x.R, 2) @ x.at(x.R).T, x.Omega),
    "4.2.19": lambda x: (x.at(x.place(x.p), 1), x.at(x.s, 1) + skew(x.w) @ x.at(x.arm(x.p))),
    "4.2.20": lambda x: (x.at(x.place(x.p), 2), x.at(x.s, 2) + x.Omega @ x.at(x.arm(x.p))),
    "4.2.21": lambda x: (x.at(x.arm(x.p), 1), cross(x.w, x.at(x.arm(x.p)))),
    "4.2.22": lambda x: (x.at(x.arm(x.p), 2), x.Omega @ x.at(x.arm(x.p))),
    "4.3.16-17": lambda x: (x.at(x.inertia, 1), inertia_rate(x.w, x.body.inertia)),
    "4.3.18-19": lambda x: (
        x.at(lambda t: euler(x.inertia(t)), 1), inertia_rate(x.w, x.body.euler),
        -x.at(x.inertia, 1)),
    "4.3.20": momentum_of_a_free_body,
    "4.3.22, 4.3.26": lambda x: (
        x.at(x.momentum(x.s)), x.body.inertia @ x.w,
        -x.body.euler @ x.w + trace_of(x.body.euler) * x.w),
    "4.3.23": lambda x: (x.at(x.momentum(x.centre)), x.body.at_com.inertia @ x.w),
    "4.3.24-25": momentum_by_the_centre,
    "Th 4.4": lambda x: (
        skew(x.at(x.momentum(x.s))), x.body.euler @ skew(x.w) + skew(x.w) @ x.body.euler),
    "4.3.35": lambda x: (x.at(x.momentum(x.s), 1), euler_moment(x.w, x.wd, x.body.inertia)),
    "4.3.36": moment_by_the_centre,
    "Th 4.5": lambda x: (
        skew(x.at(x.momentum(x.s), 1)), x.Omega @ x.body.euler - (x.Omega @ x.body.euler).T),
}
"""1.3: the results of chapter 4 that are derivatives in time."""
# fmt: on

SMALL = st.integers(-9, 9).map(lambda k: mpmath.mpf(k) / 8)
POLYNOMIALS = st.lists(SMALL, min_size=4, max_size=4).map(polynomial)


@pytest.mark.parametrize("law", MOTIONS.values(), ids=MOTIONS)
@settings(max_examples=6, deadline=None)
@given(
    case=cases(SMALL, st.integers(1, 9)),
    angles=st.lists(POLYNOMIALS, min_size=3, max_size=3),
    path=st.lists(POLYNOMIALS, min_size=3, max_size=3),
    t=SMALL,
)
def test_a_body_that_moves_obeys(law, case, angles, path, t):
    with mpmath.workdps(40):
        left, *others = law(Motion(case, angles, path, t))
        assert all(same(left, other) for other in others)


@settings(max_examples=12, deadline=None)
@given(st.data(), st.integers(2, 5), SMALL)
def test_orthogonal_tensors_of_any_dimension_turn_by_skew_rates(data, n, t):
    """Theorems 4.1 and 4.2: Q̇ = Φ Q with Φ skew, and Q̈ = (Φ̇ + Φ²) Q."""
    planes = n * (n - 1) // 2
    Q = turning(n, data.draw(st.lists(POLYNOMIALS, min_size=planes, max_size=planes)))
    with mpmath.workdps(40):

        def Phi(t):
            return rate(Q)(t) @ Q(t).T

        assert same(Phi(t), -Phi(t).T)
        assert same(rate(Q, 2)(t), (rate(Phi)(t) + Phi(t) @ Phi(t)) @ Q(t))


# ------------------------------------------------------------------ what they cost


def cost(function):
    """Of a function of ω and ω̇ and a symbolic inertia tensor."""

    def run(graph, w, wd):
        J = symmetric(*map(graph.symbol, ["Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz"]))
        return function(w, wd, J)

    return trace_function("cost", run, {"w": (3,), "wd": (3,)}).count()


def test_the_moment_takes_15M_15A_where_Omega_is_on_hand():
    both = cost(lambda w, wd, J: (angular_acceleration_tensor(w, wd), euler_moment(w, wd, J)))
    alone = cost(lambda w, wd, J: angular_acceleration_tensor(w, wd))
    assert (both.M - alone.M, both.A - alone.A) == (15, 15)


def test_the_angular_acceleration_tensor_takes_6M_9A():
    assert str(cost(lambda w, wd, J: angular_acceleration_tensor(w, wd))) == "6M 9A"

"""Tensor operations for the identities of Balafoutis and Patel (1991) in `test_algebra`."""

from armlet.algebra import CYCLES, IDENTITY, cross, double_dot, outer, skew, trace_of, vector
from armlet.scalar import sqrt


def dual(T):
    """The vector a of a skew tensor T = ã, the matrix of the cross product with a."""
    return vector(*(T[k, j] for _, j, k in CYCLES))


def vect(T):
    """The vector invariant of T: the dual vector of the skew part of T."""
    return dual(skew_part(T))


def symmetric_part(T):
    return (T + T.T) / 2


def skew_part(T):
    return (T - T.T) / 2


def wedge(a, b):
    """a ∧ b = a bᵀ - b aᵀ."""
    return outer(a, b) - outer(b, a)


def commutator(T, S):
    """[T, S] = T S - S T."""
    return T @ S - S @ T


def norm(T):
    """The Frobenius norm: the root of the sum of squares of all entries."""
    return sqrt((T * T).sum())


def angle_cosine(T, S):
    """The cosine of the angle between two tensors, T : Sᵀ / (|T| |S|)."""
    return double_dot(T, S.T) / (norm(T) * norm(S))


def projection(e):
    """The orthogonal projection on a unit vector, e eᵀ."""
    return outer(e, e)


def invariants(T):
    """Trace, sum of the principal minors, determinant, and sum of squares of all entries."""
    minors = (T[i, i] * T[j, j] - T[i, j] * T[j, i] for i, j in ((0, 1), (1, 2), (2, 0)))
    return trace_of(T), sum(minors), T[0] @ cross(T[1], T[2]), (T * T).sum()


def inertia_of_euler(E):
    """tr(E) 1 - E: the inertia tensor of an Euler tensor E (4.3.7)."""
    return trace_of(E) * IDENTITY - E


def inertia_rate(w, J):
    """J̇ = ω̃ J - J ω̃ of a body with angular velocity ω, in fixed axes (4.3.16)."""
    return commutator(skew(w), J)

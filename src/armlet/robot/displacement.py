"""The displacement of a body from its parent: a product of screws, rotations and translations.

A screw is a rotation about a coordinate axis and a translation along the same axis. In modified
DH frames a displacement is a screw about x, then a screw about z. On branches of a tree, another
screw about z comes first. Between nearly parallel axes, a rotation about y follows the screw about
x. Applying one screw at a time saves operations: the screws about x and z take 8 multiplications
and 4 additions for a vector, and 17 multiplications and 14 additions for a symmetric tensor.
A joint that moves in several directions also has a `Rotation` about any axis, or a `Translation` in
any direction. All three kinds of factor have the same methods.
"""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from armlet.algebra import IDENTITY, ZERO, cross, point_inertia, symmetric, upper_triangle
from armlet.scalar import (
    QUARTER_TURNS,
    Matrix,
    Scalar,
    Vector,
    cos,
    cos_sin,
    is_zero,
    quarter_turns,
    sin,
)

Body = tuple[Scalar, Vector, Matrix]
"""Mass, first moment and inertia of a body, about the origin and in the axes of a frame."""


class DHRow(NamedTuple):
    """Modified DH parameters: the pose of a body in its parent's frame, with the joint at zero.

    From the parent's frame, rotate by gamma about z and translate by b along z; rotate by alpha
    about the new x and translate by a along x; rotate by beta about the new y; rotate by theta
    about the new z, the joint axis, and translate by d along z. gamma and b are zero except on
    branches of a tree (Khalil and Kleinfinger 1986), beta is zero except between nearly parallel
    axes (Hayati 1983).
    """

    gamma: Scalar
    b: Scalar
    alpha: Scalar
    a: Scalar
    d: Scalar
    theta: Scalar
    beta: Scalar = 0.0


class Screw(NamedTuple):
    """A rotation about coordinate axis k (cosine c, sine s) and a translation h along this axis."""

    k: int
    c: Scalar
    s: Scalar
    h: Scalar

    @property
    def others(self) -> tuple[int, int]:
        """The indices of the two axes other than k, in cyclic order after k."""
        return self.k - 2, self.k - 1

    def inverse(self) -> "Screw":
        return Screw(self.k, self.c, -self.s, -self.h)

    def vector(self, v: Vector) -> Vector:
        """Rotate vector v from the axes after the screw to the axes before it."""
        i, j = self.others
        turned = np.array(v, dtype=object)
        turned[i] = self.c * v[i] - self.s * v[j]
        turned[j] = self.s * v[i] + self.c * v[j]
        return turned

    def point(self, r: Vector) -> Vector:
        """Transform position r from the frame after the screw to the frame before it."""
        turned = self.vector(r)
        turned[self.k] = turned[self.k] + self.h
        return turned

    def wrench(self, f: Vector, t: Vector) -> tuple[Vector, Vector]:
        """Transform force f, and moment t about the origin, to the frame before the screw."""
        i, j = self.others
        t = np.array(t, dtype=object)
        t[i], t[j] = t[i] - self.h * f[j], t[j] + self.h * f[i]
        return self.vector(f), self.vector(t)

    def body(self, m: Scalar, c: Vector, J: Matrix) -> Body:
        """Transform mass, first moment and inertia to the frame before the screw.

        Let i and j be the axes other than k. The translation adds the same term to J_ii and J_jj,
        so their difference, which the rotation needs, is computed from the untranslated inertia.
        """
        k, cos, sin, h = self
        i, j = self.others
        slid = np.array(c, dtype=object)
        slid[k] = c[k] + m * h
        both = 2 * h * c[k] if is_zero(m) else h * (c[k] + slid[k])
        ii, jj, ij = J[i, i] + both, J[j, j] + both, J[i, j]
        if is_zero(cos):
            ii, jj, ij = jj, ii, -ij
        elif not is_zero(sin):
            a = cos * (J[i, i] - J[j, j]) - 2 * sin * J[i, j]
            ii, jj, ij = jj + cos * a, ii - cos * a, ij + sin * a
        J_k = self.vector(J[:, k] - h * c)
        new = np.array(J, dtype=object)
        new[i, i], new[j, j] = ii, jj
        new[i, j] = new[j, i] = ij
        new[i, k] = new[k, i] = J_k[i]
        new[j, k] = new[k, j] = J_k[j]
        return m, self.vector(slid), new

    def tensor(self, J: Matrix) -> Matrix:
        """Rotate symmetric tensor J to the axes before the screw; the translation is ignored."""
        return self._replace(h=0).body(0, ZERO, J)[2]

    def general_tensor(self, T: Matrix) -> Matrix:
        """Rotate a 3x3 tensor from the axes after the screw to the axes before it.

        This takes 12 multiplications and 11 additions, or none for quarter turns. In the plane
        normal to k, the trace and the skew part are invariant; the rest rotates by twice the angle.
        """
        k, cos, sin, _ = self
        i, j = self.others
        ii, ij, ji, jj = T[i, i], T[i, j], T[j, i], T[j, j]
        if is_zero(cos):
            ii, ij, ji, jj = jj, -ji, -ij, ii
        elif not is_zero(sin):
            a = cos * (ii - jj) - sin * (ij + ji)
            ii, ij, ji, jj = jj + cos * a, ij + sin * a, ji + sin * a, ii - cos * a
        new = np.array(T, dtype=object)
        new[i, i], new[i, j], new[j, i], new[j, j] = ii, ij, ji, jj
        new[:, k], new[k, :] = self.vector(T[:, k]), self.vector(T[k, :])
        return new


class Rotation(NamedTuple):
    """A rotation about any axis; the columns of R are the axes after it, in the axes before it."""

    R: Matrix

    def inverse(self) -> "Rotation":
        return Rotation(self.R.T)

    def vector(self, v: Vector) -> Vector:
        return np.array(self.R @ v)

    def point(self, r: Vector) -> Vector:
        return self.vector(r)

    def wrench(self, f: Vector, t: Vector) -> tuple[Vector, Vector]:
        return self.vector(f), self.vector(t)

    def body(self, m: Scalar, c: Vector, J: Matrix) -> Body:
        return m, self.vector(c), self.tensor(J)

    def tensor(self, J: Matrix) -> Matrix:
        return symmetric(*upper_triangle(self.general_tensor(J)))

    def general_tensor(self, T: Matrix) -> Matrix:
        return np.array(self.R @ T @ self.R.T)


class Translation(NamedTuple):
    """A translation in any direction; r is the origin after it, in the frame before it."""

    r: Vector

    def inverse(self) -> "Translation":
        return Translation(-self.r)

    def vector(self, v: Vector) -> Vector:
        return v

    def point(self, r: Vector) -> Vector:
        return np.array(self.r + r)

    def wrench(self, f: Vector, t: Vector) -> tuple[Vector, Vector]:
        return f, np.array(t + cross(self.r, f))

    def body(self, m: Scalar, c: Vector, J: Matrix) -> Body:
        """Transform mass, first moment and inertia; J grows by 2 r · c 1 - r cᵀ - c rᵀ - m r̃ r̃."""
        both = np.multiply.outer(self.r, c)
        moved = J + 2 * (self.r @ c) * IDENTITY - both - both.T + point_inertia(m, self.r)
        return m, np.array(c + m * self.r), moved

    def tensor(self, J: Matrix) -> Matrix:
        return J

    def general_tensor(self, T: Matrix) -> Matrix:
        return T


Factor = Screw | Rotation | Translation


class Displacement(tuple[Any, ...]):
    """A product of factors, each a `Factor`, ordered from the parent to the body."""

    __slots__ = ()

    def inverse(self) -> "Displacement":
        return Displacement(factor.inverse() for factor in reversed(self))

    def vector(self, v: Vector) -> Vector:
        """Rotate vector v from the body's axes to the parent's axes."""
        return reduce(lambda v, factor: factor.vector(v), reversed(self), v)

    def point(self, r: Vector) -> Vector:
        """Transform position r from the body's frame to the parent's frame."""
        return reduce(lambda r, factor: factor.point(r), reversed(self), r)

    def wrench(self, f: Vector, t: Vector) -> tuple[Vector, Vector]:
        """Transform force f, and moment t about the origin, from body frame to parent frame."""
        return reduce(lambda wrench, factor: factor.wrench(*wrench), reversed(self), (f, t))

    def body(self, m: Scalar, c: Vector, J: Matrix) -> Body:
        """Transform mass, first moment and inertia from the body's frame to the parent's frame."""
        return reduce(lambda body, factor: factor.body(*body), reversed(self), (m, c, J))

    def tensor(self, J: Matrix) -> Matrix:
        """Rotate symmetric tensor J from the body's axes to the parent's axes."""
        return reduce(lambda J, factor: factor.tensor(J), reversed(self), J)

    def origin(self) -> Vector:
        """Position of the body's origin in the parent's frame."""
        return self.point(ZERO)

    def origin_along_z(self) -> tuple[Vector, Scalar]:
        """Return r and h: the body's origin is at r + h z in the parent's frame.

        h is the translation of the last factor if this is a screw about the body's z axis, else 0;
        r is in the parent's axes.
        """
        last = self[-1]
        if isinstance(last, Screw) and last.k == 2:
            return Displacement(self[:-1]).origin(), last.h
        return self.origin(), 0

    def rotation(self) -> Matrix:
        """Rotation matrix ᵖRᵢ, whose columns are the body's axes in the parent's axes."""
        return np.array([self.vector(axis) for axis in IDENTITY], dtype=object).T


def displacement(*screws: Screw) -> Displacement:
    """Return the product of `screws`, leaving out identities."""
    return Displacement(s for s in screws if not (is_zero(s.s) and is_zero(s.h) and s.c == 1))


def cos_sin_of_sum(q: Scalar, theta: Scalar) -> tuple[Scalar, Scalar]:
    """Return cos and sin of q + θ, without an addition if θ is a multiple of a quarter turn."""
    if is_zero(q):
        return cos_sin(theta)
    k = quarter_turns(theta)
    if k is None:
        return cos(q + theta), sin(q + theta)
    c, s = QUARTER_TURNS[k % 4]
    return c * cos(q) - s * sin(q), s * cos(q) + c * sin(q)

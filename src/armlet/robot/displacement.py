"""The displacement of a body from its parent: a product of axial screws.

A screw is a rotation (cos, sin) about a coordinate axis and a translation along it. In modified DH
frames a displacement is a screw about x, then one about z. On branches of a tree, another screw
about z comes first. Between nearly parallel axes, a rotation about y follows the screw about x.
To transform by one screw at a time saves operations: 8M 4A for a vector, 17M 14A for a tensor.
"""

from functools import reduce
from typing import NamedTuple

import numpy as np

from armlet.algebra import IDENTITY, ZERO
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
"""Mass, first moment and inertia of a body about the origin of a frame, in the frame's axes."""


class DHRow(NamedTuple):
    """The pose of a body in its parent when its joint is at zero.

    Rotation gamma about and translation b along the parent's z, rotation alpha about and
    translation a along the new x, rotation beta about the new y, rotation theta about and
    translation d along the new z, which is the joint's axis. gamma and b are zero except on
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
    """A rotation with cosine c and sine s about coordinate axis k and a translation h along it."""

    k: int
    c: Scalar
    s: Scalar
    h: Scalar

    @property
    def others(self) -> tuple[int, int]:
        """The other two axes, in cyclic order."""
        return self.k - 2, self.k - 1

    def inverse(self) -> "Screw":
        return Screw(self.k, self.c, -self.s, -self.h)

    def vector(self, v: Vector) -> Vector:
        """A vector, transformed to the outer frame."""
        i, j = self.others
        turned = np.array(v, dtype=object)
        turned[i] = self.c * v[i] - self.s * v[j]
        turned[j] = self.s * v[i] + self.c * v[j]
        return turned

    def point(self, r: Vector) -> Vector:
        """A position, transformed to the outer frame."""
        turned = self.vector(r)
        turned[self.k] = turned[self.k] + self.h
        return turned

    def wrench(self, f: Vector, t: Vector) -> tuple[Vector, Vector]:
        """A force and a moment about the origin, transformed to the outer frame."""
        i, j = self.others
        t = np.array(t, dtype=object)
        t[i], t[j] = t[i] - self.h * f[j], t[j] + self.h * f[i]
        return self.vector(f), self.vector(t)

    def body(self, m: Scalar, c: Vector, J: Matrix) -> Body:
        """A rigid body, transformed to the outer frame.

        The translation adds the same term to J_ii and J_jj, so the rotation can use J_ii - J_jj
        from before the translation.
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
        """A symmetric tensor, rotated to the outer axes, without the translation."""
        return self._replace(h=0).body(0, ZERO, J)[2]

    def general_tensor(self, T: Matrix) -> Matrix:
        """A tensor with nine entries, rotated to the outer axes: 12M 11A, none at quarter turns.

        The trace and the skew part about the axis stay; the rest rotates by twice the angle.
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


class Displacement(tuple[Screw, ...]):
    """A product of screws, in their order from the parent to the body."""

    __slots__ = ()

    def inverse(self) -> "Displacement":
        return Displacement(screw.inverse() for screw in reversed(self))

    def vector(self, v: Vector) -> Vector:
        """A vector, from the body's axes to the parent's."""
        return reduce(lambda v, screw: screw.vector(v), reversed(self), v)

    def point(self, r: Vector) -> Vector:
        """A position, from the body's frame to the parent's."""
        return reduce(lambda r, screw: screw.point(r), reversed(self), r)

    def wrench(self, f: Vector, t: Vector) -> tuple[Vector, Vector]:
        """A force and a moment about the origin, from the body's frame to the parent's."""
        return reduce(lambda wrench, screw: screw.wrench(*wrench), reversed(self), (f, t))

    def body(self, m: Scalar, c: Vector, J: Matrix) -> Body:
        """Mass, first moment and inertia, from the body's frame to the parent's."""
        return reduce(lambda body, screw: screw.body(*body), reversed(self), (m, c, J))

    def tensor(self, J: Matrix) -> Matrix:
        """A symmetric tensor, from the body's axes to the parent's."""
        return reduce(lambda J, screw: screw.tensor(J), reversed(self), J)

    def origin(self) -> Vector:
        """The body's origin, in the parent's frame."""
        return self.point(ZERO)

    def rotation(self) -> Matrix:
        """The rotation ᵖRᵢ, whose columns are the body's axes in the axes of the parent."""
        return np.array([self.vector(axis) for axis in IDENTITY], dtype=object).T


def displacement(*screws: Screw) -> Displacement:
    """The product of those screws that are not the identity."""
    return Displacement(s for s in screws if not (is_zero(s.s) and is_zero(s.h) and s.c == 1))


def cos_sin_of_sum(q: Scalar, theta: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of q + θ, without an addition if θ is a multiple of a quarter turn."""
    if is_zero(q):
        return cos_sin(theta)
    k = quarter_turns(theta)
    if k is None:
        return cos(q + theta), sin(q + theta)
    c, s = QUARTER_TURNS[k % 4]
    return c * cos(q) - s * sin(q), s * cos(q) + c * sin(q)

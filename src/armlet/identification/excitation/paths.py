"""Paths of joints as sums of basis functions of time, at rest at both ends."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armlet._support.lazy import cached_property

Array = NDArray[np.float64]
DEGREE = 5
"""The degree of splines: the derivative of the acceleration is continuous."""
ROUNDING = 1e-13
"""Velocities below this share of the sizes that add up to them are zero: at rest, Coulomb friction
would otherwise have the sign of a rounding error."""


@dataclass(frozen=True)
class Path(ABC):
    """Functions of time of which every joint's position is a sum: one coefficient for each."""

    duration: float
    count: int
    """The number of harmonics, or of points of a spline that can be chosen."""

    @property
    @abstractmethod
    def constant(self) -> Array:
        """The coefficients of a joint that stays at one, (m,)."""

    @property
    @abstractmethod
    def scale(self) -> Array:
        """Sizes of coefficients that give velocities of about the same size, (m,)."""

    @abstractmethod
    def basis(self, t: Array) -> tuple[Array, Array, Array]:
        """The functions and their first and second derivatives at times, each (k, m)."""

    @cached_property
    def free(self) -> Array:
        """Combinations of coefficients that are at rest at both ends, as columns, (m, p).

        They span the null space of the velocities and accelerations there; scaled, they are
        orthonormal.
        """
        ends = self.basis(np.array([0.0, self.duration]))
        rest = np.vstack([ends[1], ends[2]]) * self.scale
        _, values, rows = np.linalg.svd(rest)
        rank = int((values > 1e-9 * values[0]).sum())
        free: Array = self.scale[:, None] * rows[rank:].T
        return free

    @cached_property
    def still(self) -> Array:
        """The constant in terms of the free combinations, (p,)."""
        return np.asarray(np.linalg.lstsq(self.free, self.constant, rcond=None)[0], dtype=float)

    def motion(self, coefficients: Array, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations for coefficients (m, n), each (k, n)."""
        basis = self.basis(t)
        q, qd, qdd = (B @ coefficients for B in basis)
        at_rest = np.abs(qd) <= ROUNDING * (np.abs(basis[1]) @ np.abs(coefficients))
        return q, np.where(at_rest, 0, qd), qdd


@dataclass(frozen=True)
class Fourier(Path):
    """A finite Fourier series whose period is the duration.

    q(t) = c + Σ aₖ sin(k ω t) + bₖ cos(k ω t), k from 1 to the number of harmonics; coefficients
    are in the order c, a₁, a₂, …, b₁, b₂, …
    """

    @property
    def rates(self) -> Array:
        """The angular frequencies k ω."""
        rates: Array = 2 * np.pi / self.duration * np.arange(1.0, self.count + 1)
        return rates

    @property
    def constant(self) -> Array:
        return np.array([1.0] + [0.0] * (2 * self.count))

    @property
    def scale(self) -> Array:
        return np.array([1.0, *(1 / self.rates), *(1 / self.rates)])

    def basis(self, t: Array) -> tuple[Array, Array, Array]:
        w = self.rates
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        one = np.ones((len(t), 1))
        return (
            np.hstack([one, s, c]),
            np.hstack([0 * one, w * c, -w * s]),
            np.hstack([0 * one, -(w**2) * s, -(w**2) * c]),
        )


@dataclass(frozen=True)
class Splines(Path):
    """A B-spline of degree 5 with equidistant knots; coefficients are its control points.

    The first three points are equal, and so are the last three: the joint is at rest there.
    """

    @property
    def constant(self) -> Array:
        return np.ones(self.count + 4)

    @property
    def scale(self) -> Array:
        return self.constant

    def basis(self, t: Array) -> tuple[Array, Array, Array]:
        from scipy.interpolate import BSpline  # which takes as long to load as all of armlet

        inner = np.linspace(0, self.duration, self.count + 5 - DEGREE)
        knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, self.duration)])
        spline = BSpline(knots, np.eye(self.count + 4), DEGREE)
        values, first, second = (spline(t, nu=k) for k in range(3))
        return values, first, second

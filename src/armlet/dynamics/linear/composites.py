"""How the composite bodies of an arm move: what the linearised models are made of."""

from typing import NamedTuple

import numpy as np

from armlet.algebra import IDENTITY, cross, euler, outer, skew, trace_of
from armlet.dynamics.parallel_axes import ParallelAxes
from armlet.dynamics.recursions import Turning, augmented_bodies
from armlet.robot import BASE, Displacement, RobotModel, Screw, with_base
from armlet.scalar import Matrix, Scalar, Vector, is_zero


class Composite(NamedTuple):
    """Body i and all it carries, about its origin and in its axes; rates are in fixed axes.

    A mass beyond a revolute joint is lumped at the joint's origin, as in Algorithm 5.7, so m̂ is
    the mass on prismatic joints alone. Rates occur doubled only: a prime is twice a rate, c' = 2 ċ,
    which is linear in ω' = 2 ω as ċ is in ω, so that nothing else has to be doubled.
    """

    m: Scalar
    """m̂, the mass."""
    c: Vector
    """ĉ, the first moment (U in the book)."""
    J: Matrix
    """Ĵ, the inertia (E in the book)."""
    c_prime: Vector
    """c' = 2 ċ."""
    L_prime: Matrix
    """L' = 2 L, L = N - tr(N) 1 with N = ∫ ṙ rᵀ dm, where r and ṙ are relative to the origin."""
    f: Vector
    """The force that moves it."""
    t: Vector
    """The moment of that force about the origin (η in the book)."""


def composites(
    robot: RobotModel, X: ParallelAxes, qd: Vector, turns: list[Turning], a: list[Vector]
) -> list[Composite]:
    """The composite bodies and their rates, by recursion from the tips.

    With ω, ω̇ and Ω of `turnings`, a of `accelerations`, u and K the first moment and the inertia of
    the augmented body, s the origin of body i in its parent p and ṡ = ωₚ × s + v q̇ᵢ its rate:

        (m̂, ĉ, Ĵ)ₚ = (m, u, K)ₚ + Σ ᵖXᵢ (m̂, ĉ, Ĵ)ᵢ
        ċₚ = ωₚ × uₚ + Σ ċᵢ + m̂ᵢ ṡ
        Nₚ = ω̃ₚ euler(Kₚ) + Σ Nᵢ + ċᵢ sᵀ + ṡ (ĉᵢ + m̂ᵢ s)ᵀ,    both with ω' for ω: c' and N'
        fₚ = Ωₚ uₚ + mₚ aₚ + Σ fᵢ
        tₚ = Kₚ ω̇ₚ + ωₚ × Kₚ ωₚ + uₚ × aₚ + Σ tᵢ + s × fᵢ

    Balafoutis and Patel 1991, Algorithm 5.7 and (7.3.18a)-(7.3.18d), whose L is N - tr(N) 1.
    """
    n = robot.n
    m, c, J = map(with_base, zip(*augmented_bodies(robot), strict=True))
    w_prime = [2 * turn.w for turn in turns]
    c_prime = with_base([cross(w_prime[i], c[i]) for i in range(n)])
    N_prime = with_base([skew(w_prime[i]) @ euler(J[i]) for i in range(n)])
    f = with_base([turns[i].Omega @ c[i] + m[i] * a[i] for i in range(n)])
    t = with_base([turns[i].moment(J[i]) + cross(c[i], a[i]) for i in range(n)])
    for i, p in robot.tips_to_base():
        h_prime = robot.slides[i] * (2 * qd[i])
        f_p, t_p = X[i].wrench(f[i], t[i])
        c_prime_p, N_prime_p = rates(X[i], w_prime[p], h_prime, m[i], c[i], c_prime[i], N_prime[i])
        m_p, c_p, J_p = X[i].body(m[i], c[i], J[i])
        m[p], c[p], J[p] = m[p] + m_p, c[p] + c_p, J[p] + J_p
        c_prime[p], N_prime[p] = c_prime[p] + c_prime_p, N_prime[p] + N_prime_p
        f[p], t[p] = f[p] + f_p, t[p] + t_p
    L_prime = [N - trace_of(N) * IDENTITY for N in N_prime]
    lists = zip(m, c, J, c_prime, L_prime, f, t, strict=True)
    return [Composite(*body) for body in lists][:BASE]


def rates(
    X: Displacement, w: Vector, hd: Scalar, m: Scalar, c: Vector, cd: Vector, N: Matrix
) -> tuple[Vector, Matrix]:
    """ċ and N from the body's frame to the parent's, which turns with ω; ḣ is the joint's slide.

    Screw by screw, the turn first: a slide h along axis e, s = h e, then goes at ṡ = ω × s + ḣ e.
    """
    turning = [w]
    for screw in X[:-1]:
        turning.append(screw.inverse().vector(turning[-1]))
    slides = [0] * (len(X) - 1) + [hd]
    for screw, w_o, hd_o in reversed([*zip(X, turning, slides, strict=True)]):
        e = IDENTITY[screw.k]
        s, sd = screw.h * e, cross(w_o, screw.h * e) + hd_o * e
        c, cd, N = screw.vector(c) + m * s, screw.vector(cd), turned(screw, N)
        N = N + outer(cd, s) + outer(sd, c)
        cd = cd + m * sd
    return cd, N


def turned(screw: Screw, N: Matrix) -> Matrix:
    """A tensor with nine entries, seen from the frame a screw leads to: 12M 11A, or a swap."""
    k, cos, sin, _ = screw
    i, j = screw.others
    ii, ij, ji, jj = N[i, i], N[i, j], N[j, i], N[j, j]
    if is_zero(cos):
        ii, ij, ji, jj = jj, -ji, -ij, ii
    elif not is_zero(sin):
        a = cos * (ii - jj) - sin * (ij + ji)
        ii, ij, ji, jj = jj + cos * a, ij + sin * a, ji + sin * a, ii - cos * a
    new = np.array(N, dtype=object)
    new[i, i], new[i, j], new[j, i], new[j, j] = ii, ij, ji, jj
    new[:, k], new[k, :] = screw.vector(N[:, k]), screw.vector(N[k, :])
    return new

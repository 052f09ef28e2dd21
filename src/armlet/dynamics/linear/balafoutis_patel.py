"""Linearised models by Balafoutis and Patel: Algorithm 7.1 and the closed forms behind it.

Both differentiate the wrench (f, t) that moves composite body i: body i and all bodies beyond, with
mass m̂, first moment ĉ and inertia Ĵ, all about the origin and in the axes of body i. The body's
angular velocity is ω, the origin's acceleration is a, and Ω = ω̇~ + ω̃ ω̃. Joint i has the unit twist
(w, v), with the rates ẇ = ω × w, v̇ = ω × v, ẅ = Ω w and v̈ = Ω v + a × w. A prime is twice a rate:
w' = 2 ẇ, v' = 2 v̇, c' = 2 ċ with the rate ċ of ĉ, and L' = 2 L with the matrix L of `Composite`.
The derivatives of f and t with respect to q̈ᵢ, q̇ᵢ and qᵢ are

    q̈ᵢ:  m̂ v + w × ĉ                            Ĵ w + ĉ × v
    q̇ᵢ:  m̂ v' + w' × ĉ + w × c'                  Ĵ w' + ĉ × v' - L' w
    qᵢ:  m̂ v̈ + ẅ × ĉ + ẇ × c' + w × f            Ĵ ẅ + ĉ × v̈ - L' ẇ + w × t + v × f

Balafoutis and Patel treat revolute joints of serial arms and write U, E and U̇ for ĉ, Ĵ and ċ. The
code also holds for prismatic joints and trees.
"""

from typing import NamedTuple

import numpy as np

from armlet.algebra import IDENTITY, cross, euler, outer, skew, trace_of
from armlet.dynamics.formulation import describe
from armlet.dynamics.parallel_axes import CarriedWrench, ParallelAxes, parallel_axes
from armlet.dynamics.recursions import AngularMotion, Pair, accelerations, angular_motions
from armlet.minimal.lumping import augment
from armlet.robot import BASE, Displacement, RobotModel, with_base
from armlet.scalar import Matrix, Scalar, Vector

Triple = tuple[Matrix, Matrix, Matrix]
Derivatives = tuple[Pair, Pair, Pair, Vector]
"""Derivatives of the wrench of composite body i with respect to q̈ᵢ, q̇ᵢ and qᵢ, as pairs (f, t), and
the vector C' = L'ᵀ w + v × c'. The symbols are those of the module's docstring."""


class Composite(NamedTuple):
    """Composite body i about the origin of body i, in body axes; rates are relative to fixed axes.

    A mass beyond a revolute joint is lumped at the joint's origin, as in Algorithm 5.7, so m̂ counts
    only the mass on prismatic joints. Rates are stored doubled: a prime is twice a rate.
    """

    m: Scalar
    """m̂, the mass."""
    c: Vector
    """ĉ, the first moment (U in Balafoutis and Patel 1991)."""
    J: Matrix
    """Ĵ, the inertia (E in Balafoutis and Patel 1991)."""
    c_prime: Vector
    """c' = 2 ċ."""
    L_prime: Matrix
    """L' = 2 L, L = N - tr(N) 1 with N = ∫ ṙ rᵀ dm, where r and ṙ are relative to the origin."""
    f: Vector
    """The force that moves the composite body."""
    t: Vector
    """The moment about the origin that moves the body (η in Balafoutis and Patel 1991)."""


def composites(
    robot: RobotModel, X: ParallelAxes, qd: Vector, motions: list[AngularMotion], a: list[Vector]
) -> list[Composite]:
    """The composite bodies and their rates, by recursion from the tips.

    ω, ω̇ and Ω are those of `angular_motions`, a is that of `accelerations`, and m, u and K are the
    mass, first moment and inertia of the augmented body. The origin of body i is at s in its parent
    p and moves with ṡ = ωₚ × s + v q̇ᵢ. The sums are over the children i of body p:

        (m̂, ĉ, Ĵ)ₚ = (m, u, K)ₚ + Σ ᵖXᵢ (m̂, ĉ, Ĵ)ᵢ
        ċₚ = ωₚ × uₚ + Σ (ċᵢ + m̂ᵢ ṡ)
        Nₚ = ω̃ₚ euler(Kₚ) + Σ (Nᵢ + ċᵢ sᵀ + ṡ (ĉᵢ + m̂ᵢ s)ᵀ)
        fₚ = Ωₚ uₚ + mₚ aₚ + Σ fᵢ
        tₚ = Kₚ ω̇ₚ + ωₚ × Kₚ ωₚ + uₚ × aₚ + Σ (tᵢ + s × fᵢ)

    The code computes c' = 2 ċ and N' = 2 N, by the same formulas with 2 ω and 2 q̇ for ω and q̇. See
    Balafoutis and Patel 1991, Algorithm 5.7 and (7.3.18a)-(7.3.18d). L is N - tr(N) 1.
    """
    n = robot.nb
    m, c, J = map(with_base, zip(*augment(robot).bodies, strict=True))
    w_prime = [2 * motion.w for motion in motions]
    c_prime = with_base([cross(w_prime[i], c[i]) for i in range(n)])
    N_prime = with_base([skew(w_prime[i]) @ euler(J[i]) for i in range(n)])
    f = with_base([motions[i].Omega @ c[i] + m[i] * a[i] for i in range(n)])
    t = with_base([motions[i].moment(J[i]) + cross(c[i], a[i]) for i in range(n)])
    for i, p in robot.tips_to_base():
        h_prime = robot.unit_twists[i].translates * (2 * qd[i])
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
    """Transform ċ and N to the parent's frame, which rotates with ω; ḣ is a prismatic joint's rate.

    For each screw of X, the rotation is applied first. The translation s = h e along axis e follows
    and has the rate ṡ = ω × s + ḣ e.
    """
    rates = [w]
    for screw in X[:-1]:
        rates.append(screw.inverse().vector(rates[-1]))
    speeds = [0] * (len(X) - 1) + [hd]
    for screw, w_o, hd_o in reversed([*zip(X, rates, speeds, strict=True)]):
        e = IDENTITY[screw.k]
        s, sd = screw.h * e, cross(w_o, screw.h * e) + hd_o * e
        c, cd, N = screw.vector(c) + m * s, screw.vector(cd), screw.general_tensor(N)
        N = N + outer(cd, s) + outer(sd, c)
        cd = cd + m * sd
    return cd, N


class Axis(NamedTuple):
    """The unit twist of a joint and its rates; a prime is twice a rate."""

    w: Vector
    v: Vector
    wd: Vector
    w_prime: Vector
    v_prime: Vector
    wdd: Vector
    vdd: Vector

    def along(self, f: Vector, t: Vector) -> Scalar:
        """The torque of this joint if it carries the wrench (f, t)."""
        return self.w @ t + self.v @ f

    def moves(self, f: Vector, t: Vector, C_prime: Vector) -> tuple[Scalar, Scalar, Scalar]:
        """The derivatives of an outer joint's torque with respect to q̈, q̇ and q of this joint.

        C' and the derivative (f, t) with respect to q̈ are those of the outer body's `Derivatives`.
        """
        by_qd = self.w_prime @ t + self.v_prime @ f - self.w @ C_prime
        return self.along(f, t), by_qd, self.wdd @ t + self.vdd @ f - self.wd @ C_prime

    def outward(self, X: Displacement, s_prime: Vector) -> "Axis":
        """This `Axis`, transformed to the frame of a child with displacement X."""
        inward = X.inverse()
        w, v = inward.wrench(self.w, self.v)
        w_prime, v_prime = inward.wrench(self.w_prime, self.v_prime + cross(self.w, s_prime))
        wdd, vdd = inward.wrench(self.wdd, self.vdd + cross(self.wd, s_prime))
        return Axis(w, v, w_prime / 2, w_prime, v_prime, wdd, vdd)


def start(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector
) -> tuple[ParallelAxes, Vector, list[Axis], list[Derivatives], list[Vector]]:
    """Return displacements X, torques τ, each joint's `Axis`, each body's `Derivatives`, and s'.

    s' = 2 ṡ is in the parent's axes, where s leads from the parent's origin to the body's origin.
    """
    X = parallel_axes(robot, q)
    motions = angular_motions(robot, X, qd, qdd)
    a = accelerations(robot, X, motions, qd, qdd)
    bodies = composites(robot, X, qd, motions, a)
    axes, s_prime = [], []
    for i, p in robot.base_to_tips():
        w, v = robot.unit_twists[i]
        w_i, _, Omega, _ = motions[i]
        w2, vdd = 2 * w_i, Omega @ v + cross(a[i], w)
        axes.append(Axis(w, v, cross(w_i, w), cross(w2, w), cross(w2, v), Omega @ w, vdd))
        s_prime.append(cross(2 * motions[p].w, X[i].origin()) + X[i].vector(v * (2 * qd[i])))
    tau = [axis.along(body.f, body.t) for axis, body in zip(axes, bodies, strict=True)]
    return X, np.array(tau), axes, [*map(derivatives, axes, bodies)], s_prime


def derivatives(axis: Axis, body: Composite) -> Derivatives:
    m, c, J, c_prime, L_prime, f, t = body
    w, v, wd, w_prime, v_prime, wdd, vdd = axis
    return (
        (m * v + cross(w, c), J @ w + cross(c, v)),
        (
            m * v_prime + cross(w_prime, c) + cross(w, c_prime),
            J @ w_prime + cross(c, v_prime) - L_prime @ w,
        ),
        (
            m * vdd + cross(wdd, c) + cross(wd, c_prime) + cross(w, f),
            J @ wdd + cross(c, vdd) - L_prime @ wd + cross(w, t) + cross(v, f),
        ),
        L_prime.T @ w + cross(v, c_prime),
    )


def by_recursion(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> tuple[Matrix, ...]:
    """τ, H, V and P, by transforming the derivatives of each body's wrench towards the base."""
    X, tau, axes, derivatives, s_prime = start(robot, q, qd, qdd)
    H, V, P = np.zeros((3, robot.nv, robot.nv), dtype=object)
    for i, (by_qdd, own_by_qd, own_by_q, C_prime) in enumerate(derivatives):
        by_qd, by_q = CarriedWrench(*own_by_qd), CarriedWrench(*own_by_q)
        for j in reversed(robot.path(i)):
            V[j, i], P[j, i] = (axes[j].along(by.f, by.t) for by in (by_qd, by_q))
            H[i, j], V[i, j], P[i, j] = axes[j].moves(*by_qdd, C_prime)
            H[j, i] = H[i, j]
            by_qdd, by_qd, by_q = X[j].wrench(*by_qdd), X.wrench(j, by_qd), X.wrench(j, by_q)
            C_prime = X[j].vector(C_prime) - cross(s_prime[j], by_qdd[0])
    return tau, H, V, P


def by_entries(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> tuple[Matrix, ...]:
    """τ, H, V and P, by transforming the unit twist of each joint outwards to all bodies beyond."""
    X, tau, axes, derivatives, s_prime = start(robot, q, qd, qdd)
    H, V, P = np.zeros((3, robot.nv, robot.nv), dtype=object)
    for j in range(robot.nb):
        seen: dict[int, Axis] = {}
        for i, p in robot.base_to_tips():
            if i == j or p in seen:
                axis = seen[i] = axes[j] if i == j else seen[p].outward(X[i], s_prime[i])
                by_qdd, by_qd, by_q, C_prime = derivatives[i]
                V[j, i], P[j, i] = axis.along(*by_qd), axis.along(*by_q)
                H[i, j], V[i, j], P[i, j] = axis.moves(*by_qdd, C_prime)
                H[j, i] = H[i, j]
    return tau, H, V, P


@describe(
    "linearization",
    source="Balafoutis and Patel 1991, Algorithm 7.1, on trees and with prismatic joints",
    growth="n^2",
    starting_from={"inverse dynamics": by_recursion},
    contends=True,
)
def balafoutis_patel_71(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> Triple:
    """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q, by Algorithm 7.1 of Balafoutis and Patel 1991.

    Let (f, t) be the derivative of the wrench of composite body i with respect to q̈ᵢ, q̇ᵢ or qᵢ; the
    module's docstring gives formulas. (f, t) is transformed towards the base like a wrench. At each
    joint j on the way, of unit twist (w, v), this derivative gives an entry of column i:

        Hⱼᵢ, Vⱼᵢ, Pⱼᵢ = w · t + v · f

    Dots are rates relative to fixed axes, and a prime is twice a rate: w' = 2 ẇ, v' = 2 v̇. With the
    derivative (f, t) with respect to q̈ᵢ and the vector C' of `Derivatives`, row i is (7.3.19)

        Vᵢⱼ = w' · t + v' · f - C' · w,   Pᵢⱼ = ẅ · t + v̈ · f - C' · ẇ

    At each step to a parent, C' is rotated to the parent's axes and s' × f is subtracted. s' = 2 ṡ
    is twice the velocity of the body's origin relative to the parent's origin.
    """
    _, H, V, P = by_recursion(robot, q, qd, qdd)
    return H, V, P


@describe(
    "linearization",
    source="Balafoutis and Patel 1991, (7.3.2)-(7.3.4), on trees and with prismatic joints",
    growth="n^2",
    starting_from={"inverse dynamics": by_entries},
    contends=True,
)
def closed_forms(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> Triple:
    """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q, entry by entry: (7.3.2)-(7.3.4) of Balafoutis, Patel 1991.

    As in `balafoutis_patel_71`, the derivatives of composite body i and the unit twist (w, v) of
    joint j give the entries ij and ji. Here the twist and its rates are transformed outwards to
    body i. A dot is a rate relative to fixed axes, a prime twice a rate. From a body to its child,
    whose origin is at s, the linear components change by

        v += w × s,   v' += w' × s + w × s',   v̈ += ẅ × s + ẇ × s'
    """
    _, H, V, P = by_entries(robot, q, qd, qdd)
    return H, V, P

"""Linearised models by Balafoutis and Patel: Algorithm 7.1 and the closed forms behind it.

Both slope the wrench (f, t) that moves composite body i, about its origin and in its axes, by its
own joint, with twist (w, v), its rates ẇ = ω × w, v̇ = ω × v, ẅ = Ω w, v̈ = Ω v + a × w, and the
composite's m̂, ĉ, Ĵ, ċ and L (U, E, U̇ and L in the book):

    by q̈ᵢ:  m̂ v + w × ĉ                            Ĵ w + ĉ × v
    by q̇ᵢ:  2 (m̂ v̇ + ẇ × ĉ + w × ċ)                2 (Ĵ ẇ + ĉ × v̇ - L w)
    by qᵢ:  m̂ v̈ + ẅ × ĉ + 2 ẇ × ċ + w × f          Ĵ ẅ + ĉ × v̈ - 2 L ẇ + w × t + v × f

The book has turning joints of serial arms; with the twist they slide, too, and branch.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from armlet.algebra import cross
from armlet.dynamics.linear.composites import Composite, composites
from armlet.dynamics.motion import accelerations, turnings
from armlet.dynamics.runs import Borne, Runs, parallel_runs
from armlet.robot import Displacement, Robot
from armlet.scalar import Matrix, Scalar, Vector

Triple = tuple[Matrix, Matrix, Matrix]
Wrench = tuple[Vector, Vector]


class Axis(NamedTuple):
    """The unit twist of a joint and its rates; the first rates doubled, as they mostly occur."""

    w: Vector
    v: Vector
    wd: Vector
    wd2: Vector
    vd2: Vector
    wdd: Vector
    vdd: Vector

    def bears(self, f: Vector, t: Vector) -> Scalar:
        """What a wrench asks of the joint."""
        return self.w @ t + self.v @ f

    def moves(self, f: Vector, t: Vector, C2: Vector) -> tuple[Scalar, Scalar, Scalar]:
        """What the joint's q̈, q̇ and q ask of a joint i further out, by its (f, t) and its 2 C."""
        by_qd = self.wd2 @ t + self.vd2 @ f - self.w @ C2
        return self.bears(f, t), by_qd, self.wdd @ t + self.vdd @ f - self.wd @ C2

    def outward(self, X: Displacement, sd2: Vector) -> "Axis":
        """The same, about the origin and in the axes of a child, which is displaced by X."""
        inward = X.inverse()
        w, v = inward.wrench(self.w, self.v)
        wd2, vd2 = inward.wrench(self.wd2, self.vd2 + cross(self.w, sd2))
        wdd, vdd = inward.wrench(self.wdd, self.vdd + cross(self.wd, sd2))
        return Axis(w, v, wd2 / 2, wd2, vd2, wdd, vdd)


class Slopes(NamedTuple):
    """The slopes of the wrench of a composite body by its own joint, and what its row needs."""

    by_qdd: Wrench
    by_qd: Wrench
    by_q: Wrench
    C2: Vector
    """2 C, C = Lᵀ w + v × ċ."""


class State(NamedTuple):
    """What both ways begin with, a list each."""

    X: list[Displacement]
    runs: Runs
    bodies: list[Composite]
    axes: list[Axis]
    slopes: list[Slopes]
    sd2: list[Vector]
    """2 ṡ, the rate at which the origin leaves the parent's, in the parent's axes."""


def balafoutis_patel_71(robot: Robot, q: Vector, qd: Vector, qdd: Vector) -> Triple:
    """H, V, P = ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q, by Algorithm 7.1 of Balafoutis and Patel 1991.

    Body i's slopes are carried towards the base, body by body: as wrenches all three, and
    C = Lᵀ w + v × ċ by C -= ṡ × f, where f is that by q̈ᵢ. At joint j with twist (w, v) they give
    column i above the diagonal and, by the wrench by q̈ᵢ and by C, row i before it (7.3.19):

        Hⱼᵢ, Vⱼᵢ, Pⱼᵢ = w · t + v · f of the slopes by q̈ᵢ, q̇ᵢ, qᵢ
        Vᵢⱼ = 2 (ẇ · t + v̇ · f - C · w)
        Pᵢⱼ = ẅ · t + v̈ · f - 2 C · ẇ

    In a run of parallel axes, what the slopes by q̇ᵢ and qᵢ have across them goes straight to the
    body that the run starts on: the joints of the run do not feel it.
    """
    return by_recursion(robot, start(robot, q, qd, qdd))


def closed_forms(robot: Robot, q: Vector, qd: Vector, qdd: Vector) -> Triple:
    """The same without a recursion, entry by entry: (7.3.2)-(7.3.4) of Balafoutis and Patel 1991.

    The twist of joint j and its rates are seen from the origin of body i, further out by s, in
    its axes, where the slopes of body i make the entries ij and ji:

        v + w × s,  v̇ + ẇ × s + w × ṡ,  v̈ + ẅ × s + 2 ẇ × ṡ
    """
    return by_entries(robot, start(robot, q, qd, qdd))


def with_torques(
    triple: Callable[[Robot, State], Triple],
) -> Callable[..., tuple[Vector, Matrix, Matrix, Matrix]]:
    """The function that gives τ too: the published counts are on top of Algorithm 5.7."""

    def together(
        robot: Robot, q: Vector, qd: Vector, qdd: Vector
    ) -> tuple[Vector, Matrix, Matrix, Matrix]:
        state = start(robot, q, qd, qdd)
        tau = [
            axis.bears(body.f, body.t) + rotor * acceleration
            for axis, body, rotor, acceleration in zip(
                state.axes, state.bodies, robot.rotor_inertia, qdd, strict=True
            )
        ]
        return np.array(tau), *triple(robot, state)

    return together


def start(robot: Robot, q: Vector, qd: Vector, qdd: Vector) -> State:
    """The composite bodies, the axes with their rates, and the slopes by each body's own joint."""
    X = robot.displacements(q)
    runs = parallel_runs(robot, q)
    turns = turnings(robot, runs, qd, qdd)
    a = accelerations(robot, X, turns, qd, qdd)
    bodies = composites(robot, X, qd, turns, a)
    axes, sd2 = [], []
    for i, p in robot.base_to_tips():
        w, v = robot.axis[i]
        w_i, _, Omega, _ = turns[i]
        w2, vdd = 2 * w_i, Omega @ v + cross(a[i], w)
        axes.append(Axis(w, v, cross(w_i, w), cross(w2, w), cross(w2, v), Omega @ w, vdd))
        sd2.append(cross(2 * turns[p].w, X[i].origin()) + X[i].vector(v * (2 * qd[i])))
    return State(X, runs, bodies, axes, [*map(slopes, axes, bodies)], sd2)


def slopes(axis: Axis, body: Composite) -> Slopes:
    m, c, J, cd2, L2, f, t = body
    w, v, wd, wd2, vd2, wdd, vdd = axis
    return Slopes(
        (m * v + cross(w, c), J @ w + cross(c, v)),
        (m * vd2 + cross(wd2, c) + cross(w, cd2), J @ wd2 + cross(c, vd2) - L2 @ w),
        (
            m * vdd + cross(wdd, c) + cross(wd, cd2) + cross(w, f),
            J @ wdd + cross(c, vdd) - L2 @ wd + cross(w, t) + cross(v, f),
        ),
        L2.T @ w + cross(v, cd2),
    )


def diagonals(robot: Robot, state: State) -> Triple:
    """H, V and P with their diagonals filled in."""
    H, V, P = np.zeros((3, robot.n, robot.n), dtype=object)
    for i, (axis, own) in enumerate(zip(state.axes, state.slopes, strict=True)):
        H[i, i], V[i, i], P[i, i] = axis.moves(*own.by_qdd, own.C2)
        H[i, i] = H[i, i] + robot.rotor_inertia[i]
    return H, V, P


def by_recursion(robot: Robot, state: State) -> Triple:
    X, runs, axes = state.X, state.runs, state.axes
    H, V, P = diagonals(robot, state)
    for i, own in enumerate(state.slopes):
        by_qdd, C2 = own.by_qdd, own.C2
        by_qd, by_q = Borne(*own.by_qd), Borne(*own.by_q)
        for k, j in robot.path_to_base(i):
            by_qdd = X[k].wrench(*by_qdd)
            by_qd, by_q = (runs.carried(robot, X, k, slope) for slope in (by_qd, by_q))
            C2 = X[k].vector(C2) - cross(state.sd2[k], by_qdd[0])
            H[i, j], V[i, j], P[i, j] = axes[j].moves(*by_qdd, C2)
            H[j, i] = H[i, j]
            V[j, i], P[j, i] = (axes[j].bears(slope.f, slope.t) for slope in (by_qd, by_q))
    return H, V, P


def by_entries(robot: Robot, state: State) -> Triple:
    H, V, P = diagonals(robot, state)
    for j in range(robot.n):
        seen = {j: state.axes[j]}
        for i, p in robot.base_to_tips():
            if p in seen:
                axis = seen[i] = seen[p].outward(state.X[i], state.sd2[i])
                by_qdd, by_qd, by_q, C2 = state.slopes[i]
                H[i, j], V[i, j], P[i, j] = axis.moves(*by_qdd, C2)
                H[j, i], V[j, i], P[j, i] = H[i, j], axis.bears(*by_qd), axis.bears(*by_q)
    return H, V, P

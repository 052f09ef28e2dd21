"""The inertia matrix by Lin and Fang: five formulations from composite bodies.

Composite body i is body i with all bodies it carries. It has mass m̂ᵢ, first moment ĉᵢ and inertia
Ĵᵢ about the origin and in the axes of frame i. A unit acceleration of joint i alone, with the unit
twist (w, v), needs the force fᵢ and, about this origin, the moment tᵢ:

    fᵢ = w × ĉᵢ + m̂ᵢ v,    tᵢ = Ĵᵢ w + ĉᵢ × v                            (7), (8)

Entry (j, i) of H, for j between i and the base, is the projection of (fᵢ, tᵢ) on the unit twist of
joint j. The formulations differ in the axes used for this projection (Lin and Fang 1999).
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from armlet.algebra import IDENTITY, ZERO, cross, vector
from armlet.dynamics.formulation import describe, entry_of
from armlet.dynamics.recursions import Pair, columns, composite_masses, composites, unit_wrenches
from armlet.robot import Body, Displacement, RobotModel, with_base
from armlet.scalar import Matrix, Vector

FromComposites = Callable[[RobotModel, Vector, Sequence[Body]], Matrix]
"""A formulation that takes (m̂, ĉ, Ĵ) of each composite body as its last argument."""


def from_composites(source: str, **declared: Any) -> Callable[[FromComposites], FromComposites]:
    """Return a decorator, like `describe`, for functions with composite bodies as an argument."""

    def decorate(function: FromComposites) -> FromComposites:
        @wraps(function)
        def whole(robot: RobotModel, q: Vector) -> Matrix:
            return function(robot, q, composites(robot, q))

        on_hand = {"composite bodies": function}
        described = describe(
            "inertia_matrix", source=source, growth="n^2", starting_from=on_hand, **declared
        )(whole)
        vars(function)["entry"] = entry_of(described)
        return function

    return decorate


@from_composites("Lin and Fang 1999, Formulation 1, (7)-(11), on trees; Lilly and Orin 1991")
def lin_fang_1(robot: RobotModel, q: Vector, bodies: Sequence[Body]) -> Matrix:
    """Joint-space inertia matrix H(q) from composite bodies, projected in each joint's frame.

    The wrench (f, t) that composite body i needs for a unit acceleration of joint i is transformed
    from each body j to its parent p and projected on the unit twist (w, v) of joint p:

        (f, t)ₚ = ᵖXⱼ (f, t)ⱼ,    Hₚᵢ = w · tₚ + v · fₚ
    """
    twists = robot.unit_twists
    return columns(robot, robot.displacements(q), twists, unit_wrenches(twists, bodies))


@from_composites("Lin and Fang 1999, Formulation 2, (20), on trees")
def lin_fang_2(robot: RobotModel, q: Vector, bodies: Sequence[Body]) -> Matrix:
    """Joint-space inertia matrix H(q) from composite bodies, in the frame of the accelerated body.

    Composite body i needs the wrench (fᵢ, tᵢ) for a unit acceleration of joint i. The unit twist
    (w, v) of joint j and its origin r are transformed outwards to frame i:

        Hⱼᵢ = w · (tᵢ + fᵢ × r) + v · fᵢ

    The rotation of joint i about z does not change the z component of f × r, so this component is
    computed in the axes before that rotation. In (20), s stands for -r.
    """
    X, H = robot.displacements(q), np.zeros((robot.nv, robot.nv), dtype=object)
    seen: list[dict[int, tuple[Vector, Vector, Vector]]] = [{} for _ in range(robot.nb + 1)]
    for i, (f, t) in enumerate(unit_wrenches(robot.unit_twists, bodies)):
        mount, joint = robot._mounts[i].inverse(), X[i][-1].inverse()
        f_mount = X[i][-1].vector(f)
        for j, (w, v, r) in seen[robot.parent[i]].items():
            w, v = (joint.vector(mount.vector(axis)) for axis in (w, v))
            r_mount = mount.point(r)
            r = joint.point(r_mount)
            x, y, _ = cross(f, r)
            _, _, z = cross(f_mount, r_mount)
            H[j, i] = H[i, j] = w @ (t + vector(x, y, z)) + v @ f
            seen[i][j] = w, v, r
        w, v = robot.unit_twists[i]
        H[i, i] = w @ t + v @ f
        seen[i][i] = w, v, ZERO
    return H


@from_composites("Lin and Fang 1999, Formulation 3, (21), on trees; Renaud 1984")
def lin_fang_3(robot: RobotModel, q: Vector, bodies: Sequence[Body]) -> Matrix:
    """Joint-space inertia matrix H(q) from composite bodies, by the twists at unit joint speeds.

    At unit speed of joint j, frame i has the angular velocity wᵢ, and its origin has the velocity
    vᵢ. s leads from the origin of the parent p to that of frame i. Composite body i needs the
    wrench (fᵢ, tᵢ) for a unit acceleration of joint i:

        wᵢ = ⁱRₚ wₚ,    vᵢ = ⁱRₚ (vₚ + wₚ × s),    Hⱼᵢ = wᵢ · tᵢ + vᵢ · fᵢ

    The twist (w, v) is thus transformed like a wrench (f, t). In (21), ŝ stands for v.
    """
    X, H = robot.displacements(q), np.zeros((robot.nv, robot.nv), dtype=object)
    twists: list[dict[int, Pair]] = [{} for _ in range(robot.nb + 1)]
    for i, (f, t) in enumerate(unit_wrenches(robot.unit_twists, bodies)):
        before, outwards = twists[robot.parent[i]], X[i].inverse()
        twists[i] = {j: outwards.wrench(w, v) for j, (w, v) in before.items()}
        twists[i][i] = robot.unit_twists[i]
        for j, (w, v) in twists[i].items():
            H[j, i] = H[i, j] = w @ t + v @ f
    return H


@from_composites(
    "Lin and Fang 1999, Formulation 4, Table IV; Fijany and Bejczy 1990", topology="serial"
)
def lin_fang_4(robot: RobotModel, q: Vector, bodies: Sequence[Body]) -> Matrix:
    """Inertia matrix H(q) of a serial arm from composite bodies, in the frame n of the last body.

    The rotations ⁿRᵢ and the vectors s from the parent's origin to the body's are computed first,
    in frame n. The wrench (f, t) for column i is rotated to frame n once; on the way to the base,
    it needs no further rotation. From body j to its parent p:

        tₚ = tⱼ + sⱼ × f,    Hₚᵢ = ⁿRₚ w · tₚ + ⁿRₚ v · f
    """
    X, H = robot.displacements(q), np.zeros((robot.nv, robot.nv), dtype=object)
    R: list[Matrix] = [IDENTITY] * (robot.nb + 1)
    s: list[Vector] = [ZERO] * robot.nb
    for i, p in robot.tips_to_base():
        R[p] = np.array([X[i].vector(row) for row in R[i]])
        s[i] = R[p] @ robot._mounts[i].origin() + X[i][-1].h * R[i][:, 2]
    for i, (f, t) in enumerate(unit_wrenches(robot.unit_twists, bodies)):
        w, v = robot.unit_twists[i]
        H[i, i] = w @ t + v @ f
        f, t = R[i] @ f, R[i] @ t + cross(s[i], R[i] @ f)
        for j in reversed(robot.path(robot.parent[i])):
            w, v = robot.unit_twists[j]
            H[j, i] = H[i, j] = (R[j] @ w) @ t + (R[j] @ v) @ f
            t = t + cross(s[j], f)
    return H


@from_composites("Lin and Fang 1999, Formulation 5, Table V and (B1)-(B11)", topology="serial")
def lin_fang_5(robot: RobotModel, q: Vector, bodies: Sequence[Body]) -> Matrix:
    """Inertia matrix H(q) of a serial arm from first moments about the parents' origins.

    Composite body i adds hᵢ = ĉₚ - cₚ to the first moment of its parent p. In the axes of p, the
    composite body's first moment about origin i is hᵢ - m̂ᵢ s, with s from origin p to origin i.
    `from_parents` computes the entries.
    """
    X = robot.displacements(q)
    m_hat, moments, J_hat = zip(*bodies, strict=True)
    h, c_p = [ZERO] * robot.nb, [ZERO] * robot.nb
    c, c_hat = with_base(robot.c), with_base(moments)
    for i, p in robot.base_to_tips():
        h[i] = c_hat[p] - c[p]
        c_p[i] = c_hat[p] - (c[p] + m_hat[i] * X[i].origin())
    return from_parents(robot, X, h, c_p, J_hat)


@describe(
    "inertia_matrix",
    source="Kawasaki, Murata and Kanzaki 1996, as in Lin and Fang 1999, (B1)-(B11), on trees",
    growth="n^2",
)
def kawasaki(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), from first moments about the parents' origins.

    Composite body i has the first moment hᵢ about the origin of its parent p, in the parent's axes,
    and the inertia Ĵᵢ about the body's origin, in body axes. With s from origin p to origin i:

        hᵢ = ᵖRᵢ (cᵢ + Σ h of the children) + m̂ᵢ s                          (B1), (B3)
        Ĵₚ = Jₚ + Σ (ᵖRᵢ Ĵᵢ ᵖRᵢᵀ - s̃ h̃ᵢ - h̃ᵢ s̃ + m̂ᵢ s̃ s̃)                  (B2), (B4)

    The first moment about origin i, in the parent's axes, is hᵢ - m̂ᵢ s. `from_parents` computes the
    entries, (B5)-(B11). Algorithm II of the source uses minimal parameters: if joint i and all
    joints beyond are revolute, m̂ᵢ is zero and both first moments are hᵢ.
    """
    X, m_hat = robot.displacements(q), composite_masses(robot)
    c_hat, J_hat = with_base(robot.c), with_base(robot.J)
    h, c_p = [ZERO] * robot.nb, [ZERO] * robot.nb
    for i, p in robot.tips_to_base():
        _, h[i], dJ = X[i].body(m_hat[i], c_hat[i], J_hat[i])
        c_p[i] = h[i] - m_hat[i] * X[i].origin()
        c_hat[p], J_hat[p] = c_hat[p] + h[i], J_hat[p] + dJ
    return from_parents(robot, X, h, c_p, J_hat)


def from_parents(
    robot: RobotModel,
    X: Sequence[Displacement],
    h: Sequence[Vector],
    c_p: Sequence[Vector],
    J_hat: Sequence[Matrix],
) -> Matrix:
    """Compute H from first moments of composite bodies in their parents' axes.

    `h` is about the parent's origin, `c_p` (ĉᵢ below) about the body's origin, at s in parent p.
    The wrench for column i is first computed in frame p. (w, v) is the unit twist of joint i there:

        revolute joint    f = w × ĉᵢ,    t = ᵖRᵢ Ĵᵢ w + s × f
        prismatic joint   f = m̂ᵢ v,      t = hᵢ × v

    From frame p on, the wrench is transformed and projected as in `lin_fang_1`, (B5)-(B11).
    """
    m_hat, H = composite_masses(robot), np.zeros((robot.nv, robot.nv), dtype=object)
    for i, p in robot.base_to_tips():
        w, v = robot.unit_twists[i]
        k = J_hat[i] @ w
        H[i, i] = w @ k + m_hat[i] * robot.unit_twists[i].translates
        w, v = X[i].vector(w), X[i].vector(v)
        f = cross(w, c_p[i]) + m_hat[i] * v
        t = X[i].vector(k) + robot.unit_twists[i].rotates * cross(X[i].origin(), f) + cross(h[i], v)
        for j in reversed(robot.path(p)):
            w, v = robot.unit_twists[j]
            H[j, i] = H[i, j] = w @ t + v @ f
            f, t = X[j].wrench(f, t)
    return H

"""The inertia matrix by composite bodies."""

import numpy as np

from armlet.algebra import cross, mirror
from armlet.dynamics.runs import Borne, Runs, across, along, parallel_runs
from armlet.robot import Displacement, Robot
from armlet.scalar import Matrix, Scalar, Vector


def composite_bodies(robot: Robot, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by composite bodies.

    Body i and all it carries, frozen together, have mass m̂ᵢ and, about the origin of frame i and
    in its axes, first moment ĉᵢ and inertia Ĵᵢ; carried over to the parent p they add up:

        (m̂, ĉ, Ĵ)ₚ += ᵖXᵢ (m̂, ĉ, Ĵ)ᵢ

    Column i of H is what a unit acceleration of joint i alone, of axis (w, v), asks of joint i and
    of the joints between it and the base (Walker and Orin 1982, third method):

        fᵢ = m̂ᵢ v + w × ĉᵢ
        tᵢ = Ĵᵢ w + ĉᵢ × v

    In a run of parallel axes joints feel only Ĵzz and the part of t along the axes. These go from
    child to parent; the rest goes straight to the body that the run starts on.
    """
    X, runs = robot.displacements(q), parallel_runs(robot, q)
    m_hat, c_hat, J_hat, after = composites(robot, X, runs)
    H = np.array(np.diag(robot.rotor_inertia), dtype=object)
    for i, (w, v) in enumerate(robot.axis):
        f, t = m_hat[i] * v + cross(w, c_hat[i]), J_hat[i] @ w + cross(c_hat[i], v)
        H[i, i] = H[i, i] + w @ t + v @ f
        borne = Borne(f, t, after[i] @ w)
        if runs.has_others(i):
            borne = Borne(f, along(t), after[i] @ w + runs.turn[i].vector(across(t)))
        for j, p in robot.path_to_base(i):
            borne = runs.carried(robot, X, j, borne)
            w_p, v_p = robot.axis[p]
            H[p, i] = H[i, p] = w_p @ borne.t + v_p @ borne.f
    return H


def composites(
    robot: Robot, X: list[Displacement], runs: Runs
) -> tuple[list[Scalar], list[Vector], list[Matrix], list[Matrix]]:
    """m̂, ĉ and Ĵ of the composite bodies, without what Ĵ has of bodies after it in its run.

    That is the last, all but the Jzz of those bodies, in the axes of the run's mount.
    """
    m, c, J = list(robot.m), list(robot.c), list(robot.J)
    after = [mirror(*[0] * 6)] * robot.n
    for i, p in robot.tips_to_base():
        if runs.goes_on(i):
            J_along = mirror(0, 0, 0, 0, 0, J[i][2, 2])
            dm, dc, dJ = X[i].body(m[i], c[i], J_along)
            after[p] = after[p] + after[i] + runs.turn[i].tensor(J[i] - J_along)
        else:
            dm, dc, dJ = X[i].body(m[i], c[i], J[i])
            dJ = dJ + robot.mounts[i].tensor(after[i])
        m[p], c[p], J[p] = m[p] + dm, c[p] + dc, J[p] + dJ
    return m, c, J, after

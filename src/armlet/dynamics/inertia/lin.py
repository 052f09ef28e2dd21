"""The inertia matrix by Lin: composite bodies about one common reference point."""

from typing import NamedTuple

import numpy as np

from armlet.algebra import ZERO, cross, euler, outer, symmetric, upper_triangle, vector
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import central_inertias, centres, composite_masses
from armlet.robot import BASE, RobotModel, with_base
from armlet.scalar import Matrix, Vector


class BaseReference(NamedTuple):
    """Quantities that Lin's formulations of the inertia matrix and the bias share.

    Entry [j] is for body j, or for the composite body that joint j carries. Entry [j][m] is for
    joint m on the path from the base to body j, which includes joint j. All vectors are in the axes
    of body j. Moments are about the reference point: the origin of the first body on that path.
    """

    z: list[dict[int, Vector]]
    """The axis of joint m."""
    s_hat: list[dict[int, Vector]]
    """ŝ = z × s if joint m is revolute, with s from the reference point to origin m; else zero."""
    p_hat: list[Vector]
    """The first moment of composite body j."""
    J_bar: list[Matrix]
    """J̄ = J - ½ tr(J) 1, with the inertia J of composite body j: the negative Euler tensor."""
    e: list[Vector]
    """The force on composite body j for a unit acceleration of joint j."""
    a: list[Vector]
    """The moment on composite body j for a unit acceleration of joint j."""


@describe(
    "inertia_matrix",
    source="Lin 1991, (12), (24)-(30), (62)-(65), on trees",
    growth="n^2",
    minimal=False,
)
def lin(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by composite bodies about one common reference point.

    A unit acceleration of joint j alone needs the force e and the moment a on composite body j. All
    moments are about one reference point, so that only rotations are needed between frames. In
    frame j, z is the axis of joint m, s leads from the reference point to the origin of frame m,
    and ŝ = z × s (65):

        joint m revolute   Hₘⱼ = z · aⱼ - ŝ · eⱼ
        joint m prismatic  Hₘⱼ = z · eⱼ

    `base_reference` computes e and a by recursion.
    """
    reference, H = base_reference(robot, q), np.zeros((robot.nv, robot.nv), dtype=object)
    for j in range(robot.nb):
        e, a = reference.e[j], reference.a[j]
        for m, z in reference.z[j].items():
            joint = robot.unit_twists[m]
            along = z @ (joint.rotates * a + joint.translates * e)
            H[m, j] = H[j, m] = along - reference.s_hat[j][m] @ e
    return H


def base_reference(robot: RobotModel, q: Vector) -> BaseReference:
    """Compute the quantities that Lin's formulations share, in body axes.

    Outwards, r leads from the origin of the parent p to origin j; com is the mass centre (24)-(27):

        zₘ = ʲRₚ zₘ            zⱼ = (0, 0, 1)
        ŝₘ = ʲRₚ ŝₘ            ŝⱼ = zⱼ × sⱼ, where joint j is revolute
        sⱼ = ʲRₚ (sₚ + r)      pⱼ = sⱼ + comⱼ

    Inwards, i are the children of j, I is the central inertia, Ĩ = I - ½ tr(I) 1 (19), (29), (30):

        p̂ⱼ = mⱼ pⱼ + Σ ʲRᵢ p̂ᵢ
        J̄ⱼ = Ĩⱼ - mⱼ pⱼ pⱼᵀ + Σ ʲRᵢ J̄ᵢ ʲRᵢᵀ

    The inertia about the reference point is J̄ - tr(J̄) 1, which gives (62), (63):

        revolute  eⱼ = z × p̂ⱼ - m̂ⱼ ŝⱼ,    aⱼ = (J̄xz, J̄yz, -J̄xx - J̄yy) + ŝⱼ × p̂ⱼ
        prismatic eⱼ = m̂ⱼ z,              aⱼ = p̂ⱼ × z

    The reference point of Lin 1991 is the origin of the base. Here it is the origin of the first
    body on the path, so that s of this body is zero whatever its DH parameters.
    """
    n, X, m_hat = robot.nb, robot.displacements(q), composite_masses(robot)
    com, I = centres(robot), central_inertias(robot)
    z: list[dict[int, Vector]] = [{} for _ in range(n + 1)]
    s_hat: list[dict[int, Vector]] = [{} for _ in range(n + 1)]
    s, p_hat = [ZERO] * n, [ZERO] * (n + 1)
    J_bar = with_base([-euler(inertia) for inertia in I])
    for j, p in robot.base_to_tips():
        outwards = X[j].inverse()
        w, v = robot.unit_twists[j]
        if p != BASE:
            s[j] = -outwards.point(-s[p])
        z[j] = {m: outwards.vector(axis) for m, axis in z[p].items()}
        s_hat[j] = {m: outwards.vector(moment) for m, moment in s_hat[p].items()}
        z[j][j], s_hat[j][j] = w + v, cross(w, s[j])
        p_j = s[j] + com[j]
        p_hat[j] = robot.m[j] * p_j
        J_bar[j] = J_bar[j] - symmetric(*upper_triangle(outer(p_hat[j], p_j)))
    for i, p in robot.tips_to_base():
        p_hat[p] = p_hat[p] + X[i].vector(p_hat[i])
        J_bar[p] = J_bar[p] + X[i].tensor(J_bar[i])

    e, a = [ZERO] * n, [ZERO] * n
    for j, (w, v) in enumerate(robot.unit_twists):
        J = J_bar[j]
        inertia_z = vector(J[0, 2], J[1, 2], -J[0, 0] - J[1, 1])
        e[j] = cross(w, p_hat[j]) + m_hat[j] * (v - s_hat[j][j])
        a[j] = robot.unit_twists[j].rotates * inertia_z + cross(p_hat[j], v - s_hat[j][j])
    return BaseReference(z, s_hat, p_hat, J_bar, e, a)

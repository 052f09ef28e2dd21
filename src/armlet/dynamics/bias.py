"""Bias and gravity torques by Newton-Euler recursion; bias torques by Lin's Christoffel symbols."""

import numpy as np

from armlet.algebra import ZERO, cross, skew
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.lin import BaseReference, base_reference
from armlet.dynamics.inertia.lin import lin as inertia_matrix
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.robot import BASE, RobotModel
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "bias",
    source="Balafoutis and Patel 1991, Algorithm 5.7, on trees, without acceleration",
    name="newton_euler",
    contends=True,
    walks_twists=True,
)
def bias(robot: RobotModel, q: Vector, qd: Vector) -> list[Scalar]:
    """Coriolis, centrifugal and gravity torques b(q, q̇): inverse dynamics at q̈ = 0."""
    return newton_euler(robot, q, qd, [0] * robot.nv)


@describe(
    "gravity_torque",
    source="Balafoutis and Patel 1991, Algorithm 5.7, on trees, without acceleration",
    name="newton_euler",
    contends=True,
    walks_twists=True,
)
def gravity_torque(robot: RobotModel, q: Vector) -> list[Scalar]:
    """Gravity torques g(q): inverse dynamics at rest."""
    return newton_euler(robot, q, [0] * robot.nv, [0] * robot.nv)


def with_inertia(robot: RobotModel, q: Vector, qd: Vector) -> tuple[Matrix, Vector]:
    """Return H and b; published operation counts of b exclude the operations shared with H."""
    return inertia_matrix(robot, q), np.array(lin(robot, q, qd), dtype=object)


@describe(
    "bias",
    source="Lin 1991, (54)-(58), (66) and (67), on trees",
    growth="n^2",
    minimal=False,
    starting_from={"inertia matrix": with_inertia},
)
def lin(robot: RobotModel, q: Vector, qd: Vector) -> list[Scalar]:
    """Bias torques b(q, q̇), by composite bodies about one common reference point.

    In the axes of body j, g is gravity, eⱼ the force for a unit acceleration of joint j, wⱼ the
    angular component of its unit twist, and ζⱼ = ωₚ + ωⱼ with the parent p. `couplings` computes d.
    The first sum is over joints m between base and j, and the second over the joints k beyond j:

        ζⱼ  = ʲRₚ (ζₚ + wₚ q̇ₚ) + wⱼ q̇ⱼ
        bⱼ  = -eⱼ · g - Σ dₘⱼ · ζₘ q̇ₘ + Σ dⱼₖ · ζₖ q̇ₖ              (54)-(58), (67)

    If joint m connects body m to the base, ζₘ q̇ₘ is wₘ q̇ₘ²; `twist` computes wₘ in frame j.
    """
    reference = base_reference(robot, q)
    d = couplings(robot, reference)
    X = robot.displacements(q)
    g: list[Vector] = [ZERO] * robot.nb + [robot.g]
    zeta: list[Vector] = [ZERO] * (robot.nb + 1)
    driven: list[dict[int, Vector]] = [{} for _ in range(robot.nb + 1)]
    b: list[Scalar] = [0] * robot.nv
    for j, p in robot.base_to_tips():
        inward = X[j].inverse()
        g[j] = inward.vector(g[p])
        before = ZERO if p == BASE else inward.vector(zeta[p] + robot.unit_twists[p][0] * qd[p])
        zeta[j] = before + robot.unit_twists[j][0] * qd[j]
        driven[j] = {m: inward.vector(x) for m, x in driven[p].items()}
        b[j] = b[j] - reference.e[j] @ g[j]
        for m, d_m in d[j].items():
            b[m] = b[m] + (zeta[j] * qd[j]) @ d_m
            if m in driven[j]:
                b[j] = b[j] - driven[j][m] @ d_m
            else:
                w, _ = twist(robot, reference, j, m)
                b[j] = b[j] - (w @ d_m) * (qd[m] * qd[m])
        if p != BASE:
            driven[j][j] = zeta[j] * qd[j]
    return b


def coefficients(robot: RobotModel, q: Vector) -> Matrix:
    """Christoffel symbols of the first kind Dₘₖⱼ: bₘ = Σ Dₘₖⱼ q̇ₖ q̇ⱼ + (gravity torque).

    `couplings` computes d; wₖ is the angular component of the unit twist of joint k, in the axes of
    d. A joint on the path from the base to j is before j. For k = j or k before j (45), (47):

        Dₘₖⱼ =  wₖ · dₘⱼ,  m before j
        Dₘₖⱼ = -wₖ · dⱼₘ,  j before m
        Dₘⱼₖ =  Dₘₖⱼ (32),   Dⱼₖⱼ = 0 (33),   Dⱼₖₘ = -Dₘₖⱼ (34)

    All other symbols are zero, because their three joints are not on one path to the base.
    """
    n = robot.nb
    reference = base_reference(robot, q)
    D = np.zeros((n, n, n), dtype=object)
    for j, d in enumerate(couplings(robot, reference)):
        for m, d_m in d.items():
            for k in robot.path(j):
                w, _ = twist(robot, reference, j, k)
                D[m, k, j] = D[m, j, k] = w @ d_m
                if k in robot.path(m):
                    D[j, k, m] = D[j, m, k] = -D[m, k, j]
    return D


def couplings(robot: RobotModel, reference: BaseReference) -> list[dict[int, Vector]]:
    """Return lists with entry [j][m] = dₘⱼ, in the axes of body j, for joints m between base and j.

    J̄, p̂, ŝ, z and e are those of `BaseReference`. The unit twist (w, v) about the reference point
    is (z, -ŝ) for a revolute joint and (0, z) for a prismatic joint (Lin 1991, (64), (66)):

        Bⱼ  = -J̄ w̃ⱼ - ṽⱼ p̂~
        dₘⱼ = Bⱼ wₘ + eⱼ × vₘ
    """
    d: list[dict[int, Vector]] = []
    for j in range(robot.nb):
        w, v = twist(robot, reference, j, j)
        B = -reference.J_bar[j] @ skew(w) - skew(v) @ skew(reference.p_hat[j])
        before = {m: twist(robot, reference, j, m) for m in reference.z[j] if m != j}
        d.append({m: B @ w + cross(reference.e[j], v) for m, (w, v) in before.items()})
    return d


def twist(robot: RobotModel, reference: BaseReference, j: int, m: int) -> tuple[Vector, Vector]:
    """Unit twist of joint m about the reference point, in the frame of body j."""
    z, axis = reference.z[j][m], robot.unit_twists[m]
    return axis.rotates * z, axis.translates * z - reference.s_hat[j][m]

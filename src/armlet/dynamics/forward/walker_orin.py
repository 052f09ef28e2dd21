"""Forward dynamics by conjugate gradients, without the inertia matrix."""

from dataclasses import replace

import numpy as np

from armlet.algebra import ZERO
from armlet.dynamics.bias import bias
from armlet.dynamics.formulation import describe
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector

TINY = 1e-300
"""Added to denominators to avoid 0 / 0 if the solution is reached before the last step."""


@describe(
    "forward_dynamics",
    source="Walker and Orin 1982, fourth method",
    growth="n^2 (iterative)",
    walks_twists=True,
    coupled=True,
)
def walker_orin_cg(robot: RobotModel, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Solve H q̈ = τ - b for q̈, by conjugate gradients in n steps, for n joints.

    H is not computed: H p is the inverse dynamics at accelerations p, zero velocities and zero
    gravity. Each step moves q̈ along a direction p. The first step starts from q̈ = 0 and
    p = r = τ - b; r' and p' are r and p of the next step:

        κ = r · r / (p · H p),   q̈ += κ p,   r' = r - κ H p
        β = r' · r' / (r · r),   p' = r' + β p

    Without rounding, n steps reach the solution. In double precision, the error grows with the
    condition number of H. Arms with more joints tend to have an ill-conditioned H, for which the
    result is inaccurate without a warning. Use this function only to compare operation counts.
    """
    n = robot.nv
    weightless = replace(robot, g=ZERO)
    r = p = np.array(tau, dtype=object) - bias(robot, q, qd)
    rr = r @ r
    qdd = np.zeros(n, dtype=object)
    for _ in range(n):
        Hp = np.array(newton_euler(weightless, q, [0] * n, p), dtype=object)
        kappa = rr / (p @ Hp + TINY)
        qdd = qdd + kappa * p
        r, before = r - kappa * Hp, rr + TINY
        rr = r @ r
        p = r + rr / before * p
    return list(qdd)

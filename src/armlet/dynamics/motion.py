"""How the bodies of an arm move: what torques, their slopes and regressors are made of."""

from typing import NamedTuple

from armlet.algebra import CYCLES, ZERO, cross, skew, vector
from armlet.dynamics.runs import Runs, across, along
from armlet.dynamics.steps import sliding
from armlet.robot import Displacement, Robot
from armlet.scalar import Matrix, Scalar, Vector, is_zero


class Turning(NamedTuple):
    """How a body turns, in its own axes."""

    w: Vector
    """ω, the angular velocity."""
    wd: Vector
    """ω̇, the angular acceleration."""
    Omega: Matrix
    """Ω = ω̇~ + ω̃ ω̃: the acceleration of a body-fixed r is Ω r."""
    D: Vector
    """The differences of squares ωⱼ² - ωₖ², i, j, k cyclic."""

    def moment(self, J: Matrix) -> Vector:
        """The moment J ω̇ + ω × J ω that an inertia J takes, by entries of Ω (4.3.42)."""
        w, wd, Omega, D = self
        return vector(
            *(
                J[i, i] * wd[i] + (J[k, k] - J[j, j]) * (w[j] * w[k])
                + J[i, k] * Omega[j, i] - J[i, j] * Omega[k, i] + J[j, k] * D[i]
                for i, j, k in CYCLES
            )
        )  # fmt: skip


def turning(w: Vector, wd: Vector, around: Scalar | None = None) -> Turning:
    """The products of ω that a body needs, in 2M 5A beside ωx ωy, ωx ωz and ωy ωz.

    The sum `around` = ωx² + ωy² is the same before and after a turn about z, so it may be on hand
    from the parent; then ωy² is not needed:

        ωz² + ωx²,  ωz² - ωx²
        ωy² - ωz² = around - (ωz² + ωx²)
        ωy² + ωz² = around + (ωz² - ωx²)
        ωx² - ωy² = -(ωy² - ωz²) - (ωz² - ωx²)
    """
    xx, yy, zz = w * w
    y_sum, y_difference = zz + xx, zz - xx
    if around is None:
        around, x_sum = xx + yy, yy + zz
        D = vector(yy - zz, y_difference, xx - yy)
    else:
        x_sum, x_difference = around + y_difference, around - y_sum
        D = vector(x_difference, y_difference, -(x_difference + y_difference))
    Omega = skew(wd)
    for k, total in enumerate((x_sum, y_sum, around)):
        Omega[k, k] = -total
    for i, j, _ in CYCLES:
        Omega[i, j], Omega[j, i] = w[i] * w[j] + Omega[i, j], w[i] * w[j] + Omega[j, i]
    return Turning(w, wd, Omega, D)


AT_REST = turning(ZERO, ZERO)


def turnings(robot: Robot, runs: Runs, qd: Vector, qdd: Vector) -> list[Turning]:
    """How each body turns; the base, last, is at rest.

    With w the angular half of the joint's unit twist, and of a body in a run of parallel axes the
    part across them from the body that the run starts on, b, and with the run's rate r:

        ωᵢ  = ω_b (across) + ωₚ (along) + w q̇ᵢ
        ω̇ᵢ  = ω̇_b (across) + ωᵢ × z r + ω̇ₚ (along) + w q̈ᵢ
    """
    turns = [AT_REST] * (robot.n + 1)
    rate: list[Scalar] = [0] * robot.n
    for i, p in robot.base_to_tips():
        k = runs.start[i]
        on, mount, turn = turns[robot.parent[k]], robot.mounts[k].inverse(), runs.turn[i].inverse()
        w_on, wd_on = mount.vector(on.w), mount.vector(on.wd)
        w_before, wd_before = turns[p][:2] if runs.goes_on(i) else (w_on, wd_on)
        w_axis, _ = robot.axis[i]
        rate[i] = (rate[p] if runs.goes_on(i) else 0) + w_axis[2] * qd[i]
        w = turn.vector(across(w_on))
        wd = turn.vector(across(wd_on)) + cross(w, vector(0, 0, rate[i]))
        around = w_on[0] * w_on[0] + w_on[1] * w_on[1] if _is_quarter(mount) else None
        turns[i] = turning(
            w + along(w_before) + w_axis * qd[i], wd + along(wd_before) + w_axis * qdd[i], around
        )
    return turns


def _is_quarter(mount: Displacement) -> bool:
    """Whether squares of components before it are squares of components after it."""
    return all(is_zero(screw.c) or is_zero(screw.s) for screw in mount)


def accelerations(
    robot: Robot, X: list[Displacement], turns: list[Turning], qd: Vector, qdd: Vector
) -> list[Vector]:
    """The acceleration a of each body's origin, gravity in it as that of the base, last: -g.

    The origin is reached from the parent's by r, fixed in the parent, and by a slide h along the
    joint's axis:

        aᵢ  = aₚ + Ωₚ r + Ωᵢ h z + 2 ωᵢ × v q̇ᵢ + v q̈ᵢ
    """
    a: list[Vector] = [ZERO] * robot.n + [-robot.g]
    for i, p in robot.base_to_tips():
        r, h = robot.mounts[i].origin(), X[i][-1].h
        carried = X[i].inverse().vector(a[p] + turns[p].Omega @ r) + h * turns[i].Omega[:, 2]
        a[i] = carried + sliding(robot, i, turns[i].w, qd, qdd)
    return a

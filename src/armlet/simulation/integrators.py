"""Integrators, which advance positions and velocities by steps of fixed length.

To add an integrator, add an entry to `INTEGRATORS`: the result of `runge_kutta` or
`adams_bashforth`, or an `Integrator` with a step function of (arm, h, t, q, qd, u), where h is the
step length, t the time, and u the further inputs of the arm, such as torques.

To find the number `stability` of an integrator, apply a step to the oscillator q̈ = -ω² q - 2 ζ ω q̇.
The step is then a matrix M times the state (and memory). Let λ be the largest absolute eigenvalue
of the oscillator. Then `stability` is the largest h λ, rounded down, up to which the spectral
radius of M is at most 1 + 1e-4 for every ζ ≥ 0. The limit `decay` is defined likewise for a damper
alone, q̈ = -λ q̇. With an implicit integrator, model spring and damper as drive torques.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet import math
from armlet.errors import DataWarning
from armlet.simulation.forces import Arm, Array, Inputs, Rate


@dataclass(frozen=True)
class Integrator:
    """A fixed-step integrator: its use, order, stability limit and step function."""

    about: str
    order: int
    stability: float
    """The limit of h λ for springs and dampers, with step length h in s and `Rate` λ in 1/s."""
    decay: float
    """The limit of h λ for friction, which only damps."""
    step: Callable[..., tuple[Array, ...]]
    """Function of (arm, h, t, q, qd, u) and, if any, memory; returns the new q, qd and memory."""
    implicit: bool = False
    """Whether steps of any length are stable with friction and stops."""
    memory: int = 0
    """The number of vectors in the memory, which `step` takes after u and returns after qd: the
    velocity and the acceleration at the start of each past step, latest step first."""
    stage: Callable[..., tuple[Array, ...]] | None = None
    """The function of one stage, called once per row of `rows`. After u, it takes STAGE_MEMORY
    vectors of memory, zeros in the first stage of all, and the row. It returns the new q, qd and
    memory."""
    rows: NDArray[np.float64] | None = None
    """One row of coefficients per stage; the last entry is 1 in the final stage, else 0."""
    needs_vector_space: bool = False
    """Whether positions must be a vector space, as those of revolute and prismatic joints."""


STAGE_MEMORY = 4


def semi_implicit_euler(
    arm: Arm, h: Any, t: Any, q: Array, qd: Array, u: Inputs
) -> tuple[Array, Array]:
    """Take a step of semi-implicit Euler: the new velocity updates the position."""
    qd = qd + h * arm.acceleration(t, q, qd, u)
    return arm.robot.integrate(q, h * qd), qd


def runge_kutta(
    about: str,
    order: int,
    stability: float,
    decay: float,
    nodes: Sequence[float],
    weights: Sequence[float],
) -> Integrator:
    """Build an explicit Runge-Kutta method whose stages depend only on the previous stage.

    In the Butcher tableau, c and the subdiagonal of A are the nodes, and b is proportional to the
    weights. The method integrates qd and the local coordinates δ of positions integrate(q, δ), with
    q at the start of the step (Munthe-Kaas 1998). Each stage adds its weighted rates of δ and qd to
    two sums. The last stage advances q and qd by the weighted means, times h.
    """
    rows = [
        (node, float(k > 0), weight, float(k == len(nodes) - 1))
        for k, (node, weight) in enumerate(zip(nodes, weights, strict=True))
    ]
    total = sum(weights)

    def stage(
        arm: Arm, h: Any, t: Any, q: Array, qd: Array, u: Inputs, memory: Array, row: Array
    ) -> tuple[Array, ...]:
        rate, a, sum_rate, sum_a = memory
        node, goes_on, weight, ends = row
        onward, end = node * h, ends * (h / total)
        delta, v = onward * rate, qd + onward * a
        rate = arm.robot._rate(delta, v)
        a = arm.acceleration(t + onward, arm.robot.integrate(q, delta), v, u)
        sum_rate = goes_on * sum_rate + weight * rate
        sum_a = goes_on * sum_a + weight * a
        q, qd = arm.robot.integrate(q, end * sum_rate), qd + end * sum_a
        return q, qd, [rate, a, sum_rate, sum_a]

    def step(arm: Arm, h: Any, t: Any, q: Array, qd: Array, u: Inputs) -> tuple[Array, Array]:
        memory = [0 * qd] * STAGE_MEMORY
        for row in rows:
            q, qd, memory = stage(arm, h, t, q, qd, u, memory, row)
        return q, qd

    return Integrator(about, order, stability, decay, step, stage=stage, rows=np.array(rows))


def adams_bashforth(
    about: str, stability: float, decay: float, coefficients: Sequence[int], divisor: int
) -> Integrator:
    """Build an Adams-Bashforth method, which weights the derivatives at present and past steps.

    The memory has past velocities and accelerations, latest first; `rk4` takes the first steps.
    """

    def step(
        arm: Arm, h: Any, t: Any, q: Array, qd: Array, u: Inputs, memory: Array
    ) -> tuple[Array, ...]:
        velocities = [qd, *memory[::2]]
        accelerations = [arm.acceleration(t, q, qd, u), *memory[1::2]]
        share = h / divisor
        delta = share * sum(c * v for c, v in zip(coefficients, velocities, strict=True))
        new_qd = qd + share * sum(c * a for c, a in zip(coefficients, accelerations, strict=True))
        pairs = zip(velocities[:-1], accelerations[:-1], strict=True)
        return arm.robot.integrate(q, delta), new_qd, [x for pair in pairs for x in pair]

    order = len(coefficients)
    return Integrator(
        about, order, stability, decay, step, memory=2 * (order - 1), needs_vector_space=True
    )


ITERATIONS = 6
"""The number of fixed-point iterations in `variational_midpoint`; each multiplies the error by
about the ratio of h to the time in which the arm moves noticeably."""


def variational_midpoint(
    arm: Arm, h: Any, t: Any, q: Array, qd: Array, u: Inputs
) -> tuple[Array, Array]:
    """Take a step of the variational integrator that follows from the midpoint rule.

    A step leads from q to q + h v through the middle position m = q + h v / 2. Its action is
    h L(m, v), with the Lagrangian L. With the momentum p = H(q) qd at the start, the action is
    stationary if H(m) v = p + h/2 F, where F is ∂L/∂q at (m, v) plus the torques. Iteration solves
    this equation for v. The momentum at the end, p + h F, gives the new velocity. In F, the
    derivative of the kinetic energy by q is Cᵀ v, for every Coriolis matrix C with Ḣ = C + Cᵀ.
    """

    def force(x: Array, v: Array) -> Array:
        C = arm.quantity("coriolis_matrix", u, x, v)
        gravity = arm.quantity("gravity_torque", u, x)
        return C.T @ v - gravity + arm.forces(t + half, x, v, u)

    half, integrate = h / 2, arm.robot.integrate
    p = arm.quantity("inertia_matrix", u, q) @ qd
    v = qd
    for _ in range(ITERATIONS):
        middle = integrate(q, half * v)
        F = force(middle, v)
        v = math.solve(arm.quantity("inertia_matrix", u, middle), p + half * F)
    F = force(integrate(q, half * v), v)
    new = integrate(q, h * v)
    return new, math.solve(arm.quantity("inertia_matrix", u, new), p + h * F)


GAMMA = 1 - 0.5**0.5
"""γ in `rosenbrock2`, chosen so that infinitely fast modes decay in one step (L-stability)."""


def rosenbrock2(arm: Arm, h: Any, t: Any, q: Array, qd: Array, u: Inputs) -> tuple[Array, Array]:
    """Take a step by the linearly implicit ROS2 of Verwer, Spee, Blom and Hundsdorfer (1999).

    Let h be the step length, m = q + h/2 q̇ the middle position, H the inertia matrix at m, τ the
    `drive_forces`, g the torques of friction and stops, γ the constant `GAMMA`, and K, D diagonal
    upper bounds on -∂g/∂q, -∂g/∂q̇. Stage 1 computes changes x of position and k of velocity, and
    stage 2 computes changes y and l:

        A = H + γ h D + γ² h² K
        f(q, q̇) = τ(m, q̇) - bias(m, q̇) + g(q, q̇)
        A k = h f(q, q̇) - γ h² K q̇                           x = h q̇ + γ h k
        A l = h f(q + x, q̇ + k) - 2 H k - γ h K z             y = z + γ h l,  z = h (q̇ + k) - 2 x
        new q = q + 3/2 x + 1/2 y,  new q̇ = q̇ + 3/2 k + 1/2 l

    Displacements are added to q by `integrate`, and q̇ + k in z is the rate of x.
    The method is of second order for any K and D, and stable if K and D are upper bounds. The
    derivative of Coulomb friction is large only near zero velocity, and a long step may skip this
    range. If a joint slows down, D thus has the difference quotient over the step. If the predicted
    velocity q̇ + h H⁻¹ f has the opposite sign of q̇, D has the friction divided by γ |q̇|: friction
    alone may then stop the joint in the first stage, but cannot reverse it. See `friction_damping`.
    """
    integrate, half, g = arm.robot.integrate, t + h / 2, GAMMA * h
    middle = integrate(q, h / 2 * qd)
    H = arm.quantity("inertia_matrix", u, middle)

    def force(x: Array, v: Array) -> Array:
        return arm.free_force(half, middle, v, u) + arm.joint_forces(x, v)

    f = force(q, qd)
    K, D = arm.joint_stiffness(q, qd, h, qd + h * math.solve(H, f), GAMMA)
    A = H + np.diag(g * D + g * g * K)
    k = math.solve(A, h * (f - g * K * qd))
    x = h * qd + g * k
    z = h * arm.robot._rate(x, qd + k) - 2 * x
    l = math.solve(A, h * force(integrate(q, x), qd + k) - 2 * (H @ k) - g * K * z)
    y = z + g * l
    return integrate(integrate(q, 1.5 * x), 0.5 * y), qd + 1.5 * k + 0.5 * l


INTEGRATORS: dict[str, Integrator] = {
    "semi_implicit_euler": Integrator(
        "fast; energy stays bounded; errors fall with the step length",
        order=1,
        stability=0.8,
        decay=2,
        step=semi_implicit_euler,
    ),
    "rk4": runge_kutta(
        "accurate; four accelerations a step",
        order=4,
        stability=2.6,
        decay=2.7,
        nodes=(0, 1 / 2, 1 / 2, 1),
        weights=(1, 2, 2, 1),
    ),
    "adams_bashforth4": adams_bashforth(
        "accurate for smooth trajectories; one acceleration a step",
        stability=0.3,
        decay=0.3,
        coefficients=(55, -59, 37, -9),
        divisor=24,
    ),
    "variational_midpoint": Integrator(
        "symplectic: energy stays bounded over any time; for long runs without friction",
        order=2,
        stability=0.8,
        decay=2,
        step=variational_midpoint,
        needs_vector_space=True,
    ),
    "rosenbrock2": Integrator(
        "stable and accurate with friction and stops of any stiffness",
        order=2,
        stability=1,
        decay=2,
        step=rosenbrock2,
        implicit=True,
    ),
}


# ------------------------------------------------------------------ which integrator

IMPLICIT = "rosenbrock2"
"""The implicit integrator, stable for steps longer than time constants of friction and stops."""


def default_integrator(arm: Arm, explicit: str) -> str:
    """Return the default integrator: `IMPLICIT` if friction or stops act, else `explicit`."""
    return explicit if arm.friction is None and arm.stops is None else IMPLICIT


def warn_if_unstable(rates: Sequence[Rate], method: str, dt: float, stacklevel: int) -> bool:
    """Warn if steps of length `dt` are unstable for the integrator `method`; if so, return True."""
    integrator = INTEGRATORS[method]
    for rate in rates:
        limit = integrator.decay if rate.cause == "friction" else integrator.stability
        longest = limit / rate.value if rate.value else np.inf
        is_implicit = integrator.implicit and rate.cause != "torques"
        if dt <= longest or is_implicit:
            continue
        implicit = "simulate by 'lsoda'" if rate.cause == "torques" else f"method={IMPLICIT!r}"
        warnings.warn(
            f"the time constant of {rate.cause} at joint {rate.joint!r} is {1 / rate.value:.1e} s: "
            f"steps of {dt:g} s by {method} are too long, the motion is wrong; choose "
            f"dt={_round_down(longest / 2):g}, or {implicit}",
            DataWarning,
            stacklevel=stacklevel + 1,
        )
        return True
    return False


def _round_down(x: float) -> float:
    """Round down to 1, 2 or 5 times a power of ten."""
    unit: float = 10.0 ** np.floor(np.log10(x))
    return unit * max(k for k in (1, 2, 5) if k * unit <= x or k == 1)

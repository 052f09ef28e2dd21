"""Methods that advance a motion by one step of fixed length, on scalars of any kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

Array = Any
"""A vector of scalars of any kind."""


class System(Protocol):
    """What a method may ask of an arm, at a time and a state."""

    def acceleration(self, t: Any, q: Array, qd: Array) -> Array:
        """Accelerations under torques, passive forces and stops."""

    def forces(self, t: Any, q: Array, qd: Array) -> Array:
        """Torques, less passive ones, with those of the stops."""

    def inertia_matrix(self, q: Array) -> Array: ...

    def bias(self, q: Array, qd: Array) -> Array: ...

    def slope_of_kinetic_energy(self, q: Array, qd: Array) -> Array:
        """The derivative of the kinetic energy by q."""

    def gravity_torque(self, q: Array) -> Array: ...

    def outer_forces(self, t: Any, q: Array, qd: Array) -> Array:
        """Torques without those of friction and stops."""

    def joint_forces(self, q: Array, qd: Array) -> Array:
        """The torques of friction and stops."""

    def joint_stiffness(
        self, q: Array, qd: Array, h: Any, ahead: Array, share: float
    ) -> tuple[Array, Array]:
        """How steeply these fall with each position and velocity on the way to a velocity ahead."""

    def solve(self, H: Array, y: Array) -> Array:
        """x with H x = y, for a symmetric positive H."""


Step = Callable[..., tuple[Array, ...]]


@dataclass(frozen=True)
class Method:
    """A method: what it is good for, its order, and its step.

    The step takes a system, the length h, the time, q, qd and what it remembers, and returns the
    new q, qd and memory.
    """

    about: str
    order: int
    step: Step
    stability: float
    """The largest h λ with which it is stable, where λ is the rate in 1/s at which forces act."""
    implicit: bool = False
    """Whether friction and stops may have any rate."""
    memory: int = 0
    """How many vectors of past derivatives it remembers."""
    stages: "Stages | None" = None
    """The same step as one short body done several times, if it has stages that are alike."""


class Stages(NamedTuple):
    """A step as stages that are alike but for a row of numbers each.

    The body takes a system, the length h, the time, q, qd, the vectors kept between stages and the
    row; it returns the new time, q, qd and vectors, which at the end of a step are `kept` for the
    next one, as at the start.
    """

    rows: tuple[tuple[float, ...], ...]
    start: Callable[[Array, Array], list[Array]]
    """The vectors at the start, by q and qd."""
    body: Callable[..., tuple[Array, ...]]


METHODS: dict[str, Method] = {}


def method(about: str, order: int, stability: float, **options: Any) -> Callable[[Step], Step]:
    """Register a step function under its name."""

    def decorate(step: Step) -> Step:
        METHODS[step.__name__] = Method(about, order, step, stability, **options)
        return step

    return decorate


@method("fast; energy stays bounded; errors fall with the step length", order=1, stability=2)
def semi_implicit_euler(system: System, h: Any, t: Any, q: Array, qd: Array) -> tuple[Array, Array]:
    """The new velocity first, which then moves the arm."""
    qd = qd + h * system.acceleration(t, q, qd)
    return q + h * qd, qd


def _rk4_stage(
    system: System, h: Any, t: Any, q: Array, qd: Array, kept: Array, row: Array
) -> tuple[Array, ...]:
    """One of the four stages of `rk4`: an acceleration, and sums of velocities and accelerations.

    Numbers of the row that are zero switch off what a stage does not do.
    """
    x, v, sum_v, sum_a = kept
    at, before, weight, ends, goes_on = row
    a = system.acceleration(t + at * h, x, v)
    sum_v = before * sum_v + weight * v
    sum_a = before * sum_a + weight * a
    end, onward = ends * (h / 6), goes_on * h
    q, qd = q + end * sum_v, qd + end * sum_a
    return t + ends * h, q, qd, [q + onward * v, qd + onward * a, sum_v, sum_a]


RK4_STAGES = Stages(
    rows=((0, 0, 1, 0, 0.5), (0.5, 1, 2, 0, 0.5), (0.5, 1, 2, 0, 1), (1, 1, 1, 1, 0)),
    start=lambda q, qd: [q, qd, 0 * q, 0 * qd],
    body=_rk4_stage,
)
"""Of each stage: its time in the step, whether the sums go on, the weight of what is added to them,
whether the step ends, and how far ahead the next stage looks."""


@method("accurate; four accelerations a step", order=4, stability=2.7, stages=RK4_STAGES)
def rk4(system: System, h: Any, t: Any, q: Array, qd: Array) -> tuple[Array, Array]:
    """Runge and Kutta's classical method."""
    half = h / 2
    a1 = system.acceleration(t, q, qd)
    v2 = qd + half * a1
    a2 = system.acceleration(t + half, q + half * qd, v2)
    v3 = qd + half * a2
    a3 = system.acceleration(t + half, q + half * v2, v3)
    v4 = qd + h * a3
    a4 = system.acceleration(t + h, q + h * v3, v4)
    sixth = h / 6
    return (
        q + sixth * (qd + 2 * (v2 + v3) + v4),
        qd + sixth * (a1 + 2 * (a2 + a3) + a4),
    )


@method("accurate for smooth motions; one acceleration a step", order=4, stability=0.3, memory=6)
def adams_bashforth4(
    system: System, h: Any, t: Any, q: Array, qd: Array, memory: Array
) -> tuple[Array, Array, Array]:
    """Adams and Bashforth's method of fourth order, as Lin (1991) simulates with.

    It remembers the derivatives (velocities and accelerations) at the last three steps, the latest
    first; the first three steps are done by `rk4`.
    """
    v1, a1, v2, a2, v3, a3 = memory
    a = system.acceleration(t, q, qd)
    part = h / 24
    new_q = q + part * (55 * qd - 59 * v1 + 37 * v2 - 9 * v3)
    new_qd = qd + part * (55 * a - 59 * a1 + 37 * a2 - 9 * a3)
    return new_q, new_qd, [qd, a, v1, a1, v2, a2]


ITERATIONS = 6
"""How often the equation of an implicit step is applied; each gains about as many digits as h is
small against the time in which the arm turns noticeably."""


@method(
    "symplectic: energy stays bounded over any time; for long runs without friction",
    order=2,
    stability=1,
)
def variational_midpoint(
    system: System, h: Any, t: Any, q: Array, qd: Array
) -> tuple[Array, Array]:
    """The variational integrator of the midpoint rule.

    The action of a step is h L(q + h v / 2, v). With the momentum p = H(q) qd, its stationarity is
    H(m) v = p + h/2 F and p' = p + h F, where m = q + h v / 2 and F is the derivative of L by q at
    (m, v), plus the torques. The first equation is solved for v by iteration.
    """
    half = h / 2
    p = system.inertia_matrix(q) @ qd
    v = qd
    for _ in range(ITERATIONS):
        middle = q + half * v
        F = _force(system, t + half, middle, v)
        v = system.solve(system.inertia_matrix(middle), p + half * F)
    F = _force(system, t + half, q + half * v, v)
    new = q + h * v
    return new, system.solve(system.inertia_matrix(new), p + h * F)


def _force(system: System, t: Any, q: Array, v: Array) -> Array:
    """The derivative of the Lagrangian by q, and the torques."""
    return system.slope_of_kinetic_energy(q, v) - system.gravity_torque(q) + system.forces(t, q, v)


GAMMA = 1 - 0.5**0.5
"""The parameter of `rosenbrock2` for which the fastest motions vanish in one step (L-stability)."""


@method(
    "stable and accurate with friction and stops of any stiffness",
    order=2,
    stability=2,
    implicit=True,
)
def rosenbrock2(system: System, h: Any, t: Any, q: Array, qd: Array) -> tuple[Array, Array]:
    """The linearly implicit method ROS2 of Verwer, Spee, Blom and Hundsdorfer (1999).

    Inertia, bias and the torques of drives and springs are taken at the middle position
    m = q + h/2 q̇. What is left, with the torques g of friction and stops, is solved by two stages
    (x, k) and (y, l) of changes of position and velocity, which share one matrix:

        A = H + γ h D + γ² h² K
        f(q, q̇) = τ(m, q̇) - bias(m, q̇) + g(q, q̇)
        A k = h f(q, q̇) - γ h² K q̇                           x = h q̇ + γ h k
        A l = h f(q + x, q̇ + k) - 2 H k - γ h K (z)           y = z + γ h l,  z = h (q̇ + k) - 2 x
        new q = q + 3/2 x + 1/2 y,  new q̇ = q̇ + 3/2 k + 1/2 l

    The method is of second order for any K and D. For stability they are no less than the
    derivatives of g by q and q̇, with one exception: the derivative of Coulomb friction is nearly
    zero but for velocities near zero, and a step that passes over these would not notice them.
    Where h H⁻¹ f would reverse a velocity, D is so large that the first stage stops there at most.
    """
    middle, half, g = q + h / 2 * qd, t + h / 2, GAMMA * h
    H = system.inertia_matrix(middle)

    def force(x: Array, v: Array) -> Array:
        outer = system.outer_forces(half, middle, v) - system.bias(middle, v)
        return outer + system.joint_forces(x, v)

    f = force(q, qd)
    K, D = system.joint_stiffness(q, qd, h, qd + h * system.solve(H, f), GAMMA)
    A = H + np.diag(g * D + g * g * K)
    k = system.solve(A, h * (f - g * K * qd))
    x = h * qd + g * k
    z = h * (qd + k) - 2 * x
    l = system.solve(A, h * force(q + x, qd + k) - 2 * (H @ k) - g * K * z)
    y = z + g * l
    return q + 1.5 * x + 0.5 * y, qd + 1.5 * k + 0.5 * l

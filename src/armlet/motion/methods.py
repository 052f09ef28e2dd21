"""Methods that advance a motion by one step of fixed length, on scalars of any kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

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

    def damping(self, qd: Array) -> Array:
        """The slope of each joint's friction by its velocity."""

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


def method(
    about: str, order: int, memory: int = 0, stages: Stages | None = None
) -> Callable[[Step], Step]:
    """Register a step function under its name."""

    def decorate(step: Step) -> Step:
        METHODS[step.__name__] = Method(about, order, step, memory, stages)
        return step

    return decorate


@method("fast; energy stays bounded; errors fall with the step length", order=1)
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


@method("accurate; four accelerations a step", order=4, stages=RK4_STAGES)
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


@method("accurate for smooth motions; one acceleration a step", order=4, memory=6)
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


@method("symplectic: energy stays bounded over any time; for long runs without friction", order=2)
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


@method("stable for stiff friction; one system of equations a step", order=1)
def linearly_implicit_euler(
    system: System, h: Any, t: Any, q: Array, qd: Array
) -> tuple[Array, Array]:
    """Semi-implicit Euler with friction taken at the new velocity, to first order."""
    H = system.inertia_matrix(q)
    D = system.damping(qd)
    n = len(qd)
    stiffer = [[H[i, j] + (h * D[i] if i == j else 0) for j in range(n)] for i in range(n)]
    tau = system.forces(t, q, qd) - system.bias(q, qd)
    qd = qd + h * system.solve(stiffer, tau)
    return q + h * qd, qd

"""Methods that advance a motion by one step of fixed length, on scalars of any kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Array = Any
"""A vector of scalars of any kind."""


class System(Protocol):
    """What a method may ask of an arm, at a time and a state."""

    def acceleration(self, t: Any, q: Array, qd: Array) -> Array:
        """Accelerations under torques, friction and stops."""

    def forces(self, t: Any, q: Array, qd: Array) -> Array:
        """Torques, less friction, with those of the stops."""

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


METHODS: dict[str, Method] = {}


def method(about: str, order: int, memory: int = 0) -> Callable[[Step], Step]:
    """Register a step function under its name."""

    def decorate(step: Step) -> Step:
        METHODS[step.__name__] = Method(about, order, step, memory)
        return step

    return decorate


@method("fast; energy stays bounded; errors fall with the step length", order=1)
def semi_implicit_euler(system: System, h: Any, t: Any, q: Array, qd: Array) -> tuple[Array, Array]:
    """The new velocity first, which then moves the arm."""
    qd = qd + h * system.acceleration(t, q, qd)
    return q + h * qd, qd


@method("accurate; four accelerations a step", order=4)
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

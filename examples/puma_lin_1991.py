"""A PUMA 560 simulated as Lin (1991) advises: by LDLᵀ and the Adams-Bashforth method of order 4.

The torques of a motion are computed by inverse dynamics and applied to the arm at rest. It has to
follow that motion, so that the error of a simulation is known without another one.

python examples/puma_lin_1991.py [--out FOLDER]
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from cycloid import Array, Motion, cycloid
from numpy.typing import ArrayLike
from pictures import COLOURS, Curve, Figure, Panel, figure, joints, run

import armlet
from armlet import Trajectory
from armlet.plotting import INK

DURATION = 1.0
"""How long the motion takes, in s."""
START = np.zeros(6)
END = np.radians([50.0, -40.0, 60.0, -90.0, 45.0, 150.0])
STEPS = (32, 64, 125, 250, 500, 1000, 2000)
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
LABELS = {
    "adams_bashforth4": "Adams-Bashforth",
    "rk4": "Runge-Kutta 4",
    "semi_implicit_euler": "semi-implicit Euler",
}
robot = armlet.load("puma560")


def motion(t: ArrayLike) -> Motion:
    """From the zero posture to another, along a cycloid, within the limits of the drives."""
    return cycloid(START, END, DURATION, t)


@armlet.function(robot)
def torque(t: Array) -> Array:
    """The torques of the motion, to be compiled into the simulation."""
    return robot.inverse_dynamics(*motion(t))


@armlet.function(robot)
def accelerations(q: Array, qd: Array, tau: Array) -> Array:
    """Forward dynamics in the steps of the paper: inertia matrix, bias, LDLᵀ."""
    return ldl_solve(robot.inertia_matrix(q), tau - robot.bias(q, qd))


def ldl_solve(H: Array, y: Array) -> Array:
    """The x with H x = y, for a symmetric positive definite H.

    H = L D Lᵀ, where L has ones on its diagonal: elimination turns what is below the diagonal
    of A into L, and the diagonal into D.
    """
    A, x, n = H.copy(), y.copy(), len(y)
    for k in range(n):
        for i in reversed(range(k + 1, n)):
            factor = A[i, k] / A[k, k]
            for j in range(k + 1, i + 1):
                A[i, j] -= factor * A[j, k]
            A[i, k] = factor
            x[i] -= factor * x[k]
    for k in reversed(range(n)):
        x[k] = x[k] / A[k, k] - sum(A[i, k] * x[i] for i in range(k + 1, n))
    return x


def simulation(method: str | armlet.Adaptive = "adams_bashforth4", steps: int = 1000) -> Trajectory:
    """The arm under the torques of its motion, from rest."""
    return armlet.simulate(
        armlet.Plant(robot, friction=False),
        START,
        torque=torque,
        duration=DURATION,
        dt=DURATION / steps,
        method=method,
    )


def errors(method: str) -> tuple[Array, Array]:
    """Evaluations of the accelerations, and the error at the end in rad, for each of `STEPS`."""
    found = [
        armlet.rollout(
            robot,
            START[None],
            torque=torque,
            dt=DURATION / steps,
            steps=steps,
            every=steps,
            method=method,
        ).q[-1, 0]
        for steps in STEPS
    ]
    return evaluations(method, np.array(STEPS, float)), np.abs(found - END).max(1)


def evaluations(method: str, steps: Array) -> Array:
    """How often a method computes accelerations; Runge-Kutta does Adams-Bashforth's first steps."""
    return {"rk4": 4 * steps, "adams_bashforth4": steps + 3 * 3}.get(method, steps)


def adaptive_errors() -> tuple[Array, Array]:
    """The same of SciPy's DOP853, for each of `TOLERANCES`."""
    integrate: Any = import_module("scipy.integrate")

    def derivative(t: float, x: Array) -> Array:
        q, qd = np.split(x, 2)
        return np.concatenate([qd, robot.forward_dynamics(q, qd, torque(t))])

    start = np.concatenate([START, np.zeros(6)])
    runs = [
        integrate.solve_ivp(derivative, (0, DURATION), start, "DOP853", rtol=rtol, atol=rtol)
        for rtol in TOLERANCES
    ]
    ends = np.array([found.y[:6, -1] for found in runs])
    return np.array([float(found.nfev) for found in runs]), np.abs(ends - END).max(1)


def order(method: str) -> float:
    """The power of the step length with which errors fall, fitted where rounding does not show."""
    error = errors(method)[1][1:]
    return float(-np.polyfit(np.log(STEPS[1:]), np.log(error), 1)[0])


def numbers() -> Iterator[str]:
    """What the documentation states."""
    of_lin = armlet.trace(robot, "forward_dynamics", "composite", inertia_matrix="lin", bias="lin")
    yield f"forward dynamics by Lin's inertia matrix and bias: {of_lin.count()}"
    yield f"by armlet's, and LDLᵀ: {accelerations.count()}"
    yield f"by armlet's cheapest program: {armlet.trace(robot, 'forward_dynamics').count()}"
    for method in LABELS:
        cost, error = errors(method)
        k = np.searchsorted(cost, 1010) - 1
        yield f"{method}: order {order(method):.1f}, {error[k]:.1e} rad after {cost[k]:.0f}"
    found = [f"{error:.0e} rad after {cost:.0f}" for cost, error in np.transpose(adaptive_errors())]
    yield f"dop853: {', '.join(found)}"


def figures() -> dict[str, Figure]:
    """The figures of the documentation by name."""
    run = simulation(steps=100)
    names = [f"joint {i + 1}" for i in range(6)]
    torques = joints(run.t, run.tau, names)
    curves = [
        Curve(label, *errors(method), COLOURS[i], mode="lines+markers")
        for i, (method, label) in enumerate(LABELS.items())
    ]
    adaptive = Curve("DOP853", *adaptive_errors(), INK, "dash", "lines+markers")
    return {
        "puma_motion": figure(
            [
                Panel("angle (deg)", joints(run.t, np.degrees(run.q), names)),
                Panel("torque (Nm)", torques[:3]),
                Panel("torque (Nm)", torques[3:]),
            ]
        ),
        "puma_error_over_cost": figure(
            [Panel("error at the end (rad)", [*curves, adaptive])],
            "evaluations of the forward dynamics in 1 s of motion",
            log=True,
        ),
    }


if __name__ == "__main__":
    run(__doc__, numbers, figures)

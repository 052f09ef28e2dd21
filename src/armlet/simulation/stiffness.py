"""How fast friction, stops and feedback act: known before the first step of a simulation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armlet.api.functions import Function
from armlet.api.programs import cheapest
from armlet.errors import DataWarning
from armlet.robot import RobotModel
from armlet.simulation.arguments import argument, call_arguments
from armlet.simulation.integrators import METHODS
from armlet.simulation.plan import Plan
from armlet.simulation.system import Friction, Stops

Array = NDArray[np.float64]
IMPLICIT = "rosenbrock2"
"""The integrator whose steps may be longer than friction and stops take to act."""
STIFF = 300.0
"""The rate in 1/s from which an adaptive method is an implicit one by default."""


class Rate(NamedTuple):
    """The largest eigenvalue of a linear model of the arm, and what it comes from."""

    value: float
    """In 1/s."""
    cause: str
    """Friction, stops, or torques (of springs and of the torque function)."""
    joint: str
    """The joint that moves most."""


def default_steps(
    robot: RobotModel, friction: Friction | None, stops: Stops | None, explicit: str
) -> str:
    """The integrator of fixed steps if none is named: explicit without friction and stops."""
    has_friction = friction is not None and friction.acts_on(robot)
    return IMPLICIT if has_friction or stops is not None else explicit


def default_adaptive(rates: Sequence[Rate]) -> str:
    """The adaptive integrator for an arm, if none is named: an implicit one where it is stiff."""
    return "lsoda" if any(rate.value > STIFF for rate in rates) else "dop853"


def rates_of(
    plan: Plan, robot: RobotModel, q: Array, qd: Array, values: Sequence[Array]
) -> list[Rate]:
    """The rates of friction, of stops and of the other forces that depend on the state.

    Each is the largest eigenvalue of H q̈ = -K q - D q̇ at a state, where K and D are derivatives of
    the forces: of friction at rest, where it is steepest; of stops as if all joints were at theirs.
    """
    state, start = {"q": q, "qd": qd, "t": np.zeros(())}, _at_start(plan, values)
    causes = [x for x in _derivatives(plan, robot, state, start) if np.any(x[1]) or np.any(x[2])]
    if not causes:
        return []
    zero, one = np.zeros((robot.nv, robot.nv)), np.eye(robot.nv)
    H = _inertia_matrix(robot, q, start)
    if not np.isfinite(H).all():
        return []
    inverse = np.linalg.pinv(H)
    rates = []
    for cause, K, D in causes:
        model = np.block([[zero, one], [-inverse @ K, -inverse @ D]])
        if np.isfinite(model).all():
            eigenvalues, vectors = np.linalg.eig(model)
            k = int(np.abs(eigenvalues).argmax())
            joint = robot.coordinates[int(np.abs(vectors[robot.nv :, k]).argmax())].name
            rates.append(Rate(float(np.abs(eigenvalues[k])), cause, joint))
    return rates


def cached_rates(
    plan: Plan, robot: RobotModel, q: Array, qd: Array, values: Sequence[Array]
) -> list[Rate]:
    """The result of `rates_of`, computed again only if arguments of the torque function change."""
    start = _at_start(plan, values)
    gains = [] if plan.torque is None else [argument(name) for name in plan.torque.inputs]
    arguments = tuple(
        start[x.name].tobytes()
        for x in plan.inputs
        if x.name in gains and x.rate in ("once", "run")
    )
    cached: dict[tuple[bytes, ...], list[Rate]] = robot._once(("rates", plan), dict)
    rates = cached.get(arguments)
    if rates is None:
        rates = rates_of(plan, robot, q, qd, values)
        cached.clear()
        cached[arguments] = rates
    return rates


def _at_start(plan: Plan, values: Sequence[Array]) -> dict[str, Array]:
    """The inputs of a loop at the first step of the first motion, by name."""
    start = {}
    for x, value in zip(plan.inputs, values, strict=True):
        first = value[0] if x.rate in ("step", "state") else value
        start[x.name] = first[0] if x.rate in ("run", "state") else first
    return start


def _inertia_matrix(robot: RobotModel, q: Array, start: Mapping[str, Array]) -> Array:
    """H at the start, with the inertias that are given, if any are."""
    given = {"inertia": start["inertia"]} if "inertia" in start else {}
    found = cheapest(robot, "inertia_matrix", constants=dict.fromkeys(given, "argument"))
    H: Array = np.asarray(found.program.function()(q, *given.values()), dtype=float)
    return H


def _derivatives(
    plan: Plan, robot: RobotModel, state: Mapping[str, Array], start: Mapping[str, Array]
) -> Iterator[tuple[str, Array, Array]]:
    """Causes, with the derivatives of their forces by q and by qd, negated."""
    gamma = robot.joint_velocities(np.eye(robot.nv)).T  # of joints, by those of coordinates
    none = np.zeros((robot.nv, robot.nv))
    if plan.friction is not None and plan.friction.acts_on(robot):
        extra = np.array(plan.friction.stribeck_of(robot))
        dry = np.array([float(x.coulomb) for x in robot.drives]) + extra
        slope = np.array([float(x.viscous) for x in robot.drives]) + dry / plan.friction.velocity
        yield "friction", none, gamma.T @ (slope[:, None] * gamma)
    if plan.stops is not None:
        limited = np.array([np.isfinite(joint.limits[:2]).any() for joint in robot.coordinates])
        stiffness, damping = plan.stops.stiffness * limited, plan.stops.damping * limited
        yield "stops", np.diag(stiffness), np.diag(damping)
    K, D = none, none
    if robot.has_springs:
        stiffness = np.array([float(spring.stiffness) for spring in robot.springs])
        K = gamma.T @ (stiffness[:, None] * gamma)
    if plan.torque is not None:
        K, D = (
            K - _feedback(robot, plan.torque, "q", state, start),
            D - _feedback(robot, plan.torque, "qd", state, start),
        )
    yield "torques", K, D


def _feedback(
    robot: RobotModel,
    torque: Function,
    name: str,
    state: Mapping[str, Array],
    start: Mapping[str, Array],
) -> Array:
    """The derivative of a torque function by q or qd at the start."""
    if name not in torque.inputs:
        return np.zeros(())
    derivative = robot._once(("feedback", torque, name), lambda: torque.derivative(name).function())
    with np.errstate(all="ignore"):
        return np.asarray(derivative(*call_arguments(torque, state, start)), dtype=float)


def warn_if_unstable(rates: Sequence[Rate], method: str, dt: float, stacklevel: int) -> bool:
    """Warn where steps of this length are too long for an integrator; whether that was so."""
    integrator = METHODS[method]
    for rate in rates:
        longest = integrator.stability / rate.value if rate.value else np.inf
        is_implicit = integrator.implicit and rate.cause != "torques"
        if dt <= longest or is_implicit:
            continue
        implicit = "simulate by 'lsoda'" if rate.cause == "torques" else f"method={IMPLICIT!r}"
        warnings.warn(
            f"the time constant of {rate.cause} at joint {rate.joint!r} is {1 / rate.value:.1e} s: "
            f"steps of {dt:g} s by {method} are too long, the motion is wrong; choose "
            f"dt={_below(longest / 2):g}, or {implicit}",
            DataWarning,
            stacklevel=stacklevel + 1,
        )
        return True
    return False


def _below(x: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above x."""
    unit: float = 10.0 ** np.floor(np.log10(x))
    return unit * max(k for k in (1, 2, 5) if k * unit <= x or k == 1)

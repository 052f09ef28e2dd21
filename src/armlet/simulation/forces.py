"""Friction, stops and torques of a simulated arm, and the accelerations that they cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armlet import math
from armlet._support import validation
from armlet.api.functions import Function
from armlet.api.programs import cheapest
from armlet.api.robot import Robot
from armlet.dynamics.passive import drive_friction
from armlet.errors import DataError, quote
from armlet.graph import Input
from armlet.graph.graph import graph_of
from armlet.graph.trace.arrays import as_traced
from armlet.robot import Drive, RobotModel
from armlet.scalar import Scalar
from armlet.search.compose import record
from armlet.search.request import make_request

Array = Any
"""An array of numbers or of traced scalars."""
Inputs = Mapping[str, Array]
"""Name -> value of inputs besides the state: `tau`, `inertia`, and arguments of user functions."""
LEAST = 1e-6
"""The least velocity change that `friction_damping` divides by, relative to `law.velocity`."""


# ------------------------------------------------------------------ friction


@dataclass(frozen=True)
class Friction:
    """Smooth friction law of the drives, for simulation.

    The friction of a joint is viscous q̇ + (coulomb + stribeck exp(-(q̇/w)²)) tanh(q̇/v) + offset,
    where viscous, coulomb and offset are fields of the joint's `Drive`.

    Parameters
    ----------
    velocity : float
        The velocity v in rad/s or m/s; Coulomb friction reaches its full value at about 3 v.
    stribeck : float or tuple of floats
        Friction near rest minus Coulomb friction (torque or force): one number, or one per joint.
    stribeck_velocity : float
        The velocity w in rad/s or m/s at which Stribeck friction has fallen to about a third.
    """

    velocity: float = 1e-2
    stribeck: float | tuple[float, ...] = 0.0
    stribeck_velocity: float = 5e-2

    def __post_init__(self) -> None:
        unit = "one in rad/s or m/s"
        validation.number(self.velocity, "the friction's velocity", unit, above=0)
        validation.number(self.stribeck_velocity, "the friction's stribeck_velocity", unit, above=0)
        name, expected = "the friction's stribeck", "a torque, or one for each joint"
        array = validation.array(self.stribeck, name, (), ("joints",), expected=expected, low=0)
        object.__setattr__(self, "stribeck", tuple(array.tolist()) if array.ndim else float(array))

    def acts_on(self, robot: RobotModel) -> bool:
        """Return whether any joint of a robot has friction under this law."""
        return bool(np.any(self.stribeck)) or any(any(drive[1:]) for drive in robot.drives)

    def stribeck_at_rest(self, robot: RobotModel) -> list[float]:
        """Return `stribeck` as a list with one number per joint."""
        count = len(robot.drives)
        if np.size(self.stribeck) not in (1, count):
            raise DataError(
                f"the friction's stribeck is {quote(self.stribeck)}: expected one number or "
                f"{count}, one for each joint"
            )
        stribeck: list[float] = np.broadcast_to(self.stribeck, count).tolist()
        return stribeck


def friction_direction(law: Friction, v: Array) -> Array:
    """Return tanh(v / `law.velocity`), a smooth function in place of the sign of the velocity v."""
    return math.tanh(v / law.velocity)


def stribeck_share(law: Friction, v: Array) -> Array:
    """Return exp(-(v / `law.stribeck_velocity`)²), the Stribeck friction at v relative to rest."""
    slow = v / law.stribeck_velocity
    return math.exp(-(slow * slow))


def friction_torque(law: Friction, robot: RobotModel, qd: Array) -> Array:
    """Return friction torques, to be subtracted from the drive torques."""
    torques = [
        drive_friction(drive, v, friction_direction(law, v), stribeck)
        for drive, v, stribeck in _joints(law, robot, qd)
    ]
    return _vector(robot._coordinate_torques(np.array(torques, dtype=object)))


def friction_damping(
    law: Friction, robot: RobotModel, qd: Array, ahead: Array, share: float
) -> Array:
    """Return the damping coefficients of friction for an implicit step from velocity `qd`.

    The coefficient of a joint is `drive.viscous` plus (coulomb + Stribeck friction) times a factor.
    If the joint speeds up from `qd` to the predicted velocity `ahead`, the factor is the derivative
    of `friction_direction` at `qd`; if it slows down, the (larger) difference quotient between `qd`
    and `ahead`; if it reverses, 1 / (`share` max(|q̇|, `law.velocity`)).
    """
    damping = []
    factors = robot._joint_velocities([1] * robot.nv)  # joint velocities if all of qd is 1
    joints = zip(_joints(law, robot, qd), robot._joint_velocities(ahead), factors, strict=True)
    for (drive, v, stribeck), later, factor in joints:
        now, then = friction_direction(law, v), friction_direction(law, later)
        here = (1 - now * now) / law.velocity
        change = math.maximum(abs(v - later), LEAST * law.velocity)
        to_later = math.maximum(abs(now - then) / change, here)
        to_rest = 1 / (share * math.maximum(abs(v), law.velocity))
        onward = math.where(abs(later) < abs(v), to_later, here)
        steepness = math.where(v * later < 0, to_rest, onward)
        damping.append((drive.viscous + (drive.coulomb + stribeck) * steepness) * factor)
    return _vector(robot._coordinate_torques(np.array(damping, dtype=object)))


def _joints(law: Friction, robot: RobotModel, qd: Array) -> Iterator[tuple[Drive, Scalar, Scalar]]:
    """Yield for each joint its drive, its velocity and the Stribeck friction at this velocity."""
    velocities, stribeck = robot._joint_velocities(qd), law.stribeck_at_rest(robot)
    for drive, v, at_rest in zip(robot.drives, velocities, stribeck, strict=True):
        yield drive, v, at_rest * stribeck_share(law, v) if at_rest else 0


# ------------------------------------------------------------------ stops


@dataclass(frozen=True)
class Stops:
    """Damped elastic stops at the joint limits.

    Beyond a limit, a stop pushes the joint back with a torque of stiffness times penetration, and
    brakes it with a torque of damping times velocity.
    """

    stiffness: float = 1e4
    damping: float = 1e2
    depth: float = 1e-2
    """The penetration in rad or m over which damping grows from zero to its full value."""

    def __post_init__(self) -> None:
        validation.number(self.stiffness, "the stops' stiffness", "one in Nm/rad or N/m", above=0)
        validation.number(self.depth, "the stops' depth", "one in rad or m", above=0)
        validation.number(self.damping, "the stops' damping", "one in Nm s/rad or N s/m", low=0)


def stop_torque(stops: Stops, robot: RobotModel, q: Array, qd: Array) -> Array:
    """Return the torques that stops exert on the joints."""
    torques = []
    for (below, beyond), v in zip(_depths(robot, q), qd, strict=True):
        depth = math.minimum((beyond + below) / stops.depth, 1)
        torques.append(stops.stiffness * (below - beyond) - stops.damping * depth * v)
    return _vector(torques)


def stop_stiffness(
    stops: Stops, robot: RobotModel, q: Array, qd: Array, ahead: Array
) -> tuple[Array, Array]:
    """Return upper bounds on the stiffness -∂τ/∂q and the damping -∂τ/∂q̇ of stop torques τ.

    A stop counts if the joint is beyond its limit at position `q` or at position `ahead`.
    """
    K, D = [], []
    for now, then, v in zip(_depths(robot, q), _depths(robot, ahead), qd, strict=True):
        depth = math.maximum(sum(now), sum(then))
        D.append(stops.damping * math.minimum(depth / stops.depth, 1))
        K.append(math.where(depth > 0, stops.stiffness + stops.damping / stops.depth * abs(v), 0))
    return _vector(K), _vector(D)


def _depths(robot: RobotModel, q: Array) -> Iterator[tuple[Scalar, Scalar]]:
    """Yield for each velocity how far its joint is below the lower and above the upper limit."""
    moved = robot.difference(robot.neutral, q)
    for low, high, x in zip(*_limits_of_velocities(robot).tolist(), moved, strict=True):
        below = math.maximum(low - x, 0) if low > -np.inf else 0 * x
        yield below, math.maximum(x - high, 0) if high < np.inf else 0 * x


def _limits_of_velocities(robot: RobotModel) -> Array:
    """Return the lower and the upper position limits, each in the order of qd."""
    limits = [x.limits[:2] for x in robot.coordinates for _ in x.type.twists]
    return np.array(limits, dtype=float).T


# ------------------------------------------------------------------ the arm


@dataclass(frozen=True, eq=False)
class Plant:
    """A robot to simulate, with options for friction, stops and inertial parameters.

    The robot's springs and gravity compensation always act.

    Parameters
    ----------
    robot : Robot
    friction : bool or Friction
        Whether drives have friction; a `Friction` also sets the friction law.
    stops : bool or Stops
        Whether joints have stops at their limits; a `Stops` also sets stiffness and damping.
    inertia : array_like of shape (nb, 10), optional
        Inertial parameters instead of `robot.phi`; for `rollout` also (N, nb, 10), one set per run.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("panda")
    >>> plant = armlet.Plant(robot, friction=False, stops=True)
    >>> armlet.simulate(plant, [0, 0, 0, -1, 0, 1, 0], duration=1.0)
    <Trajectory of 7 joints, 1001 rows, 0 to 1 s>
    """

    robot: Robot
    friction: bool | Friction = True
    stops: bool | Stops = False
    inertia: ArrayLike | None = None

    def __post_init__(self) -> None:
        validation.instance(self.robot, "robot", Robot, "a robot, as of armlet.load(...)")
        for name, law in (("friction", Friction), ("stops", Stops)):
            value = getattr(self, name)
            if not isinstance(value, (bool, law)):
                raise DataError(f"{name} is {quote(value)}: expected a bool or {law.__name__}")


def single_plant(robot: Robot | Plant) -> Plant:
    """Convert a robot to a `Plant`; if a plant has `inertia`, move it into the plant's robot."""
    plant = robot if isinstance(robot, Plant) else Plant(robot)
    if plant.inertia is None:
        return plant
    return replace(plant, robot=plant.robot.with_inertia(plant.inertia), inertia=None)


@dataclass(frozen=True)
class Arm:
    """A robot with the forces that act on it, for the step functions of integrators.

    The methods take traced scalars: the time t, the state q, qd, and further inputs u by name.
    """

    robot: RobotModel = field(compare=False)
    torque: Function | None = None
    friction: Friction | None = None
    """None if friction is switched off, or if no drive has friction."""
    stops: Stops | None = None
    inputs: tuple[Input, ...] = ()
    """The inputs besides the state, with their shapes and rates."""

    def quantity(self, name: str, u: Inputs, *arrays: Array) -> Array:
        """Trace a quantity such as "bias"; `u["inertia"]`, if it exists, replaces `robot.phi`."""
        inertia = [u["inertia"]] if "inertia" in u else []
        constants = {"inertia": "argument"} if inertia else {}
        arguments = [np.asarray(x, dtype=object) for x in (*arrays, *inertia)]
        graph = graph_of(arguments)
        assert graph is not None
        request = make_request(self.robot, name, constants, True, {})
        return as_traced(record(graph, request, arguments))

    def forces(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """Return the sum of all torques, including those of friction and stops."""
        return self.drive_forces(t, q, qd, u) + self.joint_forces(q, qd)

    def drive_forces(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """Return the torques of drives, springs and gravity compensation."""
        tau = u.get("tau", 0 * qd)
        if self.torque is not None:
            state = {"t": t, "q": q, "qd": qd}
            tau = self.torque.record(call_arguments(self.torque, state, u))
        if self.robot._has_springs or self.robot._has_compensation:
            smooth = Arm(self.robot._without_friction())
            tau = tau - smooth.quantity("passive_torque", {}, q, qd)
        return tau

    def joint_forces(self, q: Array, qd: Array) -> Array:
        """Return the torques of friction and stops, which depend only on each joint's own state."""
        tau = 0 * qd
        if self.friction is not None:
            tau = tau - friction_torque(self.friction, self.robot, qd)
        return tau if self.stops is None else tau + stop_torque(self.stops, self.robot, q, qd)

    def joint_stiffness(
        self, q: Array, qd: Array, h: Any, ahead: Array, share: float
    ) -> tuple[Array, Array]:
        """Return the stiffness K of stops and the damping D of friction and stops, for one step.

        `h` is the step length; `ahead` and `share` are arguments of `friction_damping`.
        """
        K = D = 0 * qd
        if self.friction is not None:
            D = D + friction_damping(self.friction, self.robot, qd, ahead, share)
        if self.stops is not None:
            K, braking = stop_stiffness(
                self.stops, self.robot, q, qd, self.robot.integrate(q, h * qd)
            )
            D = D + braking
        return K, D

    def acceleration(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """Return the accelerations under all forces."""

        def acceleration(q: Array, qd: Array, t: Any, **u: Array) -> Array:
            return self.quantity("forward_dynamics", u, q, qd, self.forces(t, q, qd, u))

        return self._simplified(acceleration, t, q, qd, u)

    def free_force(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """Return `drive_forces` minus the bias torques: H q̈ if neither friction nor stops act."""

        def free_force(q: Array, qd: Array, t: Any, **u: Array) -> Array:
            return self.drive_forces(t, q, qd, u) - self.quantity("bias", u, q, qd)

        return self._simplified(free_force, t, q, qd, u)

    def _simplified(
        self, function: Callable[..., Array], t: Any, q: Array, qd: Array, u: Inputs
    ) -> Array:
        """Trace `function`; if there is a torque function, first simplify `function` as a whole.

        The torque function and the dynamics then share common subexpressions. To simplify whole
        steps would take much longer, with little gain.
        """
        if self.torque is None:
            return function(q, qd, t, **u)
        inputs = {x.name: x for x in (*state_inputs(self.robot), *self.inputs)}
        key = (function.__name__, self)
        simplified = self.robot._once(key, lambda: Function(function, inputs))
        values = {**u, "t": t, "q": q, "qd": qd}
        return simplified.record([values[name] for name in inputs])


def state_inputs(robot: RobotModel) -> list[Input]:
    """Return the inputs of every step: q, qd and t."""
    return [Input("q", (robot.nq,)), Input("qd", (robot.nv,)), Input("t", ())]


PREFIX = "arguments."
"""The prefix of inputs for arguments of user functions; it avoids clashes with other inputs."""


def call_arguments(function: Function, state: Inputs, u: Inputs) -> list[Any]:
    """Return the arguments of a user function in order, from the state and further inputs."""
    return [state[x] if x in state else u[PREFIX + x] for x in function.inputs]


def _vector(entries: Any) -> Array:
    return as_traced(np.array(entries, dtype=object))


# ------------------------------------------------------------------ stiffness


class Rate(NamedTuple):
    """The largest absolute eigenvalue of the linearised arm if only the forces in `cause` act."""

    value: float
    """The absolute eigenvalue, in 1/s."""
    cause: str
    """The forces: "friction", "stops", or "torques" (of springs and of the torque function)."""
    joint: str
    """The name of the largest velocity in the eigenvector."""


def rates_at(arm: Arm, q: Array, qd: Array, u: Inputs) -> list[Rate]:
    """Return a `Rate` for each cause (friction, stops, torques) that depends on the state.

    A rate is the largest absolute eigenvalue of H q̈ = -K δ - D q̇, where -K and -D are the
    derivatives of the forces by displacements δ from q and by q̇. Friction is linearised at rest,
    where its derivatives are largest, and every stop as if the joint touched it. Torques are
    linearised at time 0, both in the state q, qd and at rest, where friction-like torque functions
    are steepest.
    """
    causes = [x for x in _derivatives(arm, q, qd, u) if np.any(x[1]) or np.any(x[2])]
    if not causes:
        return []
    robot = arm.robot
    zero, one = np.zeros((robot.nv, robot.nv)), np.eye(robot.nv)
    inertia = [u["inertia"]] if "inertia" in u else []
    constants = {"inertia": "argument"} if inertia else {}
    H = cheapest(robot, "inertia_matrix", constants=constants).program.function()(q, *inertia)
    if not np.isfinite(H := np.asarray(H, dtype=float)).all():
        return []
    inverse = np.linalg.pinv(H)
    rates = []
    for cause, K, D in causes:
        model = np.block([[zero, one], [-inverse @ K, -inverse @ D]])
        if np.isfinite(model).all():
            eigenvalues, vectors = np.linalg.eig(model)
            k = int(np.abs(eigenvalues).argmax())
            joint = robot.velocity_names[int(np.abs(vectors[robot.nv :, k]).argmax())]
            rates.append(Rate(float(np.abs(eigenvalues[k])), cause, joint))
    return rates


def cached_rates(arm: Arm, q: Array, qd: Array, u: Inputs) -> list[Rate]:
    """Return `rates_at`, or the cached result if constant arguments and inertias are unchanged."""
    gains = () if arm.torque is None else tuple(PREFIX + x for x in arm.torque.inputs)
    key = tuple(
        np.asarray(u[x.name]).tobytes()
        for x in arm.inputs
        if x.name in (*gains, "inertia") and x.rate in ("once", "run")
    )
    cached: dict[Any, list[Rate]] = arm.robot._once(("rates", arm), dict)
    if key not in cached:
        rates = rates_at(arm, q, qd, u)
        cached.clear()
        cached[key] = rates
    return cached[key]


def _derivatives(arm: Arm, q: Array, qd: Array, u: Inputs) -> Iterator[tuple[str, Array, Array]]:
    """Yield each cause (see `Rate`) with K and D: minus the derivatives of its forces by q, qd."""
    robot = arm.robot
    gamma = robot._joint_velocities(np.eye(robot.nv)).T  # derivatives of joint velocities by qd
    none = np.zeros((robot.nv, robot.nv))
    if arm.friction is not None:
        viscous = np.array([float(drive.viscous) for drive in robot.drives])
        dry = np.array([float(drive.coulomb) for drive in robot.drives])
        dry += arm.friction.stribeck_at_rest(robot)
        damping = viscous + dry / arm.friction.velocity
        yield "friction", none, gamma.T @ (damping[:, None] * gamma)
    if arm.stops is not None:
        limited = np.isfinite(_limits_of_velocities(robot)).any(0)
        yield "stops", np.diag(arm.stops.stiffness * limited), np.diag(arm.stops.damping * limited)
    K, D = none, none
    if robot._has_springs:
        stiffness = np.array([float(spring.stiffness) for spring in robot.springs])
        K = gamma.T @ (stiffness[:, None] * gamma)
    if arm.torque is None:
        yield "torques", K, D
        return
    for velocity in (qd, 0 * qd):
        state = {"q": q, "qd": velocity, "t": np.zeros(())}
        by_q, by_qd = (_torque_derivative(arm, name, state, u) for name in ("q", "qd"))
        yield "torques", K - by_q @ robot._tangent(q), D - by_qd


def _torque_derivative(arm: Arm, name: str, state: Inputs, u: Inputs) -> Array:
    torque = arm.torque
    assert torque is not None
    if name not in torque.inputs:
        return np.zeros((arm.robot.nv, len(state[name])))
    derivative = arm.robot._once(
        ("torque derivative", torque, name), lambda: torque.derivative(name).function()
    )
    with np.errstate(all="ignore"):
        return np.asarray(derivative(*call_arguments(torque, state, u)), dtype=float)

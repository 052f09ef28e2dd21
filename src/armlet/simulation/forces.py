"""An arm under forces: friction, stops, torques, and the accelerations that follow from them."""

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
"""An array of numbers, or of traced scalars."""
Inputs = Mapping[str, Array]
"""Further inputs by name: `tau` (torques), `inertia`, and those named by `argument_input`."""
LEAST = 1e-6
"""The least change of a velocity over which a mean is taken, relative to `Friction.velocity`."""


# ------------------------------------------------------------------ friction


@dataclass(frozen=True)
class Friction:
    """Friction in the drives, smooth enough to be simulated.

    The torque of a joint is viscous q̇ + (coulomb + stribeck exp(-(q̇/w)²)) tanh(q̇/v) + offset,
    where viscous, coulomb and offset are those of the joint's drive.

    Parameters
    ----------
    velocity : float
        v, rad/s or m/s: at three times this velocity Coulomb friction is complete.
    stribeck : float or tuple of floats
        The friction near rest in excess of Coulomb friction (torque or force).
    stribeck_velocity : float
        w, rad/s or m/s: the velocity at which this excess has fallen to a third.
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
        """Whether a robot has any friction under this law."""
        return bool(np.any(self.stribeck)) or any(any(drive[1:]) for drive in robot.drives)

    def stribeck_at_rest(self, robot: RobotModel) -> list[float]:
        """Stribeck's friction at rest, joint by joint."""
        count = len(robot.drives)
        if np.size(self.stribeck) not in (1, count):
            raise DataError(
                f"the friction's stribeck is {quote(self.stribeck)}: expected one number or "
                f"{count}, one for each joint"
            )
        stribeck: list[float] = np.broadcast_to(self.stribeck, count).tolist()
        return stribeck


def friction_direction(law: Friction, v: Array) -> Array:
    """The smooth function tanh(q̇/v) in place of the sign of velocities."""
    return math.tanh(v / law.velocity)


def stribeck_share(law: Friction, v: Array) -> Array:
    """The share of Stribeck's friction that remains at a velocity: exp(-(q̇/w)²)."""
    slow = v / law.stribeck_velocity
    return math.exp(-(slow * slow))


def friction_torque(law: Friction, robot: RobotModel, qd: Array) -> Array:
    """The torques of friction, to be subtracted from those of the drives."""
    torques = [
        drive_friction(drive, v, friction_direction(law, v), stribeck)
        for drive, v, stribeck in _joints(law, robot, qd)
    ]
    return _vector(robot._coordinate_torques(np.array(torques, dtype=object)))


def friction_damping(
    law: Friction, robot: RobotModel, qd: Array, ahead: Array, share: float
) -> Array:
    """A bound on the derivative of friction by velocity, on the way from `qd` to `ahead`.

    It is the viscous coefficient plus the derivative of Coulomb and Stribeck friction: at `qd` if
    a joint speeds up; the mean from `qd` to `ahead` if the joint slows down, since this is larger;
    the mean from `qd` to rest, divided by `share`, if the velocity changes its sign.
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
    """Yield the drive of each joint, its velocity, and Stribeck's friction at this velocity."""
    velocities, stribeck = robot._joint_velocities(qd), law.stribeck_at_rest(robot)
    for drive, v, at_rest in zip(robot.drives, velocities, stribeck, strict=True):
        yield drive, v, at_rest * stribeck_share(law, v) if at_rest else 0


# ------------------------------------------------------------------ stops


@dataclass(frozen=True)
class Stops:
    """Damped stops at the limits of the joints.

    Beyond a limit a joint is pushed back by stiffness times the depth, and braked by damping times
    the velocity.
    """

    stiffness: float = 1e4
    damping: float = 1e2
    depth: float = 1e-2
    """The depth in rad or m up to which damping grows from zero to its full value."""

    def __post_init__(self) -> None:
        validation.number(self.stiffness, "the stops' stiffness", "one in Nm/rad or N/m", above=0)
        validation.number(self.depth, "the stops' depth", "one in rad or m", above=0)
        validation.number(self.damping, "the stops' damping", "one in Nm s/rad or N s/m", low=0)


def stop_torque(stops: Stops, robot: RobotModel, q: Array, qd: Array) -> Array:
    """The torques of the stops."""
    torques = []
    for below, beyond, v in zip(*_depths(robot, q), qd, strict=True):
        depth = math.minimum((beyond + below) / stops.depth, 1)
        torques.append(stops.stiffness * (below - beyond) - stops.damping * depth * v)
    return _vector(torques)


def stop_stiffness(
    stops: Stops, robot: RobotModel, q: Array, qd: Array, ahead: Array
) -> tuple[Array, Array]:
    """Bounds on the derivatives of the torques of stops by positions and by velocities, negated.

    A stop counts if the joint is beyond the limit at `q` or at `ahead`.
    """
    K, D = [], []
    for *depths, v in zip(*_depths(robot, q), *_depths(robot, ahead), qd, strict=True):
        depth = math.maximum(depths[0] + depths[1], depths[2] + depths[3])
        D.append(stops.damping * math.minimum(depth / stops.depth, 1))
        K.append(math.where(depth > 0, stops.stiffness + stops.damping / stops.depth * abs(v), 0))
    return _vector(K), _vector(D)


def _depths(robot: RobotModel, q: Array) -> tuple[list[Scalar], list[Scalar]]:
    """How far joints are below their lower limits, and how far above their upper limits."""
    limits = [joint.limits for joint in robot.coordinates]
    below = [
        math.maximum(x.lower - y, 0) if x.lower > -np.inf else 0 * y
        for x, y in zip(limits, q, strict=True)
    ]
    beyond = [
        math.maximum(y - x.upper, 0) if x.upper < np.inf else 0 * y
        for x, y in zip(limits, q, strict=True)
    ]
    return below, beyond


# ------------------------------------------------------------------ the arm


@dataclass(frozen=True, eq=False)
class Plant:
    """A robot as it is simulated: with friction, with stops, with other inertias.

    Springs and gravity compensation of the robot always act.

    Parameters
    ----------
    robot : Robot
    friction : bool or Friction
        Whether drives have friction, and how it is smoothed.
    stops : bool or Stops
        Whether joints have stops at their limits.
    inertia : array_like of shape (nb, 10), optional
        Inertial parameters in place of `robot.phi`; for roll-outs also (N, nb, 10), one per run.

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
        for name, law in (("friction", Friction), ("stops", Stops)):
            value = getattr(self, name)
            if not isinstance(value, (bool, law)):
                raise DataError(f"{name} is {quote(value)}: expected a bool or {law.__name__}")


def single_plant(robot: Robot | Plant) -> Plant:
    """The plant of one simulation, by default with friction; the robot takes over `inertia`."""
    plant = robot if isinstance(robot, Plant) else Plant(robot)
    if plant.inertia is None:
        return plant
    return replace(plant, robot=plant.robot.with_inertia(plant.inertia), inertia=None)


@dataclass(frozen=True)
class Arm:
    """A robot and the forces that act on it, as integrators see it.

    Its methods are functions of traced scalars: of the time, the state, and further inputs u.
    """

    robot: RobotModel = field(compare=False)
    torque: Function | None = None
    friction: Friction | None = None
    """None also if the drives of the robot have no friction."""
    stops: Stops | None = None
    inputs: tuple[Input, ...] = ()
    """The further inputs, with their shapes and rates."""

    def quantity(self, name: str, u: Inputs, *arrays: Array) -> Array:
        """A quantity of the robot, such as "bias", with the inertia in u if there is one."""
        inertia = [u["inertia"]] if "inertia" in u else []
        constants = {"inertia": "argument"} if inertia else {}
        arguments = [np.asarray(x, dtype=object) for x in (*arrays, *inertia)]
        graph = graph_of(arguments)
        assert graph is not None
        request = make_request(self.robot, name, constants, True, {})
        return as_traced(record(graph, request, arguments))

    def forces(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """All torques: those of drives, springs and compensation, friction and stops."""
        return self.drive_forces(t, q, qd, u) + self.joint_forces(q, qd)

    def drive_forces(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """The torques of the drives, of springs and of gravity compensation."""
        tau = u.get("tau", 0 * qd)
        if self.torque is not None:
            state = {"t": t, "q": q, "qd": qd}
            tau = self.torque.record(call_arguments(self.torque, state, u))
        if self.robot._has_springs or self.robot._has_compensation:
            smooth = Arm(self.robot._without_friction())
            tau = tau - smooth.quantity("passive_torque", {}, q, qd)
        return tau

    def joint_forces(self, q: Array, qd: Array) -> Array:
        """The torques of friction and stops, each a function of the motion of its joint."""
        tau = 0 * qd
        if self.friction is not None:
            tau = tau - friction_torque(self.friction, self.robot, qd)
        return tau if self.stops is None else tau + stop_torque(self.stops, self.robot, q, qd)

    def joint_stiffness(
        self, q: Array, qd: Array, h: Any, ahead: Array, share: float
    ) -> tuple[Array, Array]:
        """Bounds K, D on the derivatives of friction and stops by q and qd, negated, in a step.

        The step of length h leads from `qd` to `ahead`; `share` is as in `friction_damping`.
        """
        K = D = 0 * qd
        if self.friction is not None:
            D = D + friction_damping(self.friction, self.robot, qd, ahead, share)
        if self.stops is not None:
            K, braking = stop_stiffness(self.stops, self.robot, q, qd, q + h * qd)
            D = D + braking
        return K, D

    def acceleration(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """Accelerations under all forces."""

        def acceleration(q: Array, qd: Array, t: Any, **u: Array) -> Array:
            return self.quantity("forward_dynamics", u, q, qd, self.forces(t, q, qd, u))

        return self._simplified(acceleration, t, q, qd, u)

    def free_force(self, t: Any, q: Array, qd: Array, u: Inputs) -> Array:
        """The torques of drives and springs, less the bias: H q̈ without friction and stops."""

        def free_force(q: Array, qd: Array, t: Any, **u: Array) -> Array:
            return self.drive_forces(t, q, qd, u) - self.quantity("bias", u, q, qd)

        return self._simplified(free_force, t, q, qd, u)

    def _simplified(
        self, function: Callable[..., Array], t: Any, q: Array, qd: Array, u: Inputs
    ) -> Array:
        """Evaluate a function; with a torque function, simplify its program as a whole.

        The search runs once, and lets the torque function and the dynamics share operations. A
        search for whole steps would take several times as long, and gain 1 %.
        """
        if self.torque is None:
            return function(q, qd, t, **u)
        inputs = {x.name: x for x in (*state_inputs(self.robot), *self.inputs)}
        key = (function.__name__, self)
        simplified = self.robot._once(key, lambda: Function(function, inputs))
        values = {**u, "t": t, "q": q, "qd": qd}
        return simplified.record([values[name] for name in inputs])


def state_inputs(robot: RobotModel) -> list[Input]:
    """The inputs that every step has: q, qd and t."""
    return [Input("q", (robot.nq,)), Input("qd", (robot.nv,)), Input("t", ())]


PREFIX = "arguments."
"""The prefix of inputs that are arguments of user functions, which may have any name."""


def argument_input(name: str) -> str:
    """The name of the input for an argument of user functions."""
    return PREFIX + name


def call_arguments(function: Function, state: Inputs, u: Inputs) -> list[Any]:
    """The arguments of a user function in its order, from the state and further inputs."""
    return [state[x] if x in state else u[argument_input(x)] for x in function.inputs]


def _vector(entries: Any) -> Array:
    return as_traced(np.array(entries, dtype=object))


# ------------------------------------------------------------------ stiffness


class Rate(NamedTuple):
    """The largest eigenvalue of a linear model of the arm, in absolute value, and its cause."""

    value: float
    """In 1/s."""
    cause: str
    """Friction, stops, or torques (of springs and of the torque function)."""
    joint: str
    """The joint that moves most."""


def rates_at(arm: Arm, q: Array, qd: Array, u: Inputs) -> list[Rate]:
    """The rates of friction, of stops and of the other forces that depend on the state.

    Each rate is the largest eigenvalue of H q̈ = -K q - D q̇ at a state, where -K and -D are the
    derivatives of the forces: of friction at rest, where it is steepest; of stops in contact.
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
            joint = robot.coordinates[int(np.abs(vectors[robot.nv :, k]).argmax())].name
            rates.append(Rate(float(np.abs(eigenvalues[k])), cause, joint))
    return rates


def cached_rates(arm: Arm, q: Array, qd: Array, u: Inputs) -> list[Rate]:
    """The result of `rates_at`, computed again only if arguments of the torque function change."""
    gains = () if arm.torque is None else tuple(map(argument_input, arm.torque.inputs))
    key = tuple(
        np.asarray(u[x.name]).tobytes()
        for x in arm.inputs
        if x.name in gains and x.rate in ("once", "run")
    )
    cached: dict[Any, list[Rate]] = arm.robot._once(("rates", arm), dict)
    if key not in cached:
        rates = rates_at(arm, q, qd, u)
        cached.clear()
        cached[key] = rates
    return cached[key]


def _derivatives(arm: Arm, q: Array, qd: Array, u: Inputs) -> Iterator[tuple[str, Array, Array]]:
    """Yield each cause of forces, and the derivatives of the forces by q and qd, negated."""
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
        limited = np.array([np.isfinite(joint.limits[:2]).any() for joint in robot.coordinates])
        yield "stops", np.diag(arm.stops.stiffness * limited), np.diag(arm.stops.damping * limited)
    K, D = none, none
    if robot._has_springs:
        stiffness = np.array([float(spring.stiffness) for spring in robot.springs])
        K = gamma.T @ (stiffness[:, None] * gamma)
    if arm.torque is not None:
        state = {"q": q, "qd": qd, "t": np.zeros(())}
        K = K - _torque_derivative(arm, "q", state, u)
        D = D - _torque_derivative(arm, "qd", state, u)
    yield "torques", K, D


def _torque_derivative(arm: Arm, name: str, state: Inputs, u: Inputs) -> Array:
    """The derivative of the torque function by q or qd at a state."""
    torque = arm.torque
    assert torque is not None
    if name not in torque.inputs:
        return np.zeros(())
    derivative = arm.robot._once(
        ("torque derivative", torque, name), lambda: torque.derivative(name).function()
    )
    with np.errstate(all="ignore"):
        return np.asarray(derivative(*call_arguments(torque, state, u)), dtype=float)

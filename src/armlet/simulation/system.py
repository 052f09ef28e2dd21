"""An arm that moves: accelerations under torques, passive forces and stops, on traced scalars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from armlet import math
from armlet.api.functions import Function
from armlet.errors import DataError, quoted
from armlet.graph import Input
from armlet.graph.graph import graph_of
from armlet.graph.trace.arrays import as_traced
from armlet.robot import Drive, RobotModel
from armlet.scalar import Scalar
from armlet.search.compose import record
from armlet.search.request import request
from armlet.simulation.arguments import call_arguments, numbers, positive

Array = Any
"""An array of traced scalars."""
LEAST = 1e-6
"""The least change of a velocity, relative to the friction's, over which a mean is taken."""


@dataclass(frozen=True)
class Friction:
    """Friction in the drives, smooth enough to be simulated.

    viscous q̇ + (coulomb + stribeck exp(-(q̇/w)²)) tanh(q̇/v) + offset, joint by joint, where
    viscous, coulomb and offset are those of the robot's drives.

    Parameters
    ----------
    velocity : float
        v, rad/s or m/s: at three times this velocity Coulomb friction is complete.
    stribeck : float or tuple of floats
        By how much friction is larger at rest than in motion (torque or force).
    stribeck_velocity : float
        w, the velocity at which that has fallen to a third.
    """

    velocity: float = 1e-2
    stribeck: float | tuple[float, ...] = 0.0
    stribeck_velocity: float = 5e-2

    def __post_init__(self) -> None:
        positive("the friction's velocity", self.velocity, "one in rad/s or m/s")
        positive("the friction's stribeck_velocity", self.stribeck_velocity, "one in rad/s or m/s")
        stribeck = numbers("the friction's stribeck", self.stribeck)
        if stribeck.ndim > 1 or not np.isfinite(stribeck).all() or (stribeck < 0).any():
            raise DataError(
                f"the friction's stribeck is {quoted(self.stribeck)}: expected a torque, or one "
                "for each joint, none negative"
            )
        flat = stribeck.tolist()
        object.__setattr__(self, "stribeck", tuple(flat) if stribeck.ndim else flat)

    def acts_on(self, robot: RobotModel) -> bool:
        """Whether a robot has any friction under this law."""
        return bool(np.any(self.stribeck)) or any(any(drive[1:]) for drive in robot.drives)

    def stribeck_of(self, robot: RobotModel) -> list[float]:
        """Stribeck's friction at rest, joint by joint."""
        count = len(robot.drives)
        if np.size(self.stribeck) not in (1, count):
            raise DataError(
                f"the friction's stribeck is {quoted(self.stribeck)}: expected one number or "
                f"{count}, one for each joint"
            )
        stribeck: list[float] = np.broadcast_to(self.stribeck, count).tolist()
        return stribeck


def friction_torque(model: Friction, robot: RobotModel, qd: Array) -> Array:
    """The torques that friction takes from the drives'."""
    found = [
        drive.viscous * v + dry * math.tanh(v / model.velocity) + drive.offset
        for drive, dry, v in _dry_friction(model, robot, qd)
    ]
    return _vector(robot.coordinate_torques(np.array(found, dtype=object)))


def friction_damping(
    model: Friction, robot: RobotModel, qd: Array, ahead: Array, share: float
) -> Array:
    """How steeply friction rises with each velocity on the way from qd to ahead.

    Where a speed grows this is the derivative at qd, without the falling part of Stribeck's
    friction; where it falls, the law becomes steeper, and this is the mean from qd to ahead. Where
    a velocity changes its sign it is the mean from qd to rest, divided by `share`.
    """
    found = []
    factors = robot.joint_velocities([1] * robot.nv)  # of each joint at unit velocity
    joints = zip(
        _dry_friction(model, robot, qd), robot.joint_velocities(ahead), factors, strict=True
    )
    for (drive, dry, v), later, factor in joints:
        now, then = math.tanh(v / model.velocity), math.tanh(later / model.velocity)
        here = (1 - now * now) / model.velocity
        way = math.maximum(abs(v - later), LEAST * model.velocity)
        to_later = math.maximum(abs(now - then) / way, here)
        to_rest = 1 / (share * math.maximum(abs(v), model.velocity))
        onward = math.where(abs(later) < abs(v), to_later, here)
        steepness = math.where(v * later < 0, to_rest, onward)
        found.append((drive.viscous + dry * steepness) * factor)
    return _vector(robot.coordinate_torques(np.array(found, dtype=object)))


def _dry_friction(
    model: Friction, robot: RobotModel, qd: Array
) -> Iterator[tuple[Drive, Scalar, Scalar]]:
    """Of each joint: its drive, Coulomb's and Stribeck's friction at a velocity, the velocity."""
    velocities = robot.joint_velocities(qd)
    for drive, more, v in zip(robot.drives, model.stribeck_of(robot), velocities, strict=True):
        dry = drive.coulomb
        if more:
            slow = v / model.stribeck_velocity
            dry = dry + more * math.exp(-(slow * slow))
        yield drive, dry, v


@dataclass(frozen=True)
class Stops:
    """Damped stops at the limits of the joints.

    Beyond a limit a joint is pushed back by stiffness times the depth, and braked by damping times
    the velocity.
    """

    stiffness: float = 1e4
    damping: float = 1e2
    depth: float = 1e-2
    """How deep a stop is before its damping is complete, rad or m: it sets in with the depth."""

    def __post_init__(self) -> None:
        positive("the stops' stiffness", self.stiffness, "one in Nm/rad or N/m")
        positive("the stops' depth", self.depth, "one in rad or m")
        damping = numbers("the stops' damping", self.damping)
        if damping.shape or not np.isfinite(damping) or damping < 0:
            raise DataError(
                f"the stops' damping is {quoted(self.damping)}: expected one in Nm s/rad or N s/m"
            )


def stop_torque(model: Stops, robot: RobotModel, q: Array, qd: Array) -> Array:
    """The torques of the stops."""
    found = []
    for before, beyond, v in zip(*_depths(robot, q), qd, strict=True):
        deep = math.minimum((beyond + before) / model.depth, 1)
        found.append(model.stiffness * (before - beyond) - model.damping * deep * v)
    return _vector(found)


def stop_stiffness(
    model: Stops, robot: RobotModel, q: Array, qd: Array, ahead: Array
) -> tuple[Array, Array]:
    """How steeply stops push back with each position, and brake with each velocity.

    A stop counts if a joint is in it at q or at `ahead`.
    """
    K, D = [], []
    for *depths, v in zip(*_depths(robot, q), *_depths(robot, ahead), qd, strict=True):
        depth = math.maximum(depths[0] + depths[1], depths[2] + depths[3])
        D.append(model.damping * math.minimum(depth / model.depth, 1))
        K.append(math.where(depth > 0, model.stiffness + model.damping / model.depth * abs(v), 0))
    return _vector(K), _vector(D)


def _depths(robot: RobotModel, q: Array) -> tuple[list[Scalar], list[Scalar]]:
    """How far joints are below their lower limits, and above their upper ones."""
    limits = [joint.limits for joint in robot.coordinates]
    before = [
        math.maximum(x.lower - y, 0) if x.lower > -np.inf else 0 * y
        for x, y in zip(limits, q, strict=True)
    ]
    beyond = [
        math.maximum(y - x.upper, 0) if x.upper < np.inf else 0 * y
        for x, y in zip(limits, q, strict=True)
    ]
    return before, beyond


@dataclass(frozen=True)
class Arm:
    """A robot that moves, as the methods of `METHODS` see it, with all that is given beside q, qd.

    `given` has the traced values of further inputs by name: `tau` (torques), `inertia`, and the
    arguments of the torque function, called as `argument` says.
    """

    robot: RobotModel
    torque: Function | None = None
    friction: Friction | None = None
    stops: Stops | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def quantity(self, name: str, *arrays: Array) -> Array:
        """A quantity of the robot, with the inertia that is given, if one is."""
        inertia = [self.given["inertia"]] if "inertia" in self.given else []
        constants = {"inertia": "argument"} if inertia else {}
        given = [np.asarray(x, dtype=object) for x in (*arrays, *inertia)]
        graph = graph_of(given)
        assert graph is not None
        return as_traced(record(graph, request(self.robot, name, constants, True, {}), given))

    def forces(self, t: Any, q: Array, qd: Array) -> Array:
        """All torques: those of drives, springs and compensation, friction and stops."""
        return self.outer_forces(t, q, qd) + self.joint_forces(q, qd)

    def outer_forces(self, t: Any, q: Array, qd: Array) -> Array:
        """The torques of the drives, of springs and of gravity compensation."""
        tau = self.given.get("tau", 0 * qd)
        if self.torque is not None:
            state = {"t": t, "q": q, "qd": qd}
            tau = self.torque.record(call_arguments(self.torque, state, self.given))
        if self.robot.has_springs or self.robot.has_compensation:
            smooth = replace(self, robot=self.robot.without_friction(), given={})
            tau = tau - smooth.quantity("passive_torque", q, qd)
        return tau

    def joint_forces(self, q: Array, qd: Array) -> Array:
        """The torques of friction and stops, each a function of its own joint's motion."""
        tau = 0 * qd
        if self._acting_friction is not None:
            tau = tau - friction_torque(self._acting_friction, self.robot, qd)
        return tau if self.stops is None else tau + stop_torque(self.stops, self.robot, q, qd)

    def joint_stiffness(
        self, q: Array, qd: Array, h: Any, ahead: Array, share: float
    ) -> tuple[Array, Array]:
        """How steeply friction and stops rise with each position and velocity, never negative.

        On the way from qd to `ahead` in a time h; `share` is that of `friction_damping`.
        """
        K = D = 0 * qd
        if self._acting_friction is not None:
            D = D + friction_damping(self._acting_friction, self.robot, qd, ahead, share)
        if self.stops is not None:
            K, braking = stop_stiffness(self.stops, self.robot, q, qd, q + h * qd)
            D = D + braking
        return K, D

    @property
    def _acting_friction(self) -> Friction | None:
        """The law of friction, if there is any."""
        acts = self.friction is not None and self.friction.acts_on(self.robot)
        return self.friction if acts else None

    def acceleration(self, t: Any, q: Array, qd: Array) -> Array:
        """Accelerations under all forces."""
        return self.quantity("forward_dynamics", q, qd, self.forces(t, q, qd))

    def inertia_matrix(self, q: Array) -> Array:
        """H(q)."""
        return self.quantity("inertia_matrix", q)

    def bias(self, q: Array, qd: Array) -> Array:
        """Coriolis, centrifugal and gravity torques."""
        return self.quantity("bias", q, qd)

    def gravity_torque(self, q: Array) -> Array:
        """Gravity torques."""
        return self.quantity("gravity_torque", q)

    def slope_of_kinetic_energy(self, q: Array, qd: Array) -> Array:
        """The derivative of the kinetic energy by q, which is Cᵀ q̇ for every Coriolis matrix."""
        return self.quantity("coriolis_matrix", q, qd).T @ qd

    def solve(self, H: Array, y: Array) -> Array:
        """x with H x = y."""
        return math.solve(_vector(H), y)


@dataclass(frozen=True)
class Shared(Arm):
    """An arm whose torque function and dynamics are one program, in which they share their work."""

    together: Function | None = None

    @classmethod
    def of(cls, arm: Arm, torque: Function, inputs: Sequence[Input]) -> "Shared":
        """The arm with that program, of the time, the state and these inputs."""

        def acceleration(**x: Any) -> Array:
            return replace(arm, given=x).acceleration(x.get("t", 0), x["q"], x["qd"])

        acceleration.__name__ = f"acceleration_under_{torque.__name__}"
        state = [Input("q", (arm.robot.nq,)), Input("qd", (arm.robot.nv,)), Input("t", ())]
        every = {x.name: x for x in (*state, *inputs)}
        return cls(**vars(arm), together=Function(acceleration, every))

    def acceleration(self, t: Any, q: Array, qd: Array) -> Array:
        """Accelerations by the program."""
        state = {**self.given, "t": t, "q": q, "qd": qd}
        assert self.together is not None
        return self.together.record([state[x] for x in self.together.inputs])


def _vector(entries: Any) -> Array:
    return as_traced(np.array(entries, dtype=object))

"""An arm that moves: accelerations under torques, passive forces and stops, on traced scalars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet import math
from armlet.api.functions import Function, part_of_another
from armlet.compose import recorded
from armlet.errors import DataError, quoted
from armlet.graph import Input
from armlet.graph.arrays import as_traced, graph_of
from armlet.motion.arguments import called_with, numbers, positive
from armlet.robot import RobotModel
from armlet.tracing import request

Array = Any
"""An array of traced scalars."""


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


def friction_torque(model: Friction, robot: RobotModel, qd: Array) -> Array:
    """The torques that friction takes from the drives'."""
    count = len(robot.drives)
    if np.size(model.stribeck) not in (1, count):
        raise DataError(
            f"the friction's stribeck is {quoted(model.stribeck)}: expected one number or {count}, "
            "one for each joint"
        )
    extra = np.broadcast_to(model.stribeck, count).tolist()
    found = []
    for drive, more, v in zip(robot.drives, extra, robot.joint_velocities(qd), strict=True):
        dry = drive.coulomb
        if more:
            slow = v / model.stribeck_velocity
            dry = dry + more * math.exp(-(slow * slow))
        found.append(drive.viscous * v + dry * math.tanh(v / model.velocity) + drive.offset)
    return _vector(robot.coordinate_torques(np.array(found, dtype=object)))


def friction_slope(model: Friction, robot: RobotModel, qd: Array) -> Array:
    """The derivative of each torque by its own velocity, without Stribeck's part."""
    found = []
    moved = robot.joint_velocities([1] * robot.nv)  # of each joint at unit velocity
    for drive, v, factor in zip(robot.drives, robot.joint_velocities(qd), moved, strict=True):
        s = math.tanh(v / model.velocity)
        slope = drive.viscous + drive.coulomb / model.velocity * (1 - s * s)
        found.append(slope * factor)
    return _vector(robot.coordinate_torques(np.array(found, dtype=object)))


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

    def longest_step(self, H: NDArray[np.float64]) -> float:
        """How long steps may be with all joints at their stops: the fastest time constant."""
        softness = np.linalg.inv(H)
        zero, one = np.zeros_like(H), np.eye(len(H))
        slope = np.block([[zero, one], [-self.stiffness * softness, -self.damping * softness]])
        return float(1 / np.abs(np.linalg.eigvals(slope)).max())


def stop_torque(model: Stops, robot: RobotModel, q: Array, qd: Array) -> Array:
    """The torques of the stops."""
    found = []
    for joint, x, v in zip(robot.coordinates, q, qd, strict=True):
        low, high = joint.limits.lower, joint.limits.upper
        beyond = math.maximum(x - high, 0) if high < np.inf else 0
        before = math.maximum(low - x, 0) if low > -np.inf else 0
        deep = math.minimum((beyond + before) / model.depth, 1)
        found.append(model.stiffness * (before - beyond) - model.damping * deep * v)
    return _vector(found)


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
        return as_traced(recorded(graph, request(self.robot, name, constants, True, {}), given))

    def forces(self, t: Any, q: Array, qd: Array) -> Array:
        """Torques less friction and other passive torques, with those of the stops."""
        tau = self.given.get("tau", 0 * qd)
        if self.torque is not None:
            state = {"t": t, "q": q, "qd": qd}
            tau = part_of_another(self.torque, called_with(self.torque, state, self.given))
        if self.friction is not None and self.friction.acts_on(self.robot):
            tau = tau - friction_torque(self.friction, self.robot, qd)
        if self.robot.has_springs or self.robot.compensates:
            smooth = replace(self, robot=self.robot.without_friction(), given={})
            tau = tau - smooth.quantity("passive_torque", q, qd)
        return tau if self.stops is None else tau + stop_torque(self.stops, self.robot, q, qd)

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

    def damping(self, qd: Array) -> Array:
        """The slope of each joint's friction by its velocity."""
        return 0 * qd if self.friction is None else friction_slope(self.friction, self.robot, qd)

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
        return part_of_another(self.together, [state[x] for x in self.together.inputs])


def _vector(entries: Any) -> Array:
    return as_traced(np.array(entries, dtype=object))

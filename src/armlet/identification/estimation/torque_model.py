"""What torques are made of: columns that are linear in the parameters to be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armlet.api import Robot, minimal_parameters
from armlet.api.functions import Function
from armlet.description.rounding import with_exact_angles
from armlet.errors import DataError, listed, quoted
from armlet.identification.estimation.factors import Array
from armlet.identification.logs.log import Load
from armlet.minimal import MinimalParameters, standard_names
from armlet.simulation.system import Friction

Column = Callable[[Array, Array, Array], ArrayLike]
"""The torques of all joints, (k, n), at states (k, n), for a parameter that is 1."""
FRICTION: dict[str, Callable[[Array, Array], Array]] = {
    "viscous": lambda qd, sign: qd,
    "coulomb": lambda qd, sign: sign,
    "offset": lambda qd, sign: np.ones_like(qd),
    "coulomb_forward": lambda qd, sign: np.maximum(sign, 0),
    "coulomb_backward": lambda qd, sign: np.minimum(sign, 0),
}
"""The torque of one joint at its velocity and the sign of that, for a parameter that is 1."""
USUAL = ("viscous", "coulomb", "offset")


@dataclass(frozen=True)
class Sigmoid:
    """The shape of friction p₁/(1 + exp(-p₂ (q̇ + p₃))) - p₁/(1 + exp(-p₂ p₃)) (Gaz et al. 2019).

    How large it is, p₁, is a parameter of each joint that `identify` finds; viscous friction and
    an offset are part of the shape. `sigmoid_friction` finds it from logs.

    Attributes
    ----------
    steepness : tuple of float
        p₂ of every joint, s/rad or s/m.
    shift : tuple of float
        p₃ of every joint, rad/s or m/s.
    """

    steepness: tuple[float, ...]
    shift: tuple[float, ...]

    def torques(self, qd: Array) -> tuple[Array, Array, Array]:
        """The torques at velocities (k, n), for p₁ = 1, and their derivatives by log p₂ and p₃."""
        p2, p3 = np.array(self.steepness), np.array(self.shift)
        # (1 + tanh(x/2))/2 is 1/(1 + exp(-x)) without overflow
        moving, at_rest = np.tanh(p2 * (qd + p3) / 2), np.tanh(p2 * p3 / 2)
        slope, first = p2 * (1 - moving**2) / 4, p2 * (1 - at_rest**2) / 4
        return (moving - at_rest) / 2, (qd + p3) * slope - p3 * first, slope - first


@dataclass(frozen=True)
class TorqueModel:
    """Torques as a sum of columns times parameters, and of what is known besides.

    Attributes
    ----------
    parameters : MinimalParameters
        The inertial parameters, with those of the drives that are in the set.
    friction : sequence of str
        What friction each joint has that is not in that set, names of `FRICTION`, "stribeck" or
        "sigmoid"; of coupled joints, all friction is taken to be that of the joint that leads.
    shape : Friction or Sigmoid, optional
        How signs are made smooth and how Stribeck's part falls, as in a simulation, or the shape of
        a sigmoid; signs are those of the velocities by default.
    extra : mapping of str to function
        Further columns by name: functions of q, qd and qdd, of your own (`armlet.function`, for one
        state) or of arrays with a row for every state, that return the torques of all joints.
    gains : bool
        Whether the gains of the drives are unknown, so that rows have a further column with the
        torques of the payload that is known.
    notes : tuple of str
        What was left out of the parameters, and why.
    """

    parameters: MinimalParameters[Robot]
    friction: tuple[str, ...] = ()
    shape: Friction | Sigmoid | None = None
    extra: Mapping[str, Function | Column] = field(default_factory=dict)
    gains: bool = False
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many columns the rows of an identification have."""
        return len(self.names) + self.gains

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters in their order."""
        leaders = self.parameters.model.leaders
        joints = (f"{kind}{i + 1}" for kind in self.friction for i in leaders)
        return (*self.parameters.names, *joints, *self.extra)

    @property
    def standard(self) -> tuple[str, ...]:
        """The standard parameters, ten per body and those of drives, and those beside the set."""
        return (*self.parameters.standard, *self.names[len(self.parameters) :])

    @property
    def Lam(self) -> Array:
        """All parameters as a matrix times the standard ones."""
        p = self.parameters
        others = len(self.names) - len(p)
        found = np.zeros((len(self.names), len(p.standard) + others))
        found[: len(p), : len(p.standard)] = p.Lam
        found[len(p) :, len(p.standard) :] = np.eye(others)
        return found

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """The columns, (k, n, p)."""
        robot = self.parameters.model
        k, n = qd.shape
        W = np.zeros((k, n, len(self.names)))
        place = len(self.parameters)
        W[..., :place] = robot.regressor(q, qd, qdd, parameters=self.parameters)
        joints = np.arange(n)
        for kind in self.friction:
            W[:, joints, place + joints] = self._friction(kind, qd)
            place += n
        for name, function in self.extra.items():
            W[..., place] = self._column(name, function, {"q": q, "qd": qd, "qdd": qdd})
            place += 1
        return W

    @property
    def has_known(self) -> bool:
        """Whether there are torques that are known and not identified."""
        robot = self.parameters.model
        return robot.has_springs or robot.has_compensation

    def known(self, q: Array, qd: Array) -> Array:
        """The torques of springs and gravity compensation, which are not identified, (k, n)."""
        if not self.has_known:
            return np.zeros_like(qd)
        return np.asarray(self.parameters.model.without_friction().passive_torque(q, qd))

    def load(self, payload: Load | None) -> Array:
        """What a payload adds to the parameters."""
        p, found = self.parameters, np.zeros(len(self.names))
        if payload is not None:
            more = p.model.with_payload(*payload).phi - p.model.phi
            found[: len(p)] = p.Lam[:, : more.size] @ more.astype(float).ravel()
        return found

    def robot(self, x: Array) -> Robot:
        """The arm with these parameters: its torques are right, its bodies may be unphysical."""
        p = self.parameters
        return self.with_drives(p.robot(x[: len(p)]), dict(zip(self.names, x, strict=True)))

    def with_drives(self, arm: Robot, known: Mapping[str, float]) -> Robot:
        """An arm with those parameters of its drives that are known by name."""
        moved = set(range(arm.nb)) - set(arm.leaders)
        known = {**known, **{f"{kind}{i + 1}": 0.0 for kind in self.friction for i in moved}}
        drives = (
            drive._replace(
                **{key: float(known[f"{key}{i}"]) for key in drive._fields if f"{key}{i}" in known}
            )
            for i, drive in enumerate(arm.drives, 1)
        )
        return replace(arm, drives=tuple(drives))

    def _friction(self, kind: str, qd: Array) -> Array:
        """The torques of friction of a kind, each for a parameter that is 1."""
        if isinstance(self.shape, Sigmoid):
            return self.shape.torques(qd)[0]
        sign = np.sign(qd) if self.shape is None else np.tanh(qd / self.shape.velocity)
        if kind != "stribeck":
            return FRICTION[kind](qd, sign)
        assert self.shape is not None
        fallen: Array = np.exp(-((qd / self.shape.stribeck_velocity) ** 2)) * sign
        return fallen

    def _column(self, name: str, function: Any, state: Mapping[str, Array]) -> Array:
        if isinstance(function, Function):
            unknown = [x for x in function.inputs if x not in state]
            if unknown:
                raise DataError(
                    f"column {name!r} has an argument {unknown[0]!r}: expected q, qd or qdd"
                )
            found = np.asarray(function(*(state[x] for x in function.inputs)))
        else:
            found = np.asarray(function(*state.values()), dtype=float)
        if found.shape != state["qd"].shape:
            raise DataError(
                f"column {name!r} has shape {found.shape}: expected {state['qd'].shape}, the "
                "torque of every joint"
            )
        return found


FrictionModel = bool | Sequence[str] | Friction | Sigmoid


def torque_model(
    robot: Robot,
    parameters: MinimalParameters[Robot] | None,
    rotors: bool,
    friction: FrictionModel,
    extra: Mapping[str, Function | Column],
    gains: bool = False,
) -> TorqueModel:
    """The model that is asked for."""
    shape = friction if isinstance(friction, Friction | Sigmoid) else None
    kinds = _kinds(robot, friction)
    notes: tuple[str, ...] = ()
    if parameters is None:
        parameters, notes = identifiable(robot, rotors, friction is True)
    else:
        parameters = _set_of(robot, parameters)
    model = TorqueModel(parameters, kinds, shape, dict(extra), gains, notes)
    _check_names(model)
    return model


def identifiable(
    robot: Robot, rotors: bool, friction: bool
) -> tuple[MinimalParameters[Robot], tuple[str, ...]]:
    """The minimal parameters, less those that exist only as a file has rounded quarter turns.

    An axis that is off the vertical by 3e-6 rad, the rounding of 3.14159, shows a first moment with
    3e-6 of its weight, which no log tells from noise.
    """
    every = minimal_parameters(robot, rotors=rotors, friction=friction)
    exact, off = with_exact_angles(robot)
    if not off:
        return every, ()
    fewer = minimal_parameters(exact, rotors=rotors, friction=friction)
    if len(fewer) >= len(every):
        return every, ()
    note = (
        f"{len(every) - len(fewer)} of {len(every)} parameters are left out: they exist only as "
        f"angles of the file are up to {off:.1e} rad off quarter turns in all, as if they had been "
        "rounded"
    )
    return replace(fewer, model=robot), (note,)


def _set_of(robot: Robot, parameters: MinimalParameters[Robot]) -> MinimalParameters[Robot]:
    """A set that was given, as one of this robot, if it is."""
    if not parameters.fits(robot):
        raise DataError(
            f"parameters are those of {parameters.model.name!r} in other frames or under another "
            f"gravity: expected armlet.minimal_parameters of this robot, {robot.name!r}"
        )
    if parameters.of != "torques":
        raise DataError(
            f"parameters are those of {parameters.of} alone: expected those of all torques, "
            'armlet.minimal_parameters(robot, of="torques")'
        )
    return replace(parameters, model=robot)


def _check_names(model: TorqueModel) -> None:
    """Raise if two parameters have one name, or a further column has that of a parameter."""
    p = model.parameters
    twice = [kind for kind in model.friction if f"{kind}1" in p.standard]
    if twice:
        raise DataError(
            f"friction has {listed(twice)}, which parameters= has, too: expected one of them"
        )
    kinds = (*FRICTION, "stribeck", "sigmoid")
    own = {*standard_names(p.model.nb, rotors=True), *p.names}
    own |= {f"{kind}{i + 1}" for kind in kinds for i in range(p.model.nb)}
    for name in model.extra:
        if name in own:
            raise DataError(
                f"extra has a column called {quoted(name)}, as a parameter of {p.model.name!r} is: "
                "expected another name"
            )


def _kinds(robot: Robot, friction: FrictionModel) -> tuple[str, ...]:
    """What friction each joint has beside that of the minimal set."""
    if isinstance(friction, bool):
        return ()
    if isinstance(friction, Friction):
        return (*USUAL, "stribeck") if np.any(friction.stribeck) else USUAL
    if isinstance(friction, Sigmoid):
        if not len(friction.steepness) == len(friction.shift) == robot.n:
            raise DataError(
                f"friction has {len(friction.steepness)} steepnesses and {len(friction.shift)} "
                f"shifts: expected one for each of the {robot.n} joints"
            )
        return ("sigmoid",)
    for kind in friction:
        if kind not in FRICTION:
            raise DataError(
                f"friction has {quoted(kind)}: expected True, False, armlet.Friction, a Sigmoid or "
                f"names of {', '.join(FRICTION)}"
            )
    return tuple(friction)

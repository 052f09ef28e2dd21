"""Torque models that are linear in the parameters, with one regressor column per parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armlet._support import validation
from armlet.api import Robot, minimal_parameters
from armlet.api.functions import Function
from armlet.description.rounding import with_exact_angles
from armlet.errors import DataError, listing, quote
from armlet.identification.estimation.estimators import Array, Factors, Rows
from armlet.identification.logs.log import Load
from armlet.identification.preprocessing import Samples
from armlet.minimal import MinimalParameters, standard_names
from armlet.robot.components import Drive
from armlet.scalar import is_zero
from armlet.simulation.forces import Friction, friction_direction, stribeck_share

Column = Callable[[Array, Array, Array], ArrayLike]
"""A function of q, qd and qdd, each (k, n), that returns the torques (k, n) of a unit parameter."""
CHUNK = 1024
"""The number of decimated rows computed at a time."""
FRICTION: dict[str, Callable[[Array, Array], Array]] = {
    "viscous": lambda qd, sign: qd,
    "coulomb": lambda qd, sign: sign,
    "offset": lambda qd, sign: np.ones_like(qd),
    "coulomb_forward": lambda qd, sign: np.maximum(sign, 0),
    "coulomb_backward": lambda qd, sign: np.minimum(sign, 0),
}
"""Functions of the velocity and its sign that return the friction torque for a unit parameter."""
USUAL = ("viscous", "coulomb", "offset")


@dataclass(frozen=True)
class Sigmoid:
    """Sigmoid friction p₁/(1 + exp(-p₂ (q̇ + p₃))) - p₁/(1 + exp(-p₂ p₃)) (Gaz et al. 2019).

    `sigmoid_friction` fits p₂ and p₃ to logs. `identify` then estimates p₁ of each joint. The
    sigmoid replaces viscous friction, Coulomb friction and offsets.

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
        """Return torques (k, n) for p₁ = 1, and derivatives with respect to log p₂ and p₃."""
        p2, p3 = np.array(self.steepness), np.array(self.shift)
        # (1 + tanh(x/2))/2 is 1/(1 + exp(-x)) without overflow
        moving, at_rest = np.tanh(p2 * (qd + p3) / 2), np.tanh(p2 * p3 / 2)
        derivative, first = p2 * (1 - moving**2) / 4, p2 * (1 - at_rest**2) / 4
        return (moving - at_rest) / 2, (qd + p3) * derivative - p3 * first, derivative - first


@dataclass(frozen=True, eq=False)
class TorqueModel:
    """The parameters to identify: inertial parameters, friction, user-defined terms and gains.

    Attributes
    ----------
    parameters : MinimalParameters, optional
        The minimal parameters to identify, which may include rotor inertias and friction; if
        passed, `rotors` and a boolean `friction` are ignored. By default those of Lin (1994), with
        rotor inertias if `rotors` is True and with friction if `friction` is True.
    rotors : bool
        Whether to identify rotor inertias.
    friction : bool, sequence of str, Friction or Sigmoid
        True for viscous friction, Coulomb friction and an offset per joint; names among "viscous",
        "coulomb", "offset", "coulomb_forward" and "coulomb_backward"; an `armlet.Friction`, which
        is smooth around velocity 0 and may have Stribeck friction; or a `Sigmoid`.
    extra : mapping of str to function, optional
        Further terms, such as springs: for each parameter name, a function of q, qd and qdd that
        returns the torques of all joints for a unit parameter. An `armlet.function` takes one
        state; other functions take arrays with one row per state.
    gains : bool
        Whether to identify the gain of every joint: its torque per logged unit, such as Nm/A.
        At least one log then needs a known payload; see `Log.with_payload`.
    """

    parameters: MinimalParameters[Robot] | None = None
    rotors: bool = False
    friction: bool | Sequence[str] | Friction | Sigmoid = True
    extra: Mapping[str, Function | Column] = field(default_factory=dict)
    gains: bool = False

    def __post_init__(self) -> None:
        if self.parameters is not None:
            expected = "armlet.minimal_parameters(robot) or None"
            validation.instance(self.parameters, "parameters", MinimalParameters, expected)
        for name in ("rotors", "gains"):
            validation.instance(getattr(self, name), name, bool, "True or False")
        if not isinstance(self.extra, Mapping) or not all(map(callable, self.extra.values())):
            raise DataError(f"extra is {quote(self.extra)}: expected functions by name")

    def of_robot(self, robot: Robot) -> TorqueRegressor:
        """Return the torque regressor of a robot for this model."""
        validation.instance(robot, "robot", Robot, "a robot, as of armlet.load(...)")
        robot._require_vector_space("identification")
        notes: tuple[str, ...] = ()
        if self.parameters is None:
            minimal, notes = identifiable(robot, self.rotors, self.friction is True)
        elif not self.parameters.fits(robot):
            raise DataError(
                f"parameters are those of {self.parameters.model.name!r} in other frames or under "
                f"another gravity: expected armlet.minimal_parameters of this robot, {robot.name!r}"
            )
        elif self.parameters.of != "torques":
            raise DataError(
                f"parameters are those of {self.parameters.of} alone: expected those of all "
                'torques, armlet.minimal_parameters(robot, of="torques")'
            )
        else:
            minimal = replace(self.parameters, model=robot)
        shape = self.friction if isinstance(self.friction, Friction | Sigmoid) else None
        terms = self._friction_terms(robot)
        _check_names(minimal, terms, self.extra)
        absent = [x for x in Drive._fields if x not in terms and f"{x}1" not in minimal.standard]
        lost = [x for x in absent if not all(is_zero(getattr(d, x)) for d in robot.drives)]
        if lost:
            minimal = replace(minimal, model=robot.with_drives(**dict.fromkeys(lost, 0)))
            notes += (f"the torque model has no {listing(lost)}: those of the drives become 0",)
        return TorqueRegressor(minimal, terms, shape, dict(self.extra), self.gains, notes)

    def _friction_terms(self, robot: Robot) -> tuple[str, ...]:
        """Return the names of the friction terms that are no minimal parameters."""
        if isinstance(self.friction, bool):
            return ()
        if isinstance(self.friction, Friction):
            return (*USUAL, "stribeck") if np.any(self.friction.stribeck) else USUAL
        if isinstance(self.friction, Sigmoid):
            sizes = len(self.friction.steepness), len(self.friction.shift)
            if sizes != (robot.nv, robot.nv):
                raise DataError(
                    f"friction has {sizes[0]} steepnesses and {sizes[1]} shifts: expected one for "
                    f"each of the {robot.nv} joints"
                )
            return ("sigmoid",)
        terms = tuple(self.friction) if isinstance(self.friction, Iterable) else (self.friction,)
        for term in terms:
            if term not in FRICTION:
                raise DataError(
                    f"friction has {quote(term)}: expected True, False, armlet.Friction, a "
                    f"Sigmoid or names of {', '.join(FRICTION)}"
                )
        return terms


@dataclass(frozen=True)
class TorqueRegressor:
    """The torque model of a robot: regressor columns times parameters, plus known torques."""

    parameters: MinimalParameters[Robot]
    """The minimal set of inertial parameters, which may include parameters of the drives."""
    friction: tuple[str, ...]
    """Friction terms outside the minimal set; each has one parameter per joint coordinate."""
    shape: Friction | Sigmoid | None
    """The smooth shape of friction; None for Coulomb friction with the velocity's exact sign."""
    extra: Mapping[str, Function | Column]
    gains: bool
    """Whether gains are identified; if so, `rows` appends known torques to the regressor."""
    notes: tuple[str, ...]
    """Remarks on parameters that were left out."""

    @property
    def robot(self) -> Robot:
        """The robot that is identified."""
        return self.parameters.model

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters, in order."""
        joints = (f"{term}{i + 1}" for term in self.friction for i in self.robot._leaders)
        return (*self.parameters.names, *joints, *self.extra)

    @property
    def standard(self) -> tuple[str, ...]:
        """The names of the standard parameters, followed by those of friction terms and `extra`."""
        return (*self.parameters.standard, *self.names[len(self.parameters) :])

    @property
    def Lam(self) -> Array:
        """The matrix that maps the parameters `standard` to the parameters `names`."""
        p = self.parameters
        others = len(self.names) - len(p)
        Lam = np.zeros((len(self.names), len(p.standard) + others))
        Lam[: len(p), : len(p.standard)] = p.Lam
        Lam[len(p) :, len(p.standard) :] = np.eye(others)
        return Lam

    def columns(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the regressor (..., n, p) at states (..., n), with one column per parameter."""
        own = self.robot.regressor(q, qd, qdd, parameters=self.parameters)
        each, speeds = np.eye(own.shape[-2]), np.asarray(qd, dtype=float)
        friction = (self._friction(term, speeds)[..., None] * each for term in self.friction)
        state = {"q": q, "qd": qd, "qdd": qdd}
        extra = (self._column(name, term, state)[..., None] for name, term in self.extra.items())
        return np.concatenate([own, *friction, *extra], axis=-1)

    def known_torques(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the known torques (..., n): those of springs and gravity compensation."""
        if not (self.robot._has_springs or self.robot._has_compensation):
            return np.zeros(np.shape(qd))
        return np.asarray(self.robot._without_friction().passive_torque(q, qd))

    def payload(self, loads: Iterable[Load]) -> Array:
        """Return the change of the parameters due to payloads, (p,); zero without payloads."""
        p, x = self.parameters, np.zeros(len(self.names))
        for load in loads:
            more = self.robot.with_payload(*load).phi - self.robot.phi
            x[: len(p)] += p.Lam[:, : more.size] @ more.astype(float).ravel()
        return x

    def rows(self, samples: Samples) -> Iterator[Rows]:
        """Yield decimated regressors and torques in chunks; rows outside `moving` are zero.

        The known torques of payloads, springs and gravity compensation are subtracted from the
        torques or, if gains are identified, are the last column of the regressor.
        """
        load = self.payload(samples.payloads)
        for chunk in samples.chunks(CHUNK):
            W = chunk.decimate(self.columns(x.q, x.qd, x.qdd) for x in chunk.blocks())
            tau, known = chunk.decimate(chunk.tau), W @ load
            if self.robot._has_springs or self.robot._has_compensation:
                passive = (self.known_torques(x.q, x.qd) for x in chunk.blocks())
                known = known + chunk.decimate(passive)
            if self.gains:
                W = np.concatenate([W, known[..., None]], axis=-1)
            else:
                tau = tau - known
            moving = chunk.moving[chunk.indices]
            yield W * moving[..., None], tau * moving

    def all_rows(self, samples: Samples) -> Rows:
        """Return the regressor and the torques of all decimated rows, as one pair of arrays."""
        W, tau = zip(*self.rows(samples), strict=True)
        return np.concatenate(W), np.concatenate(tau)

    def factors(self, samples: Iterable[Samples]) -> Factors:
        """Return one triangular factor of (W | τ) per joint, for the rows of all `samples`."""
        n, size = self.robot.nv, len(self.names) + self.gains + 1
        none = Factors(np.zeros((n, size, size)), np.zeros(n, dtype=np.int64))
        return Factors.sum([none, *(Factors.of(*x) for run in samples for x in self.rows(run))])

    def robot_with(self, x: Array) -> Robot:
        """Return the robot with parameters x: torques are correct, but bodies may be unphysical."""
        p = self.parameters
        return self.with_drives(p.robot(x[: len(p)]), dict(zip(self.names, x, strict=True)))

    def with_drives(self, robot: Robot, values: Mapping[str, float]) -> Robot:
        """Return the robot with drive parameters from `values`, which has keys such as coulomb1."""
        followers = set(range(robot.nb)) - set(robot._leaders)
        values = {**values, **{f"{term}{i + 1}": 0.0 for term in self.friction for i in followers}}
        drives = (
            drive._replace(
                **{x: float(values[f"{x}{i}"]) for x in drive._fields if f"{x}{i}" in values}
            )
            for i, drive in enumerate(robot.drives, 1)
        )
        return replace(robot, drives=tuple(drives))

    def _friction(self, term: str, qd: Array) -> Array:
        """Return the torques (k, n) of a friction term for unit parameters."""
        if isinstance(self.shape, Sigmoid):
            return self.shape.torques(qd)[0]
        sign = np.sign(qd) if self.shape is None else friction_direction(self.shape, qd)
        if self.shape is not None and term == "stribeck":
            return np.asarray(stribeck_share(self.shape, qd) * sign)
        return FRICTION[term](qd, sign)

    def _column(self, name: str, function: Any, arrays: Mapping[str, ArrayLike]) -> Array:
        """Return the torques (..., n) of an `extra` term, computed with one row per state."""
        rows = {x: np.asarray(y, float).reshape(-1, np.shape(y)[-1]) for x, y in arrays.items()}
        inputs = function.inputs if isinstance(function, Function) else rows
        for x in inputs:
            if x not in rows:
                raise DataError(f"column {name!r} has an argument {x!r}: expected q, qd or qdd")
        torques, shape = function(*(rows[x] for x in inputs)), rows["qd"].shape
        expected, name = f"{shape}, the torque of every joint", f"column {name!r}"
        column = validation.array(torques, name, shape, expected=expected, finite=False)
        for k in np.flatnonzero(~np.isfinite(column).all(axis=1)):
            at = ", ".join(f"{x} = {quote(y[k].tolist())}" for x, y in rows.items())
            raise DataError(f"{name} is not finite, first at {at}: {quote(column[k])}")
        return column.reshape(np.shape(arrays["qd"]))


def identifiable(
    robot: Robot, rotors: bool, friction: bool
) -> tuple[MinimalParameters[Robot], tuple[str, ...]]:
    """Return the minimal parameters without artefacts of rounded angles, and notes on omissions.

    For example, if rounding tilts a vertical axis, gravity torques on it add parameters.
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


def _check_names(
    p: MinimalParameters[Robot], friction: Sequence[str], extra: Iterable[str]
) -> None:
    """Raise if a friction term or an `extra` term has the name of another parameter."""
    twice = [term for term in friction if f"{term}1" in p.standard]
    if twice:
        raise DataError(
            f"friction has {listing(twice)}, which parameters= has, too: expected one of them"
        )
    terms = (*FRICTION, "stribeck", "sigmoid")
    own = {*standard_names(p.model, rotors=True), *p.names}
    own |= {f"{term}{i + 1}" for term in terms for i in range(p.model.nb)}
    for name in extra:
        if name in own:
            raise DataError(
                f"extra has a column called {quote(name)}, as a parameter of {p.model.name!r} is: "
                "expected another name"
            )

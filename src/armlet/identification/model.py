"""What torques are made of: columns that are linear in the parameters to be found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from armlet.api import Robot, minimal_parameters
from armlet.api.functions import Function
from armlet.errors import DataError, quoted
from armlet.identification.factors import Array
from armlet.minimal import MinimalParameters
from armlet.motion.system import Friction

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
class TorqueModel:
    """Torques as a sum of columns times parameters.

    Attributes
    ----------
    parameters : MinimalParameters
        The inertial parameters, with those of the drives that are in the set.
    friction : sequence of str
        What friction each joint has that is not in that set, names of `FRICTION` or "stribeck".
    shape : Friction, optional
        How signs are made smooth and how Stribeck's part falls, as in a simulation; signs are
        those of the velocities by default.
    extra : mapping of str to function
        Further columns by name: functions of q, qd and qdd, of your own (`armlet.program`, for one
        state) or of arrays with a row for every state, that return the torques of all joints.
    """

    parameters: MinimalParameters[Robot]
    friction: tuple[str, ...] = ()
    shape: Friction | None = None
    extra: Mapping[str, Function | Column] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters in their order."""
        n = self.parameters.model.n
        joints = (f"{kind}{i + 1}" for kind in self.friction for i in range(n))
        return (*self.parameters.names, *joints, *self.extra)

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

    def robot(self, x: Array) -> Robot:
        """The arm with these parameters: its torques are right, its bodies may be unphysical."""
        p = self.parameters
        return self.with_drives(p.robot(x[: len(p)]), dict(zip(self.names, x, strict=True)))

    @staticmethod
    def with_drives(arm: Robot, known: Mapping[str, float]) -> Robot:
        """An arm with those parameters of its drives that are known by name."""
        drives = (
            drive._replace(
                **{key: float(known[f"{key}{i}"]) for key in drive._fields if f"{key}{i}" in known}
            )
            for i, drive in enumerate(arm.drives, 1)
        )
        return replace(arm, drives=tuple(drives))

    def _friction(self, kind: str, qd: Array) -> Array:
        """The torques of friction of a kind, each for a parameter that is 1."""
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


def torque_model(
    robot: Robot,
    parameters: MinimalParameters[Robot] | None,
    rotors: bool,
    friction: bool | Sequence[str] | Friction,
    extra: Mapping[str, Function | Column],
) -> TorqueModel:
    """The model that is asked for."""
    shape = friction if isinstance(friction, Friction) else None
    kinds: tuple[str, ...]
    if shape is not None:
        kinds = (*USUAL, "stribeck") if np.any(shape.stribeck) else USUAL
    else:
        kinds = () if isinstance(friction, bool) else tuple(cast("Sequence[str]", friction))
    for kind in kinds:
        if kind not in FRICTION and shape is None:
            raise DataError(
                f"friction has {quoted(kind)}: expected True, False, armlet.Friction or names of "
                f"{', '.join(FRICTION)}"
            )
    if parameters is None:
        parameters = minimal_parameters(robot, rotors=rotors, friction=friction is True)
    elif parameters.model.n != robot.n:
        raise DataError(
            f"parameters are those of {parameters.model.name!r}, which has {parameters.model.n} "
            f"joints: expected a set of {robot.name!r}"
        )
    return TorqueModel(parameters, kinds, shape, dict(extra))

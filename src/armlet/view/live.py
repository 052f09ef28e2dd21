"""Torques and energy of a robot that carries a payload, to be shown while it moves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api import Robot, compile
from armlet.view.scene import joint_range

FORMULATIONS = {"inverse_dynamics": "newton_euler", "energy": "velocities"}
"""Named, since a search for cheaper ones takes longer than all that is shown in a session."""
POSTURES = 256
"""Random postures in which the largest gravity torques are looked for."""
Array = NDArray[np.float64]


class Numbers(NamedTuple):
    """Torques of shape (..., n) and energies of shape (...)."""

    tau: Array
    kinetic: Array
    potential: Array


class LiveDynamics:
    """Inverse dynamics and energy with a payload that may change, in one compiled program.

    Parameters
    ----------
    robot : Robot
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.phi = robot.phi
        self._kernel = compile(
            robot, list(FORMULATIONS), FORMULATIONS, constants={"inertia": "argument"}
        )

    def carry(self, mass: float, offset: ArrayLike) -> None:
        """Compute with a payload from now on; the offset is in the tool's frame."""
        self.phi = self.robot.with_payload(mass, offset).phi if mass else self.robot.phi

    def __call__(
        self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None
    ) -> Numbers:
        """Torques and energies of states; without velocities those that hold the arm still."""
        q = np.asarray(q, float)
        still = np.zeros_like(q)
        qd, qdd = (still if x is None else np.asarray(x, float) for x in (qd, qdd))
        return Numbers(*self._kernel(q, qd, qdd, self.phi))

    def scale(self) -> Array:
        """The torque that is a full bar of each joint.

        It is the limit of the drive, else the largest gravity torque in random postures.
        """
        lower, upper = np.array(
            [joint_range(self.robot, joint) for joint in self.robot.coordinates]
        ).T
        random = np.random.default_rng(0).uniform(lower, upper, (POSTURES, self.robot.n))
        largest = np.abs(self(random).tau).max(axis=0)
        efforts = [joint.limits.effort for joint in self.robot.coordinates]
        scale = [x if math.isfinite(x) else y for x, y in zip(efforts, largest, strict=True)]
        return np.maximum(scale, 1e-9)

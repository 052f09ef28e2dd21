"""Every quantity of `armlet.dynamics` as a method of robots; a test compares the two."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike

from armlet.api.evaluation import Array, blanked, evaluated
from armlet.api.kinematics import Kinematics
from armlet.minimal import MinimalParameters

Pair = tuple[Array, Array]
Triple = tuple[Array, Array, Array]


class Quantities(Kinematics):
    """A robot with its quantities as methods.

    They take arrays q, qd, qdd and tau of shape (n,) or (..., n), positions in rad or m. The
    leading axes must be the same, and come first in the shape of the result. All methods also take

    out : array or tuple of arrays, optional
        Where to write: float64, contiguous, writeable, not overlapping the arguments.
    threads : int
        Number of threads that share the states of a batch.

    A quantity is compiled when it is first called, which takes a moment; the code is cached on
    disk. From the first call with one state or a small batch on, the method is compiled code
    itself: one that was looked up before, `f = robot.bias`, goes through Python.
    """

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrench: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Joint torques for given accelerations qdd: H(q) qdd + b(q, qd).

        Returns shape (..., n), forces at prismatic joints. The wrench (moment, force) of shape
        (..., 6) is the one that the tool exerts on the world, at the tool and in its axes.

        >>> import armlet, numpy as np
        >>> armlet.load("planar2r").inverse_dynamics([0, 0], [0, 0], [1, 0]).round(3).tolist()
        [22.287, 5.738]
        """
        method = Quantities.inverse_dynamics
        return evaluated(self, method, (q, qd, qdd), out, threads, wrench=wrench)

    def inertia_matrix(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """The joint-space inertia matrix H(q), with rotor inertias on its diagonal.

        Returns shape (..., n, n), symmetric.
        """
        return evaluated(self, Quantities.inertia_matrix, (q,), out, threads)

    def inverse_inertia_matrix(
        self, q: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """The inverse of the joint-space inertia matrix, rotor inertias taken into account.

        Returns shape (..., n, n), symmetric.
        """
        return evaluated(self, Quantities.inverse_inertia_matrix, (q,), out, threads)

    def bias(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Coriolis, centrifugal and gravity torques b(q, qd).

        Returns shape (..., n).
        """
        return evaluated(self, Quantities.bias, (q, qd), out, threads)

    def gravity_torque(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """Gravity torques g(q): the torques that hold the arm still.

        Returns shape (..., n).
        """
        return evaluated(self, Quantities.gravity_torque, (q,), out, threads)

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """The Coriolis matrix C(q, qd): b = C qd + g, and dH/dt - 2 C is skew.

        Returns shape (..., n, n).
        """
        return evaluated(self, Quantities.coriolis_matrix, (q, qd), out, threads)

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Joint accelerations under torques tau: H(q)^-1 (tau - b(q, qd)).

        Returns shape (..., n).
        """
        return evaluated(self, Quantities.forward_dynamics, (q, qd, tau), out, threads)

    def linearization(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        out: Triple | None = None,
        threads: int = 1,
    ) -> Triple:
        """Derivatives of the torques by qdd (H), qd (V) and q (P).

        Returns three arrays of shape (..., n, n): row i is of torque i.
        """
        return evaluated(self, Quantities.linearization, (q, qd, qdd), out, threads)

    def forward_linearization(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        out: Triple | None = None,
        threads: int = 1,
    ) -> Triple:
        """Derivatives of the accelerations under torques tau by q, qd and tau.

        Returns three arrays of shape (..., n, n): row i is of acceleration i.
        """
        return evaluated(self, Quantities.forward_linearization, (q, qd, tau), out, threads)

    def state_space(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        out: Pair | None = None,
        threads: int = 1,
    ) -> Pair:
        """Linearised state space A, B: dx/dt = A x + B dtau with x = (dq, dqd).

        Returns A of shape (..., 2 n, 2 n) and B of shape (..., 2 n, n).
        """
        return evaluated(self, Quantities.state_space, (q, qd, tau), out, threads)

    def cartesian_model(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Triple | None = None,
        threads: int = 1,
    ) -> Triple:
        """Operational-space model D, C, G: wrench D a + C + G for acceleration a of a frame.

        Returns D of shape (..., 6, 6), C and G of shape (..., 6): moment and force, base axes. All
        joints, six at most, must move the frame (by default the tool). At singular postures the
        results are nan, with a `DataWarning`.
        """
        method = Quantities.cartesian_model
        results = evaluated(self, method, (q, qd), out, threads, frame=frame)
        return blanked(self, "cartesian_model", q, frame, results)

    def cartesian_linearization(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        frame: str | None = None,
        *,
        out: Triple | None = None,
        threads: int = 1,
    ) -> Triple:
        """Derivatives of the torques by acceleration, velocity and displacement of a frame.

        Returns three arrays of shape (..., n, 6), columns angular first, base axes. All joints, six
        at most, must move the frame (by default the tool). At singular postures the results are
        nan, with a `DataWarning`.
        """
        method = Quantities.cartesian_linearization
        results = evaluated(self, method, (q, qd, qdd), out, threads, frame=frame)
        return blanked(self, "cartesian_linearization", q, frame, results)

    def friction_torque(
        self, qd: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Friction torques of the drives: viscous, Coulomb and constant.

        Returns shape (..., n). No other quantity includes friction.
        """
        return evaluated(self, Quantities.friction_torque, (qd,), out, threads)

    def passive_torque(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Torques that motors need beyond the rigid bodies': friction, springs, less compensation.

        Returns shape (..., n): friction torques, stiffness times (q - reference) of springs, less
        the gravity torques that are compensated. Motors give inverse_dynamics(q, qd, qdd) +
        passive_torque(q, qd): the sign is that of `friction_torque`, which it includes, and
        opposite to MuJoCo's qfrc_passive. No other quantity includes passive forces.
        """
        return evaluated(self, Quantities.passive_torque, (q, qd), out, threads)

    def momentum(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Angular momentum about the base's origin and linear momentum of all bodies, base axes.

        Returns shape (..., 6).
        """
        return evaluated(self, Quantities.momentum, (q, qd), out, threads)

    def energy(
        self, q: ArrayLike, qd: ArrayLike, *, out: Pair | None = None, threads: int = 1
    ) -> Pair:
        """Kinetic and potential energy.

        Returns two arrays of shape (...); the potential is zero with all mass at the base's origin.
        """
        return evaluated(self, Quantities.energy, (q, qd), out, threads)

    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        parameters: Literal["minimal", "standard"] | MinimalParameters[Any] | None = None,
        rotors: bool = False,
        friction: bool = False,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The regressor Y(q, qd, qdd): torques are Y phi, phi the minimal parameters or all.

        Returns shape (..., n, p), one column per parameter: those of `armlet.minimal_parameters`,
        ten per body with parameters="standard", or those of any `MinimalParameters` of this robot.
        Rotors and friction add those of the drives; leave them out with a `MinimalParameters`.
        """
        method, given = Quantities.regressor, (q, qd, qdd)
        options = {"parameters": parameters, "rotors": rotors, "friction": friction}
        return evaluated(self, method, given, out, threads, **options)

    def gravity_regressor(
        self,
        q: ArrayLike,
        parameters: Literal["minimal", "standard", "gravity"]
        | MinimalParameters[Any]
        | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The gravity regressor Y(q): gravity torques are Y phi, phi the minimal parameters or all.

        Returns shape (..., n, p), one column per parameter as in `regressor`; with
        parameters="gravity" only those that gravity torques depend on.
        """
        method = Quantities.gravity_regressor
        return evaluated(self, method, (q,), out, threads, parameters=parameters)

    def energy_regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Literal["minimal", "standard"] | MinimalParameters[Any] | None = None,
        rotors: bool = False,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The energy regressor Y(q, qd): kinetic and potential energy are Y phi, up to a constant.

        Returns shape (..., 2, p), one column per parameter as in `regressor`.
        """
        method, given = Quantities.energy_regressor, (q, qd)
        return evaluated(self, method, given, out, threads, parameters=parameters, rotors=rotors)

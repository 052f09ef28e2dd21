"""The kinematic quantities of `armlet.dynamics` as methods of robots."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from armlet.api.evaluation import Array, evaluated
from armlet.robot import RobotModel


class Kinematics(RobotModel):
    """Where the frames and the centre of mass of a robot are, and how they move."""

    def forward_kinematics(
        self,
        q: ArrayLike,
        frame: str | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The pose of a frame (by default the tool) in the base: a 4x4 homogeneous matrix.

        Returns shape (..., 4, 4).

        >>> import armlet
        >>> armlet.load("planar2r").forward_kinematics([0, 0])[:3, 3].tolist()
        [2.0, 0.0, 0.0]
        """
        return evaluated(self, Kinematics.forward_kinematics, (q,), out, threads, frame=frame)

    def jacobian(
        self,
        q: ArrayLike,
        frame: str | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The geometric Jacobian of a frame (by default the tool): angular rows first, base axes.

        Returns shape (..., 6, n).
        """
        return evaluated(self, Kinematics.jacobian, (q,), out, threads, frame=frame)

    def poses(
        self,
        q: ArrayLike,
        frames: Sequence[str] | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The poses of all frames in the base, or of those named: 4x4 homogeneous matrices.

        Returns shape (..., f, 4, 4), one per frame, in the order given or that of `robot.frames`.
        """
        named = None if frames is None else tuple(frames)
        return evaluated(self, Kinematics.poses, (q,), out, threads, frames=named)

    def frame_velocity(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The velocity of a frame (by default the tool): angular first, base axes.

        Returns shape (..., 6): what the Jacobian makes of qd.
        """
        return evaluated(self, Kinematics.frame_velocity, (q, qd), out, threads, frame=frame)

    def frame_acceleration(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        frame: str | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The acceleration of a frame (by default the tool): angular first, base axes.

        Returns shape (..., 6): that of its origin, without gravity.
        """
        method = Kinematics.frame_acceleration
        return evaluated(self, method, (q, qd, qdd), out, threads, frame=frame)

    def frame_acceleration_bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """The acceleration of a frame while no joint accelerates: its Jacobian's rate times qd.

        Returns shape (..., 6), angular first, base axes.
        """
        method = Kinematics.frame_acceleration_bias
        return evaluated(self, method, (q, qd), out, threads, frame=frame)

    def jacobian_rate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """How fast the Jacobian of a frame (by default the tool) changes: angular rows first.

        Returns shape (..., 6, n), in base axes.
        """
        return evaluated(self, Kinematics.jacobian_rate, (q, qd), out, threads, frame=frame)

    def centre_of_mass(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """The centre of mass of all moving bodies, in the base.

        Returns shape (..., 3).
        """
        return evaluated(self, Kinematics.centre_of_mass, (q,), out, threads)

    def centre_of_mass_jacobian(
        self, q: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """The Jacobian of the centre of mass: its velocity is this times qd, in base axes.

        Returns shape (..., 3, n).
        """
        return evaluated(self, Kinematics.centre_of_mass_jacobian, (q,), out, threads)

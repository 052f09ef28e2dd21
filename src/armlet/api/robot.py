"""The class `Robot`, and functions that create robots from files and from models in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from armlet.api.evaluation import Array, Out, evaluate, with_quantity_methods
from armlet.formats import dh, loading
from armlet.formats.dh import EARTH
from armlet.formats.from_mujoco import read_mujoco
from armlet.formats.from_pinocchio import read_pinocchio
from armlet.formats.loading import LoadOptions, ModelOptions, takes_options
from armlet.formats.toml import write_toml
from armlet.formats.urdf import write_urdf
from armlet.minimal import MinimalParameters
from armlet.robot import RobotModel

Pair = tuple[Array, Array]
Triple = tuple[Array, Array, Array]


@with_quantity_methods
class Robot(RobotModel):
    """A serial arm or a tree of bodies, each of which is moved by one joint.

    Revolute and prismatic joints have one entry in q. A ball joint has four, a unit quaternion x,
    y, z, w, and three in qd and tau, about the axes of its body. `position_names` names the entries
    of q, and `velocity_names` those of qd and tau. If joints are coupled, one entry of q moves
    several joints, and `joint_positions(q)` returns all positions.

    Robots are created by `armlet.load`, `Robot.from_dh` and `armlet.general_arm`, among others.
    A robot is immutable, hashable and picklable, and equal to robots with the same data. The
    methods `with_…`, `lock` and `subchain` return new robots.

    Quantities are methods. They take arrays q of shape (nq,) or (..., nq), and qd, qdd and tau of
    shape (nv,) or (..., nv), positions in rad or m, and return arrays of the arguments' library
    (NumPy, JAX, PyTorch). In shapes of results, n is nv. The leading axes "..." are the same in all
    arguments and in the results. `linearization` and similar quantities have derivatives by small
    displacements of the joints; those of PyTorch, JAX and `Function.derivative` are by the entries
    of q. With NumPy, the methods also take

    out : array or tuple of arrays, optional
        Where to write results: float64, contiguous, writeable, not overlapping the arguments.
    threads : int
        Number of threads that share the states of a batch.

    The first call of a quantity compiles it, which takes a moment; the code is cached on disk.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("panda")
    >>> q = np.zeros((1000, robot.nq))
    >>> robot.inertia_matrix(q).shape
    (1000, 7, 7)
    >>> robot.with_payload(1.5, com=(0, 0, 0.05)) == robot
    False
    """

    @classmethod
    def of(cls, model: RobotModel) -> Self:
        """Create a robot from the data of a model."""
        return cls(**{f.name: getattr(model, f.name) for f in fields(model) if f.init})

    @classmethod
    def from_dh(
        cls,
        rows: Sequence[Sequence[float | str]],
        *,
        convention: Literal["modified", "standard"],
        joints: str | None = None,
        gravity: Sequence[float | str] = EARTH,
        inertia: Sequence[tuple[float | str, Sequence[float], ArrayLike] | Sequence[float | str]]
        | None = None,
        name: str = "arm",
    ) -> Self:
        """Create a serial arm from a table of Denavit-Hartenberg parameters.

        Parameters
        ----------
        rows : sequence of (alpha, a, d, theta)
            One row per joint, in rad and m. The joint position is added to theta of a revolute
            joint, and to d of a prismatic joint.
        convention : {"modified", "standard"}
            Modified (Craig): Rx(alpha) Tx(a) Rz(theta) Tz(d). Standard: Rz(theta) Tz(d) Tx(a)
            Rx(alpha). There is no default, since the wrong convention would go unnoticed.
        joints : str, optional
            One letter per joint, R or P; all revolute by default.
        gravity : three floats
            The acceleration of gravity in base axes.
        inertia : sequence of (mass, centre of mass, inertia), optional
            For each body, in the frame of its row, in kg and m. The inertia is about the centre of
            mass, 3x3 or as xx xy xz yy yz zz. By default, bodies are massless (kinematics only).
            In an arm with symbols, an entry may also be Jxx Jxy Jxz Jyy Jyz Jzz cx cy cz m, with
            the inertia J about the frame's origin and the first moment c.
        name : str

        Examples
        --------
        >>> import armlet
        >>> rod = (1.0, (0.5, 0, 0), (0.001, 0, 0, 1 / 12, 0, 1 / 12))
        >>> rows = [(0, 0, 0, 0), (0, 1, 0, 0)]
        >>> arm = armlet.Robot.from_dh(
        ...     rows, convention="modified", gravity=(0, -9.81, 0), inertia=[rod, rod]
        ... )
        >>> arm.gravity_torque([0, 0]).round(4).tolist()
        [19.62, 4.905]

        A name in place of a number is a symbol, for tracing, operation counts and formulas. Symbols
        need convention="modified"; the robot's frames are then those of the table.

        >>> beam = (0, 0, 0, 0, 0, "J", "c", 0, 0, "m")
        >>> arm = armlet.Robot.from_dh(
        ...     [(0, 0, 0, 0), (0, "L", 0, 0)],
        ...     convention="modified", gravity=(0, "g", 0), inertia=[beam, beam],
        ... )
        >>> armlet.trace(arm, "gravity_torque").symbols
        ['L', 'c', 'm', 'g']
        """
        model = dh.from_dh(
            rows, convention=convention, joints=joints, gravity=gravity, inertia=inertia, name=name
        )
        return cls.of(model)

    def lock(self, values: Mapping[str, float]) -> Self:
        """Return a robot with joints locked at `values`; a locked body becomes part of its parent.

        Joints that are coupled with a locked joint are locked too.

        >>> import armlet
        >>> armlet.load("panda").lock({"joint3": 0.0}).nq
        6
        """
        return self.of(loading.lock(self, values))

    def subchain(self, tip: str) -> Self:
        """Return the serial arm from the base to the frame `tip`, which becomes the tool."""
        return self.of(loading.subchain(self, tip))

    def to_urdf(self, path: str | Path) -> None:
        """Write the robot to a URDF file, in the frames of the file that it was loaded from.

        URDF cannot store gravity: pass `gravity` when loading the new file, unless gravity is
        (0, 0, -9.81). Springs and gravity compensation are left out with a warning.
        """
        write_urdf(self, path)

    def to_toml(self, path: str | Path) -> None:
        """Write the robot to a .toml file, in the frames of the file that it was loaded from."""
        write_toml(self, path)

    # ------------------------------------------------------------------ dynamics

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrench: ArrayLike | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """Joint torques for given accelerations qdd: H(q) qdd + b(q, qd).

        Returns shape (..., n), with forces at prismatic joints. `wrench`, of shape (..., 6), is the
        moment and force that the tool exerts on the world, about the tool's origin, in tool axes.

        >>> import armlet, numpy as np
        >>> armlet.load("planar2r").inverse_dynamics([0, 0], [0, 0], [1, 0]).round(3).tolist()
        [22.287, 5.738]
        """
        return evaluate(self, Robot.inverse_dynamics, (q, qd, qdd), out, threads, wrench=wrench)

    def inertia_matrix(self, q: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """The joint-space inertia matrix H(q), with rotor inertias on its diagonal.

        Returns shape (..., n, n), symmetric.
        """
        return evaluate(self, Robot.inertia_matrix, (q,), out, threads)

    def inverse_inertia_matrix(self, q: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """The inverse of the joint-space inertia matrix, which includes rotor inertias.

        Returns shape (..., n, n), symmetric.
        """
        return evaluate(self, Robot.inverse_inertia_matrix, (q,), out, threads)

    def bias(self, q: ArrayLike, qd: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """Coriolis, centrifugal and gravity torques b(q, qd).

        Returns shape (..., n).
        """
        return evaluate(self, Robot.bias, (q, qd), out, threads)

    def gravity_torque(self, q: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """Gravity torques g(q): the torques that hold the arm still.

        Returns shape (..., n).
        """
        return evaluate(self, Robot.gravity_torque, (q,), out, threads)

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, *, out: Out = None, threads: int = 1
    ) -> Array:
        """Coriolis matrix C(q, qd): bias = C qd + gravity_torque; dH/dt - 2 C is skew-symmetric.

        Returns shape (..., n, n).
        """
        return evaluate(self, Robot.coriolis_matrix, (q, qd), out, threads)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, out: Out = None, threads: int = 1
    ) -> Array:
        """Joint accelerations under torques tau: H(q)^-1 (tau - b(q, qd)).

        Returns shape (..., n).
        """
        return evaluate(self, Robot.forward_dynamics, (q, qd, tau), out, threads)

    def linearization(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Out = None, threads: int = 1
    ) -> Triple:
        """Derivatives of the torques with respect to qdd (H), qd (V) and q (P).

        Returns three arrays of shape (..., n, n): row i has the derivatives of torque i.
        """
        return evaluate(self, Robot.linearization, (q, qd, qdd), out, threads)

    def forward_linearization(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, out: Out = None, threads: int = 1
    ) -> Triple:
        """Derivatives of the joint accelerations with respect to q, qd and the torques tau.

        Returns three arrays of shape (..., n, n): row i has the derivatives of acceleration i.
        """
        return evaluate(self, Robot.forward_linearization, (q, qd, tau), out, threads)

    def state_space(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, out: Out = None, threads: int = 1
    ) -> Pair:
        """Linearised state space A, B: dx/dt = A x + B dtau with x = (dq, dqd).

        Returns A of shape (..., 2 n, 2 n) and B of shape (..., 2 n, n).
        """
        return evaluate(self, Robot.state_space, (q, qd, tau), out, threads)

    def cartesian_model(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Triple:
        """Operational-space model D, C, G: wrench D a + C + G for acceleration a of a frame.

        Returns D of shape (..., 6, 6), C and G of shape (..., 6): moment first, in base axes. The
        robot must have at most six joints; each must move the frame (by default the tool). At
        singular postures the results are nan, with a `DataWarning`.
        """
        return evaluate(self, Robot.cartesian_model, (q, qd), out, threads, frame=frame)

    def cartesian_linearization(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        frame: str | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Triple:
        """Torque derivatives with respect to a frame's acceleration, velocity and displacement.

        Returns three arrays of shape (..., n, 6), with angular columns first, in base axes.
        The frame and singular postures are treated as in `cartesian_model`.
        """
        arrays = q, qd, qdd
        return evaluate(self, Robot.cartesian_linearization, arrays, out, threads, frame=frame)

    def friction_torque(self, qd: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """Friction torques of the drives: viscous, Coulomb and constant.

        Returns shape (..., n). By default, only `passive_torque` also includes friction.
        """
        return evaluate(self, Robot.friction_torque, (qd,), out, threads)

    def passive_torque(
        self, q: ArrayLike, qd: ArrayLike, *, out: Out = None, threads: int = 1
    ) -> Array:
        """Additional motor torques for friction and springs, minus compensated gravity torques.

        Returns shape (..., n): friction torques, plus stiffness times (q - reference) of springs,
        minus compensated gravity torques. Motor torques are inverse_dynamics(q, qd, qdd) +
        passive_torque(q, qd). The sign is opposite to the sign of MuJoCo's qfrc_passive. No other
        quantity includes springs or gravity compensation.
        """
        return evaluate(self, Robot.passive_torque, (q, qd), out, threads)

    def momentum(self, q: ArrayLike, qd: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """Angular momentum about the base's origin and linear momentum of all bodies, in base axes.

        Returns shape (..., 6).
        """
        return evaluate(self, Robot.momentum, (q, qd), out, threads)

    def energy(self, q: ArrayLike, qd: ArrayLike, *, out: Out = None, threads: int = 1) -> Pair:
        """Kinetic and potential energy.

        Returns two arrays of shape (...); a mass at the base's origin has potential energy 0.
        """
        return evaluate(self, Robot.energy, (q, qd), out, threads)

    # ------------------------------------------------------------------ regressors

    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        parameters: Literal["minimal", "standard"] | MinimalParameters[Any] | None = None,
        rotors: bool = False,
        friction: bool = False,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """The regressor Y(q, qd, qdd): torques are Y phi with minimal or all parameters phi.

        Returns shape (..., n, p), one column per parameter: the minimal parameters by default,
        ten per body with parameters="standard", or any `MinimalParameters` of this robot.
        `rotors` and `friction` add drive parameters; a `MinimalParameters` sets both options.
        """
        options = {"parameters": parameters, "rotors": rotors, "friction": friction}
        return evaluate(self, Robot.regressor, (q, qd, qdd), out, threads, **options)

    def gravity_regressor(
        self,
        q: ArrayLike,
        parameters: Literal["minimal", "standard", "gravity"]
        | MinimalParameters[Any]
        | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """Gravity regressor Y(q): gravity torques are Y phi with minimal or all parameters phi.

        Returns shape (..., n, p), one column per parameter as in `regressor`. parameters="gravity"
        has columns for only those parameters that gravity torques depend on.
        """
        return evaluate(self, Robot.gravity_regressor, (q,), out, threads, parameters=parameters)

    def energy_regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Literal["minimal", "standard"] | MinimalParameters[Any] | None = None,
        rotors: bool = False,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """The energy regressor Y(q, qd): kinetic and potential energy are Y phi, up to a constant.

        Returns shape (..., 2, p), one column per parameter as in `regressor`.
        """
        options = {"parameters": parameters, "rotors": rotors}
        return evaluate(self, Robot.energy_regressor, (q, qd), out, threads, **options)

    # ------------------------------------------------------------------ kinematics

    def forward_kinematics(
        self, q: ArrayLike, frame: str | None = None, *, out: Out = None, threads: int = 1
    ) -> Array:
        """The pose of a frame (by default the tool) in the base: a 4x4 homogeneous matrix.

        Returns shape (..., 4, 4).

        >>> import armlet
        >>> armlet.load("planar2r").forward_kinematics([0, 0])[:3, 3].tolist()
        [2.0, 0.0, 0.0]
        """
        return evaluate(self, Robot.forward_kinematics, (q,), out, threads, frame=frame)

    def jacobian(
        self, q: ArrayLike, frame: str | None = None, *, out: Out = None, threads: int = 1
    ) -> Array:
        """The geometric Jacobian of a frame (by default the tool): angular rows first, base axes.

        Returns shape (..., 6, n).
        """
        return evaluate(self, Robot.jacobian, (q,), out, threads, frame=frame)

    def poses(
        self,
        q: ArrayLike,
        frames: Sequence[str] | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """The poses of all frames, or of the named frames, in the base: 4x4 homogeneous matrices.

        Returns shape (..., f, 4, 4), in the order of `frames`, by default of `robot.frames`.
        """
        named = None if frames is None else tuple(frames)
        return evaluate(self, Robot.poses, (q,), out, threads, frames=named)

    def frame_velocity(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """The velocity of a frame (by default the tool): angular part first, in base axes.

        Returns shape (..., 6): the Jacobian times qd.
        """
        return evaluate(self, Robot.frame_velocity, (q, qd), out, threads, frame=frame)

    def frame_acceleration(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        frame: str | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """The acceleration of a frame (by default the tool): angular part first, in base axes.

        Returns shape (..., 6): the linear part is that of the frame's origin, without gravity.
        """
        return evaluate(self, Robot.frame_acceleration, (q, qd, qdd), out, threads, frame=frame)

    def frame_acceleration_bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """The acceleration of a frame while no joint accelerates: its Jacobian's rate times qd.

        Returns shape (..., 6): `jacobian_rate` times qd, angular part first, in base axes.
        """
        return evaluate(self, Robot.frame_acceleration_bias, (q, qd), out, threads, frame=frame)

    def jacobian_rate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> Array:
        """The time derivative of the Jacobian of a frame (by default the tool): angular rows first.

        Returns shape (..., 6, n), in base axes.
        """
        return evaluate(self, Robot.jacobian_rate, (q, qd), out, threads, frame=frame)

    def centre_of_mass(self, q: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """The centre of mass of all moving bodies, in base axes.

        Returns shape (..., 3).
        """
        return evaluate(self, Robot.centre_of_mass, (q,), out, threads)

    def centre_of_mass_jacobian(self, q: ArrayLike, *, out: Out = None, threads: int = 1) -> Array:
        """The Jacobian of the centre of mass, in base axes: its product with qd is the velocity.

        Returns shape (..., 3, n).
        """
        return evaluate(self, Robot.centre_of_mass_jacobian, (q,), out, threads)


@takes_options(LoadOptions)
def load(robot: str | Path, options: LoadOptions) -> Robot:
    """Load a robot from the catalogue or from a file.

    Parameters
    ----------
    robot : str or Path
        A name that `armlet robots` lists, or the path of a .urdf, .xacro, .sdf, .xml (MJCF)
        or .toml file.
    lock : mapping of str to float, optional
        Joints to lock, such as fingers, and their positions. Joints that are coupled with a locked
        joint are locked too.
    mimic : {"couple", "free", "lock"}
        How to treat joints that follow a leading joint, by `mimic` (URDF) or an equality (MJCF).
        "couple": they follow the leading joint and have no entry in q. "free": they move freely.
        "lock": they are locked at the positions that follow from the leading joint's position in
        `lock`, by default zero.
    tool : str, optional
        The tool frame; by default the tool in the file, or else the only link without children.
    gravity : three floats, optional
        The acceleration of gravity in base axes; by default as in the file, or (0, 0, -9.81).
    strict : bool
        Raise an error instead of a warning for doubtful data, such as unphysical inertias.
    tolerance : float
        Angles within this tolerance (rad) of a multiple of a quarter turn are rounded to that
        multiple. Lengths below this fraction of neighbouring lengths are set to 0. The default
        removes rounding errors. For a file with angles like 1.5708, 1e-5 saves operations.
    passive : {"read", "ignore"}
        "read": springs and gravity compensation are read; passive forces that armlet does not model
        (fluids, tendons) raise an error. "ignore": all these forces are left out, with a warning
        that names them. Damping and friction are always read.
    order : {"file", "pinocchio"} or sequence of str
        The order of joints in q. "file": as in the file, parents first. "pinocchio": depth first,
        siblings sorted by name. A sequence has the names of all moving joints, parents first.
    folders : sequence of str or Path
        Folders to search for files that the robot's file refers to, besides the folder of that file
        and its ROS package or Gazebo model. Only a .xacro file may read files elsewhere.
    xacro : mapping of str to str, float or bool, optional
        The arguments of a .xacro file, which is expanded by the package xacro (the extra `xacro`).
        A .xacro file is a program: load only files that you trust.

    Returns
    -------
    Robot
        The robot in canonical frames. Positions q have the same meaning as in the file.

    Examples
    --------
    >>> import armlet
    >>> armlet.load("puma560")
    <Robot 'puma560': 6 joints RRRRRR, serial, 23.45 kg, tool 'flange'>
    """
    return Robot.of(loading.load(robot, options))


@takes_options(ModelOptions)
def from_mujoco(model: object, options: ModelOptions) -> Robot:
    """Convert a `mujoco.MjModel` to a robot.

    The function reads bodies, hinge and slide joints, equalities between joints, inertias,
    armature, damping, friction loss, springs, gravity compensation, limits, sites and gravity. Free
    bodies beside a robot are left out with a warning. The function refuses loop-closing
    constraints, free and ball joints of the robot (unless they are locked at 0, as in
    `lock={"root": 0}`), and forces of fluids and tendons (unless passive="ignore" removes them).

    Parameters
    ----------
    model : mujoco.MjModel
        The model; armlet reads its arrays and does not import mujoco.
    name : str, optional
        The name of the robot, which messages use too; by default "model".
    lock, mimic, tool, gravity, strict, tolerance, passive, order
        As in `load`; order="file" is the order of the model.

    Returns
    -------
    Robot
        A robot whose base is the world. Joint positions are as in qpos, by default in qpos order.
    """
    name = options.name or "model"
    return Robot.of(loading.from_model(read_mujoco, model, name, options))


@takes_options(ModelOptions)
def from_pinocchio(model: object, options: ModelOptions) -> Robot:
    """Convert a `pinocchio.Model` to a robot.

    The function reads joints (revolute, unbounded, prismatic or helical, with any axis, and
    spherical, with a quaternion), inertias, armature, rotor inertia times the gear ratio squared,
    damping, dry friction, limits, frames and gravity. Other types of joint raise an error, but free
    and planar joints, and spherical joints with Euler angles, can be locked at 0, as in
    `lock={"root_joint": 0}`.

    Parameters
    ----------
    model : pinocchio.Model
        The model; armlet reads its attributes and does not import pinocchio.
    name : str, optional
        The name of the robot, which messages use too; by default the model's name.
    lock, mimic, tool, gravity, strict, tolerance, passive, order
        As in `load`; order="file" is the order of the model. `mimic` and `passive` have no effect,
        since no mimic joints or springs are read from a `pinocchio.Model`.

    Returns
    -------
    Robot
        A robot whose joints are by default in the order of the model. An unbounded joint has one
        angle in q, instead of the cosine and sine in Pinocchio. A spherical joint is a ball joint,
        with q and velocities as in Pinocchio.
    """
    name = options.name or getattr(model, "name", "") or "model"
    return Robot.of(loading.from_model(read_pinocchio, model, name, options))


def general_arm(joints: str) -> Robot:
    """Create the general serial manipulator of the literature, whose constants are all symbols.

    Parameters
    ----------
    joints : str
        One letter per joint, R or P, from the base outwards, such as "RRPRRR".

    Returns
    -------
    Robot
        An arm with general twists and offsets (also of the first joint), ten inertial parameters
        per body, and gravity along the base's z axis.

    Examples
    --------
    >>> import armlet
    >>> arm = armlet.general_arm("RRP")
    >>> arm.dh_table()[2]["alpha"]
    'alpha3'
    """
    return Robot.of(dh.general_arm(joints))

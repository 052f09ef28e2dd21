"""Feedback controllers: PD control, computed-torque control and impedance control."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet.api.functions import Function, function
from armlet.api.robot import Robot

Array = NDArray[np.float64]


def pd_with_gravity(robot: Robot, stiffness: ArrayLike, damping: ArrayLike) -> Function:
    """PD controller with gravity compensation.

    The torques are g(q) + K e - D q̇, where g are the gravity torques and e is the displacement
    from q to the target. For K, D > 0, an arm without friction reaches a constant target from every
    state (Takegaki and Arimoto 1981).

    Parameters
    ----------
    robot : Robot
    stiffness, damping : array_like of shape () or (n,)
        K in Nm/rad or N/m, and D in Nm s/rad or N s/m: one number for all joints, or one per joint.

    Returns
    -------
    Function
        A function of q, qd and target that returns the torques.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> hold = armlet.controllers.pd_with_gravity(robot, stiffness=100, damping=30)
    >>> arguments = {"target": [1.0, -0.5]}
    >>> run = armlet.simulate(robot, [0.0, 0.0], torque=hold, arguments=arguments, duration=5.0)
    >>> run.q[-1].round(3).tolist()
    [1.0, -0.5]
    """
    K = gains("stiffness", stiffness, robot.nv)
    D = gains("damping", damping, robot.nv)

    @function(robot, target=robot.nq)
    def pd_with_gravity(q: Array, qd: Array, target: Array) -> Array:
        tau: Array = robot.gravity_torque(q) + K * robot.difference(q, target) - D * qd
        return tau

    return pd_with_gravity


def computed_torque(robot: Robot, stiffness: ArrayLike, damping: ArrayLike) -> Function:
    """Computed-torque controller: PD feedback through the inverse dynamics.

    The torques are the inverse dynamics at q, q̇ and the acceleration a + K e + D ė, where a is the
    target acceleration, e the displacement from q to the target, and ė the error of the velocity.
    If the model is exact and positions are a vector space, then ë + D ė + K e = 0. The choice
    D = 2 √K gives critical damping.

    Parameters
    ----------
    robot : Robot
    stiffness, damping : array_like of shape () or (n,)
        K in 1/s² and D in 1/s: one number for all joints, or one per joint.

    Returns
    -------
    Function
        A function of q, qd, target, target_velocity and target_acceleration that returns the
        torques. For a moving target, call it in a user function of t, or pass one target per step.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> follow = armlet.controllers.computed_torque(robot, stiffness=100, damping=20)
    >>> @armlet.function(robot)
    ... def swing(q, qd, t):
    ...     s, c = np.sin(t), np.cos(t)
    ...     return follow(q, qd, np.array([s, c]), np.array([c, -s]), np.array([-s, -c]))
    >>> run = armlet.simulate(robot, [0.0, 0.0], torque=swing, duration=3.0)
    >>> error = run.q - np.stack([np.sin(run.t), np.cos(run.t)], axis=1)
    >>> bool(np.abs(error[-1]).max() < 1e-6)
    True
    """
    K = gains("stiffness", stiffness, robot.nv)
    D = gains("damping", damping, robot.nv)

    @function(robot, target=robot.nq, target_velocity=robot.nv, target_acceleration=robot.nv)
    def computed_torque(
        q: Array, qd: Array, target: Array, target_velocity: Array, target_acceleration: Array
    ) -> Array:
        feedback = K * robot.difference(q, target) + D * (target_velocity - qd)
        return robot.inverse_dynamics(q, qd, target_acceleration + feedback)

    return computed_torque


def impedance(
    robot: Robot,
    stiffness: ArrayLike,
    damping: ArrayLike,
    frame: str | None = None,
    *,
    joint_damping: ArrayLike = 0.0,
) -> Function:
    """Impedance controller: a spring and a damper between a frame and its target.

    The torques are g(q) + Jqᵀ (K e - D Jq q̇) - d q̇, where g are the gravity torques, Jq is the
    Jacobian of the frame and e is the error of the frame. A static force f deflects the frame by
    f / K. No matrix is inverted, so singular postures are allowed. For a constant target and equal
    rotational stiffnesses, kinetic plus spring energy never increases (Hogan 1985). The orientation
    error is the rotation axis from frame to target, times the sine of the angle (below 90°).

    Parameters
    ----------
    robot : Robot
    stiffness, damping : array_like of shape (), (3,) or (6,)
        K and D along the axes of the base. If K is one number or three, the controller acts on the
        position alone (N/m, N s/m). If K has six numbers, the first three act on the orientation
        (Nm/rad, Nm s/rad). D is one number for all axes, or one number per axis.
    frame : str, optional
        The name of the frame; by default the tool.
    joint_damping : array_like of shape () or (n,)
        d in Nm s/rad or N s/m; it also damps joint motions during which the frame is at rest.

    Returns
    -------
    Function
        A function of q, qd and target that returns the torques. The target is a position of shape
        (3,) or, if K has six numbers, a pose of shape (4, 4), both in base coordinates.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> soft = armlet.controllers.impedance(robot, stiffness=500, damping=100)
    >>> arguments = {"target": [1.0, 1.0, 0.0]}
    >>> run = armlet.simulate(robot, [0.0, 1.0], torque=soft, arguments=arguments, duration=5.0)
    >>> robot.forward_kinematics(run.q[-1])[:2, 3].round(3).tolist()
    [1.0, 1.0]
    """
    robot.frame(frame)
    K = gains("stiffness", stiffness, 3, 6)
    D = gains("damping", damping, len(K))
    d = gains("joint_damping", joint_damping, robot.nv)
    has_orientation = len(K) == 6

    @function(robot, target=(4, 4) if has_orientation else 3)
    def impedance(q: Array, qd: Array, target: Array) -> Array:
        X, Jq = robot.forward_kinematics(q, frame), robot.jacobian(q, frame)
        if has_orientation:
            # rotation axis times sine of the angle from X to the target
            x, y, z = (np.cross(X[:3, k], target[:3, k]) for k in range(3))
            error = np.concatenate([(x + y + z) / 2, target[:3, 3] - X[:3, 3]])
        else:
            Jq, error = Jq[3:], target - X[:3, 3]
        tau: Array = robot.gravity_torque(q) + Jq.T @ (K * error - D * (Jq @ qd)) - d * qd
        return tau

    return impedance


def gains(name: str, values: ArrayLike, *sizes: int) -> Array:
    """Return `values` as a vector of a length in `sizes`; repeat one number `sizes[0]` times."""
    expected = f"one number, or {' or '.join(map(str, sizes))}"
    shapes = [(size,) for size in sizes]
    array = validation.array(values, name, (), *shapes, expected=expected, low=0)
    return array if array.shape else np.full(sizes[0], array)

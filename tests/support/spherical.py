"""Robots with ball joints, and the same mechanisms with revolute joints."""

from dataclasses import replace

import numpy as np

from armlet.api import Robot
from armlet.robot import DHRow, Drive, Frame, Limits, Pose, Spring
from armlet.testing import random_robot

NOTHING = (0.0, np.zeros(3, dtype=object), np.zeros((3, 3), dtype=object))


def joined(letters, rows, bodies, g=(0, 0, -9.81)):
    """A robot whose joints are `letters`, with DH rows and bodies (m, c, J)."""
    m, c, J = zip(*bodies, strict=True)
    robot = random_robot(0, len(letters), letters)
    tool = Frame(len(letters) - 1, Pose(np.eye(3, dtype=int), np.array((0, 0, 0.3), dtype=object)))
    frames = {"base": robot.frames["base"], "tool": tool}
    g = np.array(g, dtype=object)
    return Robot.of(replace(robot, dh=rows, m=m, c=c, J=J, g=g, frames=frames))


def body_of(mass, centre, about_origin):
    return mass, mass * np.array(centre, dtype=object), np.diag(about_origin).astype(object)


TOP = body_of(2.0, (0, 0, 0.3), (0.3, 0.3, 0.05))
"""A symmetric top, whose axis is z, about its fixed point."""
UNEVEN = body_of(2.0, (0.05, -0.1, 0.3), (0.3, 0.25, 0.1))
STRAIGHT, BENT = DHRow(0, 0, 0, 0, 0, 0), DHRow(0, 0, np.pi / 2, 0, 0, 0)


def ball_pendulum(body=UNEVEN):
    """A body on a ball joint at the base; gravity is along -z."""
    return joined("B", (STRAIGHT,), (body,))


def gimbal_pendulum(body=UNEVEN):
    """The same body on three revolute joints whose axes meet in the same point."""
    return joined("RRR", (STRAIGHT, BENT, BENT), (NOTHING, NOTHING, body))


def tumbling(seed=1, letters="BRB", **options):
    """A robot of random bodies, and a random state that is fast."""
    robot = Robot.of(random_robot(seed, len(letters), letters, **options))
    rng = np.random.default_rng(seed)
    return robot, robot.random_configuration(rng), rng.normal(scale=2, size=robot.nv)


def with_friction(robot, **values):
    return replace(robot.without_drives(), drives=(Drive(**values),) * robot.nv)


def with_springs(robot, stiffness):
    return replace(robot, springs=(Spring(stiffness, 0),) * robot.nv)


def with_limits(robot, lower, upper):
    """The robot with position limits at all joints that are no ball joints."""
    joints = (
        joint._replace(limits=Limits(lower, upper)) if joint.type.is_vector_space else joint
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))


def as_quaternion(R):
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(np.asarray(R, dtype=float)).as_quat()

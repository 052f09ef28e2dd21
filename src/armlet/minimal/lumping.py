"""Lumping: moving inertial parameters to the parent body without a change of joint torques."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from armlet.algebra import ZERO, symmetric, vector
from armlet.minimal.observability import JointContext, along_z, joint_contexts
from armlet.robot import Body, JointType, RobotModel

NOTHING = symmetric(0, 0, 0, 0, 0, 0)
Over = Callable[[int, Body], Body]
"""Maps a joint's number and body to the part lumped on the parent, in the parent's frame."""
Rule = Callable[[JointType, JointContext, Body], Body]
"""Maps a joint's type, context and body to the part lumped on the parent, in the body's frame."""


def axially_symmetric(body: Body) -> Body:
    """Return the part of a body that is symmetric about z: rotations about z do not change it."""
    m, c, J = body
    return m, vector(0, 0, c[2]), symmetric(J[1, 1], 0, 0, J[1, 1], 0, 0)


def khalil_gautier(joint: JointType, context: JointContext, body: Body) -> Body:
    """Return the part of a body that acts as if welded to the parent (Gautier and Khalil 1990).

    For a revolute joint, this part is symmetric about the joint's axis. For a prismatic joint, this
    part is the inertia; it includes the first moment if revolute joints precede the prismatic joint
    and are all parallel to it. For a joint without an axis, it is the mass, at a fixed origin.
    """
    if not joint.has_axis:
        return mass_at_origin(joint, body)
    if joint.translates:
        _, c, J = body
        is_straight = not context.spatial and along_z(context.u)
        body = 0, c if is_straight else ZERO, J
    return axially_symmetric(body) if joint.rotates else body


def mass_at_origin(joint: JointType, body: Body) -> Body:
    """Return a body's mass as a point mass at the body's origin; zero if its joint translates."""
    return (0 if joint.translates else body[0]), ZERO, NOTHING


def gather(robot: RobotModel, over: Over, bodies: Sequence[Body]) -> list[Body]:
    """Return each body plus the parts that its children pass on, from the tips to the base."""
    total = [*bodies, (0, ZERO, NOTHING)]
    for i, p in robot.tips_to_base():
        total[p] = add(total[p], over(i, total[i]))
    return total[:-1]


def add(a: Body, b: Body) -> Body:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a: Body, b: Body) -> Body:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def hand_over(robot: RobotModel, part: Over) -> RobotModel:
    """Return the robot with a part of each body lumped on the parent, at q = 0.

    `part` returns this part in the body's frame. Parts lumped on the base are dropped.
    """
    at_zero = robot._at_zero
    total = gather(robot, lambda i, body: at_zero[i].body(*part(i, body)), robot.bodies)
    m, c, J = zip(*(subtract(body, part(i, body)) for i, body in enumerate(total)), strict=True)
    return replace(robot, m=m, c=c, J=J)


def lump(robot: RobotModel) -> RobotModel:
    """Return the robot with a part of each body lumped on the parent: see `khalil_gautier`.

    A body on a revolute joint keeps the seven parameters Jxx - Jyy, Jxy, Jxz, Jyz, Jzz, cx and cy.
    A body on a prismatic joint keeps m and c, or m alone. Joint torques stay the same, but energies
    and reaction forces change.
    """
    context = joint_contexts(robot)
    return hand_over(robot, lambda i, body: khalil_gautier(robot.joints[i].type, context[i], body))


def augment(robot: RobotModel) -> RobotModel:
    """Lump the mass beyond each revolute joint on the parent, as a point mass at the joint."""
    return hand_over(robot, lambda i, body: mass_at_origin(robot.joints[i].type, body))

"""Lumping of inertial parameters on the parent body where torques do not separate the two."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from armlet.algebra import ZERO, symmetric, vector
from armlet.minimal.observability import JointContext, along_z, joint_contexts
from armlet.robot import Body, JointType, RobotModel

NOTHING = symmetric(0, 0, 0, 0, 0, 0)
Over = Callable[[int, Body], Body]
"""The part of the body on joint i that is lumped on the parent, in the parent's frame."""
Rule = Callable[[JointType, JointContext, Body], Body]
"""The part of the body on a joint that is lumped on the parent, in the body's own frame."""


def axially_symmetric(body: Body) -> Body:
    """The part of a body that is symmetric about z, and so invariant to rotation about z."""
    m, c, J = body
    return m, vector(0, 0, c[2]), symmetric(J[1, 1], 0, 0, J[1, 1], 0, 0)


def khalil_gautier(joint: JointType, context: JointContext, body: Body) -> Body:
    """The part of a body that acts as if fixed to the parent (Gautier and Khalil 1990).

    On a revolute joint it is the part symmetric about the joint's axis. On a prismatic joint, which
    does not rotate its body, it is the inertia, and the first moment too if the joint is parallel
    to the only axis about which the body rotates.
    """
    if joint.translates:
        _, c, J = body
        is_straight = not context.spatial and along_z(context.u)
        body = 0, c if is_straight else ZERO, J
    return axially_symmetric(body) if joint.rotates else body


def mass_at_origin(joint: JointType, body: Body) -> Body:
    """The mass of a body as a point at its origin; zero if its joint moves that origin."""
    return (0 if joint.translates else body[0]), ZERO, NOTHING


def gather(robot: RobotModel, over: Over, bodies: Sequence[Body]) -> list[Body]:
    """Each body plus the parts that its children hand over, from the tips to the base."""
    total = [*bodies, (0, ZERO, NOTHING)]
    for i, p in robot.tips_to_base():
        total[p] = add(total[p], over(i, total[i]))
    return total[:-1]


def add(a: Body, b: Body) -> Body:
    """The sum of two bodies, about one origin."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a: Body, b: Body) -> Body:
    """The difference of two bodies, about one origin."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def hand_over(robot: RobotModel, part: Over) -> RobotModel:
    """The robot with a part of each body, in the body's frame, lumped into the parent at q = 0.

    Parts that arrive at the base are dropped.
    """
    at_zero = robot._at_zero
    total = gather(robot, lambda i, body: at_zero[i].body(*part(i, body)), robot.bodies)
    m, c, J = zip(*(subtract(body, part(i, body)) for i, body in enumerate(total)), strict=True)
    return replace(robot, m=m, c=c, J=J)


def lump(robot: RobotModel) -> RobotModel:
    """The robot with the part `khalil_gautier` of each body lumped into the body's parent.

    A body on a revolute joint keeps seven parameters,

        Jxx - Jyy, Jxy, Jxz, Jyz, Jzz, cx, cy

    and a body on a prismatic joint keeps m and c, or m alone. Torques stay the same; energies and
    reactions do not.
    """
    context = joint_contexts(robot)
    return hand_over(robot, lambda i, body: khalil_gautier(robot.joints[i].type, context[i], body))


def augment(robot: RobotModel) -> RobotModel:
    """The robot with the mass beyond each revolute joint lumped at the joint's origin."""
    return hand_over(robot, lambda i, body: mass_at_origin(robot.joints[i].type, body))

"""What of a body its joint does not show goes over to the parent: the rules, and the rest."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from armlet.algebra import ZERO, mirror, vector
from armlet.robot import Robot
from armlet.robot.displacement import Body

NOTHING = mirror(0, 0, 0, 0, 0, 0)
Over = Callable[[int, Body], Body]
"""What of the body on joint i goes over to the parent, in the parent's frame."""
Rule = Callable[[Robot, int, Body], Body]
"""What of the body on joint i goes over to the parent, in its own frame."""


def symmetric(body: Body) -> Body:
    """The part of a body that is symmetric about the z axis: turning it changes nothing."""
    m, c, J = body
    return m, vector(0, 0, c[2]), mirror(J[1, 1], 0, 0, J[1, 1], 0, 0)


def unseen(robot: Robot, i: int, body: Body) -> Body:
    """The part of a body that joint i moves without a trace in the torques.

    A revolute joint cannot tell a body that is symmetric about its axis from one fixed on the
    parent. A prismatic joint does not turn its body against the parent: the inertia goes over.
    """
    if robot.slides[i]:
        body = 0, ZERO, body[2]
    return symmetric(body) if robot.turns[i] else body


def mass_at_origin(robot: Robot, i: int, body: Body) -> Body:
    """The mass of a body, as a point at its origin, unless joint i moves that."""
    return (0 if robot.slides[i] else body[0]), ZERO, NOTHING


def gathered(robot: Robot, over: Over, bodies: Sequence[Body]) -> list[Body]:
    """Every body with what the bodies it carries hand over to it; what it hands over is still in.

    Bodies are their own to begin with; the tips come first.
    """
    total = [*bodies, (0, ZERO, NOTHING)]
    for i, p in robot.tips_to_base():
        total[p] = added(total[p], over(i, total[i]))
    return total[:-1]


def added(a: Body, b: Body) -> Body:
    """Two bodies about one origin, as one."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def less(a: Body, b: Body) -> Body:
    """A body without a part of it."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def lumped(robot: Robot, rule: Rule = unseen) -> Robot:
    """The robot with what a rule says of each body lumped into its parent, at q = 0.

    By the rule `unseen` seven parameters of a body on a revolute joint are left,

        Jxx - Jyy, Jxy, Jxz, Jyz, Jzz, cx, cy

    and four on a prismatic one, m and c. What arrives at the base is dropped. Torques stay the
    same; energies and reactions do not (Gautier and Khalil 1990; the constant parts k and U of
    Lin 1994).
    """
    at_zero = robot.displacements([0] * robot.nq)
    total = gathered(robot, lambda i, body: at_zero[i].body(*rule(robot, i, body)), robot.bodies)
    left = [less(body, rule(robot, i, body)) for i, body in enumerate(total)]
    m, c, J = zip(*left, strict=True)
    return replace(robot, m=m, c=c, J=J)

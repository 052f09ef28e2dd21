"""Fewer parameters, same torques: inertia moved to where it costs nothing."""

from dataclasses import replace

import numpy as np

from armlet.algebra import ZERO, mirror, vector
from armlet.robot import BASE, Robot
from armlet.scalar import Matrix, Scalar, Vector


def lumped(robot: Robot) -> Robot:
    """The robot with the inertia that a joint's motion does not show lumped into its parent.

    A turning joint cannot tell a body that is symmetric about its axis from one fixed on the
    parent: the mass m, the moment cz and the inertia diag(Jyy, Jyy, 0) go over, which leaves

        Jxx - Jyy, Jxy, Jxz, Jyz, Jzz, cx, cy.

    A sliding joint does not turn its body against the parent: the whole inertia J goes over. What
    arrives at the base is dropped. Torques stay the same; energies and reactions do not (Gautier
    and Khalil 1990; the constant parts k and U of Lin 1994).
    """
    m: list[Scalar] = list(robot.m)
    c: list[Vector] = list(robot.c)
    J: list[Matrix] = list(robot.J)
    at_zero = robot.displacements([0] * robot.n)
    for i in reversed(range(robot.n)):
        if robot.joints[i].letter == "P":
            moved = (0, ZERO, J[i])
        else:
            Jyy = J[i][1, 1]
            moved = (m[i], vector(0, 0, c[i][2]), mirror(Jyy, 0, 0, Jyy, 0, 0))
        left = (m[i] - moved[0], c[i] - moved[1], J[i] - moved[2])
        p = robot.parent[i]
        if p != BASE:
            dm, dc, dJ = at_zero[i].body(*moved)
            m[p], c[p], J[p] = m[p] + dm, c[p] + dc, J[p] + dJ
        m[i], c[i], J[i] = left
    return replace(robot, m=tuple(m), c=tuple(c), J=tuple(np.array(J)))

"""Singular matrices: joints that move no inertia, and Jacobians that lose rank."""

import numpy as np

from armlet.dynamics.coupling import inertia
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.dynamics.recursions import composites
from armlet.robot import RobotModel
from armlet.scalar import Matrix

ROUNDING = 1e-13
"""A pivot of H below this fraction of the inertia of the joint's composite body counts as zero."""
WORST_CONDITION = 1e7
"""Above this condition number of a Jacobian, the square of its inverse has no correct digit."""


def joint_without_inertia(robot: RobotModel) -> int | None:
    """The index of the outermost joint that can move without moving any inertia, or None.

    Gaussian elimination is applied to H at a random posture, from the tips to the base. A zero
    pivot shows that its joint moves no inertia if joints further out move suitably. The random
    positions of prismatic joints are at most the size of the links: with larger positions, rounding
    could hide the inertia of small bodies. For coupled joints, the leading joint is returned.
    """
    lengths = [abs(float(x)) for row in robot.dh for x in (row.a, row.d)]
    lengths += [float(np.sqrt(abs(np.trace(J) / m))) for m, _, J in robot.bodies if m]
    length = max(lengths)
    linear = [x.translates for i in robot._leaders for x in robot.twists[i]]
    moved = np.random.default_rng(0).uniform(-1, 1, robot.nv)
    q = robot.integrate(robot.neutral, moved * np.where(linear, length or 1.0, 1.0))
    H = composite_bodies(robot, q).astype(float)
    m_hat, _, J_hat = zip(*composites(robot, robot.joint_positions(q)), strict=True)
    sizes = [float(m_hat[i] if x.translates else np.trace(J_hat[i])) for i, x in robot._velocities]
    carried = np.diag(inertia(robot, np.diag(np.abs(sizes))))
    joints = [i for i in robot._leaders for _ in robot.twists[i]]
    for k in reversed(range(robot.nv)):
        if abs(H[k, k]) <= ROUNDING * carried[k]:
            return joints[k]
        H -= np.outer(H[:, k], H[k]) / H[k, k]
    return None


def is_singular(Jq: Matrix) -> Matrix:
    """Whether each Jacobian of a batch is too close to singular to be inverted."""
    sizes = np.linalg.svd(Jq, compute_uv=False)
    return sizes[..., 0] >= WORST_CONDITION * sizes[..., -1]

"""Where an inverse does not exist: joints that move no inertia, postures that lose a direction."""

import numpy as np

from armlet.dynamics.coupling import inertia
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.dynamics.recursions import composites
from armlet.robot import RobotModel
from armlet.scalar import Matrix

ROUNDING = 1e-13
"""What rounding may leave of zero, beside the inertia of all that a joint carries."""
WORST_CONDITION = 1e7
"""Beyond this condition number of a Jacobian its inverse, squared, has no right digit left."""


def joint_without_inertia(robot: RobotModel) -> int | None:
    """The outermost joint that can move without moving any inertia, if there is one.

    Its pivot of H, eliminated from the tips inwards at a random posture, is zero: those after it
    may have to follow. Prismatic joints are moved by as much as links are long, since far away the
    inertia of a small body is lost in rounding. Of coupled joints it is the one that leads.
    """
    lengths = [abs(float(x)) for row in robot.dh for x in (row.a, row.d)]
    lengths += [float(np.sqrt(abs(np.trace(J) / m))) for m, _, J in robot.bodies if m]
    length = max(lengths)
    slides = [x.translates for i in robot._leaders for x in robot.twists[i]]
    q = np.random.default_rng(0).uniform(-1, 1, robot.nv) * np.where(slides, length or 1.0, 1.0)
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
    """Whether each of many Jacobians is too near to a singular one to be inverted."""
    sizes = np.linalg.svd(Jq, compute_uv=False)
    return sizes[..., 0] >= WORST_CONDITION * sizes[..., -1]

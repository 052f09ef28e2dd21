"""The centre of mass of a robot, how it moves, and the momentum."""

import numpy as np

from armlet.algebra import cross
from armlet.dynamics.energy import velocities
from armlet.dynamics.formulation import formulation
from armlet.robot import BASE, Displacement, RobotModel, with_base
from armlet.scalar import Matrix, Scalar, Vector


def carried_moments(robot: RobotModel, X: list[Displacement]) -> tuple[list[Scalar], list[Vector]]:
    """Mass and first moment of each body with all it carries, as parts of the whole mass.

        m̂ₚ += m̂ᵢ,   ĉₚ += ᵖRᵢ ĉᵢ + m̂ᵢ r

    in its own axes, about its origin; those of the base, last, are of the whole robot.
    """
    total = sum(robot.m)
    m_hat = with_base([m / total for m in robot.m])
    c_hat = with_base([c / total for c in robot.c])
    for i, p in robot.tips_to_base():
        m_hat[p] = m_hat[p] + m_hat[i]
        c_hat[p] = c_hat[p] + X[i].vector(c_hat[i]) + m_hat[i] * X[i].origin()
    return m_hat, c_hat


@formulation(
    "centre_of_mass", source="by definition", growth="n", name="composites", walks_twists=True
)
def centre_of_mass(robot: RobotModel, q: Vector) -> Vector:
    """The first moment of all bodies by their mass, from the origin of the file's base."""
    _, c_hat = carried_moments(robot, robot.displacements(q))
    base = robot.frames[robot.base_link].pose
    return base.R.T @ (c_hat[BASE] - base.r)


@formulation(
    "centre_of_mass_jacobian",
    source="by definition",
    growth="n",
    name="composites",
    walks_twists=True,
)
def centre_of_mass_jacobian(robot: RobotModel, q: Vector) -> Matrix:
    """How the centre of mass moves with each joint, in the axes of the file's base.

    A joint of twist (w, v) moves all that its body carries, of mass m̂ and first moment ĉ as parts
    of the whole. With R the axes of the body in the base, its column is R (w × ĉ + m̂ v).
    """
    X = robot.displacements(q)
    m_hat, c_hat = carried_moments(robot, X)
    R = [np.zeros((3, 3), dtype=object)] * robot.nb + [robot.frames[robot.base_link].pose.R.T]
    Jc = np.zeros((3, robot.nv), dtype=object)
    for i, p in robot.base_to_tips():
        R[i] = np.array([X[i].inverse().vector(row) for row in R[p]], dtype=object)
        for k, (w, v) in zip(range(robot.nv)[robot.v_of[i]], robot.twists[i], strict=True):
            Jc[:, k] = R[i] @ (cross(w, c_hat[i]) + m_hat[i] * v)
    return Jc


@formulation("momentum", source="by definition", growth="n", name="velocities", walks_twists=True)
def momentum(robot: RobotModel, q: Vector, qd: Vector) -> Vector:
    """Angular momentum about the origin of the file's base, and linear momentum, in its axes.

    A body whose origin moves with v and which turns with ω has, about its origin,

        l = J ω + c × v,   p = m v + ω × c

    which are carried to the base as a moment and a force are. Rotors are left out.
    """
    X = robot.displacements(q)
    w, v = velocities(robot, X, qd)
    bodies = list(enumerate(robot.bodies))
    angular = with_base([J @ w[i] + cross(c, v[i]) for i, (_, c, J) in bodies])
    linear = with_base([m * v[i] + cross(w[i], c) for i, (m, c, _) in bodies])
    for i, p in robot.tips_to_base():
        force, moment = X[i].wrench(linear[i], angular[i])
        linear[p], angular[p] = linear[p] + force, angular[p] + moment
    base = robot.frames[robot.base_link].pose
    about = angular[BASE] - cross(base.r, linear[BASE])
    return np.concatenate([base.R.T @ about, base.R.T @ linear[BASE]])

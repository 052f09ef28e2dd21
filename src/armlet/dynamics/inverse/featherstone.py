"""Inverse dynamics by Newton and Euler, with spatial vectors."""

import numpy as np

from armlet.algebra import ZERO, cross
from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import Pair, joint_torques, momentum
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Featherstone 1987; Balafoutis and Patel 1991, Algorithm 5.4, (5.2.26)-(5.2.30)",
)
def featherstone(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by spatial Newton-Euler equations.

    A motion is a pair (angular, linear), and a force F is a pair (force f, moment t). Both are
    about the body's origin and in the body's axes. The joint's unit twist is S = (w, v), × is
    `spatial_cross`, and `momentum` multiplies by the spatial inertia I. At the base, the recursions
    start with the velocity V = 0 and the acceleration A = (0, -g):

        Vᵢ  = Vₚ + S q̇ᵢ
        Aᵢ  = Aₚ + Vᵢ × S q̇ᵢ + S q̈ᵢ
        Fᵢ  = I Aᵢ + Vᵢ × I Vᵢ

    From the tips to the base, `joint_torques` adds the children's forces to Fᵢ and projects the sum
    on S: τᵢ = w · t + v · f. The sources leave out gravity and the offset in the transformation.
    """
    n = robot.nb
    X = robot.displacements(q)
    V = [np.array([ZERO, ZERO])] * (n + 1)
    A = [np.array([ZERO, ZERO])] * n + [np.array([ZERO, -robot.g])]
    F = []
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        S = np.array(robot.unit_twists[i])
        V[i] = np.array(inward.wrench(*V[p])) + S * qd[i]
        A[i] = np.array(inward.wrench(*A[p])) + spatial_cross(V[i], S * qd[i]) + S * qdd[i]
        body = robot.bodies[i]
        F.append(momentum(body, A[i]) + spatial_cross(V[i], momentum(body, V[i])))
    return joint_torques(robot, X, [f for f, _ in F], [t for _, t in F])


def spatial_cross(V: Matrix, S: Matrix | Pair) -> Matrix:
    """Product (ω, v) × (x, y) = (ω × x, v × x + ω × y) of a motion with a motion or a force."""
    (w, v), (x, y) = V, S
    return np.array([cross(w, x), cross(v, x) + cross(w, y)])

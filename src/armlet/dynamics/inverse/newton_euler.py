"""Inverse dynamics by Newton and Euler, about the joints' origins."""

from armlet.algebra import cross, point_inertia
from armlet.dynamics.motion import accelerations, turnings
from armlet.dynamics.runs import Runs, along, parallel_runs
from armlet.robot import BASE, Displacement, Robot
from armlet.scalar import Matrix, Scalar, Vector


def newton_euler(
    robot: Robot, q: Vector, qd: Vector, qdd: Vector, wrench: Vector | None = None
) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by augmented bodies and the angular acceleration tensor.

    What a body must bear for the mass beyond a turning joint does not depend on that joint's
    angle, so that mass is lumped at the joint's origin r, off-line: body i gets the mass mᵢ, the
    first moment uᵢ and the inertia Kᵢ of itself and these points. A sliding joint lumps nothing.

    Outwards, ω, ω̇ and Ω = ω̇~ + ω̃ ω̃ of `turnings`, and the acceleration a of the frame's origin
    of `accelerations`. Inwards, with force f and moment t about the origin, less what a lumped
    mass accounts for:

        fᵢ  = Ωᵢ uᵢ + (v · v) mᵢ aᵢ + Σ f of the children
        tᵢ  = Kᵢ ω̇ᵢ + ωᵢ × Kᵢ ωᵢ + uᵢ × aᵢ + Σ t of the children
        τᵢ  = w · tᵢ + v · fᵢ + (rotor inertia) q̈ᵢ

    In a run of parallel axes only the part of t along them goes from child to parent; the part
    across goes straight to the body that the run starts on.

    The wrench is (moment, force) that the tool exerts on the world, in its frame. Balafoutis and
    Patel 1991, Algorithm 5.7, on trees and without recomputing constants at sliding joints.
    """
    X, runs = robot.displacements(q), parallel_runs(robot, q)
    turns = turnings(robot, runs, qd, qdd)
    a = accelerations(robot, X, turns, qd, qdd)
    m, u, K = augmented_bodies(robot)
    f, t = [], []
    for i, (_, v_axis) in enumerate(robot.axis):
        f.append(turns[i].Omega @ u[i] + (v_axis @ v_axis) * m[i] * a[i])
        t.append(turns[i].moment(K[i]) + cross(u[i], a[i]))
    if wrench is not None:
        add_tool_wrench(robot, wrench, f, t)
    add_up(robot, X, runs, f, t)
    return [
        w_axis @ t[i] + v_axis @ f[i] + robot.rotor_inertia[i] * qdd[i]
        for i, (w_axis, v_axis) in enumerate(robot.axis)
    ]


def add_up(
    robot: Robot, X: list[Displacement], runs: Runs, f: list[Vector], t: list[Vector]
) -> None:
    """Add to what each body bears what all that it carries bear, as far as joints feel it."""
    for i, p in robot.tips_to_base():
        f_p, t_p = X[i].wrench(f[i], along(t[i]) if runs.goes_on(i) else t[i])
        f[p], t[p] = f[p] + f_p, t[p] + t_p
        if runs.goes_on(i) and (on := robot.parent[runs.start[i]]) != BASE:
            t[on] = t[on] + runs.inward(robot, i, t[i])


def augmented_bodies(robot: Robot) -> tuple[list[Scalar], list[Vector], list[Matrix]]:
    """Mass, first moment and inertia of each body with the masses beyond its turning joints."""
    m, u, K = list(robot.m), list(robot.c), list(robot.J)
    for i, p in robot.tips_to_base():
        w_axis, _ = robot.axis[i]
        lumped = (w_axis @ w_axis) * m[i]
        r = robot.joint_origins[i]
        m[p], u[p], K[p] = m[p] + lumped, u[p] + lumped * r, K[p] + point_inertia(lumped, r)
    return m, u, K


def add_tool_wrench(robot: Robot, wrench: Vector, f: list[Vector], t: list[Vector]) -> None:
    """Add what the tool exerts on the world to the forces and moments of the body it is on."""
    i, (R, r) = robot.frame()
    if i != BASE:
        force = R @ wrench[3:]
        f[i], t[i] = f[i] + force, t[i] + R @ wrench[:3] + cross(r, force)

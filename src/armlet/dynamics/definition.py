"""Reference computations of quantities, by definition: slow, obvious, never optimised.

Quantities of coupled joints are computed from those of free joints. Body poses are products of 4x4
matrices. Vectors are in the axes of the canonical base, the frame to which the first DH rows refer.
Positions are relative to the origin of this frame.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from armlet.algebra import cross, homogeneous, skew, solve
from armlet.dynamics.coupling import with_coupling
from armlet.libraries import namespace
from armlet.robot import BASE, DHRow, Displacement, RobotModel
from armlet.scalar import Matrix, Scalar, Vector, cos_sin, sign

State = Sequence[Scalar] | Vector
Triple = tuple[Matrix, Matrix, Matrix]
STEP = 2.0**-200
AT_ZERO = DHRow(0, 0, 0, 0, 0, 0)


def screw_matrix(axis: int, angle: Scalar, translation: Scalar) -> Matrix:
    """4x4 matrix of a rotation about a coordinate axis and a translation along this axis."""
    c, s = cos_sin(angle)
    T = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=object)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    T[axis, 3] = translation
    return T


def body_poses(robot: RobotModel, q: State) -> list[Matrix]:
    """Return the 4x4 pose of each body in the base; the last entry, the base, is the identity."""
    T = [screw_matrix(0, 0, 0)] * (robot.nb + 1)
    for i, p in enumerate(robot.parent):
        row = robot.dh[i]
        T[i] = (
            T[p]
            @ screw_matrix(2, row.gamma, row.b)
            @ screw_matrix(0, row.alpha, row.a)
            @ screw_matrix(1, row.beta, 0)
            @ screw_matrix(2, row.theta, row.d)
        )
        for factor in robot.joints[i].type.factors(AT_ZERO, q[robot.q_of[i]]):
            joint = Displacement([factor])
            T[i] = T[i] @ homogeneous(joint.rotation(), joint.origin())
    return T


def motion(
    robot: RobotModel, q: State, qd: State, qdd: State, base_acceleration: State
) -> tuple[list[Matrix], list[Vector], list[Vector], list[Vector], list[Vector]]:
    """Return five lists over the bodies, the base last: pose, ω, ω̇, and v and v̇ of the origin."""
    T = body_poses(robot, q)
    zero = np.array([0, 0, 0], dtype=object)
    w, wd, v, vd = ([zero] * (robot.nb + 1) for _ in range(4))
    vd[BASE] = np.array(base_acceleration, dtype=object)
    for i, p in enumerate(robot.parent):
        R, s = T[i][:3, :3], T[i][:3, 3] - T[p][:3, 3]
        w[i], wd[i] = w[p], wd[p]
        v[i] = v[p] + cross(w[p], s)
        vd[i] = vd[p] + cross(wd[p], s) + cross(w[p], cross(w[p], s))
        units = [(R @ twist.w, R @ twist.v) for twist in robot.twists[i]]
        speeds, rates = qd[robot.v_of[i]], qdd[robot.v_of[i]]
        own = sum((unit * x for (unit, _), x in zip(units, speeds, strict=True)), zero)
        for (w_unit, v_unit), x, xd in zip(units, speeds, rates, strict=True):
            w[i], v[i] = w[i] + w_unit * x, v[i] + v_unit * x
            wd[i] = wd[i] + w_unit * xd + cross(w[p], w_unit) * x
            vd[i] = vd[i] + v_unit * xd + cross(2 * w[p] + own, v_unit) * x
    return T, w, wd, v, vd


def bodies(robot: RobotModel, T: list[Matrix]) -> Iterator[tuple[int, Scalar, Vector, Matrix]]:
    """Yield index, mass, first moment and inertia of each body, about its origin, in base axes."""
    for i in range(robot.nb):
        R = T[i][:3, :3]
        yield i, robot.m[i], R @ robot.c[i], R @ robot.J[i] @ R.T


def unit_motions(
    robot: RobotModel, T: list[Matrix], body: int, point: Vector
) -> dict[int, tuple[Vector, Vector]]:
    """Return ω and the velocity of a `point` on a body, at each unit joint velocity that moves it.

    The keys are indices of joint velocities.
    """
    moved, path = {}, robot.path(body)
    for k, (i, twist) in enumerate(robot._velocities):
        if i in path:
            R, o = T[i][:3, :3], T[i][:3, 3]
            w = R @ twist.w
            moved[k] = w, R @ twist.v + cross(w, point - o)
    return moved


@with_coupling("inverse_dynamics")
def inverse_dynamics(
    robot: RobotModel, q: State, qd: State, qdd: State, wrench: Vector | None = None
) -> Vector:
    """Joint torques by d'Alembert's principle: power of inertial forces at unit joint speeds."""
    T, w, wd, _, vd = motion(robot, q, qd, qdd, -robot.g)
    tau: list[Scalar] = [drive.rotor_inertia * qdd[i] for i, drive in enumerate(robot.drives)]
    for k, m, c, J in bodies(robot, T):
        force = m * vd[k] + cross(wd[k], c) + cross(w[k], cross(w[k], c))
        moment = J @ wd[k] + cross(w[k], J @ w[k]) + cross(c, vd[k])
        for i, (w_i, v_i) in unit_motions(robot, T, k, T[k][:3, 3]).items():
            tau[i] = tau[i] + w_i @ moment + v_i @ force
    if wrench is not None:
        R = forward_kinematics(robot, q)[:3, :3]
        in_base = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        return np.array(tau) + jacobian(robot, q).T @ in_base
    return np.array(tau)


@with_coupling("inertia_matrix")
def inertia_matrix(robot: RobotModel, q: State) -> Matrix:
    """Inertia matrix from the kinetic energy: entry (i, j) from unit speeds of joints i and j."""
    T = body_poses(robot, q)
    H = np.diag(np.array([drive.rotor_inertia for drive in robot.drives], dtype=object))
    for k, m, c, J in bodies(robot, T):
        units = unit_motions(robot, T, k, T[k][:3, 3])
        for i, (wi, vi) in units.items():
            for j, (wj, vj) in units.items():
                H[i, j] = H[i, j] + m * vi @ vj + vi @ cross(wj, c) + vj @ cross(wi, c)
                H[i, j] = H[i, j] + wi @ J @ wj
    return H


def bias(robot: RobotModel, q: State, qd: State) -> Vector:
    return inverse_dynamics(robot, q, qd, [0] * robot.nv)


def gravity_torque(robot: RobotModel, q: State) -> Vector:
    return inverse_dynamics(robot, q, [0] * robot.nv, [0] * robot.nv)


def forward_dynamics(robot: RobotModel, q: State, qd: State, tau: State) -> Vector:
    return solve(inertia_matrix(robot, q), np.array(tau, dtype=object) - bias(robot, q, qd))


def linearization(robot: RobotModel, q: State, qd: State, qdd: State) -> Triple:
    """Return ∂τ/∂q̈, ∂τ/∂q̇, ∂τ/∂q by complex steps: Im τ(x + i h u) = h ∂τ/∂x u up to rounding.

    u are unit vectors or, for q, the rates of change of q at unit velocities.
    """
    state = [np.array(x, dtype=object) for x in (q, qd, qdd)]
    step, units = STEP * namespace(q[0]).sqrt(-1 + 0j), np.eye(robot.nv, dtype=int)

    def derivatives(part: int, directions: Matrix) -> Matrix:
        columns = []
        for u in directions:
            moved = [x + step * u if k == part else x for k, x in enumerate(state)]
            columns.append([tau.imag / STEP for tau in inverse_dynamics(robot, *moved)])
        return np.array(columns, dtype=object).T

    return derivatives(2, units), derivatives(1, units), derivatives(0, robot._tangent(q).T)


def forward_linearization(robot: RobotModel, q: State, qd: State, tau: State) -> Triple:
    """∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ, from the derivatives of the torques."""
    H, V, P = linearization(robot, q, qd, forward_dynamics(robot, q, qd, tau))
    return solve(H, -P), solve(H, -V), solve(H, np.eye(robot.nv, dtype=int))


def state_space(robot: RobotModel, q: State, qd: State, tau: State) -> tuple[Matrix, Matrix]:
    """Return A and B, the derivatives of (δ̇, q̈) with respect to (δ, q̇) and to τ.

    The pose of a joint differs by exp(δ) from that in a state of motion with the twist V; both δ
    and V are 4x4 matrices in body axes. While the joint moves with V as well, δ̇ = δ V - V δ.
    """
    n = robot.nv
    A, B = np.zeros((2 * n, 2 * n), dtype=object), np.zeros((2 * n, n), dtype=object)
    A[:n, n:] = np.eye(n, dtype=int)
    for joint, at in zip(robot.coordinates, robot._slices["nv"], strict=True):
        units = [homogeneous(skew(w), v) - homogeneous(0, 0) for w, v in joint.type.twists]
        V = sum(unit * x for unit, x in zip(units, qd[at], strict=True))
        rates = [unit @ V - V @ unit for unit in units]
        A[at, at] = [[(x * rate).sum() / (x * x).sum() for rate in rates] for x in units]
    A[n:, :n], A[n:, n:], B[n:] = forward_linearization(robot, q, qd, tau)
    return A, B


@with_coupling("friction_torque")
def friction_torque(robot: RobotModel, qd: State) -> Vector:
    drives = zip(robot.drives, qd, strict=True)
    return np.array([d.viscous * x + d.coulomb * sign(x) + d.offset for d, x in drives])


@with_coupling("passive_torque")
def passive_torque(robot: RobotModel, q: State, qd: State) -> Vector:
    """Friction and spring torques, minus the gravity torques of the compensated masses."""
    bent = robot.difference(robot.neutral, np.array(q, dtype=object))
    springs = [s.stiffness * (x - s.reference) for s, x in zip(robot.springs, bent, strict=True)]
    lifted = gravity_torque(robot._compensated_bodies(), q)
    return friction_torque(robot, qd) + np.array(springs) - lifted


def base_in_file(robot: RobotModel) -> Matrix:
    """4x4 pose of the canonical base in the frame of the base link."""
    return homogeneous(*robot.frames[robot.base_link].pose.inverse())


@with_coupling("forward_kinematics")
def forward_kinematics(robot: RobotModel, q: State, frame: str | None = None) -> Matrix:
    body, pose = robot.frame(frame)
    return base_in_file(robot) @ body_poses(robot, q)[body] @ homogeneous(*pose)


@with_coupling("jacobian")
def jacobian(robot: RobotModel, q: State, frame: str | None = None) -> Matrix:
    """Jacobian of a frame: column i is the frame's velocity at unit speed of joint i."""
    T, R_file = body_poses(robot, q), base_in_file(robot)[:3, :3]
    body, pose = robot.frame(frame)
    tip = (T[body] @ homogeneous(*pose))[:3, 3]
    Jq = np.zeros((6, robot.nv), dtype=object)
    for i, (w, v) in unit_motions(robot, T, body, tip).items():
        Jq[:3, i], Jq[3:, i] = R_file @ w, R_file @ v
    return Jq


def poses(robot: RobotModel, q: State, frames: Sequence[str] | None = None) -> Matrix:
    names = robot.frames if frames is None else frames
    return np.array([forward_kinematics(robot, q, frame) for frame in names])


@with_coupling("frame_acceleration")
def frame_acceleration(
    robot: RobotModel, q: State, qd: State, qdd: State, frame: str | None = None
) -> Vector:
    """Angular acceleration of a frame and acceleration of its origin."""
    body, pose = robot.frame(frame)
    T, w, wd, _, vd = motion(robot, q, qd, qdd, [0, 0, 0])
    arm, R_file = T[body][:3, :3] @ pose.r, base_in_file(robot)[:3, :3]
    a = vd[body] + cross(wd[body], arm) + cross(w[body], cross(w[body], arm))
    return np.concatenate([R_file @ wd[body], R_file @ a])


def frame_velocity(robot: RobotModel, q: State, qd: State, frame: str | None = None) -> Vector:
    return jacobian(robot, q, frame) @ np.array(qd, dtype=object)


def frame_acceleration_bias(
    robot: RobotModel, q: State, qd: State, frame: str | None = None
) -> Vector:
    return frame_acceleration(robot, q, qd, [0] * robot.nv, frame)


def jacobian_rate(robot: RobotModel, q: State, qd: State, frame: str | None = None) -> Matrix:
    """Time derivative of the Jacobian, by a complex step along q̇."""
    step = STEP * namespace(q[0]).sqrt(-1 + 0j)
    rates = robot._tangent(q) @ np.array(qd, dtype=object)
    Jq = jacobian(robot, [x + step * rate for x, rate in zip(q, rates, strict=True)], frame)
    return np.array([(0j + x).imag / STEP for x in Jq.flat], dtype=object).reshape(Jq.shape)


def inverse_inertia_matrix(robot: RobotModel, q: State) -> Matrix:
    return solve(inertia_matrix(robot, q), np.eye(robot.nv, dtype=int))


@with_coupling("centre_of_mass")
def centre_of_mass(robot: RobotModel, q: State) -> Vector:
    T, total = body_poses(robot, q), sum(robot.m)
    moment = sum(m * T[k][:3, 3] + c for k, m, c, _ in bodies(robot, T))
    return (base_in_file(robot) @ np.array([*(moment / total), 1], dtype=object))[:3]


def centre_of_mass_jacobian(robot: RobotModel, q: State) -> Matrix:
    """Jacobian of the centre of mass: column i is its velocity at unit speed of joint i."""
    units = np.eye(robot.nv, dtype=int)
    columns = [momentum(robot, q, unit)[3:] / sum(robot.m) for unit in units]
    return np.array(columns, dtype=object).T


@with_coupling("momentum")
def momentum(robot: RobotModel, q: State, qd: State) -> Vector:
    """Angular and linear momentum of all bodies, in the frame of the base link."""
    T, w, _, v, _ = motion(robot, q, qd, [0] * robot.nv, [0, 0, 0])
    origin, R_file = robot.frames[robot.base_link].pose.r, base_in_file(robot)[:3, :3]
    angular, linear = np.zeros((2, 3), dtype=object)
    for k, m, c, J in bodies(robot, T):
        p = m * v[k] + cross(w[k], c)
        angular = angular + J @ w[k] + cross(c, v[k]) + cross(T[k][:3, 3] - origin, p)
        linear = linear + p
    return np.concatenate([R_file @ angular, R_file @ linear])


@with_coupling("energy")
def energy(robot: RobotModel, q: State, qd: State) -> tuple[Scalar, Scalar]:
    T, w, _, v, _ = motion(robot, q, qd, [0] * robot.nv, [0, 0, 0])
    origin = robot.frames[robot.base_link].pose.r
    kinetic: Scalar = sum(
        d.rotor_inertia * x * x / 2 for d, x in zip(robot.drives, qd, strict=True)
    )
    potential: Scalar = 0
    for k, m, c, J in bodies(robot, T):
        kinetic = kinetic + m * v[k] @ v[k] / 2 + v[k] @ cross(w[k], c) + w[k] @ J @ w[k] / 2
        potential = potential - robot.g @ (m * (T[k][:3, 3] - origin) + c)
    return kinetic, potential

"""Energy and its regressor, momentum, and the centre of mass."""

from collections.abc import Sequence

import numpy as np

from armlet.algebra import Z_AXIS, ZERO, cross
from armlet.dynamics.coupling import with_coupling
from armlet.dynamics.formulation import by_definition, describe
from armlet.dynamics.recursions import joint_motion
from armlet.dynamics.regressor import PARAMETERS, Parameters, full_sets
from armlet.robot import BASE, Displacement, RobotModel, with_base
from armlet.scalar import Matrix, Scalar, Vector, is_zero


@by_definition("energy", "velocities")
def energy(robot: RobotModel, q: Vector, qd: Vector) -> tuple[Matrix, Matrix]:
    """Kinetic energy T and potential energy U; a mass at the origin of the base link has U = 0.

        T = ½ Σ (vᵢ · (mᵢ vᵢ + 2 ωᵢ × cᵢ) + ωᵢ · Jᵢ ωᵢ + (rotor inertia) q̇ᵢ²)
        U = - g · Σ (first moment of each body about the origin of the base link)

    where `velocities` computes ω of each body and v of its origin.
    """
    X = robot.displacements(q)
    w, v = velocities(robot, X, qd)
    twice_kinetic: Scalar = 0
    for i, (m, c, J) in enumerate(robot.bodies):
        twice_kinetic += v[i] @ (m * v[i] + 2 * cross(w[i], c)) + w[i] @ (J @ w[i])
    for drive, speed in zip(robot.drives, qd, strict=True):
        twice_kinetic += drive.rotor_inertia * speed * speed
    kinetic = twice_kinetic / 2
    m_hat, c_hat = composite_moments(robot, X, robot.m, robot.c)
    potential = -robot.g @ (c_hat[BASE] - m_hat[BASE] * robot.frames[robot.base_link].pose.r)
    return np.array(kinetic), np.array(potential)


def velocities(
    robot: RobotModel, X: list[Displacement], qd: Vector
) -> tuple[list[Vector], list[Vector]]:
    """Return ω of each body and v of its origin, in body axes; the last entries (base) are 0.

    From the origin of parent p, the origin of body i is at r + h z (`origin_along_z`). With the
    joint's unit twist (w, v):

        ωᵢ = ωₚ + w q̇ᵢ,   vᵢ = vₚ + ωₚ × r + ωᵢ × h z + v q̇ᵢ
    """
    w: list[Vector] = [ZERO] * (robot.nb + 1)
    v: list[Vector] = [ZERO] * (robot.nb + 1)
    for i, p in robot.base_to_tips():
        inward = X[i].inverse()
        joint = joint_motion(robot, i, qd)
        w[i] = inward.vector(w[p]) + joint.w
        r, h = X[i].origin_along_z()
        v[i] = inward.vector(v[p] + cross(w[p], r)) + h * cross(w[i], Z_AXIS) + joint.v
    return w, v


def composite_moments(
    robot: RobotModel, X: list[Displacement], m: Sequence[Scalar], c: Sequence[Vector]
) -> tuple[list[Scalar], list[Vector]]:
    """Return mass m̂ and first moment ĉ of each body together with all bodies it carries.

    First moments are about the body's origin, in body axes. The last entries are those of the whole
    robot, in the base. With the origin of body i at r in its parent p:

        m̂ₚ += m̂ᵢ,   ĉₚ += ᵖRᵢ ĉᵢ + m̂ᵢ r
    """
    m_hat, c_hat = with_base(m), with_base(c)
    for i, p in robot.tips_to_base():
        m_hat[p] = m_hat[p] + m_hat[i]
        c_hat[p] = c_hat[p] + X[i].vector(c_hat[i]) + m_hat[i] * X[i].origin()
    return m_hat, c_hat


def mass_fractions(robot: RobotModel) -> tuple[list[Scalar], list[Vector]]:
    """Return mass and first moment of each body, divided by the total mass."""
    total = sum(robot.m)
    return [m / total for m in robot.m], [c / total for c in robot.c]


@describe(
    "energy_regressor",
    source="by definition; Lin 1994, Theorem 5",
    name="unit_bodies",
    minimal=False,
    coupled=True,
    walks_twists=True,
)
def energy_regressor(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    parameters: Parameters = "minimal",
    rotors: bool = False,
) -> Matrix:
    """Energy regressor Y(q, q̇) with (T, U) = Y φ: column k has the energies for a unit φₖ.

    A body of mass m, first moment c and inertia J is fixed in frame i. The frame's origin is at o,
    and the origin of the base link at o₀. The energies of the body are

        T = ½ m v · v + c · (v × ω) + ½ ω · J ω,   U = -m g · (o - o₀) - c · g

    with all vectors in the axes of frame i. A unit rotor inertia has T = ½ q̇ᵢ². The standard
    parameters are the entries of `robot.phi`, body by body, followed by rotor inertias if `rotors`
    is true. For them, Y φ is the `energy` of the bodies and of these rotors.

    Any minimal set φ' = Λ φ determines T, and U up to a constant. Let Λ⁻ be a right inverse of Λ.
    Then φ and Λ⁻ φ' give the same torques in all states, and therefore the same H = ∂τ/∂q̈, the same
    T = ½ q̇ᵀ H q̇ and the same gravity torques ∂U/∂q. The constant is the potential energy of mass
    that is lumped on the base.
    """
    return energies_of(robot, q, qd, full_sets(robot, parameters, PARAMETERS, rotors), rotors)


@with_coupling("energy_regressor")
def energies_of(
    robot: RobotModel, q: Vector, qd: Vector, sets: list[list[Scalar]], rotors: bool
) -> Matrix:
    """Return T and U as two rows, with one column per set of standard parameters in `sets`."""
    X = robot.displacements(q)
    w, v = velocities(robot, X, qd)
    g, height = weights(robot, X)
    T: list[Scalar] = []
    U: list[Scalar] = []
    for i in range(robot.nb):
        x, y, z = w[i]
        squares = [x * x / 2, x * y, x * z, y * y / 2, y * z, z * z / 2]
        T += [*squares, *cross(v[i], w[i]), v[i] @ v[i] / 2]
        U += [0] * 6 + [*-g[i], -height[i]]
    if rotors:
        T += [speed * speed / 2 for speed in qd]
        U += [0] * robot.nb
    shown = [[(k, x) for k, x in enumerate(phi) if not is_zero(x)] for phi in sets]
    rows = [[sum(x * unit[k] for k, x in phi) for phi in shown] for unit in (T, U)]
    return np.array(rows, dtype=object)


def weights(robot: RobotModel, X: list[Displacement]) -> tuple[list[Vector], list[Scalar]]:
    """Return g in the axes of each body's frame, and g · (o - o₀) for each frame's origin o.

    o₀ is the origin of the base link. The last entry of each list belongs to the canonical base.
    """
    origin = robot.frames[robot.base_link].pose.r
    g: list[Vector] = [ZERO] * robot.nb + [robot.g]
    height: list[Scalar] = [0] * robot.nb + [-robot.g @ origin]
    for i, p in robot.base_to_tips():
        g[i] = X[i].inverse().vector(g[p])
        r, h = X[i].origin_along_z()
        height[i] = height[p] + g[p] @ r + g[i][2] * h
    return g, height


@by_definition("centre_of_mass", "composites")
def centre_of_mass(robot: RobotModel, q: Vector) -> Vector:
    """Centre of mass of all bodies, in the frame of the base link."""
    _, c_hat = composite_moments(robot, robot.displacements(q), *mass_fractions(robot))
    base = robot.frames[robot.base_link].pose
    return base.R.T @ (c_hat[BASE] - base.r)


@by_definition("centre_of_mass_jacobian", "composites")
def centre_of_mass_jacobian(robot: RobotModel, q: Vector) -> Matrix:
    """Jacobian of the centre of mass, in the axes of the base link.

    The column of a joint with unit twist (w, v) is R (w × ĉ + m̂ v). R rotates from the joint's body
    to the base link. The composite body's mass m̂ and first moment ĉ are divided by the total mass.
    """
    X = robot.displacements(q)
    m_hat, c_hat = composite_moments(robot, X, *mass_fractions(robot))
    R = [np.zeros((3, 3), dtype=object)] * robot.nb + [robot.frames[robot.base_link].pose.R.T]
    Jc = np.zeros((3, robot.nv), dtype=object)
    for i, p in robot.base_to_tips():
        R[i] = np.array([X[i].inverse().vector(row) for row in R[p]], dtype=object)
        for k, (w, v) in zip(range(robot.nv)[robot.v_of[i]], robot.twists[i], strict=True):
            Jc[:, k] = R[i] @ (cross(w, c_hat[i]) + m_hat[i] * v)
    return Jc


@by_definition("momentum", "velocities")
def momentum(robot: RobotModel, q: Vector, qd: Vector) -> Vector:
    """Angular momentum about the origin of the base link and linear momentum, in base axes.

    A body has the mass m and, about its origin, the first moment c and the inertia J. When it has
    the angular velocity ω and its origin the velocity v, the angular momentum l about this origin
    and the linear momentum p are

        l = J ω + c × v,   p = m v + ω × c

    The pair (l, p) is transformed to the base like a moment and a force. Rotors are not included.
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

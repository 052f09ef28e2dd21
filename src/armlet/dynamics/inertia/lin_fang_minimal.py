"""The inertia matrix from minimal parameters alone, by Lin and Fang.

The first moment and the inertia of composite body i, about its origin and in its axes, are
the sums of a constant term and a term that varies with q:

    ĉᵢ = kᵢ + lᵢ,    Ĵᵢ = Uᵢ + Vᵢ                                          (22), (23)

Let r be the first revolute joint on the path from the base, s the first revolute joint after r
with another axis direction, and u the axis of r in frame i, which is constant before s. H depends
only on these parameters (Lin 1994, Theorem 5; Lin and Fang 1999, Theorem 1, Table VII):

    joint i revolute   r <= i < s   Uzz, kx, ky
                       s <= i       Uxx - Uyy, Uxy, Uxz, Uyz, Uzz, kx, ky
    joint i prismatic  always       m̂
                       r < i < s    κ¹ = (u × k)z, κ² = (k - (u · k) u)z
                       s < i        kx, ky, kz
"""

from armlet.algebra import Z_AXIS, ZERO, cross, upper_triangle
from armlet.dynamics.formulation import describe
from armlet.dynamics.inertia.lin_fang import FromComposites, lin_fang_1, lin_fang_2
from armlet.dynamics.recursions import composite_masses
from armlet.minimal.lumping import NOTHING, axially_symmetric, gather, subtract
from armlet.minimal.observability import joint_contexts
from armlet.robot import Body, Displacement, RobotModel, Screw, Twist
from armlet.scalar import Matrix, Scalar, Vector


@describe(
    "inertia_matrix",
    source="Lin and Fang 1999, Table VII with Formulation 1, (7)-(11) and (29)-(31), on trees",
    growth="n^2",
    contends=True,
)
def lin_fang_1_minimal(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q) from minimal parameters, projected in each joint's frame.

    For joints before s (see the module's docstring), (29)-(31) are used instead of (7)-(11).
    """
    return from_minimal(lin_fang_1, robot, q)


@describe(
    "inertia_matrix",
    source="Lin and Fang 1999, Table VII with Formulation 2, (20) and (32), on trees",
    growth="n^2",
)
def lin_fang_2_minimal(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q) from minimal parameters, in the accelerated body's frame.

    For joints before s (see the module's docstring), (32) is used instead of (20).
    """
    return from_minimal(lin_fang_2, robot, q)


def from_minimal(entries: FromComposites, robot: RobotModel, q: Vector) -> Matrix:
    """Compute H by the formulation `entries`, with ĉ and Ĵ from minimal parameters.

    A unit acceleration of joint i needs the moment tᵢ = Ĵᵢ w + ĉᵢ × v. Before joint s (see the
    module's docstring), all revolute axes are along u. Of tᵢ, H then depends only on the component
    u · tᵢ, which rotations do not change. `entries` gets ĉ and Ĵ that make tᵢ zero, and transforms
    only the force fᵢ = w × ĉᵢ + m̂ᵢ v. The missing terms are then added for joint i and all joints j
    between i and the base, as in (30)-(32):

        Hⱼᵢ += (w · u)ⱼ (u · tᵢ)

    Here w · u is ±1 for a revolute joint and 0 for a prismatic joint.
    """
    u, c_hat, J_hat, t_r = composites(robot, q)
    H = entries(robot, q, [*zip(composite_masses(robot), c_hat, J_hat, strict=True)])
    for i, t in t_r.items():
        for j in robot.path(i):
            w, _ = robot.unit_twists[j]
            H[j, i] = H[i, j] = H[i, j] + (w @ u[j]) * t
    return H


def composites(
    robot: RobotModel, q: Vector
) -> tuple[list[Vector], list[Vector], list[Matrix], dict[int, Scalar]]:
    """Return u, ĉ, Ĵ and u · t of the composite bodies, by recursion from the tips (Table VII).

    r and s are those of the module's docstring. u is the axis of r in frame i; it is zero before r
    and None from s on. For joints before s, V stands for the scalar u · V u, the returned Ĵ is
    zero, and ĉ is zero if the joint is prismatic. Entry i of u · t is the moment about u for a unit
    acceleration of joint i. At a revolute joint, u = (0, 0, ±1) (29):

        revolute   u · tᵢ = (w · u) (Uzz + V)
        prismatic  u · tᵢ = κ¹ + (u × l)z
    """
    X, constant = robot.displacements(q), minimal_bodies(robot)
    u = [None if x.spatial else ZERO if x.u is None else x.u for x in joint_contexts(robot)]
    u.append(ZERO)
    l: list[Vector] = [ZERO] * (robot.nb + 1)
    V = [NOTHING if axis is None else 0 for axis in u]
    for i, p in robot.tips_to_base():
        l_i, V_i = over_joint(X[i][-1], robot.unit_twists[i], constant[i], l[i], V[i], u[i])
        dl, dV = over_mount(robot._mounts[i], X[i][-1], l_i, V_i, u[i], u[p])
        l[p], V[p] = l[p] + dl, V[p] + dV

    c_hat, J_hat, t_r = [ZERO] * robot.nb, [NOTHING] * robot.nb, {}
    for i, (w, v) in enumerate(robot.unit_twists):
        _, k, U = constant[i]
        if u[i] is None:
            c_hat[i], J_hat[i] = k + l[i], U + V[i]
        else:
            c_hat[i] = robot.unit_twists[i].rotates * (k + l[i])
            t_r[i] = (w @ u[i]) * (U[2, 2] + V[i]) + v @ (cross(u[i], k) + cross(u[i], l[i]))
    return u, c_hat, J_hat, t_r


def over_joint(
    joint: Screw, axis: Twist, constant: Body, l: Vector, V: Matrix, u: Vector | None
) -> tuple[Vector, Matrix]:
    """Return l' and V': l and V of body i after the translation of joint i, before its rotation.

    Joint i translates by h along z. k and U are those of `minimal_bodies`:

        revolute   l' = k + l         V' = U + V - h (z̃ l̃' + l̃' z̃)                  (24), (34)
        prismatic  l' = l + m̂ h z     V' = V - h (z̃ ĉ~ + ĉ~ z̃) - m̂ h² z̃ z̃           (24), (35)

    For joints before s (see the module's docstring), V is the scalar u · V u. a = z - (u · z) u is
    the component of z perpendicular to u; a is zero if joint i is revolute:

        revolute   V' = Uzz + V
        prismatic  V' = V + h (m̂ h az + 2 κ² + 2 a · l),    κ² = a · k                   (40)
    """
    m, k, U = constant
    h = joint.h
    if u is None:
        _, _, V = joint._replace(c=1, s=0).body(m, k + l, U + V)
    else:
        a = across(u, Z_AXIS)
        V = U[2, 2] + V + h * (m * a[2] * h + 2 * a @ k + 2 * a @ l)
    return l + axis.rotates * k + m * h * Z_AXIS, V


def over_mount(
    mount: Displacement, joint: Screw, l: Vector, V: Matrix, u_i: Vector | None, u_p: Vector | None
) -> tuple[Vector, Matrix]:
    """Transform l and V of body i to the frame of its parent p, as for a body without mass.

    `mount` is the constant part of the displacement, with its origin at b. If joint p is before s
    (see the module's docstring), the scalar u · V u grows by 2 (b - (u · b) u) · l, (36)-(40). If
    joint i is s, this scalar is first computed from V in the axes of `mount`, where u is constant.
    """
    rotation = joint._replace(h=0)
    if u_p is None:
        _, l, V = Displacement((*mount, rotation)).body(0, l, V)
        return l, V
    if u_i is None:
        _, _, V = rotation.body(0, l, V)
        V = inertia_about(mount.inverse().vector(u_p), V)
    l = mount.vector(rotation.vector(l))
    return l, V + 2 * across(u_p, mount.origin()) @ l


def across(u: Vector, r: Vector) -> Vector:
    """Component of r perpendicular to the unit vector u, as a vector."""
    return r - (u @ r) * u


def inertia_about(u: Vector, J: Matrix) -> Scalar:
    """Moment of inertia u · J u about the unit vector u, (55)."""
    x, y, z = u
    xx, xy, xz, yy, yz, zz = upper_triangle(J)
    squares = x * x * xx + y * y * yy + z * z * zz
    return squares + 2 * x * y * xy + 2 * x * z * xz + 2 * y * z * yz


def minimal_bodies(robot: RobotModel) -> list[Body]:
    """Return (m̂, k, U) of each composite body after lumping on the parents (C1)-(C3).

    If joint i is revolute, the part that is symmetric about its axis is lumped on the parent, and
    only Uxx - Uyy, Uxy, Uxz, Uyz, Uzz, kx, ky remain. A prismatic joint does not rotate its body:
    the body is lumped at zero displacement, and m̂ and k remain for the effects of displacement.
    """
    still = robot.displacements(
        [-row.d if v[2] else 0 for row, (_, v) in zip(robot.dh, robot.unit_twists, strict=True)]
    )

    def over(i: int, body: Body) -> Body:
        return still[i].body(
            *(body if robot.unit_twists[i].translates else axially_symmetric(body))
        )

    return [
        (*body[:2], NOTHING)
        if robot.unit_twists[i].translates
        else subtract(body, axially_symmetric(body))
        for i, body in enumerate(gather(robot, over, robot.bodies))
    ]

"""Cartesian vectors and tensors, with equation numbers of Balafoutis and Patel (1991).

A vector is an array of three scalars of any type, and a tensor is a 3x3 array. Zeros and ones are
integers, so that constant folding removes operations with them.
"""

import numpy as np

from armlet.scalar import Matrix, Scalar, Vector

CYCLES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


def vector(x: Scalar, y: Scalar, z: Scalar) -> Vector:
    return np.array([x, y, z], dtype=object)


ZERO = vector(0, 0, 0)
X_AXIS, Y_AXIS, Z_AXIS = vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1)
IDENTITY = np.array([X_AXIS, Y_AXIS, Z_AXIS])
for constant in (ZERO, X_AXIS, Y_AXIS, Z_AXIS, IDENTITY):
    constant.setflags(write=False)


def cross(a: Vector, b: Vector) -> Vector:
    return vector(*(a[j] * b[k] - a[k] * b[j] for _, j, k in CYCLES))


def skew(a: Vector) -> Matrix:
    """Skew-symmetric tensor ã, for which ã b = a × b."""
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)


def outer(a: Vector, b: Vector) -> Matrix:
    """Tensor product a bᵀ, for which (a bᵀ) c = a (b · c)."""
    return np.multiply.outer(a, b)


def double_dot(T: Matrix, S: Matrix) -> Scalar:
    """Double dot product T : S = tr(T S)."""
    return (T * S.T).sum()


def trace_of(T: Matrix) -> Scalar:
    return T[0, 0] + T[1, 1] + T[2, 2]


def homogeneous(R: Matrix, r: Vector) -> Matrix:
    """Homogeneous 4x4 matrix [R r; 0 1] of the pose with axes R and origin r."""
    T = np.eye(4, dtype=object)
    T[:3, :3], T[:3, 3] = R, r
    return T


def changed_basis(T: Matrix, R: Matrix) -> Matrix:
    """Tensor R T Rᵀ: T in new axes; the columns of R are the old axes expressed in the new axes."""
    return R @ T @ R.T


def symmetric(xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> Matrix:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)


def upper_triangle(J: Matrix) -> list[Scalar]:
    """Entries xx, xy, xz, yy, yz, zz of a symmetric tensor: the inverse of `symmetric`."""
    return [J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]]


def euler(J: Matrix) -> Matrix:
    """Euler tensor ½ tr(J) 1 - J = ∫ r rᵀ dm of an inertia tensor J (4.3.6)."""
    return trace_of(J) / 2 * IDENTITY - J


def point_inertia(m: Scalar, r: Vector) -> Matrix:
    """Inertia tensor -m r̃ r̃ of a point mass m at r, about the origin (4.3.9)."""
    x, y, z = r
    return symmetric(
        m * (y * y + z * z),
        -m * x * y,
        -m * x * z,
        m * (x * x + z * z),
        -m * y * z,
        m * (x * x + y * y),
    )


def angular_acceleration_tensor(w: Vector, wd: Vector) -> Matrix:
    """Angular acceleration tensor Ω = ω̇~ + ω̃ ω̃: r̈ = Ω r for a body-fixed vector r (4.2.22)."""
    return skew(wd) + skew(w) @ skew(w)


def euler_moment(w: Vector, wd: Vector, J: Matrix) -> Vector:
    """Moment J ω̇ + ω × J ω (4.3.42): dual vector of Ω E - (Ω E)ᵀ for Ω = ω̇~ + ω̃ ω̃, E = euler(J)."""
    Omega = angular_acceleration_tensor(w, wd)
    D = vector(*(Omega[j, j] - Omega[k, k] for _, j, k in CYCLES))
    return moment_by_entries(w, wd, J, Omega, D)


def moment_by_entries(w: Vector, wd: Vector, J: Matrix, Omega: Matrix, D: Vector) -> Vector:
    """Moment J ω̇ + ω × J ω, with Ω = ω̇~ + ω̃ ω̃ and Dᵢ = Ωⱼⱼ - Ωₖₖ for cyclic i, j, k."""
    return vector(
        *(
            J[i, i] * wd[i]
            + (J[k, k] - J[j, j]) * (w[j] * w[k])
            + J[i, k] * Omega[j, i]
            - J[i, j] * Omega[k, i]
            + J[j, k] * D[i]
            for i, j, k in CYCLES
        )
    )


def udu(H: Matrix) -> tuple[Matrix, Vector]:
    """Factor a positive definite H = U D Uᵀ: return unit upper triangular U and the diagonal of D.

    Elimination runs from the last row up, so zeros of H for joints on different branches stay zero.
    """
    n = len(H)
    H = np.array(H, dtype=object)
    U = np.eye(n, dtype=object)
    for k in reversed(range(n)):
        for i in range(k):
            U[i, k] = H[i, k] / H[k, k]
        for i in range(k):
            for j in range(i + 1):
                H[j, i] = H[i, j] = H[i, j] - U[i, k] * H[j, k]
    return U, np.diag(H)


def solve(H: Matrix, y: Matrix) -> Matrix:
    """Solve H x = y for a symmetric positive definite H and a vector or matrix y."""
    U, D = udu(H)
    n = len(H)
    x = np.array(y, dtype=object)
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - U[i, k] * x[k]
    for k in range(n):
        x[k] = x[k] / D[k]
        for i in range(k):
            x[k] = x[k] - U[i, k] * x[i]
    return x

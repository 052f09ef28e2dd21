"""Joint types: how a joint moves its body, and how its positions change with its velocities."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

import numpy as np

from armlet import math
from armlet.algebra import IDENTITY, Z_AXIS, ZERO
from armlet.libraries import namespace
from armlet.robot.displacement import DHRow, Factor, Rotation, Screw, cos_sin_of_sum
from armlet.scalar import Matrix, Scalar, Vector, cos_sin, is_zero


class Twist(NamedTuple):
    """Angular velocity w of a body and velocity v of its origin, at joint speed 1, in body axes."""

    w: Vector
    v: Vector

    @property
    def rotates(self) -> int:
        """1 if the twist rotates the body, else 0; an int, so products with it cost nothing."""
        return int(not all(map(is_zero, self.w)))

    @property
    def translates(self) -> int:
        """1 if the twist moves the body's origin, else 0."""
        return int(not all(map(is_zero, self.v)))


Array = Any
"""An array of numbers or of traced scalars, with the entries of a joint along its last axis."""


class JointType(NamedTuple):
    """A joint type. If the joint has one axis, this is the z axis of the body that the joint moves.

    The functions from `integrate` on, except `tangent`, take arrays with any leading axes. By
    default, positions are a vector space, and `integrate` returns q + v.
    """

    letter: str
    neutral: tuple[int, ...]
    """The positions at which the joint has the pose stated in the robot's file."""
    factors: Callable[[DHRow, Sequence[Scalar]], tuple[Factor, ...]]
    """The factors of the body's displacement that depend on the joint's positions q, as a function
    of the DH row and q. If the joint `has_axis`, they include the row's screw (theta, d)."""
    twists: tuple[Twist, ...]
    """One unit twist per velocity, constant in the body's axes."""
    integrate: Callable[[Array, Array], Array] = add
    """Function of q and v: the positions reached from q at the velocity v in one unit of time."""
    difference: Callable[[Array, Array], Array] = lambda q0, q1: q1 - q0
    """Function of q0 and q1: the displacement v with integrate(q0, v) = q1."""
    rate: Callable[[Array, Array], Array] = lambda _, v: v
    """Function of local coordinates δ and a velocity v: the rate of change of δ while the joint, at
    the positions integrate(q0, δ), moves with v. It does not depend on q0."""
    tangent: Callable[[Array], Array] = lambda q: np.eye(len(q), dtype=int)
    """Function of q, affine: the matrix T of shape (nq, nv) for which the rate of q is T v."""
    nearest: Callable[[Array], Array] = lambda q: q
    """Function of any nq numbers: the positions nearest to them, such as a unit quaternion."""
    random: Callable[[Array, Array, Array], Array] = lambda u, lower, upper: (
        lower + (upper - lower) * u
    )
    """Function of nv random numbers u from 0 to 1, and of limits: random positions."""
    labels: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Names that distinguish the joint's positions, and its velocities, if there are several."""
    formats: tuple[str, ...] = ()
    """The file formats and libraries from which such joints are read."""
    with_pitch: Callable[[float], "JointType"] | None = None
    """Function of a pitch (m/rad): the type of joints with this pitch. None if joints have none."""

    @property
    def nq(self) -> int:
        return len(self.neutral)

    @property
    def nv(self) -> int:
        return len(self.twists)

    @property
    def rotates(self) -> int:
        """1 if the joint rotates its body relative to the parent, else 0."""
        return max(twist.rotates for twist in self.twists)

    @property
    def translates(self) -> int:
        """1 if the joint moves its body's origin relative to the parent, else 0."""
        return max(twist.translates for twist in self.twists)

    @property
    def has_axis(self) -> bool:
        """Whether the joint moves its body about or along its z axis only."""
        return all(is_zero(x) for twist in self.twists for half in twist for x in half[:2])

    @property
    def is_vector_space(self) -> bool:
        """Whether the joint's positions are a vector space, with q + v as `integrate`."""
        return self.integrate is add


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return consecutive slices from index 0 whose lengths are `sizes`."""
    ends = accumulate(sizes)
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))


def by_joint(name: str, types: Sequence[JointType], *arguments: tuple[Array, str]) -> Array:
    """Call function `name` of each joint's type with the joint's entries of arrays; join results.

    `arguments` are pairs: an array, and the name of its size, "nq" or "nv".
    """
    columns = (
        [x[..., own] for own in slices([getattr(joint, size) for joint in types])]
        for x, size in arguments
    )
    rows = zip(types, *columns, strict=True)
    results = [getattr(joint, name)(*row) for joint, *row in rows]
    return namespace(results[0]).concatenate(results, axis=-1)


# ------------------------------------------------------------------ rotations about any axis

TINY = 1e-24
"""Added to squares of angles, so that functions of the angle can be computed and differentiated at
0; in float64, smaller than the rounding error of the results."""
SMALL = 0.05
"""Below this square of an angle, the rate of a rotation vector is computed by a series."""


def quaternion_matrix(q: Sequence[Scalar]) -> Matrix:
    """Return the rotation matrix of a unit quaternion q = (x, y, z, w)."""
    x, y, z, w = q
    xx, yy, zz = 2 * x * x, 2 * y * y, 2 * z * z
    xy, xz, yz = 2 * x * y, 2 * x * z, 2 * y * z
    wx, wy, wz = 2 * w * x, 2 * w * y, 2 * w * z
    rows = (1 - yy - zz, xy - wz, xz + wy), (xy + wz, 1 - xx - zz, yz - wx)
    return np.array([*rows, (xz - wy, yz + wx, 1 - xx - yy)], dtype=object)


def quaternion_product(p: Array, q: Array) -> Array:
    """Return the quaternion p q: the rotation by q, then by p, in the axes before both."""
    (a, b, c, d), (x, y, z, w) = entries(p), entries(q)
    product = (
        d * x + a * w + b * z - c * y,
        d * y - a * z + b * w + c * x,
        d * z + a * y - b * x + c * w,
        d * w - a * x - b * y - c * z,
    )
    return stack(product)


def rotate_quaternion(q: Array, v: Array) -> Array:
    """Return the quaternion after a rotation by the vector v from q.

    A length near 1 is corrected to 1, up to terms of second order.
    """
    angle = math.sqrt((v * v).sum(axis=-1, keepdims=True) + TINY)
    half = angle / 2
    turn = stack([*entries(math.sin(half) / angle * v), *entries(math.cos(half))])
    result = quaternion_product(q, turn)
    square = (result * result).sum(axis=-1, keepdims=True)
    return result * (1.5 - 0.5 * square)


def rotation_between(q0: Array, q1: Array) -> Array:
    """Return the rotation vector, of length at most π, that leads from quaternion q0 to q1."""
    x, y, z, w0 = entries(q0)
    turn = quaternion_product(stack([-x, -y, -z, w0]), q1)
    u, w = turn[..., :3], turn[..., 3:]
    sine = math.sqrt((u * u).sum(axis=-1, keepdims=True) + TINY)
    return 2 * math.atan2(sine, math.abs(w)) / sine * math.where(w < 0, -u, u)


def rotation_vector_rate(phi: Array, w: Array) -> Array:
    """Return dφ/dt of a rotation vector φ if the body rotates with ω, in the body's axes.

        dφ/dt = ω + φ × ω / 2 + k φ × (φ × ω),   k = (1 - a/2 cot a/2) / a²,  a = |φ|

    For small a, k is computed by its series in a².
    """
    square = (phi * phi).sum(axis=-1, keepdims=True)
    is_small = square < SMALL
    series = 1 / 12 + square * (
        1 / 720 + square * (1 / 30240 + square * (1 / 1209600 + square / 47900160))
    )
    far = math.where(is_small, 1, square)
    half = math.sqrt(far) / 2
    k = math.where(is_small, series, (1 - half * math.cos(half) / math.sin(half)) / far)
    across = row_cross(phi, w)
    return w + across / 2 + k * row_cross(phi, across)


def row_cross(a: Array, b: Array) -> Array:
    """Return a × b along the last axis, of arrays of numbers or of traced scalars."""
    (x, y, z), (u, v, w) = entries(a), entries(b)
    return stack([y * w - z * v, z * u - x * w, x * v - y * u])


def entries(x: Array) -> tuple[Array, ...]:
    """Return the entries of x along its last axis."""
    return tuple(x[..., k] for k in range(x.shape[-1]))


def stack(entries: Sequence[Array]) -> Array:
    """Return the array whose last axis has the `entries`, which are arrays or scalars."""
    module = namespace(entries[0])
    if hasattr(module, "stack"):
        return module.stack(tuple(entries), axis=-1)
    scalars = np.empty(len(entries), dtype=object)  # of a library without arrays, such as SymPy
    for k, x in enumerate(entries):
        scalars[k] = x
    return scalars


def unit_quaternion(q: Array) -> Array:
    """Return quaternions divided by their lengths; zero becomes the quaternion of no rotation."""
    length = np.sqrt((q * q).sum(axis=-1, keepdims=True))
    return np.where(length == 0, (0, 0, 0, 1), q) / np.where(length == 0, 1, length)


def quaternion_tangent(q: Array) -> Array:
    """Return the matrix T for which the rate of a quaternion q is T ω, with ω in body axes."""
    x, y, z, w = q
    rows = (w, -z, y), (z, w, -x), (-y, x, w), (-x, -y, -z)
    return np.array(rows, dtype=object) / 2


def random_quaternion(u: Array, *_: Array) -> Array:
    """Return unit quaternions, uniform over all rotations, of three uniform random numbers each."""
    a, b, c = np.moveaxis(u, -1, 0)
    b, c = 2 * np.pi * b, 2 * np.pi * c
    near, far = np.sqrt(1 - a), np.sqrt(a)
    return np.stack([near * np.sin(b), near * np.cos(b), far * np.sin(c), far * np.cos(c)], axis=-1)


# ------------------------------------------------------------------ the table

FORMATS = ("DH", "URDF", "SDF", "MJCF", "TOML", "Pinocchio")
"""The file formats and libraries from which robots are read."""
ROTATION, TRANSLATION = Twist(Z_AXIS, ZERO), Twist(ZERO, Z_AXIS)
REVOLUTE = JointType(
    "R",
    (0,),
    lambda row, q: (Screw(2, *cos_sin_of_sum(q[0], row.theta), row.d),),
    (ROTATION,),
    formats=FORMATS,
)
PRISMATIC = JointType(
    "P",
    (0,),
    lambda row, q: (Screw(2, *cos_sin(row.theta), q[0] + row.d),),
    (TRANSLATION,),
    formats=FORMATS,
)
BALL = JointType(
    "B",
    (0, 0, 0, 1),
    lambda _, q: (Rotation(quaternion_matrix(q)),),
    tuple(Twist(axis, ZERO) for axis in IDENTITY),
    integrate=rotate_quaternion,
    difference=rotation_between,
    rate=rotation_vector_rate,
    tangent=quaternion_tangent,
    nearest=unit_quaternion,
    random=random_quaternion,
    labels=(("x", "y", "z", "w"), ("x", "y", "z")),
    formats=("TOML", "Pinocchio"),
)
"""Rotates about any axis: q is a unit quaternion x, y, z, w; the velocity is ω in body axes."""


def helical(pitch: float) -> JointType:
    """Return the type of joints that rotate by q about their axis and translate by pitch q."""
    return JointType(
        "H",
        (0,),
        lambda row, q: (Screw(2, *cos_sin_of_sum(q[0], row.theta), pitch * q[0] + row.d),),
        (Twist(Z_AXIS, pitch * Z_AXIS),),
        formats=("TOML", "Pinocchio"),
        with_pitch=helical,
    )


JOINT_TYPES = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "ball": BALL,
    "helical": helical(1.0),
}
"""The joint type of each kind of joint; kinds are named as in robot files."""


def joint_kinds(format: str) -> list[str]:
    """Return the kinds of moving joints that are read from a format, one of `FORMATS`."""
    return [kind for kind, joint in JOINT_TYPES.items() if format in joint.formats]

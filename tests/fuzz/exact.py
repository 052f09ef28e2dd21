"""The dynamics of a URDF to thirty digits, by 4x4 poses and d'Alembert's principle.

This module is slow, simple and independent of armlet: it has no canonical frames, merged bodies or
minimal parameters. All vectors are in base axes. The numbers of the URDF become decimals of fifty
digits without rounding. Derivatives are differences over a step of 1e-20, with thirty exact digits.
"""

from collections.abc import Iterator
from decimal import Decimal, localcontext
from functools import cache, wraps
from typing import NamedTuple
from xml.etree import ElementTree

import mpmath
import numpy as np

DIGITS = 50
STEP = Decimal("1e-20")
EARTH = ("0", "0", "-9.81")
QUARTER = np.pi / 2
DECIMALS = range(10, 17)


def exactly(function):
    """Decorate a function so that it computes with `DIGITS` digits."""

    @wraps(function)
    def run(*args):
        with localcontext(prec=DIGITS), mpmath.workdps(DIGITS):
            return function(*args)

    return run


def numbers(values) -> np.ndarray:
    """Convert texts or floats to an array of exact decimals."""
    array = np.asarray([Decimal(x) for x in np.ravel(np.asarray(values, object))], object)
    return array.reshape(np.shape(values))


def cross(a, b):
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


@cache
def cos_sin(angle: Decimal) -> tuple[Decimal, Decimal]:
    c, s = mpmath.cos_sin(mpmath.mpf(str(angle)))
    return Decimal(str(c)), Decimal(str(s))


def rotation(axis, angle: Decimal):
    """The rotation about a unit vector, by Rodrigues' formula."""
    c, s = cos_sin(angle)
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], object)
    return np.eye(3, dtype=int).astype(object) + s * K + (1 - c) * (K @ K)


def pose(R, r):
    T = np.zeros((4, 4), object)
    T[:3, :3], T[:3, 3], T[3, 3] = R, r, 1
    return T


class Body(NamedTuple):
    """The mass, centre of mass and inertia of a link, in the link's frame."""

    m: Decimal
    com: np.ndarray
    I: np.ndarray


class Joint(NamedTuple):
    """A joint and its pose in the parent link; `index` is its place in q, None if it is fixed."""

    parent: str
    child: str
    kind: str
    pose: np.ndarray
    axis: np.ndarray
    index: int | None


class Motion(NamedTuple):
    """Pose T, angular velocity w and acceleration wd of a link, and v and a of its origin."""

    T: np.ndarray
    w: np.ndarray
    wd: np.ndarray
    v: np.ndarray
    a: np.ndarray


class Tree:
    """The links and joints of a URDF, with q in the order of the joint names `names`."""

    @exactly
    def __init__(self, text: str, names) -> None:
        root = ElementTree.fromstring(text)
        self.n = len(names)
        self.g = numbers(EARTH)
        self.bodies = {
            link.get("name"): _body(link.find("inertial"))
            for link in root.iter("link")
            if link.find("inertial") is not None
        }
        waiting = [_joint(element, names) for element in root.findall("joint")]
        children = {joint.child for joint in waiting}
        links = [link.get("name") for link in root.iter("link")]
        (self.base,) = (name for name in links if name not in children)
        self.joints: list[Joint] = []
        reached = {self.base}
        while waiting:
            joint = next(joint for joint in waiting if joint.parent in reached)
            waiting.remove(joint)
            reached.add(joint.child)
            self.joints.append(joint)
        self.movers = {joint.index: joint for joint in self.joints if joint.index is not None}
        self.joint_of = {joint.child: joint for joint in self.joints}

    def path(self, link: str) -> Iterator[Joint]:
        """Yield the moving joints between a link and the base."""
        while link != self.base:
            joint = self.joint_of[link]
            if joint.index is not None:
                yield joint
            link = joint.parent

    def motion(self, q, qd, qdd) -> dict[str, Motion]:
        """The motion of every link."""
        zero = numbers([0, 0, 0])
        still = pose(np.eye(3, dtype=int), zero)
        found = {self.base: Motion(still, zero, zero, zero, zero)}
        for joint in self.joints:
            T, w, wd, v, a = found[joint.parent]
            r = (T @ joint.pose)[:3, 3] - T[:3, 3]
            T = T @ joint.pose
            v = v + cross(w, r)
            a = a + cross(wd, r) + cross(w, cross(w, r))
            if joint.index is not None:
                z = T[:3, :3] @ joint.axis
                x, xd, xdd = q[joint.index], qd[joint.index], qdd[joint.index]
                if joint.kind == "prismatic":
                    T = T @ pose(np.eye(3, dtype=int), joint.axis * x)
                    v = v + cross(w, z * x) + z * xd
                    a = a + cross(wd, z * x) + cross(w, cross(w, z * x))
                    a = a + 2 * cross(w, z) * xd + z * xdd
                else:
                    T = T @ pose(rotation(joint.axis, x), zero)
                    wd = wd + z * xdd + cross(w, z) * xd
                    w = w + z * xd
            found[joint.child] = Motion(T, w, wd, v, a)
        return found

    def torques(self, q, qd, qdd, g):
        """Joint torques by d'Alembert's principle: they balance inertia and weight of all links."""
        tau = [Decimal(0)] * self.n
        motion = self.motion(q, qd, qdd)
        for link, (m, com, I) in self.bodies.items():
            T, w, wd, _, a = motion[link]
            s, I = T[:3, :3] @ com, T[:3, :3] @ I @ T[:3, :3].T
            force = m * (a + cross(wd, s) + cross(w, cross(w, s)) - g)
            moment = I @ wd + cross(w, I @ w)
            for joint in self.path(link):
                at = motion[joint.child].T
                z = at[:3, :3] @ joint.axis
                arm = T[:3, 3] + s - at[:3, 3]
                slides = joint.kind == "prismatic"
                tau[joint.index] += z @ (force if slides else moment + cross(arm, force))
        return np.array(tau)

    @exactly
    def inverse_dynamics(self, q, qd, qdd):
        return self.torques(numbers(q), numbers(qd), numbers(qdd), self.g)

    @exactly
    def inertia_matrix(self, q):
        """The inertia matrix: column j has the torques for unit qdd[j] at rest without gravity."""
        rest, units = [0] * self.n, np.eye(self.n, dtype=int)
        return np.array([self.torques(numbers(q), rest, unit, 0 * self.g) for unit in units]).T

    @exactly
    def linearization(self, q, qd, qdd):
        """The partial derivatives of the torques with respect to qd and to q."""
        q, qd, qdd = numbers(q), numbers(qd), numbers(qdd)
        here = self.torques(q, qd, qdd, self.g)
        steps = STEP * np.eye(self.n, dtype=int).astype(object)
        V = [(self.torques(q, qd + h, qdd, self.g) - here) / STEP for h in steps]
        P = [(self.torques(q + h, qd, qdd, self.g) - here) / STEP for h in steps]
        return np.array(V).T, np.array(P).T

    @exactly
    def inertia_rate(self, q, qd):
        """The time derivative of the inertia matrix."""
        q = numbers(q)
        after = self.inertia_matrix(q + STEP * numbers(qd))
        return (after - self.inertia_matrix(q)) / STEP

    @exactly
    def energy(self, q, qd):
        """Kinetic and potential energy of the moving links; the base's origin has height zero."""
        kinetic = potential = Decimal(0)
        motion = self.motion(numbers(q), numbers(qd), [0] * self.n)
        for link, (m, com, I) in self.bodies.items():
            T, w, _, v, _ = motion[link]
            s, I = T[:3, :3] @ com, T[:3, :3] @ I @ T[:3, :3].T
            speed = v + cross(w, s)
            if not any(self.path(link)):
                continue
            kinetic += (m * speed @ speed + w @ I @ w) / 2
            potential -= m * self.g @ (T[:3, 3] + s)
        return kinetic, potential

    @exactly
    def forward_kinematics(self, q, frame: str):
        return self.motion(numbers(q), [0] * self.n, [0] * self.n)[frame].T

    @exactly
    def jacobian(self, q, frame: str):
        """The Jacobian: each column has the velocities of the frame at unit speed of one joint."""
        columns = []
        for unit in np.eye(self.n, dtype=int):
            _, w, _, v, _ = self.motion(numbers(q), unit, [0] * self.n)[frame]
            columns.append([*w, *v])
        return np.array(columns).T

    @exactly
    def size(self) -> float:
        """The sum of the distances of each joint from the joint before it, at zero positions.

        A joint on the base counts with its distance from the first such joint, so that the place of
        the base has no effect.
        """
        motion = self.motion([Decimal(0)] * self.n, [0] * self.n, [0] * self.n)
        total, first = 0.0, None
        for joint in self.movers.values():
            before = next(iter(self.path(joint.parent)), first)
            first = first or joint
            if before is not None:
                r = motion[joint.child].T[:3, 3] - motion[before.child].T[:3, 3]
                total += float(r @ r) ** 0.5
        return total


def _three(element, key: str, default="0 0 0"):
    return numbers((default if element is None else element.get(key, default)).split())


def _angle(written: Decimal) -> Decimal:
    """An angle of a file; a quarter turn rounded to ten decimals or more becomes exact."""
    turns = round(float(written) / QUARTER)
    rounded = (round(turns * QUARTER, digits) for digits in DECIMALS)
    return turns * Decimal(str(mpmath.pi / 2)) if float(written) in rounded else written


def _pose(element):
    """The pose of an element: xyz, and roll, pitch and yaw about fixed axes."""
    roll, pitch, yaw = map(_angle, _three(element, "rpy"))
    x, y, z = np.eye(3, dtype=int)
    R = rotation(z, yaw) @ rotation(y, pitch) @ rotation(x, roll)
    return pose(R, _three(element, "xyz"))


def _body(inertial) -> Body:
    I = inertial.find("inertia")
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    xx, xy, xz, yy, yz, zz = (Decimal(I.get(key)) for key in keys)
    T = _pose(inertial.find("origin"))
    R = T[:3, :3]
    tensor = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return Body(Decimal(inertial.find("mass").get("value")), T[:3, 3], tensor)


def _joint(element, names) -> Joint:
    name, axis = element.get("name"), _three(element.find("axis"), "xyz", "1 0 0")
    return Joint(
        element.find("parent").get("link"),
        element.find("child").get("link"),
        element.get("type"),
        _pose(element.find("origin")),
        axis / (axis @ axis).sqrt(),
        names.index(name) if name in names else None,
    )

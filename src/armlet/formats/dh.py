"""Serial arms from Denavit-Hartenberg tables of numbers or symbols."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import degrees, pi
from numbers import Real
from typing import Any

import numpy as np

from armlet._support.validation import MAX_SIZE
from armlet.algebra import point_inertia, symmetric, upper_triangle, vector
from armlet.description import Connection, Description, Link, assemble
from armlet.description.checks import check, check_names, check_tips
from armlet.description.problems import Problems
from armlet.errors import ModelError, clip, quote
from armlet.robot import BASE, PHI, DHRow, Drive, Frame, Joint, Pose, RobotModel, Spring
from armlet.robot.components import bodies_of
from armlet.robot.pose import IDENTITY_POSE, TOLERANCE, axis_rotation, round_angle
from armlet.scalar import Scalar, Symbol, Vector, is_zero

EARTH = (0.0, 0.0, -9.81)
JOINT_LETTERS = {"R": "revolute", "P": "prismatic"}
FROM_USER = 3
"""The `stacklevel` at which warnings of `from_dh` point to the user's call of `Robot.from_dh`."""
NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
NUMBERS = {"pi", "inf", "infinity", "nan"}
"""Words that mean a number, and so cannot be the name of a constant."""
OWN = re.compile(
    rf"(gamma|alpha|beta|theta|[abd]|{'|'.join(PHI + Drive._fields + Spring._fields)})\d+|g[xyz]"
)
"""Matches the names that armlet itself gives to constants."""


def from_dh(
    rows: Sequence[Sequence[float | str]],
    *,
    convention: str,
    joints: str | None = None,
    gravity: Sequence[float | str] = EARTH,
    inertia: Sequence[Any] | None = None,
    name: str = "arm",
) -> RobotModel:
    """Return a serial arm from DH parameters; `armlet.Robot.from_dh` documents the arguments."""
    check_convention(convention, "from_dh")
    if not isinstance(name, str) or not name:
        raise ModelError(f"name is {quote(name)}: expected a string, not an empty one")
    for subject, table in (("rows", rows), ("inertia", () if inertia is None else inertia)):
        if not np.iterable(table):
            raise ModelError(
                f"{subject} is {quote(table)}: expected a sequence, one entry per joint"
            )
    rows = list(rows)
    if not rows:
        raise ModelError("the DH table has no rows: expected one per joint")
    letters = "R" * len(rows) if joints is None else joints
    if not re.fullmatch(f"[RP]{{{len(rows)}}}", str(letters)):
        raise ModelError(
            f"joints is {quote(letters)}: expected {len(rows)} letters R and P, one per row"
        )
    massless = (0.0, (0.0, 0.0, 0.0), np.zeros(6))
    bodies = [massless] * len(rows) if inertia is None else list(inertia)
    if len(bodies) != len(rows):
        raise ModelError(f"inertia has {len(bodies)} entries: expected {len(rows)}, one per row")
    if has_symbols([rows, gravity, bodies]):
        return symbolic_arm(name, rows, convention, letters, gravity, bodies)
    links, connections = [Link("base")], []
    for i, (row, letter, body) in enumerate(zip(rows, letters, bodies, strict=True), start=1):
        subject = f"row {i} of the DH table"
        numbers, kind = dh_row(row, subject), JOINT_LETTERS[letter]
        names = f"joint{i}", links[-1].name, f"link{i}"
        connections.append(dh_connection(numbers, convention, kind, *names))
        links.append(_link(f"link{i}", body, f"the inertia of {subject}"))
    description = Description(
        name=name,
        links=tuple(links),
        joints=tuple(connections),
        gravity=gravity_vector(gravity),
        where=clip(name),
        format="DH",
    )
    problems = Problems(description.where)
    check(description, problems)
    problems.report(FROM_USER)
    robot = assemble(description)
    check_tips(robot, problems)
    problems.report(FROM_USER)
    return robot


def _link(name: str, body: Any, subject: str) -> Link:
    wanted = "(mass, centre of mass, inertia), the inertia as 3x3 or as xx xy xz yy yz zz"
    try:
        mass, com, I = (real_numbers(x, -1, subject, wanted) for x in body)
        I = symmetric(*I).astype(float) if I.shape == (6,) else I.reshape(3, 3)
        return Link(name, float(mass.item()), com.reshape(3), I)
    except (ModelError, TypeError, ValueError):
        raise ModelError(f"{subject} is {quote(body)}: expected {wanted}") from None


def real_numbers(values: Any, shape: int | tuple[int, ...], subject: str, wanted: str) -> Vector:
    """Return values as a float array of the given shape; refuse strings and complex numbers."""
    try:
        numbers = np.array(values)
        if numbers.dtype.kind in "SUc":
            raise TypeError
        return numbers.astype(float).reshape(shape)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{subject} is {quote(values)}: expected {wanted}") from None


def gravity_vector(gravity: Sequence[float | str]) -> Vector:
    return real_numbers(gravity, 3, "gravity", "three numbers, in base axes")


def dh_row(row: Any, subject: str) -> Vector:
    """Check and return the numbers (alpha, a, d, theta) of a row, in radians and metres."""
    values = real_numbers(row, 4, subject, "four numbers alpha, a, d, theta")
    if not np.isfinite(values).all():
        raise ModelError(f"{subject} is {values.tolist()}: expected finite numbers")
    check_angles({"alpha": values[0], "theta": values[3]}, subject)
    return values


def check_angles(angles: Mapping[str, Scalar], subject: str) -> None:
    """Refuse angles of more than one revolution, which may be degrees by mistake; skip symbols."""
    for name, angle in angles.items():
        if not isinstance(angle, str) and abs(angle) > 2 * pi + 1e-9:
            raise ModelError(
                f"{subject} has {name} = {angle:g} rad ({degrees(angle):g} degrees), more than a "
                "turn: expected less (a quarter turn is pi/2 rad or 90 degrees)"
            )


def check_convention(convention: str, subject: str) -> None:
    if not isinstance(convention, str) or convention not in ("standard", "modified"):
        raise ModelError(
            f"{subject}: the convention is {quote(convention)}: expected 'modified' (Craig: alpha "
            "and a come first, the frame is on the joint's own axis) or 'standard' (theta and d "
            "first, the frame is on the next axis)"
        )


def dh_connection(
    row: Sequence[float], convention: str, kind: str, name: str, parent: str, child: str
) -> Connection:
    """Return the joint of a DH row; q is added to theta (revolute) or to d (prismatic).

    In the modified convention the child's pose is Rx(alpha) Tx(a) Rz(theta) Tz(d), and the joint
    axis is the child's z axis. In the standard convention the pose is Rz(theta) Tz(d) Tx(a)
    Rx(alpha), and the joint axis is the parent's z axis.
    """
    alpha, a, d, theta = row
    about_x = Pose(axis_rotation(0, alpha), np.array([a, 0.0, 0.0]))
    about_z = Pose(axis_rotation(2, theta), np.array([0.0, 0.0, d]))
    if convention == "modified":
        return Connection(name, kind, parent, child, about_x @ about_z)
    at = about_z @ about_x
    back = at.inverse()
    return Connection(name, kind, parent, child, at, axis=back.R[:, 2], point=back.r)


def has_symbols(values: Any) -> bool:
    """Return whether `values`, a value or a nested sequence, contains the name of a constant."""
    if isinstance(values, str):
        return NAME.fullmatch(values) is not None and values.lower() not in NUMBERS
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return isinstance(plain, Sequence) and any(map(has_symbols, plain))


def symbolic_arm(
    name: str,
    rows: Sequence[Any],
    convention: str,
    letters: str,
    gravity: Any,
    bodies: Sequence[Any],
    names: tuple[str, Sequence[str], Sequence[str]] | None = None,
    labels: Sequence[str] = (),
) -> RobotModel:
    """Return the serial arm of a modified DH table in which names may stand for numbers.

    `names` is (base name, joint names, link names); `labels` name the rows in error messages.
    """
    if convention != "modified":
        raise ModelError(
            f"{name}: a table with names of constants has the convention {quote(convention)}: "
            "expected 'modified', whose frames are on the joints' own axes"
        )
    n = len(rows)
    labels = labels or [f"row {i + 1} of the DH table" for i in range(n)]
    dh = [_row(row, label) for row, label in zip(rows, labels, strict=True)]
    phi = [_parameters(body, label) for body, label in zip(bodies, labels, strict=True)]
    g = _scalars(gravity, 3, "gravity", "three numbers or names, in base axes")
    numbered = [[f"{key}{i + 1}" for i in range(n)] for key in ("joint", "link")]
    base, joints, links = names or ("base", numbered[0], numbered[1])
    for kind, names_of in (("joint", joints), ("link", (base, *links))):
        check_names(((x, name) for x in names_of), kind)
    arm = RobotModel(
        name=name,
        joints=tuple(
            Joint(joint, JOINT_LETTERS[letter])
            for joint, letter in zip(joints, letters, strict=True)
        ),
        parent=tuple(range(-1, n - 1)),
        dh=tuple(dh),
        drives=(Drive(),) * n,
        g=vector(*g),
        links=tuple(links),
        base_link=base,
        frames={base: Frame(BASE, IDENTITY_POSE)}
        | {x: Frame(i, IDENTITY_POSE) for i, x in enumerate(links)},
        tool=links[-1],
        source=name,
        **bodies_of(phi),
    )
    for own, name in arm._symbolic.items():
        if OWN.fullmatch(name) and name != own:
            raise ModelError(
                f"{arm.name}: the constant {own} is called {quote(name)}, which is the name of "
                f"another constant: expected {quote(own)} or a name of another form, such as "
                f"{quote(f'L{len(arm._symbolic)}')}"
            )
    return arm


def _row(row: Any, subject: str) -> DHRow:
    wanted = "four numbers or names of constants alpha, a, d, theta"
    alpha, a, d, theta = _scalars(row, 4, subject, wanted)
    check_angles({"alpha": alpha, "theta": theta}, subject)
    alpha, theta = (x if isinstance(x, str) else round_angle(x, TOLERANCE) for x in (alpha, theta))
    return DHRow(0, 0, alpha, a, d, theta)


def _parameters(body: Any, label: str) -> list[Scalar]:
    """Return a body's ten inertial parameters; `body` is these ten, or (mass, com, inertia)."""
    subject = f"the inertia of {label}"
    if len(body) == 10:
        return _scalars(body, 10, subject, f"ten numbers or names, {' '.join(PHI)}")
    wanted = (
        "(mass, centre of mass, inertia) with the inertia as xx xy xz yy yz zz, or, about the "
        f"frame's origin, the ten parameters {' '.join(PHI)}"
    )
    if len(body) != 3:
        raise ModelError(f"{subject} is {quote(body)}: expected {wanted}")
    mass, com, tensor = body
    (m,) = _scalars([mass], 1, subject, wanted)
    r = _scalars(com, 3, subject, wanted)
    with suppress(TypeError, ValueError):
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
        tensor = [xx, xy, xz, yy, yz, zz]
    I = _scalars(tensor, 6, subject, wanted)
    if all(map(is_zero, r)):
        return [*I, 0, 0, 0, m]
    if has_symbols([mass, com, tensor]):
        raise ModelError(
            f"{subject} has names of constants and a centre of mass off the frame's origin, which "
            f"takes products of constants: expected the ten parameters {' '.join(PHI)}"
        )
    shift = upper_triangle(point_inertia(m, vector(*r)))
    J = [a + b for a, b in zip(I, shift, strict=True)]
    return [*J, *(m * x for x in r), m]


def _scalars(values: Any, n: int, subject: str, wanted: str) -> list[Scalar]:
    entries = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
    symbols = [x for x in entries if isinstance(x, str) and has_symbols(x)]
    numbers: list[Any] = [x for x in entries if isinstance(x, Real) and not isinstance(x, bool)]
    are_small = all(-MAX_SIZE < x < MAX_SIZE for x in numbers)
    if not are_small or not len(numbers) + len(symbols) == len(entries) == n:
        raise ModelError(f"{subject} is {quote(values)}: expected {wanted}")
    return [Symbol(x) if isinstance(x, str) else float(x) for x in entries]


def general_arm(joints: str) -> RobotModel:
    """Return the general serial arm with symbolic constants, as in published operation counts."""
    if not re.fullmatch("[RP]+", str(joints)):
        raise ModelError(f"joints is {quote(joints)}: expected letters R and P, such as 'RRPRRR'")
    numbered = [(i + 1, letter) for i, letter in enumerate(joints)]
    rows = [
        (f"alpha{i}", f"a{i}", *((0, f"theta{i}") if letter == "P" else (f"d{i}", 0)))
        for i, letter in numbered
    ]
    phi = [[f"{key}{i}" for key in PHI] for i, _ in numbered]
    arm = symbolic_arm(f"general {joints}", rows, "modified", joints, (0, 0, "gz"), phi)
    return replace(arm, source="Lin and Fang 1999; Balafoutis and Patel 1991")

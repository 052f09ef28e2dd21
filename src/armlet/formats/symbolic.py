"""Arms with constants that are names without a value, row by row in modified DH frames.

Canonical frames are chosen by numbers: the frames of an arm with symbols are those of its table,
and its zeros are those that are written.
"""

import re
from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from armlet._support.validation import MAX_SIZE
from armlet.algebra import vector
from armlet.description.checks import check_names
from armlet.errors import ModelError, quoted
from armlet.formats.dh import check_angles
from armlet.robot import BASE, PHI, DHRow, Drive, Frame, Joint, RobotModel, Spring
from armlet.robot.components import bodies_of
from armlet.robot.pose import HERE, TOLERANCE, round_angle
from armlet.scalar import Scalar, Symbol, is_zero

NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
NUMBERS = {"pi", "inf", "infinity", "nan"}
"""Words that mean a number to their writer."""
OWN = re.compile(
    rf"(gamma|alpha|beta|theta|[abd]|{'|'.join(PHI + Drive._fields + Spring._fields)})\d+|g[xyz]"
)
"""The names that armlet itself gives to constants."""


class Names(NamedTuple):
    """The names of the base, of the joints and of their links."""

    base: str
    joints: tuple[str, ...]
    links: tuple[str, ...]


def has_symbols(values: Any) -> bool:
    """Whether an entry of nested sequences is a name."""
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
    names: "Names | None" = None,
    labels: Sequence[str] = (),
) -> RobotModel:
    """The serial arm of a modified DH table with names of constants in place of numbers."""
    if convention != "modified":
        raise ModelError(
            f"{name}: a table with names of constants has the convention {quoted(convention)}: "
            "expected 'modified', whose frames are on the joints' own axes"
        )
    n = len(rows)
    labels = labels or [f"row {i + 1} of the DH table" for i in range(n)]
    dh = [_row(row, label) for row, label in zip(rows, labels, strict=True)]
    phi = [_parameters(body, label) for body, label in zip(bodies, labels, strict=True)]
    g = _scalars(gravity, 3, "gravity", "three numbers or names, in base axes")
    base, joints, links = names or Names(
        "base", tuple(f"joint{i + 1}" for i in range(n)), tuple(f"link{i + 1}" for i in range(n))
    )
    for kind, given in (("joint", joints), ("link", (base, *links))):
        check_names(((x, name) for x in given), kind)
    arm = RobotModel(
        name=name,
        joints=tuple(
            Joint(joint, "prismatic" if letter == "P" else "revolute")
            for joint, letter in zip(joints, letters, strict=True)
        ),
        parent=tuple(range(-1, n - 1)),
        dh=tuple(dh),
        drives=(Drive(),) * n,
        g=vector(*g),
        links=links,
        base_link=base,
        frames={base: Frame(BASE, HERE)} | {x: Frame(i, HERE) for i, x in enumerate(links)},
        tool=links[-1],
        source=name,
        **bodies_of(phi),
    )
    _check_names(arm)
    return arm


def _row(row: Any, subject: str) -> DHRow:
    alpha, a, d, theta = _scalars(
        row, 4, subject, "four numbers or names of constants alpha, a, d, theta"
    )
    angles = {"alpha": alpha, "theta": theta}
    check_angles({key: x for key, x in angles.items() if not isinstance(x, str)}, subject)
    alpha, theta = (x if isinstance(x, str) else round_angle(x, TOLERANCE) for x in (alpha, theta))
    return DHRow(0, 0, alpha, a, d, theta)


def _parameters(body: Any, label: str) -> list[Scalar]:
    """The ten parameters of a body, given as they are or by mass, centre of mass and inertia."""
    subject = f"the inertia of {label}"
    if len(body) == 10:
        return _scalars(body, 10, subject, f"ten numbers or names, {' '.join(PHI)}")
    wanted = (
        "(mass, centre of mass, inertia) with the inertia as xx xy xz yy yz zz, or, about the "
        f"frame's origin, the ten parameters {' '.join(PHI)}"
    )
    if len(body) != 3:
        raise ModelError(f"{subject} is {quoted(body)}: expected {wanted}")
    mass, com, tensor = body
    (m,) = _scalars([mass], 1, subject, wanted)
    r = _scalars(com, 3, subject, wanted)
    six = _upper(tensor)
    I = _scalars(six, 6, subject, wanted)
    if all(map(is_zero, r)):
        return [*I, 0, 0, 0, m]
    if has_symbols([mass, com, six]):
        raise ModelError(
            f"{subject} has names of constants and a centre of mass off the frame's origin, which "
            f"takes products of constants: expected the ten parameters {' '.join(PHI)}"
        )
    x, y, z = r
    J = [
        I[0] + m * (y * y + z * z), I[1] - m * x * y, I[2] - m * x * z,
        I[3] + m * (x * x + z * z), I[4] - m * y * z, I[5] + m * (x * x + y * y),
    ]  # fmt: skip
    return [*J, m * x, m * y, m * z, m]


def _upper(tensor: Any) -> Any:
    """The six entries of a tensor that may be three by three."""
    try:
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
    except (TypeError, ValueError):
        return tensor
    return [xx, xy, xz, yy, yz, zz]


def _scalars(values: Any, n: int, subject: str, wanted: str) -> list[Scalar]:
    """Finite numbers and names of constants."""
    entries = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
    if len(entries) != n or not all(_is_scalar(x) for x in entries):
        raise ModelError(f"{subject} is {quoted(values)}: expected {wanted}")
    return [Symbol(x) if isinstance(x, str) else float(x) for x in entries]


def _is_scalar(x: Any) -> bool:
    if isinstance(x, str):
        return has_symbols(x)
    is_number = isinstance(x, Real) and not isinstance(x, bool)
    return is_number and isfinite(x) and abs(x) < MAX_SIZE


def _check_names(arm: RobotModel) -> None:
    """Refuse a name that is armlet's own for another constant: the two could not be told apart."""
    for own, name in arm._symbolic.items():
        if OWN.fullmatch(name) and name != own:
            raise ModelError(
                f"{arm.name}: the constant {own} is called {quoted(name)}, which is the name of "
                f"another constant: expected {quoted(own)} or a name of another form, such as "
                f"{quoted(f'L{len(arm._symbolic)}')}"
            )

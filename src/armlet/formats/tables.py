"""Arms from tables of Denavit-Hartenberg parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from armlet.description import Description, Link, assembled
from armlet.description.checks import check, check_tips
from armlet.description.problems import Problems
from armlet.errors import ModelError, quoted, shown
from armlet.formats.dh import array, check_convention, checked_row, dh_connection
from armlet.formats.loading import EARTH, FROM_LOAD, three
from armlet.formats.symbolic import has_symbols, symbolic_arm
from armlet.robot import RobotModel


def from_dh(
    rows: Sequence[Sequence[float | str]],
    *,
    convention: str,
    joints: str | None = None,
    gravity: Sequence[float | str] = EARTH,
    inertia: Sequence[Any] | None = None,
    name: str = "arm",
) -> RobotModel:
    """A serial arm from DH parameters; `armlet.Robot.from_dh` documents the arguments."""
    check_convention(convention, "from_dh")
    if not isinstance(name, str) or not name:
        raise ModelError(f"name is {quoted(name)}: expected a string, not an empty one")
    rows = _entries(rows, "rows")
    if not rows:
        raise ModelError("the DH table has no rows: expected one per joint")
    letters = "R" * len(rows) if joints is None else joints
    if not isinstance(letters, str) or len(letters) != len(rows) or set(letters) - {"R", "P"}:
        raise ModelError(
            f"joints is {quoted(letters)}: expected {len(rows)} letters R and P, one per row"
        )
    bodies = [(0.0, (0.0, 0.0, 0.0), np.zeros(6))] * len(rows)
    if inertia is not None:
        bodies = _entries(inertia, "inertia")
    if len(bodies) != len(rows):
        raise ModelError(f"inertia has {len(bodies)} entries: expected {len(rows)}, one per row")
    if has_symbols([rows, gravity, bodies]):
        return symbolic_arm(name, rows, convention, letters, gravity, bodies)
    links, connections = [Link("base")], []
    for i, (row, letter, body) in enumerate(zip(rows, letters, bodies, strict=True), start=1):
        subject = f"row {i} of the DH table"
        kind = "prismatic" if letter == "P" else "revolute"
        connections.append(
            dh_connection(
                checked_row(row, subject), convention, kind, f"joint{i}", links[-1].name, f"link{i}"
            )
        )
        links.append(_dh_link(f"link{i}", body, subject))
    description = Description(
        name, tuple(links), tuple(connections), three(gravity), where=shown(name)
    )
    problems = Problems(description.where)
    check(description, problems)
    problems.settle(FROM_LOAD)
    found = assembled(description)
    check_tips(found, problems)
    problems.settle(FROM_LOAD)
    return found


def _entries(table: Any, subject: str) -> list[Any]:
    """The entries of a table, one per joint."""
    try:
        return list(table)
    except TypeError:
        raise ModelError(
            f"{subject} is {quoted(table)}: expected a sequence, one entry per joint"
        ) from None


def _dh_link(name: str, body: Any, subject: str) -> Link:
    try:
        mass, com, tensor = body
        I = array(tensor)
        if I.shape == (6,):
            xx, xy, xz, yy, yz, zz = I
            I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Link(name, float(array(mass)), array(com).reshape(3), I.reshape(3, 3))
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"the inertia of {subject} is {quoted(body)}: expected (mass, centre of mass, "
            "inertia), the inertia as 3x3 or as xx xy xz yy yz zz"
        ) from None

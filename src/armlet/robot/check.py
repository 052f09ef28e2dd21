"""Checks of a description, made once before a robot is built from it."""

import warnings
from collections.abc import Iterable
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from armlet.errors import ModelError, ModelWarning, listed, quoted
from armlet.robot.parts import MAX_SIZE

if TYPE_CHECKING:
    from armlet.robot.description import Connection, Description, Link

KINDS = ("revolute", "continuous", "prismatic", "fixed")
MAX_NAME = 1000
"""The most characters a name may have; names are printed in tables, comments and messages."""
DOUBT = 1e-9
"""The relative error up to which an inertia is accepted without a warning."""


def check(description: "Description", strict: bool) -> None:
    """Raise ModelError for invalid data, warn about physically doubtful data.

    With `strict`, doubtful data raise too.
    """
    where = description.where
    _check_length(description.name, f"{where}: the robot")
    check_names(((link.name, link.where or where) for link in description.links), "link")
    check_names(((joint.name, joint.where or where) for joint in description.joints), "joint")
    for link in description.links:
        _check_link(link, f"{link.where or where}: link {quoted(link.name)}", strict)
    known = {link.name for link in description.links}
    parent_of: dict[str, str] = {}
    for joint in description.joints:
        subject = f"{joint.where or where}: joint {quoted(joint.name)}"
        _check_joint(joint, subject, strict)
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                raise ModelError(
                    f"{subject} has the {end} {quoted(name)}, which does not exist: expected one "
                    f"of {listed(sorted(known))}"
                )
        if joint.child in parent_of:
            raise ModelError(
                f"{subject} has the child {quoted(joint.child)}, which is the child of joint "
                f"{quoted(parent_of[joint.child])} already: expected a tree, one joint per link"
            )
        parent_of[joint.child] = joint.name
    if description.tool is not None and description.tool not in known:
        raise ModelError(
            f"{where}: the tool is {quoted(description.tool)}, which does not exist: expected one "
            f"of {listed(sorted(known))}"
        )
    check_finite(description.gravity, f"{where}: gravity")


def check_names(named: Iterable[tuple[str, str]], kind: str) -> None:
    """Refuse names that are missing, too long or repeated; each is given with its file and line."""
    seen: set[str] = set()
    for name, where in named:
        if not name:
            raise ModelError(f"{where}: a {kind} has no name: expected one")
        if name in seen:
            raise ModelError(f"{where}: two {kind}s are called {quoted(name)}: names must differ")
        _check_length(name, f"{where}: a {kind}")
        seen.add(name)


def _check_length(name: str, subject: str) -> None:
    if len(name) > MAX_NAME:
        raise ModelError(
            f"{subject} is called {quoted(name)}, a name of {len(name)} characters: expected "
            f"{MAX_NAME} at most"
        )


def check_finite(numbers: Any, subject: str) -> None:
    """Refuse numbers that are not finite, or so large that products of them overflow."""
    array = np.asarray(numbers, float)
    if not (np.abs(array) < MAX_SIZE).all():
        raise ModelError(
            f"{subject} is {array.tolist()}: expected finite numbers below {MAX_SIZE:g} in size"
        )


def _check_joint(joint: "Connection", subject: str, strict: bool) -> None:
    if joint.kind not in KINDS:
        raise ModelError(
            f"{subject} is of kind {quoted(joint.kind)}: expected one of {', '.join(KINDS)}"
        )
    check_finite(joint.pose.r, f"{subject}: its origin")
    check_finite(joint.pose.R, f"{subject}: its orientation")
    if joint.kind == "fixed":
        return
    check_finite(joint.axis, f"{subject}: its axis")
    if np.linalg.norm(joint.axis) < 1e-9:
        raise ModelError(
            f"{subject} has the axis {joint.axis.tolist()}: expected a direction, not zero"
        )
    check_finite(joint.point, f"{subject}: the point on its axis")
    check_finite(joint.drive, f"{subject}: its drive")
    rotor, viscous, coulomb, _ = joint.drive
    if rotor < 0:
        raise ModelError(
            f"{subject} has a rotor inertia of {rotor} on the joint's side of the gear: expected "
            "none below zero"
        )
    if viscous < 0 or coulomb < 0:
        _doubt(
            f"{subject} has friction that drives it, viscous {viscous}, coulomb {coulomb}: "
            "expected none below zero",
            strict,
        )
    check_finite(joint.spring, f"{subject}: its spring")
    if joint.spring.stiffness < 0:
        _doubt(
            f"{subject} has a spring of stiffness {joint.spring.stiffness}: expected none below "
            "zero",
            strict,
        )
    lower, upper, velocity, effort = joint.limits
    if any(isnan(limit) for limit in joint.limits) or lower > upper or min(velocity, effort) < 0:
        raise ModelError(
            f"{subject} has the limits lower {lower:g}, upper {upper:g}, velocity {velocity:g}, "
            f"effort {effort:g} (in rad or m): expected lower <= upper and the others not below "
            "zero"
        )


def _check_link(link: "Link", subject: str, strict: bool) -> None:
    check_finite(link.mass, f"{subject}: its mass")
    check_finite(link.com, f"{subject}: its centre of mass")
    check_finite(link.inertia, f"{subject}: its inertia")
    check_finite(
        [*link.compensation.moment, link.compensation.mass],
        f"{subject}: the moment and mass of its gravity compensation",
    )
    if link.mass < 0:
        raise ModelError(f"{subject} has mass {link.mass}: expected none below zero")
    size = np.abs(link.inertia).max()
    if size == 0 or (link.as_published and not strict):
        return
    if np.abs(link.inertia - link.inertia.T).max() > DOUBT * size:
        raise ModelError(
            f"{subject} has the inertia {link.inertia.tolist()}: expected a symmetric tensor"
        )
    low, middle, high = np.linalg.eigvalsh(link.inertia)
    moments = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g}"
    if low <= 0:
        _doubt(
            f"{subject} has an inertia that is not positive definite: {moments}; expected all "
            "above zero",
            strict,
        )
    elif high - low - middle > DOUBT * size:
        _doubt(
            f"{subject} has an inertia that no body can have: {moments}, the largest exceeds the "
            f"sum of the others by {high - low - middle:.6g} (triangle inequality)",
            strict,
        )
    if link.mass == 0:
        _doubt(f"{subject} has an inertia but no mass: {moments}; expected a mass too", strict)


def _doubt(message: str, strict: bool) -> None:
    if strict:
        raise ModelError(message)
    warnings.warn(message, ModelWarning, stacklevel=5)  # where load was called

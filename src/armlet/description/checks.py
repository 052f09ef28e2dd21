"""Check a description, and the robot that is assembled from it."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isnan
from typing import Any

import numpy as np

from armlet._support.validation import MAX_SIZE
from armlet.description.description import Connection, Description, Link, Tie
from armlet.description.problems import Problems
from armlet.errors import ModelError, listing, quote
from armlet.robot.components import BASE, Joint
from armlet.robot.joints import JOINT_TYPES, joint_kinds
from armlet.robot.robot import RobotModel

WORLDS = ("world", "universe")
"""Names of base links that stand for the world."""
MIN_FLOATING_MASS, MIN_BRANCHES = 1.0, 4
"""Smallest total mass (kg), and smallest number of branches, that suggest a floating base."""
UNSUPPORTED_JOINTS = {
    "floating": "six freedoms",
    "planar": "three freedoms",
    "ball": "three freedoms",
    "spherical": "three freedoms",
    "universal": "two freedoms",
    "revolute2": "two freedoms",
    "screw": "a rotation coupled to a translation",
    "gearbox": "two coupled rotations",
}
"""Kind of joint -> its degrees of freedom, for messages. Where a file has a joint of such a kind
and armlet does not read the kind from this format, the joint can be locked at zero."""
INERTIA_TOLERANCE = 1e-9
"""Relative tolerance for the symmetry and the triangle inequality of an inertia."""


def check(description: Description, problems: Problems) -> None:
    """Check a description; add errors, and warnings about doubtful physics, to `problems`."""
    where = description.where
    links = {link.name for link in description.links}
    names = listing(sorted(links))
    before = len(problems.errors)
    with problems.collect():
        check_names(((link.name, link.where or where) for link in description.links), "link")
        named = [(joint, joint.where or where) for joint in description.joints]
        check_names(((joint.name, at) for joint, at in named), "joint")
        check_names(((x, at) for joint, at in named for x in _positions(joint)), "joint position")
    names_are_clear = len(problems.errors) == before
    for link in description.links:
        with problems.collect():
            _check_link(link, f"{link.where or where}: link {quote(link.name)}", problems)
    parent_of: dict[str, str] = {}
    kinds = [*joint_kinds(description.format), "fixed"]
    for joint in description.joints:
        subject = f"{joint.where or where}: joint {quote(joint.name)}"
        with problems.collect():
            _check_joint(joint, subject, problems, kinds)
        if not names_are_clear:
            continue
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                problems.error(
                    f"{subject} has the {end} {quote(name)}, which does not exist: expected one of "
                    f"{names}",
                    "joints have a parent or a child that does not exist",
                    f"{joint.name} ({end} {quote(name)})",
                )
        if joint.child in parent_of:
            problems.error(
                f"{subject} has the child {quote(joint.child)}, which is the child of joint "
                f"{quote(parent_of[joint.child])} already: expected a tree, one joint per link",
                "joints have a child with another joint to it: expected a tree, one joint per link",
                f"{joint.name} (child {quote(joint.child)})",
            )
        parent_of.setdefault(joint.child, joint.name)
    kind_of = {joint.name: joint.kind for joint in description.joints}
    for tie in description.ties:
        with problems.collect():
            _check_tie(tie, kind_of, where)
    if description.tool is not None and description.tool not in links:
        problems.error(
            f"{where}: the tool is {quote(description.tool)}, which does not exist: expected one "
            f"of {names}"
        )
    with problems.collect():
        check_finite(description.gravity, f"{where}: gravity")


def _positions(joint: Connection) -> list[str]:
    """Return the names of a joint's entries of q."""
    labels = JOINT_TYPES[joint.kind].labels[0] if joint.kind in JOINT_TYPES else ()
    return Joint(joint.name, joint.kind).names(labels)


def check_names(named: Iterable[tuple[str, str]], kind: str) -> None:
    """Raise ModelError if a name is empty or repeated; `named` has pairs (name, file and line)."""
    seen: set[str] = set()
    for name, where in named:
        if not name:
            raise ModelError(f"{where}: a {kind} has no name: expected one")
        if name in seen:
            raise ModelError(f"{where}: two {kind}s are called {quote(name)}: names must differ")
        seen.add(name)


def check_finite(numbers: Any, subject: str) -> None:
    """Raise ModelError if a number is infinite, NaN, or so large that products may overflow."""
    array = np.asarray(numbers, float)
    if not (np.abs(array) < MAX_SIZE).all():
        raise ModelError(
            f"{subject} is {array.tolist()}: expected finite numbers below {MAX_SIZE:g} in size"
        )


def unsupported(joint: Connection, format: str) -> bool:
    """Whether the joint's kind is one that is not read from this format, but can be locked."""
    return joint.kind in UNSUPPORTED_JOINTS and joint.kind not in joint_kinds(format)


def _check_joint(joint: Connection, subject: str, problems: Problems, kinds: Sequence[str]) -> None:
    supported = ", ".join(kinds)
    if joint.kind in UNSUPPORTED_JOINTS and joint.kind not in kinds:
        reason = f"{joint.kind}, with {UNSUPPORTED_JOINTS[joint.kind]}"
        problems.error(
            f"{subject} is {reason}: expected {supported}; fix it where it is drawn, "
            f"{lock_at_zero([joint.name])}",
            f"joints are none of {supported}; fix each where it is drawn, lock={{NAME: 0}} (on the "
            "command line --lock NAME=0)",
            f"{joint.name} ({reason})",
        )
        return
    if joint.kind not in kinds:
        raise ModelError(f"{subject} is of kind {quote(joint.kind)}: expected one of {supported}")
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
    check_finite(joint.pitch, f"{subject}: its pitch")
    check_finite(joint.drive, f"{subject}: its drive")
    rotor, viscous, coulomb, _ = joint.drive
    if rotor < 0:
        raise ModelError(
            f"{subject} has a rotor inertia of {rotor} on the joint's side of the gear: expected "
            "none below zero"
        )
    if viscous < 0 or coulomb < 0:
        problems.warn(
            f"{subject} has friction that drives it, viscous {viscous}, coulomb {coulomb}: "
            "expected none below zero",
            "joints have friction that drives them, below zero",
            joint.name,
        )
    check_finite(joint.spring, f"{subject}: its spring")
    if joint.spring.stiffness < 0:
        problems.warn(
            f"{subject} has a spring of stiffness {joint.spring.stiffness}: expected none below "
            "zero",
            "joints have a spring of negative stiffness",
            joint.name,
        )
    lower, upper, velocity, effort = joint.limits
    if any(isnan(limit) for limit in joint.limits) or lower > upper or min(velocity, effort) < 0:
        raise ModelError(
            f"{subject} has the limits lower {lower:g}, upper {upper:g}, velocity {velocity:g}, "
            f"effort {effort:g} (in rad or m): expected lower <= upper and the others not below "
            "zero"
        )
    if JOINT_TYPES[joint.kind].is_vector_space:
        return
    if (lower, upper) != (-inf, inf):
        raise ModelError(
            f"{subject} is {joint.kind} and has the position limits lower {lower:g}, upper "
            f"{upper:g}: expected none, which armlet has for joints of other types only"
        )
    if joint.spring.reference != 0:
        raise ModelError(
            f"{subject} is {joint.kind} and has a spring with the reference "
            f"{joint.spring.reference:g}: expected 0, at rest in the neutral pose"
        )


def _check_tie(tie: Tie, kinds: Mapping[str, str], where: str) -> None:
    """Refuse ties of joints whose positions are no vector space; `kinds` is by joint name."""
    for name in (tie.joint, tie.leader):
        joint = JOINT_TYPES.get(kinds.get(name, ""))
        if joint is not None and not joint.is_vector_space:
            raise ModelError(
                f"{tie.where or where}: {tie.statement}, and joint {quote(name)} is "
                f"{kinds[name]}: expected joints of other types"
            )


def _check_link(link: Link, subject: str, problems: Problems) -> None:
    check_finite(link.mass, f"{subject}: its mass")
    check_finite(link.com, f"{subject}: its centre of mass")
    check_finite(link.inertia, f"{subject}: its inertia")
    check_finite(
        [*link.compensation.moment, link.compensation.mass],
        f"{subject}: the moment and mass of its gravity compensation",
    )
    for mesh in link.meshes:
        check_finite(mesh.scale, f"{subject}: the scale of mesh {quote(mesh.file)}")
        check_finite([*mesh.pose.R, mesh.pose.r], f"{subject}: the pose of mesh {quote(mesh.file)}")
    if link.mass < 0:
        raise ModelError(f"{subject} has mass {link.mass}: expected none below zero")
    size = np.abs(link.inertia).max()
    if size == 0 or (link.as_published and not problems.strict):
        return
    if np.abs(link.inertia - link.inertia.T).max() > INERTIA_TOLERANCE * size:
        raise ModelError(
            f"{subject} has the inertia {link.inertia.tolist()}: expected a symmetric tensor"
        )
    low, middle, high = np.linalg.eigvalsh(link.inertia)
    moments = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g}"
    if low <= 0:
        problems.warn(
            f"{subject} has an inertia that is not positive definite: {moments}; expected all "
            "above zero",
            "links have an inertia that is not positive definite (lowest principal moment)",
            f"{link.name} ({low:.2g})",
        )
    elif high - low - middle > INERTIA_TOLERANCE * size:
        problems.warn(
            f"{subject} has an inertia that no body can have: {moments}, the largest exceeds the "
            f"sum of the others by {high - low - middle:.6g} (triangle inequality)",
            "links have an inertia that no body can have: the largest principal moment exceeds the "
            "sum of the others",
            f"{link.name} (by {100 * (high - low - middle) / high:.2g} %)",
        )
    if link.mass == 0:
        problems.warn(
            f"{subject} has an inertia but no mass: {moments}; expected a mass too",
            "links have an inertia but no mass",
            link.name,
        )


def check_tips(robot: RobotModel, problems: Problems) -> None:
    """Warn of joints that move no inertia; a robot without any mass or inertia is not checked."""
    weighs = [robot.m[i] > 0 or np.any(robot.J[i] != 0) for i in range(robot.nb)]
    if not any(weighs):
        return
    for i, p in robot.tips_to_base():
        if p != BASE and weighs[i]:
            weighs[p] = True
    leader = [coupling.leader for coupling in robot.couplings] or range(robot.nb)
    drives = [robot.drives[v] for v in robot.v_of]
    has_rotor = [any(drive.rotor_inertia != 0 for drive in own) for own in drives]
    moving = {leader[i] for i in range(robot.nb) if weighs[i] or has_rotor[i]}
    light = [robot.joints[i].name for i in robot._leaders if i not in moving]
    if light:
        move = "joint moves a link" if len(light) == 1 else "joints move links"
        problems.warn(
            f"{problems.where}: {len(light)} {move} without mass and nothing else, so that the "
            "inertia matrix is singular: kinematics and torques have values, forward dynamics, "
            f"simulation and the inverse of that matrix have none: {listing(light)}; give the "
            f"links a mass or the drives a rotor inertia, or {lock_at_zero(light)}"
        )


def note_fixed_base(description: Description, robot: RobotModel, problems: Problems) -> None:
    """Add a note that the base is fixed, if the robot may be mobile (legs, wheels, rotors).

    Light robots (hands), bases named as in `WORLDS` and files with unsupported joints get no note.
    """
    base_mass = robot.base_body[0]
    is_light = not base_mass or base_mass + sum(robot.m) < MIN_FLOATING_MASS
    if is_light or robot.base_link in WORLDS:
        return
    if any(unsupported(joint, description.format) for joint in description.joints):
        return
    moving = {joint.name for joint in robot.joints}
    parents = [joint.parent for joint in description.joints if joint.name in moving]
    on_base = [name for name in parents if robot.frames[name].body == BASE]
    heavy = [link.name for link in description.links if link.mass > 0]
    several = [name for name in heavy if on_base.count(name) > 1]
    if several or len(on_base) >= MIN_BRANCHES:
        problems.note(
            f"{problems.where}: the base {quote((several or [robot.base_link])[0])} has "
            f"{base_mass:.4g} kg and {len(on_base)} branches, like a robot on legs, wheels "
            "or rotors; it is fixed to the world, since armlet has no floating base, and its mass "
            "is in no quantity"
        )


def lock_at_zero(names: Sequence[str]) -> str:
    """Return text for messages: the options that lock joints at zero, in Python and in a shell."""
    entries = listing([f"{quote(name)}: 0" for name in names])
    flags = listing([f"--lock {shlex.quote(f'{name}=0')}" for name in names], " ")
    return f"lock={{{entries}}} (on the command line {flags})"

"""Apply load options to a description: locked joints, passive forces, order of joints."""

import warnings
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from armlet.description.checks import unsupported
from armlet.description.description import Connection, Description, Link
from armlet.description.problems import Problems
from armlet.errors import ModelError, ModelWarning, listing, quote
from armlet.robot import Compensation, RobotModel, Spring

Passive = Literal["read", "ignore"]
PASSIVE: tuple[Passive, ...] = get_args(Passive)


def fix_unsupported(
    description: Description, lock: Mapping[str, float]
) -> tuple[Description, dict[str, float]]:
    """Turn unsupported joints locked at 0 into fixed joints; return the result and other locks."""
    zero = {name for name, value in lock.items() if value == 0}
    there = [x.name for x in description.joints if unsupported(x, description.format)]
    fixed = zero.intersection(there)
    joints = (replace(j, kind="fixed") if j.name in fixed else j for j in description.joints)
    rest = {name: value for name, value in lock.items() if name not in fixed}
    return replace(description, joints=tuple(joints)), rest


def apply_passive(description: Description, passive: str, problems: Problems) -> Description:
    """Refuse passive forces not modelled ("read"), or keep only damping and friction ("ignore")."""
    forces = description.not_modelled
    if passive == "read" and forces:
        them = "it" if len(forces) == 1 else "them"
        problems.error(
            f"{forces[0].where}: {listing([force.statement for force in forces], '; ')}, which "
            f"armlet does not model: remove {them}, or leave out all passive forces but damping "
            'and friction, passive="ignore" (on the command line --passive ignore)'
        )
    if passive == "read":
        return description
    dropped: dict[str, list[str]] = defaultdict(list)
    for joint in description.joints:
        if joint.spring.stiffness and joint.kind != "fixed":
            dropped["springs of joints"].append(quote(joint.name))
    for link in description.links:
        if is_compensated(link):
            dropped["gravity compensation of links"].append(quote(link.name))
    for force in forces:
        dropped[force.kind].append(force.subject)
    if dropped:
        items = [f"{kind} {listing(names)}" for kind, names in dropped.items()]
        problems.note(f"{description.where}: left out as passive='ignore' says: {'; '.join(items)}")
    return replace(
        description,
        links=tuple(replace(link, compensation=Compensation()) for link in description.links),
        joints=tuple(replace(joint, spring=Spring()) for joint in description.joints),
        not_modelled=(),
    )


def is_compensated(link: Link) -> bool:
    return bool(link.compensation.mass or np.any(link.compensation.moment))


def warn_of_passive(robot: RobotModel) -> None:
    """Warn that URDF cannot hold the springs and the gravity compensation of a robot."""
    sprung = [
        quote(j.name) for j, x in zip(robot.joints, robot.springs, strict=True) if x.stiffness
    ]
    dropped = [f"the springs of joints {listing(sprung)}"] if sprung else []
    dropped += ["the gravity compensation"] if robot._has_compensation else []
    if dropped:
        warnings.warn(
            f"URDF cannot hold {' and '.join(dropped)} of robot {quote(robot.name)}, which are "
            "left out: write TOML, to_toml, to keep them",
            ModelWarning,
            stacklevel=4,  # the user's call of to_urdf
        )


def reorder(
    description: Description, locked: Collection[str], order: str | Sequence[str]
) -> Description:
    """Return the description with its joints in `order`; joints in `locked` count as fixed."""
    if order == "file":
        return description
    names = [joint.name for joint in _depth_first(description)]
    if order != "pinocchio":
        moving = [j.name for j in description.joints if j.kind != "fixed" and j.name not in locked]
        names = _check_order(order, moving, description)
    place = {name: k for k, name in enumerate(names)}
    joints = sorted(description.joints, key=lambda joint: place.get(joint.name, -1))
    return replace(description, joints=tuple(joints))


def _depth_first(description: Description) -> list[Connection]:
    """Return the joints depth first from the base, siblings sorted by name."""
    carried = defaultdict(list)
    for joint in sorted(description.joints, key=lambda j: j.name.encode(), reverse=True):
        carried[joint.parent].append(joint)
    children = {joint.child for joint in description.joints}
    roots = [link.name for link in description.links if link.name not in children]
    waiting = [joint for root in roots for joint in carried.pop(root, ())]
    ordered: list[Connection] = []
    while waiting:
        joint = waiting.pop()
        ordered.append(joint)
        waiting += carried.pop(joint.child, ())
    return ordered


def _check_order(
    order: str | Sequence[str], names: Sequence[str], description: Description
) -> list[str]:
    """Return `order` as a list; refuse it unless it has all moving joints, with parents first."""
    ordered = [] if isinstance(order, str) or not isinstance(order, Sequence) else [*order]
    if sorted(map(str, ordered)) != sorted(names) or isinstance(order, str):
        raise ModelError(
            f"order is {quote(order)}: expected 'file', 'pinocchio', or the names of all moving "
            f"joints: {listing(names)}"
        )
    place = {name: k for k, name in enumerate(ordered)}
    outermost: dict[str, str] = {}
    for joint in _depth_first(description):
        below = outermost.get(joint.parent)
        if joint.name in place and below is not None and place[below] > place[joint.name]:
            raise ModelError(
                f"order has joint {quote(joint.name)} before joint {quote(below)}, which carries "
                "it: expected parents first"
            )
        moving = joint.name if joint.name in place else below
        if moving is not None:
            outermost[joint.child] = moving
    return ordered

"""Passive forces of a file beyond damping and friction: read, or left out."""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from armlet.description import Description, Link, PassiveForce
from armlet.description.problems import Problems
from armlet.errors import ModelError, ModelWarning, listed, quoted
from armlet.robot import Compensation, RobotModel, Spring

Passive = Literal["read", "ignore"]
"""What may become of passive forces beyond damping and friction."""
PASSIVE: tuple[Passive, ...] = get_args(Passive)


def check_passive(passive: str) -> None:
    """Refuse what is no choice of passive forces."""
    if passive not in PASSIVE:
        raise ModelError(f"passive is {quoted(passive)}: expected 'read' or 'ignore'")


def with_passive(description: Description, passive: str, problems: Problems) -> Description:
    """The description with its passive forces, or without those beyond damping and friction.

    What armlet does not model is refused, or left out with the others, with one warning.
    """
    if passive == "read":
        if description.not_modelled:
            problems.error(_message(description.not_modelled))
        return description
    left_out: dict[str, list[str]] = defaultdict(list)
    for joint in description.joints:
        if joint.spring.stiffness and joint.kind != "fixed":
            left_out["springs of joints"].append(quoted(joint.name))
    for link in description.links:
        if is_compensated(link):
            left_out["gravity compensation of links"].append(quoted(link.name))
    for force in description.not_modelled:
        left_out[force.kind].append(force.subject)
    if left_out:
        parts = [f"{kind} {listed(names)}" for kind, names in left_out.items()]
        problems.note(f"{description.where}: left out as passive='ignore' says: {'; '.join(parts)}")
    return replace(
        description,
        links=tuple(replace(link, compensation=Compensation()) for link in description.links),
        joints=tuple(replace(joint, spring=Spring()) for joint in description.joints),
        not_modelled=(),
    )


def warn_of_passive(robot: RobotModel) -> None:
    """Warn that a file without springs and gravity compensation is written of a robot with them."""
    sprung = [
        quoted(joint.name)
        for joint, spring in zip(robot.joints, robot.springs, strict=True)
        if spring.stiffness
    ]
    parts = [f"the springs of joints {listed(sprung)}"] if sprung else []
    parts += ["the gravity compensation"] if robot.has_compensation else []
    if parts:
        warnings.warn(
            f"URDF cannot hold {' and '.join(parts)} of robot {quoted(robot.name)}, which are left "
            "out: write TOML, to_toml, to keep them",
            ModelWarning,
            stacklevel=4,  # where to_urdf was called
        )


def is_compensated(link: Link) -> bool:
    """Whether the weight of a part of a link is compensated."""
    return bool(link.compensation.mass or np.any(link.compensation.moment))


def _message(forces: Sequence[PassiveForce]) -> str:
    them = "it" if len(forces) == 1 else "them"
    return (
        f"{forces[0].where}: {listed([force.said for force in forces], '; ')}, which armlet does "
        f"not model: remove {them}, or leave out all passive forces but damping and friction, "
        'passive="ignore" (on the command line --passive ignore)'
    )

"""Joints that other joints move: mimic joints of URDF, equalities between joints of MJCF."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

from armlet.description import Description, Tie
from armlet.description.problems import Problems
from armlet.errors import ModelError, listed, quoted
from armlet.robot import RobotModel
from armlet.robot.components import common_limits

Mimic = Literal["couple", "free", "lock"]
"""What may become of a joint that another one moves."""
MIMIC: tuple[Mimic, ...] = get_args(Mimic)


def with_ties(
    description: Description, lock: Mapping[str, float], mimic: str
) -> tuple[Description, dict[str, float]]:
    """The description with the ties that couple joints, and the joints to lock with their values.

    "couple" leaves the ties as they are, "free" drops them. "lock" drops them too, and locks each
    joint that mimics another where it is while the other one is at the value that it is locked at,
    or else at zero.
    """
    if mimic not in MIMIC:
        raise ModelError(f"mimic is {quoted(mimic)}: expected one of {', '.join(MIMIC)}")
    if mimic == "couple":
        return description, dict(lock)
    held = {}
    if mimic == "lock":
        names = [name for tie in description.ties for name in tie.joints if name not in lock]
        held = {name: _value(name, description, lock) for name in names}
    return replace(description, ties=()), dict(lock) | held


def without_lost_leaders(description: Description, problems: Problems) -> Description:
    """The description without mimics of joints that do not exist, which then move freely.

    An equality of MJCF is no mimic, and has to name joints that exist; with `strict`, all have to.
    """
    names = {joint.name for joint in description.joints}
    lost = [tie for tie in description.ties if not tie.mutual and tie.leader not in names]
    if problems.strict or not lost:
        return description
    said = listed([tie.said for tie in lost], "; ")
    problems.note(
        f"{lost[0].where}: {said}: no joint is called like this, so that what mimics it is free"
    )
    return replace(description, ties=tuple(tie for tie in description.ties if tie not in lost))


def _value(name: str, description: Description, lock: Mapping[str, float]) -> float:
    """The value of a joint that follows a leader, which may follow another one."""
    leader_of = {tie.joint: tie for tie in description.ties}
    at_start = {joint.name: joint.at_start for joint in description.joints}
    followed: dict[str, Tie] = {}
    while name in leader_of and name not in lock and name not in followed:
        followed[name] = leader_of[name]
        name = followed[name].leader
    value = lock.get(name, 0.0)
    for tie in reversed(followed.values()):
        value = tie.value(value, at_start)
    return value


def note_contrary_limits(robot: RobotModel, problems: Problems) -> None:
    """Note if joints cannot follow their leader anywhere within their own limits."""
    for i in robot.leaders if robot.couplings else ():
        _, contrary = common_limits(robot.joints[i].limits, robot._followers(i))
        if contrary:
            names = listed([quoted(joint.name) for joint in contrary])
            problems.note(
                f"{problems.where}: the limits of {names} leave joint "
                f"{quoted(robot.joints[i].name)}, which moves them, no range to move in: they are "
                "not used"
            )

"""Joints that other joints move: mimic joints of URDF, equalities between joints of MJCF."""

from collections.abc import Mapping, Sequence
from shlex import quote

from numpy.polynomial import Polynomial

from armlet.errors import ModelError, listed, quoted
from armlet.robot import Description, Tie


def lock_tied(description: Description, lock: Mapping[str, float], mimic: bool) -> dict[str, float]:
    """The joints to lock and their values, with those that mimic others where that is wanted.

    A joint that mimics another is locked where it is while the other one is at the value that it
    is locked at, or else at zero.
    """
    open_ = [tie for tie in description.ties if not set(tie.joints) <= set(lock)]
    needed = {name: None for tie in open_ for name in tie.joints if name not in lock}
    values = {name: _value(name, description, lock) for name in needed}
    if open_ and not mimic:
        raise ModelError(_message(open_, values))
    return dict(lock) | values


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
        moved = value - at_start.get(tie.leader, 0.0)
        value = at_start.get(tie.joint, 0.0) + float(Polynomial(tie.coefficients)(moved))
    return value


def _message(ties: Sequence[Tie], values: Mapping[str, float]) -> str:
    them = "it" if len(values) == 1 else "them"
    entries = listed([f"{quoted(name)}: {value!r}" for name, value in values.items()])
    flags = listed([f"--lock {quote(f'{name}={x!r}')}" for name, x in values.items()], " ")
    return (
        f"{ties[0].where}: {listed([tie.said for tie in ties], '; ')}, which armlet does not "
        f"model: lock {them} while loading, lock={{{entries}}} or lock_mimic=True (on the command "
        f"line {flags}, or --lock mimic)"
    )

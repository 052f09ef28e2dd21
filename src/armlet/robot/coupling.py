"""Coupled joints: a joint that another one moves, so that one coordinate moves several joints."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from armlet.robot.components import Joint, Limits
from armlet.scalar import Scalar


class Coupling(NamedTuple):
    """How a joint moves: by factor times the position of its leader, plus offset."""

    leader: int
    """The joint that moves it; a joint that is its own leader is a coordinate."""
    factor: Scalar = 1
    offset: Scalar = 0


def common_limits(
    leader: Limits, followers: Sequence[tuple[Joint, Coupling]]
) -> tuple[Limits, list[Joint]]:
    """The leader's limits within those of its followers, and the followers left out.

    A follower whose range leaves the leader none to move in is left out: some files give followers
    the range of the leader, whatever their factor. The effort stays the leader's, whose drive it is
    taken to be.
    """
    lower, upper, velocity, effort = leader
    contrary = []
    for joint, (_, factor, offset) in followers:
        ends = sorted((limit - offset) / factor for limit in joint.limits[:2])
        low, high = max(lower, ends[0]), min(upper, ends[1])
        if low < high or (low, high) == (lower, upper):
            lower, upper = low, high
        else:
            contrary.append(joint)
        velocity = min(velocity, joint.limits.velocity / abs(factor) if factor else inf)
    return Limits(lower, upper, velocity, effort), contrary

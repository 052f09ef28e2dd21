"""The order of joints: as in the file, as Pinocchio has them, or as the user names them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from armlet.description import Connection, Description
from armlet.errors import ModelError, listed, quoted

ORDERS = ("file", "pinocchio")


def reordered(
    description: Description, locked: Collection[str], order: str | Sequence[str]
) -> Description:
    """The description with its joints in another order; joints that are locked count as fixed."""
    if order == "file":
        return description
    moving = [j.name for j in description.joints if j.kind != "fixed" and j.name not in locked]
    names = [joint.name for joint in _depth_first(description)]
    if order != "pinocchio":
        names = _checked(order, moving, description)
    place = dict(zip(names, range(len(names)), strict=True))
    joints = sorted(description.joints, key=lambda joint: place.get(joint.name, -1))
    return replace(description, joints=tuple(joints))


def _depth_first(description: Description) -> list[Connection]:
    """The joints from the base outwards, each followed by all it carries, siblings by name."""
    carried = defaultdict(list)
    for joint in sorted(description.joints, key=lambda j: j.name.encode(), reverse=True):
        carried[joint.parent].append(joint)
    children = {joint.child for joint in description.joints}
    ordered: list[Connection] = []
    waiting = [j for link in description.links if link.name not in children
               for j in carried.pop(link.name, ())]  # fmt: skip
    while waiting:
        joint = waiting.pop()
        ordered.append(joint)
        waiting += carried.pop(joint.child, ())
    return ordered


def _checked(
    order: str | Sequence[str], names: Sequence[str], description: Description
) -> list[str]:
    """The names in the order of the user, if they are those of the joints, parents first."""
    given = [order] if isinstance(order, str) or not isinstance(order, Sequence) else [*order]
    if isinstance(order, str) or sorted(map(str, given)) != sorted(names):
        raise ModelError(
            f"order is {quoted(order)}: expected 'file', 'pinocchio', or the names of all moving "
            f"joints: {listed(names)}"
        )
    place = {name: k for k, name in enumerate(given)}
    outermost: dict[str, str] = {}
    for joint in _depth_first(description):
        below = outermost.get(joint.parent)
        if joint.name in place and below is not None and place[below] > place[joint.name]:
            raise ModelError(
                f"order has joint {quoted(joint.name)} before joint {quoted(below)}, which carries "
                "it: expected parents first"
            )
        moving = joint.name if joint.name in place else below
        if moving is not None:
            outermost[joint.child] = moving
    return given

"""The keyframes of an MJCF model: values of its joints by name."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from armlet.description import Connection
from armlet.description.checks import MOVING
from armlet.description.keyframes import Keyframes
from armlet.formats.mjcf.scope import Scope, opened
from armlet.formats.mjcf.settings import section
from armlet.formats.xml import Element

WIDTHS = {"free": 7, "ball": 4}


class _Joint(NamedTuple):
    name: str
    width: int
    """How many values it has in a keyframe."""
    is_own: bool
    """Whether it is of the model itself, not of one that it attaches."""


def keyframes(root: Element, world: Element, scope: Scope) -> Keyframes:
    """The keyframes of a file by name; one whose values do not fit the joints is left out.

    There is one value for each joint in the order of the bodies, or one for each joint of the
    model itself if it attaches others. Keyframes change no dynamics.
    """
    keys = section(root, "keyframe").all("key")
    joints = list(_joints(world, scope, True)) if keys else []
    own = [joint for joint in joints if joint.is_own]
    layouts = {sum(joint.width for joint in some): some for some in ([], own, joints)}
    found: Keyframes = {}
    for k, key in enumerate(keys, start=1):
        values = key.numbers("qpos", None, ()).tolist()
        if len(values) in layouts:
            found[key.get("name") or f"key{k}"] = _by_joint(values, layouts[len(values)])
    return found


def completed(poses: Keyframes, joints: Iterable[Connection]) -> Keyframes:
    """The values of all joints that move; those without one are where the file draws them."""
    start = {joint.name: joint.at_start for joint in joints if joint.kind in MOVING}
    return {
        key: start | {name: x for name, x in values.items() if name in start}
        for key, values in poses.items()
    }


def _by_joint(values: list[float], joints: list[_Joint]) -> dict[str, float]:
    """The values of the joints that have one."""
    ends = accumulate(joint.width for joint in joints)
    return {
        joint.name: values[end - 1]
        for joint, end in zip(joints, ends, strict=True)
        if joint.width == 1
    }


def _joints(body: Element, scope: Scope, is_own: bool, outer: str = "main") -> Iterator[_Joint]:
    """The joints of a body and of those it carries, in MuJoCo's order."""
    parts = list(opened(body, scope, outer=outer))
    for part in parts:
        element = part.element
        if element.tag in ("joint", "freejoint"):
            kind = "free" if element.tag == "freejoint" else element.get("type")
            yield _Joint(element.get("name"), WIDTHS.get(kind, 1), is_own and part.scope is scope)
    for part in parts:
        if part.element.tag == "body":
            yield from _joints(part.element, part.scope, is_own and part.scope is scope)

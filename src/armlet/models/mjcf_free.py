"""Bodies on free joints beside a fixed robot, which are left out."""

from collections.abc import Iterator
from typing import NamedTuple

from armlet.errors import ModelError, quoted
from armlet.models.mjcf_files import below
from armlet.models.mjcf_models import Model
from armlet.models.mjcf_outside import names
from armlet.models.mjcf_scope import Attached, Scope, opened
from armlet.models.mjcf_settings import called
from armlet.models.xml import Element


class _Free(NamedTuple):
    """A body on a free joint, and the element that holds it."""

    holder: Element
    body: Element
    joint: Element


def leave_out_free_bodies(model: Model) -> list[str]:
    """Remove the bodies on free joints beside others that move, and return their names.

    Where no other moves the robot itself is on the free joint, which is refused.
    """
    free = list(_free_bodies(model.world, model.scope, "main"))
    for holder, body, _ in free:
        holder.children = [child for child in holder.children if child is not body]
    if free and not any(element.tag == "joint" for element in below(model.world)):
        _, body, joint = free[0]
        raise ModelError(
            f"{called(joint)} frees body {quoted(body.get('name'))}, and no body beside it moves: "
            "a robot on a free base, which armlet does not model; remove the joint to fix the body"
        )
    model.outside.drop_within(names(body for _, body, _ in free))
    return [body.get("name") for _, body, _ in free]


def _free_bodies(element: Element, scope: Scope, outer: str) -> Iterator[_Free]:
    """The bodies on free joints in the world or in a frame of it."""
    for child in element.children:
        if isinstance(child, Attached) and child.scope is not None:
            yield from _free_bodies(child, child.scope, child.get("childclass", "main"))
        elif child.tag == "frame":
            yield from _free_bodies(child, scope, child.get("childclass", outer))
        elif child.tag == "body":
            for part in opened(child, scope, outer=outer):
                is_joint = part.element.tag == "joint" and part.element.get("type") == "free"
                if is_joint or part.element.tag == "freejoint":
                    yield _Free(element, child, part.element)
                    break

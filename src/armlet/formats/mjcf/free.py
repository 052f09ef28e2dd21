"""Bodies of an MJCF world that are no part of the robot: on free joints, or moved from outside."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from armlet.description.problems import Problems
from armlet.errors import listed, quoted
from armlet.formats.mjcf.files import below
from armlet.formats.mjcf.models import Model
from armlet.formats.mjcf.outside import Name, names
from armlet.formats.mjcf.refusals import called_constraint
from armlet.formats.mjcf.scope import Attached, Scope, opened
from armlet.formats.mjcf.settings import flag
from armlet.formats.xml import Element


class _Free(NamedTuple):
    """A body on a free joint, and the element that holds it."""

    holder: Element
    body: Element


def leave_out_free_bodies(model: Model, problems: Problems) -> None:
    """Remove the bodies on free joints beside a robot, and note their names.

    The robot is what moves otherwise. Where nothing else moves it is itself on a free joint: the
    bodies stay that carry others on joints, or all if none does.
    """
    free = list(_free_bodies(model.world, model.scope, "main"))
    carriers = [x for x in free if sum(part.tag == "joint" for part in below(x.body)) > 1]
    inside = sum(part.tag == "joint" for x in free for part in below(x.body))
    is_fixed = inside < sum(part.tag == "joint" for part in below(model.world))
    left_out = free if is_fixed else [x for x in free if carriers and x not in carriers]
    if not left_out:
        return
    for holder, body in left_out:
        holder.children = [child for child in holder.children if child is not body]
    gone = names(body for _, body in left_out)
    model.outside.drop_within(gone)
    _refuse_equalities(model, gone, problems)
    base = "with a fixed base" if is_fixed else "with joints"
    problems.note(
        f"{model.root.file}: left out, since they are on free joints beside a robot {base}: "
        f"{listed([body.get('name') for _, body in left_out])}"
    )


def _refuse_equalities(model: Model, gone: Sequence[Name], problems: Problems) -> None:
    """Refuse the equalities that tie a joint of the robot to one of a body that is left out."""
    for key, (section, element, scope) in model.outside.naming(gone).items():
        equality = scope.defaults.fill(element, "equality")
        if section == "equality" and equality.get("joint1") and flag(equality, "active", "true"):
            del model.outside.entries[key]
            joints = " to ".join(quoted(equality.get(key)) for key in ("joint1", "joint2"))
            problems.error(
                f"{called_constraint(equality)} ties joint {joints}, one of which is left out with "
                "its body, on a free joint beside the robot: remove the equality or set "
                'active="false"'
            )


def leave_out_mocap(model: Model, problems: Problems) -> None:
    """Remove the constraints to mocap bodies, which a program moves: inputs, as motors are."""
    moved = [x for x in below(model.world) if x.tag == "body" and flag(x, "mocap")]
    held = names(own for body in moved for own in _without_bodies(body))
    for key, (section, element, scope) in model.outside.naming(held).items():
        if section == "equality" and flag(scope.defaults.fill(element, section), "active", "true"):
            del model.outside.entries[key]
            problems.note(
                f"{called_constraint(element)} is left out: it holds the robot to a mocap body, "
                "which is moved from outside"
            )


def _without_bodies(element: Element) -> Iterator[Element]:
    """A body, or a frame in it, with all that is not in another body."""
    yield replace(element, children=[])
    for child in element.children:
        if child.tag == "frame":
            yield from _without_bodies(child)
        elif child.tag != "body":
            yield child


def _free_bodies(element: Element, scope: Scope, outer: str) -> Iterator[_Free]:
    """The bodies on free joints in the world or in a frame of it."""
    for child in element.children:
        if isinstance(child, Attached) and child.scope is not None:
            yield from _free_bodies(child, child.scope, child.get("childclass", "main"))
        elif child.tag == "frame":
            yield from _free_bodies(child, scope, child.get("childclass", outer))
        elif child.tag == "body":
            parts = opened(child, scope, outer=outer)
            if any(x.element.tag == "joint" and x.element.get("type") == "free" for x in parts):
                yield _Free(element, child)

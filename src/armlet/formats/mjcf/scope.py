"""Elements of an MJCF model with the settings of the file they come from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from armlet.formats.mjcf.meshes import MeshAsset
from armlet.formats.mjcf.refusals import check_attributes
from armlet.formats.mjcf.settings import Compiler, Defaults, placed
from armlet.formats.xml import Element
from armlet.robot import HERE, Pose


@dataclass(frozen=True)
class Scope:
    """The settings that hold for one model and the files it includes, not for those attached."""

    compiler: Compiler
    defaults: Defaults
    meshes: Mapping[str, MeshAsset]


@dataclass(slots=True)
class Attached(Element):
    """A frame around elements of another model, whose settings hold inside."""

    scope: Scope | None = None


class Part(NamedTuple):
    """An element of a body, default attributes included, in the frame around it."""

    element: Element
    at: Pose
    """The pose in the body of the frame around the element."""
    scope: Scope


def opened(element: Element, scope: Scope, at: Pose = HERE, outer: str = "main") -> Iterator[Part]:
    """The elements of a body with their poses; those of <frame>s are among them."""
    inner = scope.defaults.known(element, "childclass", outer)
    for child in element.children:
        if child.tag == "frame":
            yield from _opened_frame(child, scope, at, inner)
            continue
        part = scope.defaults.fill(child, child.tag, inner)
        if child.tag == "body":
            part.attributes.setdefault("childclass", inner)
        yield Part(part, at, scope)


def _opened_frame(frame: Element, scope: Scope, at: Pose, outer: str) -> Iterator[Part]:
    check_attributes(frame)
    at = at @ placed(frame, scope.compiler)
    if isinstance(frame, Attached) and frame.scope is not None:
        yield from opened(frame, frame.scope, at)
    else:
        yield from opened(frame, scope, at, outer)

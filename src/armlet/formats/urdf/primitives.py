"""The visual primitives of URDF: boxes, spheres, cylinders and capsules."""

from collections.abc import Callable, Iterator
from contextlib import suppress

from armlet.description.description import Solid
from armlet.errors import ModelError
from armlet.formats.xml import Element
from armlet.robot import Pose

SOLIDS = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}
"""The attributes of each primitive, and how many numbers they are."""


def solids(link: Element, origin: Callable[[Element | None], Pose]) -> Iterator[Solid]:
    """The visual primitives of a link; faulty ones are left out, since dynamics need none."""
    for visual in link.all("visual"):
        geometry = visual.first("geometry")
        for shape in geometry.children if geometry else ():
            with suppress(ModelError):
                if size := solid_size(shape):
                    yield Solid(shape.tag, size, origin(visual.first("origin")))


def solid_size(shape: Element) -> tuple[float, ...]:
    """The lengths of a primitive; none if the element is not one, or is not above zero in size."""
    lengths = SOLIDS.get(shape.tag, {}).items()
    size = tuple(float(x) for key, n in lengths for x in shape.numbers(key, n))
    return size if size and min(size) > 0 else ()


def solid_text(solid: Solid) -> str:
    """The element of a primitive."""
    size = iter(solid.size)
    attributes = (
        f'{key}="{" ".join(repr(float(next(size))) for _ in range(n))}"'
        for key, n in SOLIDS[solid.kind].items()
    )
    return f"<{solid.kind} {' '.join(attributes)}/>"

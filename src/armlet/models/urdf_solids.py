"""The visual primitives of URDF: boxes, spheres, cylinders and capsules."""

from armlet.models.xml import Element
from armlet.robot.description import Solid

SOLIDS = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}
"""The attributes of each primitive, and how many numbers they are."""


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

"""The inertia of an MJCF body: as given, or from its geoms."""

from collections.abc import Iterable, Sequence
from math import pi
from typing import NamedTuple

import numpy as np

from armlet.errors import ModelError, quoted
from armlet.formats.mjcf.meshes import fitted, mesh_solid
from armlet.formats.mjcf.scope import Part, Scope
from armlet.formats.mjcf.settings import Compiler, choice, flag, placed
from armlet.formats.xml import Element
from armlet.scalar import Matrix, Vector

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""The solids, and the number of lengths that define each."""

WEIGHTLESS = ("plane", "hfield")
FROM_FILES = ("mesh", "sdf")


class Inertia(NamedTuple):
    """Mass, centre of mass, and inertia about it in the axes of the body."""

    mass: float
    com: Vector
    tensor: Matrix


NOTHING = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


def body_inertia(
    body: Element, inertials: Sequence[Part], geoms: Iterable[Part], compiler: Compiler, moves: bool
) -> Inertia:
    """The inertia of a body, by the rules of <compiler>.

    A body without any has its centre of mass at its own pos, as in MuJoCo: it counts when
    boundmass gives it a mass.
    """
    if len(inertials) > 1:
        raise ModelError(
            f"{inertials[1].element.where}: body {quoted(body.get('name'))} has a second "
            "<inertial>: expected one"
        )
    inertia = NOTHING._replace(com=body.numbers("pos", 3, (0.0, 0.0, 0.0)))
    if inertials:
        inertia = _written(body, inertials[0], moves)
    if compiler.inertiafromgeom == "true" or (compiler.inertiafromgeom == "auto" and not inertials):
        needed = moves or compiler.settotalmass > 0
        solids = [_solid(body, part, compiler, needed) for part in geoms]
        if sum(solid.mass for solid in solids) > 0:
            inertia = _together(solids)
    return _bounded(inertia, compiler)


def _written(body: Element, part: Part, moves: bool) -> Inertia:
    inertial, frame, scope = part
    inertial.numbers("pos", 3)  # required here, unlike in other elements
    at = frame @ placed(inertial, scope.compiler)
    subject = f"{inertial.where}: the <inertial> of body {quoted(body.get('name'))}"
    if "fullinertia" in inertial.attributes:
        if len(inertial.attributes) > 3:
            raise ModelError(
                f"{subject} has fullinertia: expected pos, mass and fullinertia alone, which holds "
                "in the axes of the body"
            )
        xx, yy, zz, xy, xz, yz = inertial.numbers("fullinertia", 6)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif "diaginertia" in inertial.attributes or not moves:
        I = np.diag(inertial.numbers("diaginertia", 3, (0.0, 0.0, 0.0)))
    else:
        raise ModelError(f"{subject} has no inertia: expected diaginertia or fullinertia")
    return Inertia(inertial.number("mass"), at.r, at.R @ I @ at.R.T)


def _solid(body: Element, part: Part, compiler: Compiler, needed: bool) -> Inertia:
    """The inertia that a geom adds to its body."""
    geom, frame, scope = part
    named = f"geom {quoted(geom.get('name'))}" if geom.get("name") else "a geom"
    subject = f"{geom.where}: {named} of body {quoted(body.get('name'))}"
    shape = choice(geom, "type", (*SIZES, *WEIGHTLESS, *FROM_FILES), "sphere")
    low, high = compiler.groups
    measure = "mass" if "mass" in geom.attributes else "density"
    amount = geom.number(measure, 1000.0)
    if amount < 0:
        raise ModelError(f"{subject} has a {measure} of {amount:g}: expected none below zero")
    from_file = shape in FROM_FILES or "mesh" in geom.attributes
    counts = low <= geom.number("group", 0.0) <= high and amount > 0 and shape not in WEIGHTLESS
    if not counts or (from_file and not needed):
        return NOTHING
    if flag(geom, "shellinertia"):
        raise ModelError(
            f"{subject} is a shell: expected a solid; give the body an <inertial> instead"
        )
    at = frame @ placed(geom, scope.compiler)
    volume, com, radii = _shape(geom, shape, scope, subject)
    mass = amount if measure == "mass" else amount * volume
    return Inertia(mass, at.point(com), mass * at.R @ radii @ at.R.T)


def _shape(geom: Element, shape: str, scope: Scope, subject: str) -> tuple[float, Vector, Matrix]:
    """Volume, centre and inertia at unit mass of a geom, in its own frame."""
    if "mesh" not in geom.attributes and shape not in FROM_FILES:
        volume, radii = _measures(shape, lengths(geom, shape, subject))
        return volume, np.zeros(3), np.diag(radii)
    asset = scope.meshes.get(geom.get("mesh"))
    volume, com, tensor = mesh_solid(asset, geom.get("mesh"), subject)
    if shape in FROM_FILES or asset is None:
        return volume, com, tensor / volume
    (R, r), size = fitted(asset, shape, scope.compiler.fitaabb)
    volume, radii = _measures(shape, size * geom.number("fitscale", 1.0))
    return volume, r, R @ np.diag(radii) @ R.T


def lengths(geom: Element, shape: str, subject: str) -> Vector:
    """The lengths that define a solid, half its sides; fromto defines the last of them."""
    n = SIZES[shape]
    size = geom.numbers("size", None, ())
    if "fromto" in geom.attributes:
        if shape == "sphere":
            raise ModelError(f"{subject} is a sphere and has fromto: expected pos, or another type")
        start, end = geom.numbers("fromto", 6).reshape(2, 3)
        size = np.array([*size[:1].repeat(n - 1), np.linalg.norm(end - start) / 2])
    if len(size) < n or len(size) > 3 or min(size[:n]) <= 0:
        wanted = "one above zero" if n == 1 else f"{n} above zero, or one and fromto"
        raise ModelError(f"{subject} is a {shape} with {geom.said('size')}: expected {wanted}")
    return size[:n]


def solid_size(shape: str, size: Vector) -> tuple[float, ...]:
    """The lengths of a solid as `Solid` has them: whole sides and lengths, radii as they are."""
    whole = {"box": (2, 2, 2), "cylinder": (1, 2), "capsule": (1, 2)}.get(shape, 1)
    return tuple((size * np.array(whole)).tolist())


def _measures(shape: str, size: Vector) -> tuple[float, Vector]:
    """Volume, and squared radii of gyration about the three axes."""
    squares = size**2
    match shape:
        case "box":
            return 8 * size.prod(), (squares.sum() - squares) / 3
        case "ellipsoid":
            return 4 / 3 * pi * size.prod(), (squares.sum() - squares) / 5
        case "sphere":
            return _measures("ellipsoid", size.repeat(3))
    r, h = size[0], 2 * size[1]
    across, along = (3 * r**2 + h**2) / 12, r**2 / 2
    if shape == "cylinder":
        return pi * r**2 * h, np.array([across, across, along])
    ends = 4 * r / (4 * r + 3 * h)
    ball = 2 / 5 * r**2
    across = (1 - ends) * across + ends * (ball + h * (3 * r + 2 * h) / 8)
    along = (1 - ends) * along + ends * ball
    return pi * r**2 * (h + 4 / 3 * r), np.array([across, across, along])


def _together(parts: Sequence[Inertia]) -> Inertia:
    mass = sum(part.mass for part in parts)
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / mass
    tensor = np.zeros((3, 3))
    for part in parts:
        d = part.com - com
        tensor += part.tensor + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertia(mass, com, tensor)


def _bounded(inertia: Inertia, compiler: Compiler) -> Inertia:
    """The inertia with the bounds of <compiler> applied to mass and principal moments."""
    mass, com, tensor = inertia
    if compiler.boundmass > 0:
        mass = max(mass, compiler.boundmass)
    if (compiler.boundinertia > 0 or compiler.balanceinertia) and np.isfinite(tensor).all():
        moments, axes = np.linalg.eigh(tensor)
        if compiler.boundinertia > 0:
            moments = np.maximum(moments, compiler.boundinertia)
        if compiler.balanceinertia and moments[2] - moments[0] - moments[1] > 1e-12 * moments[2]:
            moments = moments.mean().repeat(3)
        tensor = axes * moments @ axes.T
    return Inertia(mass, com, tensor)

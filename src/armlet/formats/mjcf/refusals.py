"""MJCF features that armlet does not model and refuses."""

from collections.abc import Iterator
from difflib import get_close_matches

import numpy as np

from armlet.description import Tie
from armlet.description.problems import Problems
from armlet.errors import ModelError, quoted
from armlet.formats.mjcf.settings import ORIENTATIONS, Defaults, called, flag, section
from armlet.formats.xml import Element

READ = ("body", "frame", "inertial", "joint", "geom", "site", "camera", "light")
NOT_READ = {
    "composite": "is not read: expected rigid bodies",
    "flexcomp": "is not read: expected rigid bodies",
}
SECTIONS = (
    "compiler", "option", "size", "statistic", "visual", "default", "extension", "custom", "asset",
    "worldbody", "deformable", "contact", "tendon", "equality", "actuator", "sensor", "keyframe",
)  # fmt: skip
PLACE = {"name", "childclass", "pos", *ORIENTATIONS}
KNOWN = {
    "compiler": {
        "alignfree", "angle", "assetdir", "autolimits", "balanceinertia", "boundinertia",
        "boundmass", "conflict", "convexhull", "coordinate", "discardvisual", "eulerseq",
        "exactmeshinertia", "fitaabb", "fusestatic", "inertiafromgeom", "inertiagrouprange",
        "meshdir", "passthrough", "savecanonical", "savecompiled", "saveinertial", "settotalmass",
        "strippath", "texturedir", "usethread",
    },
    "frame": PLACE,
    "replicate": {"count", "sep", "offset", "euler", "childclass", "prefix"},
    "attach": {"model", "body", "frame", "prefix"},
    "body": {*PLACE, "mocap", "gravcomp", "sleep", "simple", "fuse", "user"},
    "inertial": {"pos", "mass", "diaginertia", "fullinertia", *ORIENTATIONS},
    "joint": {
        "name", "class", "type", "group", "pos", "axis", "ref", "range", "limited", "armature",
        "damping", "frictionloss", "stiffness", "springdamper", "springref", "springyield",
        "actuatorfrcrange", "actuatorfrclimited", "actuatorgravcomp", "margin", "solreflimit",
        "solimplimit", "solreffriction", "solimpfriction", "user",
    },
    "geom": {
        "name", "class", "type", "pos", *ORIENTATIONS, "fromto", "size", "mass", "density",
        "shellinertia", "group", "mesh", "hfield", "fitscale", "contype", "conaffinity", "condim",
        "priority", "friction", "solmix", "solref", "solimp", "margin", "gap", "surfacevel",
        "adhesion", "fluidshape", "fluidcoef", "material", "rgba", "castshadow", "user",
    },
}  # fmt: skip


def check_sections(root: Element) -> None:
    """Refuse unknown sections."""
    for child in root.children:
        if child.tag not in SECTIONS:
            raise ModelError(
                f"{called(child)} is no section: expected one of {', '.join(SECTIONS)}"
            )
        check_attributes(child)


def constraints(root: Element, defaults: Defaults, problems: Problems) -> list[Tie]:
    """The ties between joints; other constraints are errors."""
    ties: list[Tie] = []
    for element in section(root, "equality").children:
        with problems.collected():
            ties += _constraint(defaults.fill(element, "equality"), problems)
    for element in section(root, "tendon").children:
        with problems.collected():
            tendon = defaults.fill(element, "tendon")
            refuse_nonzero(tendon, "armature", "an inertia along it")
    for flex in section(root, "deformable").all("flex"):
        problems.error(f"{called(flex)} is not read: expected rigid bodies")
    return ties


def _constraint(constraint: Element, problems: Problems) -> Iterator[Tie]:
    """The tie that an equality is, if it is one."""
    if not flag(constraint, "active", "true"):
        return
    subject = called_constraint(constraint)
    joints = [constraint.get(key) for key in ("joint1", "joint2") if constraint.get(key)]
    if not joints:
        cure = 'expected a tree; remove it or set active="false"'
        problems.error(
            f"{subject} closes a loop: {cure}",
            f"constraints in <equality> close loops: {cure}",
            subject.removeprefix(f"{constraint.where}: ").removesuffix(" in <equality>"),
        )
        return
    joint, leader = (*joints, "")[:2]
    coefficients = constraint.numbers("polycoef", None, (0.0, 1.0))
    names = " to ".join(map(quoted, joints))
    said = f"{subject.removeprefix(f'{constraint.where}: ')} ties joint {names}"
    fixed = coefficients if leader else coefficients[:1]
    yield Tie(joint, leader, tuple(fixed), said, constraint.where, mutual=True)


def called_constraint(constraint: Element) -> str:
    """A constraint for messages: file and line, tag, name and section."""
    return f"{called(constraint)} in <equality>"


def refuse_nonzero(element: Element, key: str, meaning: str) -> None:
    """Refuse an attribute with a number that is not zero."""
    if np.any(element.numbers(key, None, ())):
        raise ModelError(
            f"{called(element)} has {element.said(key)}, {meaning}, which armlet does not model: "
            "remove it"
        )


def check_tag(element: Element) -> None:
    """Refuse an element of a body that may change its dynamics and is not read."""
    if element.tag not in READ:
        unknown = f"is not read: expected one of {', '.join(READ)}"
        raise ModelError(f"{called(element)} {NOT_READ.get(element.tag, unknown)}")


def check_attributes(element: Element) -> None:
    """Refuse an attribute that is misspelt, or is not read and may change the dynamics."""
    known = KNOWN.get(element.tag)
    for key in element.attributes:
        if known is not None and key not in known:
            near = get_close_matches(key, sorted(known), n=1)
            raise ModelError(
                f"{called(element)} has {element.said(key)}, which is not read: "
                + (f"expected {near[0]}" if near else "remove it")
            )

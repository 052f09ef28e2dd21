"""Settings that apply to all elements of an MJCF file: compiler, default classes, orientations."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import atan2, inf, radians

import numpy as np

from armlet.errors import ModelError, listed, quoted, shown
from armlet.formats.xml import Element, words
from armlet.robot import Pose
from armlet.robot.pose import rotation, rotation_of_quaternion, round_rotation, turn
from armlet.scalar import Matrix, Vector

MAX_ATTRIBUTES = 100

ORIENTATIONS = {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}
"""The attributes that give an orientation, and how many numbers each takes."""

OPEN_LISTS = ("size", "gear", "damping", "stiffness")
"""Attributes whose missing last numbers come from the default class."""
MAX_LIST = 500
"""How many characters such a list may have in a class."""

ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper",
    "cylinder", "muscle", "adhesion", "dcmotor", "plugin",
)  # fmt: skip


def section(root: Element, tag: str) -> Element:
    """All sections with a tag merged: the children of all, and the last value of each attribute."""
    found = root.all(tag)
    whole = Element(tag, {}, root.file, found[-1].line if found else root.line)
    for part in found:
        whole.attributes |= part.attributes
        whole.children += part.children
    return whole


def called(element: Element) -> str:
    """An element for messages: file and line, tag and name."""
    name = f" {quoted(element.get('name'))}" if element.get("name") else ""
    return f"{element.where}: <{element.tag}>{name}"


def choice(element: Element, key: str, options: Sequence[str], default: str) -> str:
    """An attribute that is one of a few words."""
    word = element.get(key, default)
    if word not in options:
        raise ModelError(
            f"{called(element)} has {element.said(key)}: expected one of {', '.join(options)}"
        )
    return word


def flag(element: Element, key: str, default: str = "false") -> bool:
    """An attribute that is true or false."""
    return choice(element, key, ("false", "true"), default) == "true"


def first_number(element: Element, key: str, default: float) -> float:
    """The first number of an attribute that may hold several."""
    numbers = element.numbers(key, None, (default,))
    if not len(numbers):
        raise ModelError(f'{called(element)} has {key}="": expected a number')
    return float(numbers[0])


# ---------------------------------------------------------------------------------- compiler


@dataclass(frozen=True)
class Compiler:
    """The settings that change what the elements mean."""

    unit: float
    """The file's unit of angle in radians."""
    eulerseq: str
    autolimits: bool
    inertiafromgeom: str
    groups: tuple[float, float]
    """The first and the last group of geoms that give bodies their inertia."""
    boundmass: float
    boundinertia: float
    balanceinertia: bool
    settotalmass: float
    meshdir: str
    strippath: bool
    exactmeshinertia: bool
    fitaabb: bool


def read_compiler(root: Element) -> Compiler:
    """The <compiler> sections, with MuJoCo's defaults."""
    compiler = section(root, "compiler")
    if compiler.get("coordinate", "local") != "local":
        raise ModelError(
            f"{called(compiler)} has {compiler.said('coordinate')}: expected local; save the file "
            "with MuJoCo 2.3.3 or older to convert it"
        )
    eulerseq = compiler.get("eulerseq", "xyz")
    if len(eulerseq) != 3 or set(eulerseq.lower()) - set("xyz"):
        raise ModelError(
            f"{called(compiler)} has {compiler.said('eulerseq')}: expected three letters of xyzXYZ"
        )
    low, high = compiler.numbers("inertiagrouprange", 2, (0.0, 5.0))
    in_degrees = choice(compiler, "angle", ("degree", "radian"), "degree") == "degree"
    return Compiler(
        unit=radians(1) if in_degrees else 1.0,
        eulerseq=eulerseq,
        autolimits=flag(compiler, "autolimits", "true"),
        inertiafromgeom=choice(compiler, "inertiafromgeom", ("false", "true", "auto"), "auto"),
        groups=(low, high),
        boundmass=compiler.number("boundmass", 0.0),
        boundinertia=compiler.number("boundinertia", 0.0),
        balanceinertia=flag(compiler, "balanceinertia"),
        settotalmass=compiler.number("settotalmass", -1.0),
        meshdir=compiler.get("meshdir", compiler.get("assetdir")),
        strippath=flag(compiler, "strippath"),
        exactmeshinertia=flag(compiler, "exactmeshinertia"),
        fitaabb=flag(compiler, "fitaabb"),
    )


# ---------------------------------------------------------------------------------- defaults


Class = ChainMap[str, dict[str, str]]
"""The default attributes of each kind of element; a class inherits those of its parent."""


class Defaults:
    """The classes of <default>: for each, the default attributes of its elements."""

    def __init__(self, root: Element) -> None:
        self.classes = {"main": Class()}
        for top in root.all("default"):
            if top.get("class", "main") != "main":
                raise ModelError(
                    f"{top.where}: the outermost default class is {quoted(top.get('class'))}: "
                    "expected 'main' or no name; nest the class in <default>"
                )
            self._read(top, self.classes["main"])

    def _read(self, element: Element, starts: Class) -> None:
        for child in element.children:
            if child.tag != "default":
                kind = "actuator" if child.tag in ACTUATORS else child.tag
                starts[kind] = _overlaid(starts.get(kind, {}), child.attributes)
                _check_start(child, starts[kind])
        for nested in element.all("default"):
            name = nested.word("class")
            if name in self.classes:
                raise ModelError(
                    f"{nested.where}: two default classes are called {quoted(name)}: names must "
                    "differ"
                )
            self.classes[name] = starts.new_child()
            self._read(nested, self.classes[name])

    def known(self, element: Element, key: str, otherwise: str) -> str:
        """The class that an attribute names, which must exist."""
        name = element.get(key, otherwise)
        if name not in self.classes:
            raise ModelError(
                f'{called(element)} has {key}="{shown(name)}", which is no default class: expected '
                f"one of {listed(list(self.classes))}"
            )
        return name

    def fill(self, element: Element, kind: str, otherwise: str = "main") -> Element:
        """The element with all its attributes, those of its class included."""
        start = self.classes[self.known(element, "class", otherwise)].get(kind, {})
        return replace(element, attributes=_overlaid(start, element.attributes))


def _check_start(element: Element, start: Mapping[str, str]) -> None:
    """Refuse default attributes that are too many or too long."""
    if len(start) > MAX_ATTRIBUTES:
        raise ModelError(
            f"{called(element)} has {len(start)} attributes, those of outer default classes "
            f"included: expected {MAX_ATTRIBUTES} at most"
        )
    for key in OPEN_LISTS:
        if len(element.get(key)) > MAX_LIST:
            raise ModelError(f"{called(element)} has {element.said(key)}: expected a few numbers")


def _overlaid(under: Mapping[str, str], over: Mapping[str, str]) -> dict[str, str]:
    """The attributes `over`, completed by those `under` them."""
    if not ORIENTATIONS.keys().isdisjoint(over):
        under = {key: text for key, text in under.items() if key not in ORIENTATIONS}
    both = {**under, **over}
    for key in OPEN_LISTS:
        if key in under and key in over:
            own = words(over[key])
            both[key] = " ".join(own + words(under[key])[len(own) :])
    return both


# ---------------------------------------------------------------------------------- spellings


def span(element: Element, flagged: str, key: str, compiler: Compiler) -> tuple[float, float]:
    """The ends of a range, infinite if the element disables it."""
    low, high = element.numbers(key, 2, (0.0, 0.0))
    limited = choice(element, flagged, ("false", "true", "auto"), "auto")
    if limited == "auto" and not compiler.autolimits and (low or high):
        raise ModelError(
            f"{called(element)} has {element.said(key)} but no {flagged}: expected true or false, "
            'since <compiler> has autolimits="false"'
        )
    if limited == "true" and low >= high:
        raise ModelError(
            f'{called(element)} has {flagged}="true" and a {key} from {low:g} to {high:g}: '
            "expected the first below the second"
        )
    return (low, high) if limited != "false" and low < high else (-inf, inf)


def placed(element: Element, compiler: Compiler) -> Pose:
    """The pose of an element in the frame around it."""
    r = element.numbers("pos", 3, (0.0, 0.0, 0.0))
    if "fromto" not in element.attributes:
        return Pose(_orientation(element, compiler), r)
    ends = element.numbers("fromto", 6).reshape(2, 3)
    if np.any(r):
        raise ModelError(f"{called(element)} has pos and fromto: expected one of them")
    return Pose(_minimal_turn(direction(ends[0] - ends[1], element, "fromto")), ends.mean(axis=0))


def direction(vector: Vector, element: Element, key: str) -> Vector:
    """The unit vector along a vector that an attribute gives."""
    length = float(np.linalg.norm(vector))
    if length < 1e-10:
        raise ModelError(
            f"{called(element)} has {element.said(key)}, which is no direction: expected one that "
            "is not zero"
        )
    unit: Vector = vector / length
    return unit


def _minimal_turn(z: Vector) -> Matrix:
    """The smallest rotation that takes the z axis to a unit vector."""
    axis = np.array([-z[1], z[0], 0.0])
    s = np.linalg.norm(axis)
    return rotation(axis / s if s > 1e-10 else np.array([1.0, 0.0, 0.0]), atan2(s, z[2]))


def _orientation(element: Element, compiler: Compiler) -> Matrix:
    given = [key for key in ORIENTATIONS if key in element.attributes]
    if len(given) > 1:
        raise ModelError(f"{called(element)} has {' and '.join(given)}: expected one of them")
    if not given:
        return np.eye(3)
    key = given[0]
    x = element.numbers(key, ORIENTATIONS[key])
    match key:
        case "quat":
            return rotation_of_quaternion(*direction(x, element, key))
        case "axisangle":
            return rotation(direction(x[:3], element, key), compiler.unit * x[3])
        case "xyaxes":
            X = direction(x[:3], element, key)
            Y = direction(x[3:] - X * (X @ x[3:]), element, key)
            return round_rotation(np.column_stack((X, Y, np.cross(X, Y))))
        case "zaxis":
            return _minimal_turn(direction(x, element, key))
    R = np.eye(3)
    for letter, angle in zip(compiler.eulerseq, compiler.unit * x, strict=True):
        turned = turn("xyz".index(letter.lower()), angle)
        R = R @ turned if letter.islower() else turned @ R
    return R

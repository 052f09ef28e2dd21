"""Elements of an MJCF model outside of its bodies, which name elements of bodies."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from armlet.description.checks import MAX_NAME
from armlet.errors import ModelError, shown
from armlet.formats.mjcf.files import below
from armlet.formats.mjcf.scope import Attached, Scope
from armlet.formats.mjcf.settings import section
from armlet.formats.xml import Element

SECTIONS = ("deformable", "tendon", "equality", "actuator")
REFERENCES = {
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), "joint"),
    **dict.fromkeys(("body", "body1", "body2"), "body"),
    **dict.fromkeys(("site", "site1", "site2", "refsite", "cranksite", "slidersite"), "site"),
    **dict.fromkeys(("geom", "geom1", "geom2"), "geom"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
    "sidesite": "site",
}
"""The attributes that name another element, and its kind."""
NAMED = {"body": "body", "joint": "joint", "freejoint": "joint", "site": "site", "geom": "geom"}
"""The elements of bodies that others name, and their kind."""
WORLD = "world"
Name = tuple[str, str]
"""An element by its kind and its name."""


class Entry(NamedTuple):
    """An element outside of bodies, its section, and the settings that hold for it."""

    section: str
    element: Element
    scope: Scope


class Outside:
    """The elements outside of bodies, found by the elements that they name."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.users: defaultdict[Name, list[int]] = defaultdict(list)
        self.numbers = count()

    def add(self, entry: Entry) -> None:
        key = next(self.numbers)  # of an entry that was dropped it is not used again
        self.entries[key] = entry
        for name in references(entry.element):
            self.users[name].append(key)

    def add_sections(self, root: Element, scope: Scope) -> None:
        """Add what a file has outside of its bodies."""
        for tag in SECTIONS:
            for element in section(root, tag).children:
                self.add(Entry(tag, element, scope))

    def naming(self, names: Iterable[Name]) -> dict[int, Entry]:
        """The entries that name some of these, in order."""
        keys = sorted({key for name in names for key in self.users.get(name, ())})
        return {key: self.entries[key] for key in keys if key in self.entries}

    def within(self, names: Iterable[Name]) -> list[Entry]:
        """The entries that name these elements and no others, and those of tendons among them."""
        known = {*names, ("body", WORLD)}
        found: dict[int, Entry] = {}
        waiting = set(known)
        while waiting:
            new = {
                key: entry
                for key, entry in self.naming(waiting).items()
                if key not in found and known.issuperset(references(entry.element))
            }
            found |= new
            tendons = {("tendon", x.element.get("name")) for x in new.values()}
            waiting = {x for x in tendons if x in self.users} - known
            known |= waiting
        return list(found.values())

    def drop(self, names: Iterable[Name]) -> None:
        """Remove the entries that name some of these."""
        for key in self.naming(names):
            del self.entries[key]

    def drop_within(self, names: Iterable[Name]) -> None:
        """Remove the entries that name these elements and no others, and their actuators."""
        names = set(names)
        for key, entry in self.naming(names).items():
            named = set(references(entry.element)) - {("body", WORLD)}
            if named <= names or entry.section == "actuator":
                del self.entries[key]

    def sections(self) -> Iterator[tuple[Element, Scope]]:
        """The entries as sections of a root element, one root for the settings of each file."""
        roots: dict[int, tuple[dict[str, Element], Scope]] = {}
        for tag, element, scope in self.entries.values():
            parts, _ = roots.setdefault(id(scope), ({}, scope))
            part = parts.setdefault(tag, Element(tag, {}, element.file, element.line))
            part.children.append(element)
        for parts, scope in roots.values():
            first = next(iter(parts.values()))
            yield Element("mujoco", {}, first.file, first.line, list(parts.values())), scope


def references(element: Element) -> list[Name]:
    """The elements of bodies that an element names, or any of those inside it."""
    return [
        (REFERENCES[key], name)
        for part in below(element)
        for key, name in part.attributes.items()
        if key in REFERENCES
    ]


def names(elements: Iterable[Element]) -> list[Name]:
    """The names of the elements of bodies among these and inside them."""
    return [
        (NAMED[part.tag], part.get("name"))
        for element in elements
        for part in below(element)
        if part.tag in NAMED and part.get("name")
    ]


def renamed(
    element: Element, prefix: str, ending: str, keys: Mapping[str, str] = MappingProxyType({})
) -> Element:
    """A copy with other names inside; `keys` are the attributes that name other elements."""
    attributes = dict(element.attributes)
    for key, text in element.attributes.items():
        if text and (key == "name" or (key in keys and (keys[key], text) != ("body", WORLD))):
            attributes[key] = name = f"{prefix}{text}{ending}"
            if len(name) > MAX_NAME:
                raise ModelError(
                    f"{element.where}: <{element.tag}> gets the name {shown(name)} of {len(name)} "
                    f"characters: expected {MAX_NAME} at most"
                )
    children = [renamed(child, prefix, ending, keys) for child in element.children]
    known = (element.tag, attributes, element.file, element.line, children, element.text)
    return Attached(*known, element.scope) if isinstance(element, Attached) else Element(*known)


def renamed_entry(entry: Entry, prefix: str, ending: str) -> Entry:
    """A copy of an entry that names the copies of what it named."""
    return entry._replace(element=renamed(entry.element, prefix, ending, REFERENCES))

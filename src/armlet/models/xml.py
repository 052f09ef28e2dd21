"""A small XML reader that keeps line numbers and refuses what a robot file never needs.

No document type, so no entities and no external references; bounded in size and depth.
"""

from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from xml.parsers import expat

import numpy as np

from armlet.errors import ModelError
from armlet.models.file import contents
from armlet.scalar import Vector

MAX_DEPTH = 200


@dataclass
class Element:
    """A tag with its attributes, its children and the place it was found at."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    @property
    def where(self) -> str:
        return f"{self.file}, line {self.line}"

    def all(self, tag: str) -> list["Element"]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element | None":
        """The first child with a tag, or None."""
        return next(iter(self.all(tag)), None)

    def need(self, tag: str, subject: str) -> "Element":
        """The first child with a tag, which must be there."""
        child = self.first(tag)
        if child is None:
            raise ModelError(f"{self.where}: {subject} has no <{tag}>: expected one")
        return child

    def get(self, key: str, default: str = "") -> str:
        return self.attributes.get(key, default)

    def word(self, key: str, wanted: str = "a name") -> str:
        """An attribute that must be there."""
        if not self.attributes.get(key):
            raise ModelError(f'{self.where}: <{self.tag}> has no {key}="…": expected {wanted}')
        return self.attributes[key]

    def number(self, key: str, default: float | None = None) -> float:
        """An attribute that is one finite number."""
        return float(self.numbers(key, 1, None if default is None else (default,))[0])

    def numbers(self, key: str, n: int | None, default: tuple[float, ...] | None = None) -> Vector:
        """An attribute that is n finite numbers, or any number of them when n is None."""
        text = self.attributes.get(key)
        if text is None:
            if default is None:
                wanted = "a number" if n == 1 else "numbers"
                raise ModelError(f'{self.where}: <{self.tag}> has no {key}="…": expected {wanted}')
            return np.array(default, dtype=float)
        return numbers(text, n, f'{self.where}: <{self.tag} {key}="{text}">')


def numbers(text: str, n: int | None, subject: str) -> Vector:
    """The finite numbers in a text, n of them if n is given."""
    wanted = "a finite number" if n == 1 else "finite numbers separated by spaces"
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        raise ModelError(f"{subject}: expected {wanted}") from None
    if n is not None and len(values) != n:
        plural = "numbers" if n > 1 else "number"
        raise ModelError(f"{subject} has {len(values)} values: expected {n} {plural}")
    if not all(isfinite(value) for value in values):
        raise ModelError(f"{subject}: expected {wanted}")
    return np.array(values)


def read_xml(path: Path) -> Element:
    """The root element of a file."""
    data, file = contents(path), path.name
    parser = expat.ParserCreate()
    open_elements: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, file, parser.CurrentLineNumber)
        if len(open_elements) >= MAX_DEPTH:
            raise ModelError(
                f"{element.where}: <{tag}> is nested deeper than {MAX_DEPTH} elements: expected "
                "fewer (no robot file needs as many)"
            )
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def characters(text: str) -> None:
        open_elements[-1].text += text

    def refuse(*_: object) -> None:
        raise ModelError(
            f"{file}, line {parser.CurrentLineNumber}: a document type or entity declaration: "
            "expected plain elements (entities are refused for safety)"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = _reason(
            expat.ErrorString(error.code), data[parser.ErrorByteIndex :], open_elements
        )
        raise ModelError(f"{file}, line {error.lineno}: not valid XML: {reason}") from None
    except (LookupError, ValueError) as error:
        raise ModelError(f"{file}, line 1: {error}: save the file as UTF-8") from None
    return roots[0]


def _reason(reason: str, rest: bytes, open_elements: list[Element]) -> str:
    """What the parser found, in the user's words; the rest starts where it gave up."""
    if reason == expat.errors.XML_ERROR_NO_ELEMENTS:
        reason = "the file ends" if open_elements else "the file has no element"
    if reason == expat.errors.XML_ERROR_INVALID_TOKEN and rest[:1] > b"\x7f":
        reason = f"the byte {rest[0]:#x} is not UTF-8: save the file as UTF-8"
    elif open_elements:
        reason += f" inside <{open_elements[-1].tag}> of line {open_elements[-1].line}"
    return reason

"""Read XML with line numbers; limit size and depth, and refuse document type declarations."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from armlet.errors import ModelError, clip
from armlet.formats.files import read_bytes
from armlet.scalar import Vector

MAX_DEPTH = 200
MAX_ELEMENTS = 200_000
"""Maximum number of elements in a file, since each element takes memory."""
NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
"""Matches a decimal number as in C; `float` would also accept 1_0 and digits of other scripts."""
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
DECLARATION = re.compile(rb"<\?xml(?:[^>?]*+\?>)?")


@dataclass(slots=True)
class Element:
    """An XML element: tag, attributes, children and text, with file and line."""

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
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element | None":
        return next((child for child in self.children if child.tag == tag), None)

    def child(self, tag: str) -> "Element":
        """Return the first child called `tag`, or an empty element."""
        return self.first(tag) or Element(tag, {}, self.file, self.line)

    def need(self, tag: str, subject: str) -> "Element":
        """Return the first child called `tag`; raise if there is no such child."""
        child = self.first(tag)
        if child is None:
            raise self.error(f"{subject} has no <{tag}>: expected one")
        return child

    def error(self, message: str) -> ModelError:
        return ModelError(f"{self.where}: {message}")

    def get(self, key: str, default: str = "") -> str:
        return self.attributes.get(key, default)

    def attribute(self, key: str) -> str:
        """Return key="value" as written in the file, for messages."""
        return f'{key}="{clip(self.get(key))}"'

    def word(self, key: str, wanted: str = "a name") -> str:
        if not self.attributes.get(key):
            raise self.error(f'<{self.tag}> has no {key}="…": expected {wanted}')
        return self.attributes[key]

    def number(self, key: str, default: float | None = None) -> float:
        return float(self.numbers(key, 1, None if default is None else (default,))[0])

    def text_numbers(self, n: int) -> Vector:
        text = self.text.strip()
        return numbers(text, n, f"{self.where}: <{self.tag}>{clip(text)}</{self.tag}>")

    def text_of(self, tag: str, default: str = "") -> str:
        """Return the stripped text of the first child called `tag`, or `default` if it has none."""
        return self.child(tag).text.strip() or default

    def number_of(self, *tags: str, default: float = 0.0) -> float:
        """Return the number in the child with the first tag found: attribute `value`, or text."""
        for child in filter(None, map(self.first, tags)):
            if "value" in child.attributes:
                return child.number("value")
            return float(child.text_numbers(1)[0])
        return default

    def numbers(self, key: str, n: int | None, default: tuple[float, ...] | None = None) -> Vector:
        """Return the finite numbers in an attribute; `n` is the required count, or None for any."""
        text = self.attributes.get(key)
        if text is None:
            if default is None:
                wanted = "a number" if n == 1 else "numbers"
                raise self.error(f'<{self.tag}> has no {key}="…": expected {wanted}')
            return np.array(default, dtype=float)
        return numbers(text, n, f"{self.where}: <{self.tag} {self.attribute(key)}>")


def numbers(text: str, n: int | None, subject: str) -> Vector:
    """Return the finite numbers in a text; `n` is the required count, or None for any."""
    wanted = "a finite number" if n == 1 else "finite numbers separated by spaces"
    texts = re.findall("[^ \t\r\n]+", text)  # the white space of XML, unlike `str.split`
    are_numbers = all(map(NUMBER.fullmatch, texts))
    if are_numbers and n is not None and len(texts) != n:
        plural = "numbers" if n > 1 else "number"
        raise ModelError(f"{subject} has {len(texts)} values: expected {n} {plural}")
    values = np.array(texts if are_numbers else ["nan"], dtype=float)
    if not np.isfinite(values).all():
        raise ModelError(f"{subject}: expected {wanted}")
    return values


class _Builder:
    """Build the tree of elements from the events of an expat parser."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse
        self.texts: list[list[str]] = []  # appending to strings would be quadratic

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.file, self.parser.CurrentLineNumber)
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise element.error(
                f"<{clip(tag)}> is nested deeper than {MAX_DEPTH} elements: expected fewer (no "
                "robot file needs as many)"
            )
        if self.count > MAX_ELEMENTS:
            raise element.error(
                f"<{clip(tag)}> is one of more than {MAX_ELEMENTS} elements: expected the "
                "description of one robot"
            )
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def end(self, _: str) -> None:
        self.open.pop().text = "".join(self.texts.pop())

    def characters(self, text: str) -> None:
        self.texts[-1].append(text)

    def refuse(self, *_: object) -> None:
        raise ModelError(
            f"{self.file}, line {self.parser.CurrentLineNumber}: a document type or entity "
            "declaration: expected plain elements (entities are refused for safety)"
        )


def read_xml(path: Path) -> Element:
    return parse_xml(read_bytes(path), clip(path.name))


def parse_xml(data: bytes, file: str) -> Element:
    """Parse the bytes of a file, called `file` in messages, and return the root element.

    Other robot readers accept an XML declaration after the file's start, and "--" in comments. If
    parsing fails for such a reason, the declaration or all comments are replaced by spaces, and the
    bytes are parsed again.
    """
    overlooked = [expat.errors.XML_ERROR_INVALID_TOKEN, expat.errors.XML_ERROR_MISPLACED_XML_PI]
    while True:
        builder = _Builder(file)
        try:
            builder.parser.Parse(data, True)
        except expat.ExpatError as error:
            at, reason = builder.parser.ErrorByteIndex, expat.ErrorString(error.code)
            plain = data
            if reason in overlooked:
                overlooked.remove(reason)
                plain = _blank_overlooked(data, at, reason, builder.root)
            if plain == data:
                reason = _reason(reason, data[at:][:1], builder.open)
                raise ModelError(f"{file}, line {error.lineno}: not valid XML: {reason}") from None
            data = plain
        except (LookupError, ValueError) as error:
            message = f"{file}, line 1: {clip(str(error))}: save the file as UTF-8"
            raise ModelError(message) from None
        else:
            assert builder.root is not None  # the parser raises if there is no root
            return builder.root


def _blank_overlooked(data: bytes, at: int, reason: str, root: Element | None) -> bytes:
    """Overwrite with spaces a misplaced declaration or all comments, according to `reason`."""
    if reason == expat.errors.XML_ERROR_INVALID_TOKEN:
        return COMMENT.sub(lambda x: _blank(x) if x[0].endswith(b"-->") else x[0], data)
    if root is None and (start := data.find(b"<?xml", at)) >= 0:
        return data[:start] + DECLARATION.sub(_blank, data[start:], count=1)
    return data


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", match[0])


def _reason(reason: str, rest: bytes, open_elements: list[Element]) -> str:
    """Return the parser's error in plain words; `rest` is the byte at the error, if any."""
    if reason == expat.errors.XML_ERROR_NO_ELEMENTS:
        reason = "the file ends" if open_elements else "the file has no element"
    if reason == expat.errors.XML_ERROR_INVALID_TOKEN and rest[:1] > b"\x7f":
        reason = f"the byte {rest[0]:#x} is not UTF-8: save the file as UTF-8"
    elif open_elements:
        reason += f" inside <{clip(open_elements[-1].tag)}> of line {open_elements[-1].line}"
    return reason

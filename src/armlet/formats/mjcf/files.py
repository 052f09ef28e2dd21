"""The files of an MJCF model: those it includes in their places, and those it attaches."""

import os
from collections.abc import Iterator
from pathlib import Path

from armlet.errors import ModelError, quoted, shown
from armlet.formats.files import MAX_BYTES, Folders
from armlet.formats.mjcf.settings import called
from armlet.formats.xml import MAX_DEPTH, MAX_ELEMENTS, Element, parse_xml, read_xml

MAX_NESTED = 20
"""How deep files may name each other."""


class Reader:
    """Reads the files of one model; the number of elements of all of them is bounded."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.count = 0

    def main(self, path: Path) -> Element:
        """The root element of the file that was asked for, with those that it includes."""
        root = read_xml(path)
        self.add(size(root), root)
        return self._complete(root, path)

    def attached(self, path: Path, above: tuple[Path, ...], subject: str) -> Element:
        """The root element of a file that a model attaches, with those that it includes."""
        check_nesting(path, above, subject)
        return self._complete(self.root(path, subject), path)

    def _complete(self, root: Element, path: Path) -> Element:
        root.children = _Inclusion(self, path).spliced(root, (path,), 1)
        return root

    def root(self, path: Path, subject: str) -> Element:
        """The root element of a file."""
        data = self.folders.read(path, "text", MAX_BYTES, subject)
        root = parse_xml(data, shown(path.name), count=self.count)
        self.add(size(root), root)
        return root

    def add(self, elements: int, at: Element) -> None:
        """Count elements that were read or are about to be copied."""
        self.count += elements
        if self.count > MAX_ELEMENTS:
            raise ModelError(
                f"{called(at)} brings the model to more than {MAX_ELEMENTS} elements: expected the "
                "description of one robot"
            )


class _Inclusion:
    """The included files of one model, each of which counts once."""

    def __init__(self, reader: Reader, main: Path) -> None:
        self.reader = reader
        self.folder = main.parent
        self.done = {Path(os.path.realpath(main))}

    def spliced(self, element: Element, above: tuple[Path, ...], depth: int) -> list[Element]:
        """The children of an element, those of included files in place of <include>."""
        check_depth(element, depth)
        children: list[Element] = []
        for child in element.children:
            if child.tag == "include":
                children += self._included(child, above, depth)
            else:
                child.children = self.spliced(child, above, depth + 1)
                children.append(child)
        return children

    def _included(self, element: Element, above: tuple[Path, ...], depth: int) -> list[Element]:
        name = element.word("file", "the name of a file")
        if element.children:
            raise ModelError(f"{called(element)} has elements in it: expected none")
        starts = [self.folder, above[-1].parent]
        path = self.reader.folders.find(name, starts, called(element))
        if path is None:
            raise ModelError(
                f"{called(element)} names {quoted(name)}, which does not exist: expected a file, "
                "relative to the folder of the model"
            )
        check_nesting(path, above, called(element))
        if path in self.done:
            raise ModelError(
                f"{called(element)} names {quoted(name)}, which is included already: expected each "
                "file once"
            )
        self.done.add(path)
        root = self.reader.root(path, called(element))
        return self.spliced(root, (*above, path), depth)


def check_nesting(path: Path, above: tuple[Path, ...], subject: str) -> None:
    """Refuse a file that names itself through others, or that is named through too many."""
    if path in above:
        names = " -> ".join(shown(x.name) for x in (*above[above.index(path) :], path))
        raise ModelError(f"{subject} closes a cycle of files: {names}; expected none")
    if len(above) >= MAX_NESTED:
        raise ModelError(
            f"{subject} is in a file that {MAX_NESTED} others lead to: expected fewer files that "
            "name each other"
        )


def check_depth(element: Element, depth: int) -> None:
    """Refuse an element that lies too deep in others."""
    if depth > MAX_DEPTH:
        raise ModelError(
            f"{called(element)} is nested deeper than {MAX_DEPTH} elements: expected fewer"
        )


def check_height(element: Element, depth: int) -> None:
    """Refuse an element that would lie too deep where it is to be put, or hold such ones."""
    level = [element]
    while level:
        check_depth(level[0], depth)
        level = [child for x in level for child in x.children]
        depth += 1


def below(element: Element) -> Iterator[Element]:
    """An element and all that it holds, without recursion."""
    waiting = [element]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found.children


def size(element: Element) -> int:
    """The number of elements in an element, itself among them."""
    return sum(1 for _ in below(element))

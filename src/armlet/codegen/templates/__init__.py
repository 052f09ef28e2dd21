"""The templates of generated files, with words to fill in, each after an @."""

from collections.abc import Mapping
from importlib.resources import files
from string import Template


class _AtTemplate(Template):
    delimiter = "@"


def fill(text: str, words: Mapping[str, str]) -> str:
    """A text with its words filled in."""
    return _AtTemplate(text).substitute(words)


def fill_file(name: str, words: Mapping[str, str]) -> str:
    """The template of a name in this folder, with its words filled in."""
    return fill(read_file(name), words)


def read_file(name: str) -> str:
    """The text of a file in this folder."""
    return (files(__name__) / name).read_text(encoding="utf-8")

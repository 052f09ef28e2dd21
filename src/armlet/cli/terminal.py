"""The console of commands: text is printed literally, never as markup or control sequences."""

import codecs
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track
from rich.text import Text

from armlet.errors import visible

Item = TypeVar("Item")
UNBOUNDED = 100_000
"""The width of output that goes into a file or a pipe, where lines need not be broken."""
SPELLED = {
    "…": "...", "·": ".", "±": "+-", "°": "deg", "█": "#", "▶": ">", "→": "->", "×": "x",
    "−": "-", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"',
    "\u0307": "d", "\u0308": "dd",
}  # fmt: skip
"""What is written for a character that the output cannot encode; dots above are derivatives."""


class Terminal(Console):
    """A console for text from files: strings are plain, their control characters escaped.

    Styles are given by `style=` and by `styled`, never inside a string. Lines are broken at the
    width of the terminal or at `COLUMNS`, and not at all in a pipe; none is cut off.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(
            stderr=stderr, soft_wrap=stderr, markup=False, emoji=False, highlight=False
        )
        if not self.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
            self.width = UNBOUNDED

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does, but with lines that are too long left whole."""
        super().print(*objects, **{"crop": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """The text of a string; rich calls this for every string that it prints."""
        return super().render_str(encodable(visible(text)), **options)


def styled(*parts: str | tuple[str, str]) -> Text:
    """A text of parts, each plain or with its style."""
    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(encodable(visible(words)), style)
    return text


def progress(items: Iterable[Item], what: str) -> Iterable[Item]:
    """The items, with a bar on stderr while they are gone through, if that is a terminal."""
    console = Terminal(stderr=True)
    return track(items, what, transient=True, console=console, disable=not console.is_terminal)


# ------------------------------------------------------------------ characters


def encodable(text: str) -> str:
    """The text in characters that the standard output can encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "spelled").decode(encoding, "replace")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """A handler of encoding errors that writes characters as ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(map(_ascii, characters)), error.end


def _ascii(character: str) -> str:
    """A character in ASCII: as in the table, a Greek letter by its name, or else escaped."""
    if character in SPELLED:
        return SPELLED[character]
    name = unicodedata.name(character, "")
    if name.startswith("GREEK SMALL LETTER "):
        return name.split()[3].lower()
    if name.startswith("GREEK CAPITAL LETTER "):
        return name.split()[3].capitalize()
    base = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return base or character.encode("unicode_escape").decode("ascii")


codecs.register_error("spelled", _spelled)

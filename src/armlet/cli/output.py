"""Output of commands: literal text, tables that are never cut off, and progress bars."""

from __future__ import annotations

import codecs
import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import rich.table
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.progress import track
from rich.text import Text

from armlet.errors import visible

Item = TypeVar("Item")
UNBOUNDED = 100_000
"""Line width of output to a file or a pipe, where lines are not wrapped."""
NARROWEST = 24
"""Minimum width of a column of wrapped text, in characters."""
SPELLED = {
    "…": "...", "·": ".", "±": "+-", "°": "deg", "█": "#", "▶": ">", "→": "->", "×": "x",
    "−": "-", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"',
    "\u0307": "d", "\u0308": "dd",
}  # fmt: skip
"""Character that cannot be encoded -> ASCII; the combining dots of q̇ and q̈ become d and dd."""


class Terminal(Console):
    """A console that prints strings literally and escapes their control characters.

    Styles are set by `style=` and by `styled_text`, never inside a string. Lines on stdout are
    wrapped at `COLUMNS` characters if this environment variable is set. Otherwise, only lines in a
    terminal are wrapped, at the width of the terminal. No line is cut off.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(
            stderr=stderr, soft_wrap=stderr, markup=False, emoji=False, highlight=False
        )
        if not self.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
            self.width = UNBOUNDED

    def print(self, *objects: Any, **options: Any) -> None:
        """Print like rich's console, but never cut off a long line."""
        super().print(*objects, **{"crop": False, **options})

    def show(self, *blocks: Table | Text | str | None) -> None:
        """Print each block that is not None, with an empty line before it."""
        for block in blocks:
            if block is not None:
                self.print()
                self.print(block)

    def notes(self, lines: Iterable[str]) -> None:
        """Print each line in a dim style, as secondary information."""
        for line in lines:
            self.print(line, style="dim")

    def files(self, *paths: str | Path | None) -> None:
        """Print the names of written files; skip None."""
        for path in paths:
            if path is not None:
                self.print(f"written: {path}")

    def render_str(self, text: str, **options: Any) -> Text:
        """Return an escaped string as a rich `Text`; rich calls this for every string it prints."""
        return super().render_str(encodable(visible(text)), **options)


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    print(json.dumps(data, indent=2))


def styled_text(*words: str | tuple[str, str]) -> Text:
    """Join words into a rich `Text`; each word is a string or a pair (string, style)."""
    text = Text()
    for word in words:
        plain, style = (word, "") if isinstance(word, str) else word
        text.append(encodable(visible(plain)), style)
    return text


def progress(items: Iterable[Item], what: str) -> Iterable[Item]:
    """Yield the items, with a progress bar on stderr if stderr is a terminal."""
    console = Terminal(stderr=True)
    return track(items, what, transient=True, console=console, disable=not console.is_terminal)


# ------------------------------------------------------------------ tables


class Table(rich.table.Table):
    """A table with columns of words, numbers and wrapped text, printed as a list if too wide."""

    def __init__(
        self,
        words: Iterable[str] = (),
        numbers: Iterable[str | Text] = (),
        text: str = "",
        *,
        title: str = "",
        caption: str = "",
    ) -> None:
        super().__init__(
            title=title or None,
            title_justify="left",
            caption=caption or None,
            caption_justify="left",
            box=None,
            header_style="bold",
            pad_edge=False,
        )
        for name in words:
            self.add_column(name, no_wrap=True)
        self.numbers(*numbers)
        if text:
            self.add_column(text, overflow="fold")

    def numbers(self, *names: str | Text) -> None:
        """Add a right-aligned column of numbers for each name."""
        for name in names:
            self.add_column(name, justify="right", no_wrap=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._least_width(console, options) <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._list(console)

    def _least_width(self, console: Console, options: ConsoleOptions) -> int:
        """Return the minimum table width at which no word or number is broken."""
        width = sum(self.padding[1::2]) * (len(self.columns) - 1)
        for column in self.columns:
            cells = [column.header, *column.cells]
            whole = max(Measurement.get(console, options, cell).maximum for cell in cells)
            width += whole if column.no_wrap else min(whole, NARROWEST)
        return width

    def _list(self, console: Console) -> Iterator[Text]:
        """Yield the table as lines: each row as a heading, then a line per other nonempty cell."""
        if self.title:
            yield _line(styled_text((str(self.title), "italic")))
        headers = [_text(console, column.header) for column in self.columns]
        indent = max(len(header) for header in headers) + 2
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = [_text(console, cell) for cell in row]
            is_word = [x.no_wrap and x.justify == "left" for x in self.columns]
            names = [cell for cell, word in zip(cells, is_word, strict=True) if word and cell]
            first = names or [next(filter(None, cells), Text())]
            yield _line(Text("  ").join(first))
            for header, cell in zip(headers, cells, strict=True):
                if cell and not any(cell is x for x in first):
                    space = " " * (indent - len(header))
                    yield _line(Text.assemble("  ", (header.plain, "bold"), space, cell))
        if self.caption:
            yield styled_text((str(self.caption), "dim italic"))


def _text(console: Console, cell: object) -> Text:
    return cell if isinstance(cell, Text) else console.render_str(str(cell))


def _line(text: Text) -> Text:
    """Mark a text as a single line, which rich does not wrap."""
    text.no_wrap, text.overflow = True, "ignore"
    return text


# ------------------------------------------------------------------ characters


def encodable(text: str) -> str:
    """Return the text with ASCII for the characters that standard output cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "spell").decode(encoding, "replace")


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Handle an encoding error: return ASCII for the characters, and the position after them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(map(_ascii, characters)), error.end


def _ascii(character: str) -> str:
    """Return ASCII for a character: by `SPELLED`, its Greek name, its base letter or an escape."""
    if character in SPELLED:
        return SPELLED[character]
    name = unicodedata.name(character, "")
    if name.startswith("GREEK SMALL LETTER "):
        return name.split()[3].lower()
    if name.startswith("GREEK CAPITAL LETTER "):
        return name.split()[3].capitalize()
    base = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return base or character.encode("unicode_escape").decode("ascii")


codecs.register_error("spell", _spell)

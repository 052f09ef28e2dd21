"""Tables that are never cut off: where one is too wide for the terminal, its rows are listed."""

from collections.abc import Iterator

import rich.table
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from armlet.cli.terminal import styled

NARROWEST = 24
"""The least width of a column of text, whose lines are broken."""


class Table(rich.table.Table):
    """A table of words and numbers, which are printed whole, and of text that may be wrapped."""

    def __init__(self, title: str = "", caption: str = "") -> None:
        super().__init__(
            title=title or None, title_justify="left", caption=caption or None,
            caption_justify="left", box=None, header_style="bold", pad_edge=False,
        )  # fmt: skip

    def words(self, *names: str) -> None:
        """Add columns of names, to the left."""
        for name in names:
            self.add_column(name, no_wrap=True)

    def numbers(self, *names: str | Text) -> None:
        """Add columns of numbers, to the right."""
        for name in names:
            self.add_column(name, justify="right", no_wrap=True)

    def text(self, name: str) -> None:
        """Add a column of text, broken into lines where the table is too wide."""
        self.add_column(name, overflow="fold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._least_width(console, options) <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._listed(console)

    def _least_width(self, console: Console, options: ConsoleOptions) -> int:
        """The width at which no word or number is broken."""
        width = 0
        for column in self.columns:
            cells = [column.header, *column.cells]
            whole = max(Measurement.get(console, options, cell).maximum for cell in cells)
            width += whole if column.no_wrap else min(whole, NARROWEST)
        return width + sum(self.padding[1::2]) * (len(self.columns) - 1)

    def _listed(self, console: Console) -> Iterator[Text]:
        """The rows one after the other, a line for each cell that is not empty."""
        if self.title:
            yield _line(styled((str(self.title), "italic")))
        headers = [_text(console, column.header) for column in self.columns]
        indent = max(len(header) for header in headers) + 2
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = [_text(console, cell) for cell in row]
            named = [c for c, column in zip(cells, self.columns, strict=True)
                     if column.no_wrap and column.justify == "left" and c]  # fmt: skip
            first = named or [next((c for c in cells if c), Text())]
            yield _line(Text("  ").join(first))
            for header, cell in zip(headers, cells, strict=True):
                if cell and not any(cell is x for x in first):
                    space = " " * (indent - len(header))
                    yield _line(Text.assemble("  ", (header.plain, "bold"), space, cell))
        if self.caption:
            yield styled((str(self.caption), "dim italic"))


def _text(console: Console, cell: object) -> Text:
    return cell if isinstance(cell, Text) else console.render_str(str(cell))


def _line(text: Text) -> Text:
    """The text on one line, which the terminal may break but rich does not."""
    text.no_wrap, text.overflow = True, "ignore"
    return text

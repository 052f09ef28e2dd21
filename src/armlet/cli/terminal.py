"""What commands print on: text is shown as it is, never read as markup or sent as commands."""

from typing import Any

from rich.console import Console
from rich.text import Text

from armlet.errors import visible


class Terminal(Console):
    """A console for text of files: a string is plain, its control characters are visible.

    Styles are given by `style=` and by `styled`, never inside a string.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(
            stderr=stderr, soft_wrap=stderr, markup=False, emoji=False, highlight=False
        )

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string that is printed, in a table or out of one, comes through here."""
        return super().render_str(visible(text), **options)


def styled(*parts: str | tuple[str, str]) -> Text:
    """A text of parts, each plain or with its style."""
    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(visible(words), style)
    return text

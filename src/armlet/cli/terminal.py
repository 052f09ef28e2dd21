"""The console of commands: text is printed literally, never as markup or control sequences."""

from typing import Any

from rich.console import Console
from rich.text import Text

from armlet.errors import visible


class Terminal(Console):
    """A console for text from files: strings are plain, their control characters escaped.

    Styles are given by `style=` and by `styled`, never inside a string.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(
            stderr=stderr, soft_wrap=stderr, markup=False, emoji=False, highlight=False
        )

    def render_str(self, text: str, **options: Any) -> Text:
        """The text of a string; rich calls this for every string that it prints."""
        return super().render_str(visible(text), **options)


def styled(*parts: str | tuple[str, str]) -> Text:
    """A text of parts, each plain or with its style."""
    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(visible(words), style)
    return text

"""What can go wrong, by what the user has to fix, and how messages quote what was found."""

from collections.abc import Sequence
from typing import Any

MAX_SHOWN = 100
"""How many characters of a text a message shows."""
MAX_LISTED = 20
"""How many names a message lists."""


class ArmletError(Exception):
    """Any error that armlet raises on purpose."""


class ModelError(ArmletError):
    """A robot description that cannot be right."""


class DataError(ArmletError):
    """An array or a log that does not fit the robot."""


class CompileError(ArmletError):
    """A program that cannot be evaluated or printed for the target asked for."""


class ModelWarning(UserWarning):
    """A robot description that can be used but is physically doubtful."""


class DataWarning(UserWarning):
    """An array with entries that have no result."""


def visible(text: str) -> str:
    """The text on one line, control characters and other unprintable ones as escapes.

    Names of a file may hold what a terminal takes for commands, or what reverses the line.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def shown(text: str, most: int = MAX_SHOWN) -> str:
    """The text for a message: visible, and without its middle where it is long."""
    return visible(_short(text, most))


def quoted(value: Any) -> str:
    """The value for a message, as Python writes it, without its middle where it is long."""
    if isinstance(value, str):
        return repr(_short(value))
    try:
        return shown(" ".join(repr(value).split()))
    except (RecursionError, ValueError):  # lists in lists, integers of thousands of digits
        return f"a very large {type(value).__name__}"


def _short(text: str, most: int = MAX_SHOWN) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 3 // 4]}…{text[-(most // 4) :]}"


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """The names for a message: the first of them, and how many more there are."""
    first = separator.join(map(shown, names[:MAX_LISTED]))
    rest = len(names) - MAX_LISTED
    return f"{first} and {rest:,} more" if rest > 0 else first

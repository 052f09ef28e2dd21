"""Exceptions and warnings, and helpers that quote values in messages."""

from collections.abc import Sequence
from typing import Any

MAX_SHOWN = 100
"""Maximum number of characters that a message shows of a value."""
MAX_LISTED = 20
"""Maximum number of names that a message lists."""


class ArmletError(Exception):
    """The base class of armlet's own errors."""


class ModelError(ArmletError):
    """An invalid robot description."""


class DataError(ArmletError):
    """An argument, an array or a log that is not valid."""


class CompileError(ArmletError):
    """A program that cannot be evaluated, or printed for the requested target."""


class ModelWarning(UserWarning):
    """A robot description that can be used but is physically doubtful."""


class DataWarning(UserWarning):
    """An array, a log or a result that is doubtful, or undefined in some entries."""


def visible(text: str) -> str:
    """Return the text on one line, with unprintable characters escaped.

    Names in a file may contain terminal control sequences or characters that reverse the text.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def clip(text: str, most: int = MAX_SHOWN) -> str:
    """Escape a text for a message, without its middle if it is longer than `most` characters."""
    return visible(_short(text, most))


def quote(value: Any) -> str:
    """Return the repr of a value for a message, with the middle of a long repr left out."""
    if isinstance(value, str):
        return repr(_short(value))
    try:
        return clip(" ".join(repr(value).split()))
    except (RecursionError, ValueError):  # deeply nested lists, integers of thousands of digits
        return f"a very large {type(value).__name__}"


def _short(text: str, most: int = MAX_SHOWN) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 3 // 4]}…{text[-(most // 4) :]}"


def listing(names: Sequence[str], separator: str = ", ") -> str:
    """Join names for a message: the first `MAX_LISTED`, then the number of further names."""
    first = separator.join(map(clip, names[:MAX_LISTED]))
    rest = len(names) - MAX_LISTED
    return f"{first} and {rest:,} more" if rest > 0 else first

"""What users see of work that takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import Any

PATIENCE = 1.0
"""Seconds after which users want to see how far the work is."""


def status(what: str, quick: bool = False) -> AbstractContextManager[Any]:
    """A line on the terminal while something is done that is not quick."""
    if quick or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


@contextmanager
def advancing(what: str) -> Iterator[Callable[[float], None]]:
    """A function to tell which share is done; beyond a second the terminal shows it."""
    begun, line = monotonic(), None

    def to(share: float) -> None:
        nonlocal line
        if line is None:
            if monotonic() - begun < PATIENCE or not sys.stderr.isatty():
                return
            from rich.console import Console

            line = Console(stderr=True).status(what)
            line.start()
        line.update(f"{what}: {share:.0%}")

    try:
        yield to
    finally:
        if line is not None:
            line.stop()

"""Progress of long work on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import Any

PATIENCE = 1.0
"""Seconds after which users want to see how far the work is."""


def status(what: str, quick: bool = False) -> AbstractContextManager[Any]:
    """A context that shows a line on the terminal, unless the work is quick."""
    if quick or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


@contextmanager
def advancing(what: str) -> Iterator[Callable[[float], None]]:
    """A context whose function takes the share done; the terminal shows it after a second."""
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

"""Progress of long work on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from time import monotonic
from typing import Any

PATIENCE = 1.0
"""Seconds after which the progress is shown."""


def status(what: str, quick: bool = False) -> AbstractContextManager[Any]:
    """A context that shows the line `what` on the terminal, unless the work is `quick`."""
    if quick or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


@contextmanager
def advancing(what: str) -> Iterator[Callable[[float], None]]:
    """A context that yields a function: call it with the share done (0 to 1) to show progress."""
    begun, line = monotonic(), None
    with ExitStack() as stack:

        def to(share: float) -> None:
            nonlocal line
            if line is None and sys.stderr.isatty() and monotonic() - begun >= PATIENCE:
                line = stack.enter_context(status(what))
            if line is not None:
                line.update(f"{what}: {share:.0%}")

        yield to

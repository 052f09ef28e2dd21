"""Show the progress of long computations on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from time import monotonic
from typing import Any

PATIENCE = 1.0
"""Time (s) after which `advancing` shows the progress."""


def status(what: str, quick: bool = False) -> AbstractContextManager[Any]:
    """Return a context manager that shows the line `what` on the terminal, unless `quick`."""
    if quick or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


@contextmanager
def advancing(what: str) -> Iterator[Callable[[float], None]]:
    """Yield a function that takes the fraction of the work done (0 to 1) and shows it."""
    begun, line = monotonic(), None
    with ExitStack() as stack:

        def to(share: float) -> None:
            nonlocal line
            if line is None and sys.stderr.isatty() and monotonic() - begun >= PATIENCE:
                line = stack.enter_context(status(what))
            if line is not None:
                line.update(f"{what}: {share:.0%}")

        yield to

"""What users see of work that takes long."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def status(what: str, quick: bool = False) -> AbstractContextManager[Any]:
    """A line on the terminal while something is done that is not quick."""
    if quick or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)

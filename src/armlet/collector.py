"""Python's garbage collector, which has nothing to find while one program is made."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

PAUSED: list[bool] = []
"""Holds something while the collector is off for a pause."""


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect no garbage meanwhile: the collector would look at each new node several times.

    That is for work that ends with one program and leaves no cycles behind on the way.
    """
    pause = gc.isenabled()
    try:
        if pause:
            PAUSED.append(True)
            gc.disable()
        yield
    finally:
        if pause:
            _end()


def _end() -> None:
    """Let the collector work again if it was paused."""
    if PAUSED:
        gc.enable()
        PAUSED.clear()


if hasattr(os, "register_at_fork"):  # the thread that would end the pause is not in the child
    os.register_at_fork(after_in_child=_end)

"""Pause the garbage collector while a program is built."""

import gc
import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
PAUSES: list[None] = []
"""One entry per pause in progress."""


def without_collections(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that the garbage collector is off while the function runs.

    This saves time, since the collector would visit each new object several times. Use the
    decorator for functions that build one program and leave no reference cycles. If the collector
    is on before a call, it is on afterwards, even if another thread turns it off in between.
    """

    @wraps(function)
    def paused(*args: P.args, **options: P.kwargs) -> T:
        pause = gc.isenabled()
        try:
            if pause:
                PAUSES.append(None)
                gc.disable()
            return function(*args, **options)
        finally:
            if pause:
                gc.enable()
                del PAUSES[-1:]

    return paused


def _end_pauses() -> None:
    """Enable the collector in a forked process: threads that paused it run in the parent only."""
    if PAUSES:
        gc.enable()
        PAUSES.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_pauses)

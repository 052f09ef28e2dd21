"""Ctrl-C at random moments: heard within a second, without a crash, and the cache stays whole."""

from importlib.util import find_spec

DRIVER = "interrupts"
"""The module of the tests that starts a process, interrupts it and checks what is left."""


def missing() -> str:
    return "" if find_spec(DRIVER) else f"there is no tests/{DRIVER}.py"


def trial(rng, folder):
    from interrupts import interrupted

    interrupted(rng, folder)

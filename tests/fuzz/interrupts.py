"""Ctrl-C at random moments: armlet stops within a second, and the cache stays undamaged."""

from importlib.util import find_spec

DRIVER = "interrupts"
"""The test module that starts processes, interrupts them and reports how they ended."""


def missing() -> str:
    return "" if find_spec(DRIVER) else f"there is no tests/{DRIVER}.py"


def trial(rng, folder):
    import interrupts

    mode = str(rng.choice(interrupts.MODES))
    if mode == "long" and rng.integers(interrupts.RARE):
        mode = interrupts.MODES[0]
    outcome = interrupts.interrupted_run(mode, seed=int(rng.integers(2**31)))
    assert outcome in interrupts.GOOD, f"{mode}: {outcome}"

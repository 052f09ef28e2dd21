"""Ctrl-C at random moments: heard within a second, without a crash, and the cache stays whole."""

from importlib.util import find_spec

DRIVER = "interrupts"
"""The module of the tests that starts processes, interrupts them and says what became of them."""


def missing() -> str:
    return "" if find_spec(DRIVER) else f"there is no tests/{DRIVER}.py"


def trial(rng, folder):
    import interrupts

    mode = str(rng.choice(interrupts.MODES))
    if mode == "long" and rng.integers(interrupts.RARE):
        mode = interrupts.MODES[0]
    outcome = interrupts.interrupted_run(mode, seed=int(rng.integers(2**31)))
    assert outcome in interrupts.GOOD, f"{mode}: {outcome}"

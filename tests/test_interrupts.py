"""Ctrl-C at any moment: it is heard within a second, and no harm is done.

A short slice of what `python tests/interrupts.py --trials 10000` tries.
"""

from collections import Counter

import pytest
from interrupts import FREQUENT, GOOD, figures, interrupted_run

TRIALS = 12


@pytest.mark.parametrize("mode", FREQUENT)
def test_an_interrupt_at_a_random_moment_is_heard(mode):
    found = Counter(interrupted_run(mode, seed=seed) for seed in range(TRIALS))
    print(figures({mode: found}))
    assert found.total() == found["heard"] + found["finished"]


@pytest.mark.parametrize("mode", ["long", "pieces", "slow", "slow_threads"])
def test_what_takes_long_is_interrupted_within_a_second(mode):
    assert interrupted_run(mode, delay=0.05) == GOOD[0]

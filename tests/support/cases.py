"""Cases of a parametrised test, some of which run with `pytest -m long` only."""

import pytest


def cases(usual, long):
    """Values for `pytest.mark.parametrize`: those in `usual`, and those in `long`, marked as long.

    A tuple holds the values of several parameters of the test.
    """
    arguments = (value if isinstance(value, tuple) else (value,) for value in long)
    return [*usual, *(pytest.param(*values, marks=pytest.mark.long) for values in arguments)]

"""Cases of a parametrised test, some of which run with `pytest -m long` only."""

import pytest


def cases(usual, long):
    """Values for `pytest.mark.parametrize`: those of `usual`, then those of `long` with the marker.

    A tuple is a row of values for several arguments.
    """
    arguments = (value if isinstance(value, tuple) else (value,) for value in long)
    return [*usual, *(pytest.param(*values, marks=pytest.mark.long) for values in arguments)]

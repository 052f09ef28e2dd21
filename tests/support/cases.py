"""Cases of a parametrised test, some of which run with `pytest -m long` only."""

import pytest


def cases(usual, long):
    """Values for `pytest.mark.parametrize`: the usual ones, then those with the marker `long`.

    A tuple has the values of several arguments.
    """
    arguments = (value if isinstance(value, tuple) else (value,) for value in long)
    return [*usual, *(pytest.param(*values, marks=pytest.mark.long) for values in arguments)]

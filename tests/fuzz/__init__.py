"""Random trials of everything that a user may do with armlet, for a time of one's choice.

`make fuzz` runs all classes of `fuzz.classes`; `make test` runs a few trials of each class. A trial
is a function of a random generator and an empty folder that raises if something is wrong. The
class and the seed of a trial reproduce it.
"""


def pick(rng, values):
    """Return one of the values at random."""
    return values[rng.integers(len(values))]

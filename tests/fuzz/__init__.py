"""Random trials of everything that a user may do to armlet, for as long as one likes.

`make fuzz` runs all classes of `fuzz.classes`; a short slice of each runs in `make test`. A trial
is a function of a random generator and an empty folder that raises where something is wrong, so
that a class and a seed reproduce it.
"""


def pick(rng, values):
    """One of the values at random."""
    return values[rng.integers(len(values))]

"""Random trials of everything that a user may do with armlet, for a given time.

`make fuzz` runs all classes of `fuzz.classes`; `make test` runs a few trials of each class. A trial
is a function of a random generator and an empty folder; it raises an error if something is wrong.
A trial is reproduced by its class and its seed.
"""


def pick(rng, values):
    """Return one of the values at random."""
    return values[rng.integers(len(values))]

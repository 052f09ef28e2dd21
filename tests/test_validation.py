"""Checks of arguments: accepted values come back converted, messages say what was expected."""

from pathlib import Path

import numpy as np
import pytest

from armlet._support import validation
from armlet.errors import CompileError, DataError


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array(2), True + 1])
def test_numbers_of_any_type_become_floats(value):
    found = validation.number(value, "dt", low=0)
    assert type(found) is float
    assert found == 2


def test_arrays_of_one_of_the_shapes_become_floats():
    assert validation.array(1, "kp", (), (3,)).shape == ()
    assert validation.array([1, 2, 3], "kp", (), (3,)).dtype == float
    assert validation.array(np.zeros((5, 3)), "q", ("N", 3)).shape == (5, 3)


def test_one_of_the_choices_is_returned():
    assert validation.one_of("a", "name", ["a", "b"]) == "a"
    assert validation.suffix(Path("run.csv"), "run.csv", [".csv"]) == ".csv"


REFUSED = {
    "dt is -1: expected a time in s, more than 0": lambda: validation.number(
        -1, "dt", "a time in s", above=0
    ),
    "dt is nan: expected a number": lambda: validation.number(np.nan, "dt"),
    "dt is '1': expected a number": lambda: validation.number("1", "dt"),
    "dt is [1, 2]: expected a number": lambda: validation.number([1, 2], "dt"),
    "share is 1: expected a number, 0 or more, less than 1": lambda: validation.number(
        1, "share", low=0, below=1
    ),
    "port is 99999: expected a whole number from 0 to 65535": lambda: validation.integer(
        99999, "port", low=0, high=65535
    ),
    "steps is 1.5: expected a whole number, 1 or more": lambda: validation.integer(
        1.5, "steps", low=1
    ),
    "kp has shape (2,): expected one number or 3 numbers": lambda: validation.array(
        [1, 2], "kp", (), (3,)
    ),
    "q has shape (3,): expected shape (N, 3)": lambda: validation.array([1, 2, 3], "q", ("N", 3)),
    "q is 'x': expected real numbers": lambda: validation.array("x", "q"),
    "q is [inf]: expected finite numbers": lambda: validation.array([np.inf], "q"),
    "q is [-1]: expected finite numbers, 0 or more": lambda: validation.array([-1], "q", low=0),
    "name is 'c': expected one of a, b": lambda: validation.one_of("c", "name", ["a", "b"]),
    "name is ['a']: expected one of a, b": lambda: validation.one_of(["a"], "name", ["a", "b"]),
    "f is 3: expected a text": lambda: validation.instance(3, "f", str, "a text"),
    "run.txt ends in '.txt': expected .csv, .npz": lambda: validation.suffix(
        Path("run.txt"), "run.txt", [".csv", ".npz"]
    ),
    "g has the entry nan: expected 2 numbers, finite and below 1e+50 in size": (
        lambda: validation.scalars([np.nan, 0], "g", "2 numbers", (2,))
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused_is_quoted_beside_what_was_expected(message):
    with pytest.raises(DataError) as error:
        REFUSED[message]()
    assert str(error.value) == message


def test_the_class_of_the_error_may_be_another():
    with pytest.raises(CompileError, match="target is 'x': expected one of c, cpp"):
        validation.one_of("x", "target", ("c", "cpp"), CompileError)

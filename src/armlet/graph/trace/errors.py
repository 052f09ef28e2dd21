"""Errors for functions that cannot be traced because they need the value of a traced scalar."""

import sys
from pathlib import Path
from traceback import extract_tb

import numpy as np

from armlet.errors import CompileError

HIDDEN = str(Path(__file__).parents[2]), str(Path(np.__file__).parent)
"""The folders of armlet and NumPy. Error messages show the innermost line outside these folders."""


class BranchError(CompileError, TypeError):
    """A traced scalar was used where Python needs its value."""


def branch_error(use: str) -> BranchError:
    """Return the error for a line of user code that needs the value of a traced scalar."""
    return BranchError(
        f"{place()}: a traced value {use}, but it has no number yet: a program does the same "
        "operations in every state; choose with armlet.math.where, minimum or maximum, use NumPy "
        "functions or those of armlet.math instead of math's, and join traced numbers to an array "
        "with numpy.stack instead of numpy.array"
    )


def unsupported_function(name: str, error: Exception) -> BranchError:
    """Return the error for a NumPy function that cannot be recorded."""
    cure = CURES.get(name, "compose it of the functions that docs/functions.md lists")
    return BranchError(
        f"{place()}: numpy.{name} is not done with traced values ({type(error).__name__} in "
        f"NumPy): {cure}"
    )


def untraceable_function(error: Exception) -> BranchError:
    """Return the error for a user function that fails when called with traced arrays."""
    calls = [call for call in extract_tb(error.__traceback__) if not _is_hidden(call.filename)]
    line = f"{calls[-1].filename}, line {calls[-1].lineno}, in {calls[-1].name}: " if calls else ""
    return BranchError(
        f"{line}{error}; a function is traced with arrays of traced values: docs/functions.md "
        "lists what they can do, and a mask is used with numpy.where"
    )


ORDER = "the order depends on the state: use numpy.minimum, maximum, min, max or where"
PLACE = "which entry it is depends on the state: compare with numpy.where and the entries' max"
NUMBER = "the number of entries depends on the state: use numpy.where(condition, x, y)"
TABLE = "choose between segments with numpy.where or numpy.select, or use numpy.polyval"
INTEGER = "it is for whole numbers or bits: use %, // and numpy.floor"
CURES = {
    name: cure
    for cure, names in {
        ORDER: "sort argsort partition argpartition median percentile quantile lexsort "
        "searchsorted digitize histogram",
        PLACE: "argmax argmin nanargmax nanargmin",
        NUMBER: "nonzero flatnonzero argwhere unique extract where compress trim_zeros place "
        "putmask",
        TABLE: "interp piecewise",
        INTEGER: "gcd lcm left_shift right_shift ldexp frexp nextafter spacing bitwise_count",
    }.items()
    for name in names.split()
}
"""NumPy function name -> advice, for functions that cannot be traced."""


def place() -> str:
    """Return file, line and function of the innermost call outside armlet and NumPy, as text."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}, in {frame.f_code.co_name}"


def _is_hidden(file: str) -> bool:
    return file.startswith((*HIDDEN, "<__array_function__"))

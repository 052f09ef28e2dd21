"""The error of a function that asks a traced scalar for its value, which it does not have yet."""

import sys
from pathlib import Path
from traceback import extract_tb

import numpy as np

from armlet.errors import CompileError

HIDDEN = str(Path(__file__).parents[2]), str(Path(np.__file__).parent)
"""The folders of armlet and of NumPy: what is to be changed is in the caller's own file."""


class BranchError(CompileError, TypeError):
    """A traced scalar was used where Python needs to know its value."""


def branched(use: str) -> BranchError:
    """The error for a use of a traced scalar, with the line of the user's code that it is on."""
    return BranchError(
        f"{place()}: a traced value {use}, but it has no number yet: a program does the same "
        "operations in every state; choose with armlet.math.where, minimum or maximum, use NumPy "
        "functions or those of armlet.math instead of math's, and join traced numbers to an array "
        "with numpy.stack instead of numpy.array"
    )


def unsupported(name: str, error: Exception) -> BranchError:
    """The error for a function of NumPy that cannot be recorded."""
    cure = CURES.get(name, "compose it of the functions that docs/functions.md lists")
    return BranchError(
        f"{place()}: numpy.{name} is not done with traced values ({type(error).__name__} in "
        f"NumPy): {cure}"
    )


def untraceable(error: Exception) -> BranchError:
    """The error for a function that fails when it is called with traced arrays."""
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
    **dict.fromkeys(
        ("sort", "argsort", "partition", "argpartition", "median", "percentile"), ORDER
    ),
    **dict.fromkeys(("quantile", "lexsort", "searchsorted", "digitize", "histogram"), ORDER),
    **dict.fromkeys(("argmax", "argmin", "nanargmax", "nanargmin"), PLACE),
    **dict.fromkeys(("nonzero", "flatnonzero", "argwhere", "unique", "extract", "where"), NUMBER),
    **dict.fromkeys(("compress", "trim_zeros", "place", "putmask"), NUMBER),
    **dict.fromkeys(("interp", "piecewise"), TABLE),
    **dict.fromkeys(("gcd", "lcm", "left_shift", "right_shift", "ldexp", "frexp"), INTEGER),
    **dict.fromkeys(("nextafter", "spacing", "bitwise_count"), INTEGER),
}
"""What to use instead of functions of NumPy."""


def place() -> str:
    """The file and line of the innermost code that is neither armlet's nor NumPy's."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}, in {frame.f_code.co_name}"


def _is_hidden(file: str) -> bool:
    return file.startswith((*HIDDEN, "<__array_function__"))

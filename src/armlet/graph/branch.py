"""The error of a function that asks a traced scalar for its value, which it does not have yet."""

import sys
from pathlib import Path

import numpy as np

from armlet.errors import CompileError

HIDDEN = str(Path(__file__).parents[1]), str(Path(np.__file__).parent)
"""The folders of armlet and of NumPy: what is to be changed is in the caller's own file."""


class BranchError(CompileError, TypeError):
    """A traced scalar was used where Python needs to know its value."""


def branched(use: str) -> BranchError:
    """The error for a use of a traced scalar, with the line of the user's code that it is on."""
    return BranchError(
        f"{_place()}: a traced value {use}, but it has no number yet: a program does the same "
        "operations in every state; choose with armlet.math.where, minimum or maximum, and use "
        "NumPy functions or those of armlet.math instead of math's"
    )


def _place() -> str:
    """The file and line of the innermost code that is neither armlet's nor NumPy's."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}, in {frame.f_code.co_name}"


def _is_hidden(file: str) -> bool:
    return file.startswith((*HIDDEN, "<__array_function__"))

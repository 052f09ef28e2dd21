"""Check arguments: each function returns the value, converted if necessary, or raises an error.

All messages have one form: `NAME is VALUE: expected WHAT`. Numbers may have the bounds `low` and
`high` (inclusive), and `above` and `below` (exclusive).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from armlet.errors import ArmletError, DataError, listing, quote

MAX_SIZE = 1e50
"""Upper limit for magnitudes of robot constants: products of larger numbers may overflow."""
NUMERIC = "biufO"
"""NumPy dtype kinds that are converted to floats: booleans, real numbers, and objects."""
BOUNDS: dict[str, tuple[Callable[[Any, float], Any], str]] = {
    "low": (operator.ge, "{:g} or more"),
    "above": (operator.gt, "more than {:g}"),
    "high": (operator.le, "{:g} or less"),
    "below": (operator.lt, "less than {:g}"),
}
"""Name of a bound -> (comparison of a value with the bound, text for error messages)."""
Checked = TypeVar("Checked")


def number(value: Any, name: str, expected: str = "a number", **bounds: float) -> float:
    """Return the value as a finite float within `bounds`; the error says what was `expected`."""
    result = _numbers(value)
    x = np.nan if result is None or result.shape else float(result)
    if not math.isfinite(x) or not _within(x, bounds):
        raise DataError(f"{name} is {quote(value)}: expected {expected}{_words(bounds)}")
    return x


def integer(value: Any, name: str, expected: str = "a whole number", **bounds: int) -> int:
    """Return the value as an int within `bounds`."""
    if not isinstance(value, int | np.integer) or not _within(value, bounds):
        raise DataError(f"{name} is {quote(value)}: expected {expected}{_words(bounds)}")
    return int(value)


def array(
    value: Any,
    name: str,
    *shapes: tuple[int | str, ...],
    expected: str = "",
    finite: bool = True,
    **bounds: float,
) -> NDArray[np.float64]:
    """Return the value as an array of real numbers that has one of `shapes`.

    Without `shapes`, every shape is allowed. A string in a shape, as in `("N", 3)`, stands for any
    length of that axis. The error for a wrong shape shows `expected` or, if it is empty, `shapes`.
    """
    result = _numbers(value)
    if result is None or (shapes and not any(_fits(result.shape, shape) for shape in shapes)):
        shape = () if result is None else result.shape
        actual = f"has shape {shape}" if shape else f"is {quote(value)}"
        expected = expected or " or ".join(map(_shape, shapes)) or "real numbers"
        raise DataError(f"{name} {actual}: expected {expected}")
    if (finite and not np.isfinite(result).all()) or not _within(result, bounds):
        kind = "finite numbers" if finite else "numbers"
        raise DataError(f"{name} is {quote(value)}: expected {kind}{_words(bounds)}")
    return result


def scalars(values: Any, name: str, expected: str, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """Return constants of a robot (numbers, symbols, traced values) as an object array.

    The array must have one of `shapes`. Numbers must be finite, with magnitudes below `MAX_SIZE`.
    """
    try:
        result = np.array(values, dtype=object)
    except ValueError:  # ragged nested sequences
        raise DataError(f"{name} is {quote(values)}: expected {expected}") from None
    if result.shape not in shapes:
        raise DataError(f"{name} has shape {result.shape}: expected {expected}")
    for x in result.flat:
        is_number = isinstance(x, int | float | np.number)
        if not (abs(x) < MAX_SIZE if is_number else type(x) is not str and np.ndim(x) == 0):
            raise DataError(
                f"{name} has the entry {quote(x)}: expected {expected}, finite and below "
                f"{MAX_SIZE:g} in size"
            )
    return result


def one_of(
    value: Any, name: str, choices: Iterable[Checked], error: type[ArmletError] = DataError
) -> Checked:
    """Return the choice that equals the value and has the same type; raise if there is none."""
    options = [*choices]
    for option in options:
        if type(option) is type(value) and option == value:
            return option
    raise error(f"{name} is {quote(value)}: expected one of {listing([*map(str, options)])}")


def instance(value: Any, name: str, kind: type[Checked], expected: str) -> Checked:
    """Return the value if it is an instance of `kind`, else raise."""
    if not isinstance(value, kind):
        raise DataError(f"{name} is {quote(value)}: expected {expected}")
    return value


def suffix(path: Path, name: str, choices: Iterable[str]) -> str:
    """Return the suffix of a file's name if it is one of `choices`, else raise."""
    options = [*choices]
    if path.suffix not in options:
        raise DataError(f"{name} ends in {quote(path.suffix)}: expected {', '.join(options)}")
    return path.suffix


def _numbers(value: Any) -> NDArray[np.float64] | None:
    """Return the value as an array of floats, or None if this is impossible."""
    try:
        result = np.asarray(value)
        return result.astype(float) if result.dtype.kind in NUMERIC else None
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError is PyTorch's
        return None


def _within(x: Any, bounds: dict[str, Any]) -> bool:
    for side, bound in bounds.items():
        is_within = BOUNDS[side][0](x, bound)
        if not (is_within if isinstance(is_within, bool) else np.all(is_within)):
            return False
    return True


def _words(bounds: dict[str, Any]) -> str:
    if bounds.keys() == {"low", "high"}:
        return f" from {bounds['low']:g} to {bounds['high']:g}"
    return "".join(f", {BOUNDS[side][1].format(bound)}" for side, bound in bounds.items())


def _fits(shape: tuple[int, ...], pattern: tuple[int | str, ...]) -> bool:
    return len(shape) == len(pattern) and all(
        isinstance(size, str) or n == size for n, size in zip(shape, pattern, strict=True)
    )


def _shape(pattern: tuple[int | str, ...]) -> str:
    if not pattern:
        return "one number"
    if len(pattern) == 1:
        return f"{pattern[0]} numbers"
    return f"shape ({', '.join(map(str, pattern))})"

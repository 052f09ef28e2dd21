"""Arrays and mappings of a robot's data: checked, read-only, compared by value."""

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError, quoted
from armlet.robot.components import MAX_SIZE


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy of it, made read-only."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def checked(values: Any, subject: str, wanted: str, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """The values as an array of one of these shapes; numbers must be finite."""
    try:
        array = np.array(values, dtype=object)
    except ValueError:  # ragged nested sequences
        raise DataError(f"{subject} is {quoted(values)}: expected {wanted}") from None
    if array.shape not in shapes:
        raise DataError(f"{subject} has shape {array.shape}: expected {wanted}")
    for x in array.flat:
        is_number = isinstance(x, int | float | np.number)
        if not (abs(x) < MAX_SIZE if is_number else type(x) is not str and np.ndim(x) == 0):
            raise DataError(
                f"{subject} has the entry {quoted(x)}: expected {wanted}, finite and below "
                f"{MAX_SIZE:g} in size"
            )
    return array


def hashable(data: Any) -> Hashable:
    """A hashable equivalent of data with arrays and mappings: equal if the data are equal.

    A traced scalar is equal to itself alone: `==` would record a comparison.
    """
    match data:
        case np.ndarray():
            return hashable(data.tolist())
        case tuple() | list():
            return tuple(map(hashable, data))
        case Mapping():
            return frozenset((key, hashable(value)) for key, value in data.items())
        case _ if is_dataclass(data):
            return tuple(hashable(getattr(data, x.name)) for x in fields(data) if x.compare)
        case _ if hasattr(data, "record"):
            return "traced", id(data)
        case _:
            found: Hashable = data
            return found

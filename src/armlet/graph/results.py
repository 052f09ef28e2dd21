"""What a program returns: one array bare, several in a tuple, named ones in a named tuple."""

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from keyword import iskeyword
from typing import Any

from armlet.errors import CompileError, quoted

Names = tuple[str, ...]


def check_names(names: Sequence[str]) -> None:
    """Raise if results cannot be the fields of a named tuple."""
    for name in names:
        if not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            raise CompileError(
                f"a result is called {quoted(name)}: expected a name that Python takes for a field"
            )
    for name in names:
        if names.count(name) > 1:
            raise CompileError(f"{names.count(name)} results are called {name!r}: expected one")


@cache
def result_type(names: Names) -> type[tuple[Any, ...]]:
    """The class of named tuples with these fields; their pickles hold the names and the values."""

    def reduced(self: tuple[Any, ...]) -> tuple[Any, ...]:
        return named_result, (names, tuple(self))

    fields = namedtuple("Results", names)  # type: ignore[misc]
    return type("Results", (fields,), {"__slots__": (), "__reduce__": reduced})


def named_result(names: Names, results: Sequence[Any]) -> tuple[Any, ...]:
    """Results as a named tuple."""
    return result_type(names)(*results)


def collected(results: Sequence[Any], single: bool, names: Names | None) -> Any:
    """Results as they are returned: the single one bare, else a tuple, with names if it has any."""
    if single:
        return results[0]
    return tuple(results) if names is None else named_result(names, results)

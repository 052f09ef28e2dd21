"""Properties that are computed on first access."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801  as functools has it
    """A property that is computed on first access, like functools.cached_property.

    That one holds a lock in Python 3.11, the same for all objects: of threads that compile, one at
    a time would, and a process forked in the meantime would wait for it forever. Here several
    threads may compute a value at once; all get the one that is stored first.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    @overload
    def __get__(self, thing: None, _: type | None = None) -> "cached_property[T]": ...

    @overload
    def __get__(self, thing: object, _: type | None = None) -> T: ...

    def __get__(self, thing: object | None, _: type | None = None) -> "cached_property[T] | T":
        if thing is None:
            return self
        value: T = vars(thing).setdefault(self.name, self.function(thing))
        return value

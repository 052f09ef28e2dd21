"""Properties that are computed on first access."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801  named as in functools
    """A property that is computed on first access, like functools.cached_property.

    In Python 3.11, functools.cached_property has one lock for all objects: only one thread at a
    time could compile a program, and a process forked meanwhile would wait for the lock forever.
    Here several threads may compute the same value; all of them return the value stored first.
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

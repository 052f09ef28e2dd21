"""Properties that are computed once."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class made_once(Generic[T]):
    """A property that is computed on first access, like functools.cached_property.

    That one holds a lock in Python 3.11, the same for all objects: of threads that compile, one at
    a time would, and a process forked in the meantime would wait for it forever.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        self.func, self.name, self.__doc__ = func, func.__name__, func.__doc__

    def __get__(self, thing: Any, _: type | None = None) -> T:
        found: T = vars(thing).setdefault(self.name, self.func(thing))
        return found

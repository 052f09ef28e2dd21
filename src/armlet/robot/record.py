"""What makes a robot plain data: compared, hashed and copied by what it holds."""

from collections.abc import Callable, Hashable
from dataclasses import fields
from typing import Any, TypeVar, cast

from armlet._support.lazy import cached_property
from armlet.robot.arrays import hashable

Made = TypeVar("Made")


class Record:
    """A frozen dataclass with a memory of results, which is no part of its data."""

    memory: dict[Any, Any]

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The result of make(), computed on the first call with this key and cached."""
        if key not in self.memory:
            self.memory.setdefault(key, make())
        made: Made = self.memory[key]
        return made

    @cached_property
    def _data(self) -> Hashable:
        """All data of this robot, for `==` and `hash`."""
        return hashable([getattr(self, f.name) for f in fields(cast(Any, self)) if f.compare])

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, Record) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._data)

    def __getstate__(self) -> dict[str, Any]:
        """The data alone: cached results are dropped when a robot is copied or pickled."""
        state = {f.name: getattr(self, f.name) for f in fields(cast(Any, self))}
        mappings = {name: dict(state[name]) for name in ("frames", "meshes", "solids", "keyframes")}
        return state | mappings | {"memory": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        cast(Any, self).__post_init__()

"""Events: moments of a motion at which something passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api.functions import Function
from armlet.errors import DataError, quoted
from armlet.simulation.arguments import numbers

Array = NDArray[np.float64]
Called = Callable[[float, Array, Array], ArrayLike]


@dataclass(frozen=True)
class HeldArguments:
    """Arguments of events and of recorded functions: one value, or one held during each step."""

    arguments: Mapping[str, ArrayLike]
    dt: float
    steps: int

    def at(self, function: Function, state: Mapping[str, Array]) -> list[Array]:
        """The arguments of a function at the rows of a state, one of which is the time."""
        t = state["t"]
        found = []
        for name, x in function.inputs.items():
            if name in state:
                found.append(state[name])
                continue
            if name not in self.arguments:
                raise DataError(
                    f"{function!r} has an argument {name!r} that is not given: expected "
                    f"arguments={{{name!r}: ...}}"
                )
            value, by_step = numbers(name, self.arguments[name]), (self.steps, *x.shape)
            if value.shape not in (x.shape, by_step):
                raise DataError(
                    f"{name} has shape {value.shape}: expected one of {x.shape}, {by_step}"
                )
            if value.shape == x.shape:
                found.append(np.broadcast_to(value, (len(t), *x.shape)))
            else:
                found.append(value[np.minimum(step_at(t, self.dt), self.steps - 1)])
        return found


def step_at(t: Array, dt: float) -> NDArray[np.int64]:
    """The number of the step that begins at a time, or last began before it."""
    return (t / dt + 1e-6).astype(np.int64)


@dataclass(frozen=True)
class Event:
    """Something that happens where a function of the motion passes through zero.

    Parameters
    ----------
    function : armlet.function or callable
        A number, as an `armlet.function` of q, qd, t and further arguments, or as a Python function
        of t, q and qd.
    direction : {0, 1, -1}
        Whether it happens in both directions, or only where the number rises or falls.
    ends : bool
        Whether the simulation ends there.
    name : str
        What it is called; the name of the function by default.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> low = armlet.Event(lambda t, q, qd: q[0] + 0.5, name="low")
    >>> armlet.simulate(robot, [0, 0], duration=1.0, events=[low]).ended
    "'low' at 0.293247 s"
    """

    function: Function | Called
    direction: int = 0
    ends: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DataError(f"an event's function is {quoted(self.function)}: expected a function")
        if self.direction not in (0, 1, -1):
            raise DataError(
                f"the direction of event {self.called!r} is {quoted(self.direction)}: expected "
                "0, 1 or -1"
            )

    @property
    def called(self) -> str:
        """Its name."""
        return self.name or getattr(self.function, "__name__", "event")

    def values(self, t: Array, q: Array, qd: Array, held: HeldArguments) -> Array:
        """The numbers at rows of a motion."""
        function = self.function
        if isinstance(function, Function):
            values = np.asarray(function(*held.at(function, {"t": t, "q": q, "qd": qd})))
        else:  # which may write to its arrays
            rows = zip(t.tolist(), q.copy(), qd.copy(), strict=True)
            values = numbers(f"event {self.called!r}", [function(*row) for row in rows])
        if values.shape != t.shape:
            raise DataError(
                f"event {self.called!r} has shape {values.shape[1:]}: expected one number"
            )
        if np.isnan(values).any():
            raise DataError(
                f"event {self.called!r} is not a number at {t[np.isnan(values)][0]:g} s: expected "
                "one at every instant"
            )
        return values


class Happened(NamedTuple):
    """What happened, when, and where the arm was."""

    name: str
    t: float
    q: Array
    qd: Array


Motion = Callable[[float], tuple[Array, Array]]
"""Positions and velocities at a time between rows."""


def happened(
    events: Sequence[Event],
    rows: tuple[Array, Array, Array],
    between: Motion,
    held: HeldArguments,
) -> list[tuple[Event, Happened]]:
    """All that happens in a motion in the order of time, up to the first event that ends it."""
    found = [
        (event, Happened(event.called, t, *between(t)))
        for event in events
        for t in _moments(event, rows, between, held)
    ]
    found.sort(key=lambda x: x[1].t)
    last = next((k for k, (event, _) in enumerate(found) if event.ends), len(found))
    return found[: last + 1]


def _moments(
    event: Event,
    rows: tuple[Array, Array, Array],
    between: Motion,
    held: HeldArguments,
) -> Iterator[float]:
    """The times at which an event happens: it is seen from one row to the next."""
    from scipy.optimize import brentq  # which takes as long to load as all of armlet

    t, values = rows[0], event.values(*rows, held)
    rises, falls = (
        (sign * values[:-1] < 0) & (sign * values[1:] >= 0) & (event.direction in (0, sign))
        for sign in (1, -1)
    )

    def value(time: float) -> float:
        q, qd = between(time)
        return float(event.values(np.array([time]), q[None], qd[None], held)[0])

    for k in np.flatnonzero(rises | falls).tolist():
        yield t[k + 1] if values[k + 1] == 0 else brentq(value, t[k], t[k + 1], xtol=1e-12)

"""Find events: instants of a simulation at which a function of the state crosses zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet.api.functions import Function
from armlet.errors import DataError, quote
from armlet.graph import Traced
from armlet.graph.fold import is_condition
from armlet.simulation.step import argument_shapes, input_rate
from armlet.simulation.trajectory import Occurrence, Trajectory

Array = NDArray[np.float64]
StateFunction = Callable[[float, Array, Array], ArrayLike]


@dataclass(frozen=True)
class HeldArguments:
    """Further arguments of events and recorded functions: constant, or with one row per step."""

    arguments: Mapping[str, ArrayLike]
    dt: float
    steps: int

    def at(self, function: Function, state: Mapping[str, Array]) -> list[Array]:
        """Return all arguments of a function in order, each with a row per time in `state["t"]`."""
        values = dict(state)
        for name, shape in argument_shapes(function, state, self.arguments).items():
            value = validation.array(self.arguments[name], name, finite=False)
            input_rate(name, value.shape, shape, None, self.steps)
            values[name] = held_rows(value, shape, state["t"], self.dt)
        return [values[name] for name in function.inputs]


def held_rows(value: Array, shape: tuple[int, ...], t: Array, dt: float) -> Array:
    """Return one row per time: the constant `value`, or its row for the step at that time."""
    if value.shape == shape:
        return np.broadcast_to(value, (len(t), *shape))
    return value[np.minimum(step_at(t, dt), len(value) - 1)]


def step_at(t: Array, dt: float) -> NDArray[np.int64]:
    """Return the index of the step at each time; a step includes its start, but not its end."""
    return (t / dt + 1e-6).astype(np.int64)


@dataclass(frozen=True)
class Event:
    """An event of a simulation: a function of the state crosses zero.

    Parameters
    ----------
    function : armlet.function or callable
        An `armlet.function` of q, qd, t and further arguments, or a Python function of t, q and qd.
        The function returns a number, or a condition that counts as -1/2 (false) or 1/2 (true).
    direction : {0, 1, -1}
        1: only crossings from negative to positive; -1: only from positive to negative; 0: both.
    ends : bool
        Whether the event ends the simulation.
    name : str
        The name in results and messages; by default the name of the function.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> low = armlet.Event(lambda t, q, qd: q[0] + 0.5, name="low")
    >>> armlet.simulate(robot, [0, 0], duration=1.0, events=[low]).ended
    "'low' at 0.293247 s"
    """

    function: Function | StateFunction
    direction: int = 0
    ends: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DataError(f"an event's function is {quote(self.function)}: expected a function")
        name = self.name or getattr(self.function, "__name__", "event")
        object.__setattr__(self, "name", name)
        if self.direction not in (0, 1, -1):
            raise DataError(
                f"the direction of event {name!r} is {quote(self.direction)}: expected 0, 1 or -1"
            )

    def values(self, t: Array, q: Array, qd: Array, held: HeldArguments) -> Array:
        """Return the value of the function at each row of a trajectory."""
        function = self.function
        if isinstance(function, Function):
            result = function.program.outputs[0].flat[0]
            condition = isinstance(result, Traced) and is_condition(result)
            values = np.asarray(function(*held.at(function, {"t": t, "q": q, "qd": qd})))
        else:  # copies, as a Python function may write to its arguments
            rows = zip(t.tolist(), q.copy(), qd.copy(), strict=True)
            numbers = [function(*row) for row in rows]
            condition = all(isinstance(x, bool | np.bool_) for x in numbers)
            values = validation.array(numbers, f"event {self.name!r}", finite=False)
        if values.shape != t.shape:
            raise DataError(
                f"event {self.name!r} has shape {values.shape[1:]}: expected one number"
            )
        if np.isnan(values).any():
            raise DataError(
                f"event {self.name!r} is not a number at {t[np.isnan(values)][0]:g} s: expected "
                "one at every instant"
            )
        return values - 0.5 if condition else values


def find_events(
    events: Sequence[Event], trajectory: Trajectory, held: HeldArguments
) -> tuple[list[Occurrence], bool]:
    """Return occurrences in order of time, until an event ends the run, and whether one does."""
    crossings = []
    for event in events:
        for t in _crossings(event, trajectory, held):
            now = trajectory.at([t])
            crossings.append((Occurrence(event.name, t, now.q[0], now.qd[0]), event.ends))
    crossings.sort(key=lambda x: x[0].t)
    occurrences = []
    for occurrence, ends in crossings:
        occurrences.append(occurrence)
        if ends:
            return occurrences, True
    return occurrences, False


def _crossings(event: Event, trajectory: Trajectory, held: HeldArguments) -> Iterator[float]:
    from scipy.optimize import brentq  # slow to import

    t, values = trajectory.t, event.values(trajectory.t, trajectory.q, trajectory.qd, held)
    rises, falls = (
        (sign * values[:-1] < 0) & (sign * values[1:] >= 0) & (event.direction in (0, sign))
        for sign in (1, -1)
    )

    def value(time: float) -> float:
        now = trajectory.at([time])
        return float(event.values(now.t, now.q, now.qd, held)[0])

    for k in np.flatnonzero(rises | falls).tolist():
        yield t[k + 1] if values[k + 1] == 0 else brentq(value, t[k], t[k + 1], xtol=1e-12)

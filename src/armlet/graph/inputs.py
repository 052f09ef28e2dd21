"""The arguments of programs: their shapes, and how often they change."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from armlet.errors import DataError

Shape = tuple[int, ...]
RATES = ("state", "step", "run", "stage", "once")
"""How often an input changes: with every state, or not at all within a call.

What is given once may also be given for every state, with their leading axes. In a loop that is run
for many starts at the same time, an input may also change with every step, the same for all runs,
with every run, the same in all steps, or with the stages of a step, the same in all steps.
"""


class Input(NamedTuple):
    """An argument: its name, its shape in one state, and how often it changes."""

    name: str
    shape: Shape
    rate: str = "state"

    @property
    def size(self) -> int:
        """How many entries it has."""
        return prod(self.shape)


def named_inputs(inputs: Mapping[str, Shape] | Iterable[Input]) -> dict[str, Input]:
    """Inputs by name; those given by their shapes alone change with every state."""
    if isinstance(inputs, Mapping):
        inputs = (Input(name, tuple(shape)) for name, shape in inputs.items())
    return {given.name: given for given in inputs}


def added(inputs: Mapping[str, Input], word: str, others: Iterable[Input]) -> list[Input]:
    """Further inputs, called by a word and what they belong to, as no other input is called."""
    taken = set(inputs)
    found = []
    for x in others:
        name = f"{word}_{x.name}"
        while name in taken:
            name = f"{word}_{name}"
        taken.add(name)
        found.append(x._replace(name=name))
    return found


def leading_axes(inputs: Iterable[Input], shapes: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """The axes of a call before those of one state, and those that each array has of them."""
    inputs = list(inputs)
    own = [_leading(x, shape) for x, shape in zip(inputs, shapes, strict=True)]
    of_states = [k for k, x in enumerate(inputs) if x.rate == "state"]
    spread = [k for k, axes in enumerate(own) if axes]
    first = next(iter(of_states or spread), None)
    if first is None:
        return (), own
    axes = own[first]
    for x, found in zip(inputs, own, strict=True):
        if found != axes and (x.rate == "state" or found):
            or_none = "" if x.rate == "state" else ", or this one none, to serve all states"
            raise DataError(
                f"{x.name} has leading axes {found}, {inputs[first].name} has {axes}: all arrays "
                f"must have the same{or_none}"
            )
    return axes, own


def _leading(given: Input, shape: Shape) -> Shape:
    split = len(shape) - len(given.shape)
    if split < 0 or shape[split:] != given.shape:
        expected = ", ".join(map(str, ("...", *given.shape)))
        raise DataError(f"{given.name} has shape {shape}: expected ({expected})")
    return shape[:split]

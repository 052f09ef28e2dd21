"""The signature of a program: the shapes and rates of its arguments, and how results are returned.

One result is returned bare, several in a tuple, named ones in a named tuple.
"""

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from keyword import iskeyword
from math import prod
from typing import Any, NamedTuple

from armlet.errors import CompileError, DataError, quote

Shape = tuple[int, ...]
Names = tuple[str, ...]
"""The names of results, the fields of a named tuple."""


class Input(NamedTuple):
    """An argument: its name, its shape in one state, and the rate at which it changes.

    An input of rate "state" has a value for every state. A call passes an input of rate "once"
    with one value, or with one for every state. A loop that runs from many starts together has
    three more rates: "step" is a value per step, the same for all runs; "run" is a value per run,
    the same in all steps; "stage" is a value per stage of a step, the same in all steps.
    """

    name: str
    shape: Shape
    rate: str = "state"

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)


def named_inputs(inputs: Mapping[str, Shape] | Iterable[Input]) -> dict[str, Input]:
    """Inputs by name; if `inputs` maps names to shapes, all of them change with every state."""
    if isinstance(inputs, Mapping):
        inputs = (Input(name, tuple(shape)) for name, shape in inputs.items())
    return {x.name: x for x in inputs}


def prefixed_inputs(
    inputs: Mapping[str, Input], prefix: str, others: Iterable[Input]
) -> list[Input]:
    """The inputs `others`, renamed by a prefix so that all names differ, also from `inputs`."""
    taken = set(inputs)
    renamed = []
    for x in others:
        name = f"{prefix}_{x.name}"
        while name in taken:
            name = f"{prefix}_{name}"
        taken.add(name)
        renamed.append(x._replace(name=name))
    return renamed


def leading_axes(inputs: Iterable[Input], shapes: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """The leading axes of a call and of each array: the axes before those of one state."""
    inputs = list(inputs)
    own = [_leading(x, shape) for x, shape in zip(inputs, shapes, strict=True)]
    of_states = [k for k, x in enumerate(inputs) if x.rate == "state"]
    spread = [k for k, axes in enumerate(own) if axes]
    first = next(iter(of_states or spread), None)
    if first is None:
        return (), own
    axes = own[first]
    for x, leading in zip(inputs, own, strict=True):
        if leading != axes and (x.rate == "state" or leading):
            or_none = "" if x.rate == "state" else ", or this one none, to serve all states"
            raise DataError(
                f"{x.name} has leading axes {leading}, {inputs[first].name} has {axes}: all arrays "
                f"must have the same{or_none}"
            )
    return axes, own


def given_once(inputs: Iterable[Input], own: Iterable[Shape]) -> frozenset[str]:
    """The names of the inputs of rate "once" that a call passes without leading axes."""
    pairs = zip(inputs, own, strict=True)
    return frozenset(x.name for x, axes in pairs if x.rate == "once" and not axes)


def _leading(x: Input, shape: Shape) -> Shape:
    split = len(shape) - len(x.shape)
    if split < 0 or shape[split:] != x.shape:
        expected = ", ".join(map(str, ("...", *x.shape)))
        raise DataError(f"{x.name} has shape {shape}: expected ({expected})")
    return shape[:split]


# ------------------------------------------------------------------ results


def check_names(names: Sequence[str]) -> None:
    """Raise if the names of results cannot be the fields of a named tuple."""
    for name in names:
        if not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            raise CompileError(
                f"a result is called {quote(name)}: expected a name that Python takes for a field"
            )
        if names.count(name) > 1:
            raise CompileError(f"{names.count(name)} results are called {name!r}: expected one")


@cache
def result_type(names: Names) -> type[tuple[Any, ...]]:
    """The class of named tuples with these fields; their pickles hold the names and the values."""

    def reduce(self: tuple[Any, ...]) -> tuple[Any, ...]:
        return named_result, (names, tuple(self))

    make: Any = namedtuple  # the fields are not known to type checkers
    return type("Results", (make("Results", names),), {"__slots__": (), "__reduce__": reduce})


def named_result(names: Names, results: Sequence[Any]) -> tuple[Any, ...]:
    """Results as a named tuple."""
    return result_type(names)(*results)


def return_value(results: Sequence[Any], single: bool, names: Names | None) -> Any:
    """The value that a function returns: one result bare, else a tuple or a named tuple."""
    if single:
        return results[0]
    return tuple(results) if names is None else named_result(names, results)

"""Signatures of programs: names, shapes and rates of arguments, and names of results."""

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from keyword import iskeyword
from math import prod
from typing import Any, NamedTuple

from armlet.errors import CompileError, DataError, quote

Shape = tuple[int, ...]
Names = tuple[str, ...]
"""The names of results, which are the fields of a named tuple."""


class Input(NamedTuple):
    """An argument: its name, its shape for one state, and the rate at which its value changes.

    For rate "state", a call passes one value per state; for rate "once", one value for all states
    or one per state. In a `Loop`, each step of each run is a state, and rate "once" means a single
    value. A `Loop` has three more rates: "step" means one value per step, the same for all runs;
    "run" means one value per run, the same in all steps; "stage" means one value per stage of a
    step, the same in all steps and runs.
    """

    name: str
    shape: Shape
    rate: str = "state"

    @property
    def size(self) -> int:
        """The number of entries for one state."""
        return prod(self.shape)


def named_inputs(inputs: Mapping[str, Shape] | Iterable[Input]) -> dict[str, Input]:
    """Return name -> input; if `inputs` maps names to shapes, all inputs have rate "state"."""
    if isinstance(inputs, Mapping):
        inputs = (Input(name, tuple(shape)) for name, shape in inputs.items())
    return {x.name: x for x in inputs}


def prefixed_inputs(
    inputs: Mapping[str, Input], prefix: str, others: Iterable[Input]
) -> list[Input]:
    """Return `others` with prefixed names; the prefix is repeated until the name is unique."""
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
    """Return the batch shape (leading axes) of a call, and the batch shape of each array."""
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
    """Return the names of the inputs of rate "once" whose arrays have no leading axes."""
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
    """Raise CompileError if names of results cannot be the fields of a named tuple."""
    for name in names:
        if not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            raise CompileError(
                f"a result is called {quote(name)}: expected a name that Python takes for a field"
            )
        if names.count(name) > 1:
            raise CompileError(f"{names.count(name)} results are called {name!r}: expected one")


@cache
def result_type(names: Names) -> type[tuple[Any, ...]]:
    """Return the named tuple class with fields `names`; instances are pickled as their data."""

    def reduce(self: tuple[Any, ...]) -> tuple[Any, ...]:
        return named_result, (names, tuple(self))

    make: Any = namedtuple  # the fields are not known to type checkers
    return type("Results", (make("Results", names),), {"__slots__": (), "__reduce__": reduce})


def named_result(names: Names, results: Sequence[Any]) -> tuple[Any, ...]:
    return result_type(names)(*results)


def return_value(results: Sequence[Any], single: bool, names: Names | None) -> Any:
    """Return results as one array, a tuple or a named tuple, according to `single` and `names`."""
    if single:
        return results[0]
    return tuple(results) if names is None else named_result(names, results)

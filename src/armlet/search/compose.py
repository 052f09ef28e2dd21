"""Several quantities in one program: what they share is computed once.

Quantities are recorded as calls, alone or within a function of the user's own. The search then
chooses a formulation and an arrangement for each of them, so that the whole takes least.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

from armlet._support.lazy import cached_property
from armlet._support.progress import status
from armlet._support.validation import one_of
from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.errors import ArmletError, listed
from armlet.graph import Graph, Input, Program, compact, simplify
from armlet.graph.graph import object_array
from armlet.graph.program import program
from armlet.graph.signature import Names, check_names, leading_axes, return_value
from armlet.graph.trace.calls import Recording, inline
from armlet.robot import Arrangement, RobotModel
from armlet.robot.robot import GROUPS
from armlet.runtime import cache
from armlet.search.cheapest import (
    EFFORT,
    READ_BY_SEARCH,
    WEIGHTS,
    SearchResult,
    Step,
    cached,
    cheapest_program,
    digest,
    possible_units,
    ranked,
    search_key,
)
from armlet.search.request import AS_IT_IS, Request, request

Array = np.ndarray[Any, Any]
STATE = ("q", "qd", "qdd", "tau", "wrench")
"""The arguments of quantities in their order; groups of constants come after them."""
Way = tuple[str, Arrangement]
"""A formulation, and the arrangement of the robot for it."""
SOURCES = digest(*READ_BY_SEARCH)
"""What tells one state of the sources that decide on a program from another."""


@dataclass(frozen=True, eq=False)
class Composition:
    """Arrays made of the results of quantities."""

    name: str
    inputs: Mapping[str, Input]
    recording: Recording
    outputs: Sequence[Array]
    single: bool = False
    names: Names | None = None
    programs: dict[Any, Program] = field(default_factory=dict)
    """Programs of calls, traced once: by the number of the call and the way."""

    @property
    def requests(self) -> list[Request]:
        """What each call computes."""
        return [call.callee for call in self.recording.calls]

    @cached_property
    def identity(self) -> str:
        """All that the program depends on, as text."""
        args = [arg for call in self.recording.calls for arg in call.args]
        outer = program(self.name, self.inputs, [*self.outputs, *args], self.single, self.names)
        shapes = [len(call.args) for call in self.recording.calls]
        return repr((json.dumps(outer.to_dict()), shapes, [r.identity for r in self.requests]))

    def program(self, programs: Sequence[Program]) -> Program:
        """The program in which each call is computed by one of those given."""
        outputs = self.recording.inline_calls(self.outputs, programs)
        return program(self.name, self.inputs, outputs, self.single, self.names)

    def traced(self, ways: Sequence[Way]) -> Program:
        """The program in which each call is computed in a way of its own, nothing simplified."""
        for k, way in enumerate(ways):
            if (k, way) not in self.programs:
                self.programs[k, way] = self.requests[k].program(*way)
        return self.program([self.programs[k, way] for k, way in enumerate(ways)])


def cheapest_composition(composition: Composition, minimize: str = "operations") -> SearchResult:
    """The cheapest program for quantities together, searched for once and then cached on disk."""
    one_of(minimize, "minimize of several quantities", WEIGHTS)
    key = None
    if all(search_key(one, minimize) for one in composition.requests):
        key = cache.key("compose", SOURCES, minimize, composition.identity)
    return cached(key, partial(_searched, composition, minimize))


def _searched(composition: Composition, minimize: str) -> SearchResult:
    """The cheaper of two programs, both simplified as a whole.

    One joins the cheapest programs of the quantities. For the other they are traced again, in ways
    that leave most to share.
    """
    weight, deadline = WEIGHTS[minimize], thread_time() + EFFORT.seconds

    def ends() -> bool:
        return thread_time() >= deadline

    def cost(p: Program) -> float:
        return p.count().cost(weight)

    separate = [cheapest_program(one, minimize) for one in composition.requests]
    first = [(found.formulation, found.arrangement) for found in separate]
    joined = composition.program([found.program for found in separate])
    longest = min(map(EFFORT.longest, composition.requests), default=EFFORT.long)
    if joined.count().total > longest:
        return _result(compact(joined), first, [Step("joined", joined.count())])
    with status(f"searching for the cheapest {composition.name}"):
        retraced, ways = composition.traced(first), first
        for trial in _trials(composition.requests, first, weight, deadline):
            merged = [new or old for new, old in zip(trial, ways, strict=True)]
            found = retraced if ends() else composition.traced(merged)
            if cost(found) < cost(retraced):
                retraced, ways = found, merged
        results = []
        for start, taken in ((joined, first), (retraced, ways)):
            simpler, gains = simplify(start, weight, enough=ends)
            steps = [Step("joined", start.count()), *(Step(*gain) for gain in gains)]
            results.append(_result(compact(simpler), taken, steps, not ends()))
    return min(results, key=lambda found: cost(found.program))


def _trials(
    requests: Sequence[Request],
    ways: Sequence[Way],
    weight: Mapping[str, float],
    deadline: float,
) -> Iterator[list[Way | None]]:
    """Other ways for some of the quantities: in the arrangement of another, by another formulation.

    Those of two quantities are traced with the same arrangement only if both are of one robot.
    """
    for one, (_, arrangement) in zip(requests, ways, strict=True):
        yield [
            (name, arrangement) if _can_take(other, name, one, arrangement) else None
            for other, (name, _) in zip(requests, ways, strict=True)
        ]
    for k, (one, (chosen, arrangement)) in enumerate(zip(requests, ways, strict=True)):
        for name in (contender.name for contender in ranked(one, weight, EFFORT, deadline)):
            if name != chosen:
                lumps = one.lumps(FORMULATIONS[one.name][name])
                way = name, arrangement if lumps else AS_IT_IS
                yield [way if i == k else None for i in range(len(requests))]


def _can_take(other: Request, name: str, one: Request, arrangement: Arrangement) -> bool:
    """Whether a quantity may be computed in the arrangement found for another one."""
    lumps = other.lumps(FORMULATIONS[other.name][name])
    measured = arrangement.unit is None or bool(possible_units(other, EFFORT))
    return other.robot is one.robot and lumps and measured


def _result(
    found: Program, ways: Sequence[Way], steps: Sequence[Step], complete: bool = True
) -> SearchResult:
    formulations = ", ".join(name for name, _ in ways)
    arranged = (arrangement for _, arrangement in ways if arrangement != AS_IT_IS)
    return SearchResult(found, formulations, next(arranged, AS_IT_IS), tuple(steps), complete)


# ------------------------------------------------------------------ calls


def record(graph: Graph, one: Request, arrays: Sequence[Array]) -> Any:
    """The results of a quantity of traced arrays, an array or a tuple of arrays.

    In a recording they are left to be computed later, in whatever way is cheapest by then; in any
    other graph they are those of the cheapest program. Leading axes are gone through one by one.
    """
    found = cheapest_program(one).program
    leading, _ = leading_axes(one.inputs, [array.shape for array in arrays])
    every = []
    for k in np.ndindex(*leading):
        given = [array[k] if array.ndim > len(x.shape) else array
                 for x, array in zip(one.inputs, arrays, strict=True)]  # fmt: skip
        if isinstance(graph, Recording):
            every.append(graph.call(one, found, given))
        else:
            flat = iter(inline(found, graph, [x.ravel().tolist() for x in given]))
            every.append(
                [object_array([next(flat) for _ in y.flat], y.shape) for y in found.outputs]
            )
    results = [
        object_array([x for results in every for x in results[i].flat], (*leading, *y.shape))
        for i, y in enumerate(found.outputs)
    ]
    return return_value(results, found.single, found.names)


# ------------------------------------------------------------------ quantities of one robot


def several(
    robot: RobotModel,
    names: Sequence[str],
    constants: Mapping[str, str],
    minimal: bool,
    options: Mapping[str, Any],
) -> Composition:
    """Quantities of a robot in the order given, their arguments in the order of the state's."""
    asked = dict(_requests(robot, names, constants, minimal, options))
    if not asked:
        raise ArmletError("no quantity is named: give one or more, such as inverse_dynamics")
    inputs = {x.name: x for one in asked.values() for x in one.inputs}
    inputs = {name: inputs[name] for name in (*STATE, *GROUPS) if name in inputs}
    recording = Recording()
    args = {
        name: object_array([recording.input(name, k) for k in range(x.size)], x.shape)
        for name, x in inputs.items()
    }
    outputs: dict[str, Array] = {}
    for label, one in asked.items():
        given = [args[x.name] for x in one.inputs]
        results = record(recording, one, given)
        results = results if isinstance(results, tuple) else (results,)
        suffixes = [f"_{result}" for result in one.quantity.results] or [""]
        outputs |= {f"{label}{x}": y for x, y in zip(suffixes, results, strict=True)}
    check_names(tuple(outputs))
    name = "_and_".join(dict.fromkeys(one.name for one in asked.values()))
    return Composition(name, inputs, recording, [*outputs.values()], False, tuple(outputs))


def _requests(
    robot: RobotModel,
    names: Sequence[str],
    constants: Mapping[str, str],
    minimal: bool,
    options: Mapping[str, Any],
) -> Iterator[tuple[str, Request]]:
    """What is asked for by the name of its field, each with the options that it takes."""
    for name in names:
        if names.count(name) > 1:
            raise ArmletError(f"{name} is given {names.count(name)} times: expected once")
        one_of(name, "quantity", QUANTITIES)
    for option in options:
        if not any(option in QUANTITIES[name].options for name in names):
            raise ArmletError(f"none of {listed(names)} takes {option}=")
    for name in names:
        taken = {key: x for key, x in options.items() if key in QUANTITIES[name].options}
        frames = taken.pop("frame", None)
        if isinstance(frames, Mapping):
            frames = frames.get(name)
        if frames is None or isinstance(frames, str):
            yield name, request(robot, name, constants, minimal, taken | {"frame": frames})
            continue
        for frame in frames:
            label = f"{name}_{re.sub(r'[^0-9A-Za-z]', '_', frame)}"
            yield label, request(robot, name, constants, minimal, taken | {"frame": frame})

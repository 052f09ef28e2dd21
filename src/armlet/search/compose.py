"""Combine several quantities in one program, which computes common operations once.

Each use of a quantity is recorded as a call, also within a user function. The search then chooses,
for each call, the formulation, frames and unit of length that make the whole program cheapest.
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
from armlet.errors import ArmletError, listing
from armlet.graph import Graph, Input, Program, compact, simplify
from armlet.graph.graph import Array, object_array
from armlet.graph.program import program
from armlet.graph.signature import Names, check_names, leading_axes, return_value
from armlet.graph.trace.calls import Recording, inline
from armlet.robot import Arrangement, RobotModel
from armlet.robot.robot import GROUPS
from armlet.runtime import cache
from armlet.search.cheapest import (
    EFFORT,
    SEARCH_SOURCES,
    WEIGHTS,
    SearchResult,
    Step,
    Task,
    cached_search,
    cheapest_program,
    possible_units,
    rank,
    search_key,
)
from armlet.search.request import CANONICAL, Request, make_request

STATE = ("q", "qd", "qdd", "tau", "wrench")
"""The arguments of quantities, in order; groups of constants come after these arguments."""
Choice = tuple[str, Arrangement]
"""The name of a formulation, and the arrangement (frames and unit) of the robot."""


@dataclass(frozen=True, eq=False)
class Composition:
    """Output arrays that depend on quantities; each use of a quantity is recorded as a call."""

    name: str
    inputs: Mapping[str, Input]
    recording: Recording
    outputs: Sequence[Array]
    single: bool = False
    names: Names | None = None
    programs: dict[Any, Program] = field(default_factory=dict)
    """(Index of a call, choice) -> program of the call for this choice, cached by `trace`."""

    @property
    def requests(self) -> list[Request]:
        return [call.callee for call in self.recording.calls]

    @cached_property
    def identity(self) -> str:
        """All data that the program depends on, as text for the cache key."""
        args = [arg for call in self.recording.calls for arg in call.args]
        outer = program(self.name, self.inputs, [*self.outputs, *args], self.single, self.names)
        shapes = [len(call.args) for call in self.recording.calls]
        return repr((json.dumps(outer.to_dict()), shapes, [r.identity for r in self.requests]))

    def program(self, programs: Sequence[Program]) -> Program:
        """Return the program in which `programs[k]` computes call k."""
        outputs = self.recording.inline_calls(self.outputs, programs)
        return program(self.name, self.inputs, outputs, self.single, self.names)

    def trace(self, choices: Sequence[Choice]) -> Program:
        """Return the unsimplified program in which call k is traced with `choices[k]`."""
        for k, choice in enumerate(choices):
            if (k, choice) not in self.programs:
                self.programs[k, choice] = self.requests[k].program(*choice)
        return self.program([self.programs[k, choice] for k, choice in enumerate(choices)])


def cheapest_composition(composition: Composition, minimize: str = "operations") -> SearchResult:
    """Find the cheapest program for a composition, in the cache on disk or by a new search."""
    one_of(minimize, "minimize", WEIGHTS)
    key = None
    if all(search_key(request, minimize) for request in composition.requests):
        key = cache.key("compose", SEARCH_SOURCES, minimize, composition.identity)
    return cached_search(key, partial(_search, composition, minimize))


def _search(composition: Composition, minimize: str) -> SearchResult:
    """Return the cheaper of two programs, both simplified as a whole.

    The first program joins the cheapest programs of all quantities. In the second, the quantities
    are traced again, with the formulations and arrangements that make the whole cheapest. A first
    program that is too long is returned without simplification.
    """
    weight, deadline = WEIGHTS[minimize], thread_time() + EFFORT.seconds
    tasks = [Task(request, weight, EFFORT, deadline) for request in composition.requests]

    def is_over() -> bool:
        return thread_time() >= deadline

    def cost(p: Program) -> float:
        return p.count().cost(weight)

    separate = [cheapest_program(request, minimize) for request in composition.requests]
    first = [(x.formulation, x.arrangement) for x in separate]
    joined = composition.program([x.program for x in separate])
    longest = min(map(EFFORT.longest, composition.requests), default=EFFORT.long)
    if joined.count().total > longest:
        return _result(compact(joined), first, [Step("joined", joined.count())])
    with status(f"searching for the cheapest {composition.name}"):
        retraced, choices = composition.trace(first), first
        for trial in _trials(tasks, first):
            changed = [new or old for new, old in zip(trial, choices, strict=True)]
            candidate = retraced if is_over() else composition.trace(changed)
            if cost(candidate) < cost(retraced):
                retraced, choices = candidate, changed
        results = []
        for start, chosen in ((joined, first), (retraced, choices)):
            simpler, gains = simplify(start, weight, enough=is_over)
            steps = [Step("joined", start.count()), *(Step(*gain) for gain in gains)]
            results.append(_result(compact(simpler), chosen, steps, not is_over()))
    return min(results, key=lambda x: cost(x.program))


def _trials(tasks: Sequence[Task], choices: Sequence[Choice]) -> Iterator[list[Choice | None]]:
    """Yield changes to try: a common arrangement, or another formulation of one quantity.

    Each change has an entry per quantity; None keeps the present choice. Only quantities of the
    same robot share an arrangement.
    """
    requests = [task.request for task in tasks]
    for request, (_, arrangement) in zip(requests, choices, strict=True):
        yield [
            (name, arrangement)
            if other.robot is request.robot and _can_take(other, name, arrangement)
            else None
            for other, (name, _) in zip(requests, choices, strict=True)
        ]
    for k, (task, (chosen, arrangement)) in enumerate(zip(tasks, choices, strict=True)):
        for candidate in rank(task):
            if candidate.name != chosen:
                choice = candidate.name, arrangement if candidate.lumps else CANONICAL
                yield [choice if i == k else None for i in range(len(tasks))]


def _can_take(request: Request, formulation: str, arrangement: Arrangement) -> bool:
    """Whether a formulation of a quantity may use the arrangement of another quantity."""
    lumps = request.lumps(FORMULATIONS[request.name][formulation])
    return lumps and (arrangement.unit is None or bool(possible_units(request, EFFORT)))


def _result(
    program: Program, choices: Sequence[Choice], steps: Sequence[Step], complete: bool = True
) -> SearchResult:
    formulations = ", ".join(name for name, _ in choices)
    arranged = (arrangement for _, arrangement in choices if arrangement != CANONICAL)
    return SearchResult(program, formulations, next(arranged, CANONICAL), tuple(steps), complete)


# ------------------------------------------------------------------ calls


def record(graph: Graph, request: Request, arrays: Sequence[Array]) -> Any:
    """Record a quantity as a function of traced arrays; return an array or a tuple of arrays.

    If `graph` is a `Recording`, a call is recorded, and the search chooses its program later. In
    any other graph, the cheapest program is inlined. Batches are recorded state by state.
    """
    program = cheapest_program(request).program
    leading, _ = leading_axes(request.inputs, [array.shape for array in arrays])
    states = []
    for k in np.ndindex(*leading):
        args = [
            array[k] if array.ndim > len(x.shape) else array
            for x, array in zip(request.inputs, arrays, strict=True)
        ]
        if isinstance(graph, Recording):
            states.append(graph.call(request, program, args))
        else:
            states.append(inline(program, graph, args))
    results = [
        object_array([x for outputs in states for x in outputs[i].flat], (*leading, *y.shape))
        for i, y in enumerate(program.outputs)
    ]
    return return_value(results, program.single, program.names)


# ------------------------------------------------------------------ quantities of one robot


def compose_quantities(
    robot: RobotModel,
    names: Sequence[str],
    constants: Mapping[str, str],
    minimal: bool,
    options: Mapping[str, Any],
) -> Composition:
    """Combine quantities of a robot in one composition; inputs are ordered as `STATE`, `GROUPS`."""
    requests = {
        label: make_request(robot, name, constants, minimal, taken)
        for label, name, taken in _labelled(names, options)
    }
    if not requests:
        raise ArmletError("no quantity is named: give one or more, such as inverse_dynamics")
    inputs = {x.name: x for request in requests.values() for x in request.inputs}
    inputs = {name: inputs[name] for name in (*STATE, *GROUPS) if name in inputs}
    recording = Recording()
    args = {
        name: object_array([recording.input(name, k) for k in range(x.size)], x.shape)
        for name, x in inputs.items()
    }
    outputs: dict[str, Array] = {}
    for label, request in requests.items():
        results = record(recording, request, [args[x.name] for x in request.inputs])
        results = results if isinstance(results, tuple) else (results,)
        suffixes = [f"_{result}" for result in request.quantity.results] or [""]
        outputs |= {f"{label}{x}": y for x, y in zip(suffixes, results, strict=True)}
    check_names(tuple(outputs))
    name = "_and_".join(dict.fromkeys(request.name for request in requests.values()))
    return Composition(name, inputs, recording, [*outputs.values()], False, tuple(outputs))


def _labelled(
    names: Sequence[str], options: Mapping[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (label, name, options) for each quantity or, if `frame` is a list, for each frame."""
    options = {key: x for key, x in options.items() if x is not None and x is not False}
    for name in names:
        if names.count(name) > 1:
            raise ArmletError(f"{name} is given {names.count(name)} times: expected once")
        one_of(name, "quantity", QUANTITIES)
    for option in options:
        if not any(option in QUANTITIES[name].options for name in names):
            raise ArmletError(f"none of {listing(names)} takes {option}=")
    for name in names:
        taken = {key: x for key, x in options.items() if key in QUANTITIES[name].options}
        frames = taken.pop("frame", None)
        if isinstance(frames, Mapping):
            frames = frames.get(name)
        if frames is None or isinstance(frames, str):
            yield name, name, taken | {"frame": frames}
            continue
        for frame in frames:
            label = f"{name}_{re.sub(r'[^0-9A-Za-z]', '_', frame)}"
            yield label, name, taken | {"frame": frame}

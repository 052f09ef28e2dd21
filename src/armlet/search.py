"""The search for the cheapest program: formulations, frames, units, simplification."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from armlet.dynamics import FORMULATIONS
from armlet.graph import ORDER, Count, Program, Traced, simplified
from armlet.graph.count import M_PLUS_A
from armlet.graph.serialize import restored, stored
from armlet.robot import Arrangement
from armlet.runtime import Kernel, cache
from armlet.runtime.engine import machine_name, status
from armlet.runtime.timing import STATES, native_loop, time_in_turns
from armlet.scalar import is_zero
from armlet.tracing import AS_IT_IS, Request, one_of

CONTENDERS = 2
"""How many formulations of a table are tried: the cheapest stand first."""
SHORTEST_UNIT = 1e-4
"""How short a unit may be beside the longest length: masses go with its square."""
TRIALS = 12
"""How many origins and how many units are tried at most, those next to the base first."""
WEIGHTS: dict[str, Mapping[str, float]] = {
    "operations": M_PLUS_A,
    "multiplications": {"mul": 1.0, "div": 1.0, "add": 1e-3, "sub": 1e-3},
    "additions": {"mul": 1e-3, "div": 1e-3, "add": 1.0, "sub": 1.0},
}
"""What may count, by name."""
ORDERS = (ORDER, (*(name for name in ORDER if name != "constants"), "constants"))
"""The orders of the passes of simplification that are tried."""
SHORT = 300
"""How many operations a program has at most for more than the first order to be tried."""
QUICK = 1000
"""How many operations a program has at most to be searched for in a second."""
LONG = 10_000
"""How many operations a program has at most to be rearranged and simplified."""
SECONDS = 30.0
"""How much time a search may take; after that the best program found so far is used.

It is processor time, so that what is found does not depend on what else the machine does: the
dearest programs of six-axis arms take some ten seconds. A search that was cut short is cached too,
since the next one would be cut short at the same place.
"""
LATENCY = {"add": 4, "sub": 4, "mul": 4, "div": 14, "sqrt": 20}
"""How many cycles an operation takes on the machines of today."""
RATE = 2.5
"""How many operations start in a cycle, fused ones counted as two."""
SLACK = 1.05
"""By what factor another formulation may add to the estimated cycles of one state."""
ROUNDS = 11
"""How often kernels are timed where time counts."""


@dataclass(frozen=True)
class Step:
    """Something that was done to get a cheaper program, and the count after it."""

    name: str
    count: Count


@dataclass(frozen=True)
class SearchResult:
    """The cheapest program found, and how."""

    program: Program
    formulation: str
    arrangement: Arrangement
    steps: tuple[Step, ...]
    complete: bool = True
    """Whether the search came to its end; else it ran out of time."""


def cheapest_program(request: Request, minimize: str = "operations") -> SearchResult:
    """The cheapest program for what is asked, searched for once and then kept on disk."""
    one_of(minimize, dict.fromkeys((*WEIGHTS, "time")), "weight")
    here = machine_name() if minimize == "time" else ""
    key = cache.key("search", SOURCES, minimize, here, repr(request.identity))
    find = partial(fastest, request) if minimize == "time" else partial(lightest, request, minimize)
    return cached(key, find)


def cached(key: str, find: Callable[[], SearchResult]) -> SearchResult:
    """What was found, searched for once and then kept on disk under a key."""
    data = cache.load(key)
    if data is not None:
        with suppress(ValueError, LookupError, TypeError):
            return _read(json.loads(data))
    data = json.dumps(_written(find())).encode()
    cache.save(key, data)
    return _read(json.loads(data))


def lightest(request: Request, minimize: str) -> SearchResult:
    """The cheapest program by a weight, of those found by it and by the number of operations."""
    weight = WEIGHTS[minimize]
    found = searched(request, weight)
    if weight is M_PLUS_A:
        return found
    return _best((found, cheapest_program(request)), lambda f: f.program.count().cost(weight))


def fastest(request: Request) -> SearchResult:
    """Of the cheapest programs by each weight, and of what they start from, the fastest one.

    The kernels for one state are timed in turns on random states.
    """
    request.check_values()
    every = [cheapest_program(request, minimize) for minimize in WEIGHTS]
    first = every[0].steps[0]
    plain = request.program(first.name)
    every.append(SearchResult(plain, first.name, AS_IT_IS, (first,)))
    rng = np.random.default_rng(0)
    states = [rng.uniform(-1, 1, (STATES, *x.shape)) for x in plain.inputs.values()]
    loops = {str(k): native_loop(Kernel(f.program), states) for k, f in enumerate(every)}
    times = time_in_turns(loops, ROUNDS)
    medians = {id(found): times[str(k)].median for k, found in enumerate(every)}
    return _best(every, lambda found: medians[id(found)])


def _best(every: Sequence[SearchResult], measure: Callable[[SearchResult], float]) -> SearchResult:
    """The one that measures least; it is complete if all are."""
    return replace(min(every, key=measure), complete=all(found.complete for found in every))


def searched(request: Request, weight: Mapping[str, float]) -> SearchResult:
    """The cheapest program for what is asked.

    From the first formulation of the table in canonical frames, each of these is kept if it gains:
    origins moved back along their axes, another unit of length, another formulation in the same
    arrangement, and the passes of simplification.
    """
    table = FORMULATIONS[request.name]
    names = [name for name, entry in table.items() if request.takes(entry)][:CONTENDERS]
    names = names or [next(iter(table))]  # tracing says what it does not take
    search = _Search(request, weight, names[0])
    quick = search.length <= QUICK
    with nullcontext() if quick else status(f"searching for the cheapest {request.name}"):
        if request.lumps(table[names[0]]) and search.length <= LONG:
            for i in takewhile(search.goes_on, _movable(request)):
                back = (*search.arrangement.back, i)
                search.rearrange("frames", search.arrangement._replace(back=back))
            for unit in takewhile(search.goes_on, possible_units(request)):
                search.rearrange("units", search.arrangement._replace(unit=unit))
        for name in takewhile(search.goes_on, names[1:]):
            search.replace(name)
        return search.found()


class _Search:
    """The best so far."""

    def __init__(self, request: Request, weight: Mapping[str, float], name: str) -> None:
        self.request, self.weight = request, weight
        self.deadline = thread_time() + SECONDS
        self.name, self.arrangement = name, AS_IT_IS
        self.program = request.program(name)
        self.steps = [Step(name, self.program.count())]

    @property
    def length(self) -> int:
        """How many operations the program has."""
        return self.program.count().total

    def ends(self) -> bool:
        """Whether it has run out of time."""
        return thread_time() >= self.deadline

    def goes_on(self, _: Any) -> bool:
        return not self.ends()

    def rearrange(self, step: str, arrangement: Arrangement) -> None:
        """Take another arrangement if it is cheaper."""
        program = self.request.program(self.name, arrangement)
        if self._is_cheaper(program):
            self.program, self.arrangement = program, arrangement
            self._note(step, program.count())

    def replace(self, name: str) -> None:
        """Take another formulation if it is cheaper and not much slower, in the arrangement found
        if it takes one."""
        lumps = self.request.lumps(FORMULATIONS[self.request.name][name])
        arrangement = self.arrangement if lumps else AS_IT_IS
        program = self.request.program(name, arrangement)
        if self._is_cheaper(program) and cycles(program) <= SLACK * cycles(self.program):
            self.program, self.name, self.arrangement = program, name, arrangement
            if not lumps:
                self.steps = []
            self._note(name, program.count())

    def found(self) -> SearchResult:
        """The best, simplified; a short program by the passes in every order of the table."""
        program = self.program
        if self.length <= LONG:
            orders = ORDERS if self.length <= SHORT else ORDERS[:1]
            simpler = [simplified(program, self.weight, order, self.ends) for order in orders]
            program, gains = min(simpler, key=lambda pair: pair[0].count().cost(self.weight))
            for name, count in gains:
                self._note(name, count)
        return SearchResult(
            program, self.name, self.arrangement, tuple(self.steps), not self.ends()
        )

    def _is_cheaper(self, program: Program) -> bool:
        one, other = (p.count().cost(self.weight) for p in (program, self.program))
        return one < other

    def _note(self, name: str, count: Count) -> None:
        """Add a step, or go on with the last one."""
        if self.steps and self.steps[-1].name == name:
            self.steps.pop()
        self.steps.append(Step(name, count))


def cycles(program: Program) -> float:
    """How many cycles one state takes at least: by its longest chain, or by all its operations."""
    done: dict[int, int] = {}
    for i, op, args in program.nodes:
        before = max((done[a.index] for a in args if isinstance(a, Traced)), default=0)
        done[i] = before + LATENCY.get(op, 0)
    return max(max(done.values(), default=0), program.count().total / RATE)


def _movable(request: Request) -> list[int]:
    """The bodies whose origins may be moved back along their axes."""
    rows = request.robot.dh
    return [i for i, row in enumerate(rows) if not is_zero(row.d)][:TRIALS]


def possible_units(request: Request) -> list[Any]:
    """The lengths that may be made the unit: what goes in and comes out must have none."""
    robot, quantity = request.robot, request.quantity
    has_lengths = "P" in robot.joint_letters or request.wrench or "frame" in quantity.options
    if has_lengths or request.kinds["geometry"] != "fixed" or robot.symbols:
        return []
    lengths = [x for row in robot.dh for x in (row.b, row.a, row.d)]
    if "gravity" in quantity.reads and request.kinds["gravity"] == "fixed":
        lengths += list(robot.g)
    sizes = dict.fromkeys(abs(x) for x in lengths if not is_zero(x))
    return [x for x in sizes if x > SHORTEST_UNIT * max(sizes)][:TRIALS]


# ------------------------------------------------------------------ kept on disk


def _written(found: SearchResult) -> dict[str, Any]:
    return {
        "program": stored(found.program),
        "formulation": found.formulation,
        "arrangement": found.arrangement,
        "complete": found.complete,
        "steps": [
            [step.name, step.count.M, step.count.A, step.count.functions] for step in found.steps
        ],
    }


def _read(data: dict[str, Any]) -> SearchResult:
    back, unit = data["arrangement"]
    steps = (
        Step(name, Count(M, A, tuple((f, times) for f, times in functions)))
        for name, M, A, functions in data["steps"]
    )
    return SearchResult(
        restored(data["program"]),
        data["formulation"],
        Arrangement(tuple(back), unit),
        tuple(steps),
        data["complete"],
    )


def _digest() -> str:
    """What tells one state of this library's own code from another."""
    here = Path(__file__).parent
    found = sha256()
    for path in sorted(here.rglob("*.py")):
        found.update(str(path.relative_to(here)).encode() + path.read_bytes())
    return found.hexdigest()


SOURCES = _digest()
"""Taken when the code is loaded: files may change under a process that runs."""

"""The search for the cheapest program: formulations, frames, units, simplification."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from armlet._support.progress import status
from armlet._support.validation import one_of
from armlet.dynamics import FORMULATIONS, Formulation
from armlet.graph import ORDER, Count, Program, Traced, compact, simplify
from armlet.graph.count import M_PLUS_A
from armlet.robot import Arrangement, RobotModel
from armlet.runtime import Kernel, cache
from armlet.runtime.engine import machine_name
from armlet.runtime.timing import STATES, native_loop, time_in_turns
from armlet.scalar import is_zero
from armlet.search.request import AS_IT_IS, Request

WEIGHTS: dict[str, Mapping[str, float]] = {
    "operations": M_PLUS_A,
    "multiplications": {"mul": 1.0, "div": 1.0, "add": 1e-3, "sub": 1e-3},
    "additions": {"mul": 1e-3, "div": 1e-3, "add": 1.0, "sub": 1.0},
}
"""What may be minimized, by name, apart from time."""
LATENCY = {"add": 4, "sub": 4, "mul": 4, "div": 14, "sqrt": 20}
"""Cycles until the result of an operation can be used, on processors of today."""
RATE = 2.5
"""How many operations start in a cycle, fused ones counted as two."""


@dataclass(frozen=True)
class Effort:
    """How far a search goes. `benchmarks/search.py` prints what each of these numbers costs."""

    slack: float = 1.25
    """By what factor a formulation with fewer operations may take more cycles, as estimated, than
    the fastest one."""
    trials: int = 12
    """How many origins and how many units are tried at most, those next to the base first."""
    shortest_unit: float = 1e-4
    """How short a unit may be beside the longest length: masses go with its square."""
    orders: tuple[tuple[str, ...], ...] = (
        ORDER,
        (*(name for name in ORDER if name != "constants"), "constants"),
    )
    """The orders of the passes of simplification that are tried."""
    short: int = 300
    """Operations up to which every formulation is rearranged and simplified, and in every order; of
    longer programs the first is rearranged, and the cheapest simplified in the first order."""
    long: int = 10_000
    """Operations above which a program is neither rearranged nor simplified."""
    joints: int = 16
    """Joints above which that holds of all programs whose search is not quick: it would take
    seconds to minutes, and gain 1 to 4 %."""
    path: int = 8
    """Joints one after the other above which such robots have no use for formulations whose
    operations grow with a higher power than those of others."""
    seconds: float = 30.0
    """Processor time after which the best program found so far is used.

    Processor time, so that what is found does not depend on what else the machine does. The most
    expensive programs of six-axis arms take some ten seconds. A search that was cut short is
    cached too, since the next one would be cut short at the same place.
    """
    rounds: int = 11
    """How often kernels are timed where time is minimized."""

    def longest(self, request: Request) -> int:
        """Operations above which a program for a request is neither rearranged nor simplified."""
        return self.long if request.robot.n <= self.joints else QUICK


EFFORT = Effort()
QUICK = 1000
"""Operations of a program whose search takes a second at most, so that no progress is shown."""


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
    """The cheapest program for a request, searched for once and then cached on disk."""
    one_of(minimize, "minimize", (*WEIGHTS, "time"))
    find = partial(fastest, request) if minimize == "time" else partial(lightest, request, minimize)
    return cached(search_key(request, minimize), find)


def cached(key: str | None, find: Callable[[], SearchResult]) -> SearchResult:
    """What a search finds, cached on disk under a key if it has one."""
    data = cache.load(key) if key else None
    if data is not None:
        with suppress(ValueError, LookupError, TypeError):
            return _read(json.loads(data))
    found = find()
    if key:
        cache.save(key, json.dumps(_written(found)).encode())
    return found


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
    times = time_in_turns(loops, EFFORT.rounds)
    medians = {id(found): times[str(k)].median for k, found in enumerate(every)}
    return _best(every, lambda found: medians[id(found)])


def _best(every: Sequence[SearchResult], measure: Callable[[SearchResult], float]) -> SearchResult:
    """The one that measures least; it is complete if all are."""
    return replace(min(every, key=measure), complete=all(found.complete for found in every))


def searched(
    request: Request, weight: Mapping[str, float], effort: Effort | None = None
) -> SearchResult:
    """The cheapest program for a request.

    The formulations that contend are ranked by their counts in canonical frames. The first is
    traced with origins moved back along their axes and in other units of length, as far as that
    gains, the others in the same arrangement; the cheapest of these programs is simplified. Short
    programs are all rearranged and simplified.
    """
    effort = effort or EFFORT
    deadline = thread_time() + effort.seconds
    what = f"searching for the cheapest {request.name}"
    with status(what, quick=request.robot.n <= effort.joints):
        contenders = ranked(request, weight, effort, deadline)
    with status(what, quick=contenders[0].length <= QUICK):
        first, *others = contenders
        first.rearrange()
        if first.length <= effort.short:
            for other in others:
                other.rearrange()
            found = [contender.simplify() for contender in contenders]
            return min(found, key=lambda result: first.cost(result.program))
        for other in others:
            other.adopt(first.arrangement)
        return min(contenders, key=lambda x: x.cost(x.program)).simplify()


def ranked(
    request: Request, weight: Mapping[str, float], effort: Effort, deadline: float
) -> "list[Contender]":
    """The formulations with the fewest operations in canonical frames.

    Those that are much slower than the fastest are left out. Of equal ones the first in the table
    is first.
    """
    table = FORMULATIONS[request.name]
    own = [name for name, entry in table.items() if entry.is_built_in]
    taking = [name for name in own if request.takes(table[name])] or own[:1]
    names = [name for name in taking if table[name].contends] or taking[:1]
    if request.robot.n > effort.joints and _longest_path(request.robot) > effort.path:
        least = min(_power(table[name]) for name in names)
        names = [name for name in names if _power(table[name]) == least]
    found: list[Contender] = []
    for name in names:
        if found and thread_time() >= deadline:
            break
        found.append(Contender(request, weight, effort, deadline, name))
    if len(found) == 1:
        return found
    taken = [cycles(contender.program) for contender in found]
    enough = effort.slack * min(taken)
    fast = [contender for contender, least in zip(found, taken, strict=True) if least <= enough]
    return sorted(fast, key=lambda x: x.cost(x.program))


def _power(entry: Formulation) -> int:
    """The power of the number of joints by which the operations of a formulation grow."""
    return int(entry.growth.partition("^")[2][:1] or 1)


def _longest_path(robot: RobotModel) -> int:
    """How many joints there are one after the other."""
    return max(sum(1 for _ in robot.path_to_base(i)) for i in range(robot.n))


class Contender:
    """A formulation, and the cheapest program found by it so far."""

    def __init__(
        self,
        request: Request,
        weight: Mapping[str, float],
        effort: Effort,
        deadline: float,
        name: str,
    ) -> None:
        self.request, self.weight, self.effort = request, weight, effort
        self.deadline = deadline
        self.name, self.arrangement = name, AS_IT_IS
        self.program = request.program(name)  # raises if it does not take the request
        self.steps = [Step(name, self.program.count())]

    @property
    def length(self) -> int:
        """How many operations the program has."""
        return self.program.count().total

    def cost(self, program: Program) -> float:
        """What a program costs, by the weight of this search."""
        return program.count().cost(self.weight)

    def ends(self) -> bool:
        """Whether the search has run out of time."""
        return thread_time() >= self.deadline

    def goes_on(self, _: object) -> bool:
        return not self.ends()

    def rearrange(self) -> None:
        """Take other frames, then other units, one after the other if it gains."""
        lumps = self.request.lumps(FORMULATIONS[self.request.name][self.name])
        if not lumps or self.length > self.effort.longest(self.request):
            return
        for i in takewhile(self.goes_on, _movable(self.request, self.effort)):
            self._try("frames", self.arrangement._replace(back=(*self.arrangement.back, i)))
        for unit in takewhile(self.goes_on, possible_units(self.request, self.effort)):
            self._try("units", self.arrangement._replace(unit=unit))

    def adopt(self, arrangement: Arrangement) -> None:
        """Take the frames and units that another formulation gained by."""
        lumps = self.request.lumps(FORMULATIONS[self.request.name][self.name])
        if lumps and arrangement != self.arrangement and not self.ends():
            self._try("frames and units", arrangement)

    def _try(self, step: str, arrangement: Arrangement) -> None:
        program = self.request.program(self.name, arrangement)
        if self.cost(program) < self.cost(self.program):
            self.program, self.arrangement = program, arrangement
            self._note(step, program.count())

    def simplify(self) -> SearchResult:
        """The program simplified; a short one by the passes in every order."""
        program, effort = self.program, self.effort
        if self.length <= effort.longest(self.request):
            orders = effort.orders if self.length <= effort.short else effort.orders[:1]
            simpler = [simplify(program, self.weight, order, self.ends) for order in orders]
            program, gains = min(simpler, key=lambda pair: self.cost(pair[0]))
            for name, count in gains:
                self._note(name, count)
        return SearchResult(
            compact(program), self.name, self.arrangement, tuple(self.steps), not self.ends()
        )

    def _note(self, name: str, count: Count) -> None:
        """Add a step, or go on with the last one."""
        if self.steps[-1].name == name:
            self.steps.pop()
        self.steps.append(Step(name, count))


def cycles(program: Program) -> float:
    """How many cycles one state takes at least: by its longest chain, or by all its operations."""
    done: dict[int, int] = {}
    for i, op, args in program.nodes:
        before = max((done[a.index] for a in args if isinstance(a, Traced)), default=0)
        done[i] = before + LATENCY.get(op, 0)
    return max(max(done.values(), default=0), program.count().total / RATE)


def _movable(request: Request, effort: Effort) -> list[int]:
    """The bodies whose origins may be moved back along their axes."""
    rows = request.robot.dh
    return [i for i, row in enumerate(rows) if not is_zero(row.d)][: effort.trials]


def possible_units(request: Request, effort: Effort) -> list[Any]:
    """The lengths that may be made the unit: what goes in and comes out must have none."""
    robot, quantity = request.robot, request.quantity
    has_lengths = "P" in robot.joint_letters or request.wrench or "frame" in quantity.options
    if has_lengths or request.kinds["geometry"] != "fixed" or robot.symbols:
        return []
    lengths = [x for row in robot.dh for x in (row.b, row.a, row.d)]
    if "gravity" in quantity.reads and request.kinds["gravity"] == "fixed":
        lengths += list(robot.g)
    sizes = dict.fromkeys(abs(x) for x in lengths if not is_zero(x))
    return [x for x in sizes if x > effort.shortest_unit * max(sizes)][: effort.trials]


# ------------------------------------------------------------------ the cache

READ_BY_SEARCH = (
    "_support", "scalar.py", "algebra.py", "robot", "minimal", "dynamics", "graph", "search",
)  # fmt: skip
"""The sources that decide which program is found; a robot's file is in the robot's numbers."""


def search_key(request: Request, minimize: str) -> str | None:
    """The name of a search in the cache; None if it reads code that is not armlet's own."""
    if not all(entry.is_built_in for entry in request.built_on):
        return None
    here = (SOURCES, machine_name()) if minimize == "time" else (SEARCH_SOURCES, "")
    return cache.key("search", minimize, *here, repr(request.identity))


def _written(found: SearchResult) -> dict[str, Any]:
    return {
        "program": found.program.to_dict(),
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
        Program.from_dict(data["program"]),
        data["formulation"],
        Arrangement(tuple(back), unit),
        tuple(steps),
        data["complete"],
    )


def digest(*names: str) -> str:
    """What tells one state of sources of this library from another: of files and of folders."""
    here = Path(__file__).parents[1]
    found = sha256()
    for name in names:
        path = here / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found.update(str(file.relative_to(here)).encode() + file.read_bytes())
    return found.hexdigest()


SEARCH_SOURCES, SOURCES = digest(*READ_BY_SEARCH), digest("")
"""Taken when the code is loaded: files may change under a process that runs."""

"""Search over formulations, frames and units of length for a quantity's cheapest program."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import thread_time
from typing import Any

from armlet._support.progress import status
from armlet._support.validation import one_of
from armlet.dynamics import FORMULATIONS, Formulation
from armlet.errors import ModelError, quote
from armlet.graph import ORDER, Count, Program, Traced, compact, simplify
from armlet.graph.count import M_PLUS_A
from armlet.robot import Arrangement
from armlet.runtime import cache
from armlet.scalar import is_zero
from armlet.search.request import CANONICAL, Request

WEIGHTS: dict[str, Mapping[str, float]] = {
    "operations": M_PLUS_A,
    "multiplications": {"mul": 1.0, "div": 1.0, "add": 1e-3, "sub": 1e-3},
    "additions": {"mul": 1e-3, "div": 1e-3, "add": 1.0, "sub": 1.0},
}
"""Value of the option `minimize` -> weights of operations in the cost of a program."""
LATENCY = {"add": 4, "sub": 4, "mul": 4, "div": 14, "sqrt": 20}
"""Operation -> latency in cycles on current processors."""
RATE = 2.5
"""Number of operations that start in a cycle; a fused multiply-add counts as two."""


@dataclass(frozen=True)
class Effort:
    """Parameters that limit a search; `benchmarks/search.py` prints the effect of most of them."""

    slack: float = 1.25
    """A formulation is left out if its estimated number of cycles per call exceeds `slack` times
    that of the fastest formulation."""
    trials: int = 12
    """Largest number of units of length to try, and of frame origins to move, base first."""
    shortest_unit: float = 1e-4
    """Shortest unit of length to try, relative to the longest; masses scale with its square."""
    orders: tuple[tuple[str, ...], ...] = (
        ORDER,
        (*(name for name in ORDER if name != "constants"), "constants"),
    )
    """Sequences of simplification passes; the search tries each sequence."""
    short: int = 300
    """If the program of the cheapest formulation has at most this many operations, all formulations
    are rearranged (see `search`) and simplified. A longer program is simplified by `orders[0]`."""
    long: int = 10_000
    """A program with more operations is not simplified, and no frames or units are tried for it."""
    joints: int = 16
    """For a robot with more joints, `QUICK` replaces `long`: a search up to `long` would take
    seconds to minutes, and would save only 1 to 4 % of the operations."""
    path: int = 8
    """For a robot with more than `joints` joints and a chain of more than `path` joints, only the
    formulations whose cost grows most slowly with the number of joints are tried."""
    seconds: float = 30.0
    """Processor time in s after which the search returns the best program so far.

    Processor time makes the result independent of the load of the machine. The longest searches
    for six-axis arms take about ten seconds. The result of a search that reaches the limit is
    cached, too, since the same search would end at the same point again.
    """

    def longest(self, request: Request) -> int:
        """Return the largest operation count at which programs for this request are simplified."""
        return self.long if request.robot.nb <= self.joints else QUICK


EFFORT = Effort()
QUICK = 1000
"""Largest operation count for which a search takes at most a second and shows no progress."""


@dataclass(frozen=True)
class Step:
    """A step of the search, and the operation count after the step."""

    name: str
    count: Count


@dataclass(frozen=True)
class SearchResult:
    """The cheapest program that a search found, its formulation, and the steps of the search."""

    program: Program
    formulation: str
    arrangement: Arrangement
    steps: tuple[Step, ...]
    complete: bool = True
    """Whether the search ended before its time limit."""


def cheapest_program(request: Request, minimize: str = "operations") -> SearchResult:
    """Find the cheapest program for a request, in the cache on disk or by a new search."""
    one_of(minimize, "minimize", WEIGHTS)
    return cached_search(search_key(request, minimize), partial(_best, request, minimize))


def cached_search(key: str | None, find: Callable[[], SearchResult]) -> SearchResult:
    """Return the cached result for `key`, else that of `find()`; without a key, cache nothing."""
    data = cache.load(key) if key else None
    if data is not None:
        with suppress(ValueError, LookupError, TypeError):
            return _from_json(data)
    result = find()
    if key:
        cache.save(key, _to_json(result).encode())
    return result


def _best(request: Request, minimize: str) -> SearchResult:
    """Search with the weights of `minimize`, then with equal weights; return the cheaper result."""
    weight = WEIGHTS[minimize]
    result = search(request, weight)
    if weight is M_PLUS_A:
        return result
    results = (result, cheapest_program(request))
    best = min(results, key=lambda x: x.program.count().cost(weight))
    return replace(best, complete=all(x.complete for x in results))


def search(
    request: Request, weight: Mapping[str, float], effort: Effort | None = None
) -> SearchResult:
    """Find the cheapest program for a request by a search, without the cache.

    Formulations are ranked by cost in canonical frames. The cheapest formulation is rearranged:
    frame origins move back along joint axes and the unit of length changes, where this lowers the
    cost. If the new program is short, all other formulations are rearranged as well, and all
    programs are simplified. Otherwise, the other formulations are tried with the same frames and
    unit, and only the cheapest program is simplified.
    """
    effort = effort or EFFORT
    task = Task(request, weight, effort, thread_time() + effort.seconds)
    what = f"searching for the cheapest {request.name}"
    with status(what, quick=request.robot.nb <= effort.joints):
        candidates = rank(task)
    with status(what, quick=candidates[0].length <= QUICK):
        first, *others = candidates
        first.rearrange()
        if first.length <= effort.short:
            for other in others:
                other.rearrange()
            return min((x.simplify() for x in candidates), key=lambda x: task.cost(x.program))
        for other in others:
            other.adopt(first.arrangement)
        return min(candidates, key=lambda x: task.cost(x.program)).simplify()


@dataclass(frozen=True)
class Task:
    """A search to run: the request, the weights of operations in the cost, and the limits."""

    request: Request
    weight: Mapping[str, float]
    effort: Effort
    deadline: float
    """Processor time of this thread, in s, at which the search ends."""

    def is_over(self) -> bool:
        return thread_time() >= self.deadline

    def cost(self, program: Program) -> float:
        return program.count().cost(self.weight)


def rank(task: Task) -> "list[Candidate]":
    """Return the formulations to try as candidates in canonical frames, cheapest first.

    Formulations that are much slower than the fastest are left out. Formulations of equal cost are
    in the order of `FORMULATIONS`.
    """
    request, effort = task.request, task.effort
    table = FORMULATIONS[request.name]
    own = [name for name, entry in table.items() if entry.is_built_in]
    letters = "".join(dict.fromkeys(x for name in own for x in table[name].letters))
    if set(request.robot._joint_letters) - set(letters):
        raise ModelError(
            f"{request.name} is computed for joints {letters}: robot {quote(request.robot.name)} "
            f"has joints {request.robot._joint_letters}"
        )
    valid = [name for name in own if request.takes(table[name])] or own[:1]
    names = [name for name in valid if table[name].contends] or valid[:1]
    robot = request.robot
    paths = (len(robot.path(i)) for i in range(robot.nb))
    if robot.nb > effort.joints and max(paths) > effort.path:
        least = min(_power(table[name]) for name in names)
        names = [name for name in names if _power(table[name]) == least]
    candidates: list[Candidate] = []
    for name in names:
        if candidates and task.is_over():
            break
        candidates.append(Candidate(task, name))
    estimates = [cycles(x.program) for x in candidates]
    enough = effort.slack * min(estimates)
    fast = [x for x, least in zip(candidates, estimates, strict=True) if least <= enough]
    return sorted(fast, key=lambda x: task.cost(x.program))


def _power(entry: Formulation) -> int:
    """Return the exponent k if the operation count grows as n^k with the number n of joints."""
    return int(entry.growth.partition("^")[2][:1] or 1)


class Candidate:
    """A formulation and its cheapest program so far."""

    def __init__(self, task: Task, name: str) -> None:
        self.task, self.name, self.arrangement = task, name, CANONICAL
        self.program = task.request.program(name)  # raises if the request is invalid
        self.steps = [Step(name, self.program.count())]
        self.lumps = task.request.lumps(FORMULATIONS[task.request.name][name])

    @property
    def length(self) -> int:
        return self.program.count().total

    @property
    def is_long(self) -> bool:
        """Whether the program is too long to be rearranged and simplified."""
        return self.length > self.task.effort.longest(self.task.request)

    def rearrange(self) -> None:
        """Move frame origins back along joint axes and change the unit, if this lowers the cost."""
        if not self.lumps or self.is_long:
            return
        task = self.task
        robot = task.request.robot
        pairs = enumerate(zip(robot.joints, robot.dh, strict=True))
        movable = [i for i, (x, row) in pairs if x.type.has_axis and not is_zero(row.d)]
        for i in movable[: task.effort.trials]:
            if task.is_over():
                break
            self._try("frames", self.arrangement._replace(back=(*self.arrangement.back, i)))
        for unit in possible_units(task.request, task.effort):
            if task.is_over():
                break
            self._try("units", self.arrangement._replace(unit=unit))

    def adopt(self, arrangement: Arrangement) -> None:
        """Use the frames and unit of length of another formulation if they lower the cost."""
        if self.lumps and arrangement != self.arrangement and not self.task.is_over():
            self._try("frames and units", arrangement)

    def _try(self, step: str, arrangement: Arrangement) -> None:
        program = self.task.request.program(self.name, arrangement)
        if self.task.cost(program) < self.task.cost(self.program):
            self.program, self.arrangement = program, arrangement
            self._add_step(step, program.count())

    def simplify(self) -> SearchResult:
        """Simplify the program, unless it is too long; return the result of the search.

        A short program is simplified by each sequence of passes in `Effort.orders`, and the
        cheapest result is taken. Other programs are simplified by the first sequence.
        """
        program, task = self.program, self.task
        if not self.is_long:
            orders = task.effort.orders
            if self.length > task.effort.short:
                orders = orders[:1]
            simpler = [simplify(program, task.weight, order, task.is_over) for order in orders]
            program, gains = min(simpler, key=lambda pair: task.cost(pair[0]))
            for name, count in gains:
                self._add_step(name, count)
        return SearchResult(
            compact(program), self.name, self.arrangement, tuple(self.steps), not task.is_over()
        )

    def _add_step(self, name: str, count: Count) -> None:
        """Add a step; if the last step has the same name, replace the last step."""
        if self.steps[-1].name == name:
            self.steps.pop()
        self.steps.append(Step(name, count))


def cycles(program: Program) -> float:
    """Return a lower bound on cycles per call, from the critical path and the operation count."""
    done: dict[int, int] = {}
    for i, op, args in program.nodes:
        before = max((done[a.index] for a in args if isinstance(a, Traced)), default=0)
        done[i] = before + LATENCY.get(op, 0)
    return max(max(done.values(), default=0), program.count().total / RATE)


def possible_units(request: Request, effort: Effort) -> list[Any]:
    """Return the lengths to try as units; none if an input, result or symbol may be a length."""
    robot, quantity = request.robot, request.quantity
    has_lengths = (
        any(x.type.translates for x in robot.joints)
        or request.wrench
        or "frame" in quantity.options
    )
    if has_lengths or request.constants["geometry"] != "fixed" or robot.symbols:
        return []
    lengths = [x for row in robot.dh for x in (row.b, row.a, row.d)]
    if "gravity" in quantity.reads and request.constants["gravity"] == "fixed":
        lengths += list(robot.g)
    sizes = dict.fromkeys(abs(x) for x in lengths if not is_zero(x))
    return [x for x in sizes if x > effort.shortest_unit * max(sizes)][: effort.trials]


# ------------------------------------------------------------------ the cache

READ_BY_SEARCH = (
    "_support",
    "libraries.py",
    "scalar.py",
    "algebra.py",
    "math.py",
    "robot",
    "minimal",
    "dynamics",
    "graph",
    "search",
)
"""Source files on which the result of a search depends; the cache key also has the robot's data."""


def search_key(request: Request, minimize: str) -> str | None:
    """Return the cache key of a search; None if options name formulations that are not built in."""
    if not all(entry.is_built_in for entry in request.built_on):
        return None
    return cache.key("search", minimize, SEARCH_SOURCES, repr(request.identity))


def _to_json(result: SearchResult) -> str:
    def plain(x: Any) -> dict[str, Any]:
        return x.to_dict() if isinstance(x, Program) else vars(x)

    return json.dumps(result, default=plain)


def _from_json(text: bytes) -> SearchResult:
    data = json.loads(text)
    back, unit = data["arrangement"]

    def count(M: int, A: int, functions: list[list[Any]]) -> Count:
        return Count(M, A, tuple((name, times) for name, times in functions))

    data["steps"] = tuple(Step(step["name"], count(**step["count"])) for step in data["steps"])
    data["program"] = Program.from_dict(data["program"])
    data["arrangement"] = Arrangement(tuple(back), unit)
    return SearchResult(**data)


def _digest_of_sources() -> str:
    here = Path(__file__).parents[1]
    result = sha256()
    for path in (here / name for name in READ_BY_SEARCH):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            result.update(str(file.relative_to(here)).encode() + file.read_bytes())
    return result.hexdigest()


SEARCH_SOURCES = _digest_of_sources()
"""Digest of the files `READ_BY_SEARCH` at import, since files may change while a process runs."""

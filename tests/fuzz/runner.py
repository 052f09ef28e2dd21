"""Run trials in separate processes, so that a crash or a hang counts as a failure."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event
from typing import NamedTuple

from fuzz.worker import Class, Worker


class Failure(NamedTuple):
    """A seed that failed, with the traceback or the way in which the process ended."""

    seed: int
    reason: str


class Result(NamedTuple):
    """The result of a class: number of trials, failures and duration."""

    tried: int
    failures: list[Failure]
    seconds: float


def run(
    tried: Class,
    folder: Path,
    seconds: float = float("inf"),
    trials: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[int, Failure | None], None] = lambda tried, failed: None,
) -> Result:
    """Try seeds from `seed` on, until the time or the number of trials is used up.

    A failed trial leaves its files in a folder of `folder` that is named by the seed. `report` is
    called after every trial, with the number of trials so far and the failure or None.
    """
    begun = time.monotonic()
    numbers = count(seed) if trials is None else iter(range(seed, seed + trials))
    failures: list[Failure] = []
    tally = count(1)
    stop = Event()

    def left() -> Iterator[int]:
        while time.monotonic() - begun < seconds and not stop.is_set():
            if (number := next(numbers, None)) is None:
                return
            yield number

    def job(_: int) -> int:
        done, worker = 0, None
        for number in left():
            if worker is None or not worker.alive:
                worker = Worker(tried, folder)
            reason = worker.failure(number)
            failed = Failure(number, reason) if reason else None
            failures.extend([failed] if failed else [])
            report(next(tally), failed)
            done += 1
        if worker is not None:
            worker.end()
        return done

    with ThreadPoolExecutor(jobs) as threads:
        try:
            done = sum(threads.map(job, range(jobs)))
        finally:
            stop.set()
    return Result(done, sorted(failures), time.monotonic() - begun)

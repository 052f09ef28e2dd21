"""Trials in processes of their own, so that a crash or a hang is counted like any other failure."""

import faulthandler
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing import connection, get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

CONTEXT = get_context("spawn")
"""Fresh interpreters: nothing that the caller has loaded or started is shared with a trial."""
STARTUP = 60
"""Seconds that a process may take before its first trial."""

Trial = Callable[[np.random.Generator, Path], None]


class Class(NamedTuple):
    """What is tried, and what one trial may take."""

    trial: Trial
    about: str
    limit: float = 60
    """Seconds of one trial."""
    memory: float = 0
    """Bytes of address space of the process; 0 where there is no limit."""
    share: float = 1
    """Its part of the time, beside the others'."""
    missing: Callable[[], str] = str
    """Why it cannot be tried here, or an empty text."""


class Failure(NamedTuple):
    """A seed that failed, with the traceback or how the process ended."""

    seed: int
    reason: str


class Result(NamedTuple):
    """What became of a class."""

    tried: int
    failures: list[Failure]
    seconds: float


def failure(trial: Trial, seed: int, folder: Path) -> str:
    """The traceback of one trial, or an empty text; its folder stays only where it failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        trial(np.random.default_rng(seed), folder)
    except Exception:
        return traceback.format_exc()
    shutil.rmtree(folder)
    return ""


class Worker:
    """A process that tries the seeds it is given, one at a time."""

    def __init__(self, tried: Class, folder: Path) -> None:
        self.limit = tried.limit
        self.stack = tempfile.NamedTemporaryFile("r")  # noqa: SIM115
        self.pipe, theirs = CONTEXT.Pipe()
        args = (theirs, tried, folder, self.stack.name)
        self.process = CONTEXT.Process(target=_work, args=args, daemon=True)
        self.process.start()
        theirs.close()
        self.alive = True
        if refused := self._answer(STARTUP):
            raise RuntimeError(f"no trial can begin: {refused}")

    def failure(self, seed: int) -> str:
        """What failed with a seed, or an empty text; the worker may not be alive afterwards."""
        self.pipe.send(seed)
        return self._answer(self.limit)

    def _answer(self, seconds: float) -> str:
        try:
            if self.pipe.poll(seconds):
                return str(self.pipe.recv())
            ended = f"no end after {seconds} s"
        except EOFError:
            self.process.join()
            code = self.process.exitcode or 0
            ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self.end()
        return f"{self.stack.read()}the process: {ended}"

    def end(self) -> None:
        self.alive = False
        self.process.kill()
        self.process.join()


def _work(pipe: connection.Connection, tried: Class, folder: Path, stack: str) -> None:
    # A terminal sends Ctrl-C to every process: the caller ends this one. Unlike SIG_IGN, a handler
    # is not inherited by the programs that a trial starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    if tried.memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(tried.memory), int(tried.memory)))
    with open(stack, "w") as file:
        faulthandler.enable(file)
        pipe.send("")
        while True:
            seed = pipe.recv()
            pipe.send(failure(tried.trial, seed, folder / str(seed)))


def run(
    tried: Class,
    folder: Path,
    seconds: float = float("inf"),
    trials: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[int, Failure | None], None] = lambda tried, failed: None,
) -> Result:
    """Try the seeds from the first on, until the time or the number of trials is used up.

    What a failed trial has left in its folder stays in `folder`, under the seed. `report` is told
    after every trial how many there were and what failed, if it did.
    """
    begun = time.monotonic()
    numbers = count(seed) if trials is None else iter(range(seed, seed + trials))
    failures: list[Failure] = []
    tally = count(1)

    def left() -> Iterator[int]:
        while time.monotonic() - begun < seconds and (number := next(numbers, None)) is not None:
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
        done = sum(threads.map(job, range(jobs)))
    return Result(done, sorted(failures), time.monotonic() - begun)

"""One process after another that tries seeds and may crash, hang or run out of memory."""

import faulthandler
import os
import resource
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection, get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

CONTEXT = get_context("spawn")
"""Fresh interpreters: nothing that the caller has loaded or started is shared with a trial."""
SLICE = 0.25
"""Seconds between two looks at a process."""
STARTUP = 60
"""Seconds that a process may take before its first trial."""

Trial = Callable[[np.random.Generator, Path], None]


class Class(NamedTuple):
    """What is tried, and what one trial may take."""

    trial: Trial
    about: str
    limit: float = 60
    """Seconds that one trial may compute, or do nothing."""
    memory: float = 0
    """Bytes of address space of the process; 0 where there is no limit."""
    share: float = 1
    """Its part of the time, beside the others'."""
    missing: Callable[[], str] = str
    """Why it cannot be tried here, or an empty text."""


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


def processor_seconds(pid: int) -> float:
    """How long a process and the children it has waited for have computed, by Linux's account."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return sum(map(int, text.split()[11:15])) / os.sysconf("SC_CLK_TCK")


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
        """The answer, if it comes within so many seconds of computing, or of doing nothing."""
        begun = used = processor_seconds(self.process.pid)
        idle = 0.0
        try:
            while used - begun < seconds and idle < seconds:
                if self.pipe.poll(SLICE):
                    return str(self.pipe.recv())
                before, used = used, processor_seconds(self.process.pid)
                idle = idle + SLICE if used == before else 0.0
            ended = f"no end after {used - begun:.3g} s of computing and {idle:.3g} s of nothing"
        except EOFError:
            self.process.join()
            code = self.process.exitcode or 0
            ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self.kill()
        return f"{self.stack.read()}the process: {ended}"

    def end(self) -> None:
        """Let the process clean up, and not wait for ever."""
        if self.alive:
            self.pipe.send(None)
            self.process.join(STARTUP)
        self.kill()

    def kill(self) -> None:
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
        with suppress(EOFError):  # where the caller has died
            while (seed := pipe.recv()) is not None:
                pipe.send(failure(tried.trial, seed, folder / str(seed)))

"""Processes that run trials, and may crash, hang or run out of memory."""

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
"""New interpreters, so that a trial shares no modules or threads with the caller."""
SLICE = 0.25
"""The interval between two checks of a process, in s."""
STARTUP = 60
"""The most time that a process may take before its first trial, in s."""

Trial = Callable[[np.random.Generator, Path], None]


class Class(NamedTuple):
    """A class of trials, with the limits of one trial."""

    trial: Trial
    about: str
    limit: float = 60
    """The longest time that one trial may compute, and may be idle, in s."""
    memory: float = 0
    """The limit of the address space of the process, in bytes; 0 for no limit."""
    share: float = 1
    """The share of the time, relative to the other classes."""
    missing: Callable[[], str] = str
    """Returns why the class cannot run on this machine, or an empty text."""


def failure(trial: Trial, seed: int, folder: Path) -> str:
    """Run one trial; return its traceback, or an empty text. The folder of a failure stays."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        trial(np.random.default_rng(seed), folder)
    except Exception:
        return traceback.format_exc()
    shutil.rmtree(folder)
    return ""


def processor_seconds(pid: int) -> float:
    """The processor time of a process and of its ended children, from Linux's /proc, in s."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return sum(map(int, text.split()[11:15])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A process that runs trials by their seeds, one at a time."""

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
        """Run the trial of a seed; return the failure or an empty text. This may end the worker."""
        self.pipe.send(seed)
        return self._answer(self.limit)

    def _answer(self, seconds: float) -> str:
        """The answer of the process, or a failure after `seconds` of computing or of idling."""
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
        """Let the process clean up and end; kill it if this takes too long."""
        if self.alive:
            self.pipe.send(None)
            self.process.join(STARTUP)
        self.kill()

    def kill(self) -> None:
        self.alive = False
        self.process.kill()
        self.process.join()


def _work(pipe: connection.Connection, tried: Class, folder: Path, stack: str) -> None:
    # A terminal sends Ctrl-C to every process, but the caller ends this process. Unlike SIG_IGN, a
    # handler is not inherited by the programs that a trial starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    if tried.memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(tried.memory), int(tried.memory)))
    with open(stack, "w") as file:
        faulthandler.enable(file)
        pipe.send("")
        with suppress(EOFError):  # the caller has died
            while (seed := pipe.recv()) is not None:
                pipe.send(failure(tried.trial, seed, folder / str(seed)))

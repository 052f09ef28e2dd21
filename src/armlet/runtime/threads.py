"""Threads beside the caller's: some share rows of states, others compile.

Python raises Ctrl-C in the main thread only, between any two of its bytecodes. There it can break
off the locks, events and executors of the standard library that are written in Python, which then
stay locked for good. What is used here is written in C: start_new_thread, SimpleQueue and locks.
"""

import os
import sys
from _thread import allocate_lock, get_ident, start_new_thread
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np

from armlet.errors import DataError, quoted

T = TypeVar("T")
Job = Callable[[], None]
HEARING = 0.2
"""Seconds that a wait lasts before Ctrl-C is looked for."""


class Workers:
    """Threads that do the jobs of a queue, started when they are needed and never ended.

    Parameters
    ----------
    most : int
        How many threads there may be.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Forget the threads, which a forked process does not have."""
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.idents: list[int] = []
        self.growing = allocate_lock()

    def started(self, count: int) -> int:
        """How many threads there are, after an attempt to have so many, but no more than `most`."""
        with self.growing:
            while len(self.idents) < min(count, self.most):
                try:
                    self.idents.append(start_new_thread(_do, (self.jobs,)))
                except RuntimeError:  # the system gives no more, or Python is about to exit
                    break
            return len(self.idents)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function returns, called by a worker while the caller can be interrupted.

        An interrupted caller leaves the worker to finish on its own. Where no worker can take the
        call, since there is none, Python exits or the caller is the worker, the caller does it.
        """
        if sys.is_finalizing() or get_ident() in self.idents or not self.started(1):
            return function(*args)
        answer: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self.jobs.put(partial(_answer, answer, function, args))
        value, error = next_in(answer)
        if error is not None:
            raise error
        return value

    def drop(self) -> None:
        """Forget the jobs that are not begun."""
        with suppress(Empty):
            while True:
                self.jobs.get_nowait()


def next_in(queue: SimpleQueue[T]) -> T:
    """The next thing in a queue; the wait can be interrupted whichever thread gets the signal."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=HEARING)


def _do(jobs: SimpleQueue[Job]) -> None:
    while True:
        jobs.get()()  # no name keeps a job, and the arrays it holds, while the next is awaited


def _answer(answer: SimpleQueue[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        answer.put((function(*args), None))
    except BaseException as error:
        answer.put((None, error))


HELPERS = Workers((os.cpu_count() or 1) - 1)
"""The threads that help with rows: with the caller's, one per core."""


def check_threads(threads: int) -> None:
    """Refuse a number of threads that is none."""
    if not isinstance(threads, int | np.integer) or threads < 1:
        raise DataError(f"threads is {quoted(threads)}: expected a whole number, 1 or more")


def parallel_for(
    work: Callable[[int, int], None], count: int, step: int, threads: int = 1, grain: int = 1
) -> None:
    """Do work(start, stop) on all rows, in blocks of at most `step`, each by the next free thread.

    Every block but the last has a multiple of `grain` rows, as `step` must be.
    Interrupted, it waits for the blocks in hand, so that nothing is written after it has returned.
    A second interrupt ends that wait: `work` must keep alive what it writes to.
    """
    threads = min(int(threads), HELPERS.most + 1)
    if threads == 1 or count < 2 * threads:
        _Loop(work, count, step).run()
        return
    share = -(-count // (threads * grain)) * grain
    loop = _Loop(work, count, min(step, share))
    try:
        for _ in range(min(threads - 1, HELPERS.started(threads - 1))):
            HELPERS.jobs.put(loop.help)
        loop.run()
    finally:
        loop.stop()
    if loop.errors:
        raise loop.errors[0]


class _Loop:
    """The blocks of a loop over rows, those that are left, and who is at work on them."""

    def __init__(self, work: Callable[[int, int], None], count: int, step: int) -> None:
        self.work, self.count, self.step = work, count, step
        self.left = iter(range(0, count, step))
        self.begun: list[None] = []
        self.ended: list[None] = []
        self.wake: SimpleQueue[None] = SimpleQueue()
        self.errors: list[BaseException] = []

    def run(self) -> None:
        """Do blocks as long as there are any."""
        for start in self.left:
            self.work(start, min(start + self.step, self.count))

    def help(self) -> None:
        """The same in a helper, which says so before it takes a block."""
        self.begun.append(None)
        try:
            self.run()
        except BaseException as error:
            self.errors.append(error)
        self.ended.append(None)
        self.wake.put(None)

    def stop(self) -> None:
        """Give out no more blocks, and wait for the helpers; one that begins now finds none."""
        deque(self.left, maxlen=0)
        while len(self.ended) < len(self.begun):
            next_in(self.wake)

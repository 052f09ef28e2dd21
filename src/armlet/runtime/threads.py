"""Worker threads: helpers that share the states of a batch, and threads that call LLVM.

Python raises KeyboardInterrupt in the main thread only, between any two bytecodes. Objects that are
written in Python, such as `threading.Event` and executors, may then stay locked forever. This
module uses only primitives written in C: start_new_thread, SimpleQueue and locks.
"""

import atexit
import os
import signal
import sys
from _thread import RLock, allocate_lock, get_ident, interrupt_main, start_new_thread
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from time import sleep
from types import ModuleType
from typing import Any, TypeVar, cast

T = TypeVar("T")
Job = Callable[[], None]
POLL = 0.2
"""Seconds between two checks for Ctrl-C during a wait."""


class Workers:
    """Up to `most` threads, which run the jobs of a queue; they start when needed and never end."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Reset the queue and the list of threads: a forked process inherits no threads."""
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.idents: list[int] = []
        self.growing = allocate_lock()

    def start(self, count: int) -> int:
        """Start threads until `count` (at most `self.most`) run; return how many run."""
        with self.growing:
            while len(self.idents) < min(count, self.most):
                try:
                    self.idents.append(start_new_thread(_work, (self.jobs,)))
                except RuntimeError:  # no more threads are allowed, or Python is about to exit
                    break
            return len(self.idents)


def _work(jobs: SimpleQueue[Job]) -> None:
    while True:
        jobs.get()()  # no variable keeps a finished job and its arrays alive during the wait


def wait_for(queue: SimpleQueue[T]) -> T:
    """Return the next item of a queue; Ctrl-C ends the wait, whichever thread receives it."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=POLL)


# ------------------------------------------------------------------ rows of states

HELPERS = Workers((os.cpu_count() or 1) - 1)
"""The helper threads: one fewer than cores, since the caller's thread takes part."""


def parallel_for(
    work: Callable[[int, int], None], count: int, step: int, threads: int = 1, grain: int = 1
) -> None:
    """Call work(start, stop) on blocks of at most `step` rows, each in the next free thread.

    Every block but the last has a multiple of `grain` rows; `step` must be a multiple of `grain`.
    After an interrupt, `parallel_for` waits for running blocks, so that nothing is written after
    it returns. A second interrupt ends this wait while blocks may still be written; therefore,
    `work` must hold references to its arrays.
    """
    threads = min(int(threads), HELPERS.most + 1)
    if threads == 1 or count < 2 * threads:
        _Loop(work, count, step).run()
        return
    share = -(-count // (threads * grain)) * grain
    loop = _Loop(work, count, min(step, share))
    try:
        for _ in range(min(threads - 1, HELPERS.start(threads - 1))):
            HELPERS.jobs.put(loop.help)
        loop.run()
    finally:
        loop.stop()
    if loop.errors:
        raise loop.errors[0]


class _Loop:
    """The state of `parallel_for`: blocks not yet started, and helper threads at work."""

    def __init__(self, work: Callable[[int, int], None], count: int, step: int) -> None:
        self.work, self.count, self.step = work, count, step
        self.starts = iter(range(0, count, step))
        self.begun: list[None] = []
        self.ended: list[None] = []
        self.wake: SimpleQueue[None] = SimpleQueue()
        self.errors: list[BaseException] = []

    def run(self) -> None:
        for start in self.starts:
            self.work(start, min(start + self.step, self.count))

    def help(self) -> None:
        """Run blocks in a helper thread, after counting the thread in `begun`."""
        self.begun.append(None)
        try:
            self.run()
        except BaseException as error:
            self.errors.append(error)
        self.ended.append(None)
        self.wake.put(None)

    def stop(self) -> None:
        """Drop the blocks that have not started, and wait for helper threads at work."""
        deque(self.starts, maxlen=0)
        while len(self.ended) < len(self.begun):
            wait_for(self.wake)


# ------------------------------------------------------------------ LLVM


def hold_during_forks(lock: RLock) -> None:
    """Acquire a lock before each fork and release it afterwards, in both processes.

    If Ctrl-C keeps the lock from being acquired, the main thread is interrupted again afterwards.
    """

    def release() -> None:
        try:
            lock.release()
        except RuntimeError:
            start_new_thread(interrupt_main, ())

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=release, after_in_child=release)


class LlvmThread(Workers):
    """A thread that calls LLVM; the process neither forks nor exits during a job of the thread.

    Python raises KeyboardInterrupt in the main thread only. Thus Ctrl-C cannot interrupt LLVM here,
    is not lost in a finalizer of llvmlite, and reaches the caller without delay.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self.working = RLock()
        """Held during each job and each fork, so that the process never forks during a job."""
        self.closed = False
        hold_during_forks(self.working)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function that uses LLVM in this thread, and return its result.

        The function runs to its end even if the caller is interrupted. If this thread is closed,
        cannot start or is the caller, or if Python exits, the function runs in the caller's thread.
        """
        if self.closed or sys.is_finalizing() or get_ident() in self.idents or not self.start(1):
            with self.working:
                return function(*args)
        answer: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self.jobs.put(partial(self._answer, answer, function, args))
        result, error = wait_for(answer)
        if error is not None:
            raise error
        return cast("T", result)

    def _answer(
        self, answer: SimpleQueue[Any], function: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        try:
            with self.working:
                result = function(*args)
            answer.put((result, None))
        except BaseException as error:
            answer.put((None, error))

    def begin(self, job: Job) -> bool:
        """Queue a job without waiting; return False if the thread is closed or cannot start."""
        if self.closed or not self.start(1):
            return False
        self.jobs.put(partial(self._after_forks, job))
        return True

    def _after_forks(self, job: Job) -> None:
        """Run a job after all pending forks, which would otherwise have to wait for queued jobs."""
        while FORKS:
            sleep(0.001)
        with self.working:
            job()

    def close(self) -> None:
        """Drop queued jobs and wait for the running one.

        The calling thread keeps `working` locked, so that no other thread uses LLVM afterwards.
        """
        self.closed = True
        with suppress(Empty):
            while True:
                self.jobs.get_nowait()
        self.working.acquire()


IMPORTING = RLock()
"""Held during imports by `import_between_forks`, and during each fork."""
FORKS: list[None] = []
"""One entry for each fork that waits for running LLVM jobs."""
LLVM_THREADS = [LlvmThread() for _ in range(min(os.cpu_count() or 1, 8))]
"""The LLVM threads: all run jobs of `map_unordered`, only the first runs other jobs."""
hold_during_forks(IMPORTING)
if hasattr(os, "register_at_fork"):  # registered last, to be called before the other hooks
    os.register_at_fork(
        before=partial(FORKS.append, None), after_in_parent=FORKS.pop, after_in_child=FORKS.clear
    )


def import_between_forks(name: str) -> ModuleType:
    """Import a module; the process does not fork meanwhile.

    A process that is forked while another thread imports a module inherits the lock of this module,
    and waits forever if it imports the module itself.
    """
    with IMPORTING:
        return import_module(name)


def map_unordered(function: Callable[[int], T], count: int) -> Iterator[tuple[int, T]]:
    """Yield (k, function(k)) in order of completion, for k < `count`; all LLVM threads take part.

    Jobs of other callers may run in between. After an interrupt, `function` is not called again.
    """
    numbers = iter(range(count))
    answers: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

    def do_next(thread: LlvmThread) -> None:
        for k in numbers:
            try:
                answers.put((k, function(k), None))
            except BaseException as error:
                answers.put((k, None, error))
            thread.begin(partial(do_next, thread))
            return

    if any(get_ident() in thread.idents for thread in LLVM_THREADS):
        yield from ((k, function(k)) for k in numbers)
        return
    try:
        begun = [thread.begin(partial(do_next, thread)) for thread in LLVM_THREADS[:count]]
        if not any(begun):
            yield from ((k, LLVM_THREADS[0].call(function, k)) for k in numbers)
            return
        for _ in range(count):
            k, value, error = wait_for(answers)
            if error is not None:
                raise error
            yield k, value
    finally:
        deque(numbers, maxlen=0)


@atexit.register
def _close_at_exit() -> None:
    """Wait for LLVM jobs, which would crash at exit; Ctrl-C ends the wait and the process."""
    try:
        for thread in LLVM_THREADS:
            thread.close()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)

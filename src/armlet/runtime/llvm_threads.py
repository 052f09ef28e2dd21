"""The threads that use LLVM: none is interrupted, and no process is forked or ends under one.

Ctrl-C is not raised in them, so it can neither interrupt LLVM and llvmlite nor be lost in one of
llvmlite's finalizers, and it reaches the caller at once.
"""

import atexit
import os
import signal
from _thread import RLock, get_ident, interrupt_main, start_new_thread
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from time import sleep
from typing import Any, TypeVar

from armlet.runtime.threads import Workers, next_in

T = TypeVar("T")


class LlvmThread:
    """A thread that uses LLVM, started when it is needed."""

    def __init__(self) -> None:
        self.worker = Workers(1)
        self.working = RLock()
        """Held while LLVM works, so that no process is forked in the middle of that."""
        self.closed = False
        if hasattr(os, "register_at_fork"):
            after = self._after_fork
            os.register_at_fork(
                before=self.working.acquire, after_in_parent=after, after_in_child=after
            )

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """What a function that uses LLVM returns, called in this thread."""
        if self.closed:
            return self._undivided(function, *args)
        found: T = self.worker.call(self._undivided, function, *args)
        return found

    def begin(self, function: Callable[..., Any], *args: Any) -> bool:
        """Have a function called that answers for itself; False where that cannot be."""
        if self.closed or not self.worker.started(1):
            return False
        self.worker.jobs.put(partial(self._after_forks, function, *args))
        return True

    def _after_forks(self, function: Callable[..., Any], *args: Any) -> None:
        """Do a job of many, of which the next would else be taken before a fork can begin."""
        while FORKS:
            sleep(0.001)
        self._undivided(function, *args)

    def _undivided(self, function: Callable[..., T], *args: Any) -> T:
        with self.working:
            return function(*args)

    def close(self) -> None:
        """Wait for what LLVM does here; from then on it does nothing but what the caller asks."""
        self.closed = True
        self.worker.drop()
        self.working.acquire()

    def _after_fork(self) -> None:
        """Let LLVM work again; Python drops an interrupt of the wait before a fork: repeat it."""
        try:
            self.working.release()
        except RuntimeError:
            start_new_thread(interrupt_main, ())


FORKS: list[None] = []
"""Has an entry while a process waits for the threads to be forked."""
THREADS = [LlvmThread() for _ in range(min(os.cpu_count() or 1, 8))]
"""The first does everything but what `by_all` shares out."""
if hasattr(os, "register_at_fork"):  # last, so that it is called before the others
    os.register_at_fork(
        before=partial(FORKS.append, None), after_in_parent=FORKS.pop, after_in_child=FORKS.clear
    )


def by_all(function: Callable[[int], T], count: int) -> Iterator[tuple[int, T]]:
    """Each k below a count and function(k), as they are finished, by all threads at once.

    Calls of others come in between. Interrupted, it begins no more of them.
    """
    left = iter(range(count))
    answers: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

    def next_of(thread: LlvmThread) -> None:
        for k in left:
            try:
                answers.put((k, function(k), None))
            except BaseException as error:
                answers.put((k, None, error))
            thread.begin(next_of, thread)
            return

    if any(get_ident() in thread.worker.idents for thread in THREADS):
        yield from ((k, function(k)) for k in left)
        return
    try:
        if not any([thread.begin(next_of, thread) for thread in THREADS[:count]]):
            yield from ((k, THREADS[0].call(function, k)) for k in left)
            return
        for _ in range(count):
            k, value, error = next_in(answers)
            if error is not None:
                raise error
            yield k, value
    finally:
        deque(left, maxlen=0)


@atexit.register
def _before_exit() -> None:
    """Wait for LLVM, which crashes if the process exits under it; Ctrl-C then ends the process."""
    try:
        for thread in THREADS:
            thread.close()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)

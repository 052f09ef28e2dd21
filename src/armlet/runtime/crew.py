"""Threads that share rows of states, kept between calls: making them costs more than the work."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache


@cache
def crew(threads: int) -> ThreadPoolExecutor:
    """So many threads beside the caller's."""
    return ThreadPoolExecutor(threads, thread_name_prefix="armlet")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=crew.cache_clear)


def shared(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Do work(from, to) on all rows, a part a thread; the caller's own does the first."""
    if threads == 1 or count < 2 * threads:
        work(0, count)
        return
    step = -(-count // threads)
    first, *others = [(start, min(start + step, count)) for start in range(0, count, step)]
    waiting = [crew(threads - 1).submit(work, *part) for part in others]
    work(*first)
    for part in waiting:
        part.result()

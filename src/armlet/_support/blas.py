"""Limit BLAS to one thread, for identification with many small matrices.

Threads of OpenBLAS busy-wait for each other. On busy cores, `armlet.excite` took up to a hundred
times as long with two BLAS threads as with one (`benchmarks/excitation.py --threads`).
"""

from contextlib import ContextDecorator
from threading import Lock
from typing import Any


class SingleBlasThread(ContextDecorator):
    """A reentrant, thread-safe context in which BLAS uses one thread.

    The number of threads is a setting of the whole process: the first of several overlapping
    contexts sets it to one, and the last to end restores the previous number.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        import scipy.linalg  # noqa: F401  loads SciPy's own BLAS, so that it is limited too
        from threadpoolctl import ThreadpoolController

        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limiter = ThreadpoolController().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limiter.restore_original_limits()


single_blas_thread = SingleBlasThread()
"""Shared `SingleBlasThread`, for use in a `with` statement or as a decorator."""

"""One thread for BLAS: identification multiplies and factorises many small matrices.

The threads of OpenBLAS wait for one another actively. With two of them, on cores that have other
work, `excite` took up to a hundred times as long as with one: `benchmarks/excitation.py --threads`.
"""

from contextlib import ContextDecorator
from threading import Lock
from typing import Any


class SingleBlasThread(ContextDecorator):
    """A context, reentrant and for any number of threads, in which BLAS uses one thread.

    The number of threads is a setting of the whole process. It is restored when the last call
    that needs one has ended.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        import scipy.linalg  # noqa: F401  SciPy has a BLAS of its own, which is limited if loaded
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
"""For `with`, and as a decorator of functions."""

"""Backends: modules that compile lowered programs and loops, and run the compiled code on arrays.

A backend has the functions of `Backend`; kernels call no others.
"""

from collections.abc import Sequence
from typing import Any, Protocol, cast

from armlet._support.validation import one_of
from armlet.codegen.lower import Lowered
from armlet.errors import CompileError
from armlet.graph import Loop
from armlet.graph.graph import Array
from armlet.graph.signature import Shape
from armlet.runtime.threads import import_between_forks

BACKENDS = {"cpu": "armlet.runtime.cpu"}
"""Name -> module, which is imported when something is compiled for the backend."""
Arrays = Sequence[Array]
Entries = dict[Any, Any] | None
"""Value of an option (such as a frame name) -> callable that handles calls with this value."""


class Target(Protocol):
    """What a backend compiles for, such as a processor, and the dtype of all numbers."""

    @property
    def dtype(self) -> str: ...


class Executable(Protocol):
    """A program, or a loop around a program, compiled by a backend."""

    @property
    def entry_rows(self) -> int:
        """The largest number of states that one call computes without Python; 0 if none."""

    def connect(self, thing: Any, option: str = "", entries: Entries = None) -> bool:
        """Make calls of `thing` run compiled code without Python; return False if impossible."""

    def run(self, arrays: Arrays, results: Arrays, count: int, threads: int, *steps: int) -> None:
        """Compute `count` states or runs, and write their results to `results`.

        For a loop, `steps` are the first step, the number of steps, and the steps per recorded row.
        """

    @property
    def block(self) -> int:
        """The number of steps of a loop between two checks for Ctrl-C."""

    def xla_function(self, rows: int) -> tuple[str, int]:
        """Return the name and the address of a function that XLA calls with `rows` states."""


class Backend(Protocol):
    """Interface of the modules in `BACKENDS`."""

    def host(self, dtype: str) -> Any:
        """Return the target of this machine."""

    def compile(self, code: Lowered, target: Any, loop: Loop | None = None) -> Executable:
        """Compile a lowered program, or a loop with this program as its body."""

    def array(self, x: Any, dtype: str) -> Array:
        """Convert x to an array for compiled code; raise TypeError or ValueError if impossible."""

    def results(
        self, shapes: Sequence[Shape], dtype: str, out: Any = None, inputs: Sequence[Array] = ()
    ) -> list[Array]:
        """Return the arrays to write results to: the checked arrays of `out`, or new arrays."""

    def dispatch(self, thing: Any, inputs: Sequence[str], option: str, entries: Entries) -> bool:
        """Make calls of `thing` run `entries[option value]`; return False if impossible."""


def load_backend(name: str) -> Backend:
    """Return the backend `name`; raise CompileError if there is none."""
    one_of(name, "backend", BACKENDS, CompileError)
    return cast("Backend", import_between_forks(BACKENDS[name]))

"""The backends that run programs: what compiles them, and which arrays they read and write."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from armlet.codegen.lower import Lowered
from armlet.graph.signature import Shape
from armlet.runtime.cpu import Native


class Compiled(Protocol):
    """A lowered program on a machine. Nothing is compiled before it is first needed."""

    def run(self, arrays: Sequence[Any], results: Sequence[Any], count: int, threads: int) -> None:
        """Compute `count` states, one row each; inputs given once have no rows."""

    def entry(
        self,
        otherwise: Callable[..., Any],
        name: str,
        about: str = "",
        option: str = "",
        others: dict[Any, Any] | None = None,
    ) -> Callable[..., Any]:
        """A fast function for a few states that calls `otherwise` for all other arguments.

        `about` is its docstring. The option, an argument after the inputs, selects one of `others`.
        A backend without a fast path returns `otherwise`.
        """

    def connect(self, kernel: Any, otherwise: Callable[..., Any]) -> None:
        """Make that function what calling a kernel does, if the backend has a way."""


class Backend(Protocol):
    """The interface of a backend: compiling programs, and creating and checking arrays."""

    def target(self, dtype: str) -> Any:
        """The default target: all features of this machine."""

    def compile(self, code: Lowered, target: Any) -> Compiled:
        """The program for a target, to be compiled when it is needed."""

    def array(self, x: Any, dtype: str) -> Any:
        """x as an array that compiled code can read; TypeError or ValueError if it is none."""

    def empty(self, shape: Shape, dtype: str) -> Any:
        """An array that compiled code can write to."""

    def check_out(self, array: Any, shape: Shape, dtype: str, others: Sequence[Any]) -> None:
        """Raise DataError if results of that shape cannot be written to an array."""


BACKENDS: dict[str, Backend] = {"llvm": Native()}
"""The backends by name."""

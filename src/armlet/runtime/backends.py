"""The ways to run a program: what compiles it, and whose arrays it reads and writes."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from armlet.codegen.lower import Lowered
from armlet.graph.inputs import Shape
from armlet.runtime.native import Native


class Compiled(Protocol):
    """A lowered program on a machine. Nothing is compiled before it is first needed."""

    def run(self, arrays: Sequence[Any], results: Sequence[Any], count: int, threads: int) -> None:
        """Compute so many states, a row each; inputs given once have no rows."""

    def entry(
        self,
        otherwise: Callable[..., Any],
        name: str,
        about: str = "",
        option: str = "",
        others: dict[Any, Any] | None = None,
    ) -> Callable[..., Any]:
        """A function that computes a few states as fast as can be, and else asks another.

        What it is about is its docstring; the option, an argument after the inputs, chooses one of
        the other functions. A backend without such a way returns the one to ask.
        """

    def connect(self, kernel: Any, otherwise: Callable[..., Any]) -> None:
        """Make that function what calling a kernel does, if the backend has a way."""


class Backend(Protocol):
    """What a kernel asks of a backend; all but compiling is about its arrays."""

    def target(self, dtype: str) -> Any:
        """What code is compiled for if nothing is said: all that this machine has."""

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

"""The options of `armlet.load`, `from_mujoco`, `from_pinocchio` and the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from math import nan
from numbers import Real
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from armlet._support.validation import MAX_SIZE
from armlet.description.coupling import Mimic
from armlet.description.options import PASSIVE, Passive
from armlet.errors import ModelError, quote
from armlet.robot import TOLERANCE

Keywords = ParamSpec("Keywords")
Source = TypeVar("Source")
Options = TypeVar("Options")
Result = TypeVar("Result")
MAX_TOLERANCE = 0.1


@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """What becomes of a robot that is read; `armlet.load` documents each."""

    lock: Mapping[str, float] | None = None
    mimic: Mimic = "couple"
    tool: str | None = None
    gravity: Sequence[float] | None = None
    strict: bool = False
    tolerance: float = TOLERANCE
    passive: Passive = "read"
    order: Literal["file", "pinocchio"] | Sequence[str] = "file"

    def __post_init__(self) -> None:
        lock_values(self.lock)
        if not 0 <= _as_float(self.tolerance) < MAX_TOLERANCE:
            raise ModelError(
                f"tolerance is {quote(self.tolerance)}: expected a number of at least 0 and below "
                f"{MAX_TOLERANCE} (rad)"
            )
        if self.passive not in PASSIVE:
            raise ModelError(f"passive is {quote(self.passive)}: expected 'read' or 'ignore'")


@dataclass(frozen=True, kw_only=True)
class LoadOptions(RobotOptions):
    """The options of a robot that is read from a file."""

    folders: Sequence[str | Path] = ()
    xacro: Mapping[str, str | float | bool] | None = None


@dataclass(frozen=True, kw_only=True)
class ModelOptions(RobotOptions):
    """The options of a robot that is read from the model of another package."""

    name: str | None = None


def takes_options(
    options: Callable[Keywords, Options],
) -> Callable[
    [Callable[[Source, Options], Result]], Callable[Concatenate[Source, Keywords], Result]
]:
    """Decorate a function of a source and options: its callers give the options as keywords.

    They see the keywords with their defaults, in editors and by type checkers too.
    """

    def decorate(
        function: Callable[[Source, Options], Result],
    ) -> Callable[Concatenate[Source, Keywords], Result]:
        @wraps(function)
        def call(source: Source, /, *args: Keywords.args, **kwargs: Keywords.kwargs) -> Result:
            return function(source, options(*args, **kwargs))

        shown = signature(function)
        first = next(iter(shown.parameters.values())).replace(kind=Parameter.POSITIONAL_ONLY)
        parameters = [first, *signature(options).parameters.values()]
        hints = {parameter.name: parameter.annotation for parameter in parameters}
        call.__annotations__ = hints | {"return": shown.return_annotation}
        vars(call)["__signature__"] = Signature(
            parameters, return_annotation=shown.return_annotation
        )
        return call

    return decorate


def lock_values(lock: Mapping[str, float] | None) -> dict[str, float]:
    """The values of joints to lock, by joint name; what is no finite number is refused."""
    if lock is not None and not isinstance(lock, Mapping):
        raise ModelError(f"lock is {quote(lock)}: expected a value for each joint, by its name")
    for name, value in (lock or {}).items():
        if not abs(_as_float(value)) < MAX_SIZE:
            raise ModelError(
                f"joint {quote(name)} cannot be locked at {quote(value)}: expected a finite number"
            )
    return {str(name): float(value) for name, value in (lock or {}).items()}


def _as_float(value: Any) -> float:
    """The value as a float, or NaN if it is not a number."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    except OverflowError:
        return nan

"""Numerical evaluation of a robot's quantities by kernels that are compiled once."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api.programs import compile
from armlet.dynamics import QUANTITIES
from armlet.dynamics.singular import is_singular
from armlet.errors import DataWarning, ModelError
from armlet.robot import RobotModel
from armlet.runtime import Kernel

Array = NDArray[np.float64]
Result = TypeVar("Result")


def evaluated(
    robot: RobotModel,
    method: Callable[..., Result],
    arrays: Sequence[ArrayLike],
    out: Result | None,
    threads: int,
    **options: Any,
) -> Result:
    """The result of a robot's method, computed by the kernel for the given options."""
    name = method.__name__
    asked = {key: x for key, x in options.items() if x is not None and x is not False}
    if "wrench" in asked:
        arrays = (*arrays, asked["wrench"])
        asked["wrench"] = True
    kernel = kernel_of(robot, name, **asked)
    if out is None and threads == 1 and _is_one_state(arrays[0]):
        if not asked and name not in vars(robot):
            _shorten(robot, method, kernel)
        result: Result = kernel.call(*arrays)
    else:
        result = kernel.evaluate(*arrays, out=out, threads=threads)
    return result


def kernel_of(robot: RobotModel, quantity: str, **options: Any) -> Kernel:
    """The kernel of a quantity of a robot, compiled once."""

    def compiled() -> Kernel:
        if robot.symbols:
            raise ModelError(
                f"robot {robot.name!r} has constants without a value ({robot.symbols[0]}, …): it "
                "can be traced and counted, not evaluated"
            )
        return compile(robot, quantity, **options)

    return robot.once(("kernel", quantity, *sorted(options.items())), compiled)


def _is_one_state(q: ArrayLike) -> bool:
    """Whether compiled code can read q directly; lists and batches are converted first."""
    return isinstance(q, np.ndarray) and q.ndim == 1


# ------------------------------------------------------------------ the fast path


class Fallback(partial[Any]):
    """A method bound to its robot, for the arguments that its compiled entry does not handle."""

    def __getattr__(self, name: str) -> Any:
        """The robot's attribute, since CPython pickles an entry as getattr(fallback, its name)."""
        return getattr(self.args[0], name)


def _shorten(robot: RobotModel, method: Callable[..., Any], kernel: Kernel) -> None:
    """Replace a method of this robot by the compiled entry of its kernel.

    Later calls then run machine code directly. This is the only place that writes to an existing
    robot: results stay the same, and pickles and copies leave the entry out. A method that a
    subclass has overridden is not replaced, nor is one that checks its results.
    """
    name = method.__name__
    if getattr(type(robot), name, None) is not method or QUANTITIES[name].inverts == "jacobian":
        return
    signature = inspect.signature(method)
    _, *parameters = (
        x.replace(annotation=inspect.Parameter.empty) for x in signature.parameters.values()
    )
    plain = inspect.Signature(parameters)
    about = f"{name}{plain}\n--\n\n{inspect.getdoc(method)}"
    vars(robot).setdefault(name, kernel.entry(Fallback(method, robot), about))


# ------------------------------------------------------------------ singular postures


def blanked(
    robot: RobotModel, name: str, q: ArrayLike, frame: str | None, results: Result
) -> Result:
    """The results, with nan at singular postures, where they would be arbitrary."""
    options = {} if frame is None else {"frame": frame}
    singular = is_singular(kernel_of(robot, "jacobian", **options).evaluate(q))
    if not singular.any():
        return results
    for result in results:  # type: ignore[attr-defined]
        result[singular] = np.nan
    where = f"{int(singular.sum())} of {singular.size} postures are" if singular.ndim else "q is"
    first = f", the first at index {tuple(map(int, np.argwhere(singular)[0]))}"
    warnings.warn(
        f"{name}: {where} singular{first if singular.ndim else ''}: frame "
        f"{frame or robot.tool!r} cannot move in all directions there, and the result is nan",
        DataWarning,
        stacklevel=3,
    )
    return results

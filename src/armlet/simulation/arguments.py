"""What a user gives to a simulation or a roll-out: numbers, torques, arguments of functions.

The inputs of a loop are the state, the torques `tau`, the `inertia` of the arm, and what belongs to
the integrator. The arguments of user functions are inputs as well. They are called `arguments.` and
their name, as nothing else is, so that a user may choose any name.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api.functions import Function
from armlet.errors import DataError, quoted
from armlet.graph import Input
from armlet.graph.signature import Shape
from armlet.robot import RobotModel

Array = NDArray[np.float64]
STATE = ("t", "q", "qd")
PREFIX = "arguments."
NUMERIC = "biufO"
"""The kinds of NumPy dtypes that are converted: booleans, numbers, and objects that are numbers."""


def numbers(name: str, x: Any) -> Array:
    """An array of real numbers; `DataError` if it is none."""
    try:
        array = np.asarray(x)
        if array.dtype.kind in NUMERIC:
            return array.astype(float)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError is PyTorch's
        pass
    raise DataError(f"{name} is {quoted(x)}: expected real numbers")


def positive(name: str, x: Any, expected: str) -> float:
    """A finite number above 0; `DataError` if it is none."""
    array = numbers(name, x)
    if array.shape or not np.isfinite(array) or array <= 0:
        raise DataError(f"{name} is {quoted(x)}: expected {expected}, more than 0")
    return float(array)


def check_steps(dt: float, steps: int, every: int) -> None:
    """Refuse a length of steps, or a number of them, that is none."""
    positive("dt", dt, "a length of time in s")
    for name, count in (("steps", steps), ("every", every)):
        if not isinstance(count, int | np.integer) or count < 1:
            raise DataError(f"{name} is {quoted(count)}: expected a whole number, 1 or more")


# ------------------------------------------------------------------ arguments of functions


def argument(name: str) -> str:
    """The input of a loop that is an argument of user functions."""
    return PREFIX + name


def call_arguments(
    function: Function, state: Mapping[str, Any], inputs: Mapping[str, Any]
) -> list[Any]:
    """The arguments of a user function in its order, from the state and the inputs of a loop."""
    return [state[x] if x in state else inputs[argument(x)] for x in function.inputs]


def arguments_by_name(arguments: Mapping[str, ArrayLike] | None) -> Mapping[str, ArrayLike]:
    """The arguments of user functions, none by default."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise DataError(f"arguments is {quoted(arguments)}: expected a dictionary")
    return arguments


def check_result(name: str, function: Function | None, shape: Shape) -> None:
    """Refuse what is no function under `armlet.function`, or returns arrays of other shapes."""
    if function is None:
        return
    if not isinstance(function, Function):
        raise DataError(f"{name} is {quoted(function)}: expected a function under armlet.function")
    shapes = [y.shape for y in function.program.outputs]
    if shapes != [shape]:
        expected = f"one array of shape {shape}" if shape else "one number"
        raise DataError(f"{function!r} returns shapes {shapes}: expected {expected}")


class Arguments:
    """Torques, inertias and arguments of user functions, as the inputs of a loop.

    Parameters
    ----------
    robot : RobotModel
    runs : int or None
        The number of motions; None for one motion, whose arrays have no axis for it.
    steps : int
    arguments : mapping of str to array_like
    torque : Function, array_like or None
    reduce : Function, optional
    inertia : array_like, optional
    """

    def __init__(
        self,
        robot: RobotModel,
        runs: int | None,
        steps: int,
        arguments: Mapping[str, ArrayLike],
        torque: Any,
        reduce: Function | None = None,
        inertia: ArrayLike | None = None,
    ) -> None:
        if callable(torque) and not isinstance(torque, Function):
            raise DataError(
                f"torque is {quoted(torque)}: expected a function under armlet.function"
            )
        self.torque = torque if isinstance(torque, Function) else None
        check_result("torque", self.torque, (robot.nv,))
        check_result("reduce", reduce, ())
        self.rates: dict[str, Shape] = {"once": (), "step": (steps,)}
        if runs is not None:
            self.rates |= {"run": (runs,), "state": (steps, runs)}
        inputs: list[Input] = []
        self.values: list[Array] = []

        def add(name: str, label: str, value: Any, shape: Shape) -> None:
            array = numbers(label, value)
            inputs.append(Input(name, shape, self._rate(label, array, shape)))
            self.values.append(array)

        if torque is not None and self.torque is None:
            add("tau", "torque", torque, (robot.nv,))
        if inertia is not None:
            add("inertia", "inertia", inertia, (robot.nb, 10))
        known = (*STATE, "tau") if any(x.name == "tau" for x in inputs) else STATE
        shapes = _shapes(self.torque, STATE, arguments)
        for name, shape in _shapes(reduce, known, arguments).items():
            if shapes.setdefault(name, shape) != shape:
                raise DataError(
                    f"{name!r} is an argument of shape {shapes[name]} of {self.torque!r} and of "
                    f"shape {shape} of {reduce!r}: expected the same, or two names"
                )
        for name, value in arguments.items():
            if name not in shapes:
                raise DataError(f"no function has an argument {name!r}: expected one that has")
            add(argument(name), name, value, shapes[name])
        self.inputs = tuple(inputs)

    def _rate(self, name: str, array: Array, shape: Shape) -> str:
        """How often an input changes, by its shape."""
        fits = [rate for rate, axes in self.rates.items() if array.shape == (*axes, *shape)]
        if len(fits) > 1 and self.rates.get("run") == (1,):  # a value for all steps, or for each
            fits = [rate for rate in fits if rate in ("once", "step")]
        if not fits:
            expected = ", ".join(str((*axes, *shape)) for axes in self.rates.values())
            raise DataError(f"{name} has shape {array.shape}: expected one of {expected}")
        if len(fits) > 1:
            raise DataError(
                f"{name} has shape {array.shape}, and there are as many motions as steps: expected "
                f"a value for both, of shape {(*self.rates['state'], *shape)}"
            )
        return fits[0]


def _shapes(
    function: Function | None, known: tuple[str, ...], arguments: Mapping[str, ArrayLike]
) -> dict[str, Shape]:
    """The shapes of a function's arguments beside what is known; each must have a value."""
    if function is None:
        return {}
    shapes = {x.name: x.shape for x in function.inputs.values() if x.name not in known}
    for name in shapes:
        if name not in arguments:
            raise DataError(
                f"{function!r} has an argument {name!r} that is not given: expected "
                f"arguments={{{name!r}: ...}}"
            )
    return shapes

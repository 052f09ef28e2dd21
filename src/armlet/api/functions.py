"""User functions: programs traced from Python functions, which may call robot methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import validation
from armlet._support.lazy import cached_property
from armlet.errors import ArmletError, CompileError, quote
from armlet.graph import Count, Input, Program
from armlet.graph.graph import Array, graph_of, object_array
from armlet.graph.signature import Names, check_names
from armlet.graph.trace.arrays import as_traced
from armlet.graph.trace.calls import Recording
from armlet.graph.trace.errors import untraceable_function
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.runtime.arrays import library_of
from armlet.runtime.arrays.traced import record_program
from armlet.runtime.kernel import in_order
from armlet.runtime.python_call import vectorcalled
from armlet.search.compose import Composition, cheapest_composition

Shape = int | tuple[int, ...] | Input
"""The shape of an argument: a length, a tuple of lengths, or an `Input` with shape and rate."""
Results = NDArray[np.float64] | tuple[NDArray[np.float64], ...]
NUMBERS = (int, float, np.number)


def function(*robots: RobotModel, **shapes: Shape) -> Callable[[Callable[..., Any]], Function]:
    """Decorate a Python function to count, compile, differentiate or print it as a program.

    The function is called once with traced arrays, which record the operations of NumPy functions,
    of `armlet.math` and of robot methods. The result is one program, simplified as a whole;
    operations that several quantities have in common are computed once.

    Parameters
    ----------
    *robots : Robot
        The first robot determines the default shapes of the arguments q, qd, qdd and tau. If there
        is a robot, the argument t (time) is a scalar by default.
    **shapes : int, tuple of int or Input
        The shapes of further arguments for one state: `target=3`, `gains=(2, 6)`, `dt=()`. With
        `armlet.Input(name, shape, "once")`, a call may pass one value for all states. An argument
        without a shape is fixed at its default value.

    Returns
    -------
    callable
        A decorator that returns a `Function`, which takes arrays for one state or many.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> @armlet.function(robot, target=3)
    ... def reach(q, qd, target):
    ...     X, Jq = robot.forward_kinematics(q), robot.jacobian(q)[3:]
    ...     return robot.gravity_torque(q) + Jq.T @ (400 * (target - X[:3, 3]) - 40 * Jq @ qd)
    >>> reach.count()
    Count(M=18, A=15, functions=(('cos', 3), ('sin', 3)))
    >>> reach(np.zeros(2), np.zeros(2), np.array([2.0, 0.1, 0.0])).round(3).tolist()
    [99.62, 44.905]
    >>> reach.derivative("target").outputs[0].shape
    (2, 3)
    """

    for robot in robots:
        validation.instance(robot, "robot", RobotModel, "@armlet.function(robot)")

    return lambda function: Function(function, _inputs(function, robots, shapes))


@vectorcalled
class Function:
    """A user function as a program, created by the decorator `armlet.function`.

    The function is traced on its first use and compiled on its first call. The original Python
    function, `__wrapped__`, computes the same results for NumPy arrays of one state.
    """

    __slots__ = ("__dict__", "__weakref__", "callee")
    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., object], inputs: Mapping[str, Input]) -> None:
        self.inputs = dict(inputs)
        update_wrapper(self, function)
        for name in ("__name__", "__qualname__"):
            vars(self).setdefault(name, "function")  # a callable object may have no name
        self._function = function
        self._kernels: dict[str, Kernel] = {}

    def __reduce__(self) -> str:
        """Pickle the function by its name, as Python functions are pickled."""
        return self.__qualname__

    @cached_property
    def program(self) -> Program:
        """The cheapest program for the function, found by a search over formulations."""
        return cheapest_composition(self._composition()).program

    @property
    def kernel(self) -> Kernel:
        """The float64 kernel, which runs the program as machine code."""
        return self.kernel_for("float64")

    def kernel_for(self, dtype: str) -> Kernel:
        if dtype not in self._kernels:
            self._kernels.setdefault(dtype, Kernel(self.program, dtype))
        return self._kernels[dtype]

    def record(self, arrays: Sequence[ArrayLike]) -> Array | tuple[Array, ...]:
        """Record the program in the graph of the traced `arrays`; return the traced results."""
        return record_program(self.program, arrays)

    def __call__(
        self,
        *arrays: ArrayLike,
        out: NDArray[np.float64] | Sequence[NDArray[np.float64]] | None = None,
        threads: int = 1,
        **named: ArrayLike,
    ) -> Results:
        """Return the results for one state or many; arguments are passed by position or by name."""
        if threads == 1 and not self.kernel.takes_long(arrays):
            self.kernel.compiled().connect(self)  # later calls run the compiled entry
        results: Results = self._fallback(*arrays, out=out, threads=threads, **named)
        return results

    def _fallback(self, *arrays: Any, out: Any = None, threads: int = 1, **named: Any) -> Any:
        """Handle calls with several threads, long batches or arrays of other libraries."""
        if named:
            arrays = in_order(self.program, arrays, named)
        if library := library_of(arrays, out):
            return library.evaluate(self, arrays, threads)
        return self.kernel(*arrays, out=out, threads=threads)

    def count(self) -> Count:
        """Return the numbers of operations as a `Count`, by the conventions of the literature."""
        return self.program.count()

    def source(self, target: str = "c", **options: str | bool | None) -> str:
        """Return the program as source code; `Program.source` documents the options."""
        source: Callable[..., str] = self.program.source
        return source(target, **options)

    def derivative(self, wrt: str, mode: str = "forward") -> Program:
        """Return a program for the derivatives with respect to `wrt`; see `Program.derivative`."""
        return self.program.derivative(wrt, mode)

    def function(self, library: str | ModuleType = np) -> Callable[..., Any]:
        """Return a function that runs the program on library arrays; see `Program.function`."""
        return self.program.function(library)

    def __repr__(self) -> str:
        return f"<Function {self.__name__}({', '.join(self.inputs)})>"

    def _composition(self) -> Composition:
        """Call the function with traced arrays; return the recorded quantities and results."""
        recording = Recording()
        args = {}
        for name, x in self.inputs.items():
            entries = [recording.input(name, k) for k in range(x.size)]
            args[name] = as_traced(object_array(entries, x.shape)) if x.shape else entries[0]
        try:
            result = self._function(**args)
        except (TypeError, IndexError, AttributeError, ArithmeticError) as error:
            if isinstance(error, ArmletError):
                raise
            raise untraceable_function(error) from error
        outputs, single, names = self._outputs(result)
        return Composition(self.__name__, self.inputs, recording, outputs, single, names)

    def _outputs(self, result: Any) -> tuple[list[Any], bool, Names | None]:
        """Return (arrays in the result, whether the result is a single array, names of results)."""
        names = getattr(result, "_fields", None)
        if isinstance(result, Mapping):
            names, result = tuple(result), tuple(result.values())
        if names is not None:
            check_names(names)
        single = not isinstance(result, tuple)
        outputs = []
        for y in (result,) if single else result:
            entries = []
            for x in (array := np.asarray(y, dtype=object)).flat:
                if graph_of([x]) is None and not isinstance(x, NUMBERS):
                    raise CompileError(
                        f"{self.__name__} returns {quote(x)}: expected arrays of numbers "
                        "and of what it computes, or a tuple or a dictionary of these"
                    )
                entries.append(x.item() if isinstance(x, np.generic) else x)
            outputs.append(object_array(entries, array.shape))
        return outputs, single, names


def _inputs(
    function: Callable[..., Any], robots: Sequence[RobotModel], shapes: Mapping[str, Shape]
) -> dict[str, Input]:
    """Return argument name -> input, in the order of the function's signature."""
    state: dict[str, Shape] = {}
    if robots:
        n = robots[0].nv
        state = {"q": robots[0].nq, "qd": n, "qdd": n, "tau": n, "t": ()}
    name = getattr(function, "__name__", "function")
    parameters = inspect.signature(function).parameters
    for key in shapes:
        if key not in parameters:
            raise CompileError(
                f"{name} has no argument {key!r}: expected one of {', '.join(parameters)}"
            )
    inputs = {}
    for argument, parameter in parameters.items():
        if argument in ("out", "threads"):
            raise CompileError(
                f"{name} has an argument {argument!r}, which means something else in a call: "
                "choose another name"
            )
        if argument not in shapes and argument not in state:
            if parameter.default is not parameter.empty:
                continue
            raise CompileError(
                f"the shape of argument {argument!r} of {name} is not given: expected "
                f"armlet.function(..., {argument}=3) or the like"
            )
        shape = shapes.get(argument, state.get(argument, ()))
        if isinstance(shape, Input):
            inputs[argument] = shape._replace(name=argument)
        else:
            axes = shape if isinstance(shape, tuple | list) else (shape,)
            subject = f"the shape of argument {argument!r}"
            sizes = (validation.integer(x, subject, "a length or a tuple", low=0) for x in axes)
            inputs[argument] = Input(argument, tuple(sizes))
    return inputs

"""How a quantity is evaluated, by the kind of array that it is given.

NumPy's arrays, and lists of numbers, run the kernel; so do arrays of PyTorch and JAX, which carry
derivatives. Other scalars give expressions. `KINDS` has all but NumPy's, keyed by the package that
an array's type, or the type of its entries, belongs to.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from armlet.api.programs import compile
from armlet.errors import ModelError
from armlet.graph import Program
from armlet.graph.evaluate import check_matrices
from armlet.graph.graph import graph_of, object_array
from armlet.graph.signature import return_value
from armlet.graph.trace.arrays import as_traced
from armlet.robot import RobotModel
from armlet.robot.robot import GROUPS
from armlet.runtime import Kernel
from armlet.runtime.arrays.libraries import library_of
from armlet.scalar import package_of
from armlet.search.cheapest import cheapest_program
from armlet.search.compose import recorded
from armlet.search.request import request

Evaluation = Callable[[RobotModel, str, Sequence[Any], Mapping[str, Any], int], Any]
"""The results of a quantity, given the robot, its name, the arrays, the options and threads."""


def kind_of(arrays: Sequence[Any]) -> str:
    """The package of the first array in `KINDS`, or of its entries; else numpy."""
    found = (package_of(array, KINDS) for array in arrays)
    return next(filter(None, found), "numpy")


def traced_constants(robot: RobotModel) -> dict[str, dict[str, Any]]:
    """The constants by name of the groups in which one is traced."""

    def groups() -> dict[str, dict[str, Any]]:
        named = {group: robot.constants(group) for group in GROUPS}
        return {group: x for group, x in named.items() if graph_of([[*x.values()]])}

    return robot._once("traced_constants", groups)


def traced_quantity(
    robot: RobotModel, name: str, arrays: Sequence[Any], options: Mapping[str, Any], threads: int
) -> Any:
    """A quantity of traced arrays, recorded in their graph.

    Constants of the robot may be traced too, such as those of a payload: the program then takes
    their group as an argument, with other numbers in their place.
    """
    groups = traced_constants(robot)
    names = [name for values in groups.values() for name in values]
    kinds = dict.fromkeys(groups, "argument")
    one = request(robot.with_constants(dict.fromkeys(names, 1.0)), name, kinds, True, options)
    shapes = [x.shape for x in one.inputs[len(arrays) :]]
    late = [
        object_array([*values.values()], shape)
        for values, shape in zip(groups.values(), shapes, strict=True)
    ]
    arrays = [*(np.asarray(x, dtype=object) for x in arrays), *late]
    graph = graph_of(arrays)
    assert graph is not None
    found = recorded(graph, one, arrays)
    return tuple(map(as_traced, found)) if isinstance(found, tuple) else as_traced(found)


def expressed_quantity(
    robot: RobotModel, name: str, arrays: Sequence[Any], options: Mapping[str, Any], threads: int
) -> Any:
    """A quantity of other scalars, by the operations of the cheapest program."""

    def found() -> Program:
        return cheapest_program(request(robot, name, {}, True, options)).program

    program = robot._once(("program", name, *sorted(options.items())), found)
    return expressed(program, arrays)


def expressed(program: Program, arrays: Sequence[Any]) -> Any:
    """The results of a program as expressions of the library that the arrays are of."""
    program.check_number(arrays)
    kind = kind_of(arrays)
    if kind == "casadi":
        check_matrices(program, arrays)
    found = program.function(kind)(*arrays)
    results = [found] if program.single or not isinstance(found, tuple) else found
    return return_value(results, program.single, program.names)


def computed_quantity(
    robot: RobotModel, name: str, arrays: Sequence[Any], options: Mapping[str, Any], threads: int
) -> Any:
    """A quantity of arrays of PyTorch or JAX, by the kernel of their dtype."""
    library = library_of(arrays)
    assert library is not None
    kernel = kernel_of(robot, name, library.dtype_of(arrays), **options)
    return library.evaluated(kernel, arrays, threads)


def kernel_of(robot: RobotModel, quantity: str, dtype: str = "float64", **options: Any) -> Kernel:
    """The kernel of a quantity of a robot, compiled once."""

    def compiled() -> Kernel:
        if robot.symbols:
            raise ModelError(
                f"robot {robot.name!r} has constants without a value ({robot.symbols[0]}, …): it "
                "can be traced and counted, not evaluated"
            )
        return compile(robot, quantity, dtype=dtype, **options)

    return robot._once(("kernel", quantity, dtype, *sorted(options.items())), compiled)


KINDS: dict[str, Evaluation] = {
    "armlet": traced_quantity,
    "sympy": expressed_quantity,
    "mpmath": expressed_quantity,
    "casadi": expressed_quantity,
    "torch": computed_quantity,
    "jax": computed_quantity,
    "jaxlib": computed_quantity,
}

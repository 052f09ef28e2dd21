"""Evaluation on SymPy, mpmath and CasADi scalars: each operation calls a library function."""

from collections.abc import Sequence
from typing import Any

from armlet.graph.evaluate import check_matrices
from armlet.graph.signature import return_value
from armlet.libraries import LIBRARIES, package_of
from armlet.runtime.arrays import Computation


def evaluate(computation: Computation, arrays: Sequence[Any], threads: int) -> Any:
    """Evaluate a computation: for each operation, call a function of the arguments' library."""
    program = computation.program
    program.check_number(arrays)
    library = next(filter(None, (package_of(array, LIBRARIES) for array in arrays)))
    if library == "casadi":
        check_matrices(program, arrays)
    value = program.function(library)(*arrays)
    results = [value] if program.single or not isinstance(value, tuple) else value
    return return_value(results, program.single, program.names)

"""Evaluation on traced arrays: record computations in the graph of the arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from armlet.errors import DataError
from armlet.graph import Program
from armlet.graph.graph import Array, graph_of
from armlet.graph.signature import return_value
from armlet.graph.trace.arrays import as_traced
from armlet.graph.trace.calls import inline
from armlet.runtime.arrays import Computation


def evaluate(computation: Computation, arrays: Sequence[Any], threads: int) -> Any:
    """Record a computation in the graph of its traced arrays, and return the results."""
    return computation.record(arrays)


def record_program(program: Program, arrays: Sequence[Any]) -> Array | tuple[Array, ...]:
    """Record a program in the graph of its traced arrays, and return the results."""
    args = [np.asarray(x, dtype=object) for x in arrays]
    shapes, expected = [x.shape for x in args], [x.shape for x in program.inputs.values()]
    if shapes != expected:
        raise DataError(
            f"the traced arrays of {program.name} have shapes {shapes}: expected {expected}"
        )
    graph = graph_of(args)
    assert graph is not None
    results = [*map(as_traced, inline(program, graph, args))]
    outputs: Array | tuple[Array, ...] = return_value(results, program.single, program.names)
    return outputs

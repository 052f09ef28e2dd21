"""Derivatives of programs are the limits they are defined as, and those of SymPy."""

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from support.expressions import (
    CONTINUED,
    INPUTS,
    MODES,
    SMOOTH,
    close,
    expressions,
    fifty,
    program_of,
    replayed,
    states,
    value,
)

from armlet.graph import Graph, trace_function
from armlet.graph.differentiate import derivatives


def partial(tree, state, *orders):
    """The derivative of an expression from its definition, to all digits."""
    entries = [(name, k) for name, (size,) in INPUTS.items() for k in range(size)]
    order = [orders.count(entry) for entry in entries]

    def f(*numbers):
        given = {name: {} for name in INPUTS}
        for (name, k), number in zip(entries, numbers, strict=True):
            given[name][k] = number
        return value(tree, given)

    return mpmath.diff(f, [state[name][k] for name, k in entries], order)


def entries(name):
    return [(name, k) for k in range(*INPUTS[name])]


@settings(max_examples=150, deadline=None)
@given(expressions(4, CONTINUED), states(), st.sampled_from(list(INPUTS)))
def test_derivatives_are_the_limits_they_are_defined_as(tree, state, wrt):
    with mpmath.workdps(50):
        state = fifty(state)
        expected = [partial(tree, state, entry) for entry in entries(wrt)]
        for mode in MODES:
            derivative = program_of(tree).derivative(wrt, mode)
            assert derivative.outputs[0].shape == (1, *INPUTS[wrt])
            assert close(replayed(derivative, state), expected, 1e-13)


@settings(max_examples=80, deadline=None)
@given(
    expressions(3, CONTINUED),
    states(),
    *[st.tuples(st.sampled_from(["x", "y"]), st.sampled_from(MODES))] * 2,
)
def test_derivatives_of_derivatives_are_too(tree, state, first, second):
    curvature = program_of(tree).derivative(*first).derivative(*second)
    assert curvature.outputs[0].shape == (1, *INPUTS[first[0]], *INPUTS[second[0]])
    with mpmath.workdps(50):
        state = fifty(state)
        expected = [
            partial(tree, state, a, b) for a in entries(first[0]) for b in entries(second[0])
        ]
        assert close(replayed(curvature, state), expected, 1e-13)


@settings(max_examples=100, deadline=None)
@given(st.lists(expressions(3), min_size=1, max_size=3), states(), states(), st.data())
def test_products_with_derivatives_are_those_of_all_derivatives(trees, state, tangents, data):
    """Of tangents and of cotangents, also where operations choose."""
    program = program_of(*trees)
    jacobian = {
        name: np.reshape(replayed(program.derivative(name), state), (len(trees), size))
        for name, (size,) in INPUTS.items()
    }
    products = replayed(program.jvp(), {**state, **{f"tangent_{k}": tangents[k] for k in INPUTS}})
    assert close(products, sum(jacobian[name] @ tangents[name] for name in INPUTS), 1e-9)
    cotangents = np.array([data.draw(st.floats(-2, 2)) for _ in trees])
    products = replayed(program.vjp(), {**state, "cotangent_expression": cotangents})
    assert close(products, np.concatenate([cotangents @ jacobian[name] for name in INPUTS]), 1e-9)


@settings(max_examples=60, deadline=None)
@given(expressions(3, SMOOTH), states(), st.sampled_from(MODES))
def test_derivatives_are_those_of_sympy(tree, state, mode):
    symbols = {name: sympy.symbols(f"{name}:{size}") for name, (size,) in INPUTS.items()}
    formula = sympy.sympify(value(tree, symbols))
    numbers = {
        symbol: sympy.Float(x, 30)
        for name in INPUTS
        for symbol, x in zip(symbols[name], state[name], strict=True)
    }
    for name in INPUTS:
        expected = [float(formula.diff(x).subs(numbers)) for x in symbols[name]]
        derivative = program_of(tree).derivative(name, mode)
        assert close(replayed(derivative, state), expected, 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(expressions(3), max_size=3), states(), st.sampled_from(MODES))
def test_slopes_are_recorded_beside_what_they_are_slopes_of(trees, state, mode):
    def run(graph, x, y):
        outputs = [value(tree, {"x": x, "y": y}) for tree in trees]
        return derivatives(outputs, [*x, *y], mode)

    matrix = replayed(trace_function("derivatives", run, INPUTS), state)
    by_input = [replayed(program_of(*trees).derivative(name, mode), state) for name in INPUTS]
    rows = [
        np.reshape(by, (len(trees), *INPUTS[name]))
        for name, by in zip(INPUTS, by_input, strict=True)
    ]
    assert close(matrix, np.concatenate(rows, axis=1), 1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_slopes_are_by_inputs_and_symbols_alone(mode):
    graph = Graph()
    x, m = graph.input("x", 0), graph.symbol("m")
    assert derivatives([m * x, 3], [x, m], mode).tolist() == [[m, x], [0, 0]]
    with pytest.raises(ValueError, match="by inputs and symbols"):
        derivatives([-x * m], [-x], mode)


def test_a_derivative_has_the_shape_of_the_output_then_of_the_input():
    def run(graph, x, y):
        return x * y[0], np.array(y[0] + 1), np.zeros((2, 0)), np.array([[7, x[1, 1]]])

    program = trace_function("f", run, {"x": (2, 2), "y": (3,)})
    for mode in MODES:
        shapes = [output.shape for output in program.derivative("x", mode).outputs]
        assert shapes == [(2, 2, 2, 2), (2, 2), (2, 0, 2, 2), (1, 2, 2, 2)]
        constant = program.derivative("x", mode).outputs[3]
        assert constant.tolist() == [[[[0, 0], [0, 0]], [[0, 0], [0, 1]]]]

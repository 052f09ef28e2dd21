"""The expression graph: what is folded, shared, counted and replayed.

The tests run on random expressions, since the dynamics may never use a rule. All rules are exact
in rounded arithmetic too, so a traced expression must give the very numbers it gives untraced.
"""

import itertools

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from support.expressions import (
    INPUTS,
    VARIABLES,
    close,
    expressions,
    fifty,
    near_a_jump,
    operands_of,
    program_of,
    replayed,
    states,
    value,
)

from armlet.errors import CompileError, DataError
from armlet.graph import OPERATIONS, Count, Graph, Traced, trace_function
from armlet.graph.differentiate import derivatives
from armlet.graph.fold import fold, opposite
from armlet.scalar import (
    cos,
    less,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)

# ------------------------------------------------------------------ folding


def traces_exactly(tree, state):
    """Whether an expression, traced and replayed, gives the very number it gives untraced."""
    return replayed(program_of(tree), state) == [value(tree, state)]


def shallow_expressions():
    """Every operation on every kind of operand that a rule may tell apart."""
    x, y = VARIABLES[:2]
    positive = [x, y, ("mul", x, y), 1, 2, 0.5]
    nonzero = [*positive, *(("neg", a) for a in positive[:3]), ("sub", x, y), ("sub", y, x), -1, -3]
    operands = operands_of([*nonzero, 0], positive, nonzero)
    return [(op, *pair) for op in OPERATIONS for pair in itertools.product(*operands[op])]


STATE = {"x": [1.7, 0.3, 0.9], "y": [0.6, 1.1]}


def test_every_operation_on_every_kind_of_operand_gives_the_same_number():
    for tree in shallow_expressions():
        assert traces_exactly(tree, STATE), tree


@settings(max_examples=300, deadline=None)
@given(expressions(5), states())
def test_a_traced_expression_gives_the_same_number(tree, state):
    assert traces_exactly(tree, state)


WRONG = {
    "x + 0 = 0": lambda op, x, y: 0 if op == "add" and has(0, x, y) else None,
    "x - 0 = -x": lambda op, x, y: -x if op == "sub" and has(0, y) else None,
    "0 - x = x": lambda op, x, y: y if op == "sub" and has(0, x) else None,
    "x - x = x": lambda op, x, y: x if op == "sub" and x is y else None,
    "0 x = 1": lambda op, x, y: 1 if op == "mul" and has(0, x, y) else None,
    "1 x = 1": lambda op, x, y: 1 if op == "mul" and has(1, x, y) else None,
    "-1 x = x": lambda op, x, y: y if op == "mul" and has(-1, x) else None,
    "0 / x = 1": lambda op, x, y: 1 if op == "div" and has(0, x) else None,
    "x / 1 = 1": lambda op, x, y: 1 if op == "div" and has(1, y) else None,
    "x / -1 = x": lambda op, x, y: x if op == "div" and has(-1, y) else None,
    "--x = -x": lambda op, x, y: x if op == "neg" and signed(x) else None,
    "sin -x = sin x": lambda op, x, y: minus(x).sin() if op == "sin" and signed(x) else None,
    "cos -x = -cos x": lambda op, x, y: -minus(x).cos() if op == "cos" and signed(x) else None,
    "sign -x = sign x": lambda op, x, y: minus(x).sign() if op == "sign" and signed(x) else None,
    "tanh -x = tanh x": lambda op, x, y: minus(x).tanh() if op == "tanh" and signed(x) else None,
    "|-x| = -|x|": lambda op, x, y: -abs(minus(x)) if op == "abs" and signed(x) else None,
    "min(x, x) = 0": lambda op, x, y: 0 if op == "min" and x is y else None,
    "max(x, x) = 0": lambda op, x, y: 0 if op == "max" and x is y else None,
    "x < x": lambda op, x, y: 1 if op == "less" and x is y else None,
    "x + -y = x + y": lambda op, x, y: x + minus(y) if op == "add" and signed(y) else None,
    "-x + y = x + y": lambda op, x, y: minus(x) + y if op == "add" and signed(x) else None,
    "x - -y = x - y": lambda op, x, y: x - minus(y) if op == "sub" and signed(y) else None,
    "-x - y = x - y": lambda op, x, y: minus(x) - y if op == "sub" and signed(x) else None,
    "-x y = x y": lambda op, x, y: minus(x) * y if op == "mul" and signed(x) else None,
    "x -y = x y": lambda op, x, y: x * minus(y) if op == "mul" and signed(y) else None,
    "-x / y = x / y": lambda op, x, y: minus(x) / y if op == "div" and signed(x) else None,
    "x / -y = x / y": lambda op, x, y: x / minus(y) if op == "div" and signed(y) else None,
}
"""Every rule of `fold`, broken."""


def has(number, *operands):
    """Whether an operand is a number; to compare a traced scalar is to record a comparison."""
    return any(x == number for x in operands if isinstance(x, int | float))


def minus(x):
    return None if x is None else opposite(x)


def signed(x):
    return minus(x) is not None


@pytest.mark.parametrize("rule", WRONG.values(), ids=WRONG)
def test_a_wrong_rule_is_caught(rule, monkeypatch):
    def broken(op, args):
        folded = rule(op, *args[:2], *[None] * (2 - len(args)))
        return fold(op, args) if folded is None else folded

    monkeypatch.setattr("armlet.graph.graph.fold", broken)
    assert not all(traces_exactly(tree, STATE) for tree in shallow_expressions())


SAME = {
    "x + 0": lambda x, y: (x + 0, 0 + x, x - 0, 0.0 + x, x),
    "0 - x": lambda x, y: (0 - x, x * -1, -1 * x, x / -1, -x),
    "x - x": lambda x, y: (x - x, x + -x, 0 * x, x * 0.0, 0 / x, 0),
    "1 x": lambda x, y: (1 * x, x * 1, x * 1.0, x / 1, -(0 - x), +x, x),
    "x + y": lambda x, y: (x + y, y + x, x - -y, y - -x, -(-x - y), -(-y - x)),
    "x - y": lambda x, y: (x - y, x + -y, -y + x, -(y - x), -y - -x),
    "x y": lambda x, y: (x * y, y * x, -x * -y, -(-x * y), -(x * -y)),
    "x / y": lambda x, y: (x / y, -x / -y, -(-x / y), -(x / -y)),
    "3 x": lambda x, y: (3 * x, x * 3, -3 * -x, -(-3 * x), 3.0 * x),
    "x - 3": lambda x, y: (x - 3, x + -3, -3 + x, -(3 - x)),
    "-3 - x": lambda x, y: (-3 - x, -(x + 3), -(3 + x), -x - 3, -x + -3),
    "-3 / x": lambda x, y: (-3 / x, 3 / -x, -(3 / x)),
    "sin": lambda x, y: (sin(x), -sin(-x), sin(-(x * -1))),
    "cos": lambda x, y: (cos(x), cos(-x)),
    "sign": lambda x, y: (sign(x), -sign(-x)),
    "sqrt": lambda x, y: (sqrt(x), sqrt(-(0 - x)), x**0.5),
    "abs": lambda x, y: (abs(x), abs(-x)),
    "tanh": lambda x, y: (tanh(x), -tanh(-x)),
    "x < y": lambda x, y: (x < y, y > x, where(x < y, 1, 0), ~~(x < y), less(x, y)),
    "x >= y": lambda x, y: (x >= y, y <= x, where(x >= y, 1, 0), ~~(y <= x)),
    "x == y": lambda x, y: (x == y, y == x, where(x == y, 1, 0), ~(x != y), ~(y != x)),
    "where": lambda x, y: (where(x < y, x, y), where(~(x < y), y, x), where(y > x, x, y)),
    "no choice": lambda x, y: (where(x < y, x, x), where(1, x, y), where(x < x, y, x), x),
    "both": lambda x, y: ((x < 1) & (y < 1), where(x < 1, y < 1, 0)),
    "either": lambda x, y: ((x < 1) | (y < 1), where(x < 1, 1, y < 1)),
    "min": lambda x, y: (minimum(x, y), minimum(y, x)),
    "max": lambda x, y: (maximum(x, y), maximum(y, x)),
    "powers": lambda x, y: (x**3, x * x * x),
    "inverse powers": lambda x, y: (x**-2, 1 / (x * x)),
    "(x + y) sin(x y)": lambda x, y: ((x + y) * sin(x * y), sin(y * x) * (y + x)),
    "numbers": lambda x, y: (3 * x, np.int64(3) * x, x * np.float32(3), np.float64(3) * x),
}
"""Ways to write one thing, which are recorded as one."""


@pytest.mark.parametrize("ways", SAME.values(), ids=SAME)
def test_ways_to_write_one_thing_are_recorded_once(ways):
    graph = Graph()
    first, *others = ways(graph.input("x", 0), graph.input("x", 1))
    for other in others:
        assert other is first or (type(first) is int and other == first)


def turned_around(tree):
    """The same expression with its sums, products and differences written backwards."""
    if not isinstance(tree, tuple) or tree[0] == "input":
        return tree
    op, *operands = tree
    operands = [turned_around(operand) for operand in operands]
    if op == "sub":
        return ("neg", ("sub", *operands[::-1]))
    return (op, *(operands[::-1] if op in ("add", "mul") else operands))


@settings(max_examples=200, deadline=None)
@given(expressions(5))
def test_an_expression_is_the_same_node_however_it_is_written(tree):
    graph = Graph()
    state = {name: [graph.input(name, k) for k in range(size)] for name, (size,) in INPUTS.items()}
    first = value(tree, state)
    for again in (value(tree, state), value(turned_around(tree), state)):
        assert again is first or (not isinstance(first, Traced) and again == first)


# ------------------------------------------------------------------ counting

COSTS = {
    "2 x": (lambda x, y: 2 * x, "1M 0A"),
    "x + x": (lambda x, y: x + x, "0M 1A"),
    "-x": (lambda x, y: -x, "0M 0A"),
    "x / 2": (lambda x, y: x / 2, "1M 0A"),
    "a constant": (lambda x, y: x - x + 3, "0M 0A"),
    "x - y and y - x": (lambda x, y: (x - y) * (y - x), "1M 1A"),
    "x y and -x y": (lambda x, y: (x * y) / (2 - x * -y), "2M 1A"),
    "functions": (
        lambda x, y: sin(x) + cos(x) * sin(-x) - sqrt(y) * sign(y),
        "2M 2A, 1 cos, 1 sign, 1 sin, 1 sqrt",
    ),
}


@pytest.mark.parametrize(("function", "cost"), COSTS.values(), ids=COSTS)
def test_it_costs(function, cost):
    program = trace_function("f", lambda graph, x: np.array(function(*x)), {"x": (2,)})
    assert str(program.count()) == cost


def with_constants(a, b, x):
    """A thing with constants a and b that has work to do off-line, and work to do on-line."""
    length = sqrt(a * a + b * b)
    return -(a * b) * x / length + sin(a) * cos(x) - 2 * a + a * 1


def test_only_what_depends_on_an_input_is_counted():
    def count(constants, inputs):
        def run(graph, *args):
            return np.array(with_constants(*constants(graph), *(arg[0] for arg in args)))

        return str(trace_function("f", run, dict.fromkeys(inputs, (1,))).count())

    assert count(lambda graph: (0.3, 0.4), ["x"]) == "3M 3A, 1 cos"
    assert count(lambda graph: map(graph.symbol, "ab"), ["x"]) == "3M 3A, 1 cos"
    assert count(lambda graph: (), ["a", "b", "x"]) == "7M 4A, 1 cos, 1 sin, 1 sqrt"
    assert count(lambda graph: (0, 1), ["x"]) == "0M 0A"


@settings(max_examples=100, deadline=None)
@given(expressions(5))
def test_what_is_made_of_symbols_alone_is_free(tree):
    def run(graph, x):
        symbols = {
            name: [graph.symbol(f"{name}{k}") for k in range(size)]
            for name, (size,) in INPUTS.items()
        }
        return np.array([value(tree, symbols), 2 * x[0]], dtype=object)

    assert trace_function("f", run, {"x": (1,)}).count() == Count(1, 0)


def test_counts_are_compared_by_their_total():
    assert Count(3, 4, (("sin", 2),)).total == 7


# ------------------------------------------------------------------ replaying


@settings(max_examples=100, deadline=None)
@given(expressions(3), states(), states(2, 3))
def test_floats_batches_formulas_and_fifty_digits_agree(tree, state, batch):
    assume(not near_a_jump(tree, state))
    program = program_of(tree)
    expected = value(tree, state)
    assert program.function(np)(*state.values()) == [expected]

    rows = program.function(np)(*batch.values())
    assert rows.shape == (2, 3, 1)
    for index in np.ndindex(2, 3):
        row = {name: array[index] for name, array in batch.items()}
        assert close(rows[index], [value(tree, row)], 1e-9)

    symbols = [sympy.symbols(f"{name}:{size}") for name, (size,) in INPUTS.items()]
    (formula,) = program.function(sympy)(*symbols)
    numbers = zip(sum(symbols, ()), np.concatenate([*state.values()]), strict=True)
    assert close(float(sympy.sympify(formula).subs(dict(numbers))), expected, 1e-9)

    with mpmath.workdps(50):
        exact = fifty(state)
        (digits,) = program.function(mpmath)(*exact.values())
        assert close(digits, value(tree, exact), 1e-13)  # numbers alone are computed in floats


def test_fifty_digits_are_fifty_digits():
    def f(x, y):
        return np.array(-sin(x) * sqrt(y) / 3 + cos(-x / y) - 2)

    program = trace_function("f", lambda graph, x: f(*x), {"x": (2,)})
    with mpmath.workdps(50):
        assert program.function(mpmath)([mpmath.mpf(1) / 7, mpmath.pi]) == f(
            mpmath.mpf(1) / 7, mpmath.mpf(mpmath.pi)
        )


def test_outputs_come_back_as_they_were_returned():
    def run(graph, x):
        return np.array(x[0] * 2), np.array([[x[1], 5, 0]])

    program = trace_function("f", run, {"x": (2,)})
    double, row = program.function()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert double.tolist() == [2, 6]
    assert row.tolist() == [[[2, 5, 0]], [[4, 5, 0]]]
    double, row = program.function(sympy)(sympy.symbols("a b"))
    assert double == 2 * sympy.Symbol("a")
    assert row.tolist() == [[sympy.Symbol("b"), 5, 0]]


def test_constants_do_not_take_part_in_what_is_not_finite():
    program = trace_function("f", lambda graph, x: np.array([x[0], 3]), {"x": (1,)})
    assert program.function()(np.array([[np.inf]])).tolist() == [[np.inf, 3]]
    assert program.function()(np.array([[np.nan]]))[0, 1] == 3


def test_a_constant_of_any_kind_fills_the_leading_axes():
    for one in (1, 1.0, np.int64(1), np.float64(1)):
        program = trace_function(
            "f", lambda graph, x, one=one: np.array([one], object), {"x": (1,)}
        )
        found = program.function()(np.zeros((2, 3, 1)))
        assert found.dtype == float
        assert found.tolist() == np.ones((2, 3, 1)).tolist()


def test_derivatives_of_scalars_that_know_none_are_refused():
    with pytest.raises(
        TypeError, match="float scalars do not record their operations: trace first"
    ):
        derivatives([1.0], [2.0], "forward")


# ------------------------------------------------------------------ long and dead code


def test_a_program_may_have_any_length():
    steps = 20_000

    def run(graph, x, y):
        z = y[0]
        for _ in range(steps):
            z = z * x[0] + y[0]
        return np.array([z])

    program = trace_function("series", run, {"x": (1,), "y": (1,)})
    assert program.count() == Count(steps, steps)
    assert program.function()([0.5], [3.0]) == pytest.approx(3 / 0.5)
    derivative = program.derivative("x")
    assert derivative.function()([0.5], [3.0]) == pytest.approx(3 / 0.5**2)


@settings(max_examples=100, deadline=None)
@given(expressions(3), expressions(3))
def test_dead_code_is_removed(tree, other):
    def run(graph, x, y):
        value(other, {"x": x, "y": y})
        return np.array([value(tree, {"x": x, "y": y})], dtype=object)

    program = trace_function("f", run, INPUTS)
    assert program.count() == program_of(tree).count()
    used = {a for _, _, args in program.nodes for a in args} | {*program.outputs[0]}
    assert {i for i, _, _ in program.nodes} == {a.index for a in used if isinstance(a, Traced)}


# ------------------------------------------------------------------ errors


def symbolic(graph, x):
    return np.array([graph.symbol("m1") * x[0]])


def test_symbols_have_no_value_but_in_formulas():
    program = trace_function("torque", symbolic, {"q": (2,)})
    for namespace in (np, mpmath):
        with pytest.raises(CompileError, match="torque has symbolic constants"):
            program.function(namespace)
    a, b, m = sympy.symbols("a b m1")
    assert program.function(sympy)([a, b]).tolist() == [m * a]


MISFITS = {
    "too few arrays": ([[1, 2]], r"f takes 2 arrays \(q, qd\), got 1"),
    "wrong size": ([[1, 2], [1, 2, 3]], r"qd has shape \(3,\): expected \(..., 2\)"),
    "too few axes": ([1, [1, 2]], r"q has shape \(\): expected \(..., 2\)"),
    "axes that differ": ([[[1, 2]], [1, 2]], r"qd has leading axes \(\), q has \(1,\)"),
}


@pytest.mark.parametrize(("args", "message"), MISFITS.values(), ids=MISFITS)
def test_an_array_that_does_not_fit_is_named(args, message):
    program = trace_function("f", lambda graph, q, qd: q + qd, {"q": (2,), "qd": (2,)})
    with pytest.raises(DataError, match=message):
        program.function()(*args)


def test_derivatives_are_by_inputs_and_in_two_modes():
    program = trace_function("f", lambda graph, q, qd: q * qd, {"q": (2,), "qd": (2,)})
    with pytest.raises(DataError, match="f has no input 'x'; its inputs are q, qd"):
        program.derivative("x")
    with pytest.raises(DataError, match="mode is 'sideways': expected one of forward, reverse"):
        program.derivative("q", "sideways")

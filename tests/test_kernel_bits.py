"""The bits of kernels: of every operation, on every width, in one block or many."""

import math
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.expressions import expressions, program_of, replayed, states
from support.kernels import ROUNDING, TARGETS, every_target, same_bits
from support.robots import deviation
from support.rounding import error_bounds

import armlet
from armlet.codegen.llvm import function as llvm_text
from armlet.codegen.llvm.function import (
    LIBRARY,
    PACK,
    TABLE,
    UNFUSED,
    Target,
    many_states,
    one_state,
)
from armlet.codegen.llvm.sincos import near
from armlet.codegen.lower import TRIGONOMETRY, lower
from armlet.graph import OPERATIONS, trace_function
from armlet.runtime import Kernel
from armlet.runtime.engine import host
from armlet.scalar import cos, sign, sin, sqrt

# ------------------------------------------------------------------ every operation


def test_every_operation_has_a_line():
    assert {*TABLE, *LIBRARY, *TRIGONOMETRY} == {*OPERATIONS, "fma", "fms", "fnma"}
    assert {*UNFUSED} == {"fma", "fms", "fnma"}


def exactly(*terms):
    """A sum of products, rounded once."""
    return float(sum(math.prod(map(Fraction, term)) for term in terms))


FUSED = {
    "fma": lambda a, b, c: exactly((a, b), (c,)),
    "fms": lambda a, b, c: exactly((a, b), (-c,)),
    "fnma": lambda a, b, c: exactly((-a, b), (c,)),
}
AS_TWO = {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}


@cache
def angle_kernel(name, fuses):
    function = {"sin": sin, "cos": cos}[name]
    program = trace_function(name, lambda graph, x: np.array(function(x)), {"x": ()})
    return Kernel(program, target=Target(fuses=fuses))


def interpreted(code, state, fuses):
    """The outputs of the operations that are printed, each rounded once, done one by one."""
    meaning = {**OPERATIONS, **(FUSED if fuses else AS_TWO)}
    meaning |= {name: angle_kernel(name, fuses) for name in TRIGONOMETRY}
    meaning |= {name: getattr(math, name) for name in LIBRARY}
    value = []

    def look(a):
        return a if isinstance(a, float) else value[a]

    for op, args in code.operations:
        if op == "input":
            value.append(float(state[args[0]][args[1]]))
        else:
            value.append(float(meaning[op](*map(look, args))))
    return [look(y) for y in code.outputs[0].values]


@settings(max_examples=40, deadline=None)
@given(st.lists(expressions(4), min_size=1, max_size=12), states())
def test_a_compiled_expression_gives_the_bits_of_its_operations(trees, state):
    program = program_of(*trees)
    for fuses in (True, False):
        kernel = Kernel(program, target=Target(fuses=fuses))
        found = kernel(*state.values())
        assert found.tolist() == interpreted(kernel.code, state, fuses)


@settings(max_examples=40, deadline=None)
@given(st.lists(expressions(4), min_size=1, max_size=12), states())
def test_a_compiled_expression_gives_the_replayed_number_but_for_rounding(trees, state):
    program = program_of(*trees)
    expected = replayed(program, state)
    errors = [16 * ROUNDING * bound for bound in error_bounds(program, state)]
    for fuses in (True, False):
        found = Kernel(program, target=Target(fuses=fuses))(*state.values()).tolist()
        for ours, number, error in zip(found, expected, errors, strict=True):
            assert abs(ours - number) <= error


def test_singles_are_computed_as_singles():
    trees = [("add", ("input", "x", 0), 1e-9), ("mul", ("input", "x", 1), 1e30)]
    found = Kernel(program_of(*trees), "float32")(np.array([1, 1e20, 1]), np.ones(2))
    assert found.dtype == np.float32
    assert found.tolist() == [1, math.inf]


def test_no_double_is_computed_for_singles_within_reach(torque):
    code, target = lower(torque), Target("float32", 8)
    texts = one_state(code, target), many_states(code, target), near("float32", 8, True)
    assert not any("double" in text for text in texts)


ODD = {
    "constants alone": (lambda x: np.array([1, -0.5, 0]), {"x": (2,)}),
    "an input": (lambda x: x, {"x": (2,)}),
    "an input twice, turned round": (lambda x: np.array([[x[1], x[0]], [x[1], 7]]), {"x": (2,)}),
    "no inputs": (lambda: np.array([[1.5, 2]]), {}),
    "a scalar of a scalar": (lambda x: np.array(2 * x), {"x": ()}),
    "a matrix": (lambda x: x @ x.T, {"x": (2, 3)}),
    "one of several": (lambda x: (np.array(x[0] + 1),), {"x": (2,)}),
    "several": (lambda x, y: (x * y[0], np.array(y[1]), np.array([[3]])), {"x": (3,), "y": (2,)}),
    "nothing": (lambda x: (), {"x": (2,)}),
    "empty arrays": (lambda x, y: (np.zeros((2, 0)), x + 1), {"x": (2,), "y": (0,)}),
    "an unused input": (lambda x, y: y - 1, {"x": (2,), "y": (1,)}),
    "nested angles": (lambda x: np.array([cos(sin(cos(x[0]) * x[1]) - x[0])]), {"x": (2,)}),
    "an angle and its angle": (lambda x: np.array([sin(x[0]), sin(sin(x[0]))]), {"x": (1,)}),
    "only cosines": (lambda x: np.array([cos(y) for y in x]), {"x": (3,)}),
    "more angles than fit": (
        lambda x: np.array([sin(y) * cos(2 * y) for y in x]),
        {"x": (2 * PACK + 3,)},
    ),
    "signs and roots": (
        lambda x: np.array([sign(x[0]), sign(-x[1]), sqrt(x[1] * x[1])]),
        {"x": (2,)},
    ),
    "a product used twice": (
        lambda x: np.array([x[0] * x[1] + 1, x[0] * x[1] - x[0]]),
        {"x": (2,)},
    ),
    "a sum of products": (lambda x: np.array([x[0] * x[1] - x[2] * x[3]]), {"x": (4,)}),
}


@pytest.mark.parametrize(("function", "inputs"), ODD.values(), ids=ODD)
def test_a_program_of_any_shape_compiles(function, inputs):
    program = trace_function("odd", lambda graph, *args: function(*args), inputs)
    rng = np.random.default_rng(0)
    for dtype, error in (("float64", 1e-15), ("float32", 1e-6)):
        kernel = Kernel(program, dtype)
        for leading in [(), (1,), (0,), (2, 3, 7)] if inputs else [()]:
            arrays = [rng.uniform(-2, 2, (*leading, *shape)) for shape in inputs.values()]
            expected = program.function()(*arrays)
            for found in (kernel(*arrays), kernel.evaluate(*arrays)):
                assert type(found) is type(expected)
                pairs = [(found, expected)] if program.single else zip(found, expected, strict=True)
                for ours, theirs in pairs:
                    assert ours.dtype == dtype
                    assert ours.shape == theirs.shape
                    np.testing.assert_allclose(ours, theirs, rtol=8 * error, atol=8 * error)


# ------------------------------------------------------------------ the same bits


ROWS = 40


def bit_states(dtype):
    """Rows of states, some of them far, huge or not numbers at all."""
    arrays = np.random.default_rng(5).uniform(-3, 3, (3, ROWS, 7)).astype(dtype)
    q = arrays[0]
    q[3, 2], q[11, 6], q[12], q[13, 4] = 2e5, -1e30, 3e5, 2e3
    q[17, 3], q[23, 5], q[29, 1] = np.nan, np.inf, -np.inf
    q[30], q[31] = 0, -0.0
    return arrays


@pytest.fixture(scope="module")
def torque(arms):
    return armlet.trace(arms["panda"], "inverse_dynamics")


@every_target
@pytest.mark.parametrize("fuses", [True, False], ids=["fused", "unfused"])
def test_a_row_has_the_bits_of_its_state_alone(torque, target, fuses):
    arrays = bit_states(target.dtype)
    kernel = Kernel(torque, target=Target(target.dtype, target.lanes, fuses))
    alone = np.array([kernel(*state) for state in arrays.swapaxes(0, 1)])
    assert np.isfinite(alone).all(axis=1).sum() == ROWS - 3
    for rows in range(ROWS + 1):
        same_bits(kernel(*arrays[:, :rows]), alone[:rows])
        same_bits(kernel(*arrays[:, ROWS - rows :]), alone[ROWS - rows :])
    for threads in range(1, 10):
        same_bits(kernel(*arrays, threads=threads), alone)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fuses", [True, False], ids=["fused", "unfused"])
def test_every_width_gives_the_same_bits(torque, dtype, fuses):
    arrays = bit_states(dtype)
    widths = [target.lanes for target in TARGETS if target.dtype == dtype]
    found = [Kernel(torque, target=Target(dtype, lanes, fuses))(*arrays) for lanes in widths]
    for others in found[1:]:
        same_bits(others, found[0])


def test_fused_or_not_it_is_the_same_but_for_rounding(torque):
    arrays = bit_states("float64")
    fine = np.isfinite(arrays).all(axis=(0, 2))
    with_, without = (
        Kernel(torque, target=Target(fuses=fuses))(*arrays) for fuses in (True, False)
    )
    assert not np.array_equal(with_[fine], without[fine])
    assert deviation(with_[fine], without[fine]) <= 1e-14


def test_the_host_has_a_target_that_it_runs():
    assert host("float64").lanes in (2, 4, 8)
    assert host("float32").lanes == 2 * host("float64").lanes
    assert host("float32").fuses == host("float64").fuses


@every_target
def test_only_the_last_rows_of_a_block_are_read_by_masked_loads(torque, target):
    """Those from which a whole vector would leave the block."""
    text = many_states(lower(torque), target)
    ends = [
        row * 7 + start + target.lanes
        for row in range(target.lanes)
        for start in range(0, 7, target.lanes)
    ]
    masked = sum(end > 7 * target.lanes for end in ends)
    assert text.count("@llvm.masked.load") == 3 * masked
    assert masked <= 2


def blocks_of(text):
    """The number of lines of each block of a function."""
    return [len(block.splitlines()) for block in re.split(r"^\S+:$", text, flags=re.MULTILINE)]


def test_long_functions_are_cut_into_short_blocks():
    """LLVM takes a time that grows with the square of the longest."""

    def run(_, x):
        for k in range(9000):
            x = x * x + k
        return np.tile(x, 5000)

    code = lower(trace_function("long", run, {"x": (1,)}))
    for print_ in (one_state, many_states):
        assert max(blocks_of(print_(code, host("float64")))) < 250


@every_target
def test_cut_into_blocks_it_gives_the_same_bits(torque, target, monkeypatch):
    q, qd, qdd = np.random.default_rng(4).normal(size=(3, 37, 7))
    whole = Kernel(torque, target=target)
    monkeypatch.setattr(llvm_text, "LONG", 10)
    monkeypatch.setattr(llvm_text, "BLOCK", 7)
    cut = Kernel(torque, target=target)
    assert max(blocks_of(many_states(cut.code, target))) < 20
    same_bits(cut(q, qd, qdd), whole(q, qd, qdd))
    same_bits(cut(q[0], qd[0], qdd[0]), whole(q[0], qd[0], qdd[0]))

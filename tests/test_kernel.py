"""Compiled kernels: the bits they give, the arrays they take, and how long they live.

Set ARMLET_LONG=1 to make a million calls in the search for leaks instead of two hundred thousand.
"""

import copy
import ctypes
import gc
import inspect
import math
import os
import pickle
import pydoc
import re
import sys
import threading
import tracemalloc
from contextlib import suppress
from fractions import Fraction
from functools import cache

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import deviation, random_robot
from robots import states as robot_states
from test_graph import expressions, program_of, replayed, states

import armlet
from armlet.codegen import llvm as llvm_text
from armlet.codegen.llvm import (
    PACK,
    TRIGONOMETRY,
    UNFUSED,
    Target,
    many_states,
    one_state,
)
from armlet.codegen.llvm_table import LIBRARY, TABLE
from armlet.codegen.lower import lowered
from armlet.errors import ArmletError, CompileError, DataError, ModelError
from armlet.graph import OPERATIONS, traced
from armlet.runtime import Kernel, calls, engine, native
from armlet.runtime.engine import host
from armlet.scalar import cos, sign, sin, sqrt

CALLS = 1_000_000 if os.environ.get("ARMLET_LONG") else 200_000
ROUNDING = 2.0**-53

# fmt: off
TARGETS = [
    Target("float64", 2), Target("float64", 4), Target("float64", 8),
    Target("float32", 4), Target("float32", 8), Target("float32", 16),
]
# fmt: on
every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.dtype}x{t.lanes}")


def same_bits(found, expected):
    """Equal to the sign of a zero; one NaN is like another."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


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
    program = traced(name, lambda graph, x: np.array(function(x)), {"x": ()})
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


class Bounded:
    """A float with a bound on how far it may be from the exact value, in rounding errors."""

    def __init__(self, value, error=0.0):
        self.value, self.error = float(value), error + abs(float(value))

    def __add__(self, other):
        return Bounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other):
        return Bounded(self.value - other.value, self.error + other.error)

    def __mul__(self, other):
        error = abs(self.value) * other.error + abs(other.value) * self.error
        return Bounded(self.value * other.value, error)

    def __truediv__(self, other):
        value = self.value / other.value
        error = (self.error + abs(value) * other.error) / abs(other.value)
        return Bounded(value, error)

    def __neg__(self):
        return Bounded(-self.value, self.error)

    def sin(self):
        return Bounded(math.sin(self.value), self.error + 4)

    def cos(self):
        return Bounded(math.cos(self.value), self.error + 4)

    def sqrt(self):
        return Bounded(math.sqrt(self.value), self.error / math.sqrt(self.value))

    @property
    def is_known(self):
        """Whether it is positive or negative whatever is rounded."""
        return abs(self.value) > 16 * ROUNDING * self.error

    def sign(self):
        return Bounded(np.sign(self.value), 0 if self.is_known else 2 / ROUNDING)

    def exp(self):
        value = math.exp(self.value)
        return Bounded(value, value * (self.error + 4))

    def log(self):
        return Bounded(math.log(self.value), self.error / self.value + 4)

    def tanh(self):
        return Bounded(math.tanh(self.value), self.error + 4)

    def __abs__(self):
        return Bounded(abs(self.value), self.error)

    def record(self, op, *args):
        values, error = [x.value for x in args], sum(x.error for x in args)
        if op == "atan2":
            return Bounded(math.atan2(*values), 4 + error / math.hypot(*values))
        if op in ("min", "max"):
            return Bounded({"min": min, "max": max}[op](values), error)
        if op == "less":
            same = args[0] is args[1]
            known = same or (args[0] - args[1]).is_known
            return Bounded(values[0] < values[1], 0 if known else 2 / ROUNDING)
        condition, x, y = args
        jump = 0 if condition.is_known or condition.error == 0 else abs(x.value - y.value)
        chosen = x if condition.value > 0 else y
        return Bounded(chosen.value, chosen.error + jump / ROUNDING)


def bounded(program, state):
    """The outputs, each with a bound on its error whatever is fused."""

    def meaning(op, *operands):
        if op == "input":
            return Bounded(state[operands[0]][operands[1]])
        return OPERATIONS[op](*(x if isinstance(x, Bounded) else Bounded(x) for x in operands))

    return [y if isinstance(y, Bounded) else Bounded(y) for y in program.replay(meaning)]


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
    errors = [16 * ROUNDING * y.error for y in bounded(program, state)]
    for fuses in (True, False):
        found = Kernel(program, target=Target(fuses=fuses))(*state.values()).tolist()
        for ours, number, error in zip(found, expected, errors, strict=True):
            assert abs(ours - number) <= error


def test_singles_are_computed_as_singles():
    trees = [("add", ("input", "x", 0), 1e-9), ("mul", ("input", "x", 1), 1e30)]
    found = Kernel(program_of(*trees), "float32")(np.array([1, 1e20, 1]), np.ones(2))
    assert found.dtype == np.float32
    assert found.tolist() == [1, math.inf]


# fmt: off
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
        lambda x: np.array([sin(y) * cos(2 * y) for y in x]), {"x": (2 * PACK + 3,)}
    ),
    "signs and roots": (
        lambda x: np.array([sign(x[0]), sign(-x[1]), sqrt(x[1] * x[1])]), {"x": (2,)}
    ),
    "a product used twice": (
        lambda x: np.array([x[0] * x[1] + 1, x[0] * x[1] - x[0]]), {"x": (2,)}
    ),
    "a sum of products": (lambda x: np.array([x[0] * x[1] - x[2] * x[3]]), {"x": (4,)}),
}
# fmt: on


@pytest.mark.parametrize(("function", "inputs"), ODD.values(), ids=ODD)
def test_a_program_of_any_shape_compiles(function, inputs):
    program = traced("odd", lambda graph, *args: function(*args), inputs)
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
    q[3, 2], q[11, 6], q[12] = 2e5, -1e30, 3e5
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


# ------------------------------------------------------------------ every quantity


CASES = {
    **{name: (name, {}) for name in armlet.QUANTITIES},
    "inverse_dynamics under a wrench": ("inverse_dynamics", {"wrench": True}),
    "jacobian of a frame": ("jacobian", {"frame": True}),
    "forward_kinematics of a frame": ("forward_kinematics", {"frame": True}),
    "inverse_dynamics with inertia given": (
        "inverse_dynamics", {"constants": {"inertia": "argument"}}
    ),
    "inertia_matrix with all given": (
        "inertia_matrix", {"constants": {"geometry": "argument", "inertia": "argument"}}
    ),
}  # fmt: skip


def program_and_arrays(robot, quantity, options):
    """A program, with random arrays of seven states, and what to divide its error by."""
    options = dict(options)
    if "frame" in options:
        options["frame"] = robot.links[robot.n // 2]
    program = armlet.trace(robot, quantity, **options)
    rng = np.random.default_rng(robot.n)
    given = {"inertia": robot.phi, "geometry": [*robot.constants("geometry").values()]}
    arrays = [
        np.stack([given[name]] * 7) if name in given else rng.uniform(-2, 2, (7, *x.shape))
        for name, x in program.inputs.items()
    ]
    solved = {
        **dict.fromkeys(
            ("forward_dynamics", "forward_linearization", "state_space"), "inertia_matrix"
        ),
        **dict.fromkeys(("cartesian_model", "cartesian_linearization"), "jacobian"),
    }.get(quantity)
    if solved is None:
        return program, arrays, 1
    A = armlet.trace(robot, solved).function()(arrays[0])
    return program, arrays, np.linalg.cond(A).max()


@pytest.mark.parametrize("name", ["scara", "puma560", "panda"])
@pytest.mark.parametrize(("quantity", "options"), CASES.values(), ids=CASES)
def test_every_quantity_is_what_its_replayed_program_gives(arms, name, quantity, options):
    if quantity.startswith("cartesian") and arms[name].n > 6:
        with pytest.raises(ModelError, match="six at most"):
            program_and_arrays(arms[name], quantity, options)
        return
    program, arrays, scale = program_and_arrays(arms[name], quantity, options)
    expected, found = program.function()(*arrays), Kernel(program)(*arrays)
    single = Kernel(program)(*(array[-1] for array in arrays))
    if program.single:
        expected, found, single = (expected,), (found,), (single,)
    for theirs, ours, one in zip(expected, found, single, strict=True):
        assert deviation(ours, theirs) <= 1e-13 * scale
        same_bits(one, ours[-1])


def test_thirty_joints_in_a_tree_are_compiled(tmp_path):
    robot, _ = random_robot(tmp_path, 30, 30)
    state = robot_states(robot, 9)
    expected = armlet.trace(robot, "inverse_dynamics").function()(*state)
    assert deviation(robot.inverse_dynamics(*state), expected) <= 1e-13


def test_methods_take_wrenches_and_frames_by_place_and_by_name(arms):
    robot = arms["puma560"]
    q, qd, qdd = robot_states(robot)
    wrench = np.random.default_rng(0).normal(size=(3, 6))
    J, X = robot.jacobian(q), robot.forward_kinematics(q)
    in_base = np.einsum("nij,nkj->nki", X[:, :3, :3], wrench.reshape(3, 2, 3)).reshape(3, 6)
    loaded = robot.inverse_dynamics(q, qd, qdd, wrench)
    free = robot.inverse_dynamics(q, qd, qdd)
    assert deviation(loaded - free, np.einsum("nij,ni->nj", J, in_base)) <= 1e-12
    same_bits(robot.inverse_dynamics(qdd=qdd, wrench=wrench, q=q, qd=qd), loaded)
    same_bits(robot.inverse_dynamics(q, qd, qdd, wrench=None), free)
    link = robot.links[2]
    program = armlet.trace(robot, "jacobian", frame=link)
    assert deviation(robot.jacobian(q, frame=link), program.function()(q)) <= 1e-13
    same_bits(robot.jacobian(q[0], link), robot.jacobian(q, link)[0])
    same_bits(robot.jacobian(q[0], frame=robot.tool), J[0])


# ------------------------------------------------------------------ arrays in


@pytest.fixture(scope="module")
def robot(arms):
    return arms["planar3r"]


@pytest.fixture(scope="module")
def bias(robot):
    return armlet.compile(robot, "bias")


def ways(robot, kernel):
    """The ways into one and the same kernel."""
    return {
        "kernel": kernel,
        "call": kernel.call,
        "evaluate": kernel.evaluate,
        "method": getattr(robot, kernel.program.name),
    }


WAYS = ["kernel", "call", "evaluate", "method"]
every_way = pytest.mark.parametrize("way", WAYS)


def unaligned(x):
    """The same numbers, one byte off."""
    raw = np.empty(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


class Array:
    """Something that NumPy can make an array of."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


class Subclass(np.ndarray):
    pass


# fmt: off
FORMS = {
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x)) if x.ndim == 2 else tuple(x.tolist()),
    "lists of NumPy's numbers": list,
    "integers": lambda x: x.astype(int),
    "unsigned bytes": lambda x: x.astype(np.uint8),
    "halves": lambda x: x.astype(np.float16),
    "singles": lambda x: x.astype(np.float32),
    "long doubles": lambda x: x.astype(np.longdouble),
    "the other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "column by column": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2] if x.ndim > 1 else x,
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "upside down": lambda x: x[::-1].copy()[::-1],
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape))[0],
    "read-only": read_only,
    "unaligned": unaligned,
    "a subclass": lambda x: x.view(Subclass),
    "another's array": Array,
    "a memory view": memoryview,
}
# fmt: on


@every_way
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_arrays_of_numbers_are_taken_in_every_form(robot, bias, form, way):
    function = ways(robot, bias)[way]
    q, qd = np.random.default_rng(3).integers(0, 5, (2, 11, 3)).astype(float)
    expected = bias.evaluate(q, qd)
    same_bits(function(form(q), form(qd)), expected)
    same_bits(function(form(q), qd), expected)
    one = function(form(q[4]), form(qd[4]))
    same_bits(one, expected[4])
    assert type(one) is np.ndarray


@every_way
@pytest.mark.parametrize("leading", [(), (0,), (1,), (5,), (2, 3, 7), (1, 1, 1), (2, 0, 3)])
def test_leading_axes_stay(robot, bias, leading, way):
    function = ways(robot, bias)[way]
    q, qd = np.random.default_rng(4).normal(size=(2, *leading, 3))
    found = function(q, qd)
    assert found.shape == (*leading, 3)
    same_bits(found.reshape(-1, 3), bias(q.reshape(-1, 3), qd.reshape(-1, 3)))


@every_way
def test_inputs_are_left_alone(robot, bias, way):
    arrays = np.random.default_rng(4).normal(size=(2, 9, 3))
    before = arrays.copy()
    ways(robot, bias)[way](*arrays)
    ways(robot, bias)[way](*arrays[:, 0])
    same_bits(arrays, before)


@every_way
def test_an_array_may_be_given_twice(robot, bias, way):
    q = np.random.default_rng(4).normal(size=(9, 3))
    same_bits(ways(robot, bias)[way](q, q), bias(q, q.copy()))
    same_bits(ways(robot, bias)[way](q[0], q[0]), bias(q, q.copy())[0])


@every_way
def test_what_is_not_a_number_passes_through(robot, bias, way):
    q = np.zeros((10, 3))
    q[4, 1] = np.nan
    found = ways(robot, bias)[way](q, np.ones((10, 3)))
    assert np.isnan(found[4]).any()
    assert np.isfinite(np.delete(found, 4, axis=0)).all()


ONE, TEN, MANY = np.zeros(3), np.zeros((10, 3)), np.zeros((100, 3))
# fmt: off
MISFITS = {
    "too long": ((np.zeros(4), ONE), r"q has shape \(4,\): expected \(..., 3\)"),
    "too short": ((ONE, np.zeros(2)), r"qd has shape \(2,\): expected \(..., 3\)"),
    "turned round": ((TEN, TEN.T), r"qd has shape \(3, 10\): expected \(..., 3\)"),
    "a number": ((0.5, ONE), r"q has shape \(\): expected \(..., 3\)"),
    "an array of no axes": ((ONE, np.array(1.0)), r"qd has shape \(\): expected"),
    "nothing": ((ONE, []), r"qd has shape \(0,\): expected"),
    "other rows": ((TEN, TEN[:9]), r"qd has leading axes \(9,\), q has \(10,\): all arrays must"),
    "one state and many": ((ONE, TEN), r"qd has leading axes \(10,\), q has \(\)"),
    "many and one state": ((TEN, ONE), r"qd has leading axes \(\), q has \(10,\)"),
    "one row": ((TEN, TEN[:1]), r"qd has leading axes \(1,\), q has \(10,\)"),
    "rows in another shape": ((TEN, TEN.reshape(2, 5, 3)), r"qd has leading axes \(2, 5\)"),
    "objects": ((ONE.astype(object), ONE), "q is not an array of numbers: its dtype is object"),
    "complex numbers": ((ONE, ONE + 0j), "qd is not an array of numbers: its dtype is complex128"),
    "text": ((["1", "2", "3"], ONE), "q is not an array of numbers: its dtype is <U1"),
    "one text": (("abc", ONE), "q is not an array of numbers"),
    "dates": ((np.zeros(3, "M8[s]"), ONE), "q is not an array of numbers: its dtype is datetime"),
    "a record": ((ONE, np.zeros(3, [("a", float)])), "qd is not an array of numbers"),
    "ragged lists": (([[1, 2, 3], [1, 2]], ONE), "q is not an array of numbers"),
    "a dictionary": (({}, ONE), "q is not an array of numbers: its dtype is object"),
    "None": ((ONE, None), "qd is not an array of numbers: its dtype is object"),
    "None first": ((None, ONE), "q is not an array of numbers: its dtype is object"),
    "huge integers": (([10**400] * 3, ONE), "q is not an array of numbers"),
}
# fmt: on


@every_way
@pytest.mark.parametrize(("arrays", "message"), MISFITS.values(), ids=MISFITS)
def test_an_array_that_does_not_fit_is_named(robot, bias, arrays, message, way):
    with pytest.raises(DataError, match=f"^{message}"):
        ways(robot, bias)[way](*arrays)


@pytest.mark.parametrize("way", WAYS[:3])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_kernels_count_their_arrays(robot, bias, count, way):
    with pytest.raises(DataError, match=rf"^bias takes 2 arrays \(q, qd\), got {count}"):
        ways(robot, bias)[way](*[ONE] * count)


# fmt: off
MISCALLS = {
    "too few": (lambda robot: robot.bias(ONE), "missing 1 required positional argument: 'qd'"),
    "too many": (lambda robot: robot.bias(ONE, ONE, ONE), "takes 3 positional arguments but 4"),
    "one twice": (lambda robot: robot.bias(ONE, ONE, q=ONE), "multiple values for argument 'q'"),
    "unknown": (lambda robot: robot.bias(ONE, ONE, speed=1), "unexpected keyword argument 'speed'"),
    "a frame": (lambda robot: robot.bias(ONE, ONE, frame="x"), "unexpected keyword argument"),
}
# fmt: on


@pytest.mark.parametrize(("call", "message"), MISCALLS.values(), ids=MISCALLS)
def test_methods_are_called_like_functions(robot, call, message):
    with pytest.raises(TypeError, match=message):
        call(robot)


@pytest.mark.parametrize("name", ["bias", "jacobian", "inverse_dynamics"])
def test_methods_say_what_they_do_and_take(robot, name):
    """Before their first call and after it, when they are compiled."""
    robot, described = copy.copy(robot), getattr(armlet.Robot, name)
    bound = getattr(robot, name)
    bound(*np.zeros((len(armlet.QUANTITIES[name].arguments), robot.n)))
    compiled = getattr(robot, name)
    assert inspect.isbuiltin(compiled)
    for method in (bound, compiled):
        assert method.__name__ == name
        assert inspect.getdoc(method) == inspect.getdoc(described)
        assert described.__doc__.splitlines()[0] in pydoc.render_doc(method)
    untyped = [p.replace(annotation=p.empty) for p in inspect.signature(bound).parameters.values()]
    assert list(inspect.signature(compiled).parameters.values()) == untyped


def test_methods_take_their_arrays_by_name(robot, bias):
    q, qd = np.random.default_rng(4).normal(size=(2, 3))
    expected = bias(q, qd)
    for found in (robot.bias(q=q, qd=qd), robot.bias(qd=qd, q=q), robot.bias(q, qd=qd)):
        same_bits(found, expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [0, -1, 2.0, 2.5, "2", None, np.float64(2), [1]])
def test_threads_are_a_whole_number(robot, bias, way, threads):
    with pytest.raises(DataError, match=r"^threads is .*: expected a whole number, 1 or more"):
        ways(robot, bias)[way](TEN, TEN, threads=threads)


@every_way
@pytest.mark.parametrize("threads", [1, 2, 3, 16, np.int64(2), 10**6])
@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_threads_share_the_rows(robot, bias, way, threads, rows):
    q, qd = np.random.default_rng(4).normal(size=(2, rows, 3))
    same_bits(ways(robot, bias)[way](q, qd, threads=threads), bias(q, qd))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_write_no_row_but_those_of_the_call(robot, dtype):
    """Rows before and after the result are left alone, however few rows a thread has."""
    kernel = armlet.compile(robot, "bias", dtype=dtype)
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 40, robot.n)).astype(dtype)
    whole = kernel(q, qd)
    for count in range(1, 40):
        around = np.full((count + 80, robot.n), 7, dtype)
        kernel(q[:count], qd[:count], out=around[40 : 40 + count], threads=2)
        assert np.array_equal(around[40 : 40 + count], whole[:count])
        assert (around[:40] == 7).all()
        assert (around[40 + count :] == 7).all()


# ------------------------------------------------------------------ arrays out


@every_way
@pytest.mark.parametrize("rows", [(), (9,), (0,), (2, 3)])
def test_results_are_written_where_asked(robot, bias, way, rows):
    q, qd = np.random.default_rng(4).normal(size=(2, *rows, 3))
    out = np.full((*rows, 3), np.nan)
    for given_ in (out, (out,), [out]):
        out[...] = np.nan
        assert ways(robot, bias)[way](q, qd, out=given_) is out
        same_bits(out, bias(q, qd))


def test_several_results_are_written_where_asked(robot):
    q, qd = np.random.default_rng(4).normal(size=(2, 9, 3))
    kinetic, potential = np.empty((2, 9))
    found = robot.energy(q, qd, out=(kinetic, potential))
    assert found[0] is kinetic
    assert found[1] is potential
    for ours, theirs in zip(found, robot.energy(q, qd), strict=True):
        same_bits(ours, theirs)


def test_results_are_written_into_part_of_an_array(robot, bias):
    q, qd = np.random.default_rng(4).normal(size=(2, 9, 3))
    whole = np.zeros((30, 3))
    bias(q, qd, out=whole[11:20])
    same_bits(whole[11:20], bias(q, qd))
    assert not whole[:11].any()
    assert not whole[20:].any()


SHARED = np.zeros((3, 10, 3))
# fmt: off
BAD_OUT = {
    "another shape": (np.zeros((9, 3)), r"out has shape \(9, 3\): expected \(10, 3\)"),
    "one state's shape": (np.zeros(3), r"out has shape \(3,\): expected \(10, 3\)"),
    "singles": (np.zeros((10, 3), np.float32), "out is float32: expected a float64 array"),
    "integers": (np.zeros((10, 3), int), "out is int64: expected a float64 array"),
    "the other byte order": (np.zeros((10, 3), ">f8"), "out is >f8: expected a float64 array"),
    "lists": ([[0.0] * 3] * 10, "out has 10 arrays: expected 1"),
    "text": ("out", "out is str: expected a float64 array"),
    "a number": (0.0, "out is float: expected a float64 array"),
    "two": ((np.zeros((10, 3)),) * 2, "out has 2 arrays: expected 1"),
    "none": ((), "out has 0 arrays: expected 1"),
    "read-only": (read_only(np.zeros((10, 3))), "out is not contiguous, aligned and writeable"),
    "every second": (np.zeros((10, 6))[:, ::2], "out is not contiguous, aligned and writeable"),
    "column by column": (np.zeros((3, 10)).T, "out is not contiguous, aligned and writeable"),
    "unaligned": (unaligned(np.zeros((10, 3))), "out is not contiguous, aligned and writeable"),
    "an input": (SHARED[0], "out shares memory with another array"),
    "part of an input": (SHARED.reshape(-1)[33:63].reshape(10, 3), "out shares memory"),
}
# fmt: on


@every_way
@pytest.mark.parametrize(("out", "message"), BAD_OUT.values(), ids=BAD_OUT)
def test_results_are_not_written_where_they_do_not_fit(robot, bias, out, message, way):
    with pytest.raises(DataError, match=f"^{message}"):
        ways(robot, bias)[way](SHARED[0], SHARED[1], out=out)
    assert not SHARED.any()


def test_two_results_are_not_written_to_one_place(robot):
    q, qd = np.zeros((2, 9, 3))
    for pair in ([np.zeros(9)] * 2, np.lib.stride_tricks.sliding_window_view(np.zeros(10), 9)):
        with pytest.raises(DataError, match=r"^out "):
            robot.energy(q, qd, out=tuple(pair))


def test_a_failed_call_writes_nothing(robot, bias):
    out = np.ones((10, 3))
    with pytest.raises(DataError):
        bias(TEN, TEN[:9], out=out)
    assert (out == 1).all()


# ------------------------------------------------------------------ what is refused


def test_what_cannot_be_compiled_is_refused(robot):
    with pytest.raises(CompileError, match="dtype is 'float16': expected one of float64, float32"):
        armlet.compile(robot, "bias", dtype="float16")
    with pytest.raises(CompileError, match="bias has symbolic constants"):
        armlet.compile(robot, "bias", constants={"inertia": "symbolic"})
    with pytest.raises(ModelError, match="has constants without a value"):
        armlet.general_arm("RRR").bias(ONE, ONE)
    with pytest.raises(ArmletError, match="no quantity is called 'speed'"):
        armlet.compile(robot, "speed")


@pytest.mark.parametrize("way", [lambda k, x: k(x), lambda k, x: k(np.array([x] * 3))])
@pytest.mark.parametrize(
    ("constant", "dtype"),
    [(1e39, "float32"), (-3.5e38, "float32"), (math.inf, "float64"), (math.nan, "float64"),
     (math.nan, "float32"), (10**400, "float64"), (-(10**400), "float32")],
)  # fmt: skip
def test_constants_beyond_the_range_of_the_type_are_refused(constant, dtype, way):
    program = traced("f", lambda graph, x: np.array([y + constant for y in x]), {"x": (2,)})
    kernel = Kernel(program, dtype)
    with pytest.raises(CompileError, match=rf"^a constant is .*: expected a finite {dtype}$"):
        way(kernel, np.ones(2))


def test_the_largest_constants_are_taken():
    for dtype in ("float32", "float64"):
        largest = float(np.finfo(dtype).max)
        kernel = Kernel(traced("f", lambda graph, x, k=largest: k * x, {"x": (1,)}), dtype)
        assert kernel(np.ones(1, dtype))[0] == largest


def test_what_llvm_refuses_is_told(bias, monkeypatch):
    monkeypatch.setattr(native, "one_state", lambda *_: "define void @one() { nonsense }")
    kernel = Kernel(bias.program)
    for state in (ONE, TEN):
        with pytest.raises(CompileError, match=r"^LLVM refuses the program"):
            kernel(state, state)


def test_code_without_its_function_is_told(bias, monkeypatch):
    monkeypatch.setenv("ARMLET_CACHE", "off")
    monkeypatch.setattr(native, "entry", lambda *_: "")
    with pytest.raises(CompileError, match=r"^the machine code has no function 'entry'"):
        Kernel(bias.program)(ONE, ONE)


def blocks_of(text):
    """The number of lines of each block of a function."""
    return [len(block.splitlines()) for block in re.split(r"^\S+:$", text, flags=re.MULTILINE)]


def test_long_functions_are_cut_into_short_blocks():
    """LLVM takes a time that grows with the square of the longest."""

    def run(_, x):
        for k in range(9000):
            x = x * x + k
        return np.tile(x, 5000)

    code = lowered(traced("long", run, {"x": (1,)}))
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


def test_where_arrays_lie_otherwise_in_memory_the_entry_is_left_out(robot, bias, monkeypatch):
    monkeypatch.setattr(native, "reads_arrays", lambda: False)
    kernel = armlet.compile(robot, "bias")
    assert not inspect.isbuiltin(kernel.call)
    same_bits(kernel(ONE, ONE), bias(ONE, ONE))
    same_bits(kernel(ONE.tolist(), qd=ONE), bias(ONE, ONE))


# ------------------------------------------------------------------ how long things live


@pytest.mark.parametrize("make", [
    lambda: armlet.load("planar3r").bias,
    lambda: armlet.compile(armlet.load("planar3r"), "bias").call,
    lambda: armlet.compile(armlet.load("planar3r"), "bias"),
    lambda: armlet.compile(armlet.load("planar3r"), "bias").evaluate,
])  # fmt: skip
def test_what_is_kept_still_works_when_all_else_is_gone(bias, make):
    function = make()
    gc.collect()
    q, qd = np.random.default_rng(4).normal(size=(2, 20, 3))
    same_bits(function(q, qd), bias(q, qd))
    same_bits(function(q[0], qd[0]), bias(q[0], qd[0]))


def test_robots_and_their_code_are_freed(monkeypatch):
    freed = []
    dispose = llvm.ExecutionEngine._dispose
    monkeypatch.setattr(
        llvm.ExecutionEngine, "_dispose", lambda self: (freed.append(self), dispose(self))
    )
    gc.collect()
    engine.in_llvm(int)
    freed.clear()
    robot = armlet.load("planar3r")
    robot.bias(ONE, ONE)
    robot.bias(MANY, MANY)
    kernel = armlet.compile(robot, "bias")
    kernel(ONE, ONE)
    del robot
    gc.collect()
    engine.in_llvm(int)  # LLVM's thread frees what is left before its next job
    assert len(freed) == 2
    del kernel
    gc.collect()
    engine.in_llvm(int)
    assert len(freed) == 3


@pytest.mark.parametrize("first", ["code", "finalizer"])
def test_a_finalizer_in_a_dead_cycle_may_still_call(bias, first):
    found = []

    class Controller:
        def __init__(self):
            self.itself = self

        def __del__(self):
            found.append((self.method(ONE, ONE), self.method(TEN, TEN), self.kernel(ONE, ONE)))

    made = [Controller()] if first == "finalizer" else []
    robot = armlet.load("planar3r")
    robot.bias(ONE, ONE)
    robot.bias(TEN, TEN)
    kernel = armlet.compile(robot, "bias")
    kernel(ONE, ONE)
    controller = made.pop() if made else Controller()
    controller.method, controller.kernel = robot.bias, kernel
    del controller, robot, kernel
    gc.collect()
    ((one, ten, another),) = found
    same_bits(one, bias(ONE, ONE))
    same_bits(another, one)
    same_bits(ten, bias(TEN, TEN))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_robots_can_be_copied_and_sent_after_use(copied):
    robot = armlet.load("panda")
    q, qd, _ = robot_states(robot)
    used = robot.bias(q, qd), robot.bias(q[0], qd[0]), robot.jacobian(q[0])
    twin = copied(robot)
    assert not twin.memory
    assert "bias" not in vars(twin)
    del robot
    gc.collect()
    for ours, theirs in zip(
        (twin.bias(q, qd), twin.bias(q[0], qd[0]), twin.jacobian(q[0])), used, strict=True
    ):
        same_bits(ours, theirs)


def test_other_robots_made_of_one_do_not_use_its_code():
    robot = armlet.load("planar2r")
    q = np.zeros(2)
    assert robot.gravity_torque(q).any()
    assert not robot.with_gravity((0, 0, 0)).gravity_torque(q).any()
    same_bits(2 * robot.gravity_torque(q), robot.with_inertia(2 * robot.phi).gravity_torque(q))


def test_many_threads_may_ask_a_fresh_robot_at_once():
    q, qd = np.random.default_rng(4).normal(size=(2, 50, 3))
    expected = armlet.load("planar3r").bias(q, qd)
    for _ in range(5):
        robot = armlet.load("planar3r")
        barrier, found = threading.Barrier(16), []

        def ask(k, robot=robot, barrier=barrier, found=found):
            barrier.wait()
            if k % 2:
                found.append((robot.bias(q, qd), expected))
            else:
                found.append((robot.bias(q[k], qd[k]), expected[k]))

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 16
        for ours, theirs in found:
            same_bits(ours, theirs)


def test_of_two_threads_that_compile_at_once_neither_takes_the_code_of_the_other(robot, bias):
    kernel = armlet.compile(robot, "bias")
    compiled = kernel._compiled()
    made = [type(compiled).__dict__["_many"].func(compiled) for _ in range(2)]
    vars(compiled)["_many"] = made.pop(0)
    made.clear()
    gc.collect()
    same_bits(kernel(TEN, TEN), bias(TEN, TEN))


# ------------------------------------------------------------------ leaks


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def random_calls(robot, kernel, count, rng):
    """Calls of all kinds, good and bad."""
    q, qd = rng.normal(size=(2, 40, 3))
    out = np.empty((8, 3))
    single = q[0].astype(np.float32)
    kinds = [
        *[lambda: kernel(q[1], qd[1])] * 30,
        *[lambda: robot.bias(q[2], qd[2])] * 30,
        *[lambda: robot.energy(q[3], qd[3])] * 30,
        lambda: robot.bias(q[:8], qd[:8]),
        lambda: robot.bias(q[:8], qd[:8], out=out),
        lambda: robot.bias(q=q[4], qd=qd[4]),
        lambda: kernel.call(single, q[5].tolist()),
        lambda: kernel.call(q[:0], qd[:0]),
        lambda: kernel.call(q[0], qd),
        lambda: robot.bias(q[0], "no"),
        lambda: robot.energy(q[0]),
        lambda: robot.bias(q, qd, out=out),
    ]
    for k in rng.integers(len(kinds), size=count).tolist():
        with suppress(DataError, TypeError):
            kinds[k]()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_calls_leak_nothing(robot, bias):
    rng = np.random.default_rng(7)
    random_calls(robot, bias, CALLS // 10, rng)
    gc.collect()
    before = resident()
    random_calls(robot, bias, CALLS, rng)
    gc.collect()
    assert resident() - before < 4 * 2**20

    tracemalloc.start()
    try:
        random_calls(robot, bias, 1000, rng)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        random_calls(robot, bias, CALLS // 20, rng)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 20_000


def counts(*things):
    return [sys.getrefcount(thing) for thing in things]


@every_way
def test_references_are_given_back(robot, bias, way):
    function = ways(robot, bias)[way]
    q, qd, out = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    bad, double = np.zeros(5), np.dtype(np.float64)
    calls = [
        lambda: function(q, qd), lambda: function(q[0], qd[0]), lambda: function(q, qd, out=out),
        lambda: function(bad, qd), lambda: function(q, bad), lambda: function(q, qd, out=bad),
        lambda: function(q, object()), lambda: function(q, qd, threads=0),
        lambda: function(q, qd, x=q),
    ]  # fmt: skip

    def run():
        for call in calls:
            with suppress(DataError, TypeError):
                call()

    run()
    gc.collect()
    before = counts(q, qd, out, bad, double, function, robot, bias)
    for _ in range(50):
        run()
    gc.collect()
    assert counts(q, qd, out, bad, double, function, robot, bias) == before


def test_results_belong_to_the_caller_alone(robot):
    q, qd = np.zeros((2, 3))
    for found in (robot.bias(q, qd), *robot.energy(q, qd)):
        assert found.flags.owndata
        assert found.flags.writeable
    first = robot.bias(q, qd)
    assert robot.bias(q, qd + 1) is not first


NEW_ARRAY = ctypes.PYFUNCTYPE(
    ctypes.c_void_p, *[ctypes.c_void_p] * 2, ctypes.c_int, *[ctypes.c_void_p] * 3, ctypes.c_int,
    ctypes.c_void_p,
)  # fmt: skip


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_out_of_memory_gives_back_what_was_made(monkeypatch, fails):
    """NumPy's function that makes arrays is replaced by one that refuses at times."""
    monkeypatch.setenv("ARMLET_CACHE", "off")
    real = NEW_ARRAY(llvm.address_of_symbol("armlet_new_array"))
    release = ctypes.pythonapi.Py_DecRef
    release.argtypes, release.restype = [ctypes.c_void_p], None
    made = 0

    def new(kind, dtype, *others):
        nonlocal made
        made += 1
        if made - 1 < fails:
            return real(kind, dtype, *others)
        release(dtype)
        return None

    fake = NEW_ARRAY(new)
    calls.share("float64")
    shared = calls.SHARED_CODE["float64"][-1].addresses
    monkeypatch.setattr(calls, "SHARED_CODE", {})
    llvm.add_symbol("armlet_new_array", ctypes.cast(fake, ctypes.c_void_p).value)
    try:
        program = traced("f", lambda graph, x: (x + 1, 2 * x, x), {"x": (3,)})
        kernel = Kernel(program)
        with pytest.raises(SystemError):
            kernel.call(np.zeros(3))
    finally:
        llvm.add_symbol("armlet_new_array", ctypes.cast(real, ctypes.c_void_p).value)
        engine.add_symbols(shared)
    x, double = np.zeros((2, 3)), np.dtype(np.float64)
    before = sys.getrefcount(double)
    for _ in range(10):
        made = 0
        with suppress(SystemError):
            kernel.call(x)
        assert made == fails + 1
    assert sys.getrefcount(double) == before

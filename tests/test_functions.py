"""Functions of your own: they compute what NumPy does, and are programs like any other."""

import ctypes
import functools
import inspect
import math
import pickle
import re
import shutil
import subprocess
import sys
from itertools import product
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
import sympy
from support.numpy_expressions import EXPRESSIONS, REFUSED

import armlet
import armlet.math as am
from armlet.graph import OPERATIONS
from armlet.graph.evaluate import NAMESPACES
from armlet.graph.trace.errors import BranchError
from armlet.runtime import Kernel
from armlet.runtime.engine import host

panda = armlet.load("panda")
puma = armlet.load("puma560")
CC = shutil.which("gcc") or shutil.which("clang")


@armlet.function(panda, q=panda.nq, qd=panda.nv, target=3)
def reach(q, qd, target):
    X, Jq = panda.forward_kinematics(q), panda.jacobian(q)[3:]
    return panda.gravity_torque(q) + Jq.T @ (400 * (target - X[:3, 3]) - 40 * Jq @ qd)


@armlet.function(panda, target=3, limit=7)
def operational_space(q, qd, target, limit):
    """Acceleration of the tool towards a target, with saturation, through its own inertia."""
    H, b = panda.inertia_matrix(q), panda.bias(q, qd)
    X, Jq = panda.forward_kinematics(q), panda.jacobian(q)[3:]
    error = target - X[:3, 3]
    a = 30 * np.tanh(error / 0.1) - 30 * Jq @ qd
    force = am.solve(Jq @ am.solve(H, Jq.T), a)
    slower = np.where(np.abs(qd) > 1, 0.5, 1.0)
    tau = np.clip(slower * (Jq.T @ force + b), -limit, limit)
    return {"tau": tau, "distance": np.linalg.norm(error)}


def states(count, robot=panda):
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-2, 2, (2, count, robot.nv))
    return q, qd, rng.uniform(-0.5, 0.5, (count, 3))


# ------------------------------------------------------------------ values


@pytest.mark.parametrize("first", [True, False])
def test_a_frame_that_was_used_with_numbers_can_be_used_in_a_function(first):
    """Whether the method was compiled without a frame before or not."""
    robot = armlet.load("puma560")
    q = np.linspace(-1, 1, 6)
    if first:
        robot.forward_kinematics(q)
    expected = robot.forward_kinematics(q, "link3")

    @armlet.function(robot)
    def pose(q):
        return robot.forward_kinematics(q, "link3"), robot.forward_kinematics(q, frame="link3")

    for found in pose(q):
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_a_controller_agrees_with_numpy():
    for q, qd, target in zip(*states(50), strict=True):
        np.testing.assert_allclose(
            reach(q, qd, target), reach.__wrapped__(q, qd, target), rtol=1e-12, atol=1e-12
        )


def test_an_operational_space_controller_agrees_with_numpy():
    limit = np.full(7, 60.0)
    saturated = 0
    for q, qd, target in zip(*states(50), strict=True):
        found = operational_space(q, qd, target, limit)
        expected = operational_space.__wrapped__(q, qd, target, limit)
        size = max(1, np.abs(expected["tau"]).max())
        np.testing.assert_allclose(found.tau, expected["tau"], atol=1e-12 * size)
        np.testing.assert_allclose(found.distance, expected["distance"], rtol=1e-12)
        saturated += (np.abs(found.tau) == 60).any()
    assert 0 < saturated < 50


def test_rows_have_the_bits_of_single_states():
    q, qd, target = states(37)
    limit = np.full((37, 7), 60.0)
    rows = operational_space(q, qd, target, limit)
    for k in range(37):
        one = operational_space(q[k], qd[k], target[k], limit[k])
        assert rows.tau[k].tobytes() == one.tau.tobytes()


@pytest.mark.skipif(CC is None, reason="no C compiler is here")
def test_its_c_has_the_bits_of_the_kernel(tmp_path):
    fuses = host("float64").fuses
    text = operational_space.source("c", fused=fuses, sines="armlet")
    (tmp_path / "it.c").write_text(text)
    library = tmp_path / "it.so"
    fma = ["-mfma"] if fuses else []
    options = ["-O2", *fma, "-ffp-contract=off", "-shared", "-fPIC", "-Wall", "-Wextra"]
    subprocess.run(
        [CC, *options, "-Werror", "it.c", "-lm", "-o", library], cwd=tmp_path, check=True
    )
    function = ctypes.CDLL(str(library)).operational_space
    limit = np.full(7, 60.0)
    for q, qd, target in zip(*states(20), strict=True):
        expected = operational_space(q, qd, target, limit)
        tau, distance = np.empty(7), np.empty(())
        arrays = (q, qd, target, limit, tau, distance)
        function(*(x.ctypes.data_as(ctypes.c_void_p) for x in arrays))
        assert tau.tobytes() == expected.tau.tobytes()
        assert distance.tobytes() == expected.distance.tobytes()


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler is here")
@pytest.mark.parametrize("fused", [True, False])
def test_its_template_compiles(tmp_path, fused):
    text = operational_space.source("cpp", fused=fused)
    call = "template void operational_space<double>(const double*, const double*, const double*, "
    (tmp_path / "it.cpp").write_text(f"{text}\n{call}const double*, double*, double*);\n")
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-c", "it.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_what_several_quantities_share_is_computed_once():
    """The controller takes less than its quantities, which it would call one by one."""
    names = ["gravity_torque", "forward_kinematics", "jacobian"]
    apart = sum(armlet.trace(panda, name).count().total for name in names)
    assert reach.count().total < apart


def test_a_function_of_one_quantity_takes_what_that_takes():
    @armlet.function(puma)
    def torque(q, qd, qdd):
        return puma.inverse_dynamics(q, qd, qdd)

    alone = armlet.trace(puma, "inverse_dynamics").count()
    assert torque.count().total <= alone.total


@armlet.function(x=3, gain=())
def scaled(x, gain):
    return gain * np.tanh(x)


def test_several_robots_and_other_functions_may_be_used():
    @armlet.function(q=7, p=6)
    def both(q, p):
        apart = panda.forward_kinematics(q)[:3, 3] - puma.forward_kinematics(p)[:3, 3]
        return scaled(apart, 2 * q[0])

    q, p = states(1)[0][0], states(1, puma)[0][0]
    np.testing.assert_allclose(both(q, p), both.__wrapped__(q, p), rtol=1e-12)


def test_many_results_are_written_where_the_caller_says():
    """Also where they are too many for the compiled entry to compare each with each."""

    @armlet.function(x=3)
    def multiples(x):
        return tuple(k * x for k in range(2, 42))

    x = np.array([1.0, -2.0, 0.5])
    out = list(np.empty((40, 3)))
    for results in (multiples(x), multiples(x, out=out)):
        np.testing.assert_array_equal(results, [k * x for k in range(2, 42)])
    np.testing.assert_array_equal(out, [k * x for k in range(2, 42)])
    with pytest.raises(armlet.DataError):
        multiples(x, out=[out[0], *out[:-1]])


def test_the_derivative_of_a_number_by_a_number_is_a_number():
    square = armlet.function(s=())(lambda s: s * s)
    for mode in ("forward", "reverse"):
        assert square.derivative("s", mode).function()(3.0) == 6


def test_constants_in_arrays_are_numbers_like_others():
    """They come of diag and triu; a comparison is a number of NumPy's too."""

    @armlet.function(x=3)
    def function(x):
        return np.sqrt(np.diag(x)), np.nan_to_num(np.log(x)), 1 / (x > 0), np.modf(1 / x)[0]

    for x in ([4.0, 9.0, 1.0], [0.0, 2.0, -1.0]):
        with np.errstate(all="ignore"):
            expected = function.__wrapped__(np.array(x))
            for found in (function(x), function.function()(x)):
                for y, z in zip(found, expected, strict=True):
                    np.testing.assert_allclose(y, z, rtol=1e-12)


def test_a_division_by_a_constant_zero_names_its_line():
    for function in (lambda x: 2 / (x[0] - x[0]), lambda x: x % (x - x)):
        with pytest.raises(armlet.CompileError, match=r"test_functions.py, line \d+.*by zero"):
            armlet.function(x=3)(function).count()


def test_constants_of_a_robot_may_be_arguments():
    robot = armlet.load("planar2r")

    @armlet.function(robot, mass=(), com=3, g=3, rotors=2)
    def loaded(q, qd, mass, com, g, rotors):
        arm = robot.with_payload(mass, com).with_gravity(g).with_drives(rotor_inertia=rotors)
        assert arm == arm
        assert arm != robot
        assert arm != arm.with_gravity(2 * g)
        return arm.inverse_dynamics(q, qd, qd), arm.forward_dynamics(q, qd, qd)

    @armlet.function(robot, phi=(2, 10))
    def at_rest(phi):
        return robot.with_inertia(phi).gravity_torque([0.3, 0.4])

    rng = np.random.default_rng(0)
    args = [rng.uniform(0.5, 2, shape) for shape in (2, 2, (), 3, 3, 2)]
    for found, expected in zip(loaded(*args), loaded.__wrapped__(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    phi = rng.normal(size=(2, 10))
    np.testing.assert_allclose(at_rest(phi), at_rest.__wrapped__(phi), rtol=1e-10)
    lighter, heavier = (at_rest(phi + step) for step in (-1e-3, 1e-3))
    by_phi = at_rest.derivative("phi").function()(phi)
    np.testing.assert_allclose(by_phi.sum((1, 2)), (heavier - lighter) / 2e-3, rtol=1e-6)


def test_leading_axes_of_traced_arrays_are_gone_through():
    rows = armlet.function(q=(2, 7))(lambda q: panda.forward_kinematics(q)[:, :3, 3])
    q = states(2)[0]
    np.testing.assert_allclose(rows(q), panda.forward_kinematics(q)[:, :3, 3], atol=1e-14)


def test_results_have_the_form_that_the_function_gives_them():
    class Both(NamedTuple):
        up: object
        down: object

    x = np.array([1.0, 2.0])
    bare = armlet.function(x=2)(lambda x: 2 * x)
    assert bare(x).tolist() == [2, 4]
    several = armlet.function(x=2)(lambda x: (x, x[0] * x[1]))
    assert type(several(x)) is tuple
    named = armlet.function(x=2)(lambda x: Both(x + 1, x - 1))
    assert named(x)._fields == ("up", "down")
    listed = armlet.function(x=2, t=())(lambda x, t: [x[1], t, 3])
    assert listed(x, 0.5).tolist() == [2, 0.5, 3]
    assert bare(x[None]).shape == (1, 2)


# ------------------------------------------------------------------ every function

FUNCTIONS = {
    "abs": lambda x, y: abs(x) + np.abs(y) + am.abs(x[0]),
    "minimum": lambda x, y: np.minimum(x, y) + am.minimum(x[0], 0.25) * np.minimum(x, 0.5),
    "maximum": lambda x, y: np.maximum(x, y) - am.maximum(0.25, y[1]),
    "clip": lambda x, y: np.clip(x, -0.5, 0.5) + np.clip(y, None, x),
    "where": lambda x, y: np.where(x < y, x, 2 * y) + am.where(x[0] > y[0], 1, x[1]),
    "comparisons": lambda x, y: (x < y) * 1.0 + 2 * (x <= 0.1) + 4 * (x > y) + 8 * (y >= 0.1),
    "logic": lambda x, y: np.where(np.logical_and(x > 0, y > 0) | (x < -1), x, y),
    "not": lambda x, y: np.where(~((x > 0) & (y < 1)), x, y),
    "exp": lambda x, y: np.exp(x) * am.exp(y[0]),
    "log": lambda x, y: np.log(np.abs(x) + 1) + am.log(2 + y * y),
    "tanh": lambda x, y: np.tanh(x) - am.tanh(-y),
    "arctan2": lambda x, y: np.arctan2(x, y) + am.atan2(x[0], 0.5) + am.atan2(1, y),
    "sine and cosine": lambda x, y: np.sin(x) * np.cos(y) + am.sin(x[0]) * am.cos(y[1]),
    "sqrt": lambda x, y: np.sqrt(x * x + y**2) + am.sqrt(abs(x)) + abs(y) ** 0.5,
    "sign": lambda x, y: np.sign(x) + am.sign(y),
    "powers": lambda x, y: x**2 + y**-2 + x**3,
    "smallest": lambda x, y: np.min(x) + x.max() + np.minimum.reduce(y),
    "any": lambda x, y: np.where(np.any(x > 1), x, y) + am.where(np.all(y > -1), 1, 2),
    "norm": lambda x, y: np.linalg.norm(x) * np.cross(x, y) + np.outer(x, y) @ y,
    "joined": lambda x, y: np.maximum(np.concatenate([x, y]).reshape(2, 3).sum(axis=0), 0),
    "solve": lambda x, y: am.solve(np.eye(3) * 4 + np.outer(x, x), y),
    "in place": lambda x, y: _in_place(x, y),
    "equality": lambda x, y: np.where(x == y, 1.0, x) + np.where(x != 1, y, 2.0) + (x[0] == 1),
    "numbers as conditions": lambda x, y: np.where(x, y, 2.0) + np.logical_not(y - 1),
    "any power": lambda x, y: np.abs(x) ** 1.5 + np.abs(x[0]) ** y + 2 ** y[1] + (x[0] / 3) ** 100,
    "whole numbers": lambda x, y: np.floor(x) + np.round(y, 1) + np.ceil(x[0]) + np.trunc(y[1]),
    "remainders": lambda x, y: x % 0.7 + y // 0.6 + x[0] % (y[0] + 3) + np.fmod(x, 0.3),
}


def _in_place(x, y):
    z = x.copy()
    z += y
    z[0] = am.minimum(z[0], 1)
    return z


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_numpy_is_recorded(name):
    function = FUNCTIONS[name]
    compiled = armlet.function(x=3, y=3)(function)
    rng = np.random.default_rng(0)
    for x, y in [*rng.uniform(-2, 2, (20, 2, 3)), np.ones((2, 3))]:
        expected = function(x, y)
        np.testing.assert_allclose(compiled(x, y), expected, rtol=1e-13, atol=1e-13)
    rows = rng.uniform(-2, 2, (2, 19, 3))
    found = compiled(*rows)
    for k in range(19):
        assert found[k].tobytes() == compiled(*rows[:, k]).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivatives_are_those_of_small_steps(name, mode):
    compiled = armlet.function(x=3, y=3)(FUNCTIONS[name])
    derivative = compiled.derivative("x", mode).function()
    x, y = np.random.default_rng(3).uniform(-2, 2, (2, 3))
    step = 1e-6
    for k in range(3):
        moved = step * np.eye(3)[k]
        rate = (compiled(x + moved, y) - compiled(x - moved, y)) / (2 * step)
        np.testing.assert_allclose(derivative(x, y)[..., k], rate, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("solve", "in place")])
@pytest.mark.parametrize("library", [name for name in NAMESPACES if name != "numpy"])
def test_every_library_computes_the_same(name, library):
    module = pytest.importorskip("jax.numpy" if library == "jax" else library)
    compiled = armlet.function(x=3, y=3)(FUNCTIONS[name])
    x, y = np.random.default_rng(0).uniform(-2, 2, (2, 3))
    expected = compiled(x, y)
    if library == "torch":
        given = [module.as_tensor(a) for a in (x, y)]
    elif library in ("sympy", "mpmath"):
        given = [
            [module.Float(a) if library == "sympy" else module.mpf(a) for a in b] for b in (x, y)
        ]
    else:
        given = [x, y]
    found = compiled.function(module)(*given)
    arrays = {"torch": "numpy", "casadi": "full"}
    found = getattr(found, arrays[library])() if library in arrays else np.array(found, float)
    found = found.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if library == "jax" else 1e-12, atol=1e-6)


AT = [
    *np.random.default_rng(5).uniform(-3, 3, (4, 2, 3)),
    [[0.0, -0.0, 0.0], [0.0, 0.0, -0.0]],
    [[1.0, -1.0, 0.0], [1.0, 2.0, -0.0]],
    [[-2.5, 0.5, 1.5], [0.5, -0.5, 2.0]],
    [[1e6, -1e6, 3.0], [1e6, 1.0, -7.0]],
]
"""Where expressions are compared: anywhere, at zeros of both signs, at ties, at large numbers."""


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
def test_ordinary_expressions_of_numpy_agree_with_numpy():
    """One program of all, since each would be compiled by itself."""
    functions = {
        f"e{k}": eval(f"lambda x, y: {text}", {"np": np, "math": math})
        for k, text in enumerate(EXPRESSIONS)
    }
    together = armlet.function(x=3, y=3)(
        lambda x, y: {name: function(x, y) for name, function in functions.items()}
    )
    program = together._composition().program([])  # no search, which takes long
    with np.errstate(all="ignore"):
        for call, (x, y) in product((program.function(), Kernel(program)), np.asarray(AT)):
            found = call(x, y)
            for text, result, function in zip(EXPRESSIONS, found, functions.values(), strict=True):
                expected = np.asarray(function(x, y), dtype=float)
                assert result.shape == expected.shape, text
                finite = np.isfinite(expected)
                np.testing.assert_allclose(
                    result[finite], expected[finite], rtol=1e-9, atol=1e-12, err_msg=text
                )


def test_one_number_is_differentiated_by_another():
    sine = armlet.function(x=())(lambda x: np.sin(x))
    for mode in ("forward", "reverse"):
        assert sine.derivative("x", mode).function()(0.3) == pytest.approx(np.cos(0.3), rel=1e-12)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
def test_functions_of_numpy_write_to_the_array_that_is_given():
    def into(function, *options):
        def written(x):
            out = np.zeros_like(x)
            function(x, *options, out=out)
            return out

        return written

    x = np.array([0.34, -1.26, 2.5])
    for function in (into(np.round, 1), into(np.fix), into(np.clip, -1, 1), into(np.sin)):
        np.testing.assert_allclose(armlet.function(x=3)(function)(x), function(x), rtol=1e-12)


def test_infinite_numbers_and_those_that_are_none_are_replaced():
    x = np.array([np.nan, np.inf, -np.inf, 2.0])
    for options in ({}, {"posinf": None}, {"nan": 3.0, "posinf": 4.0, "neginf": -5.0}):
        found = armlet.function(x=4)(lambda x, options=options: np.nan_to_num(x, **options))
        np.testing.assert_array_equal(found(x), np.nan_to_num(x, **options))


@pytest.mark.parametrize("text", REFUSED)
def test_an_expression_that_cannot_be_recorded_names_what_to_use(text):
    function = eval(f"lambda x, y: {text}", {"np": np, "math": math})
    with pytest.raises(armlet.CompileError, match=re.escape(REFUSED[text])) as error:
        armlet.function(x=3, y=3)(function).count()
    assert "<string>, line 1, in <lambda>" in str(error.value)


GUARDS = {
    "sinc": lambda x: np.where(x == 0, 1.0, np.sin(x) / x),
    "not equal": lambda x: np.where(x != 0, np.expm1(x) / x, 1.0),
    "unit vector": lambda x: np.where(np.sqrt(x @ x) == 0, 0 * x, x / np.sqrt(x @ x)),
    "inside": lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1)), x),
    "logarithm": lambda x: np.where(x > 0, np.log(x), x) + np.where(x < 1, np.sqrt(1 - x), x),
    "limit": lambda x: np.minimum(1 / np.abs(x), 5) + np.maximum(-3, np.log(np.abs(x))),
    "twice": lambda x: (
        np.where(x > 1, 1 / x, 0) + np.where(x < -1, x / x, np.where(x > 2, 1 / x, 1))
    ),
}


@pytest.mark.parametrize("name", GUARDS)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_guard_of_a_division_guards_its_derivative(name, mode):
    guarded = armlet.function(x=2)(GUARDS[name])
    derivative = guarded.derivative("x", mode).function()
    for x in ([0.0, 0.0], [0.0, 1.5], [-0.7, 2.5], [-0.0, -1.5]):
        with np.errstate(all="ignore"):
            found, expected = guarded(np.array(x)), GUARDS[name](np.array(x))
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
            assert np.isfinite(derivative(np.array(x))).all()


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivatives_are_true_where_two_branches_meet(mode):
    """First and second derivatives where the arguments of logaddexp are equal."""
    for function, first, second in (
        (lambda x: np.logaddexp(x, -x), 0, 1),
        (lambda x: np.logaddexp(0, x), 0.5, 0.25),
        (lambda x: np.logaddexp(x, 0), 0.5, 0.25),
        (lambda x: np.logaddexp2(x, -x), 0, math.log(2)),
    ):
        once = armlet.function(x=())(function).derivative("x", mode)
        assert once.function()(np.zeros(())) == pytest.approx(first, abs=1e-15)
        assert once.derivative("x", mode).function()(np.zeros(())) == pytest.approx(second)
    far = armlet.function(x=(), y=())(lambda x, y: np.logaddexp(x, y))
    assert far(1000.0, -1000.0) == far(-1000.0, 1000.0) == 1000


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_sinc_and_its_derivatives_are_accurate_near_zero(mode):
    mpmath = pytest.importorskip("mpmath")
    sinc = armlet.function(x=())(lambda x: np.sinc(x))
    once = sinc.derivative("x", mode)
    programs = sinc, once, once.derivative("x", mode)
    with mpmath.workdps(60):
        for x in (1e-8, -1e-6, 1e-4, 1e-3, -0.00999, 0.01, 0.0101, -0.1, 0.7, 2.3):
            true = mpmath.taylor(lambda x: mpmath.sincpi(x), x, 2)
            for program, value in zip(programs, (true[0], true[1], 2 * true[2]), strict=True):
                found = float(program.function()(np.array(x)))
                assert found == pytest.approx(float(value), rel=1e-9)
    at_zero = [float(program.function()(np.zeros(()))) for program in programs]
    assert at_zero == pytest.approx([1, 0, -(math.pi**2) / 3], rel=1e-14)


def test_an_infinite_limit_is_no_limit():
    unlimited = armlet.function(x=2)(
        lambda x: np.clip(x, 0, np.inf) + x.clip(-np.inf, 1) + np.maximum(-np.inf, x)
    )
    assert unlimited([-3.0, 4.0]).tolist() == [-6, 9]
    assert (
        unlimited.count()
        == armlet.function(x=2)(lambda x: np.maximum(x, 0) + np.minimum(x, 1) + x).count()
    )


def test_derivatives_of_libraries_do_not_see_what_is_not_chosen():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    guarded = armlet.function(x=2)(GUARDS["unit vector"])
    assert np.isfinite(jax.jacrev(guarded)(jax.numpy.zeros(2))).all()
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    guarded(x).sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


def test_comparisons_with_what_is_not_a_number_are_false():
    compared = armlet.function(x=1)(
        lambda x: np.concatenate(
            [x < 1, x <= 1, x > 1, x >= 1, x == x, x == 1, x != 1, np.isnan(x)]
        )
    )
    for x in (np.array([math.nan]), np.full((9, 1), math.nan)):
        assert np.all(compared(x) == [0, 0, 0, 0, 0, 0, 1, 1])


def test_not_a_number_is_not_hidden():
    limited = armlet.function(x=1, y=1)(lambda x, y: (np.minimum(x, y), np.maximum(x, y)))
    for x, y in ((math.nan, 1.0), (1.0, math.nan)):
        for result in (limited([x], [y]), limited(np.full((9, 1), x), np.full((9, 1), y))):
            assert np.isnan(result[0]).all()
            assert np.isnan(result[1]).all()


# ------------------------------------------------------------------ branches


def branches(q):
    if q[0] > 0:
        return q
    return -q


def casts(q):
    return math.sin(q[0]) * q


def counts(q):
    return q[: int(q[0])]


def picks(q):
    return [1, 2, 3][q[0]] * q


def smaller(q):
    return min(q[0], q[1]) * q


def escaping(q):
    inner = armlet.function(x=2)(lambda x: x * q)
    return inner(q)


def inverts(q):
    return np.linalg.inv(np.outer(q, q))


def equals(q):
    return q + 1 if q[0] == 0 else q - 1


def differs(q):
    return q + 1 if q[0] != 0 else q - 1


def is_one_of(q):
    return q if q[0] in (0, 1) else -q


@pytest.mark.parametrize(
    "function", [branches, casts, counts, picks, smaller, equals, differs, is_one_of]
)
def test_a_branch_on_a_traced_value_names_its_line(function):
    with pytest.raises(BranchError) as error:
        armlet.function(q=2)(function).count()
    first = inspect.getsourcelines(function)[1] + 1
    assert f"{__file__}, line {first}, in {function.__name__}" in str(error.value)
    assert "armlet.math.where, minimum or maximum" in str(error.value)
    assert isinstance(error.value, armlet.CompileError)


def test_numerical_linear_algebra_is_refused():
    with pytest.raises(armlet.CompileError, match=r"inv looks at numbers.*armlet\.math\.solve"):
        armlet.function(q=2)(inverts).count()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: armlet.function(q=2)(lambda q, target: q), "argument 'target' of <lambda>"),
        (lambda: armlet.function(q=2, x=3)(lambda q: q), "has no argument 'x'"),
        (lambda: armlet.function(q=2)(lambda q: "q").count(), "returns 'q': expected arrays"),
        (lambda: armlet.function(q=2)(lambda q: {"a b": q}).count(), "a result is called 'a b'"),
        (lambda: armlet.function(out=2)(lambda out: out), "an argument 'out', which means"),
        (lambda: armlet.function(q=2)(escaping).count(), "outside the function that it is an arg"),
    ],
)
def test_what_makes_no_sense_is_refused(made, message):
    with pytest.raises(armlet.CompileError, match=message):
        made()


# ------------------------------------------------------------------ like any other program


def test_a_function_is_traced_when_it_is_first_used_and_once():
    calls = []

    @armlet.function(x=2)
    def twice(x):
        calls.append(1)
        return 2 * x

    assert calls == []
    twice.count(), twice(np.ones(2)), twice.source("c"), twice.derivative("x")
    assert calls == [1]


def test_a_function_keeps_its_name_and_pickles():
    assert reach.__name__ == "reach"
    assert operational_space.__doc__.startswith("Acceleration of the tool")
    assert pickle.loads(pickle.dumps(reach)) is reach
    assert repr(reach) == "<Function reach(q, qd, target)>"


def test_a_callable_object_without_a_name_is_a_function():
    class Twice:
        def __call__(self, x):
            return 2 * x

    for callable_object in (functools.partial(lambda factor, x: factor * x, 2), Twice()):
        doubled = armlet.function(x=2)(callable_object)
        assert doubled([1, 2]).tolist() == [2, 4]
        assert repr(doubled) == "<Function function(x)>"
        assert "void function(" in doubled.source()


def test_arguments_may_be_named_and_have_defaults():
    @armlet.function(panda, target=3)
    def pull(q, target, gain=2.0):
        return gain * (target - panda.forward_kinematics(q)[:3, 3])

    q, _, target = (x[0] for x in states(1))
    expected = pull(q, target)
    for found in (pull(target=target, q=q), pull(q, target=target)):
        assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(expected, pull.__wrapped__(q, target), rtol=1e-12)
    with pytest.raises(TypeError, match="unexpected keyword argument 'aim'"):
        pull(q, aim=target)


def test_an_input_may_be_given_once_for_all_states():
    gains = armlet.Input("", (2,), "once")
    scaled = armlet.function(x=2, k=gains)(lambda x, k: np.exp(k) * x)
    x = np.ones((30, 2))
    np.testing.assert_allclose(scaled(x, np.zeros(2)), x)
    assert scaled.inputs["k"] == armlet.Input("k", (2,), "once")


def test_counts_list_functions_apart():
    f = armlet.function(x=2)(lambda x: np.where(x > 0, np.exp(x), np.minimum(x, abs(x[0]))))
    assert str(f.count()) == "0M 0A, 1 abs, 2 exp, 2 less, 2 min, 2 where"


def test_every_operation_is_used_by_a_function_here():
    used = set()
    for function in FUNCTIONS.values():
        program = armlet.function(x=3, y=3)(function).program
        used |= {op for _, op, _ in program.nodes}
    assert set(OPERATIONS) - {"neg"} <= used


def test_single_precision_is_close():
    kernel = Kernel(operational_space.program, "float32")
    limit = np.full(7, 60.0)
    q, qd, target = (x[0] for x in states(1))
    expected = operational_space(q, qd, target, limit).tau
    np.testing.assert_allclose(kernel(q, qd, target, limit).tau, expected, rtol=1e-2, atol=1e-2)


# ------------------------------------------------------------------ other scalars


def test_methods_give_expressions_of_symbols():
    arm = armlet.load("planar2r")
    q = sympy.symbols("q1 q2")
    tau = arm.gravity_torque(q)
    assert sympy.simplify(tau[1] - 4.905 * sympy.cos(q[0] + q[1])) == 0
    digits = arm.gravity_torque([mpmath.mpf(1) / 3, mpmath.mpf(1) / 7])
    np.testing.assert_allclose(digits.astype(float), arm.gravity_torque([1 / 3, 1 / 7]), rtol=1e-14)


def test_methods_give_expressions_of_casadi():
    casadi = pytest.importorskip("casadi")
    q = casadi.SX.sym("q", 7)
    f = casadi.Function("f", [q], [panda.gravity_torque(q)])
    x = states(1)[0][0]
    np.testing.assert_allclose(f(x).full().ravel(), panda.gravity_torque(x), atol=1e-12)


def test_symbols_of_a_general_arm_stay_symbols():
    arm = armlet.general_arm("RR")
    weight = armlet.function(arm)(lambda q: arm.gravity_torque(q))
    assert "m2" in weight.program.symbols or weight.program.symbols


def test_every_public_function_of_math_has_a_docstring():
    for name, value in vars(am).items():
        if callable(value) and not name.startswith("_") and value.__module__ == am.__name__:
            assert value.__doc__, name
    assert sys.modules["armlet.math"] is am

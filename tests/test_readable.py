"""Listings, Python, MATLAB, Julia, LaTeX and SymPy: the counted operations, and the same values."""

import ast
import ctypes
import re
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compilers import pointer, python_of, shared_library
from support.robots import random_robot

import armlet
from armlet.codegen.source.assignments import assignments
from armlet.codegen.source.c import symbols_as_argument
from armlet.codegen.source.readable import JULIA, LATEX, MATLAB, NOTATIONS, PLAIN, PYTHON
from armlet.graph import OPERATIONS, Count, trace_function

BINARY = {ast.Mult: "M", ast.Div: "M", ast.Add: "A", ast.Sub: "A"}
QUANTITIES = ("inverse_dynamics", "inertia_matrix", "energy", "jacobian", "linearization")


@pytest.fixture(scope="module")
def puma():
    """The PUMA 560 without drives, and its inverse dynamics with symbolic inertias."""
    robot = armlet.load("puma560").without_drives()
    return robot, armlet.trace(robot, "inverse_dynamics", constants={"inertia": "symbolic"})


def recounted(text):
    """The operators and functions in lines of Python."""
    nodes = [*ast.walk(ast.parse(text))]
    operators = Counter(BINARY[type(x.op)] for x in nodes if isinstance(x, ast.BinOp))
    called = Counter(x.func.id for x in nodes if isinstance(x, ast.Call))
    return Count(operators["M"], operators["A"], tuple(sorted(called.items())))


def as_python(target, text):
    """MATLAB or Julia as Python: indices count from zero, and the frame is another."""
    text = re.sub(r" \.\.\.\n +", " ", text)
    text = re.sub(r"(\w+) = (\w+)[\[(](\d+(?:, \d+)*)[\])];?$", shifted, text, flags=re.MULTILINE)
    if target == "matlab":
        results = re.search(r"function \[(.*)\]", text)[1]
        text = re.sub(r"function \[.*\] = (.*)", r"def \1:", text).replace("%", "#")
        text = re.sub(r"= \[(.*)\];", lambda m: f"= {nested(m[1], '; ', ', ')}", text)
        return re.sub(r"\nend\n$", f"\n    return {results}\n", text)
    text = re.sub(r"function ([^)]*)\)", lambda m: f"def {m[1].replace(';', ', *,')}):", text)
    text = re.sub(r"\[\n([^]]*)\n *\]", lambda m: nested(m[1], "\n", " "), text)
    return re.sub(r"\nend\n$", "\n", text)


def shifted(match):
    name, argument, indices = match.groups()
    return f"{name} = {argument}[{', '.join(str(int(k) - 1) for k in indices.split(', '))}]"


def nested(text, between, comma):
    """A matrix as a list of rows, a column as a list."""
    rows = [row.split(comma) for row in text.strip().split(between)]
    rows = [[x.strip() for x in row if x.strip()] for row in rows]
    flat = all(len(row) == 1 for row in rows) and between == "; "
    return "[" + ", ".join(row[0] if flat else f"[{', '.join(row)}]" for row in rows) + "]"


def first(quantity):
    """The first formulation of a quantity, for which nothing is searched."""
    return next(iter(armlet.formulations(quantity)))


def values(robot, symbols):
    return {name: robot.constants("inertia")[name] for name in symbols}


@pytest.mark.parametrize("table", [PLAIN, PYTHON, MATLAB, JULIA, LATEX])
def test_every_operation_has_a_notation(table):
    assert set(OPERATIONS) <= set(table)


def test_the_listing_of_the_puma_has_exactly_the_counted_operations(puma):
    _, program = puma
    text = program.listing()
    head, constants, lines = text.split("\n\n")
    assert head == f"# inverse_dynamics(q, qd, qdd): {program.count()}"
    assert recounted(lines) == program.count()
    assert recounted(constants).functions == ()
    assert (program.count().M, program.count().A) == (235, 230)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("seed", range(4))
def test_every_listing_has_exactly_the_counted_operations(quantity, seed, tmp_path):
    robot, _ = random_robot(tmp_path, seed, 5, drives=True)
    for constants in ({}, {"inertia": "symbolic"}, {"geometry": "symbolic", "drive": "symbolic"}):
        program = armlet.trace(robot, quantity, first(quantity), constants=constants)
        lines = program.listing().split("# state\n")[-1]
        assert recounted(lines) == program.count()


def test_a_listing_assigns_each_name_once_and_before_it_is_used(puma):
    _, program = puma
    known = {f"{x}{k}" for x in ("q", "qd", "qdd") for k in range(1, 7)} | set(program.symbols)
    for line in ast.parse(program.listing()).body:
        names = {x.id for x in ast.walk(line.value) if isinstance(x, ast.Name)}
        assert names <= known | {"sin", "cos"}
        name = line.targets[0].id
        assert name not in known
        known.add(name)
    assert {"s2", "c23", "q23", "tau1", "tau6", "Jxx3"} <= known
    assert len(program.listing().splitlines()) < program.count().total


def test_python_computes_what_the_robot_does(puma):
    robot, program = puma
    f = python_of(program)
    given = values(robot, program.symbols)
    for state in np.random.default_rng(0).uniform(-2, 2, (5, 3, 6)):
        expected = robot.inverse_dynamics(*state)
        assert np.abs(f(*state, **given) - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("seed", range(3))
def test_python_has_the_bits_of_the_program(quantity, seed, tmp_path):
    robot, _ = random_robot(tmp_path, seed, 5, drives=True)
    program = armlet.trace(robot, quantity, first(quantity))
    state = np.random.default_rng(seed).uniform(-2, 2, (3, robot.nv))[: len(program.inputs)]
    found, expected = python_of(program)(*state), program.function(np)(*state)
    for a, b in zip(
        *((x if isinstance(x, tuple) else (x,)) for x in (found, expected)), strict=True
    ):
        assert a.shape == b.shape
        assert np.array_equal(a, b)


@pytest.mark.parametrize("target", ["matlab", "julia"])
def test_matlab_and_julia_have_the_lines_of_python(target, puma):
    _, program = puma
    found = as_python(target, program.source(target)).replace(";", "")
    lines = [line.strip() for line in found.splitlines()]
    python = [line.strip() for line in program.source("python").splitlines()]
    first = python.index("# constants, not counted")
    assert (
        lines[lines.index("# constants, not counted") :][: len(python) - first - 1]
        == (python[first:-1])
    )


@pytest.mark.parametrize("target", ["matlab", "julia"])
@pytest.mark.parametrize("quantity", ["gravity_torque", "inertia_matrix", "linearization"])
def test_matlab_and_julia_compute_the_same_when_read_as_python(target, quantity, puma):
    robot, _ = puma
    program = armlet.trace(robot, quantity)
    namespace = {"sin": np.sin, "cos": np.cos}
    exec(as_python(target, program.source(target, name="f")).replace(";\n", "\n"), namespace)
    state = np.random.default_rng(1).uniform(-2, 2, (3, 6))[: len(program.inputs)]
    expected = program.function(np)(*state)
    found = namespace["f"](*state)
    for a, b in zip(*((x,) if program.single else x for x in (found, expected)), strict=True):
        assert np.array_equal(np.array(a), b)


@pytest.mark.parametrize(
    ("target", "command"), [("matlab", ["octave", "--quiet"]), ("julia", ["julia"])]
)
def test_octave_and_julia_compute_the_same(target, command, puma, tmp_path):
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} is here")
    robot, program = puma
    state = np.random.default_rng(0).uniform(-2, 2, (3, 6))
    given = values(robot, program.symbols)
    arrays = [f"[{', '.join(map(repr, x.tolist()))}]" for x in state]
    if target == "matlab":
        fields = ", ".join(f"'{name}', {value!r}" for name, value in given.items())
        call = f"1;\n{{}}\nprintf('%.17g\\n', f({', '.join(arrays)}, struct({fields})));\n"
        file = tmp_path / "it.m"
    else:
        fields = ", ".join(f"{name}={value!r}" for name, value in given.items())
        call = f"{{}}\nforeach(println, f({', '.join(arrays)}; {fields}))\n"
        file = tmp_path / "it.jl"
    file.write_text(call.format(program.source(target, name="f")))
    done = subprocess.run([*command, file], capture_output=True, text=True, timeout=120)
    expected = python_of(program)(*state, **given)
    assert np.allclose([float(x) for x in done.stdout.split()], expected, rtol=1e-12)


def test_c_takes_symbolic_constants_as_an_array(puma, tmp_path):
    robot, program = puma
    library = shared_library(tmp_path, program.source("c", name="f"))
    state = np.random.default_rng(0).uniform(-2, 2, (3, 6))
    constants = np.array([*values(robot, program.symbols).values()])
    tau = np.empty(6)
    library.f.restype = ctypes.c_int
    library.f(*map(pointer, (*state, constants, tau)))
    assert np.allclose(tau, robot.inverse_dynamics(*state), rtol=1e-12)


def test_an_argument_called_constants_is_refused_beside_symbols():
    program = trace_function("f", lambda graph, x: x * graph.symbol("m"), {"constants": (1,)})
    with pytest.raises(armlet.CompileError, match="an argument called 'constants' too"):
        symbols_as_argument(program)


def test_names_are_different_and_valid_in_every_language():
    def f(graph, q, x, lambda_):
        names = ["s1", "t1", "k1", "end", "out1", "a b", "lambda", "1st", "tau"]
        symbols = [graph.symbol(name) for name in names]
        total = sum(
            a * b for a, b in zip(symbols, [q[0].sin(), q[0].cos(), *q, x] * 3, strict=False)
        )
        return np.array([total, lambda_ * symbols[0] * symbols[1]])

    program = trace_function("f", f, {"q": (2,), "x": (), "lambda": ()})
    code = assignments(program)
    names = [
        *code.arguments,
        *code.symbols,
        *(line.name for line in (*code.constants, *code.lines)),
    ]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and name.isascii() for name in names)
    ast.parse(program.source("python"))
    assert not {"end", "lambda"} & set(names)


def test_angles_of_many_joints_are_told_apart():
    program = trace_function("f", lambda graph, q: (q[0] + q[1]).sin() + q[11].sin(), {"q": (12,)})
    assert {"s1_2", "s12"} <= {line.name for line in assignments(program).lines}


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.integers(0, 5), lambda x: st.tuples(st.sampled_from("+-*/n"), x, x)))
def test_expressions_of_any_form_keep_their_bits(tree):
    def built(tree, x):
        if isinstance(tree, int):
            return x[tree] if tree < 4 else (-0.5, 3)[tree - 4]
        op, a, b = tree[0], built(tree[1], x), built(tree[2], x)
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                return a / (b * b + 1)
            case _:
                return -a

    program = trace_function(
        "f", lambda graph, x: np.array([built(tree, x), x[0] * 1]), {"x": (4,)}
    )
    x = np.array([0.3, -1.7, 2.9, 0.11])
    assert np.array_equal(python_of(program)(x), program.function(np)(x))
    assert recounted(program.listing()) == program.count()
    found = as_python("julia", program.source("julia", name="f"))
    namespace = {}
    exec(found, namespace)
    assert np.array_equal(namespace["f"](x), program.function(np)(x))


def test_sympy_by_common_subexpressions_expands_nothing(puma):
    sympy = pytest.importorskip("sympy")
    robot, program = puma
    replacements, tau = program.sympy()
    operations = sum(sympy.count_ops(x) for _, x in replacements)
    assert operations < 1.5 * program.count().total
    constants = values(robot, program.symbols)
    state = np.random.default_rng(0).uniform(-2, 2, (3, 6))
    known = {
        f"{key}{k + 1}": y
        for key, x in zip(program.inputs, state, strict=True)
        for k, y in enumerate(x)
    } | constants
    for symbol, expression in replacements:
        known[str(symbol)] = float(
            expression.evalf(subs={x: known[str(x)] for x in expression.free_symbols})
        )
    found = [known[str(x)] for x in tau]
    assert np.allclose(found, robot.inverse_dynamics(*state), rtol=1e-9)


def test_latex_writes_accents_fractions_and_powers():
    f = trace_function(
        "f",
        lambda graph, q, qd: (1e-5 * qd[1] + q[0]) / graph.symbol("Jxx3"),
        {"q": (2,), "qd": (2,)},
    )
    text = f.source("latex")
    assert r"q_{1} + 10^{-5}\, \dot{q}_{2}" in text
    assert r"\mathit{out} &= \frac{t_{1}}{J_{xx3}}" in text


@pytest.mark.parametrize("target", NOTATIONS)
def test_options_of_c_are_refused_elsewhere(target):
    program = armlet.trace(armlet.load("planar2r"), "bias")
    for option in ({"dtype": "float32"}, {"fused": True}, {"sines": "armlet"}):
        with pytest.raises(armlet.CompileError, match="does not take it"):
            program.source(target, **option)


def test_a_tuple_of_one_result_stays_a_tuple():
    program = trace_function("f", lambda graph, x: (2 * x,), {"x": (2,)})
    assert [y.tolist() for y in python_of(program)([1.0, 2.0])] == [[2.0, 4.0]]


def test_a_result_without_entries_keeps_its_shape():
    robot = armlet.load("planar2r").with_gravity([0, 0, 0])
    program = armlet.trace(robot, "gravity_regressor", parameters="gravity")
    assert python_of(program)([0, 0]).shape == (2, 0)


def test_a_constant_without_end_is_refused():
    program = trace_function("f", lambda graph, x: x * float("inf"), {"x": (1,)})
    with pytest.raises(armlet.CompileError, match="expected a finite number"):
        program.listing()


def test_the_text_for_a_program_is_one_line(puma):
    assert "\n" not in repr(puma[1])

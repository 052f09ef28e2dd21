"""Printed C, C++ and CUDA: it compiles without a warning and computes what the program does.

With `pytest -m long` its bits are those of kernels on every arm of the catalogue.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import cases
from support.compilers import SANITIZED, STRICT, needs, pointer, run, shared_library
from support.robots import random_robot, states
from typer.testing import CliRunner

import armlet
from armlet.cli import app
from armlet.codegen.llvm.function import Target, module, one_state
from armlet.codegen.lower import lower
from armlet.codegen.project import Function, project
from armlet.codegen.source.c import (
    FUSED,
    LANGUAGES,
    RESERVED,
    TABLE,
    identifier,
    one_line,
    parameter_names,
    printer_for,
)
from armlet.graph import OPERATIONS, trace_function
from armlet.robot import Compensation, Spring
from armlet.runtime.engine import host

GOLDEN = Path(__file__).with_name("golden")
SUFFIXES = {"c": ".c", "cpp": ".hpp", "cuda": ".cu"}
ARMLET = Path(sys.executable).with_name("armlet")
FOUND = [name for name in ("gcc", "clang") if shutil.which(name)]
COMPILERS = FOUND or [pytest.param("", marks=pytest.mark.skip(reason="no C compiler is here"))]
QUANTITIES = (
    "inverse_dynamics",
    "inertia_matrix",
    "passive_torque",
    "forward_dynamics",
    "energy",
)
HOSTILE = '"); system("x*/ ??/ \\\n#error'
SHIM = """
#include <math.h>
#define __device__
#define __global__
static struct { unsigned x; } blockIdx, blockDim = {1}, threadIdx;
"""


def sanitizers(compiler, folder):
    """The options, where the compiler has the libraries they need."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    code, _ = run(compiler, *SANITIZED, "empty.c", "-o", "empty", folder=folder)
    return SANITIZED if code == 0 else []


def write(folder, robot, quantities=QUANTITIES, target="c", dtype="float64"):
    folder.mkdir()
    functions = [
        Function(armlet.trace(robot, name), armlet.QUANTITIES[name].about, "as in the table")
        for name in quantities
    ]
    for name, text in project(robot, functions, target, dtype).items():
        (folder / name).write_text(text)
    return folder


def test_every_operation_has_an_expression():
    assert set(TABLE) == {*OPERATIONS, *FUSED}
    assert set(FUSED) == {"fma", "fms", "fnma"}


@pytest.mark.parametrize("target", LANGUAGES)
def test_printed_text_is_the_golden_one(target):
    program = armlet.trace(armlet.load("planar2r"), "gravity_torque")
    golden = GOLDEN / f"gravity_torque{SUFFIXES[target]}"
    assert program.source(target) == golden.read_text()


def sprung_tree(folder):
    """A tree with friction, springs, and half the weight of its bodies compensated."""
    robot, _ = random_robot(folder, 7, 8, drives=True)
    halves = (Compensation(m / 2, c / 2) for m, c in zip(robot.m, robot.c, strict=True))
    return replace(robot, springs=(Spring(3.0, 0.5),) * robot.nv, compensation=tuple(halves))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("arm", ["puma560", "stanford", "tree"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_project_compiles_and_passes_its_own_test(compiler, arm, dtype, tmp_path):
    robot = sprung_tree(tmp_path) if arm == "tree" else armlet.load(arm)
    assert robot._is_serial == (arm != "tree")
    folder = write(tmp_path / "it", robot, dtype=dtype)
    options = [*STRICT, "-std=c99", "-O1", *sanitizers(compiler, tmp_path)]
    sources = sorted(path.name for path in folder.glob("*.c"))
    code, output = run(compiler, *options, *sources, "-lm", "-o", "it", folder=folder)
    assert (code, output) == (0, "")
    code, output = run("./it", folder=folder)
    assert code == 0, output
    assert output.count("passed") == len(QUANTITIES) + 1


@needs("gcc")
def test_a_wrong_constant_fails_the_test(tmp_path):
    folder = write(tmp_path / "it", armlet.load("planar2r"), ["gravity_torque"])
    path = folder / "planar2r_dynamics.c"
    path.write_text(path.read_text().replace("4.905", "4.9050000001"))
    assert run("gcc", *folder.glob("*.c"), "-lm", "-o", "it", folder=folder) == (0, "")
    code, output = run("./it", folder=folder)
    assert code == 1
    assert "FAILED: planar2r_gravity_torque" in output


@needs("g++")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_template_compiles_and_passes_its_own_test(dtype, tmp_path):
    folder = write(tmp_path / "it", armlet.load("puma560"), target="cpp", dtype=dtype)
    options = [*STRICT, "-std=c++11", "-O1"]
    assert run("g++", *options, "puma560_test.cpp", "-o", "it", folder=folder) == (0, "")
    assert run("./it", folder=folder)[0] == 0


# ------------------------------------------------------------------ the same bits


HOST = host("float64")
ARMS = ["planar2r", "scara"]
OTHER_ARMS = [name for name in armlet.catalogue() if name not in ARMS]
EXACT = ["-O2", "-ffp-contract=off", *(["-mfma"] if HOST.fuses else [])]


def every_program(robot):
    """The programs of all quantities that the robot has."""
    for name in armlet.QUANTITIES:
        with suppress(armlet.ModelError):
            yield name, armlet.trace(robot, name)


def bit_states(program, dtype, count=9):
    """Random states, two of them with angles out of reach, of singles and of doubles."""
    rng = np.random.default_rng(count)
    arrays = [rng.uniform(-2, 2, (count, *x.shape)).astype(dtype) for x in program.inputs.values()]
    arrays[0][-2] *= 1e4
    arrays[0][-1] *= 1e5
    return arrays


def called(function, program, state, dtype):
    """The results of a printed function."""
    results = [np.empty(output.shape, dtype) for output in program.outputs]
    function(*map(pointer, (*state, *results)))
    return results


@needs("gcc")
@pytest.mark.skipif(sys.platform != "linux", reason="the C library must be the one of the kernel")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("arm", cases(ARMS, long=OTHER_ARMS))
def test_printed_c_gives_the_bits_of_the_kernel(arm, dtype, tmp_path):
    robot = armlet.load(arm)
    programs = dict(every_program(robot))
    assert len(programs) > 10
    functions = [Function(program, name, "") for name, program in programs.items()]
    texts = project(robot, functions, dtype=dtype, fused=HOST.fuses, sines="armlet")
    (tmp_path / f"{arm}_dynamics.h").write_text(texts[f"{arm}_dynamics.h"])
    library = shared_library(tmp_path, texts[f"{arm}_dynamics.c"], ".c", *EXACT)
    for name, program in programs.items():
        arrays = bit_states(program, dtype)
        kernel = armlet.Kernel(program, dtype)
        for state in zip(*arrays, strict=True):
            expected = kernel(*state)
            found = called(library[f"{arm}_{name}"], program, state, dtype)
            for ours, theirs in zip(found, [expected] if program.single else expected, strict=True):
                np.testing.assert_array_equal(ours, theirs, err_msg=name)


@needs("gcc")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_without_fused_operations_printed_c_gives_the_bits_of_such_a_kernel(dtype, tmp_path):
    program = armlet.trace(armlet.load("stanford"), "inverse_dynamics")
    text = program.source(dtype=dtype, fused=False, sines="armlet")
    library = shared_library(tmp_path, text, ".c", *EXACT)
    kernel = armlet.Kernel(program, target=Target(dtype, fuses=False))
    for state in zip(*bit_states(program, dtype), strict=True):
        (found,) = called(library.inverse_dynamics, program, state, dtype)
        np.testing.assert_array_equal(found, kernel(*state))


def statements(text):
    """The statements of the first function in a printed text, entries of arrays by their number."""
    lines = re.findall(r"^    (.*;)$", text.partition("{\n")[2].partition("\n}")[0], re.MULTILINE)
    return [re.sub(r"\[(\d+) \* stride\]", r"[\1]", line) for line in lines]


OPCODES = {"fma": "fma", "fms": "fma", "fnma": "fma"}
OPCODES |= {op: f"f{op}" for op in ("add", "sub", "mul", "div", "neg")} | {"sqrt": "sqrt"}


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "regressor"])
def test_c_cuda_and_llvm_do_the_same_operations_in_the_same_order(quantity):
    program = armlet.trace(armlet.load("puma560"), quantity)
    assert statements(program.source("c", fused=True)) == statements(program.source("cuda"))
    assert statements(program.source("c")) == statements(program.source("cuda", fused=False))

    code = lower(program)
    text = module(HOST, one_state(code, Target()))
    done = re.findall(r"^%v(\d+) = (?:(f\w+)|call \w+ @llvm\.(\w+)\.)", text, re.MULTILINE)
    expected = [(k, op) for k, (op, _) in enumerate(code.operations) if op in OPCODES]
    assert [(int(k), a or b) for k, a, b in done] == [(k, OPCODES[op]) for k, op in expected]
    wanted = {f"v{k}": op for k, op in expected}
    printed = [line.split()[2] for line in statements(program.source("c")) if "= " in line]
    assert [v for v in printed if v in wanted] == list(wanted)


DUAL = """
struct Dual { double x, d; explicit Dual(double x = 0, double d = 0) : x(x), d(d) {} };
inline Dual operator+(Dual a, Dual b) { return Dual(a.x + b.x, a.d + b.d); }
inline Dual operator-(Dual a, Dual b) { return Dual(a.x - b.x, a.d - b.d); }
inline Dual operator-(Dual a) { return Dual(-a.x, -a.d); }
inline Dual operator*(Dual a, Dual b) { return Dual(a.x * b.x, a.x * b.d + a.d * b.x); }
inline Dual sin(Dual a) { return Dual(std::sin(a.x), std::cos(a.x) * a.d); }
inline Dual cos(Dual a) { return Dual(std::cos(a.x), -std::sin(a.x) * a.d); }
extern "C" void derivative(const double q[2], double out[2])
{
    Dual x[2] = {Dual(q[0], 1), Dual(q[1], 0)}, y[2];
    bias(x, x, y);
    out[0] = y[0].d;
    out[1] = y[1].d;
}
extern "C" void twice(const double q[2], double out[2]) { bias(q, q, out); }
"""


@needs("g++")
def test_a_fused_template_takes_numbers_that_have_no_fused_multiply_add(tmp_path):
    program = armlet.trace(armlet.load("planar2r"), "bias")
    text = program.source("cpp", fused=True)
    assert "multiply_add(T(-v" in text
    library = shared_library(
        tmp_path, text + text.partition("#endif")[0] + "#endif\n" + DUAL, ".cpp"
    )
    q = np.array([0.3, -0.7])
    value, derivative = np.empty((2, 2))
    library.twice(pointer(q), pointer(value))
    library.derivative(pointer(q), pointer(derivative))
    np.testing.assert_allclose(value, program.function()(q, q), rtol=1e-14)
    by = [program.derivative(name).function()(q, q)[:, 0] for name in ("q", "qd")]
    np.testing.assert_allclose(derivative, sum(by), rtol=1e-13)


@needs("cmake")
@needs("gcc")
@pytest.mark.parametrize("target", ["c", "cpp"])
def test_cmake_builds_and_tests_it(target, tmp_path):
    folder = write(tmp_path / "it", armlet.load("planar2r"), ["gravity_torque"], target)
    for command in (("cmake", "-B", "b"), ("cmake", "--build", "b"), ("ctest", "--test-dir", "b")):
        code, output = run(*command, folder=folder)
        assert code == 0, output
    assert "100% tests passed" in output


@needs("gcc")
def test_arguments_may_be_constants_and_results_may_take_their_place(tmp_path):
    robot = armlet.load("stanford")
    program = armlet.trace(robot, "inverse_dynamics", constants={"inertia": "argument"})
    q, qd, qdd = states(robot, 1)[:, 0]
    phi = robot.phi.astype(float)
    expected = program.function(np)(q, qd, qdd, phi)
    library = shared_library(tmp_path, program.source())
    library.inverse_dynamics(*map(pointer, (q, qd, qdd, phi, q)))
    np.testing.assert_allclose(q, expected, rtol=1e-12, atol=1e-12)


@needs("g++")
def test_a_cuda_kernel_reads_and_writes_structures_of_arrays(tmp_path):
    """Run as C++, thread by thread."""
    robot = armlet.load("stanford")
    program = armlet.trace(robot, "bias")
    count = 4
    q, qd, _ = states(robot, count)
    threads = (
        'extern "C" void all(long long count, const double *q, const double *qd, double *out)\n'
        "{ for (threadIdx.x = 0; threadIdx.x < 8; threadIdx.x++) bias_kernel(count, q, qd, out); }"
    )
    library = shared_library(tmp_path, SHIM + program.source("cuda") + threads, ".cpp")
    columns = [np.ascontiguousarray(x.T) for x in (q, qd)]
    out = np.zeros((robot.nv, count))
    library["all"](ctypes.c_longlong(count), *map(pointer, (*columns, out)))
    np.testing.assert_allclose(out.T, program.function(np)(q, qd), rtol=1e-12, atol=1e-12)


@needs("nvcc")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nvcc_takes_the_cuda_source(dtype, tmp_path):
    program = armlet.trace(armlet.load("planar2r"), "forward_dynamics")
    (tmp_path / "it.cu").write_text(program.source("cuda", dtype=dtype))
    code, output = run("nvcc", "-Werror", "all-warnings", "-ptx", "it.cu", folder=tmp_path)
    assert code == 0, output


@needs("gcc")
def test_hostile_names_are_harmless(tmp_path):
    robot = armlet.load("planar2r")
    joints = tuple(joint._replace(name=HOSTILE) for joint in robot.joints)
    robot = replace(robot, name=HOSTILE, source=HOSTILE, joints=joints)
    folder = write(tmp_path / "it", robot, ["gravity_torque"])
    assert {path.name for path in folder.iterdir()} == {
        "system_x_error_dynamics.h",
        "system_x_error_dynamics.c",
        "system_x_error_test.c",
        "CMakeLists.txt",
        "README.md",
    }
    for path in folder.iterdir():
        text = path.read_text()
        code = text if path.suffix == ".txt" else re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        assert path.suffix == ".md" or "system(" not in code
        assert HOSTILE[:3] not in text
    sources = folder.glob("*.c")
    assert run("gcc", *STRICT, "-std=c99", *sources, "-lm", "-o", "it", folder=folder) == (0, "")
    assert run("./it", folder=folder)[0] == 0


@given(st.text())
def test_any_text_makes_an_identifier_and_a_comment(text):
    assert re.fullmatch("[A-Za-z][0-9A-Za-z_]*", identifier(text))
    assert identifier(text) not in RESERVED.split()
    assert not set(one_line(text)) & set("*\\\n\r\"'`<>|?#[]{}@$")


@needs("gcc")
def test_arguments_with_awkward_names_stay_apart(tmp_path):
    inputs = dict.fromkeys(("double", "sin", "out", "v0", "a b", "a-b", "", "7", "stride"), (1,))
    program = trace_function("main", lambda graph, *args: sum(args), inputs)
    arguments, _ = parameter_names(program)
    assert len(set(arguments)) == len(inputs)
    library = shared_library(tmp_path, program.source())
    found = np.zeros(1)
    library.main_(*[pointer(np.ones(1)) for _ in inputs], pointer(found))
    assert found[0] == len(inputs)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_exactly(x):
    assert float(printer_for("c").number(x)) == x
    assert float(printer_for("cpp").number(x)[2:-1]) == x
    if abs(x) < float(np.finfo("float32").max):
        text = printer_for("c", "float32").number(x)
        assert text.endswith("f")
        assert np.float32(text[:-1]) == np.float32(x)


def test_what_cannot_be_printed_is_refused():
    robot = armlet.load("planar2r")
    program = armlet.trace(robot, "gravity_torque")
    with pytest.raises(armlet.CompileError, match="target is 'rust': expected one of c, cpp, cuda"):
        program.source("rust")
    with pytest.raises(armlet.CompileError, match="dtype is 'half'"):
        program.source(dtype="half")
    with pytest.raises(armlet.CompileError, match="sines is 'mine': expected one of library, arml"):
        program.source(sines="mine")
    with pytest.raises(armlet.CompileError, match="a C\\+\\+ template is of any type"):
        program.source("cpp", sines="armlet")
    heavy = trace_function("heavy", lambda graph, x: 1e300 * x, {"x": (1,)})
    assert "1e+300" in heavy.source()
    with pytest.raises(armlet.CompileError, match=r"a constant is 1e\+300: expected a finite"):
        heavy.source(dtype="float32")


@pytest.mark.parametrize("target", LANGUAGES)
def test_two_processes_write_the_same_bytes(target, tmp_path):
    command = [ARMLET, "generate", "stanford", "-f", "inverse_dynamics", "-f", "bias"]
    for seed in "12":
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(
            [*command, "--target", target, "-o", seed],
            cwd=tmp_path,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / seed).iterdir()} for seed in "12"
    )
    assert first == second
    assert len(first) == {"c": 5, "cpp": 4, "cuda": 2}[target]


def generate(*args):
    return CliRunner().invoke(app, ["generate", *map(str, args)], env={"COLUMNS": "400"})


def test_the_command_replaces_its_own_files_and_no_others(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    args = ("planar2r", "-f", "gravity_torque:newton_euler", "-o", tmp_path)
    assert generate(*args).exit_code == 0
    result = generate(*args, "--dtype", "float32", "--full")
    assert result.exit_code == 0
    assert result.output.count("wrote ") == 5
    assert "const float q[2]" in (tmp_path / "planar2r_dynamics.h").read_text()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    (tmp_path / "README.md").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    refused = generate(*args)
    assert "README.md was not written by armlet" in str(refused.exception)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ((), "no function is named"),
        (("-f", "power", "-o", "x"), "quantity is 'power'"),
        (("-f", "bias:nobody", "-o", "x"), "formulation of bias is 'nobody'"),
        (("-f", "bias", "-f", "bias", "-o", "x"), "bias is given 2 times"),
        (("-f", "bias"), "no folder is named"),
        (("-f", "bias", "-o", __file__), "test_c.py: cannot be written"),
        (("-f", "bias", "-o", "x", "--target", "rust"), "target is 'rust'"),
        (("-f", "bias", "-o", "x", "--dtype", "half"), "dtype is 'half'"),
    ],
)
def test_bad_input_is_one_clear_line(args, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = generate("planar2r", *args)
    assert isinstance(result.exception, armlet.ArmletError)
    assert line in str(result.exception)
    assert "\n" not in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_help_shows_an_example():
    assert "Example: armlet generate" in generate("--help").output


def test_code_that_cannot_be_tested_is_not_written(tmp_path):
    """Of this arm no posture lets the tool move in as many ways as there are joints."""
    arm, _ = random_robot(tmp_path, 936420997, 2)
    program = armlet.trace(arm, "cartesian_model")
    expected = "cartesian_model has no value that rounding leaves alone at 40 random states"
    with pytest.raises(armlet.CompileError, match=expected):
        project(arm, [Function(program, "", "")], "c", "float64")


@pytest.mark.skipif(not FOUND, reason="no C compiler is here")
def test_arguments_may_be_called_like_macros_of_the_standard_headers(tmp_path):
    names = ["INFINITY", "NAN", "M_PI", "NULL", "isnan", "HUGE_VAL", "INT_MAX", "FP_NAN", "int8_t"]
    names += [
        "floor",
        "pow",
        "signbit",
        "SIZE_MAX",
        "DBL_MAX",
        "MAXFLOAT",
        "LITTLE_ENDIAN",
        "M_PIf",
    ]
    names += ["SNAN", "stdin", "INT8_C", "HUGE_VAL_F32X", "issubnormal", "M_2_SQRTPIf64x"]
    argument = ", ".join(names)
    function = eval(f"lambda {argument}: {' + '.join(names)}", {})
    source = armlet.function(**dict.fromkeys(names, 2))(function).source("c")
    headers = ("stddef", "stdint", "limits", "float", "stdlib")
    file = tmp_path / "names.c"
    file.write_text("".join(f"#include <{name}.h>\n" for name in headers) + source)
    for dialect in (["-std=c99"], ["-std=gnu17", "-D_GNU_SOURCE"]):
        command = [FOUND[0], *dialect, "-Werror", "-c", file, "-o", tmp_path / "names.o"]
        subprocess.run(command, check=True)

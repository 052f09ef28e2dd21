"""Generate the text of every file of a C, C++ or CUDA project, from templates.

For C and C++, a test program compares every function with expected values at random states.
`armlet generate` (cli/commands/generate.py) writes the files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from armlet._support.lazy import cached_property
from armlet.codegen.lower import Lowered, lower
from armlet.codegen.source.c import (
    DTYPES,
    WIDTH,
    Printer,
    comment,
    definition,
    identifier,
    one_line,
    parameter_names,
    printer_for,
    prototype,
)
from armlet.codegen.templates import fill, fill_file
from armlet.errors import CompileError
from armlet.graph import OPERATIONS, Input, Program
from armlet.robot import PHI, Joint, RobotModel
from armlet.robot.robot import GROUPS
from armlet.version import __version__

MARK = "Written by armlet"
"""Text in the first line of every generated file."""
FILES = {
    "c": {
        "@{library}.h": "library.h",
        "@{library}.c": "library.c",
        "@{prefix}_test.c": "test.c",
        "CMakeLists.txt": "CMakeLists_c.txt",
        "README.md": "README.md",
    },
    "cpp": {
        "@{library}.hpp": "library.hpp",
        "@{prefix}_test.cpp": "test.c",
        "CMakeLists.txt": "CMakeLists_cpp.txt",
        "README.md": "README.md",
    },
    "cuda": {"@{library}.cu": "library.cu", "README.md": "README.md"},
}
"""Target -> file name -> template of the file."""
DEFINED = """\
values that are not computed by the program but
from the definition of the quantity (or, if it has none, from a formulation as it is written)"""
"""The README's description of the expected values, if every function has a reference."""
STATES, CANDIDATES = 5, 40
"""Number of states in a test, and number of random states to choose them from."""
TOLERANCE = {"float64": "1e-12", "float32": "1e-4"}
"""Dtype -> tolerance of a test, relative to the largest value of a result."""
LARGEST_ROUNDING = 64
"""A test also allows errors up to this number times the larger of two values: eps times the largest
intermediate value, and the largest `sensitivity` times the largest result."""
MEANINGLESS = 1e-3
"""Largest `sensitivity` allowed at a test state."""
Array = np.ndarray[Any, Any]
Reference = Callable[[Mapping[str, Array]], Sequence[Array]]
"""Function that returns the expected results; its argument maps input names to values."""


@dataclass(frozen=True)
class Function:
    """A program to print, with a description and the publication of its formulation.

    The project's test compares results with `reference` or, if this is None, with armlet's own.
    """

    program: Program
    about: str
    source: str
    reference: Reference | None = None

    @cached_property
    def code(self) -> Lowered:
        """The program as the list of operations that is printed."""
        return lower(self.program)


def project(
    robot: RobotModel,
    functions: Sequence[Function],
    target: str = "c",
    dtype: str = "float64",
    fused: bool | None = None,
    sines: str = "library",
) -> dict[str, str]:
    """Return file name -> text, for each file of a project; for options see `Program.source`."""
    printer = printer_for(target, dtype, fused, sines)
    prefix = identifier(robot.name).rstrip("_")
    by_name = {function_name(f, prefix): f for f in functions}
    words = _code(robot, by_name, printer, f"{prefix}_dynamics", "hpp" if target == "cpp" else "h")
    words |= {
        "prefix": prefix,
        "T": DTYPES[dtype],
        **_page(robot, by_name),
        **_test(robot, by_name, dtype),
    }
    words["compared"] = DEFINED if all(f.reference for f in functions) else "armlet's own values"
    words["about"] = fill_file(f"about_{target}.md", words).rstrip("\n")
    return {fill(name, words): fill_file(file, words) for name, file in FILES[target].items()}


def c_files(
    robot: RobotModel,
    functions: Sequence[Function],
    prefix: str,
    library: str,
    fused: bool | None = None,
) -> dict[str, str]:
    """Return file name -> text, for a C header and a C file; function names begin with `prefix`."""
    by_name = {function_name(f, prefix): f for f in functions}
    words = _code(robot, by_name, printer_for("c", fused=fused), library, "h")
    return {f"{library}.{end}": fill_file(f"library.{end}", words) for end in ("h", "c")}


def function_name(function: Function, prefix: str) -> str:
    """Return the name of a function in C."""
    return f"{prefix}_{identifier(function.program.name)}"


def mark() -> str:
    return f"{MARK} {__version__}."


def _code(
    robot: RobotModel, by_name: Mapping[str, Function], printer: Printer, library: str, suffix: str
) -> dict[str, str]:
    """Return template word -> text, for headers and sources."""
    order = ", ".join(map(_in_order, robot.coordinates))
    prototypes, definitions = [], []
    for name, f in by_name.items():
        notes = (f.about, f"Formulation {f.source}." if f.source else "")
        head = prototype(f.code, name, printer)
        prototypes.append(f"{comment(f.code, notes)}\n{head};")
        definitions.append(definition(f.code, name, printer, notes).rstrip("\n"))
    words = {
        "mark": mark(),
        "robot": one_line(robot.name),
        "order": "\n * ".join(wrap(order, WIDTH)),
        "library": library,
        "include": f"{library}.{suffix}",
        "guard": f"{library}_h".upper(),
        "preamble": printer.preamble(*(f.code for f in by_name.values())),
        "prototypes": "\n\n".join(prototypes),
        "definitions": "\n\n".join(definitions),
    }
    return words | {"banner": fill_file("banner.h", words)}


def _in_order(joint: Joint) -> str:
    of_q, of_qd = (", ".join(labels) for labels in joint.type.labels)
    kind = f"{joint.kind} ({of_q} in q; {of_qd} in qd)" if of_q else joint.letter
    return f"{one_line(joint.name)} {kind}"


def _page(robot: RobotModel, by_name: Mapping[str, Function]) -> dict[str, str]:
    """Return template word -> text, for the README, which describes the robot and the functions."""
    rows = []
    for name, f in by_name.items():
        count = f.code.count()
        others = ", ".join(f"{times} {other}" for other, times in count.functions)
        cells = (f"`{name}`", count.M, count.A, others, one_line(f.about), one_line(f.source))
        rows.append(f"| {' | '.join(map(str, cells))} |")
    joints = [
        _row(robot, k, one_line(joint.name), joint.kind)
        for k, joint in enumerate(robot.coordinates)
    ]
    entries = ["entry of q"] if robot.nq == robot.nv else ["entry of q", "entry of qd"]
    head = f"| {' | '.join(entries)} | joint | kind |\n|{'---:|' * len(entries)}---|---|"
    groups = dict.fromkeys(x for f in by_name.values() for x in f.program.inputs if x in GROUPS)
    return {
        "origin": one_line(robot.source) or "the file it was loaded from",
        "gravity": ", ".join(repr(float(x)) for x in robot.gravity),
        "functions": "\n".join(rows),
        "joints": "\n".join([head, *joints, *_coupled(robot)]),
        "constants": "".join(_constants(robot, group) for group in groups),
    }


def _row(robot: RobotModel, k: int, name: str, kind: str) -> str:
    """Return a table row of coordinate k, with its entries of q and, if these differ, of qd."""
    places = []
    for size, labels in zip(("nq", "nv"), robot.coordinates[k].type.labels, strict=True):
        at = robot._slices[size][k]
        several = f"{at.start} to {at.stop - 1}: {', '.join(labels)}"
        places.append(several if labels else str(at.start))
    return f"| {' | '.join(places[: 1 + (robot.nq != robot.nv)])} | {name} | {kind} |"


def _coupled(robot: RobotModel) -> list[str]:
    """Return a table row for each coupled joint: which entry of q moves the joint, and how."""
    entry = {leader: k for k, leader in enumerate(robot._leaders)}
    return [
        _row(
            robot,
            entry[coupling.leader],
            one_line(joint.name),
            f"{joint.kind}, moved by {one_line(robot._coupling_text(i))}",
        )
        for i, (joint, coupling) in enumerate(zip(robot.joints, robot.couplings, strict=False))
        if coupling.leader != i
    ]


def _constants(robot: RobotModel, group: str) -> str:
    """Return a table of the constants in a group, with the values of the robot."""
    about = f"The numbers of joints, from 1, end the names of entries of `{group}`."
    if group == "inertia":
        about += f" Of each body, about and in the canonical frame of its joint: {' '.join(PHI)}."
    rows = [
        f"| {k} | {name} | {float(value)!r} |"
        for k, (name, value) in enumerate(robot.constants(group).items())
    ]
    heading = f"| entry of {group} | constant | value |"
    return "\n".join(("", "", about, "", heading, "|---:|---|---:|", *rows))


# ------------------------------------------------------------------ the test


def _test(robot: RobotModel, by_name: Mapping[str, Function], dtype: str) -> dict[str, str]:
    """Return template word -> text, for the test program."""
    states = _states(robot, [f.program for f in by_name.values()], dtype)
    checks = [_check(name, f, states, dtype) for name, f in by_name.items()]
    return {
        "states": str(STATES),
        "tolerance": TOLERANCE[dtype],
        "arguments": "\n".join(_array(_state(name), x, dtype) for name, x in states.items()),
        "checks": "\n".join(checks),
        "calls": "\n".join(f"    failed |= check_{name}();" for name in by_name),
    }


def _states(robot: RobotModel, programs: Sequence[Program], dtype: str) -> dict[str, Array]:
    """Return argument -> values, one row per test state; float32 represents all values exactly.

    Of the random states, those of lowest `sensitivity` are taken: near singular states, rounding
    errors may be larger than the test allows.
    """
    rng = np.random.default_rng(0)
    inputs = {name: x for program in programs for name, x in program.inputs.items()}
    every = {
        name: _near(robot, x, rng) if name in GROUPS else _random(robot, x, rng, dtype)
        for name, x in inputs.items()
    }
    worst = np.zeros(CANDIDATES)
    for program in programs:
        worst = np.maximum(worst, sensitivity(program, every, dtype))
        if np.sort(worst)[STATES - 1] > MEANINGLESS:
            raise CompileError(
                f"{program.name} has no value that rounding leaves alone at {CANDIDATES} random "
                "states, so that its code cannot be tested: expected an arm that is not singular "
                "everywhere"
            )
    rows = np.sort(np.argsort(worst, kind="stable")[:STATES])
    return {name: x[rows] for name, x in every.items()}


def sensitivity(program: Program, states: Mapping[str, Array], dtype: str) -> Array:
    """Return the largest relative change of the results at each state, under two perturbations.

    The first perturbation changes the last bits of the arguments. The second is the use of float32
    or, if `dtype` is float64, of long double. Changes that are not finite count as infinite.
    """
    eps = float(np.finfo(dtype).eps)
    count = len(next(iter(states.values()), ()))
    largest = np.zeros(count)
    plain = _results(program, states.__getitem__)
    moved = _results(program, lambda key: states[key] * (1 + eps))
    other = np.float32 if dtype == "float32" else np.longdouble
    rounded = _results(program, lambda key: states[key].astype(other))
    for others in (moved, rounded):
        for x, y in zip(plain, others, strict=True):
            if x.size:
                with np.errstate(all="ignore"):
                    size = np.abs(x).reshape(count, -1).max(1)
                    change = np.abs(x - y).reshape(count, -1).max(1)
                    change = change / np.where(size == 0, 1, size)
                largest = np.maximum(largest, np.where(np.isfinite(change), change, np.inf))
    return largest.astype(float)


def _results(program: Program, argument: Callable[[str], Array]) -> list[Array]:
    with np.errstate(all="ignore"):
        results = program.function(np)(*map(argument, program.inputs))
    return [results] if program.single else list(results)


def _near(robot: RobotModel, argument: Input, rng: np.random.Generator) -> Array:
    """Return random constants near the robot's own constants, so that inertias stay plausible."""
    own = np.array([*robot.constants(argument.name).values()], float).reshape(argument.shape)
    size = np.abs(own)
    if argument.name == "inertia":
        for columns in (slice(0, 6), slice(6, 9)):
            size[:, columns] = size[:, columns].max(axis=1, keepdims=True)
    values = own + size * rng.integers(-2, 3, (CANDIDATES, *argument.shape)) / 64
    return np.asarray(values.astype(np.float32), float)


def _random(robot: RobotModel, argument: Input, rng: np.random.Generator, dtype: str) -> Array:
    """Return random values of an argument; those of q are positions that the joints can have."""
    is_q = (argument.name, argument.shape) == ("q", (robot.nq,))
    shape = (robot.nv,) if is_q else argument.shape
    values = rng.integers(-128, 129, (CANDIDATES, *shape)) / 64
    if is_q:
        values = robot.integrate(robot.neutral, values).astype(dtype)
    return np.asarray(values, float)


def _state(name: str) -> str:
    return f"state_{identifier(name)}"


def _check(name: str, function: Function, states: Mapping[str, Array], dtype: str) -> str:
    """Return the C function that tests one function of the project at every state."""
    program = function.program
    _, results = parameter_names(program)
    expected = dict(zip(results, _expected(function, states), strict=True))
    rounding = LARGEST_ROUNDING * float(np.finfo(dtype).eps) * _largest_value(program, states)
    loose = LARGEST_ROUNDING * sensitivity(program, states, dtype).max(initial=0.0)
    largest = max((float(np.abs(x).max(initial=0.0)) for x in expected.values()), default=0.0)
    least = float(max(rounding, loose * largest)) / float(TOLERANCE[dtype])
    sizes = {_state(key): x.size for key, x in program.inputs.items()}
    sizes |= {result: values[0].size for result, values in expected.items()}
    words = {
        "name": name,
        "states": str(STATES),
        "expected": "\n".join(_array(f"{name}_{y}", x, "float64") for y, x in expected.items()),
        "results": "\n".join(f"    {DTYPES[dtype]} {y}[{x.size}];" for y, x in expected.items()),
        "arguments": ", ".join(f"{array} + {size} * k" for array, size in sizes.items()),
        "comparisons": "\n        | ".join(
            f'differs("{name}", {x.size}, {y}, {name}_{y}, {least!r})' for y, x in expected.items()
        ),
    }
    return fill_file("check.c", words)


def _expected(function: Function, states: Mapping[str, Array]) -> list[Array]:
    program, reference = function.program, function.reference
    if reference is None:
        return _results(program, states.__getitem__)
    with np.errstate(all="ignore"):
        rows = [reference({key: states[key][k] for key in program.inputs}) for k in range(STATES)]
    return [np.array(values, dtype=float) for values in zip(*rows, strict=True)]


def _largest_value(program: Program, states: Mapping[str, Array]) -> float:
    """Return the largest finite absolute value of any operation at the test states."""
    values = []

    def meaning(op: str, *operands: Any) -> Any:
        if op == "input":
            value = states[operands[0]].reshape(STATES, -1)[:, operands[1]]
        else:
            value = OPERATIONS[op](*operands)
        values.append(np.abs(value).max())
        return value

    with np.errstate(all="ignore"):
        program.replay(meaning)
    return float(max((x for x in values if np.isfinite(x)), default=0.0))


def _array(name: str, values: Array, dtype: str) -> str:
    numbers = ", ".join(map(printer_for("c", dtype).number, values.flat))
    lines = "\n    ".join(wrap(numbers, 92, break_on_hyphens=False))
    return f"static const {DTYPES[dtype]} {name}[] = {{\n    {lines}\n}};\n"

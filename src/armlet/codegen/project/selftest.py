"""A test program for generated functions: reference values at random states."""

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from armlet.codegen.source.c import DTYPES, identifier, parameter_names, printer_for
from armlet.codegen.templates import fill_file
from armlet.errors import CompileError
from armlet.graph import OPERATIONS, Input, Program
from armlet.robot import RobotModel
from armlet.robot.robot import GROUPS

STATES, CANDIDATES = 5, 40
"""How many states a test has, and how many random ones they are chosen from."""
TOLERANCE = {"float64": "1e-12", "float32": "1e-4"}
"""Relative to the largest value of a result."""
LARGEST_ROUNDING = 64
"""How many units in the last place of the largest intermediate value rounding may add up to.

Also how many times the change that the last bits of the arguments make.
"""
MEANINGLESS = 1e-3
"""Results that change by more with the last bits of the arguments are not compared."""
Array = np.ndarray[Any, Any]
Reference = Callable[[Mapping[str, Array]], Sequence[Array]]
"""The results for the arguments of one state, by their names, computed in some other way."""


def test_words(
    robot: RobotModel,
    programs: Mapping[str, Program],
    references: Mapping[str, Reference | None],
    dtype: str,
) -> dict[str, str]:
    """The words of the test; programs are by the names of their functions.

    A program that has no reference is compared with its own values.
    """
    states = chosen_states(robot, programs, dtype)
    checks = [
        _check(name, program, references[name], states, dtype) for name, program in programs.items()
    ]
    return {
        "states": str(STATES),
        "tolerance": TOLERANCE[dtype],
        "arguments": "\n".join(_array(_state(name), x, dtype) for name, x in states.items()),
        "checks": "\n".join(checks),
        "calls": "\n".join(f"    failed |= check_{name}();" for name in programs),
    }


def chosen_states(
    robot: RobotModel, programs: Mapping[str, Program], dtype: str
) -> dict[str, Array]:
    """The states of a test: for every argument one row per state, exact in either dtype.

    Of random states those are taken that are far from singular ones, where rounding would be
    larger than what the test allows.
    """
    rng = np.random.default_rng(0)
    inputs = {name: x for program in programs.values() for name, x in program.inputs.items()}
    every = {
        name: _near(robot, x, rng)
        if name in GROUPS
        else rng.integers(-128, 129, (CANDIDATES, *x.shape)) / 64
        for name, x in inputs.items()
    }
    worst = np.zeros(CANDIDATES)
    for program in programs.values():
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
    """The relative change of results at each state with the last bits of numbers.

    That is relative to their size: with the last bits of the arguments, and from doubles to what
    singles give, or, for doubles, longer numbers. What is not finite counts as infinite.
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
    """Constants near those of the robot, so that inertias make sense."""
    own = np.array([*robot.constants(argument.name).values()], float).reshape(argument.shape)
    size = np.abs(own)
    if argument.name == "inertia":
        for columns in (slice(0, 6), slice(6, 9)):
            size[:, columns] = size[:, columns].max(axis=1, keepdims=True)
    values = own + size * rng.integers(-2, 3, (CANDIDATES, *argument.shape)) / 64
    return np.asarray(values.astype(np.float32), float)


def _state(name: str) -> str:
    return f"state_{identifier(name)}"


def _check(
    name: str,
    program: Program,
    reference: Reference | None,
    states: Mapping[str, Array],
    dtype: str,
) -> str:
    """The function of the test that checks one function at every state."""
    _, results = parameter_names(program)
    expected = dict(zip(results, _expected(program, reference, states), strict=True))
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


def _expected(
    program: Program, reference: Reference | None, states: Mapping[str, Array]
) -> list[Array]:
    """The values of each result, one row per state."""
    if reference is None:
        return _results(program, states.__getitem__)
    with np.errstate(all="ignore"):
        rows = [reference({key: states[key][k] for key in program.inputs}) for k in range(STATES)]
    return [np.array(values, dtype=float) for values in zip(*rows, strict=True)]


def _largest_value(program: Program, states: Mapping[str, Array]) -> float:
    """The largest finite value that any operation of the program has at these states."""
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
    """A constant array of C."""
    numbers = ", ".join(map(printer_for("c", dtype).number, values.flat))
    lines = "\n    ".join(wrap(numbers, 92, break_on_hyphens=False))
    return f"static const {DTYPES[dtype]} {name}[] = {{\n    {lines}\n}};\n"

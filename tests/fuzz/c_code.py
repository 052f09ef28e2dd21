"""Generated C of random robots compiles without warnings, and passes its test under sanitizers."""

import shutil
from functools import cache

from support.compilers import SANITIZED, STRICT, run
from support.robots import random_arm, random_robot

import armlet
from armlet.codegen.project import Function, project

LARGEST = 4
SKIPPED = ("cartesian_linearization",)
"""Quantities whose C code takes too long to compile with sanitizers."""


def missing() -> str:
    return "" if shutil.which("gcc") else "no gcc is here"


def trial(rng, folder):
    seed, n = int(rng.integers(2**32)), int(rng.integers(1, LARGEST + 1))
    if rng.random() < 0.5:
        robot = random_robot(folder, seed, n, drives=bool(rng.integers(2)))[0]
    else:
        robot = random_arm(seed % 1000, n)
    dtype = str(rng.choice(["float64", "float32"]))
    functions = [
        function
        for quantity in rng.choice(quantities(), 2, replace=False)
        if (function := traced(rng, robot, str(quantity))) is not None
    ]
    if not functions:
        return
    try:
        files = project(robot, functions, "c", dtype)
    except armlet.CompileError as error:
        if "singular everywhere" in str(error):  # for example, two parallel prismatic joints
            return
        raise
    for name, text in files.items():
        (folder / name).write_text(text)
    sources = sorted(path.name for path in folder.glob("*.c"))
    flags = [*STRICT, "-std=c99", str(rng.choice(["-O0", "-O1", "-O2"])), *SANITIZED]
    code, output = run("gcc", *flags, *sources, "-lm", "-o", "it", folder=folder)
    assert (code, output) == (0, ""), output
    code, output = run("./it", folder=folder)
    assert code == 0, output
    assert output.count("passed") >= len(functions), output


@cache
def quantities() -> list[str]:
    return [name for name in armlet.QUANTITIES if name not in SKIPPED]


def traced(rng, robot, quantity) -> Function | None:
    """Trace a random formulation of a quantity; None if it does not hold for the robot."""
    names = list(armlet.formulations(quantity))
    try:
        program = armlet.trace(robot, quantity, str(rng.choice(names)))
    except armlet.ArmletError:
        return None
    return Function(program, armlet.QUANTITIES[quantity].about, "as in the table")

"""Generated projects with their own build and test: a table of file templates per target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from textwrap import wrap

from armlet._support.lazy import cached_property
from armlet.codegen.lower import Lowered, lowered
from armlet.codegen.project.selftest import TEST, Reference, test_words
from armlet.codegen.source.c import WIDTH, comment, definition, identifier, plain, prototype
from armlet.codegen.source.languages import DTYPES, Printer, printer_for
from armlet.graph import Program
from armlet.robot import PHI, RobotModel
from armlet.robot.robot import GROUPS
from armlet.version import __version__

MARK = "Written by armlet"
"""What the first line of every file says."""

BANNER = """\
/* @mark
 * Dynamics of @robot. Joints in the order of q, R revolute and P prismatic:
 * @order.
 * Units are SI. Matrices are stored row by row. Arguments are read before results are written, so
 * that a result may overwrite an argument.
 */
"""
HEADER = """\
@banner
#ifndef @guard
#define @guard

#ifdef __cplusplus
extern "C" {
#endif

@prototypes
#ifdef __cplusplus
}
#endif

#endif
"""
SOURCE = """\
/* @mark */

#include "@include"

@preamble
@definitions"""
GENERIC = """\
@banner
#ifndef @guard
#define @guard

@preamble
@definitions
#endif
"""
KERNELS = """\
@banner
@preamble@definitions"""
CMAKE_C = """\
# @mark
cmake_minimum_required(VERSION 3.10)
project(@library C)
enable_testing()

add_library(@library @library.c)
target_compile_features(@library PUBLIC c_std_99)
target_include_directories(@library PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(UNIX)
  target_link_libraries(@library PUBLIC m)
endif()

add_executable(@{prefix}_test @{prefix}_test.c)
target_link_libraries(@{prefix}_test PRIVATE @library)
add_test(NAME @{prefix}_test COMMAND @{prefix}_test)
"""
CMAKE_CPP = """\
# @mark
cmake_minimum_required(VERSION 3.10)
project(@library CXX)
enable_testing()

add_library(@library INTERFACE)
target_compile_features(@library INTERFACE cxx_std_11)
target_include_directories(@library INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})

add_executable(@{prefix}_test @{prefix}_test.cpp)
target_link_libraries(@{prefix}_test PRIVATE @library)
add_test(NAME @{prefix}_test COMMAND @{prefix}_test)
"""
BUILD = """

    cmake -B build -DCMAKE_BUILD_TYPE=Release
    cmake --build build
    ctest --test-dir build

The test compares each function with @compared at @states random states."""
README = """\
<!-- @mark -->
# Dynamics of @robot

@about

| function | multiplications | additions | others | computes | formulation |
|---|---:|---:|---|---|---|
@functions

Units are SI. Matrices are stored row by row. Arguments are read before results are written, so that
a result may overwrite an argument. Gravity is (@gravity) in base axes. Rotor inertias are
included; friction is in `friction_torque` and `passive_torque` alone. The robot's numbers are from:
@origin.

| entry of q | joint | kind |
|---:|---|---|
@joints
@constants"""

FILES = {
    "c": {
        "@{library}.h": HEADER,
        "@{library}.c": SOURCE,
        "@{prefix}_test.c": TEST,
        "CMakeLists.txt": CMAKE_C,
    },
    "cpp": {
        "@{library}.hpp": GENERIC,
        "@{prefix}_test.cpp": TEST,
        "CMakeLists.txt": CMAKE_CPP,
    },
    "cuda": {"@{library}.cu": KERNELS},
}
"""The files of a target, beside the page."""
DEFINED = """\
values that are not computed by the program but
from the definition of the quantity (or, if it has none, from a formulation as it is written)"""
"""What the test compares with if every function has a reference."""
ABOUT = {
    "c": "C99 in @T, without allocation, globals or libraries beyond libm." + BUILD,
    "cpp": "C++11 templates over the type of numbers, in one header." + BUILD,
    "cuda": """\
CUDA in @T: a device function for one state, and a kernel with one thread per state. A kernel
takes the number of states and then device pointers; entry k of state i is at `[k * count + i]`.

    nvcc -O3 -c @library.cu
    NAME_kernel<<<(count + 127) / 128, 128>>>(count, q, ..., out);""",
}


@dataclass(frozen=True)
class Function:
    """A program to print, what it computes and where its formulation comes from, if it has one.

    With a reference, the test of the project compares it with values from there.
    """

    program: Program
    about: str
    source: str
    reference: Reference | None = None

    @cached_property
    def code(self) -> Lowered:
        """The operations that are printed."""
        return lowered(self.program)


class Form(Template):
    """A text with words to fill in, each after an @."""

    delimiter = "@"


def project(
    robot: RobotModel,
    functions: Sequence[Function],
    target: str = "c",
    dtype: str = "float64",
    fused: bool | None = None,
    sines: str = "library",
) -> dict[str, str]:
    """The text of each file by its name; same robot, same text. The choices are `source`'s."""
    printer = printer_for(target, dtype, fused, sines)
    prefix = identifier(robot.name).rstrip("_")
    named = _named(functions, prefix)
    words = _code(robot, named, printer, f"{prefix}_dynamics", "hpp" if target == "cpp" else "h")
    words |= {
        "prefix": prefix,
        "T": DTYPES[dtype],
        **_page(robot, named),
        **test_words(
            robot,
            {name: f.program for name, f in named.items()},
            {name: f.reference for name, f in named.items()},
            dtype,
        ),
    }
    words["compared"] = DEFINED if all(f.reference for f in functions) else "armlet's own values"
    words["about"] = filled(ABOUT[target], words)
    forms = FILES[target] | {"README.md": README}
    return {filled(name, words): filled(text, words) for name, text in forms.items()}


def c_files(
    robot: RobotModel,
    functions: Sequence[Function],
    prefix: str,
    library: str,
    fused: bool | None = None,
) -> dict[str, str]:
    """A header and a source of functions whose names begin with a prefix, to be part of more."""
    words = _code(robot, _named(functions, prefix), printer_for("c", fused=fused), library, "h")
    return {f"{library}.h": filled(HEADER, words), f"{library}.c": filled(SOURCE, words)}


def function_name(function: Function, prefix: str) -> str:
    """What a function is called in C."""
    return f"{prefix}_{identifier(function.program.name)}"


def filled(text: str, words: Mapping[str, str]) -> str:
    """A text with its words put in."""
    return Form(text).substitute(words)


def mark() -> str:
    """What tells that a file was written by armlet, and by which version."""
    return f"{MARK} {__version__}."


def _named(functions: Sequence[Function], prefix: str) -> dict[str, Function]:
    return {function_name(f, prefix): f for f in functions}


def _code(
    robot: RobotModel,
    named: Mapping[str, Function],
    printer: Printer,
    library: str,
    suffix: str,
) -> dict[str, str]:
    """What headers and sources are filled with."""
    order = ", ".join(f"{plain(joint.name)} {joint.letter}" for joint in robot.coordinates)
    words = {
        "mark": mark(),
        "robot": plain(robot.name),
        "order": "\n * ".join(wrap(order, WIDTH)),
        "library": library,
        "include": f"{library}.{suffix}",
        "guard": f"{library}_h".upper(),
        **_functions(named, printer),
    }
    return words | {"banner": filled(BANNER, words)}


def _functions(named: Mapping[str, Function], printer: Printer) -> dict[str, str]:
    prototypes, definitions = [], []
    for name, f in named.items():
        notes = (f.about, f"Formulation {f.source}." if f.source else "")
        head = prototype(f.code, name, printer)
        prototypes.append(f"{comment(f.code, notes)}\n{head};\n")
        definitions.append(definition(f.code, name, printer, notes))
    return {
        "preamble": printer.preamble(*(f.code for f in named.values())),
        "prototypes": "\n".join(prototypes),
        "definitions": "\n".join(definitions),
    }


def _page(robot: RobotModel, named: Mapping[str, Function]) -> dict[str, str]:
    """What is said of the robot and of its functions."""
    rows = []
    for name, f in named.items():
        count = f.code.count()
        others = ", ".join(f"{times} {other}" for other, times in count.functions)
        cells = (f"`{name}`", count.M, count.A, others, plain(f.about), plain(f.source))
        rows.append(f"| {' | '.join(map(str, cells))} |")
    given = dict.fromkeys(x for f in named.values() for x in f.program.inputs if x in GROUPS)
    return {
        "origin": plain(robot.source) or "the file it was loaded from",
        "gravity": ", ".join(repr(float(x)) for x in robot.gravity),
        "functions": "\n".join(rows),
        "joints": "\n".join(
            f"| {k} | {plain(joint.name)} | {joint.kind} |"
            for k, joint in enumerate(robot.coordinates)
        )
        + _coupled(robot),
        "constants": "".join(_constants(robot, group) for group in given),
    }


def _coupled(robot: RobotModel) -> str:
    """Rows for the joints that are moved by others: of which entry of q, and how."""
    entry = {leader: k for k, leader in enumerate(robot.leaders)}
    rows = [
        f"\n| {entry[coupling.leader]} | {plain(joint.name)} | {joint.kind}, moved by "
        f"{plain(robot.follows(i))} |"
        for i, (joint, coupling) in enumerate(zip(robot.joints, robot.couplings, strict=False))
        if coupling.leader != i
    ]
    return "".join(rows)


def _constants(robot: RobotModel, group: str) -> str:
    """A table of the constants that are an argument, with the robot's own values."""
    about = f"The numbers of joints, from 1, end the names of entries of `{group}`."
    if group == "inertia":
        about += f" Of each body, about and in the canonical frame of its joint: {' '.join(PHI)}."
    rows = [
        f"| {k} | {name} | {float(value)!r} |"
        for k, (name, value) in enumerate(robot.constants(group).items())
    ]
    return "\n".join(
        ("", about, "", f"| entry of {group} | constant | value |", "|---:|---|---:|", *rows, "")
    )

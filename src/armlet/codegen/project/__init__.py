"""Generated projects with their own build and test: a table of file templates per target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from armlet._support.lazy import cached_property
from armlet.codegen.lower import Lowered, lower
from armlet.codegen.project.selftest import Reference, test_words
from armlet.codegen.source.c import (
    DTYPES,
    WIDTH,
    Printer,
    comment,
    definition,
    identifier,
    one_line,
    printer_for,
    prototype,
)
from armlet.codegen.templates import fill, fill_file
from armlet.graph import Program
from armlet.robot import PHI, RobotModel
from armlet.robot.robot import GROUPS
from armlet.version import __version__

MARK = "Written by armlet"
"""The first line of every generated file contains this."""
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
"""The files of a target, and the template of each."""
DEFINED = """\
values that are not computed by the program but
from the definition of the quantity (or, if it has none, from a formulation as it is written)"""
"""What the test compares with if every function has a reference."""


@dataclass(frozen=True)
class Function:
    """A program to print, with a description and the source of its formulation.

    With a reference, the test of the project compares it with values from there.
    """

    program: Program
    about: str
    source: str
    reference: Reference | None = None

    @cached_property
    def code(self) -> Lowered:
        """The operations that are printed."""
        return lower(self.program)


def project(
    robot: RobotModel,
    functions: Sequence[Function],
    target: str = "c",
    dtype: str = "float64",
    fused: bool | None = None,
    sines: str = "library",
) -> dict[str, str]:
    """The text of each file of a project by its name; the options are those of `Program.source`."""
    printer = printer_for(target, dtype, fused, sines)
    prefix = identifier(robot.name).rstrip("_")
    by_name = _by_name(functions, prefix)
    words = _code(robot, by_name, printer, f"{prefix}_dynamics", "hpp" if target == "cpp" else "h")
    words |= {
        "prefix": prefix,
        "T": DTYPES[dtype],
        **_page(robot, by_name),
        **test_words(
            robot,
            {name: f.program for name, f in by_name.items()},
            {name: f.reference for name, f in by_name.items()},
            dtype,
        ),
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
    """A header and a source of functions whose names begin with a prefix, for a larger project."""
    words = _code(robot, _by_name(functions, prefix), printer_for("c", fused=fused), library, "h")
    return {f"{library}.{end}": fill_file(f"library.{end}", words) for end in ("h", "c")}


def function_name(function: Function, prefix: str) -> str:
    """The name of a function in C."""
    return f"{prefix}_{identifier(function.program.name)}"


def mark() -> str:
    """The mark of a file that armlet wrote, with the version."""
    return f"{MARK} {__version__}."


def _by_name(functions: Sequence[Function], prefix: str) -> dict[str, Function]:
    return {function_name(f, prefix): f for f in functions}


def _code(
    robot: RobotModel,
    by_name: Mapping[str, Function],
    printer: Printer,
    library: str,
    suffix: str,
) -> dict[str, str]:
    """The words of headers and sources."""
    order = ", ".join(f"{one_line(joint.name)} {joint.letter}" for joint in robot.coordinates)
    words = {
        "mark": mark(),
        "robot": one_line(robot.name),
        "order": "\n * ".join(wrap(order, WIDTH)),
        "library": library,
        "include": f"{library}.{suffix}",
        "guard": f"{library}_h".upper(),
        **_functions(by_name, printer),
    }
    return words | {"banner": fill_file("banner.h", words)}


def _functions(by_name: Mapping[str, Function], printer: Printer) -> dict[str, str]:
    prototypes, definitions = [], []
    for name, f in by_name.items():
        notes = (f.about, f"Formulation {f.source}." if f.source else "")
        head = prototype(f.code, name, printer)
        prototypes.append(f"{comment(f.code, notes)}\n{head};")
        definitions.append(definition(f.code, name, printer, notes).rstrip("\n"))
    return {
        "preamble": printer.preamble(*(f.code for f in by_name.values())),
        "prototypes": "\n\n".join(prototypes),
        "definitions": "\n\n".join(definitions),
    }


def _page(robot: RobotModel, by_name: Mapping[str, Function]) -> dict[str, str]:
    """The words of the page about the robot and its functions."""
    rows = []
    for name, f in by_name.items():
        count = f.code.count()
        others = ", ".join(f"{times} {other}" for other, times in count.functions)
        cells = (f"`{name}`", count.M, count.A, others, one_line(f.about), one_line(f.source))
        rows.append(f"| {' | '.join(map(str, cells))} |")
    groups = dict.fromkeys(x for f in by_name.values() for x in f.program.inputs if x in GROUPS)
    return {
        "origin": one_line(robot.source) or "the file it was loaded from",
        "gravity": ", ".join(repr(float(x)) for x in robot.gravity),
        "functions": "\n".join(rows),
        "joints": "\n".join(
            f"| {k} | {one_line(joint.name)} | {joint.kind} |"
            for k, joint in enumerate(robot.coordinates)
        )
        + _coupled(robot),
        "constants": "".join(_constants(robot, group) for group in groups),
    }


def _coupled(robot: RobotModel) -> str:
    """Rows for coupled joints: the entry of q that moves each, and how."""
    entry = {leader: k for k, leader in enumerate(robot.leaders)}
    rows = [
        f"\n| {entry[coupling.leader]} | {one_line(joint.name)} | {joint.kind}, moved by "
        f"{one_line(robot._coupling_text(i))} |"
        for i, (joint, coupling) in enumerate(zip(robot.joints, robot.couplings, strict=False))
        if coupling.leader != i
    ]
    return "".join(rows)


def _constants(robot: RobotModel, group: str) -> str:
    """A table of the constants in an argument, with the values of the robot."""
    about = f"The numbers of joints, from 1, end the names of entries of `{group}`."
    if group == "inertia":
        about += f" Of each body, about and in the canonical frame of its joint: {' '.join(PHI)}."
    rows = [
        f"| {k} | {name} | {float(value)!r} |"
        for k, (name, value) in enumerate(robot.constants(group).items())
    ]
    heading = f"| entry of {group} | constant | value |"
    return "\n".join(("", "", about, "", heading, "|---:|---|---:|", *rows))

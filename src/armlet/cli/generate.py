"""armlet generate"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from armlet.api import Robot, cheapest, formulations, trace
from armlet.cli.arm import Choice, FrameNames, takes_robot
from armlet.cli.completion import functions as completed_functions
from armlet.cli.completion import one_of
from armlet.cli.reference import reference
from armlet.cli.terminal import Terminal, progress
from armlet.codegen.project import MARK, Function, project
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError
from armlet.models.file import check_folder, shown_path, write
from armlet.robot.robot import GROUPS
from armlet.tracing import one_of as checked


@takes_robot()
def generate(
    choice: Choice,
    function: Annotated[
        list[str] | None,
        typer.Option(
            "--function",
            "-f",
            help="A quantity, or QUANTITY:FORMULATION. Repeatable.",
            autocompletion=completed_functions,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to write to.", metavar="DIR")
    ] = None,
    frame: FrameNames = None,
    argument: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Constants that are given at run time: {', '.join(GROUPS)}. Repeatable.",
            autocompletion=one_of(*GROUPS),
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(help="c, cpp or cuda.", autocompletion=one_of("c", "cpp", "cuda"))
    ] = "c",
    dtype: Annotated[
        str, typer.Option(help="float64 or float32.", autocompletion=one_of("float64", "float32"))
    ] = "float64",
    fused: Annotated[
        bool | None,
        typer.Option("--fused/--unfused", help="Call fma, or not; by default for CUDA alone."),
    ] = None,
    minimal: Annotated[
        bool, typer.Option("--minimal/--full", help="Lump the inertias first, or keep them all.")
    ] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON.")
    ] = False,
) -> None:
    """Write functions of a robot as source code with its own test.

    For C: a header, a source without allocation or globals, a test program with reference
    values, a CMakeLists.txt and a README with the counts. Of several frames there is one function
    each. Reference values come from the definition of the quantity.

    Example: armlet generate puma560 -f inverse_dynamics -f inertia_matrix --target c -o puma

    Example: armlet generate panda -f jacobian --frame link4 --frame flange -o panda

    Example: armlet generate panda -f inverse_dynamics --argument inertia -o panda
    """
    if not function:
        raise ArmletError("no function is named: give one or more, such as -f inverse_dynamics")
    if output is None:
        raise ArmletError("no folder is named: give one, such as -o generated")
    check_folder(output)
    for group in argument or ():
        checked(group, dict.fromkeys(GROUPS), "group of constants")
    arm = choice.load()
    wanted = _with_frames(_once(function), frame or ())
    functions = [
        _function(arm, *one, argument or (), minimal) for one in progress(wanted, "tracing")
    ]
    for group in argument or ():
        if not any(group in f.program.inputs for f in functions):
            raise ArmletError(f"--argument {group}: none of the functions depends on {group}")
    written = _write(output, project(arm, functions, target, dtype, fused))
    if as_json:
        print(json.dumps({"functions": [_data(f) for f in functions],
                          "files": [str(path) for path in written]}, indent=2))  # fmt: skip
        return
    console = Terminal()
    for f in functions:
        console.print(f"{f.program.name}: {f.code.count()}")
    for path in written:
        console.print(f"wrote {shown_path(path)}", soft_wrap=True)


def _once(wanted: Sequence[str]) -> list[tuple[str, str | None]]:
    """Quantities and their formulations; each quantity may be given once."""
    pairs = [text.partition(":")[::2] for text in wanted]
    names = [quantity for quantity, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ArmletError(f"{name} is given {names.count(name)} times: expected once")
    return [(quantity, formulation or None) for quantity, formulation in pairs]


def _with_frames(
    wanted: Sequence[tuple[str, str | None]], frames: Sequence[str]
) -> list[tuple[str, str | None, str | None, str]]:
    """Quantities with formulations, frames and names of functions, one for each frame."""
    every: list[tuple[str, str | None, str | None, str]] = []
    for quantity, formulation in wanted:
        formulations(quantity)
        here = frames if "frame" in QUANTITIES[quantity].options else ()
        for frame in here or (None,):
            suffix = f"_{re.sub('[^0-9A-Za-z]', '_', frame)}" if frame and len(here) > 1 else ""
            every.append((quantity, formulation, frame, f"{quantity}{suffix}"))
    names = [name for *_, name in every]
    for name in names:
        if names.count(name) > 1:
            raise ArmletError(f"two functions would be called {name}: name frames that differ")
    if frames and not any(frame for _, _, frame, _ in every):
        raise ArmletError("--frame is for kinematics: none of the functions is of a frame")
    return every


def _function(
    arm: Robot,
    quantity: str,
    formulation: str | None,
    frame: str | None,
    name: str,
    arguments: Sequence[str],
    minimal: bool,
) -> Function:
    entries = formulations(quantity)
    constants = {
        group: "argument"
        for group in arguments
        if group in QUANTITIES[quantity].reads and arm.constants(group)
    }
    if formulation is None:
        found = cheapest(arm, quantity, constants=constants, minimal=minimal, frame=frame)
        entry, program, form = entries[found.formulation], found.program, ", simplified"
    else:
        program = trace(
            arm, quantity, formulation, constants=constants, minimal=minimal, frame=frame
        )
        entry, form = entries[formulation], ""
    about = QUANTITIES[quantity].about + (f" Frame {frame}." if frame else "")
    source = f"{entry.name}: {entry.source}{form}"
    return Function(replace(program, name=name), about, source, reference(arm, quantity, frame))


def _data(function: Function) -> dict[str, object]:
    """A function that was written, as plain data."""
    count = function.code.count()
    counted = {"M": count.M, "A": count.A, **dict(count.functions)}
    inputs = {name: list(x.shape) for name, x in function.program.inputs.items()}
    return {"name": function.program.name, "arguments": inputs, "operations": counted}


def _write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write all files, or none if one would replace a file that armlet did not write."""
    paths = {folder / name: text for name, text in files.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            if path.exists() and MARK.encode() not in path.read_bytes().partition(b"\n")[0]:
                raise ArmletError(
                    f"{shown_path(path)} was not written by armlet: choose another folder, or move "
                    "the file"
                )
    except OSError as error:
        raise ArmletError(f"{shown_path(folder)}: {error.strerror}") from None
    for path, text in paths.items():
        write(path, text)
    return list(paths)

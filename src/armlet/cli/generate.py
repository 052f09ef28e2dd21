"""armlet generate"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from armlet.api import cheapest, formulations, trace
from armlet.cli.terminal import Terminal
from armlet.codegen.project import MARK, Function, project
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError
from armlet.models import load
from armlet.models.file import check_folder, shown_path, write
from armlet.robot import RobotModel


def generate(
    robot: Annotated[str, typer.Argument(help="A catalogue name or a file.", metavar="ROBOT")],
    function: Annotated[
        list[str] | None,
        typer.Option(
            "--function",
            "-f",
            help="A quantity, QUANTITY:FORMULATION, or NAME=QUANTITY,QUANTITY,… for one function "
            "of several. Repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to write to.", metavar="DIR")
    ] = None,
    target: Annotated[str, typer.Option(help="c, cpp or cuda.")] = "c",
    dtype: Annotated[str, typer.Option(help="float64 or float32.")] = "float64",
    fused: Annotated[
        bool | None,
        typer.Option("--fused/--unfused", help="Call fma, or not; by default for CUDA alone."),
    ] = None,
    minimal: Annotated[
        bool, typer.Option("--minimal/--full", help="Lump the inertias first, or keep them all.")
    ] = True,
) -> None:
    """Write functions of a robot as source code with its own test.

    For C: a header, a source without allocation or globals, a test program with reference
    values, a CMakeLists.txt and a README with the counts.

    Example: armlet generate puma560 -f inverse_dynamics -f inertia_matrix --target c -o puma

    Example: armlet generate panda -f terms=inertia_matrix,bias,jacobian -o panda
    """
    if not function:
        raise ArmletError("no function is named: give one or more, such as -f inverse_dynamics")
    if output is None:
        raise ArmletError("no folder is named: give one, such as -o generated")
    check_folder(output)
    arm = load(robot)
    console = Terminal()
    wanted = track(
        _once(function), "tracing", transient=True, console=console, disable=not console.is_terminal
    )
    functions = [_function(arm, text, minimal) for text in wanted]
    written = _write(output, project(arm, functions, target, dtype, fused))
    for f in functions:
        console.print(f"{f.program.name}: {f.code.count()}")
    for path in written:
        console.print(f"wrote {shown_path(path)}", soft_wrap=True)


def _once(wanted: Sequence[str]) -> Sequence[str]:
    """What is wanted: each under a name of its own, so that each is given once."""
    names = [re.split("[:=]", text)[0] for text in wanted]
    for name in names:
        if names.count(name) > 1:
            raise ArmletError(f"{name} is given {names.count(name)} times: expected once")
    return wanted


def _function(arm: RobotModel, text: str, minimal: bool) -> Function:
    name, is_named, quantities = text.rpartition("=")
    if is_named or "," in quantities:
        return _together(arm, name, quantities.split(","), minimal)
    quantity, _, formulation = quantities.partition(":")
    entries = formulations(quantity)
    if formulation:
        program, form = trace(arm, quantity, formulation, minimal=minimal), ""
        entry = entries[formulation]
    else:
        found = cheapest(arm, quantity, minimal=minimal)
        entry, program, form = entries[found.formulation], found.program, ", simplified"
    source = f"{entry.name}: {entry.source}{form}"
    return Function(program, QUANTITIES[quantity].about, source)


def _together(arm: RobotModel, name: str, quantities: Sequence[str], minimal: bool) -> Function:
    """One function of several quantities."""
    found = cheapest(arm, quantities, minimal=minimal)
    program = replace(found.program, name=name or found.program.name)
    about = f"{', '.join(quantities)}: what they share is computed once."
    return Function(program, about, f"{found.formulation}: together, simplified")


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

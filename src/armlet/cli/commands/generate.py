"""The command `armlet generate`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from armlet._support.files import check_folder, shown_path, write
from armlet._support.validation import one_of
from armlet.api import Robot, cheapest, formulations, trace
from armlet.cli.options import completion, name_option
from armlet.cli.options import functions as function_names
from armlet.cli.output import Terminal, print_json, progress
from armlet.cli.reference_values import reference_values
from armlet.cli.robot_options import Choice, FrameNames, takes_robot
from armlet.codegen.project import MARK, Function, project
from armlet.codegen.source.c import LANGUAGES
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError
from armlet.fmu import check_replaceable, function_block, plant_block, write_unit
from armlet.robot.robot import GROUPS
from armlet.simulation import Plant

UNIT = "fmu"
"""Target that writes a functional mock-up unit (FMU)."""
TARGETS = (*LANGUAGES, UNIT)


@takes_robot()
def generate(
    choice: Choice,
    function: Annotated[
        list[str] | None,
        typer.Option(
            "--function",
            "-f",
            help="A quantity, QUANTITY:FORMULATION, or NAME=QUANTITY,QUANTITY,… for one function "
            "of several. Repeatable.",
            autocompletion=function_names,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The folder to write to; for fmu the file.", metavar="PATH"
        ),
    ] = None,
    frame: FrameNames = None,
    argument: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Constants that are arguments at run time: {', '.join(GROUPS)}. Repeatable.",
            autocompletion=completion(*GROUPS),
        ),
    ] = None,
    target: Annotated[str, name_option("What to write", TARGETS)] = "c",
    dtype: Annotated[str, name_option("The type of numbers", ("float64", "float32"))] = "float64",
    fused: Annotated[
        bool | None,
        typer.Option("--fused/--unfused", help="Call fma, or not; by default only for CUDA."),
    ] = None,
    minimal: Annotated[
        bool, typer.Option("--minimal/--full", help="Lump the inertias first, or keep them all.")
    ] = True,
    fmi: Annotated[
        int | None, typer.Option(help="For fmu: the version of FMI, 3 (the default) or 2.")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(help="For fmu without -f: the longest step of the integration, in s (0.001)."),
    ] = None,
    friction: Annotated[
        bool | None,
        typer.Option(help="For fmu without -f: whether drives have friction; by default yes."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON.")
    ] = False,
) -> None:
    """Write functions of a robot as source code, or as a block for simulation programs.

    With --target c, the files are a header, a source file, a test program, a
    CMakeLists.txt and a README with the operation counts. The functions allocate
    no memory and use no global variables. The test program compares results with
    values that are computed from the definitions of the quantities. A quantity of
    a frame, such as -f jacobian, becomes one function for each --frame.

    With --target fmu, one file is written for Simulink, Modelica and other
    programs that read FMI. With -f, the block outputs the results of the
    functions. Without -f, the block simulates the arm under joint torques.

    Example: armlet generate puma560 -f inverse_dynamics -f inertia_matrix --target c -o puma

    Example: armlet generate panda -f terms=inertia_matrix,bias,jacobian -o panda

    Example: armlet generate panda -f jacobian --frame link4 --frame flange -o panda

    Example: armlet generate panda -f inverse_dynamics --argument inertia -o panda

    Example: armlet generate panda -f inverse_dynamics --target fmu -o torques.fmu

    Example: armlet generate panda --target fmu --fmi 2 -o arm.fmu
    """
    one_of(target, "target", TARGETS)
    options = {"fmi": fmi, "step": step, "friction": friction}
    used = [name for name, value in options.items() if value is not None]
    if target == UNIT:
        if function and {*used} - {"fmi"}:
            raise ArmletError(f"--{used[-1]} is for the arm itself: leave it out, or -f")
        if not function and not minimal:
            raise ArmletError("--full is for functions, of which none is named: leave it out")
        if dtype != "float64":
            raise ArmletError(f"--dtype {dtype}: a functional mock-up unit has float64 alone")
        if fmi not in (None, 2, 3):
            raise ArmletError(f"--fmi {fmi}: expected 2 or 3")
    elif used:
        raise ArmletError(f"--{used[0]} is for --target {UNIT}: leave it out")
    elif not function:
        raise ArmletError("no function is named: give one or more, such as -f inverse_dynamics")
    if out is None:
        what, example = ("file", "arm.fmu") if target == UNIT else ("folder", "generated")
        raise ArmletError(f"no {what} is named: give one, such as -o {example}")
    (check_replaceable if target == UNIT else check_folder)(out)
    for group in argument or ():
        one_of(group, "group of constants", GROUPS)
    arm = choice.load()
    requests = progress(_requests(function or (), frame or ()), "tracing")
    functions = [request.trace(arm, argument or (), minimal) for request in requests]
    for group in argument or ():
        if not any(group in f.program.inputs for f in functions):
            raise ArmletError(f"--argument {group}: none of the functions depends on {group}")
    further: dict[str, object] = {}
    if target == UNIT:
        if functions:
            block = function_block(arm, functions)
        else:
            plant = Plant(arm, friction=friction is not False)
            block = plant_block(plant, **({} if step is None else {"step": step}))
        further["platform"] = write_unit(out, block, fmi or 3, fused)
        functions, written = block.functions, [out]
    else:
        written = _write(out, project(arm, functions, target, dtype, fused))
    if as_json:
        data = [
            {
                "name": f.program.name,
                "arguments": {name: list(x.shape) for name, x in f.program.inputs.items()},
                "operations": {"M": count.M, "A": count.A, **dict(count.functions)},
            }
            for f, count in ((f, f.code.count()) for f in functions)
        ]
        print_json({"functions": data, "files": [*map(str, written)], **further})
        return
    console = Terminal()
    for f in functions:
        console.print(f"{f.program.name}: {f.code.count()}")
    for path in written:
        console.print(f"wrote {shown_path(path)}", soft_wrap=True)
    if further.get("platform") == "":
        console.print("no C compiler is here: the file has sources, and no library", soft_wrap=True)


@dataclass(frozen=True)
class Request:
    """A function to write: its name, quantities and frames."""

    name: str
    quantities: Sequence[str]
    formulation: str = ""
    """Formulation of a single quantity; empty for the cheapest program."""
    frames: Sequence[str] = ()

    def trace(self, arm: Robot, arguments: Sequence[str], minimal: bool) -> Function:
        """Trace the function; groups of constants in `arguments` that it reads become inputs."""
        read = {group for quantity in self.quantities for group in QUANTITIES[quantity].reads}
        groups = [group for group in arguments if group in read and arm.constants(group)]
        options: dict[str, Any] = {
            "constants": dict.fromkeys(groups, "argument"),
            "minimal": minimal,
            "frame": self.frames[0] if len(self.frames) == 1 else self.frames or None,
        }
        quantity, *others = self.quantities
        if others or len(self.frames) > 1:
            best = cheapest(arm, self.quantities, **options)
            program, source = best.program, f"{best.formulation}: together, simplified"
            about = f"{', '.join(self.quantities)}: what they share is computed once."
        else:
            about = QUANTITIES[quantity].about + "".join(f" Frame {x}." for x in self.frames)
            name, simplified = self.formulation, ""
            if name:
                program = trace(arm, quantity, name, **options)
            else:
                best = cheapest(arm, quantity, **options)
                program, name, simplified = best.program, best.formulation, ", simplified"
            source = f"{name}: {formulations(quantity)[name].source}{simplified}"
        expected = reference_values(arm, self.quantities, self.frames)
        return Function(replace(program, name=self.name), about, source, expected)


def _requests(texts: Sequence[str], frames: Sequence[str]) -> list[Request]:
    """Parse the values of -f: a quantity gives a function per frame, a list gives one function."""
    requests: dict[str, Request] = {}
    for text in texts:
        name, is_named, listed = text.rpartition("=")
        quantities = listed.split(",")
        entries = [x.partition(":") for x in quantities]
        for quantity, *_ in entries:
            formulations(quantity)
        own = frames if any("frame" in QUANTITIES[x].options for x, *_ in entries) else ()
        if is_named or len(quantities) > 1:
            new = [Request(name or "_and_".join(quantities), quantities, frames=own)]
        else:
            ((quantity, _, formulation),) = entries
            suffixes = [f"_{re.sub('[^0-9A-Za-z]', '_', x)}" for x in own] if own[1:] else [""]
            new = [
                Request(quantity + suffix, [quantity], formulation, own[k : k + 1])
                for k, suffix in enumerate(suffixes)
            ]
        for name, group in groupby(sorted(request.name for request in new)):
            if len([*group]) > 1:
                raise ArmletError(f"two functions would be called {name}: name other frames")
            if name in requests:
                times = [re.split("[:=]", x)[0] for x in texts].count(name)
                raise ArmletError(f"{name} is given {max(2, times)} times: expected once")
        requests |= {request.name: request for request in new}
    if frames and not any(request.frames for request in requests.values()):
        raise ArmletError("--frame is for kinematics: none of the functions is of a frame")
    return [*requests.values()]


def _write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write `files`, a dict name -> text; refuse to replace a file that armlet did not write."""
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

"""Write functional mock-up units: C sources, XML and, with a compiler, a compiled library."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from typing import Literal
from uuid import UUID

from numpy.typing import ArrayLike

from armlet._support import validation
from armlet._support.files import check_writable, unwritable, write_bytes
from armlet.api.functions import Function
from armlet.api.robot import Robot
from armlet.codegen.project import MARK, c_files, function_name, mark
from armlet.codegen.source.c import WIDTH, one_line, printer_for, unique_identifiers
from armlet.codegen.templates import fill
from armlet.errors import CompileError, clip
from armlet.fmu.block import Block, Variable, function_block, functions_of, plant_block
from armlet.fmu.description import build_description, model_description
from armlet.graph import Program
from armlet.simulation.forces import Plant, single_plant

COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-std=c99", "-O2", "-g0", "-fPIC", "-shared", "-fvisibility=hidden")
ENDINGS = {"linux": ".so", "darwin": ".dylib", "windows": ".dll"}
FMI2_PLATFORMS = {"x86_64-linux": "linux64", "x86_64-darwin": "darwin64", "x86_64-windows": "win64"}
"""FMI 3 name of a platform -> FMI 2 name, where the two names differ."""


def to_fmu(
    robot: Robot | Plant,
    path: str | Path,
    of: str | Sequence[str] | Function | Program | None = None,
    *,
    fmi: Literal[2, 3] = 3,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    step: float = 1e-3,
) -> str:
    """Write a functional mock-up unit, for Simulink, Modelica and other programs.

    The unit has C sources and is for co-simulation. Without `of`, the unit simulates the arm:
    inputs are joint torques; outputs are joint positions, joint velocities and, if there is a tool,
    the tool's pose. With `of`, the unit computes `of` from its inputs when an output is read.

    Parameters
    ----------
    robot : Robot or Plant
        A robot is simulated with friction and without joint stops. A `Plant` has options for these.
    path : str or Path
        The file to write. Other programs expect the ending .fmu.
    of : str, sequence of str, Function or Program, optional
        One or several quantities, an `armlet.function`, or a program from `armlet.trace`. An
        argument t becomes the time; constants of the robot that are arguments become parameters.
    fmi : {3, 2}
        The version of FMI. An array is one variable in FMI 3, and one variable per entry in FMI 2.
    q0, qd0 : array_like of shape (n,), optional
        Default values of the parameters q0 and qd0: initial state of a simulated arm. If omitted,
        the arm starts at rest, with each joint as near to zero as its limits allow.
    step : float
        Default value of the parameter `step`: longest integration step of a simulated arm, in s.
        The integrator is `rosenbrock2` of `armlet.INTEGRATORS` if friction or stops act, and `rk4`
        otherwise.

    Returns
    -------
    str
        The platform of the compiled library in the file, such as "x86_64-linux", or "" if there is
        no C compiler; the importing program must then compile the sources in the file.

    Examples
    --------
    >>> import armlet, os, tempfile
    >>> robot = armlet.load("planar2r")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     platform = armlet.to_fmu(robot, f"{folder}/arm.fmu", step=1e-4)
    ...     platform = armlet.to_fmu(robot, f"{folder}/torques.fmu", "inverse_dynamics", fmi=2)
    ...     sorted(os.listdir(folder))
    ['arm.fmu', 'torques.fmu']
    """
    check_writable(Path(path))
    if of is None:
        block = plant_block(robot, q0=q0, qd0=qd0, step=step)
    else:
        arm = single_plant(robot).robot
        block = function_block(arm, functions_of(arm, of))
    return write_unit(Path(path), block, fmi)


def write_unit(path: Path, block: Block, fmi: int = 3, fused: bool | None = None) -> str:
    """Write a block as a unit; return the platform of the compiled library, or "" if none."""
    validation.one_of(fmi, "fmi", (2, 3))
    texts = unit_files(block, fmi, fused)
    target, library = _library(block, texts, fmi)
    write_bytes(path, _archive({name: x.encode() for name, x in texts.items()} | library))
    return target


def check_replaceable(path: Path) -> None:
    """Raise an error if `path` cannot be written, or is a file that armlet did not write."""
    check_writable(path)
    if path.is_file() and MARK.encode() not in path.read_bytes()[-100:]:
        raise unwritable(path, "it was not written by armlet: choose another name, or move it")


def unit_files(block: Block, fmi: int = 3, fused: bool | None = None) -> dict[str, str]:
    """Return the files of a unit as name -> text; the FMI token is a hash of all other text."""
    digest = hashlib.sha256(repr(_texts(block, fmi, fused, "")).encode()).hexdigest()
    return _texts(block, fmi, fused, f"{{{UUID(digest[:32])}}}")


def _texts(block: Block, fmi: int, fused: bool | None, token: str) -> dict[str, str]:
    values = _template_values(block, token)
    interface = ["instance.h", f"fmi{fmi}.c", *(["fmi3_absent.h"] if fmi == 3 else [])]
    sources = {
        **c_files(block.robot, block.functions, block.name, "dynamics", fused),
        **{name: fill(_template(name), values) for name in ("model.h", "model.c")},
        **{name: _template(name) for name in interface},
    }
    compiled = [name for name in sources if name.endswith(".c")]
    texts = {"modelDescription.xml": model_description(block, fmi, token, compiled)}
    if fmi == 3:
        sources["buildDescription.xml"] = build_description(block, compiled)
    return texts | {f"sources/{name}": text for name, text in sources.items()}


# ------------------------------------------------------------------ C


def _template(name: str) -> str:
    return files("armlet.fmu").joinpath("sources", name).read_text("utf-8")


def _template_values(block: Block, token: str) -> dict[str, str]:
    """Return the mapping placeholder -> text for the templates model.h and model.c."""
    names = [x.name for x in block.variables]
    field = dict(zip(names, unique_identifiers(names), strict=True))
    calls = [
        f"    {function_name(call.function, block.name)}"
        f"({', '.join(f'x->{field[name]}' for name in (*call.reads, *call.writes))});"
        for call in block.calls
    ]
    values = {
        "mark": mark(),
        "about": "\n * ".join(wrap(one_line(f"{block.robot.name}: {block.about}"), WIDTH)),
        "name": block.name,
        "token": token,
        "count": str(len(names)),
        "n": str(block.robot.nv),
        "fields": "\n".join(f"    double {field[x.name]}[{x.size}];" for x in block.variables),
        "variables": "\n".join(
            f'    {{"{x.name}", offsetof(Values, {field[x.name]}), {x.size}, {x.kind.upper()}}},'
            for x in block.variables
        ),
        "starts": "\n".join(_start(field[x.name], x) for x in block.variables),
        "calls": "\n".join(calls or ["    (void)x;"]),
    }
    if block.integrator:
        values["integrator"] = fill(_template(f"{block.integrator}.c"), values).rstrip()
    step = _template("plant.c" if block.integrator else "no_state.c")
    return values | {"step": fill(step, values).rstrip()}


def _start(field: str, x: Variable) -> str:
    numbers = ", ".join(map(printer_for("c").number, x.start or (0.0,)))
    lines = "\n        ".join(wrap(numbers, WIDTH - 12, break_on_hyphens=False))
    return f"    .{field} = {{{lines}}},"


# ------------------------------------------------------------------ the library


def this_platform() -> str:
    """Return the FMI 3 name of this machine's platform, such as "x86_64-linux"."""
    machine = platform.machine().lower()
    name = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    return f"{name}-{platform.system().lower()}"


def compiler() -> list[str]:
    """Return the command of a C compiler: $CC if set, else one found on $PATH, else []."""
    if "CC" in os.environ:
        return shlex.split(os.environ["CC"])
    return next(([name] for name in COMPILERS if shutil.which(name)), [])


def _library(block: Block, content: Mapping[str, str], fmi: int) -> tuple[str, dict[str, bytes]]:
    """Compile the sources; return platform and {file name: library}, or "" and {} if impossible."""
    command, here = compiler(), this_platform()
    ending = ENDINGS.get(here.rpartition("-")[2])
    if not command or ending is None:
        return "", {}
    sources = {Path(x).name: text for x, text in content.items() if x.startswith("sources/")}
    name = f"{block.name}{ending}"
    with tempfile.TemporaryDirectory() as folder:
        for source, text in sources.items():
            Path(folder, source).write_text(text, "utf-8")
        listed = [source for source in sources if source.endswith(".c")]
        strip = ["-s"] if ending == ".so" else []
        _run([*command, *OPTIONS, *strip, "-o", name, *listed, "-lm"], folder)
        built = Path(folder, name).read_bytes()
    where = FMI2_PLATFORMS.get(here, here) if fmi == 2 else here
    return here, {f"binaries/{where}/{name}": built}


def _run(command: Sequence[str], folder: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CompileError(
            f"the C compiler {command[0]!r} cannot be run: {error.strerror}; set CC to another, "
            "or to nothing for a unit of sources alone"
        ) from None
    if done.returncode:
        raise CompileError(
            f"{command[0]} cannot compile the unit: {clip(' '.join(done.stderr.split()))}; set "
            "CC to another compiler, or to nothing for a unit of sources alone"
        )


def _archive(content: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of files, all with the same date: equal files yield equal archives."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = mark().encode()
        for name, text in content.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return data.getvalue()

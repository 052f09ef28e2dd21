"""Peers compiled here and run in native loops: Pinocchio's headers, and the C of CasADi.

A module of race.py.
"""

import ctypes
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
from timing import QUANTITIES, random_states
from turns import STATES, TURNS, Timed, native_loop, time_in_turns

import armlet
from armlet.formats.urdf import urdf_text

NATIVE = Path(__file__).parent / "native"
HERE = Path(sysconfig.get_paths()["purelib"])
DEFINITIONS = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
"""The definitions that Pinocchio's CMake file requires."""
FAST = ("-O3", "-march=native", "-DNDEBUG", "-fPIC", "-shared")
CLANG, CASADI = "Pinocchio, clang", "Pinocchio, CasADi, C"


class MissingError(Exception):
    """Something that a peer needs is not installed."""


def pinocchio_model(robot):
    """The arm as native/arm.hpp reads it, with the zeros and ones that rounding has blurred."""
    try:
        from pinocchio import buildModelFromXML
    except ImportError as error:
        raise MissingError(str(error)) from None
    model = buildModelFromXML(urdf_text(robot))
    lines = [_numbers(robot.gravity)]
    for i in range(1, model.njoints):
        kind = model.joints[i].shortname().removeprefix("JointModel")
        at, body = model.jointPlacements[i], model.inertias[i]
        if kind not in ("RX", "RY", "RZ", "PX", "PY", "PZ"):
            raise MissingError(f"joint {i} is of kind {kind}")
        entries = (at.rotation, at.translation, body.mass, body.lever, body.inertia)
        lines.append(f"{kind} {model.parents[i]} {' '.join(map(_numbers, entries))}")
    return "\n".join(lines) + "\n"


def _numbers(values):
    return " ".join(repr(float(x)) for x in np.ravel(values).astype(float).round(14))


def newest(*names):
    """The newest of the compilers with these names that are installed."""
    numbered = [f"{name}-{k}" for name in names for k in range(30, 10, -1)]
    for name in (*numbered, *names):
        if shutil.which(name):
            return name
    raise MissingError(f"no {names[0]} is installed")


def build(command, target, *sources):
    """A file that a command makes, unless it is newer than its sources."""
    times = [Path(source).stat().st_mtime for source in sources]
    if not target.exists() or target.stat().st_mtime < max(times):
        done = subprocess.run(command, capture_output=True, text=True, cwd=target.parent)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line]
            raise MissingError(f"{Path(command[0]).name} fails: {(lines or ['?'])[0][:200]}")
    return target


def headers(sites):
    """Where the wheels keep the headers of Pinocchio and of Eigen."""
    places = [site / "cmeel.prefix" / "include" for site in sites]
    eigen = [place / "eigen3" for place in places] + [Path("/usr/include/eigen3")]
    for name, found in (
        ("pinocchio", [place for place in places if (place / "pinocchio").exists()]),
        ("Eigen (pip install cmeel-eigen)", [place for place in eigen if place.exists()]),
    ):
        if not found:
            raise MissingError(f"no headers of {name} are installed")
        yield f"-I{found[0]}"


def model_file(robot, folder):
    """The arm in a file, which is touched only if it changes."""
    text, file = pinocchio_model(robot), folder / "model.txt"
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    return file


def with_clang(robot, folder, sites):
    """Pinocchio's own algorithms, from its headers."""
    compiler = newest("clang++")
    source, model = NATIVE / "pinocchio.cpp", model_file(robot, folder)
    command = [
        compiler,
        "-std=c++17",
        *FAST,
        "-fvisibility=hidden",
        *DEFINITIONS,
        *headers(sites),
        str(source),
        "-o",
        "pinocchio.so",
    ]
    library = build(command, folder / "pinocchio.so", source, NATIVE / "arm.hpp")
    functions = ctypes.CDLL(str(library))
    functions.open_arm(str(model).encode())
    return _version(compiler), {name: functions[name] for name in QUANTITIES}


def with_casadi(robot, folder, sites):
    """The same algorithms run on CasADi's symbols and printed as C."""
    compiler, gcc = newest("clang++"), newest("gcc")
    casadi = [site / "casadi" for site in sites if (site / "casadi" / "include").exists()]
    if not casadi:
        raise MissingError("no headers of CasADi (pip install casadi) are installed")
    source, model = NATIVE / "casadi.cpp", model_file(robot, folder)
    command = [
        compiler,
        "-std=c++17",
        *DEFINITIONS,
        *headers(sites),
        f"-I{casadi[0] / 'include'}",
        str(source),
        f"-L{casadi[0]}",
        "-lcasadi",
        f"-Wl,-rpath,{casadi[0]}",
        "-o",
        "print_casadi",
    ]
    printer = build(command, folder / "print_casadi", source, NATIVE / "arm.hpp")
    code = build([str(printer), str(model), "printed"], folder / "printed.c", printer, model)
    loops = NATIVE / "casadi_loops.c"
    command = [
        gcc,
        *FAST,
        '-DCODE="printed.c"',
        f"-DJOINTS={robot.nv}",
        f"-I{folder}",
        str(loops),
        "-lm",
        "-o",
        "casadi.so",
    ]
    library = ctypes.CDLL(str(build(command, folder / "casadi.so", loops, code)))
    names = [name for name in QUANTITIES if hasattr(library, f"{name}_loop")]
    return _version(gcc), {name: library[f"{name}_loop"] for name in names}


def _version(compiler):
    line = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    return line.splitlines()[0]


def native(robot, folder, sites, rounds, skipped):
    """Seconds per state in native loops: armlet's code for one state and its peers', in turns."""
    folder.mkdir(parents=True, exist_ok=True)
    libraries, versions = {}, {}
    for name, make in ((CLANG, with_clang), (CASADI, with_casadi)):
        try:
            versions[name], libraries[name] = make(robot, folder, sites)
        except MissingError as reason:
            skipped.append(f"{name}: {reason}")
    found = {"versions": versions, "quantities": {}}
    for quantity in QUANTITIES:
        kernel = armlet.compile(robot, quantity)
        states = random_states(quantity, robot.nv, STATES)
        padded = [*states, *[np.zeros((STATES, robot.nv))] * (3 - len(states))]
        out = np.zeros(robot.nv * 10 * robot.nb)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*padded, out)]
        loops = {
            name: Timed(functions[quantity], (*pointers, ctypes.c_long(TURNS)), TURNS)
            for name, functions in libraries.items()
            if quantity in functions
        }
        times = time_in_turns({"armlet": native_loop(kernel, states), **loops}, rounds)
        mine = np.concatenate([np.ravel(y) for y in _outputs(kernel(*(x[0] for x in states)))])
        found["quantities"][quantity] = {name: time._asdict() for name, time in times.items()}
        for name in loops if quantity != "regressor" else ():
            libraries[name][quantity](*pointers, ctypes.c_long(1))
            theirs = _in_rows(out[: mine.size], robot.nv, name)
            off = np.abs(theirs - mine).max() / np.abs(mine).max()
            found["quantities"][quantity][name]["difference"] = float(off)
    return found


def _outputs(result):
    return result if isinstance(result, tuple) else (result,)


def _in_rows(entries, n, name):
    """CasADi stores matrices by columns."""
    square = name == CASADI and entries.size % n**2 == 0
    return entries.reshape(-1, n, n).transpose(0, 2, 1).ravel() if square else entries

"""The tests as other machines run them: `make test-elsewhere`, `python tests/elsewhere.py --help`.

A setting is a machine as there is one, and the tests that it can make a difference to, by file:

    DRAWS    what is found with random numbers, and asserted for one draw in `make test`
    BLAS     these, and what else solves, decomposes or optimises with NumPy and SciPy
    KERNELS  what runs machine code: kernels, batches, sines, loops, roll-outs
    CORES    what shares work between threads and processes
    SYSTEM   what reads and writes files, prints, or looks for the user's folders
    PYTHON   a part of all these, for interpreters and versions of dependencies

The last setting is all tests in random order. A table says what passed where.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from armlet.runtime.engine import ARCHITECTURES, _start, in_llvm

ROOT = Path(__file__).parents[1].resolve()
VENVS = ROOT / ".venv-elsewhere"
# fmt: off
DRAWS = (
    "controllers", "docs", "examples", "excite", "friction", "gains", "identify", "identify_many",
    "instrumental", "logs", "preprocessing",
)
BLAS = (
    *DRAWS, "coupled_files", "large", "minimal", "passive", "peers", "rank", "singular",
)
KERNELS = (
    "c", "calls", "coupled", "fmu", "functions", "kernel", "kernel_arrays", "kernel_bits",
    "long_programs", "loop", "rates", "rollout_derivatives", "simulation", "sincos",
)
CORES = ("bench", "cache", "excite", "interrupts", "kernel_lifetime", "large", "loop", "threads")
SYSTEM = (
    "bad_models", "cache", "cli", "cli_identify", "cli_robots", "docs", "fmu", "formats",
    "hostile_files", "logs", "mesh", "package", "plotting", "readable", "urdf", "view_files",
    "xacro",
)
PYTHON = (
    "cache", "calls", "cli", "controllers", "docs", "excite", "formats", "functions", "identify",
    "kernel", "kernel_arrays", "kernel_lifetime", "logs", "loop", "preprocessing", "readable",
    "robot", "surface", "threads",
)
# fmt: on
SLICE = (
    "test_cross.py::test_files_have_the_same_encoding_on_every_system",
    "test_docs.py::test_code_on_a_page_runs[docs/index.md]",
    "test_excite.py::test_all_limits_hold_at_1_khz",
    "test_identify.py::test_ordinary_least_squares_is_numpy_s",
    "test_identify.py::test_several_runs_count_together",
    "test_kernel.py",
    "test_minimal.py::test_arms_of_the_catalogue_have_the_known_number",
)
"""A few tests of every kind, which `make test` runs in other settings (tests/test_elsewhere.py)."""
PACKAGES = ("hypothesis", "mpmath", "pytest", "pytest-xdist", "sympy")
"""What the tests need beside armlet and its extras; others are skipped where it is missing."""


@dataclass(frozen=True)
class Setting:
    """A machine for tests: variables (None: not there), options of pytest, cores and a Python."""

    name: str
    files: tuple[str, ...] = ()
    variables: dict[str, str | None] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    cores: int | None = None
    away: bool = False
    """Whether the working directory is another one than the project's."""
    version: str = ""
    """Another Python, which has an environment of its own."""
    pins: tuple[str, ...] = ()
    missing: str = ""
    """Why it cannot be tried on this machine, or nothing."""


@dataclass
class Outcome:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: int = 0
    seconds: float = 0.0
    note: str = ""


def environment(setting: Setting) -> dict[str, str]:
    """The variables of this process with those of a setting; one BLAS thread if none is said."""
    usual = {"OPENBLAS_CORETYPE": None, "OPENBLAS_NUM_THREADS": "1", "ARMLET_CPU": None}
    variables = {**os.environ, **usual, **setting.variables}
    return {name: value for name, value in variables.items() if value is not None}


def run(setting: Setting, tests: tuple[str, ...] = (), jobs: int = 1) -> Outcome:
    """Run the files of a setting, or other tests, and read what pytest tells of them."""
    if setting.missing:
        return Outcome(note=setting.missing)
    begun = time.monotonic()
    try:
        python = virtual(setting) if setting.version else sys.executable
    except subprocess.CalledProcessError as error:
        return Outcome(failed=["environment"], note=str(error.stderr).strip()[-300:])
    names = tests or tuple(f"test_{name}.py" for name in setting.files)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            str(python),
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            f"--rootdir={ROOT}",
            f"--config-file={ROOT / 'pyproject.toml'}",
            f"--junitxml={report}",
            f"--basetemp={Path(folder, 'tests')}",
            *setting.options,
            *(str(ROOT / "tests" / name) for name in names or ("",)),
        ]
        if jobs > 1:
            command += ["-n", str(jobs), "--dist", "worksteal"]
        process = subprocess.run(
            command,
            cwd=folder if setting.away else ROOT,
            env=environment(setting),
            preexec_fn=lambda: _keep_to(setting.cores),
            capture_output=True,
            text=True,
            errors="replace",
        )
        result = read(report) if report.exists() else Outcome(failed=["pytest"])
    if process.returncode not in (0, 1) and not result.failed:
        result.failed.append(f"pytest ended with {process.returncode}")
    if result.failed:
        result.note = (process.stdout + process.stderr)[-20_000:]
    result.seconds = time.monotonic() - begun
    return result


def _keep_to(cores: int | None) -> None:
    if cores is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def read(report: Path) -> Outcome:
    """The counts of a report, and the names of tests that failed."""
    result = Outcome()
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            result.failed.append(f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}")
        elif "skipped" in kinds:
            result.skipped += 1
        else:
            result.passed += 1
    return result


# ------------------------------------------------------------------ what there is on this machine


def kernels(variables: dict[str, str]) -> str:
    """The BLAS kernels of NumPy under these variables; nothing without OpenBLAS."""
    core = re.search(r"Core: (\w+)", output(variables | {"OPENBLAS_VERBOSE": "2"}, "import numpy"))
    return core[1] if core else ""


def vector_features(variables: dict[str, str]) -> list[str]:
    """The features of a processor that NumPy has code of its own for, and takes."""
    script = (
        "import numpy as np\n"
        "from importlib import import_module\n"
        "core = getattr(np, '_core', None) or np.core\n"
        "umath = import_module(core.__name__ + '._multiarray_umath')\n"
        "print(*(x for x in umath.__cpu_dispatch__ if umath.__cpu_features__[x]))\n"
    )
    return output(variables, script).split()


def output(variables: dict[str, str], script: str, python: str | Path = sys.executable) -> str:
    """What a script prints."""
    command = [str(python), "-c", script]
    process = subprocess.run(command, env=variables, capture_output=True, text=True)
    return process.stdout + process.stderr


def processors() -> Iterator[Setting]:
    """Processors by OpenBLAS's names; those that mean the same on this machine are tried once."""
    here = environment(Setting(""))
    features = vector_features(here)
    avx512 = [x for x in features if x.startswith(("AVX512", "X86_V4"))]
    avx2 = {
        "OPENBLAS_NUM_THREADS": "4",
        "NPY_DISABLE_CPU_FEATURES": " ".join(avx512),
        "ARMLET_CPU": "x86-64-v3",
    }
    without = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    both = (*BLAS, *KERNELS)
    kinds: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
        "Prescott": ("no AVX", both, {**without, "ARMLET_CPU": "x86-64-v2"}),
        "Sandybridge": ("AVX", KERNELS, {**without, "ARMLET_CPU": "sandybridge"}),
        "Haswell": ("AVX2, four BLAS threads", both, avx2),
        "Zen": ("AVX2, four BLAS threads", both, avx2),
        "SkylakeX": ("AVX-512", BLAS, {}),
    }
    has = set(in_llvm(_start).features.split(","))
    earlier = {(kernels(here), ""): "this machine"}
    for name, (kind, files, variables) in kinds.items():
        core = kernels(here | {"OPENBLAS_CORETYPE": name})
        architecture = variables.get("ARMLET_CPU", "")
        first = earlier.setdefault((core, architecture), name)
        missing = "" if first == name else f"the same as {first}"
        if architecture and not has.issuperset(ARCHITECTURES[architecture].split(",")):
            missing = "this processor does not run its code"
        yield Setting(
            f"{kind} ({name}; BLAS {core or 'not OpenBLAS'})",
            files,
            {"OPENBLAS_CORETYPE": name, **variables},
            missing=missing,
        )


def interpreter(version: str) -> Path | None:
    """A Python of a version: on the path, or where pyenv and uv put them."""
    homes = (Path.home() / ".pyenv" / "versions", Path.home() / ".local/share/uv/python")
    paths = [x for home in homes for x in sorted(home.glob(f"*{version}.*/bin/python{version}"))]
    here = shutil.which(f"python{version}")
    for path in [*([Path(here)] if here else []), *paths]:  # a shim may lead nowhere
        if output(dict(os.environ), "import sys; print(sys.version)", path).startswith(version):
            return path
    return None


def lowest() -> tuple[str, ...]:
    """The lowest versions of the core dependencies that pyproject.toml declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return tuple(x.replace(">=", "==") for x in project["dependencies"])


def virtual(setting: Setting) -> Path:
    """The Python of a setting's environment with armlet, made or brought up to date."""
    folder = VENVS / (f"{setting.version}-lowest" if setting.pins else setting.version)
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([str(interpreter(setting.version)), "-m", "venv", str(folder)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--editable", f"{ROOT}[plot,consistent]", *PACKAGES, *setting.pins]
    subprocess.run(install, check=True, capture_output=True, text=True)
    return python


def pythons() -> Iterator[Setting]:
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for version in ("3.11", "3.12", "3.13"):
        absent = "" if interpreter(version) else "not installed"
        same = "this one: make test" if version == here else absent
        yield Setting(f"Python {version}", PYTHON, version=version, missing=same)
        if version == "3.11":
            yield Setting(
                "Python 3.11, lowest versions",
                PYTHON,
                options=("-W", "ignore::DeprecationWarning"),
                version=version,
                pins=lowest(),
                missing=absent,
            )


def settings() -> list[Setting]:
    """All of them."""
    folders = {name: None for name in os.environ if name.startswith("XDG_")}
    folders["HOME"] = "/proc/nobody"
    locale = {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return [
        *processors(),
        Setting("one core", CORES, cores=1),
        Setting("a bare account", SYSTEM, {**folders, **locale}, away=True),
        *pythons(),
        Setting("other draws", DRAWS, options=("--draw=1", "-k", "not workers_find_the_same")),
        Setting("random order", options=("--order=1", "-k", "not slice_passes_elsewhere")),
    ]


# ------------------------------------------------------------------ the command


def main(arguments: list[str] | None = None) -> int:
    """Run the settings asked for, print a table and return 1 if anything failed."""
    parser = argparse.ArgumentParser("tests/elsewhere.py", description="Run tests elsewhere.")
    parser.add_argument("--only", action="append", help="settings with this in their names")
    parser.add_argument("--list", action="store_true", help="only name the settings")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args(arguments)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    selection = [x for x in settings() if any(y in x.name for y in options.only or [""])]
    if options.list:
        for setting in selection:
            console.print(setting.name, setting.missing, markup=False)
        return 0
    results: dict[str, Outcome] = {}
    for setting in selection:
        result = run(setting, jobs=1 if setting.cores == 1 else options.jobs)
        results[setting.name] = result
        counts = f"{result.passed} passed, {len(result.failed)} failed, {result.skipped} skipped"
        line = (
            f"{counts}, {result.seconds:.0f} s" if result.passed or result.failed else result.note
        )
        console.print(f"{setting.name}: {line}", markup=False, soft_wrap=True)
        if result.failed:
            console.print(result.note, markup=False, soft_wrap=True)
    console.print(table(results))
    return int(any(result.failed for result in results.values()))


def table(results: dict[str, Outcome]) -> Table:
    found = Table("setting", title="the tests elsewhere")
    for name in ("passed", "failed", "skipped", "s"):
        found.add_column(name, justify="right")
    found.add_column("what failed, or why it was not run", overflow="fold")
    for name, x in results.items():
        if x.passed or x.failed:
            shown = ", ".join(x.failed[:8]) + (" …" if len(x.failed) > 8 else "")
            counts = [str(n) for n in (x.passed, len(x.failed), x.skipped, round(x.seconds))]
            found.add_row(name, *counts, shown)
        else:
            found.add_row(name, "", "", "", "", x.note)
    return found


if __name__ == "__main__":
    sys.exit(main())

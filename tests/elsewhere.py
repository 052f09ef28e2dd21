"""The tests as other machines run them: `make test-elsewhere`, `python tests/elsewhere.py --help`.

A setting is an environment (other BLAS kernels, narrower vectors, one core, another locale or
Python) and the tests that it can make a difference to, by file:

    BLAS      what solves, decomposes or optimises with NumPy and SciPy, and the pages that do
    VECTORS   what runs machine code: kernels, batches, sines, loops, roll-outs
    CORES     what shares work between threads and processes
    SYSTEM    what reads and writes files, prints, or looks for the user's folders
    PYTHON    a part of all these, for interpreters and versions of dependencies

Results that are found with random numbers are asserted for one draw in `make test`; "other draws"
has others. The order of tests is shuffled for all of them. A table says what passed where.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1].resolve()
VENVS = ROOT / ".venv-elsewhere"
# fmt: off
DRAWN = (
    "controllers", "docs", "examples", "excite", "friction", "gains",
    "identify", "identify_many", "instrumental", "logs", "preprocessing",
)
BLAS = (
    *DRAWN, "coupled_files", "large", "minimal", "passive", "peers", "rank",
    "simulation", "singular",
)
VECTORS = (
    "c", "calls", "controllers", "coupled", "cross", "fmu", "functions", "kernel",
    "kernel_arrays", "kernel_bits", "libraries", "long_programs", "loop",
    "rates", "rollout_derivatives", "simulation", "sincos", "threads",
)
CORES = (
    "bench", "benchmarks", "cache", "docs", "interrupts", "kernel_lifetime", "large", "libraries",
    "simulation", "threads",
)
SYSTEM = (
    "bad_models", "cache", "cli", "cli_identify", "cli_robots", "demo", "docs", "fmu",
    "formats", "hostile_files", "identify", "logs", "mesh", "package", "plotting", "readable",
    "urdf", "view_files", "xacro",
)
PYTHON = (
    "algebra", "cache", "calls", "cli", "controllers", "docs", "dynamics",
    "excite", "formats", "functions", "graph", "identify", "kernel", "kernel_arrays",
    "kernel_lifetime", "logs", "loop", "plotting", "preprocessing", "readable", "robot", "search",
    "simulation", "surface", "threads", "urdf",
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
    """A way to run tests: variables (None: not there), options of pytest, cores and a folder."""

    name: str
    files: tuple[str, ...] = ()
    variables: dict[str, str | None] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    cores: int | None = None
    away: bool = False
    python: Callable[[], Path] = lambda: Path(sys.executable)
    missing: Callable[[], str] = lambda: ""
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
    found = {**os.environ, **usual, **setting.variables}
    return {name: value for name, value in found.items() if value is not None}


def run(setting: Setting, tests: tuple[str, ...] = (), jobs: int = 1) -> Outcome:
    """Run the files of a setting, or other tests, and read what pytest tells of them."""
    if reason := setting.missing():
        return Outcome(note=reason)
    begun = time.monotonic()
    try:
        python = setting.python()
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
        done = subprocess.run(
            command,
            cwd=folder if setting.away else ROOT,
            env=environment(setting),
            preexec_fn=lambda: _keep_to(setting.cores),
            capture_output=True,
            text=True,
            errors="replace",
        )
        result = read(report) if report.exists() else Outcome(failed=["pytest"])
    if done.returncode not in (0, 1) and not result.failed:
        result.failed.append(f"pytest ended with {done.returncode}")
    if result.failed:
        result.note = (done.stdout + done.stderr)[-20_000:]
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


def kernels(name: str | None) -> str:
    """The BLAS kernels that NumPy takes if OPENBLAS_CORETYPE is that; nothing without OpenBLAS."""
    asked = {"OPENBLAS_VERBOSE": "2"} | ({"OPENBLAS_CORETYPE": name} if name else {})
    others = {key: x for key, x in os.environ.items() if key != "OPENBLAS_CORETYPE"}
    done = subprocess.run(
        [sys.executable, "-c", "import numpy"], env=others | asked, capture_output=True, text=True
    )
    found = re.search(r"Core: (\w+)", done.stdout + done.stderr)
    return found[1] if found else ""


def other_kernels() -> Iterator[Setting]:
    """Settings of BLAS kernels; names that mean the same kernels here are tried once."""
    tried = {kernels(None): "of this machine"}
    yield Setting(f"BLAS of this machine ({kernels(None) or 'not OpenBLAS'})", BLAS)
    for name in ("Haswell", "SkylakeX", "Zen", "Prescott"):
        core = kernels(name)
        same = tried.get(core, "")
        if not core:
            reason = "NumPy is built without OpenBLAS"
        else:
            reason = f"the same kernels as {same}" if same else ""
        yield Setting(
            f"BLAS {name} ({core})",
            BLAS,
            {"OPENBLAS_CORETYPE": name},
            missing=lambda reason=reason: reason,
        )
        tried.setdefault(core, name)


def vector_features() -> str:
    """The features of this processor that NumPy has code of its own for."""
    script = (
        "import numpy as np\n"
        "core = getattr(np, '_core', None) or np.core\n"
        "from importlib import import_module\n"
        "found = import_module(core.__name__ + '._multiarray_umath')\n"
        "print(*(x for x in found.__cpu_dispatch__ if found.__cpu_features__[x]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return done.stdout.strip()


def older_processors() -> Iterator[Setting]:
    from armlet.runtime.engine import ARCHITECTURES, _start, in_llvm

    has = set(in_llvm(_start)[2].split(","))
    for name, features in ARCHITECTURES.items():
        reason = "" if has.issuperset(features.split(",")) else "not for this processor"
        yield Setting(
            f"kernels for {name}",
            VECTORS,
            {"ARMLET_CPU": name},
            missing=lambda reason=reason: reason,
        )


def interpreter(version: str) -> Path | None:
    """A Python of a version: this one, on the path, or where pyenv and uv put them."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Path(sys.executable)
    homes = (Path.home() / ".pyenv" / "versions", Path.home() / ".local/share/uv/python")
    found = [x for home in homes for x in sorted(home.glob(f"*{version}.*/bin/python{version}"))]
    here = shutil.which(f"python{version}")
    for path in [*([Path(here)] if here else []), *found]:
        asked = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True)  # a shim may lead nowhere
        if done.stdout.strip() == version:
            return path
    return None


def lowest() -> list[str]:
    """The lowest versions of the core dependencies that pyproject.toml declares."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [x.replace(">=", "==") for x in project["dependencies"]]


def installed(version: str, *pins: str) -> Path:
    """The Python of an environment with armlet, made or brought up to date."""
    folder = VENVS / (f"{version}-lowest" if pins else version)
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([str(interpreter(version)), "-m", "venv", str(folder)], check=True)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--editable",
        f"{ROOT}[plot,consistent]",
        *PACKAGES,
        *pins,
    ]
    subprocess.run(install, check=True, capture_output=True, text=True)
    return python


def pythons() -> Iterator[Setting]:
    def absent(version: str) -> Callable[[], str]:
        return lambda: "" if interpreter(version) else "not installed"

    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for version in ("3.11", "3.12", "3.13"):
        yield Setting(
            f"Python {version}",
            PYTHON,
            python=lambda version=version: installed(version),
            missing=(lambda: "this one: make test") if version == here else absent(version),
        )
    yield Setting(
        "lowest versions, Python 3.11",
        PYTHON,
        python=lambda: installed("3.11", *lowest()),
        options=("-W", "ignore::DeprecationWarning"),
        missing=absent("3.11"),
    )


def settings() -> list[Setting]:
    """All of them."""
    features = vector_features()
    no_home = {name: None for name in os.environ if name.startswith("XDG_")}
    return [
        *other_kernels(),
        Setting("several BLAS threads", BLAS, {"OPENBLAS_NUM_THREADS": "4"}),
        Setting(
            f"NumPy without {features.replace(' ', ', ') or 'vectors'}",
            (*BLAS, "kernel_arrays"),
            {"NPY_DISABLE_CPU_FEATURES": features},
            missing=lambda: "" if features else "NumPy has no code for this processor alone",
        ),
        *older_processors(),
        Setting("one core", CORES, cores=1),
        *pythons(),
        Setting(
            "ASCII locale",
            SYSTEM,
            {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        ),
        Setting("no home folder", SYSTEM, {**no_home, "HOME": "/proc/nobody"}),
        Setting("another working directory", SYSTEM, away=True),
        *(
            Setting(
                f"other draws ({seed})",
                DRAWN,
                options=(f"--draw={seed}", "-k", "not workers_find_the_same"),
            )
            for seed in (1, 2)
        ),
        Setting("random order", options=("--order=1",)),
    ]


# ------------------------------------------------------------------ the command


def main(arguments: list[str] | None = None) -> int:
    """Run the settings asked for, print a table and return 1 if anything failed."""
    parser = argparse.ArgumentParser("tests/elsewhere.py", description="Run tests elsewhere.")
    parser.add_argument("--only", action="append", help="settings with this in their names")
    parser.add_argument("--list", action="store_true", help="only name the settings")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args(arguments)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    chosen = [x for x in settings() if any(y in x.name for y in asked.only or [""])]
    if asked.list:
        for setting in chosen:
            console.print(setting.name, setting.missing(), markup=False)
        return 0
    results: dict[str, Outcome] = {}
    for setting in chosen:
        result = run(setting, jobs=1 if setting.cores == 1 else asked.jobs)
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

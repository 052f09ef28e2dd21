"""Gravity compensation for a microcontroller: C in single precision, with its size and its test.

python examples/microcontroller.py

`armlet generate` writes the same; here the code is compiled for this machine, run against its
reference values, and measured. A compiler for the target makes the object to link.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import armlet
from armlet.cli import app


def project(folder: Path) -> str:
    """Write the C project of a SCARA's gravity and inverse dynamics; the C as text."""
    options = ["-f", "gravity_torque", "-f", "inverse_dynamics", "--dtype", "float32"]
    app(["generate", "scara", *options, "-o", str(folder)], standalone_mode=False)
    return next(folder.glob("*_dynamics.c")).read_text()


def compile_and_run(folder: Path) -> tuple[str, int]:
    """What the project's own test prints, and the bytes of machine code."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("there is no C compiler: expected cc, gcc or clang")
    sources = [str(path) for path in folder.glob("*.c")]
    program = folder / "test"
    subprocess.run([compiler, "-O2", "-std=c99", *sources, "-lm", "-o", str(program)], check=True)
    text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    library = str(next(folder.glob("*_dynamics.c")))
    code = folder / "dynamics.o"
    subprocess.run([compiler, "-Os", "-std=c99", "-c", library, "-o", str(code)], check=True)
    return text.strip(), code.stat().st_size


def main() -> None:
    count = armlet.trace(armlet.load("scara"), "inverse_dynamics").count()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "scara"
        text = project(folder)
        text, size = compile_and_run(folder)
    print(f"inverse dynamics: {count}; {len(text.splitlines())} lines of C, no allocation")
    print(f"the object file has {size} bytes; its test says: {text.splitlines()[-1]}")


if __name__ == "__main__":
    main()

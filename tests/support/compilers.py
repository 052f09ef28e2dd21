"""Run C compilers and other programs, if they are installed."""

import ctypes
import shutil
import subprocess

import pytest

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def needs(command):
    return pytest.mark.skipif(not shutil.which(command), reason=f"no {command} is here")


def run(*command, folder):
    """Run a command in a folder; return its exit code and its output."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def shared_library(folder, text, suffix=".c", *options):
    """Compile C or C++ source, which must give no warning, and load the library."""
    (folder / f"it{suffix}").write_text(text)
    command = ("gcc" if suffix == ".c" else "g++", *STRICT, *options, "-shared", "-fPIC")
    code, output = run(*command, f"it{suffix}", "-lm", "-o", "it.so", folder=folder)
    assert code == 0, output
    return ctypes.CDLL(str(folder / "it.so"))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def python_of(program, **options):
    """The Python source of a program as a function."""
    namespace = {}
    exec(program.source("python", name="f", **options), namespace)
    return namespace["f"]

"""The scripts that measure: each can be loaded, and says what it does."""

import os
import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
PEERS = {"pinocchio", "mujoco", "casadi", "jax", "torch", "symoro", "roboticstoolbox"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_benchmark_can_be_loaded(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    try:
        with patch.dict(os.environ):  # some choose a cache of their own
            found = runpy.run_path(str(FOLDER / name), run_name="benchmark")
    except ModuleNotFoundError as error:
        if error.name not in PEERS:
            raise
        pytest.skip(f"needs {error.name}")
    assert found["__doc__"]

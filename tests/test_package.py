"""The package as it is built: what is in it, and that it runs where nothing else of armlet is."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

import armlet

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling is not installed: it is in the dev extra")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return {path.suffix: path for path in folder.iterdir()}


def test_the_wheel_has_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[".whl"]) as wheel:
        names = set(wheel.namelist())
    assert {"armlet/py.typed", "armlet/codegen/templates/CMakeLists_c.txt"} <= names
    assert {f"armlet/formats/catalog/{name}.toml" for name in armlet.catalogue()} <= names
    assert {name.split("/")[0] for name in names} == {
        "armlet",
        f"armlet-{armlet.__version__}.dist-info",
    }


def test_the_source_package_can_be_tested(built):
    with tarfile.open(built[".gz"]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"README.md", "LICENSE", "Makefile", "tests/conftest.py", "docs/index.md"} <= names
    assert not any(name.startswith(".venv") for name in names)


def test_the_wheel_runs_in_a_clean_environment(built, tmp_path):
    """One whose only other packages are those that armlet depends on, found by their paths."""
    home = tmp_path / "env"
    venv.create(home, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    with zipfile.ZipFile(built[".whl"]) as wheel:
        wheel.extractall(packages)
    (packages / "others.pth").write_text(str(Path(np.__file__).parents[1]))
    script = (
        "import armlet; print(armlet.__file__, armlet.load('puma560').gravity_torque([0] * 6)[1])"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [home / "bin" / "python", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(packages))


def test_versions_and_metadata_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(project["urls"])
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"license: {project['license']}" in cited
    assert project["urls"]["Homepage"] in cited
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").startswith("# Changelog")


def test_python_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    start = "Programming Language :: Python :: 3."
    minors = [int(x.removeprefix(start)) for x in project["classifiers"] if x.startswith(start)]
    assert project["requires-python"] == f">=3.{min(minors)}"
    assert minors == list(range(min(minors), max(minors) + 1))
    assert f"on Python 3.{minors[0]}" in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def test_the_first_commands_work_in_a_checkout():
    """armlet is on no registry: nothing that has to be installed first comes from there."""
    readme, install = ROOT / "README.md", ROOT / "docs" / "install.md"
    for page in (readme, install):
        first = re.search(r"(?:^    .+\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert first[0].split("\n    ") == ["    make demo", "make test\n"], page
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for page in (readme, *(ROOT / "docs").rglob("*.md")):
        commands = re.findall(r"^(?: {4})?pip install.*", page.read_text(encoding="utf-8"), re.M)
        assert not any("armlet" in command for command in commands), page

"""The layers of the library: each folder imports only from those above it."""

import ast
from pathlib import Path

import pytest

import armlet

SOURCE = Path(armlet.__file__).parent
ORDER = [
    "errors", "scalar", "algebra", "robot", "models", "minimal", "dynamics", "graph", "codegen",
    "runtime", "tracing", "search", "simulation", "identification", "report", "api", "testing",
    "literature", "cli",
]  # fmt: skip
STRANGERS = {("graph", "dynamics"), ("graph", "robot"), ("graph", "models"), ("graph", "minimal")}


def layer(path):
    """The layer of a file: its folder, or its own name at the top."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """The layers of armlet that a file imports from, but for type checking."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "armlet" and len(parts) > 1 and parts[1] in ORDER:
                yield parts[1]


FILES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_imports_only_from_layers_above(path):
    own = layer(path)
    for other in imports(path):
        assert other == own or ORDER.index(other) < ORDER.index(own)
        assert (own, other) not in STRANGERS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_says_one_thing(path):
    assert len(path.read_text().splitlines()) <= 400


def test_every_public_name_exists_and_has_a_docstring():
    for name in armlet.__all__:
        value = getattr(armlet, name)
        assert isinstance(value, dict) or value.__doc__, name
    for name in armlet.api.METHODS:
        assert getattr(armlet.Robot, name).__doc__, name

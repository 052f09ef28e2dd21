"""The layers of the library: each folder imports only from those above it."""

import ast
import re
from pathlib import Path

import pytest

import armlet
from armlet.search.cheapest import READ_BY_SEARCH

SOURCE = Path(armlet.__file__).parent
ORDER = [
    "version", "errors", "scalar", "algebra", "_support", "robot", "description", "formats",
    "minimal", "dynamics", "graph", "math", "codegen", "runtime", "search", "api", "plotting",
    "simulation", "fmu", "controllers", "identification", "view", "testing", "literature", "cli",
    "__main__",
]  # fmt: skip
STRANGERS = {("graph", "dynamics"), ("graph", "robot"), ("graph", "formats"), ("graph", "minimal")}


def layer(path):
    """The layer of a file: its folder, or its own name at the top."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    """The names of armlet that a file imports, in functions too, but not for type checking."""
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
            if name.split(".")[0] == "armlet":
                yield name


def imports(path):
    """The layers of armlet that a file imports from."""
    for name in imported(path):
        parts = name.split(".")
        if len(parts) > 1 and parts[1] in ORDER:
            yield parts[1]


EVERY = list(SOURCE.rglob("*.py"))
FILES = [path for path in EVERY if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_imports_only_from_layers_above(path):
    own = layer(path)
    for other in imports(path):
        assert other == own or ORDER.index(other) < ORDER.index(own)
        assert (own, other) not in STRANGERS


def module(path):
    """The name of a module as it is imported, the package's own name left out."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_imports():
    """For each module of armlet those that it imports from, a package by its own names only."""
    modules = {module(path): path for path in EVERY}
    found = {}
    for name, path in modules.items():
        asked = [x.removeprefix("armlet").lstrip(".") for x in imported(path)]
        found[name] = {x if x in modules else x.rpartition(".")[0] for x in asked} - {name}
    return found


def cycles(graph):
    """The sets of modules that all reach one another."""
    after = {name: reached(graph, [name]) for name in graph}
    return {
        frozenset(other for other in after[name] if name in after[other])
        for name in graph
        if name in after[name]
    }


def test_no_module_imports_itself_through_others():
    assert not cycles(module_imports())


def reached(graph, start):
    """The modules that some modules import, and those that these import, and so on."""
    seen, waiting = set(), list(start)
    while waiting:
        for other in graph[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def test_the_cache_of_searches_is_keyed_by_all_sources_that_decide_them():
    """Machine code decides where time is minimized only; errors and version nothing."""
    without = ("", "errors", "version", "runtime")
    graph = {
        name: set() if name.partition(".")[0] in without else used
        for name, used in module_imports().items()
    }
    layers = {
        name.partition(".")[0] for name in reached(graph, ["search.cheapest", "search.compose"])
    } | {"search"}
    named = {name.removesuffix(".py") for name in READ_BY_SEARCH}
    assert layers - set(without) == named


def test_a_cycle_of_modules_is_seen():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert cycles(graph) == {frozenset({"b", "c"})}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_says_one_thing(path):
    assert len(path.read_text().splitlines()) <= 800


WRITES = re.compile(
    r"""open\([^)]*["'][wax]|\.open\(["'][wax]|\.write_(?:text|bytes)\(|\bsavez?\w*\(path"""
    r"""|write_(?:table|html|image)\((?:path|str)|mkstemp|NamedTemporaryFile|os\.replace"""
)
"""Calls that write a file in place."""


def test_one_module_writes_files():
    """The cache has entries of its own; libraries of units are built in a temporary folder."""
    found = {module(path) for path in EVERY if path.is_file() and WRITES.search(path.read_text())}
    assert found == {"_support.files", "runtime.cache", "fmu.archive"}


def test_every_public_name_exists_and_has_a_docstring():
    for name in armlet.__all__:
        value = getattr(armlet, name)
        assert isinstance(value, dict) or value.__doc__, name

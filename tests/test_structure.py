"""The shape of the library: layers, folders, modules, and what may write files."""

import ast
import re
from pathlib import Path

import pytest

import armlet
from armlet.search.cheapest import READ_BY_SEARCH

SOURCE = Path(armlet.__file__).parent
ORDER = [
    "version", "errors", "libraries", "scalar", "algebra", "_support", "graph", "math", "robot",
    "description", "formats", "minimal", "dynamics", "codegen", "runtime", "search", "api",
    "plotting", "simulation", "fmu", "controllers", "identification", "view", "testing",
    "literature", "cli", "__main__",
]  # fmt: skip
"""The folders and top-level modules: each imports only from those before it."""
UPWARD = {("graph.program", "codegen.source")}
"""Modules that a method imports by name when it is called: a program can be printed."""
MOST_MODULES = 16
MOST_LINES = 800
MOST_REASONS = 25
MOST_PARAMETERS = 12
EVERY = [path for path in SOURCE.rglob("*.py") if path.is_file()]
FILES = [path for path in EVERY if path != SOURCE / "__init__.py"]
MODULE = re.compile(r"armlet(\.\w+)+")


def module(path):
    """The name of a module as it is imported, the package's own name left out."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module(path): path for path in EVERY}


def layer(name):
    """The layer of a module: its folder, or its own name at the top."""
    return name.partition(".")[0]


def imported(tree, types=False):
    """The names of armlet that a syntax tree imports, wherever it does, as (module, name) pairs.

    Those under `TYPE_CHECKING` are left out, or with `types` the only ones.
    """
    guarded = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in node.body
        for inner in ast.walk(child)
    }
    for node in ast.walk(tree):
        if (node in guarded) != types:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            if layer(node.module) == "armlet":
                for alias in node.names:
                    yield resolved(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if layer(alias.name) == "armlet":
                    yield resolved(alias.name)


def resolved(name):
    """The module that a dotted name is in, and the name in it, empty for the module itself."""
    path = name.removeprefix("armlet").lstrip(".")
    return (path, "") if path in MODULES else (path.rpartition(".")[0], path.rpartition(".")[2])


def named(tree):
    """The modules of armlet that are named by strings, as for `import_module`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and MODULE.fullmatch(str(node.value)):
            yield node.value.removeprefix("armlet.")


TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
IMPORTS = {name: set(imported(tree)) for name, tree in TREES.items()}
GRAPH = {name: {other for other, _ in pairs} - {name} for name, pairs in IMPORTS.items()}
"""For each module those that it imports from, a package by its own names only."""
INSIDE = [module(path) for path in FILES]


def test_every_folder_and_top_level_module_has_a_layer():
    assert {layer(name) for name in INSIDE} == set(ORDER)


@pytest.mark.parametrize("name", INSIDE)
def test_a_module_imports_only_from_layers_before_its_own(name):
    own = layer(name)
    for other, _ in IMPORTS[name] | set(imported(TREES[name], types=True)):
        assert layer(other) in ORDER, f"{other or 'armlet'} is no layer"
    by_name = {other for other in named(TREES[name]) if (name, other) not in UPWARD}
    for other in GRAPH[name] | (by_name & MODULES.keys()):
        assert ORDER.index(layer(other)) <= ORDER.index(own), other


@pytest.mark.parametrize(
    "text",
    [
        "from armlet.cli import app",
        "import armlet.cli",
        "import armlet.cli.commands.count as count",
        "def f():\n    from armlet.cli.terminal import console",
        "if x:\n    import armlet.cli",
    ],
)
def test_every_way_to_import_is_seen(text):
    assert {layer(other) for other, _ in imported(ast.parse(text))} == {"cli"}


def test_a_module_that_a_string_names_is_seen():
    assert list(named(ast.parse("import_module('armlet.cli.terminal')"))) == ["cli.terminal"]


def test_imports_for_types_alone_are_told_apart():
    tree = ast.parse("if TYPE_CHECKING:\n    from armlet.cli import app")
    assert not set(imported(tree))
    assert set(imported(tree, types=True)) == {("cli", "app")}


# ------------------------------------------------------------------ cycles


def cycles(graph):
    """The sets of modules that all reach one another."""
    after = {name: reached(graph, [name]) for name in graph}
    return {
        frozenset(other for other in after[name] if name in after[other])
        for name in graph
        if name in after[name]
    }


def reached(graph, start):
    """The modules that some modules import, and those that these import, and so on."""
    seen, waiting = set(), list(start)
    while waiting:
        for other in graph[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def test_no_module_imports_itself_through_others():
    assert not cycles(GRAPH)


def test_a_cycle_of_modules_is_seen():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert cycles(graph) == {frozenset({"b", "c"})}


def test_the_cache_of_searches_is_keyed_by_all_sources_that_decide_them():
    """Machine code, errors and version decide nothing."""
    without = ("", "errors", "version", "runtime")
    graph = {name: set() if layer(name) in without else used for name, used in GRAPH.items()}
    layers = {layer(name) for name in reached(graph, ["search.cheapest", "search.compose"])}
    named = {name.removesuffix(".py") for name in READ_BY_SEARCH}
    assert (layers | {"search"}) - set(without) == named


# ------------------------------------------------------------------ sizes and fragments


def test_a_folder_has_few_modules():
    folders = [path.parent for path in EVERY]
    assert not {folder.name for folder in folders if folders.count(folder) > MOST_MODULES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_says_one_thing(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def parameters(function):
    """The names of the parameters of a function's syntax tree, but for self and cls."""
    args = function.args
    named = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [x.arg for x in named if x is not None and x.arg not in ("self", "cls")]


@pytest.mark.parametrize("name", [x for x in INSIDE if not x.startswith("cli.commands")])
def test_a_function_has_few_parameters(name):
    """More means that a noun is missing; commands have an option for each."""
    functions = [x for x in ast.walk(TREES[name]) if isinstance(x, ast.FunctionDef)]
    assert not [x.name for x in functions if len(parameters(x)) > MOST_PARAMETERS]


def test_all_parameters_are_counted():
    (function,) = ast.parse("def f(self, a, /, b, *c, d=1, **e): pass").body
    assert parameters(function) == ["a", "b", "c", "d", "e"]


CATEGORIES = {
    "command": re.compile(r"cli\.commands\.\w+|__main__"),
    "formulation": re.compile(r"dynamics\.\w+(\.\w+)?"),
    "format": re.compile(r"formats\.(urdf|sdf|toml|xacro|mjcf|from_\w+)|runtime\.arrays\.\w+"),
}
"""Modules that one other may import alone, by what they are."""
REASONS = {
    "api.evaluation": "the way of a call, apart from the typed methods",
    "codegen.entry.python": "the entry from Python, beside that from XLA",
    "codegen.entry.xla": "the entry from XLA, beside that from Python",
    "codegen.llvm.loop": "the IR of a loop, beside that of a function",
    "codegen.llvm.sincos": "a table of coefficients, and the functions of it",
    "codegen.source.assignments": "the lowering of what is read by people",
    "fmu.description": "a format",
    "graph.rewrite.rewriting": "one pass of rules: the patterns and the engine",
    "identification.logs.readers": "where a log comes from: files, bags, arrays, a simulation",
    "robot.frames": "canonical frames and their derivation",
    "runtime.loop_kernel": "the kernel of a loop, beside that of a program",
    "runtime.engine": "LLVM in this process, apart from what the CPU runs",
    "view.stage": "a drawing, which the package records as a page and the viewer moves",
}
"""Other modules with a single importer, and why each is a module of its own."""


def importers():
    """For each module those that use it; what a package exports is used by who imports it there."""
    exported = {
        (package, name): other
        for package, pairs in IMPORTS.items()
        if MODULES[package].name == "__init__.py"
        for other, name in pairs
        if name
    }
    users = {name: set() for name in MODULES}
    for user, pairs in IMPORTS.items():
        for pair in pairs:
            if user and MODULES[user].name == "__init__.py" and pair[0].startswith(user):
                continue  # a package exports it
            seen = {pair[0]}
            while pair in exported and exported[pair] not in seen:
                pair = exported[pair], pair[1]
                seen.add(pair[0])
            users[pair[0]].add(user)
    return users


def test_a_module_has_several_importers_or_a_reason_to_be_one():
    """What is exported and used by nobody else is public, which is reason enough."""
    single = {
        name
        for name, users in importers().items()
        if MODULES[name].name != "__init__.py" and len(users) == 1 and users != {""}
    }
    single = {name for name in single if not any(x.fullmatch(name) for x in CATEGORIES.values())}
    assert sorted(single - REASONS.keys()) == []
    assert sorted(REASONS.keys() - single) == []
    assert len(REASONS) <= MOST_REASONS


def test_what_tests_share_is_in_support():
    root = Path(__file__).parents[1]
    for folder in ("tests", "benchmarks", "docs"):
        for path in (root / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"^\s*(?:from|import) test_", text, re.MULTILINE), path.name


# ------------------------------------------------------------------ files and public names


WRITES = re.compile(
    r"""open\([^)]*["'][wax]|\.open\(["'][wax]|\.write_(?:text|bytes)\(|\bsavez?\w*\(path"""
    r"""|write_(?:table|html|image)\((?:path|str)|mkstemp|NamedTemporaryFile|os\.replace"""
)
"""Calls that write a file in place."""


def test_one_module_writes_files():
    """The cache has entries of its own; libraries of units are built in a temporary folder."""
    writing = {name for name, path in MODULES.items() if WRITES.search(path.read_text())}
    assert writing == {"_support.files", "runtime.cache", "fmu.archive"}


def test_every_public_name_exists_and_has_a_docstring():
    for name in armlet.__all__:
        value = getattr(armlet, name)
        assert isinstance(value, dict) or value.__doc__, name

"""Every code block of the README, the docs and the docstrings runs, and prints what it says."""

import doctest
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import armlet
from armlet.runtime import libraries

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LIBRARY = re.compile(r"^import (torch|jax|casadi)$", re.MULTILINE)
"""What a block may need and need not be installed, besides viser for `armlet.view`."""
MODULES = [
    name for _, name, _ in pkgutil.walk_packages(armlet.__path__, "armlet.") if ".cli" not in name
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_a_page_runs(page, tmp_path, monkeypatch):
    """Blocks run in order, in one namespace; those with prompts also print what they say."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for block in BLOCK.findall(page.read_text()):
        needed = LIBRARY.findall(block) + ["viser"] * ("armlet.view(" in block)
        if any(importlib.util.find_spec(name) is None for name in needed):
            continue
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            namespace.update(test.globs)
            assert runner.failures == 0
        else:
            exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_print_what_they_say(name):
    if name in libraries.MODULES.values():
        pytest.importorskip(name, reason="its library is not installed", exc_type=ImportError)
    assert doctest.testmod(importlib.import_module(name)).failed == 0

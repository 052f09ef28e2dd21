"""Every code block of the README, the docs and the docstrings runs, and prints what it says."""

import doctest
import importlib.util
import inspect
import pkgutil
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import _equations
import _reference
import pytest
from support.pages import BLOCK, LIBRARY
from typer.testing import CliRunner

import armlet
from armlet.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [
    name for _, name, _ in pkgutil.walk_packages(armlet.__path__, "armlet.") if ".cli" not in name
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_a_page_runs(page, tmp_path, monkeypatch):
    """Blocks run in order, in one namespace; those with prompts also print what they say."""
    monkeypatch.chdir(tmp_path)
    namespace, missing = {"__name__": "page"}, set()
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        needed = LIBRARY.findall(block) + ["viser"] * ("armlet.view(" in block)
        if absent := {name for name in needed if importlib.util.find_spec(name) is None}:
            missing |= absent
            continue
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            namespace.update(test.globs)
            assert runner.failures == 0
        else:
            exec(compile(block, str(page), "exec"), namespace)
    if missing:
        pytest.skip(f"all but the blocks that need {', '.join(sorted(missing))}, not installed")


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_print_what_they_say(name):
    if name.startswith("armlet.runtime.arrays."):
        pytest.importorskip(name, reason="its library is not installed", exc_type=ImportError)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_reference_has_everything_that_armlet_offers():
    page = _reference.api()
    titles = re.findall(r"^#{3,4} armlet\.(\S+)$", page, re.MULTILINE)
    assert set(armlet.__all__) <= set(titles)
    for title in titles:
        value = armlet
        for name in title.split("."):
            value = getattr(value, name)
    assert len(titles) == len(set(titles))


def test_the_reference_has_every_command_and_option():
    page = _reference.commands()
    named = re.findall(r"^## armlet (\S+)$", page, re.MULTILINE)
    helped = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).stdout
    assert named
    for name, section in zip(named, page.split("\n## ")[1:], strict=True):
        assert re.search(rf"\b{name}\b", helped)
        result = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", result.stdout.partition("Options")[2]))
        assert options - {"--help"} <= set(re.findall(r"--[a-z][\w-]*", section)), name


DOCSTRINGS = {
    f"{quantity}.{entry.name}": inspect.getdoc(entry.function)
    for quantity, entries in armlet.FORMULATIONS.items()
    for entry in entries.values()
}


def letters(text):
    """The letters of a text without marks and positions."""
    plain = unicodedata.normalize("NFKD", text)
    return re.sub(r"[^\w+=×·∂Σ/,]", "", plain).replace("_", "")


@pytest.mark.parametrize("name", [x for x, text in DOCSTRINGS.items() if "\n    " in text])
def test_equations_are_typeset_and_nothing_is_lost(name):
    text = DOCSTRINGS[name]
    page = _equations.typeset(text)
    blocks = re.findall("<math.*</math>", page)
    shown = "".join("".join(ElementTree.fromstring(block).itertext()) for block in blocks)
    written = "".join(x for x in re.split(r"\n\s*\n", text) if x.startswith("    "))
    assert sorted(letters(shown)) == sorted(letters(written))


def test_accents_and_indices_are_where_they_belong():
    formula = _equations.formula
    assert re.search(
        "<msub><mover.*>ω</mi>.*˙.*</mover><mrow><mi>i</mi></mrow></msub>", formula("ω̇ᵢ")
    )
    assert "<mprescripts/><mrow></mrow><mrow><mi>p</mi></mrow>" in formula("ᵖXᵢ")
    assert "<msup><mi>H</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup>" in formula("H⁻¹")
    assert "of the children" in formula("Σ f of the children")

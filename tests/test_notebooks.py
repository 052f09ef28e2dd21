"""The notebooks are those of their pages, and run from the first cell to the last."""

import ast
import json
from pathlib import Path

import _notebooks
import pytest
from support.cases import cases

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path):
    """The code of a notebook, cell by cell."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def shown(code, namespace):
    """What a notebook shows of a cell: its last line as HTML, if that is an expression."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    return value._repr_html_() if hasattr(value, "_repr_html_") else ""


def test_notebooks_are_made_from_their_pages():
    assert [path.stem for path in NOTEBOOKS] == sorted(_notebooks.PAGES)
    for path in NOTEBOOKS:
        page = (_notebooks.DOCS / f"{path.stem}.md").read_text(encoding="utf-8")
        assert path.read_text(encoding="utf-8") == _notebooks.notebook(page), (
            f"{path.name} is not as its page: run python docs/_notebooks.py"
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_results(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    assert not any(cell.get("outputs") for cell in found["cells"])


@pytest.mark.parametrize("name", cases(["control", "first_steps"], long=["log_to_urdf"]))
def test_a_notebook_runs_and_draws(name, tmp_path, monkeypatch):
    pytest.importorskip("plotly", reason="plotly is not installed")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    pages = [shown(code, namespace) for code in cells(FOLDER / f"{name}.ipynb")]
    assert any("plotly" in page for page in pages)

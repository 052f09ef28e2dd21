"""Notebooks made of pages: text and code of docs/PAGE.md as examples/notebooks/PAGE.ipynb.

python docs/_notebooks.py

They are stored without results: these would change with every machine and version, and the tests
run the code of each.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.resolve()
FOLDER = DOCS.parent / "examples" / "notebooks"
PAGES = ("first_steps", "control", "log_to_urdf")
BLOCK = re.compile(r"^```python\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)]+)\)")
GENERATED = {"literature.md"}
"""Pages that there are only once the documentation is built."""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def notebook(text: str) -> str:
    """The notebook of a page."""
    found = {
        "cells": [
            {"id": f"cell-{k}", "metadata": {}, **cell} for k, cell in enumerate(_cells(text))
        ],
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _cells(text: str) -> Iterator[dict[str, Any]]:
    """Text and code in turns, as `BLOCK` splits them."""
    for k, part in enumerate(BLOCK.split(text)):
        if k % 2:
            yield {
                "cell_type": "code",
                "execution_count": None,
                "outputs": [],
                "source": part.splitlines(keepends=True),
            }
        elif part.strip():
            words = LINK.sub(_from_here, part.strip())
            yield {"cell_type": "markdown", "source": words.splitlines(keepends=True)}


def _from_here(link: re.Match[str]) -> str:
    """A link of a page, from the folder of the notebooks."""
    words, target = link.groups()
    return words if target in GENERATED else f"[{words}](../../docs/{target})"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        (FOLDER / f"{name}.ipynb").write_text(notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main()

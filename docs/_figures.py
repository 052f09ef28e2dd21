"""Figures that the code of a page makes: `found.plot()` where the page shows docs/figures/PAGE.svg.

python docs/_figures.py log_to_urdf
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from armlet.plotting import save

FOLDER = Path(__file__).parent.resolve()
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def main(page: str) -> None:
    namespace: dict[str, Any] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        text, _, _ = (FOLDER / f"{page}.md").read_text().partition(f"figures/{page}.svg")
        for block in BLOCK.findall(text):
            exec(compile(block, f"{page}.md", "exec"), namespace)
        os.chdir(FOLDER)
    figure = namespace["found"].plot().update_layout(width=760)
    save(figure, FOLDER / "figures" / f"{page}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The way of a newcomer: pages of the documentation followed to the letter, and how long it takes.

python docs/_walk.py [--python python3.13] [--keep FOLDER]

In an empty folder it makes an environment as install.md says, with the path of this checkout in
place of ".", and then, in that environment, every command and every block of Python of the pages
below, in their order. It prints the seconds of each section, and stops at an error.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

DOCS = Path(__file__).parent.resolve()
PAGES = ("first_steps", "log_to_urdf")
STEP = re.compile(
    r"^(?P<title>#+ [^\n]*)|^```python\n(?P<python>.*?)^```$|(?P<shell>(?:^    \S[^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)


class Step(NamedTuple):
    """Commands or Python, and the heading that they are below."""

    title: str
    kind: str
    text: str


def steps(page: str) -> Iterator[Step]:
    """What a page tells its reader to do; indented lines are commands."""
    title = page
    for found in STEP.finditer((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        kind = str(found.lastgroup)
        if kind == "title":
            title = found[0].lstrip("# ")
        else:
            text = found[kind] if kind == "python" else dedent(found[kind])
            yield Step(title, kind, text)


def processor_time() -> float:
    """The seconds that processors worked for this process and for those it has waited for."""
    return sum(os.times()[:4])


def report(what: str, begun: float, worked: float) -> None:
    """Print how long something took by the clock, and how long processors worked on it."""
    spent, work = time.perf_counter() - begun, processor_time() - worked
    print(f"{spent:7.1f} s {work:7.1f} s of processor time  {what}", flush=True)


def follow(pages: list[str]) -> None:
    """Do all steps of some pages in this interpreter, and print how long each section took."""
    for page in pages:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for title, section in groupby(steps(page), lambda step: step.title):
            begun, worked = time.perf_counter(), processor_time()
            for _, kind, text in section:
                if kind == "python":
                    exec(compile(text, f"{page}.md", "exec"), namespace)
                else:
                    subprocess.run(["bash", "-ec", text], check=True, stdout=subprocess.DEVNULL)
            report(f"{page}: {title}", begun, worked)


def walk(folder: Path, python: str) -> None:
    """Install in a folder as install.md says, and follow the pages there."""
    install = next(step.text for step in steps("install") if "venv" in step.text)
    install = install.replace("python3 ", f"{python} ")
    install = install.replace('pip install ".[', f'pip install --quiet "{DOCS.parent}[')
    enter = next(line for line in install.splitlines() if "activate" in line)
    pages = f"python {Path(__file__).resolve()} --follow {' '.join(PAGES)}"
    environment = {key: x for key, x in os.environ.items() if key != "PYTHONPATH"}
    environment["ARMLET_CACHE"] = str(folder / "cache")
    first = begun, worked = time.perf_counter(), processor_time()
    subprocess.run(["bash", "-ec", install], cwd=folder, env=environment, check=True)
    report("install", begun, worked)
    subprocess.run(["bash", "-ec", f"{enter}\n{pages}"], cwd=folder, env=environment, check=True)
    report("in all", *first)


def main() -> None:
    parser = argparse.ArgumentParser(description="Follow the documentation in a new environment.")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to begin with")
    parser.add_argument("--keep", type=Path, help="do it in this folder, and leave what was made")
    parser.add_argument("--follow", nargs="+", metavar="PAGE", help="only do what pages say, here")
    chosen = parser.parse_args()
    if chosen.follow:
        follow(chosen.follow)
    elif chosen.keep:
        chosen.keep.mkdir(parents=True)
        walk(chosen.keep.resolve(), chosen.python)
    else:
        with tempfile.TemporaryDirectory() as folder:
            walk(Path(folder), chosen.python)


if __name__ == "__main__":
    main()

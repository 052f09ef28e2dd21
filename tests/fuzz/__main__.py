"""Try random input for a while: `python -m fuzz --help`."""

import argparse
import os
import secrets
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from fuzz.classes import CLASSES
from fuzz.runner import Failure, Result, run
from fuzz.worker import Class

COMMAND = "PYTHONPATH=tests .venv/bin/python -m fuzz --only {name} --seed {seed} --trials 1"
SHOWN = 300
"""Maximum number of characters of a failure's reason on the terminal; failed.txt has all."""


def main(arguments: list[str] | None = None) -> int:
    """Run the requested classes, print the failures, and return 1 if there is any."""
    asked = parsed(arguments)
    console = Console(highlight=False)
    names = asked.only or list(CLASSES)
    total = sum(CLASSES[name].share for name in names)
    results: dict[str, Result | str] = {}
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache, (asked.folder / "failed.txt").open("w") as file:
        os.environ["ARMLET_CACHE"] = cache
        for name in names:
            tried = CLASSES[name]
            if missing := tried.missing():
                results[name] = missing
                continue
            seconds = asked.seconds * tried.share / total
            results[name] = shown(console, file, name, tried, asked, seconds)
    console.print(table(results))
    failed = any(isinstance(result, Result) and result.failures for result in results.values())
    if failed:
        console.print(f"what failed is in {asked.folder}", markup=False)
    return int(failed)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m fuzz", description=__doc__)
    parser.add_argument("--only", action="append", choices=CLASSES, help="a class; may be repeated")
    parser.add_argument("--seconds", type=float, default=600, help="of all classes together")
    parser.add_argument("--trials", type=int, help="at most so many of each class")
    parser.add_argument("--seed", type=int, help="of the first trial; the next have the next ones")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, default=Path("fuzz_failed"))
    asked = parser.parse_args(arguments)
    asked.folder = asked.folder.absolute()
    asked.seed = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    return asked


def shown(
    console: Console, file: TextIO, name: str, tried: Class, asked: argparse.Namespace, s: float
) -> Result:
    """Run a class, with a progress line and one line for each failure."""
    say = partial(console.print, markup=False, soft_wrap=True)
    say(f"{name}: {tried.about}; {s:.0f} s, seeds from {asked.seed}")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("tried", total=asked.trials)

        def report(done: int, failed: Failure | None) -> None:
            progress.update(task, completed=done)
            if failed:
                command = COMMAND.format(name=name, seed=failed.seed)
                say(f"  FAILED: {command}\n    {failed.reason.strip().splitlines()[-1]:.{SHOWN}}")
                print(f"{command}\n{failed.reason}", file=file, flush=True)

        return run(tried, asked.folder / name, s, asked.trials, asked.seed, asked.jobs, report)


def table(results: dict[str, Result | str]) -> Table:
    """A table with trials, failures and seconds of each class, or the reason why it was not run."""
    lines = Table("class", *("tried", "failed", "seconds"))
    for name, result in results.items():
        if isinstance(result, Result):
            lines.add_row(
                name, str(result.tried), str(len(result.failures)), f"{result.seconds:.0f}"
            )
        else:
            lines.add_row(name, "-", "-", result)
    return lines


if __name__ == "__main__":
    sys.exit(main())

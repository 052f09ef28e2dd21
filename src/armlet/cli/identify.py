"""armlet identify"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armlet.api import Robot
from armlet.cli.arm import Choice, takes_robot
from armlet.cli.completion import one_of
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal
from armlet.errors import DataError, quoted
from armlet.identification import Identified, Log
from armlet.identification import identify as identified
from armlet.identification.identify import ESTIMATORS
from armlet.identification.report import verdict
from armlet.motion.files import needed

OUT = {".urdf": Identified.to_urdf, ".toml": Identified.to_toml, ".json": Identified.to_json}
PANEL = "A log in several files"


def _part(what: str) -> Any:
    return typer.Option(help=f"The file of {what}.", rich_help_panel=PANEL)


@takes_robot()
def identify(
    choice: Choice,
    logs: Annotated[
        list[Path] | None,
        typer.Argument(help="Logs: .csv, .parquet, .npz, .npy, .mat, .mcap; each is one run."),
    ] = None,
    times: Annotated[Path | None, _part("times")] = None,
    positions: Annotated[Path | None, _part("positions")] = None,
    velocities: Annotated[Path | None, _part("velocities")] = None,
    torques: Annotated[Path | None, _part("torques")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Samples per second, of logs without times.")
    ] = None,
    ratios: Annotated[
        str | None,
        typer.Option(help="Gear ratios of logs of the motors, numbers with commas between."),
    ] = None,
    rotors: Annotated[bool, typer.Option(help="Find the inertias of rotors, too.")] = False,
    friction: Annotated[bool, typer.Option(help="Find friction, too.")] = True,
    estimator: Annotated[
        str,
        typer.Option(
            help=f"Least squares: {', '.join(ESTIMATORS)}.", autocompletion=one_of(*ESTIMATORS)
        ),
    ] = "weighted",
    consistent: Annotated[
        bool | None,
        typer.Option(help="Find bodies that are physical; by default if cvxpy is installed."),
    ] = None,
    validation: Annotated[
        float, typer.Option(help="The last share of the time of every run is held out.")
    ] = 0.3,
    scheduler: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler, for many logs.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="How many processes of this machine read logs; needs Dask.")
    ] = 1,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help=f"Write the arm as {', '.join(OUT)}. Repeatable."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with everything; needs plotly.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Find the parameters of an arm from logs of its motion.

    Example: armlet identify panda run1.csv run2.csv -o identified.urdf --report report.html
    """
    arm = choice.load().without_drives()
    for path in out or ():
        if path.suffix not in OUT:
            raise DataError(
                f"--out {path.name} ends in {quoted(path.suffix)}: expected {', '.join(OUT)}"
            )
    parts = {"t": times, "q": positions, "qd": velocities, "tau": torques}
    sources: list[Any] = [*(logs or ())]
    given = {name: path for name, path in parts.items() if path is not None}
    if given:
        sources.append(given)
    if not sources:
        raise DataError("there is no log: expected files, or --positions and --torques")
    gears = None if ratios is None else _numbers(ratios, arm.n)
    readers = [partial(Log.read, source, arm, rate=rate, ratios=gears) for source in sources]
    with _client(scheduler, workers) as client:
        found = identified(
            arm, readers if len(readers) > 1 else readers[0](), rotors=rotors, friction=friction,
            estimator=estimator, consistent=consistent, validation=validation,  # type: ignore[arg-type]
            client=client,
        )  # fmt: skip
    for path in out or ():
        OUT[path.suffix](found, path)
    if report is not None:
        found.report(report)
    if as_json:
        print(json.dumps(found.figures(), indent=2))
        return
    _print(arm, found, [str(path) for path in (*(out or ()), report) if path is not None])


@contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    """A Dask client of a scheduler, or of processes started for it; none for one process."""
    if scheduler is None and workers == 1:
        yield None
        return
    distributed = needed("distributed")
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise DataError(f"--scheduler {quoted(scheduler)} does not answer: {error}") from None
        with client:
            yield client
        return
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def _numbers(text: str, count: int) -> list[float]:
    try:
        found = [float(x) for x in text.split(",")]
    except ValueError:
        found = []
    if len(found) != count:
        raise DataError(f"--ratios is {quoted(text)}: expected {count} numbers with commas between")
    return found


def _print(arm: Robot, found: Identified, written: list[str]) -> None:
    console = Terminal()
    table = Table()
    table.words("parameter")
    table.numbers("value", "deviation", "%")
    for name, x, s in zip(found.names, found.values, found.deviations, strict=True):
        share = 100 * s / max(abs(x), np.finfo(float).tiny)
        percent = f"{share:.1f}" if share < 1000 else "> 1000"
        style = None if name in found.essential else "dim"
        table.add_row(name, f"{x:.5g}", f"{s:.2g}", percent, style=style)
    console.print(table)
    console.print()
    fits = Table()
    fits.words("error in % of the torque")
    fits.numbers("all", *(joint.name for joint in arm.coordinates))
    for name, fit in found.fits.items():
        fits.add_row(name, f"{fit.whole:.2f}", *(f"{x:.2f}" for x in fit.joints))
    console.print(fits)
    console.print()
    for note in found.notes:
        console.print(note, style="dim")
    console.print()
    console.print(verdict(found))
    for path in written:
        console.print(f"written: {path}")

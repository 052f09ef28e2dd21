"""The command `armlet identify`."""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armlet import identification
from armlet._support.files import check_writable
from armlet._support.optional import require
from armlet._support.validation import one_of, suffix
from armlet.api import Robot
from armlet.cli.options import Json, Plot, Rotors, WithFriction, name_option, numbers
from armlet.cli.output import Table, Terminal, print_json
from armlet.cli.robot_options import Choice, takes_robot
from armlet.errors import DataError, quote
from armlet.identification import Identified, Log, Physical, TorqueModel
from armlet.identification.identify import ESTIMATORS
from armlet.identification.logs.log import Load, Reader
from armlet.identification.report import verdict
from armlet.plotting import save

OUT = {".urdf": Identified.to_urdf, ".toml": Identified.to_toml, ".json": Identified.to_json}
PANEL = "A log in several files"
LOADED = "A known payload"


def _file_of(what: str) -> Any:
    return typer.Option(help=f"The file of {what}.", rich_help_panel=PANEL)


@takes_robot()
def identify(
    choice: Choice,
    logs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Logs, each of one run: .csv, .tsv, .txt, .parquet, .npz, .npy, .mat, .mcap, .db3 "
            "or the folder of a ROS 2 bag."
        ),
    ] = None,
    times: Annotated[Path | None, _file_of("times")] = None,
    positions: Annotated[Path | None, _file_of("positions")] = None,
    velocities: Annotated[Path | None, _file_of("velocities")] = None,
    torques: Annotated[Path | None, _file_of("torques")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Samples per second, of logs without times.")
    ] = None,
    ratios: Annotated[
        str | None,
        typer.Option(help="Gear ratios of logs of the motors, numbers with commas between."),
    ] = None,
    rotors: Rotors = False,
    friction: WithFriction = True,
    estimator: Annotated[str, name_option("The estimator", ESTIMATORS)] = "weighted",
    loaded: Annotated[
        list[Path] | None,
        typer.Option(help="A log of a run with the payload. Repeatable.", rich_help_panel=LOADED),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(
            help="The payload in that log: mass,x,y,z with the centre in the frame of the tool, "
            "or mass,x,y,z,xx,xy,xz,yy,yz,zz with the inertia about the centre; kg, m and kg m².",
            rich_help_panel=LOADED,
        ),
    ] = None,
    gains: Annotated[
        bool,
        typer.Option(
            "--gains",
            help="Logs have currents: identify the drive gains, too.",
            rich_help_panel=LOADED,
        ),
    ] = False,
    boxes: Annotated[
        float | None,
        typer.Option(
            help="How far, in m, centres of mass may be outside the box around the joints and "
            "frames of their body."
        ),
    ] = None,
    physical: Annotated[
        bool | None,
        typer.Option(help="Estimate physical bodies, too; by default with cvxpy, and for --out."),
    ] = None,
    validation: Annotated[
        float, typer.Option(help="The share of the time at the end of every run that is held out.")
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
        Path | None, typer.Option(help="Write a report as an HTML page; needs the extra plot.")
    ] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Identify the parameters of an arm from logs of its motion.

    Example: armlet identify panda run1.csv run2.csv -o identified.urdf --report report.html
    """
    needs_bodies = any(path.suffix in (".urdf", ".toml") for path in out or ())
    if physical is False and (needs_bodies or boxes is not None):
        option = "--boxes" if boxes is not None else "--out"
        raise DataError(f"{option} is about physical bodies: expected no --no-physical")
    method = one_of(estimator, "--estimator", ESTIMATORS)
    for path in out or ():
        suffix(path, f"--out {path.name}", OUT)
    for path in (*(out or ()), *((report, report.with_suffix(".json")) if report else ())):
        check_writable(path)
    if report is not None and report.suffix == ".json":
        raise DataError(f"--report {report.name} ends in '.json', as its data do: expected .html")
    arm = choice.load().without_drives()
    columns = {"t": times, "q": positions, "qd": velocities, "tau": torques}
    sources: list[Any] = [*(logs or ())]
    if any(columns.values()):
        sources.append({name: path for name, path in columns.items() if path is not None})
    if not sources:
        raise DataError("there is no log: expected files, or --positions and --torques")
    options: dict[str, Any] = {
        "rate": rate,
        "ratios": None if ratios is None else numbers("--ratios", ratios, arm.nv),
        "gains": 1.0 if gains else None,
    }
    readers: list[Reader] = [partial(Log.read, source, arm, **options) for source in sources]
    if bool(loaded) != bool(payload):
        raise DataError("--loaded and --payload belong together: expected both or neither")
    if payload is not None:
        mass, x, y, z, *inertia = numbers("--payload", payload, 4, 10)
        load = Load(mass, (x, y, z), inertia or None)
        readers += [partial(_read_loaded, load, path, arm, options) for path in loaded or ()]
    with _client(scheduler, workers) as client:
        result = identification.identify(
            arm,
            readers if len(readers) > 1 else readers[0](),
            model=TorqueModel(rotors=rotors, friction=friction, gains=gains),
            physical=(needs_bodies or physical) if boxes is None else Physical(boxes=boxes),
            estimator=method,
            validation=validation,
            client=client,
        )
    for path in out or ():
        OUT[path.suffix](result, path)
    if report is not None:
        result.report(report)
    if plot is not None:
        save(result.plot(), plot)
    if as_json:
        print_json(result.figures())
        return
    _print(arm, result, [str(path) for path in (*(out or ()), report, plot) if path is not None])


def _client(scheduler: str | None, workers: int) -> AbstractContextManager[Any]:
    """Return a Dask client, or a null context without a scheduler and with a single worker."""
    if scheduler is None and workers == 1:
        return nullcontext()
    client: Any = require("distributed").Client
    new_processes = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    options = new_processes if scheduler is None else {"address": scheduler, "timeout": 10}
    try:
        result: AbstractContextManager[Any] = client(**options)
    except (OSError, ValueError) as error:
        if scheduler is None:
            raise
        raise DataError(f"--scheduler {quote(str(scheduler))} does not answer: {error}") from None
    return result


def _read_loaded(load: Load, path: Path, arm: Robot, options: dict[str, Any]) -> Log:
    return Log.read(path, arm, **options).with_payload(*load)


def _print(arm: Robot, result: Identified, written: list[str]) -> None:
    table = Table(["parameter (* combined)"], ["value", "deviation", "%"])
    for name, x, s in zip(result.names, result.values, result.deviations, strict=True):
        share = 100 * s / max(abs(x), np.finfo(float).tiny)
        percent = f"{share:.1f}" if share < 1000 else "> 1000"
        style = None if name in result.essential else "dim"
        table.add_row(name, f"{x:.5g}", f"{s:.2g}", percent, style=style)
    fits = Table(["error in % of the torque"], ["all", *(joint.name for joint in arm.coordinates)])
    for name, fit in result.fits.items():
        fits.add_row(name, f"{fit.whole:.2f}", *(f"{x:.2f}" for x in fit.joints))
    gains = None
    if result.gains is not None:
        gains = Table(["joint"], ["gain", "deviation"])
        for joint, x, s in zip(arm.coordinates, *result.gains, strict=True):
            gains.add_row(joint.name, f"{x:.5g}", f"{s:.2g}")
    console = Terminal()
    console.print(table)
    console.show(fits, gains)
    console.print()
    console.notes(result.notes)
    console.show(verdict(result))
    console.files(*written)

"""The command `armlet view`."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from armlet._support.files import check_writable, shown_path
from armlet.api import load
from armlet.cli.options import numbers, robots
from armlet.cli.output import Terminal
from armlet.cli.robot_options import Choice, takes_robot
from armlet.simulation import Trajectory
from armlet.view import view as show


@takes_robot()
def view(
    choice: Choice,
    run: Annotated[
        Path | None,
        typer.Argument(help="A run to play: a .npz, .csv or .parquet file of armlet simulate."),
    ] = None,
    ghost: Annotated[
        str | None,
        typer.Option(
            help="Another robot with the same joints, drawn in translucent light blue.",
            autocompletion=robots,
        ),
    ] = None,
    q: Annotated[
        str | None, typer.Option(help="The posture to start from, numbers with commas between.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page that needs no server and no network, and end."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where the server listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The first port to try.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Whether to open the browser.")] = True,
) -> None:
    """Show a robot in the browser, and play a run.

    Example: armlet view panda run.csv --html page.html
    """
    if html is not None:
        check_writable(html)
    arm = choice.load()
    motion = None if run is None else Trajectory.read(run)
    other = None if ghost is None else load(ghost)
    start = None if q is None else numbers("--q", q, arm.nq)
    console = Terminal()
    folders = choice.options.get("folders", ())
    if html is not None:
        show(arm, motion, ghost=other, q=start, folders=folders, html=html)
        console.print(f"wrote {shown_path(html)}", soft_wrap=True)
        return
    viewer = show(arm, motion, ghost=other, q=start, folders=folders, host=host, port=port)
    console.print(f"{arm.name}: {viewer.url} (Ctrl-C ends it)")
    if browser:
        webbrowser.open(viewer.url)
    viewer.wait()

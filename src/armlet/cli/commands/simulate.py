"""The command `armlet simulate`."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from armlet import simulation
from armlet._support.validation import one_of
from armlet.api import Robot, function
from armlet.cli.options import Json, Out, Plot, name_option, numbers, write
from armlet.cli.output import Table, Terminal, print_json, styled_text
from armlet.cli.robot_options import Choice, takes_robot
from armlet.errors import DataError, quote
from armlet.simulation import INTEGRATORS, Plant, Trajectory
from armlet.simulation.simulate import ADAPTIVE
from armlet.view import start_posture

Array = NDArray[np.float64]
LIMITS = ("ignore", "stop", "error")


@takes_robot()
def simulate(
    choice: Choice,
    duration: Annotated[float, typer.Option(help="Duration in s.")] = 5.0,
    dt: Annotated[float | None, typer.Option(help="Time between rows, and of fixed steps.")] = None,
    method: Annotated[str | None, name_option("The integrator", (*ADAPTIVE, *INTEGRATORS))] = None,
    q0: Annotated[
        str | None,
        typer.Option(
            help="Positions at the start, numbers with commas between; by default zeros, and the "
            "middle of limits that exclude zero."
        ),
    ] = None,
    qd0: Annotated[str | None, typer.Option(help="Velocities, likewise; zeros by default.")] = None,
    torque: Annotated[
        str,
        typer.Option(
            help="zero (free fall), hold (balances gravity and springs, damps the motion), or a "
            ".csv or .npy file with a row of torques for every dt."
        ),
    ] = "zero",
    friction: Annotated[bool, typer.Option(help="Whether drives have friction.")] = True,
    limits: Annotated[str, name_option("At joint limits", LIMITS)] = "ignore",
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Simulate the motion of a robot.

    Example: armlet simulate panda --duration 2 --limits stop --plot run.html
    """
    arm = choice.load()
    one_of(limits, "--limits", LIMITS)
    run = simulation.simulate(
        Plant(arm, friction, stops=limits == "stop"),
        start_posture(arm) if q0 is None else numbers("--q0", q0, arm.nq),
        np.zeros(arm.nv) if qd0 is None else numbers("--qd0", qd0, arm.nv),
        _torque(arm, torque),
        duration=duration,
        dt=dt,
        method=method,
        limits="error" if limits == "error" else "ignore",
    )
    written = write(run, out, plot)
    if as_json:
        last = {name: getattr(run, name)[-1].tolist() for name in ("q", "qd", "tau")}
        data = {
            "robot": arm.name,
            "joints": run.joints,
            "rows": len(run),
            "duration": float(run.t[-1]),
            "ended": run.ended,
            "energy": [float(run.energy[0]), float(run.energy[-1])],
            "last": last,
        }
        print_json(data)
        return
    _print(arm, run, written)


def _torque(arm: Robot, text: str) -> Any:
    """Parse --torque: return None for zero, a function for hold, else the array in a file."""
    if text == "zero":
        return None
    if text == "hold":
        smooth = arm._without_friction()

        @function(arm)
        def hold(q: Array, qd: Array) -> Array:
            # balances gravity and springs, and stops a moving arm
            tau: Array = arm.gravity_torque(q) + smooth.passive_torque(q, qd)
            return tau - 5 * arm.inertia_matrix(q) @ qd

        return hold
    path = Path(text)
    if path.suffix not in (".csv", ".npy") or not path.exists():
        raise DataError(f"--torque is {quote(text)}: expected zero, hold, or a .csv or .npy file")
    try:
        return np.load(path) if path.suffix == ".npy" else np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError as error:
        raise DataError(f"{path.name} has no rows of torques: {error}") from None


def _print(arm: Robot, run: Trajectory, written: list[str]) -> None:
    table = Table(["joint"], ["start", "end", "least", "most", "fastest", "largest torque"])
    largest = [np.abs(x).max(0) for x in (run.qd, run.tau)]
    of_velocity = dict(zip(run.velocity_names, zip(*largest, strict=True), strict=True))
    for name, q in zip(run.position_names, run.q.T, strict=True):
        values = (q[0], q[-1], q.min(), q.max(), *of_velocity.get(name, ()))
        table.add_row(name, *(f"{x:.4g}" for x in values))
    console = Terminal()
    console.print(f"{arm.name}: {len(run)} rows, {run.t[0]:g} to {run.t[-1]:g} s")
    if run.ended:
        console.print(f"ended before its time: {run.ended}", style="yellow")
    first, last = run.energy[0], run.energy[-1]
    energy = f"energy {first:.6g} J at the start, {last:.6g} J at the end"
    console.show(table, styled_text((energy, "dim")))
    console.files(*written)

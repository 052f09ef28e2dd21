"""The command `armlet excite`."""

from typing import Annotated, Any

import numpy as np
import typer

from armlet import identification
from armlet._support.validation import one_of
from armlet.cli.options import Json, Out, Plot, Rotors, WithFriction, name_option, numbers, write
from armlet.cli.output import Table, Terminal, print_json
from armlet.cli.robot_options import Choice, takes_robot
from armlet.identification import Excitation, MotionLimits
from armlet.identification.excitation.limits import units
from armlet.identification.excitation.problem import CRITERIA

EACH = "one number, or one for each joint with commas between"


@takes_robot()
def excite(
    choice: Choice,
    duration: Annotated[float, typer.Option(help="Duration in s.")] = 20.0,
    harmonics: Annotated[
        int | None, typer.Option(help="Harmonics of a Fourier series; 5 by default.")
    ] = None,
    splines: Annotated[
        int | None, typer.Option(help="Free points of a spline, instead of a Fourier series.")
    ] = None,
    criterion: Annotated[str, name_option("What is optimised", CRITERIA)] = "condition",
    rate: Annotated[float, typer.Option(help="Rows per second.")] = 1000.0,
    lower: Annotated[str | None, typer.Option(help=f"Lower limits of position: {EACH}.")] = None,
    upper: Annotated[str | None, typer.Option(help="Upper limits of position, likewise.")] = None,
    speed: Annotated[str | None, typer.Option(help="Limits of speed, likewise.")] = None,
    acceleration: Annotated[
        str | None, typer.Option(help="Limits of acceleration, likewise.")
    ] = None,
    torque: Annotated[str | None, typer.Option(help="Limits of torque, likewise.")] = None,
    tool_box: Annotated[
        str | None,
        typer.Option(
            help="Box that the tool may not leave: xmin,ymin,zmin,xmax,ymax,zmax in m, or inf."
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="The share of the robot's own limits that is not used.")
    ] = 0.05,
    rotors: Rotors = False,
    friction: WithFriction = True,
    starts: Annotated[int, typer.Option(help="Random trajectories to start from.")] = 4,
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.")] = 0,
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Find a trajectory from which the parameters of a robot can be identified accurately.

    The trajectory starts and ends at rest, and stays within the limits that the
    robot and the options set. Ctrl-C ends the search and keeps the best result.

    Example: armlet excite panda --duration 20 --harmonics 5 --out path.csv --plot path.html
    """
    arm = choice.load()

    def each(name: str, text: str | None) -> Any:
        values = None if text is None else numbers(name, text, 1, arm.nv)
        return values[0] if values and len(values) == 1 else values

    corners = None if tool_box is None else numbers("--tool-box", tool_box, 6)
    limits = MotionLimits(
        position=(each("--lower", lower), each("--upper", upper)),
        speed=each("--speed", speed),
        acceleration=each("--acceleration", acceleration),
        torque=each("--torque", torque),
        tool_box=None if corners is None else (corners[:3], corners[3:]),
        margin=margin,
    )
    plan = identification.excite(
        arm,
        duration,
        harmonics=harmonics,
        splines=splines,
        criterion=one_of(criterion, "--criterion", CRITERIA),
        rate=rate,
        limits=limits,
        rotors=rotors,
        friction=friction,
        starts=starts,
        seed=seed,
    )
    written = write(plan, out, plot)
    if as_json:
        print_json(_data(plan))
        return
    _print(plan, written)


def _data(plan: Excitation) -> dict[str, Any]:
    def finite(x: Any) -> Any:
        """Return numbers as floats for JSON, with None for numbers that are not finite."""
        return [float(y) if np.isfinite(y) else None for y in x]

    return {
        "robot": plan.robot.name,
        "joints": plan.joints,
        "rows": len(plan.t),
        "duration": plan.path.duration,
        "parameters": plan.parameters.names,
        "criterion": plan.criterion,
        "condition": plan.condition,
        "log_det": plan.log_det,
        "limits": {name: [finite(side) for side in x] for name, x in plan.limits.items()},
        "margins": {name: finite(x) for name, x in plan.margins.items()},
        "path": type(plan.path).__name__.lower(),
        "coefficients": plan.coefficients.tolist(),
        "ended": plan.ended,
        "notes": plan.notes,
    }


def _print(plan: Excitation, written: list[str]) -> None:
    letters = {joint.letter for joint in plan.robot.coordinates}
    jointwise = [name for name in plan.limits if name != "tool"]
    table = Table(["margin of"], [*(f"{name} ({units(name, letters)})" for name in jointwise)])
    for i, joint in enumerate(plan.joints):
        table.add_row(joint, *(f"{plan.margins[name][i]:.3g}" for name in jointwise))
    console = Terminal()
    console.print(
        f"{plan.robot.name}: {plan.path.duration:g} s, {len(plan.t)} rows, condition number "
        f"{plan.condition:.4g} for {len(plan.parameters)} parameters"
    )
    if plan.ended:
        console.print(f"the search was {plan.ended}", style="yellow")
    tool = None
    if "tool" in plan.margins:
        margins = zip("xyz", plan.margins["tool"], strict=True)
        tool = "margin of the tool: " + ", ".join(f"{x} {y:.3g} m" for x, y in margins)
    console.show(table, tool)
    console.print()
    console.notes(plan.notes)
    console.files(*written)

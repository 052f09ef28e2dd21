"""The command `armlet minimal`."""

from typing import Annotated

import typer

from armlet.api import minimal_parameters
from armlet.cli.options import Json, name_option
from armlet.cli.output import Table, Terminal, print_json
from armlet.cli.robot_options import Choice, takes_robot
from armlet.minimal.closed_form import CLOSED_FORMS, SETS


@takes_robot(general=True)
def minimal(
    choice: Choice,
    rotors: Annotated[bool, typer.Option("--rotors", help="Include rotor inertias.")] = False,
    friction: Annotated[bool, typer.Option("--friction", help="Include friction.")] = False,
    kind: Annotated[str, name_option("The set", (*CLOSED_FORMS, "rank"))] = "lin",
    of: Annotated[str, name_option("What depends on it", SETS)] = "torques",
    zero: Annotated[
        list[str] | None,
        typer.Option(help="A standard parameter that is zero, such as Jxy3. Repeatable."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX instead of a table.")] = False,
    as_json: Json = False,
) -> None:
    """Show the minimal (base) inertial parameters of a robot, which determine its torques.

    Each minimal parameter is a linear combination of standard parameters of the
    bodies: the inertia J about the frame's origin, the first moment c and the
    mass m, in the canonical frames that `armlet info` shows. The rank of the
    regressor is printed for comparison if all constants of the robot are numbers.

    With --of gravity, show the parameters that determine the gravity torques.

    Example: armlet minimal puma560
    """
    arm = choice.load()
    parameters = minimal_parameters(arm, rotors, friction, kind, of, zero or ())
    if latex:
        print(parameters.latex())
        return
    ranked: int | None = None
    values: list[float | None] = [None] * len(parameters)
    if not arm.symbols:
        ranked = len(minimal_parameters(arm, rotors, friction, "rank", of, zero or ()))
        values = [float(x) for x in parameters.values]
    rows = list(zip(parameters.names, parameters.expressions.values(), values, strict=True))
    if as_json:
        keys = ("name", "expression", "value")
        data = {
            "robot": arm.name,
            "of": of,
            "size": len(parameters),
            "rank": ranked,
            "standard": len(parameters.standard),
            "parameters": [dict(zip(keys, row, strict=True)) for row in rows],
        }
        print_json(data)
        return
    table = Table(["parameter"], ["value"], "is")
    for name, expression, value in rows:
        table.add_row(name, "" if value is None else f"{value:.6g}", expression)
    rank = "" if ranked is None else f"; the rank of the regressor is {ranked}"
    summary = f"{arm.name}: {len(parameters)} of {len(parameters.standard)} parameters{rank}"
    console = Terminal()
    console.print(table)
    console.show(summary)

"""armlet minimal"""

import json
from typing import Annotated

import typer

from armlet.api import minimal_parameters
from armlet.cli.completion import one_of
from armlet.cli.robot_options import Choice, takes_robot
from armlet.cli.table import Table
from armlet.cli.terminal import Terminal
from armlet.minimal.closed_form import KINDS, SETS


@takes_robot(general=True)
def minimal(
    choice: Choice,
    rotors: Annotated[bool, typer.Option("--rotors", help="Include rotor inertias.")] = False,
    friction: Annotated[bool, typer.Option("--friction", help="Include friction.")] = False,
    kind: Annotated[
        str,
        typer.Option(
            help=f"The set: {', '.join(KINDS)}, rank.", autocompletion=one_of(*KINDS, "rank")
        ),
    ] = "lin",
    of: Annotated[
        str,
        typer.Option(help=f"What depends on it: {', '.join(SETS)}.", autocompletion=one_of(*SETS)),
    ] = "torques",
    zero: Annotated[
        list[str] | None,
        typer.Option(help="A standard parameter that is zero, such as Jxy3. Repeatable."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX instead of a table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show the minimal inertial parameters of a robot: those that its torques depend on.

    Standard parameters are about the canonical frames of `armlet info`: inertia J about the
    origin, first moment c, mass m. The number is checked against the rank of the regressor.

    With --of gravity, those that gravity torques depend on.

    Example: armlet minimal puma560
    """
    arm = choice.load()
    found = minimal_parameters(arm, rotors, friction, kind, of, zero or ())
    if latex:
        print(found.latex())
        return
    ranked = (
        None
        if arm.symbols
        else len(minimal_parameters(arm, rotors, friction, "rank", of, zero or ()))
    )
    values = [None if arm.symbols else float(x) for x in found.values]
    rows = list(zip(found.names, found.expressions.values(), values, strict=True))
    if as_json:
        keys = ("name", "expression", "value")
        parameters = [dict(zip(keys, row, strict=True)) for row in rows]
        sizes = {"size": len(found), "rank": ranked, "standard": len(found.standard)}
        about = {"robot": arm.name, "of": of, **sizes}
        print(json.dumps({**about, "parameters": parameters}, indent=2))
        return
    table = Table()
    table.words("parameter")
    table.numbers("value")
    table.text("is")
    for name, expression, value in rows:
        table.add_row(name, "" if value is None else f"{value:.6g}", expression)
    console = Terminal()
    console.print(table)
    told = "" if ranked is None else f"; the rank of the regressor is {ranked}"
    console.print()
    console.print(f"{arm.name}: {len(found)} of {len(found.standard)} parameters{told}")

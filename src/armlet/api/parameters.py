"""The minimal parameters of a robot, in closed form or by rank."""

import importlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from armlet._support.validation import one_of
from armlet.api.programs import trace
from armlet.dynamics import QUANTITIES
from armlet.dynamics.regressor import minimal_set
from armlet.errors import ModelError
from armlet.minimal import MinimalParameters, by_rank, check_options, standard_names
from armlet.minimal.parameters import Model
from armlet.robot import RobotModel


def minimal_parameters(
    robot: Model,
    rotors: bool = False,
    friction: bool = False,
    kind: str = "lin",
    of: str = "torques",
    zero: Sequence[str] = (),
) -> MinimalParameters[Model]:
    """The minimal inertial parameters of a robot: those that its torques depend on.

    Parameters
    ----------
    robot : Robot
        With any joints, serial or a tree, under any gravity; a robot with symbols needs SymPy.
    rotors, friction : bool
        Include the rotor inertias, and the friction of the drives, as parameters.
    kind : {"lin", "khalil_gautier", "rank"}
        Lin's set in closed form, that of Gautier and Khalil, or one found numerically from the
        rank of the regressor at random states.
    of : {"torques", "gravity"}
        The parameters of all torques, or of gravity torques alone, on which drives have no effect:
        rotors and friction are refused. Without gravity that set is empty.
    zero : sequence of str
        Standard parameters known to be zero, such as "Jxy3" of a symmetric link. There is no
        closed form for these: the set is then found by rank for every kind.

    Returns
    -------
    MinimalParameters
        Names, expressions, values, the matrix `Lam` and the conversion back to a full set.

    Examples
    --------
    >>> import armlet
    >>> found = armlet.minimal_parameters(armlet.load("scara"))
    >>> len(found), found.names[-1]
    (8, 'cy4')
    >>> armlet.minimal_parameters(armlet.load("scara"), of="gravity").expressions
    {'m3*': 'm3 + m4'}
    """
    if kind == "rank" or zero:
        if robot.symbols:
            raise ModelError(f"robot {robot.name!r} is symbolic: a rank needs numbers")
        check_options(of, rotors, friction)
        standard = standard_names(robot.nb, rotors, friction)
        for name in zero:
            one_of(name, "parameter", standard)
        return by_rank(robot, _regressor(robot, of, rotors, friction), standard, zero, of)
    if robot.symbols:
        sympy = importlib.import_module("sympy")
        robot = robot.with_constants({name: sympy.Symbol(x) for name, x in robot._symbolic.items()})
    return minimal_set(robot, rotors, friction, kind, of)


def _regressor(robot: RobotModel, of: str, rotors: bool, friction: bool) -> NDArray[np.float64]:
    """The regressor of all standard parameters at random states from a fixed seed."""
    quantity = "gravity_regressor" if of == "gravity" else "regressor"
    states = np.random.default_rng(0).uniform(-2, 2, (3, 10 * robot.nb + 20, robot.nq))
    program = trace(
        robot, quantity, "unit_bodies", parameters="standard", rotors=rotors, friction=friction
    )
    Y: NDArray[np.float64] = program.function(np)(*states[: len(QUANTITIES[quantity].arguments)])
    return Y.reshape(-1, Y.shape[-1])

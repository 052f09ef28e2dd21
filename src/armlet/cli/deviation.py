"""The deviation of a robot's quantities from their definition."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from armlet.api import compile
from armlet.dynamics import QUANTITIES, definition
from armlet.robot import RobotModel


def random_states(robot: RobotModel, quantity: str, count: int) -> list[Any]:
    """Random arrays for the arguments of a quantity, from a fixed seed.

    Torques are those of random accelerations.
    """
    rng = np.random.default_rng(0)
    names = QUANTITIES[quantity].arguments
    states = {name: rng.uniform(-2, 2, (count, robot.n)) for name in names}
    if "tau" in states:
        q, qd, qdd = states["q"], states["qd"], states["tau"]
        states["tau"] = compile(robot, "inverse_dynamics", "newton_euler")(q, qd, qdd)
    return list(states.values())


def deviation(robot: RobotModel, quantity: str, states: Sequence[Any], found: Any) -> float | None:
    """The largest difference from the definition, relative to the largest entry of the output.

    None for a quantity without a definition.
    """
    exact = by_definition(robot, quantity, states)
    return None if exact is None else difference(exact, found)


def by_definition(robot: RobotModel, quantity: str, states: Sequence[Any]) -> list[Any] | None:
    """The outputs of each state by definition; None for a quantity without one."""
    define = getattr(definition, quantity, None)
    if define is None:
        return None
    return [define(robot, *state) for state in zip(*states, strict=True)]


def difference(exact: Sequence[Any], found: Any) -> float:
    """The largest difference of an output, relative to its largest entry in that state."""
    outputs = found if isinstance(found, tuple) else (found,)
    worst = 0.0
    for k, state in enumerate(exact):
        for y, x in zip(outputs, state if isinstance(state, tuple) else (state,), strict=True):
            expected = np.asarray(x, dtype=float)
            scale = np.abs(expected).max() or 1.0
            worst = max(worst, float(np.abs(y[k] - expected).max() / scale))
    return worst

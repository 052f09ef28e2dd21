"""The deviation of a robot's quantities from their definition."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from armlet.dynamics import QUANTITIES, definition
from armlet.robot import RobotModel


def random_states(robot: RobotModel, quantity: str, count: int) -> list[Any]:
    """Random arrays for the arguments of a quantity, from a fixed seed."""
    rng = np.random.default_rng(0)
    return [rng.uniform(-2, 2, (count, robot.n)) for _ in QUANTITIES[quantity].arguments]


def deviation(robot: RobotModel, quantity: str, states: Sequence[Any], found: Any) -> float | None:
    """The largest difference from the definition, relative to the largest entry of the output.

    None for a quantity without a definition.
    """
    define = getattr(definition, quantity, None)
    if define is None:
        return None
    outputs = found if isinstance(found, tuple) else (found,)
    worst = 0.0
    for k, state in enumerate(zip(*states, strict=True)):
        exact = define(robot, *state)
        for y, x in zip(outputs, exact if isinstance(exact, tuple) else (exact,), strict=True):
            expected = np.asarray(x, dtype=float)
            scale = np.abs(expected).max() or 1.0
            worst = max(worst, float(np.abs(y[k] - expected).max() / scale))
    return worst

"""Reference values from the definitions of quantities, and errors relative to these values."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armlet.api import compile
from armlet.codegen.project import Reference
from armlet.dynamics import FORMULATIONS, QUANTITIES, definition
from armlet.errors import ModelError
from armlet.robot import RobotModel
from armlet.robot.robot import GROUPS

Array = np.ndarray[Any, Any]


def reference_values(
    robot: RobotModel, quantities: Sequence[str], frames: Sequence[str] = ()
) -> Reference:
    """Return a function that computes `quantities` at one state from their definitions.

    Generated code is checked against the results, which involve no tracing, lumping or
    simplification. A quantity without a definition is computed by the first formulation that
    supports the robot. A quantity that depends on a frame is computed for each of `frames`.
    """
    functions = {x: getattr(definition, x, None) or _first(robot, x) for x in quantities}

    def results(arguments: Mapping[str, Array]) -> list[Array]:
        constants: dict[str, float] = {}
        for group in GROUPS:
            if group in arguments:
                constants |= zip(robot.constants(group), arguments[group].flat, strict=True)
        arm = robot._with_constants({name: float(x) for name, x in constants.items()})
        values: list[Any] = []
        for quantity, define in functions.items():
            state = [arguments[name].tolist() for name in QUANTITIES[quantity].arguments]
            takes_frame = frames and "frame" in QUANTITIES[quantity].options
            for options in [{"frame": x} for x in frames] if takes_frame else [{}]:
                values += _outputs(define(arm, *state, **options))
        return [np.asarray(y, float) for y in values]

    return results


def random_states(robot: RobotModel, quantity: str, count: int) -> list[Any]:
    """Return one array per argument of a quantity, with a row for each of `count` random states.

    The seed is fixed. The torques tau are the inverse dynamics of random accelerations.
    """
    rng = np.random.default_rng(0)
    names = QUANTITIES[quantity].arguments
    states = {name: rng.uniform(-2, 2, (count, robot.nv)) for name in names}
    if "q" in states:
        states["q"] = robot.integrate(robot.neutral, states["q"])
    if "tau" in states:
        q, qd, qdd = states["q"], states["qd"], states["tau"]
        states["tau"] = compile(robot, "inverse_dynamics", "newton_euler")(q, qd, qdd)
    return list(states.values())


def by_definition(robot: RobotModel, quantity: str, states: Sequence[Any]) -> list[Any] | None:
    """Evaluate the definition of a quantity at each state; return None if it has no definition."""
    define = getattr(definition, quantity, None)
    if define is None:
        return None
    return [define(robot, *state) for state in zip(*states, strict=True)]


def deviation(exact: Sequence[Any] | None, results: Any) -> float | None:
    """Return the largest error in `results`, relative to the largest exact entry of its output."""
    if exact is None:
        return None
    worst = 0.0
    for k, state in enumerate(exact):
        for y, x in zip(_outputs(results), _outputs(state), strict=True):
            expected = np.asarray(x, dtype=float)
            scale = np.abs(expected).max() or 1.0
            worst = max(worst, float(np.abs(y[k] - expected).max() / scale))
    return worst


def _outputs(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _first(robot: RobotModel, quantity: str) -> Any:
    """Return the function of the first formulation of `quantity` that supports the robot."""
    for entry in FORMULATIONS[quantity].values():
        try:
            entry.check(robot)
        except ModelError:
            continue
        return entry.function
    raise ModelError(f"no formulation of {quantity} holds for robot {robot.name!r}")

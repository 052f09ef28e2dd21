"""Reference values for the test of generated code, from the definition of a quantity."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armlet.codegen.project.selftest import Reference
from armlet.dynamics import FORMULATIONS, QUANTITIES, definition
from armlet.errors import ModelError
from armlet.robot import RobotModel
from armlet.robot.robot import GROUPS

Array = np.ndarray[Any, Any]


def reference(robot: RobotModel, quantity: str, frame: str | None = None) -> Reference:
    """A function that computes a quantity of one state by its definition.

    A quantity without a definition is computed by its first formulation that holds for the robot,
    from numbers, so that nothing of tracing, lumping and simplification enters.
    """
    define = getattr(definition, quantity, None) or _first(robot, quantity)
    options = {} if frame is None else {"frame": frame}

    def results(given: Mapping[str, Array]) -> list[Array]:
        constants: dict[str, float] = {}
        for group in GROUPS:
            if group in given:
                constants |= zip(robot.constants(group), given[group].flat, strict=True)
        arm = robot.with_constants({name: float(x) for name, x in constants.items()})
        state = [given[name].tolist() for name in QUANTITIES[quantity].arguments]
        found = define(arm, *state, **options)
        return [np.asarray(y, float) for y in (found if isinstance(found, tuple) else (found,))]

    return results


def references(robot: RobotModel, quantities: Sequence[str], frames: Sequence[str]) -> Reference:
    """The same for several quantities in order, each in all frames if it takes a frame."""
    every = [
        reference(robot, quantity, frame)
        for quantity in quantities
        for frame in (frames if "frame" in QUANTITIES[quantity].options and frames else (None,))
    ]

    def results(given: Mapping[str, Array]) -> list[Array]:
        return [y for one in every for y in one(given)]

    return results


def _first(robot: RobotModel, quantity: str) -> Any:
    """The first formulation that holds for the robot."""
    for entry in FORMULATIONS[quantity].values():
        try:
            entry.check(robot)
        except ModelError:
            continue
        return entry.function
    raise ModelError(f"no formulation of {quantity} holds for robot {robot.name!r}")

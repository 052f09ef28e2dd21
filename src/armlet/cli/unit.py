"""The options of `armlet generate --target fmu`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armlet.codegen.project.project import Function
from armlet.errors import ArmletError
from armlet.fmu import function_block, plant_block, write_unit
from armlet.robot import RobotModel

UNIT = "fmu"
"""The target that is a functional mock-up unit."""


@dataclass(frozen=True)
class Unit:
    """What was asked of a functional mock-up unit; None is what nobody asked for."""

    fmi: int | None
    step: float | None
    friction: bool | None
    fused: bool | None

    def check(self, target: str, dtype: str, has_functions: bool, minimal: bool) -> None:
        """Raise if something is asked for that the target does not have."""
        given = {"fmi": self.fmi, "step": self.step, "friction": self.friction}
        for name, value in given.items():
            if value is None:
                continue
            if target != UNIT:
                raise ArmletError(f"--{name} is for --target {UNIT}: leave it out")
            if has_functions and name != "fmi":
                raise ArmletError(f"--{name} is for the arm itself: leave it out, or -f")
        if target == UNIT and not has_functions and not minimal:
            raise ArmletError("--full is for functions, of which none is named: leave it out")
        if target == UNIT and dtype != "float64":
            raise ArmletError(f"--dtype {dtype}: a functional mock-up unit has float64 alone")
        if self.fmi not in (None, 2, 3):
            raise ArmletError(f"--fmi {self.fmi}: expected 2 or 3")

    def write(
        self, path: Path, robot: RobotModel, functions: Sequence[Function]
    ) -> tuple[list[Function], str]:
        """Write the file; returns what is printed in it, and the platform of its library."""
        if functions:
            block = function_block(robot, functions)
        else:
            given: dict[str, Any] = {"step": self.step, "friction": self.friction}
            block = plant_block(robot, **{k: v for k, v in given.items() if v is not None})
        return block.functions, write_unit(path, block, self.fmi or 3, self.fused)
